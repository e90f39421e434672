package pypi

import (
	"fmt"
	"runtime"
	"slices"
	"strings"

	"runpython/internal/pypi/requirement"
	"runpython/internal/pypi/wheel"
)

// Bounds of what is asked for.
const (
	maxRequirements = 100 // in one environment
	maxPackages     = 500 // in one lock
)

// A Lock is what an environment holds, exactly, and why. It is stored as JSON with the
// chat; from it alone the environment can be made again. The zero Lock is that of an
// empty environment.
type Lock struct {
	Target       string    `json:"target,omitempty"`       // interpreter and machine that its wheels fit
	Requirements []string  `json:"requirements,omitempty"` // all that was asked for
	Packages     []Package `json:"packages,omitempty"`     // ordered by name
}

// A Package is one installed distribution.
type Package struct {
	wheel.Pin
	Imports []string `json:"imports,omitempty"` // names that "import" finds because of it
}

// target returns the interpreter and the machine, "3.14 amd64".
func target(version string) string { return wheel.MinorVersion(version) + " " + runtime.GOARCH }

// find returns the package of that name.
func (l Lock) find(name string) (Package, bool) {
	for _, p := range l.Packages {
		if p.Name == name {
			return p, true
		}
	}
	return Package{}, false
}

// pins returns the wheels.
func (l Lock) pins() []wheel.Pin {
	pins := make([]wheel.Pin, len(l.Packages))
	for i, p := range l.Packages {
		pins[i] = p.Pin
	}
	return pins
}

// check looks whether a lock that was stored is one.
func (l Lock) check() error {
	if len(l.Packages) > maxPackages || len(l.Requirements) > maxRequirements {
		return fmt.Errorf("lock with %d packages for %d requirements", len(l.Packages), len(l.Requirements))
	}
	for _, p := range l.Packages {
		if err := p.Check(); err != nil {
			return fmt.Errorf("lock: %w", err)
		}
	}
	return nil
}

// has reports whether l has what r asks for, as far as that can be told without looking
// at versions: any version will do, or the very same was asked for before.
func (l Lock) has(r requirement.Requirement) bool {
	if slices.Contains(l.Requirements, r.String()) {
		return true
	}
	_, ok := l.find(r.Name)
	return ok && r.IsBare()
}

// String returns "numpy 2.4.0, pandas 3.0.1".
func (l Lock) String() string {
	names := make([]string, len(l.Packages))
	for i, p := range l.Packages {
		names[i] = p.String()
	}
	return strings.Join(names, ", ")
}
