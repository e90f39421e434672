package pypi

import (
	"cmp"
	"context"
	"slices"

	"runpython/internal/pypi/cache"
	"runpython/internal/pypi/wheel"
)

// hold returns the wheels that the folder must have, held; also with an error those that are not nil must be
// closed. Those of Request.Shared are left out, but for those that have a name in common with one in the
// folder, such as parts of one package: the folder comes first when something is imported.
func (j *job) hold(ctx context.Context) ([]*cache.Held, error) {
	var own, shared []wheel.Pin
	for _, p := range j.pins {
		if _, ok := j.shares(p); ok {
			shared = append(shared, p)
		} else {
			own = append(own, p)
		}
	}
	held, err := j.ensure(ctx, own)
	if err != nil || len(shared) == 0 {
		return held, err
	}
	names := map[string]bool{}
	for _, h := range held {
		for _, name := range h.Content.Imports {
			names[name] = true
		}
	}
	apart := func(p wheel.Pin) bool {
		is, _ := j.shares(p)
		return !slices.ContainsFunc(is.Imports, func(name string) bool { return names[name] })
	}
	more, err := j.ensure(ctx, slices.DeleteFunc(shared, apart))
	return append(held, more...), err
}

// shares returns what Request.Shared has of a wheel.
func (j *job) shares(p wheel.Pin) (Package, bool) {
	is, ok := j.request.Shared.find(p.Name)
	return is, ok && is.SHA256 == p.SHA256
}

// packages returns what the interpreter can import now, ordered by name: what is in the folder and what is shared.
func (j *job) packages(held []*cache.Held) []Package {
	all := make([]Package, 0, len(j.pins))
	inFolder := map[string]bool{}
	for _, h := range held {
		all = append(all, Package{Pin: h.Content.Pin, Imports: h.Content.Imports})
		inFolder[h.Content.Pin.Name] = true
	}
	for _, p := range j.pins {
		if is, ok := j.shares(p); ok && !inFolder[p.Name] {
			all = append(all, is)
		}
	}
	slices.SortFunc(all, func(a, b Package) int { return cmp.Compare(a.Name, b.Name) })
	return all
}

// Contradicts reports whether l and other have a package in different versions.
func (l Lock) Contradicts(other Lock) bool {
	return slices.ContainsFunc(l.Packages, func(p Package) bool {
		is, ok := other.find(p.Name)
		return ok && (is.Version != p.Version || is.SHA256 != p.SHA256)
	})
}
