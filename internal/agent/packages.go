package agent

import (
	"slices"
	"strings"

	"runpython/internal/excerpt"
	"runpython/internal/pypi/requirement"
)

// shownPackage bounds the text of a package that a model is told was left out.
const shownPackage = 60

// ask adds a package to the order if it is the name of one, with versions or without, and if there is room
// for it. An option, a path or an address is no name.
func (o *order) ask(text string) {
	r, err := requirement.Parse(strings.TrimSpace(text))
	if err == nil && slices.Contains(o.code.Packages, r.String()) {
		return
	}
	if err != nil || len(o.code.Packages) == MaxPackages {
		if len(o.leftOut) < MaxPackages {
			o.leftOut = append(o.leftOut, excerpt.Begin(text, shownPackage))
		}
		return
	}
	o.code.Packages = append(o.code.Packages, r.String())
}
