package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"runpython/internal/check"
)

// width is how wide lines of text are at most, in characters.
const width = 80

// writeText writes reports for people.
func writeText(w io.Writer, s *Set, colours bool) {
	t := &text{colours: colours}
	for i, r := range s.Reports {
		if i > 0 {
			fmt.Fprintf(&t.b, "\n%s\n\n", strings.Repeat("=", width))
		}
		t.report(r)
	}
	if len(s.Reports) > 1 || len(s.Failures) > 0 {
		t.overview(s)
	}
	_, _ = io.WriteString(w, t.b.String()) // into memory
}

// A text is a report while it is written.
type text struct {
	b       strings.Builder
	colours bool
}

// Colours of statuses, by SGR.
const (
	green, yellow, red, grey, bold = "32", "33", "31", "90", "1"
)

func (t *text) paint(colour, s string) string {
	if !t.colours {
		return s
	}
	return "\x1b[" + colour + "m" + s + "\x1b[0m"
}

func (t *text) heading(s string) { fmt.Fprintf(&t.b, "\n%s\n", t.paint(bold, s)) }

func (t *text) report(r *check.Report) {
	t.head(r)
	for _, c := range r.Categories {
		t.category(r, c)
	}
	t.baseline(r.Baseline)
	t.foot(r)
}

func (t *text) head(r *check.Report) {
	t.wrapped("", "", title(r.Name, r.Target))
	if who := serverOf(r); who != "" {
		t.wrapped("", "", who)
	}
	fmt.Fprintf(&t.b, "\n%s\n", t.paint(bold, score(r)))
	t.wrapped("", "", "findings: "+Tally(r))
	fmt.Fprintf(&t.b, "profile %s, rubric %s, %d of %d signals measured\n", r.Profile, r.Tool.Rubric, r.Coverage.Measured, r.Coverage.Total)
	first := tasks(r)
	for len(first) > 0 && first[len(first)-1].Severity == check.Info {
		first = first[:len(first)-1]
	}
	if len(first) == 0 || r.Era == "" {
		return
	}
	t.heading("Do first")
	for _, task := range first[:min(len(first), firstTasks)] {
		what := task.Fix
		if what == "" {
			what = task.Findings[0].Message
		}
		begin := fmt.Sprintf("  %-8s  ", task.Severity)
		at := t.b.Len()
		t.wrapped(strings.Repeat(" ", len(begin)), "", task.Rule.ID+": "+what)
		written := t.b.String()
		t.b.Reset()
		t.b.WriteString(written[:at] + "  " + t.paint(severityColour(task.Severity), fmt.Sprintf("%-8s", task.Severity)) + "  " + written[at+len(begin):])
	}
}

func severityColour(s check.Severity) string {
	switch s {
	case check.Critical, check.High:
		return red
	case check.Medium:
		return yellow
	case check.Low, check.Info:
	}
	return grey
}

// margin is where the words about a signal begin.
const margin = "           "

// category writes a category and its signals.
func (t *text) category(r *check.Report, c check.Category) {
	points := "  -"
	if c.Score != nil {
		points = fmt.Sprintf("%3d", *c.Score)
	}
	fmt.Fprintf(&t.b, "\n%s  %s  (weight %g)\n", t.paint(bold, fmt.Sprintf("%-30s", c.Title)), points, c.Weight)
	for _, s := range c.Signals {
		word, colour := mark(s.Status)
		fmt.Fprintf(&t.b, "  %s  %s\n", t.paint(colour, fmt.Sprintf("%-7s", word)), s.ID)
		t.wrapped(margin, "", s.Summary)
		if evident(s) {
			for _, e := range s.Evidence {
				t.wrapped(margin, "- ", e)
			}
		}
		if s.Fix != "" && s.Status != check.Pass {
			t.wrapped(margin, "fix: ", s.Fix)
		}
		t.suppressed(r, s.ID)
	}
}

// evident reports whether the evidence of a signal is worth its room: what is right needs none, but where it has what costs nothing and
// should be looked at.
func evident(s check.Signal) bool {
	return s.Status != check.Pass || slices.Contains([]string{"safety.injection_markers", "safety.irreversible_ops", "caps.spec_recency"}, s.ID)
}

