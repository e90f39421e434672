package uv

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"runpython/internal/fault"
	"runpython/internal/pattern"
	"runpython/internal/pypi/requirement"
	"runpython/internal/pypi/wheel"
)

// Bounds of how often a resolution is tried again because files of a further package
// have no upload time, and of the packages that are known for that.
const (
	maxRounds   = 50
	maxTimeless = 2000
)

// A Query is a set of requirements.
type Query struct {
	Requirements []requirement.Requirement
	Constraints  []requirement.Requirement // versions of what happens to be needed
	Before       time.Time                 // nothing that was uploaded later; zero: anything
	NoDeps       bool

	// Offer, if not nil, are source distributions that may be chosen as well.
	Offer Offer `json:"-"`
}

// An Offer is a folder of wheels that stand for source distributions. uv reads their
// metadata; to it they are wheels like others.
type Offer interface {
	Folder() string
	Pin(file string) (wheel.Pin, bool) // what the wheel of that name stands for
}

// A Resolution is the wheels that a Query needs, ordered by name.
type Resolution struct {
	Pins     []wheel.Pin
	Warnings []string // for whoever asked
	Untimed  bool     // Before was not heeded for some, since the index tells no upload times
}

// ErrConflict is in the chain of an error that other requirements or constraints would
// not have had, as opposed to one of the index.
var ErrConflict = errors.New("no set of versions fits")

// A NoWheelError is in the chain of an error when uv names packages that have no wheel for
// this interpreter: in some of their versions, and maybe not the only reason.
type NoWheelError struct {
	Names      []string
	SourceOnly bool // that is what the message says
}

// Error names them.
func (e *NoWheelError) Error() string { return "no wheel of " + strings.Join(e.Names, ", ") }

// Resolve asks uv for the wheels of q. uv leaves out what has no upload time when
// there is a Before; on an index without any that is everything. So the packages that it
// names are exempt from then on, one round after the other, and no others.
func (p *Program) Resolve(ctx context.Context, q Query) (Resolution, error) {
	var r Resolution
	for range maxRounds {
		exempt := p.exempt()
		lock, printed, err := p.compile(ctx, q, exempt)
		if err == nil {
			r.Warnings = warnings(printed)
			r.Pins, err = pins(lock, q.Offer)
			return r, err
		}
		if ctx.Err() != nil {
			return r, err
		}
		found := untimed(printed, exempt)
		if q.Before.IsZero() || len(found) == 0 || !p.addTimeless(found) {
			return r, p.explain(ctx, q, printed, err)
		}
		r.Untimed = true
	}
	return r, fault.New(fault.Unsupported, nil, "the package index gives no upload times; the operator can do without the rule about them (--exclude-newer 0)")
}

// exempt returns the packages that Before is not applied to.
func (p *Program) exempt() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.timeless)
}

// addTimeless adds packages to them, unless that are too many.
func (p *Program) addTimeless(names []string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range names {
		if !slices.Contains(p.timeless, n) {
			p.timeless = append(p.timeless, n)
		}
	}
	if len(p.timeless) > maxTimeless {
		p.timeless = nil
		return false
	}
	return true
}

// compile runs one resolution and returns the lock, in JSON, and what uv printed beside. uv
// is told never to build anything: it would run the code of a package on the host.
func (p *Program) compile(ctx context.Context, q Query, exempt []string) (lock []byte, printed string, err error) {
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-ctx.Done():
		return nil, "", context.Cause(ctx)
	}
	args := []string{
		"pip", "compile", "-", "--format", "pylock.toml", "--no-header", "--no-annotate", "--only-binary", ":all:",
		"--python", p.config.Python, "--color", "never",
	}
	args = append(args, p.config.Sources.Arguments()...)
	if !q.Before.IsZero() {
		args = append(args, "--exclude-newer", q.Before.UTC().Format(time.RFC3339))
		for _, name := range exempt {
			args = append(args, "--exclude-newer-package", name+"=false")
		}
	}
	if q.NoDeps {
		args = append(args, "--no-deps")
	}
	if len(q.Constraints) > 0 {
		name, err := p.constraintsFile(q.Constraints)
		if err != nil {
			return nil, "", err
		}
		defer func() { _ = os.Remove(name) }() // else sweep does
		args = append(args, "--constraints", name)
	}
	reader := p.startReader(ctx)
	var folders []string
	if q.Offer != nil {
		// uv separates folders by commas, which the name of the data folder may have.
		folder, err := filepath.Rel(p.config.Data, q.Offer.Folder())
		if err != nil {
			return nil, "", err
		}
		folders = append(folders, folder)
	}
	out, err := p.run(ctx, command{program: p.Path, args: args, env: p.environ(folders...), input: strings.NewReader(lines(q.Requirements))})
	if err != nil {
		reader.abandon()
		return nil, string(out.errors), err
	}
	lock, err = reader.read(out.text)
	return lock, string(out.errors), err
}

func (p *Program) constraintsFile(list []requirement.Requirement) (string, error) {
	f, err := os.CreateTemp(p.config.Data, constraintsPattern)
	if err != nil {
		return "", err
	}
	_, err = f.WriteString(lines(list))
	return f.Name(), errors.Join(err, f.Close())
}

// constraintsPattern names the files with constraints.
const constraintsPattern = "constraints-*.txt"

func lines(list []requirement.Requirement) string {
	var b strings.Builder
	for _, r := range list {
		b.WriteString(r.String() + "\n")
	}
	return b.String()
}

// missingDate is what uv prints of a file without an upload time.
var missingDate = pattern.New("`([A-Za-z0-9_.+!-]+)` is missing an upload date")

// untimed returns the names of the packages that uv left out for want of a time, those in
// exempt apart.
func untimed(text string, exempt []string) []string {
	var names []string
	for _, m := range missingDate().FindAllStringSubmatch(text, -1) {
		stem, _, _ := strings.Cut(m[1], "-")
		if !strings.HasSuffix(m[1], ".whl") {
			stem = m[1][:max(0, strings.LastIndexByte(m[1], '-'))]
		}
		name := requirement.Normalize(stem)
		if requirement.IsName(name) && !slices.Contains(exempt, name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

var (
	yankedNote = pattern.New("warning: `([a-zA-Z0-9._-]+)==([A-Za-z0-9.+!_-]+)` is yanked")
	extraNote  = pattern.New("warning: The package `([a-zA-Z0-9._-]+)==([A-Za-z0-9.+!_-]+)` does not have an extra named `([A-Za-z0-9._-]+)`")
)

// warnings returns what uv says of a set that it has resolved.
func warnings(text string) []string {
	var all []string
	for _, m := range yankedNote().FindAllStringSubmatch(text, -1) {
		all = append(all, fmt.Sprintf("%s %s was withdrawn by its authors (yanked); it is installed since it was asked for by its exact version", m[1], m[2]))
	}
	for _, m := range extraNote().FindAllStringSubmatch(text, -1) {
		all = append(all, fmt.Sprintf("%s %s has no extra %q", m[1], m[2], m[3]))
	}
	return all
}

// abandoned is the age of a file with constraints that no living process uses.
const abandoned = time.Hour

// sweep removes what killed processes left in the folder.
func sweep(c Config) {
	old, err := filepath.Glob(filepath.Join(c.Data, constraintsPattern))
	for _, name := range old {
		if info, statErr := os.Stat(name); statErr == nil && time.Since(info.ModTime()) > abandoned {
			err = errors.Join(err, os.Remove(name))
		}
	}
	if err != nil {
		c.Log.Warn("old files in the folder of uv", slog.Any("error", err))
	}
}
