package check

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

const (
	windowDays = 30             // without a change that counts, for full credit
	longestGap = 48 * time.Hour // between observations; what is longer does not count as observed
	maxChanges = 200            // that are told
)

// An Observation is what of one scan is compared with others. Its JSON form is what --state keeps.
type Observation struct {
	Time    time.Time            `json:"time"`
	Tools   map[string]ToolShape `json:"tools"`  // by name
	Listed  bool                 `json:"listed"` // the tools could be read
	Auth    string               `json:"auth"`   // the verdict
	Issuers []string             `json:"issuers"`
	TLS     bool                 `json:"tls"` // verified
	Markers []string             `json:"markers"`
}

// A ToolShape is what callers of a tool rely on.
type ToolShape struct {
	Parameters  map[string]string `json:"parameters"` // types by path
	Required    []string          `json:"required"`
	Destructive bool              `json:"destructive"`
	Text        string            `json:"text"` // the description
}

// A Class says how much a change matters.
type Class string

// The classes of changes. Breaking ones and those of security begin the window of stability anew.
const (
	Breaking   Class = "breaking"
	Security   Class = "security"
	Functional Class = "functional"
)

// A Change is one between two observations.
type Change struct {
	Time  time.Time `json:"time"` // of the later observation
	Class Class     `json:"class"`
	What  string    `json:"what"`
}

// observe keeps what later scans compare with. Its texts are harmless, as files with them may be shown to anybody.
func (f *findings) observe(harmless func(string) string) Observation {
	t := &f.facts.Transport
	o := Observation{
		Time: f.facts.Started.UTC(), Tools: map[string]ToolShape{}, Auth: f.verdict(),
		Listed: len(t.Accepted()) > 0 && t.Tools.Problem == "",
		TLS:    f.facts.TLS != nil && f.facts.TLS.Problem == "" && f.facts.TLS.Verified == nil,
	}
	for i := range f.tools {
		tool := &f.tools[i]
		shape := ToolShape{Parameters: map[string]string{}, Destructive: tool.MayDestroy(), Text: harmless(tool.Description)}
		for _, p := range tool.Parameters {
			path := harmless(p.Path)
			shape.Parameters[path] = harmless(p.Type)
			if p.Required {
				shape.Required = append(shape.Required, path)
			}
		}
		o.Tools[harmless(tool.Name)] = shape
	}
	for _, i := range f.facts.Auth.Issuers {
		o.Issuers = append(o.Issuers, harmless(i.Issuer))
	}
	for _, h := range f.hits {
		if !h.Warning {
			o.Markers = append(o.Markers, harmless(h.Rule+" "+h.Path))
		}
	}
	return o
}

// history compares observations one after the other, and returns the changes and how many whole days were
// observed since the last of them that counts.
func history(past []Observation, now Observation) ([]Change, int) {
	all := slices.Clone(past)
	all = slices.DeleteFunc(append(all, now), func(o Observation) bool { return o.Time.After(now.Time) })
	slices.SortStableFunc(all, func(a, b Observation) int { return a.Time.Compare(b.Time) })
	changes := []Change{}
	var observed time.Duration
	for i := 1; i < len(all); i++ {
		if gap := all[i].Time.Sub(all[i-1].Time); gap <= longestGap {
			observed += gap
		}
		for _, c := range compare(all[i-1], all[i]) {
			if c.Class != Functional {
				observed = 0
			}
			changes = append(changes, c)
		}
	}
	changes = changes[max(0, len(changes)-maxChanges):]
	return changes, int(observed / (24 * time.Hour))
}

// compare returns what differs between two observations.
func compare(before, after Observation) []Change {
	var all []Change
	add := func(c Class, format string, args ...any) {
		all = append(all, Change{after.Time, c, fmt.Sprintf(format, args...)})
	}
	if before.Listed && after.Listed {
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
	if strength(after.Auth) < strength(before.Auth) {
		add(Security, "authorization was %s and is %s", before.Auth, after.Auth)
	}
	if len(before.Issuers) > 0 && len(after.Issuers) > 0 && !slices.Equal(before.Issuers, after.Issuers) {
		add(Security, "the authorization servers are others")
	}
	if before.TLS && !after.TLS {
		add(Security, "the certificate is valid no more")
	}
	return all
}

// compare tells what callers of the tool before would notice.
func (before ToolShape) compare(after ToolShape, tool string, add func(Class, string, ...any)) {
	for _, path := range slices.Sorted(maps.Keys(before.Parameters)) {
		kind, ok := after.Parameters[path]
		switch {
		case !ok:
			add(Breaking, "%s: parameter %s is gone", tool, path)
		case kind != before.Parameters[path]:
			add(Breaking, "%s: parameter %s was %s and is %s", tool, path, before.Parameters[path], kind)
		}
	}
	for _, path := range after.Required {
		if !slices.Contains(before.Required, path) {
			add(Breaking, "%s: parameter %s is required now", tool, path)
		}
	}
	if before.Destructive && !after.Destructive {
		add(Security, "%s says no more that it may destroy", tool)
	}
	if before.Text != after.Text {
		add(Functional, "%s is described in other words", tool)
	}
}

// strength orders the verdicts about authorization. What is not known is no weaker than anything.
func strength(verdict string) int {
	i := slices.Index([]string{openDestructive, openNondestructive, enforcedUnverified, discoveryGated, enforcedVerified, authUnknown}, verdict)
	return min(i, 3) // what is verified differs by the documents of others, which may be away for a moment
}

func (f *findings) stability() Signal {
	s := Signal{Refs: []string{"docs/check.md"}, OWASP: []string{"MCP03"}}
	if !f.known {
		s.Fix = "scan once a day with --state DIR"
		return s.as(Unverified, 0, "one scan sees no history; --state keeps one")
	}
	for _, c := range f.changes {
		if c.Class != Functional {
			s.Evidence = append(s.Evidence, fmt.Sprintf("%s %s: %s", c.Time.Format(time.DateOnly), c.Class, c.What))
		}
	}
	s.Evidence = few(s.Evidence)
	days := min(f.quiet, windowDays)
	text := fmt.Sprintf("%d of %d days observed without a change that breaks callers or weakens security", days, windowDays)
	switch days {
	case windowDays:
		return s.as(Pass, 1, text)
	case 0:
		return s.as(Fail, 0, text)
	}
	return s.as(Partial, float64(days)/windowDays, text)
}