// suppressed tells which findings of a signal are accepted, those for one reason in one line.
func (t *text) suppressed(r *check.Report, signal string) {
	var order []check.Suppression
	counts := map[check.Suppression]int{}
	for _, f := range suppressed(r) {
		if f.Signal != signal {
			continue
		}
		if counts[*f.Suppressed] == 0 {
			order = append(order, *f.Suppressed)
		}
		counts[*f.Suppressed]++
	}
	for _, s := range order {
		t.wrapped(margin, "suppressed: ", fmt.Sprintf("%d until %s: %s", counts[s], s.Expires, s.Reason))
	}
}

// mark returns the word of a status and its colour.
func mark(s check.Status) (word, colour string) {
	switch s {
	case check.Pass:
		return "pass", green
	case check.Partial:
		return "partial", yellow
	case check.Fail:
		return "FAIL", red
	case check.Unverified:
		return "open", grey
	case check.NotApplicable:
		return "n/a", grey
	case check.Error:
	}
	return "unknown", yellow
}

// baseline tells what differs from one.
func (t *text) baseline(b *check.BaselineReport) {
	if b == nil {
		return
	}
	t.heading("Since the baseline of " + b.CreatedAt.Format(time.DateOnly))
	fmt.Fprintf(&t.b, "  %d new, %d known, %d gone\n", b.New, b.Known, len(b.Gone))
	for _, g := range b.Gone {
		t.wrapped("  ", "gone: ", g.Signal+" at "+g.Location)
	}
	for _, c := range b.Changes {
		t.wrapped("  ", string(c.Class)+": ", c.What)
	}
}

// foot writes the changes and what tools cost.
func (t *text) foot(r *check.Report) {
	if len(r.Diagnostics.Tools) > 0 {
		t.heading(fmt.Sprintf("Tools (%d tokens in all)", r.Diagnostics.Tokens.Total))
	}
	for i, tool := range r.Diagnostics.Tools {
		if i == maxTools {
			fmt.Fprintf(&t.b, "  … and %d more\n", len(r.Diagnostics.Tools)-maxTools)
			break
		}
		t.wrapped("  ", "", fmt.Sprintf("%s: %d tokens, %d parameters", tool.Name, tool.Tokens, len(tool.Parameters)))
	}
	if len(r.Changes) > 0 {
		t.heading("Changes")
	}
	for _, c := range r.Changes {
		t.wrapped("  ", "", fmt.Sprintf("%s %s: %s", c.Time.Format(time.DateOnly), c.Class, c.What))
	}
}

// overview lists all targets with their scores.
func (t *text) overview(s *Set) {
	if len(s.Reports) > 0 {
		fmt.Fprintf(&t.b, "\n%s\n\n", strings.Repeat("=", width))
	}
	fmt.Fprintf(&t.b, "%s\n", t.paint(bold, "All targets"))
	for _, r := range s.Reports {
		points := "  -"
		if r.Score != nil {
			points = fmt.Sprintf("%3d", *r.Score)
		}
		t.wrapped("  ", points+"  ", title(r.Name, r.Target)+": "+Tally(r))
	}
	for _, f := range s.Failures {
		t.wrapped("  ", "  -  ", title(f.Name, f.Target)+": "+f.Problem)
	}
}

// wrapped writes words in lines of width, all after indent, the first one after a mark as well. A word that is longer
// than a line is broken.
func (t *text) wrapped(indent, mark, words string) {
	room := width - utf8.RuneCountInString(indent+mark)
	line, begin := "", indent+mark
	flush := func() {
		fmt.Fprintf(&t.b, "%s%s\n", begin, line)
		line, begin = "", indent+strings.Repeat(" ", utf8.RuneCountInString(mark))
	}
	for word := range strings.FieldsSeq(words) {
		for {
			gap := ""
			if line != "" {
				gap = " "
			}
			if utf8.RuneCountInString(line+gap+word) <= room {
				line += gap + word
				break
			}
			if line != "" {
				flush()
				continue
			}
			runes := []rune(word)
			line, word = string(runes[:room]), string(runes[room:])
			flush()
		}
	}
	if line != "" {
		flush()
	}
}
