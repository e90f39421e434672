// Package policy decides which packages may be installed.
//
// # Trust
//
// The rules are the operator's. Names come normalised from package requirement or, of
// what a package needs, from the resolver.
//
// # Failure
//
// A refusal is a fault of kind Invalid: one line which says the rule and by which flag
// the operator changes it. A rule that cannot be read is an error of [New].
package policy

import (
	"fmt"
	"slices"

	"runpython/internal/fault"
	"runpython/internal/pypi/requirement"
	"runpython/internal/pypi/wheel"
)

// Mode says what is installed at all.
type Mode string

// The modes, as --packages names them.
const (
	Auto   Mode = "auto"   // all that is not denied
	Listed Mode = "listed" // what is on the list of allowed ones, and what that needs
	Off    Mode = "off"    // nothing
)

// maxListed bounds the lists of names.
const maxListed = 10_000

// Config is the operator's rules.
type Config struct {
	Mode             Mode     // "" is Auto
	Allow            []string // names; in mode Auto they are only never warned about
	Deny             []string // names, also of what a package needs
	WheelBytes       int64    // at most, of one wheel
	EnvironmentBytes int64    // at most, of the wheels, and of the files, of one environment

	// LookAlike returns the well-known name that a name may be a misspelling of.
	LookAlike func(name string) (popular string, ok bool)
}

// A Gate applies the rules. It does not change and is safe for concurrent use.
type Gate struct {
	config Config
	allow  map[string]bool
	deny   map[string]bool
}

// New reads the rules.
func New(c Config) (*Gate, error) {
	if c.Mode == "" {
		c.Mode = Auto
	}
	if !slices.Contains([]Mode{Auto, Listed, Off}, c.Mode) {
		return nil, fmt.Errorf("--packages %s: none of auto, listed and off", c.Mode)
	}
	g := &Gate{config: c}
	var err error
	if g.allow, err = names("--allow-package", c.Allow); err != nil {
		return nil, err
	}
	if g.deny, err = names("--deny-package", c.Deny); err != nil {
		return nil, err
	}
	return g, nil
}

func names(flag string, list []string) (map[string]bool, error) {
	if len(list) > maxListed {
		return nil, fmt.Errorf("%s: more than %d names", flag, maxListed)
	}
	set := make(map[string]bool, len(list))
	for _, name := range list {
		if !requirement.IsName(name) {
			return nil, fmt.Errorf("%s %q: not the name of a package", flag, name)
		}
		set[requirement.Normalize(name)] = true
	}
	return set, nil
}

func refuse(format string, args ...any) error {
	return fault.New(fault.Invalid, nil, fmt.Sprintf(format, args...))
}

// Asked decides about what somebody asks for, and returns what to warn about.
func (g *Gate) Asked(all []requirement.Requirement) (warnings []string, err error) {
	if g.config.Mode == Off && len(all) > 0 {
		return nil, refuse("%s is not installed: this server installs no packages (--packages off)", all[0].Name)
	}
	for _, r := range all {
		if err := g.named(r.Name); err != nil {
			return nil, err
		}
		if g.config.Mode == Listed && !g.allow[r.Name] {
			return nil, refuse("%s is refused: it is not on this server's list of allowed packages (--allow-package %s, or --packages auto)", r.Name, r.Name)
		}
		if g.config.LookAlike == nil || g.allow[r.Name] {
			continue
		}
		if popular, ok := g.config.LookAlike(r.Name); ok {
			warnings = append(warnings, fmt.Sprintf("%s looks like %s, which is far better known; make sure that it is the one you mean", r.Name, popular))
		}
	}
	return warnings, nil
}

// named applies the list of denied names.
func (g *Gate) named(name string) error {
	if g.deny[name] {
		return refuse("%s is refused: it is on this server's list of denied packages (--deny-package)", name)
	}
	return nil
}

// Resolved decides about all that is to be installed, as far as the index tells sizes.
func (g *Gate) Resolved(pins []wheel.Pin) error {
	var total int64
	for _, p := range pins {
		if err := g.named(p.Name); err != nil {
			return err
		}
		if p.Bytes > g.config.WheelBytes {
			return g.TooLarge(p)
		}
		total += p.Bytes
	}
	return g.Environment(total)
}

// TooLarge is the refusal of one wheel, or source, for its size.
func (g *Gate) TooLarge(p wheel.Pin) error {
	what := "wheel"
	if p.IsSource() {
		what = "source"
	}
	return refuse("%s is refused: its %s is larger than %s (--package-size)", p, what, Size(g.config.WheelBytes))
}

// Environment decides about the bytes of an environment.
func (g *Gate) Environment(bytes int64) error {
	if bytes > g.config.EnvironmentBytes {
		return refuse("the packages are refused: together they have %s, and an environment may have %s (--environment-size)",
			Size(bytes), Size(g.config.EnvironmentBytes))
	}
	return nil
}

// Size writes bytes for people: "12 MB".
func Size(bytes int64) string {
	value, unit := float64(bytes), "B"
	for _, u := range []string{"kB", "MB", "GB", "TB"} {
		if value < 1000 {
			break
		}
		value, unit = value/1000, u
	}
	if value < 10 && unit != "B" {
		return fmt.Sprintf("%.1f %s", value, unit)
	}
	return fmt.Sprintf("%.0f %s", value, unit)
}
