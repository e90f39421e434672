package triage

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"runpython/internal/check"
)

// maxNamed is how many findings a gate names.
const maxNamed = 10

// A Gate is what a scan must reach. The zero value is always open.
type Gate struct {
	MinScore    int            // 0: none
	MinCategory map[string]int // by id
	FailOn      check.Severity // the least that closes it; "": none does
}

// Judge returns why a report does not pass, nothing when it does. Findings that are suppressed, or that a baseline has, do not
// count; scores are as they are.
func (g Gate) Judge(r *check.Report) []string {
	var why []string
	switch {
	case g.MinScore > 0 && r.Score == nil:
		why = append(why, "nothing was measured that could be held against --min-score")
	case g.MinScore > 0 && *r.Score < g.MinScore:
		why = append(why, fmt.Sprintf("the score %d is below --min-score %d: %s", *r.Score, g.MinScore, losses(r.Categories)))
	}
	for _, id := range slices.Sorted(maps.Keys(g.MinCategory)) {
		i := slices.IndexFunc(r.Categories, func(c check.Category) bool { return c.ID == id })
		least := g.MinCategory[id]
		switch {
		case i < 0 || r.Categories[i].Score == nil:
			why = append(why, fmt.Sprintf("nothing was measured that could be held against --min %s=%d", id, least))
		case *r.Categories[i].Score < least:
			why = append(why, fmt.Sprintf("%s has %d, below --min %s=%d: %s", r.Categories[i].Title, *r.Categories[i].Score, id, least, losses(r.Categories[i:i+1])))
		}
	}
	if g.FailOn != "" {
		why = append(why, g.found(r)...)
	}
	return why
}

// found returns what is there that must not be.
func (g Gate) found(r *check.Report) []string {
	what := "finding"
	if r.Baseline != nil {
		what = "new finding"
	}
	var named []string
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Open() && f.Severity.AtLeast(g.FailOn) {
			named = append(named, fmt.Sprintf("%s %s at %s: %s", f.Severity, f.Signal, f.Location, f.Message))
		}
	}
	if r.Baseline != nil {
		for _, c := range r.Baseline.Changes {
			if c.Severity().AtLeast(g.FailOn) {
				named = append(named, fmt.Sprintf("%s change since the baseline: %s", c.Class, c.What))
			}
		}
	}
	if len(named) == 0 {
		return nil
	}
	if len(named) > maxNamed {
		named = append(named[:maxNamed:maxNamed], fmt.Sprintf("… and %d more", len(named)-maxNamed))
	}
	return append([]string{fmt.Sprintf("there are %ss of severity %s or worse:", what, g.FailOn)}, named...)
}

// losses names the signals that cost something.
func losses(categories []check.Category) string {
	var all []string
	for _, c := range categories {
		for _, s := range c.Signals {
			if s.Scored && s.Credit < 1 {
				all = append(all, fmt.Sprintf("%s %s", s.ID, s.Status))
			}
		}
	}
	return strings.Join(all, ", ")
}
