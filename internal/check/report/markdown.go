package report

import (
	"fmt"
	"io"
	"strings"
	"time"

	"runpython/internal/check"
)

// writeMarkdown writes reports for summaries of jobs and comments of reviews.
func writeMarkdown(w io.Writer, s *Set) {
	m := &markdown{}
	if s.Many || len(s.Failures) > 0 {
		m.overview(s)
	}
	for _, r := range s.Reports {
		m.report(r)
	}
	_, _ = io.WriteString(w, m.b.String()) // into memory
}

// A markdown is a text while it is written.
type markdown struct{ b strings.Builder }

func (m *markdown) line(format string, args ...any) { fmt.Fprintf(&m.b, format+"\n", args...) }

func (m *markdown) overview(s *Set) {
	m.line("# MCP check\n\n| Target | Score | Findings |\n|---|---:|---|")
	for _, r := range s.Reports {
		m.line("| %s | %s | %s |", prose(title(r.Name, r.Target)), points(r.Score), prose(Tally(r)))
	}
	for _, f := range s.Failures {
		m.line("| %s | – | %s |", prose(title(f.Name, f.Target)), prose(f.Problem))
	}
	m.line("")
}

func points(n *int) string {
	if n == nil {
		return "–"
	}
	return fmt.Sprint(*n)
}

func (m *markdown) report(r *check.Report) {
	m.line("## %s\n", prose(title(r.Name, r.Target)))
	m.line("**%s: %s**\n", prose(verdict(r)), prose(score(r)))
	m.line("%s\n", prose(fmt.Sprintf("Findings: %s. %d of %d signals measured, profile %s, rubric %s.", Tally(r), r.Coverage.Measured, r.Coverage.Total, r.Profile, r.Tool.Rubric)))
	if all := tasks(r); len(all) > 0 {
		m.line("### What to do\n")
		for _, t := range all {
			m.task(t)
		}
		m.line("")
	}
	m.line("### Signals\n\n| | Signal | Category | Summary |\n|---|---|---|---|")
	for _, c := range r.Categories {
		for _, s := range c.Signals {
			word, _ := mark(s.Status)
			m.line("| %s | %s | %s | %s |", prose(word), prose(s.ID), prose(c.Title+" "+points(c.Score)), prose(s.Summary))
		}
	}
	m.line("")
	m.suppressed(suppressed(r))
	if b := r.Baseline; b != nil {
		m.line("### Since the baseline of %s\n", prose(b.CreatedAt.Format(time.DateOnly)))
		m.line("%s\n", prose(fmt.Sprintf("%d new, %d known, %d gone", b.New, b.Known, len(b.Gone))))
		for _, g := range b.Gone {
			m.line("- gone: %s", prose(g.Signal+" at "+g.Location))
		}
		m.changes(b.Changes)
	}
	if len(r.Changes) > 0 {
		m.line("### Changes\n")
		m.changes(r.Changes)
	}
}

func (m *markdown) task(t task) {
	state := ""
	if t.Findings[0].State == check.New {
		state = ", new"
	}
	m.line("- **%s** (%s%s): %s", prose(t.Rule.Title), t.Severity, state, prose(t.Fix))
	for _, f := range t.Findings {
		m.line("  - %s", prose(f.Location+": "+f.Message))
	}
	if t.More > 0 {
		m.line("  - … and %d more", t.More)
	}
}

func (m *markdown) suppressed(all []check.Finding) {
	if len(all) == 0 {
		return
	}
	m.line("### Suppressed\n\nThese count in the score, but close no gate.\n\n| Signal | Location | Reason | Until |\n|---|---|---|---|")
	for _, f := range all {
		m.line("| %s | %s | %s | %s |", prose(f.Signal), prose(f.Location), prose(f.Suppressed.Reason), prose(f.Suppressed.Expires))
	}
	m.line("")
}

func (m *markdown) changes(all []check.Change) {
	for _, c := range all {
		m.line("- %s", prose(fmt.Sprintf("%s %s: %s", c.Time.Format(time.DateOnly), c.Class, c.What)))
	}
	m.line("")
}

// prose returns a text as words of a paragraph or a cell: every character that CommonMark could take for markup is escaped
// (2.4), and what GitHub makes links of after that (mentions, issues, addresses) is parted by an empty comment.
func prose(text string) string {
	const punctuation = "!#$&()*+-.:<=>@[\\]^_`{|}~"
	var b strings.Builder
	for i, r := range text {
		if strings.ContainsRune(punctuation, r) && !plainWithin(text, i) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
		if next := text[i+1:]; (r == '@' || r == '#' || r == ':') && next != "" && next[0] != ' ' {
			b.WriteString("<!-- -->")
		}
	}
	return b.String()
}

// plainWithin reports whether the character at i is a full stop or a hyphen after a letter or digit, where it means nothing, so that
// ordinary words stay readable in the source. That of a numbered list and that of "www." are not.
func plainWithin(text string, i int) bool {
	if i == 0 || text[i] != '.' && text[i] != '-' {
		return false
	}
	before := text[:i]
	digit := func(r rune) bool { return r >= '0' && r <= '9' }
	letter := func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }
	if strings.HasSuffix(strings.ToLower(before), "www") || text[i] == '.' && strings.TrimLeftFunc(before, digit) == "" {
		return false
	}
	last := rune(before[i-1])
	return digit(last) || letter(last)
}
