package kernel

import (
	"context"
	"fmt"
	"strings"
	"unicode"
)

// Bounds of what a run asks to have installed. More ends the guest, whose interpreter keeps
// to the number; a name that is none of a module, or too long, is dropped.
const (
	missingModules = 500
	moduleBytes    = 200
)

// supply takes what the code needs and lets it be installed.
func (r *run) supply(ctx context.Context, m *message) error {
	if m.N != r.n { // of a run that was given up
		return nil
	}
	if r.supplied || len(m.Needed) > missingModules {
		return fmt.Errorf("%w: packages asked for again, or %d modules", errProtocol, len(m.Needed))
	}
	r.supplied = true
	missing := moduleNames(m.Needed)
	nothing := func(string) error { return r.installed(nil) }
	if r.why != "" || r.pause != nil || r.outside.Load() || r.request.Supply == nil || len(missing) == 0 {
		return r.installed(nil)
	}
	r.standBy(ctx, 0, nothing, func(ctx context.Context) func() error {
		changed, err := r.request.Supply(ctx, missing)
		if err != nil {
			return func() error { return &supplyError{err} }
		}
		return func() error { return r.installed(changed) }
	})
	return nil
}

// supplyError ends a run before any of its code has run.
type supplyError struct{ cause error }

// Error returns the cause.
func (e *supplyError) Error() string { return e.cause.Error() }

// installed lets the code go on.
func (r *run) installed(changed []string) error {
	return r.kernel.wire.send(map[string]any{"op": "installed", "n": r.n, "changed": notNil(changed)}, nil)
}

// notNil makes an empty list of none, which JSON would call null.
func notNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// moduleNames returns those that are dotted names of modules.
func moduleNames(names []string) []string {
	var modules []string
	for _, name := range names {
		if len(name) <= moduleBytes && isModuleName(name) {
			modules = append(modules, name)
		}
	}
	return modules
}

func isModuleName(name string) bool {
	for part := range strings.SplitSeq(name, ".") {
		for i, c := range part {
			if c != '_' && !unicode.IsLetter(c) && (i == 0 || !unicode.IsDigit(c) && !unicode.IsMark(c)) {
				return false
			}
		}
		if part == "" {
			return false
		}
	}
	return true
}
