package check

import (
	"maps"
	"slices"
	"strings"

	"runpython/internal/check/lint"
)

// A ToolShape is what callers of a tool rely on.
type ToolShape struct {
	Parameters  map[string]string `json:"parameters"` // types by path
	Required    []string          `json:"required"`
	Destructive bool              `json:"destructive"`
	Text        string            `json:"text"`  // the description
	Title       string            `json:"title"` // as shown to people
	// Values are those that parameters may have, by path, where not all are allowed; an empty list is of more than are kept. Like Outputs, the
	// properties of results, they are nil in observations of older programs, and then not compared.
	Values  map[string][]string `json:"values"`
	Outputs []string            `json:"outputs"`
}

func shapeOf(t *tool) ToolShape {
	s := ToolShape{
		Parameters: map[string]string{}, Values: map[string][]string{}, Outputs: append([]string{}, t.Outputs...),
		Destructive: t.MayDestroy(), Text: lint.Plain(t.Description), Title: lint.Plain(t.Title),
	}
	for _, p := range t.Parameters {
		s.Parameters[p.Path] = p.Type
		if p.Required {
			s.Required = append(s.Required, p.Path)
		}
		if p.Values != nil {
			s.Values[p.Path] = p.Values
		}
	}
	return s
}

// An addFunc adds a change.
type addFunc func(c Class, format string, args ...any)

// compareTools tells what differs between two lists of tools.
func compareTools(before, after Observation, add addFunc) {
	for _, name := range slices.Sorted(maps.Keys(before.Tools)) {
		shape, ok := after.Tools[name]
		if !ok {
			add(Breaking, "tool %s is gone", name)
			continue
		}
		before.Tools[name].compare(shape, name, add)
	}
	for _, name := range slices.Sorted(maps.Keys(after.Tools)) {
		if _, ok := before.Tools[name]; !ok {
			add(Functional, "tool %s is new", name)
		}
	}
	for _, m := range after.Markers {
		if !slices.Contains(before.Markers, m) {
			add(Security, "new marker of injection: %s", m)
		}
	}
}

// compareParameters tells what calls of before are wrong now.
func (before ToolShape) compareParameters(after ToolShape, tool string, add addFunc) {
	for _, path := range slices.Sorted(maps.Keys(before.Parameters)) {
		was := before.Parameters[path]
		is, ok := after.Parameters[path]
		switch {
		case !ok:
			add(Breaking, "%s: parameter %s is gone", tool, path)
			continue
		case is == was:
		case takesAll(is, was):
			add(Functional, "%s: parameter %s was %s and is %s", tool, path, orAny(was), orAny(is))
		default:
			add(Breaking, "%s: parameter %s was %s and is %s", tool, path, orAny(was), orAny(is))
		}
		before.compareValues(after, tool, path, add)
	}
	for _, path := range after.Required {
		if !slices.Contains(before.Required, path) {
			add(Breaking, "%s: parameter %s is required now", tool, path)
		}
	}
}

// compare tells what callers of the tool before would notice.
func (before ToolShape) compare(after ToolShape, tool string, add addFunc) {
	before.compareParameters(after, tool, add)
	for _, path := range before.Outputs {
		if after.Outputs != nil && !slices.Contains(after.Outputs, path) {
			add(Breaking, "%s: %s is gone from its results", tool, path)
		}
	}
	if before.Destructive && !after.Destructive {
		add(Security, "%s says no more that it may destroy", tool)
	}
	switch {
	case before.Text == after.Text:
	case sameWords(before.Text, after.Text):
		add(Cosmetic, "%s is described with other white space", tool)
	default:
		add(Functional, "%s is described in other words", tool)
	}
	if before.Title != after.Title && before.Values != nil {
		add(Cosmetic, "%s has another title", tool)
	}
}

// compareValues tells which values a parameter takes no more.
func (before ToolShape) compareValues(after ToolShape, tool, path string, add addFunc) {
	was, limited := before.Values[path]
	is, limits := after.Values[path]
	unknown := before.Values == nil || after.Values == nil || limited && len(was) == 0 || limits && len(is) == 0
	switch {
	case unknown || !limits:
		return
	case !limited:
		add(Breaking, "%s: parameter %s took any value and takes %d now", tool, path, len(is))
		return
	}
	var gone []string
	for _, v := range was {
		if !slices.Contains(is, v) {
			gone = append(gone, v)
		}
	}
	switch {
	case len(gone) > 0:
		add(Breaking, "%s: parameter %s does not take %s any more", tool, path, lint.Plain(strings.Join(few(gone), ", ")))
	case len(is) > len(was):
		add(Functional, "%s: parameter %s takes more values", tool, path)
	}
}

// takesAll reports whether what has the types before has those after too. No type is any.
func takesAll(after, before string) bool {
	if after == "" {
		return true
	}
	takes := strings.Split(after, "|")
	return before != "" && !slices.ContainsFunc(strings.Split(before, "|"), func(t string) bool {
		return !slices.Contains(takes, t) && (t != "integer" || !slices.Contains(takes, "number"))
	})
}

func orAny(kind string) string {
	if kind == "" {
		return "of any type"
	}
	return kind
}

func sameWords(a, b string) bool { return slices.Equal(strings.Fields(a), strings.Fields(b)) }
