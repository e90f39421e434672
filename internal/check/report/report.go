// Package report writes a scan's report: as text of 80 columns for people, and as JSON for programs.
//
// # Trust
//
// The texts of a check.Report are harmless already; this package only breaks and quotes them.
//
// # Failure
//
// An error is one of the writer.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"runpython/internal/check"
)

// width is how wide lines of text are at most, in characters.
const width = 80

// JSON writes the report as one indented JSON object; docs/check.schema.json describes it.
func JSON(w io.Writer, r *check.Report) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r) //nolint:wrapcheck // the caller knows what it writes to
}

// Text writes the report for people, with colours if they can be shown.
func Text(w io.Writer, r *check.Report, colours bool) error {
	t := &text{colours: colours}
	t.head(r)
	for _, c := range r.Categories {
		t.category(c)
	}
	t.foot(r)
	_, err := io.WriteString(w, t.b.String())
	return err //nolint:wrapcheck // the caller knows what it writes to
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

func (t *text) head(r *check.Report) {
	t.wrapped("", "", r.Target)
	server := r.Diagnostics.Server
	if server.Name != "" {
		t.wrapped("", "", strings.TrimSpace(server.Name+" "+server.Version)+", MCP "+server.Revision)
	}
	score := "no score: no MCP server answers"
	switch {
	case r.Score != nil:
		score = fmt.Sprintf("score %d of 100, %d possible today", *r.Score, *r.Possible)
	case r.Era != "":
		score = "no score: nothing was measured"
	}
	fmt.Fprintf(&t.b, "\n%s\n", t.paint(bold, score))
	fmt.Fprintf(&t.b, "profile %s, rubric %s, %d of %d signals measured\n", r.Profile, r.Tool.Rubric, r.Coverage.Measured, r.Coverage.Total)
}

// category writes a category and its signals.
func (t *text) category(c check.Category) {
	score := "  -"
	if c.Score != nil {
		score = fmt.Sprintf("%3d", *c.Score)
	}
	fmt.Fprintf(&t.b, "\n%s  %s  (weight %g)\n", t.paint(bold, fmt.Sprintf("%-30s", c.Title)), score, c.Weight)
	for _, s := range c.Signals {
		word, colour := mark(s.Status)
		fmt.Fprintf(&t.b, "  %s  %s\n", t.paint(colour, fmt.Sprintf("%-7s", word)), s.ID)
		t.wrapped("           ", "", s.Summary)
		if s.Status == check.Pass && len(s.Evidence) > 0 && s.ID != "safety.injection_markers" {
			continue
		}
		for _, e := range s.Evidence {
			t.wrapped("           ", "- ", e)
		}
		if s.Fix != "" && s.Status != check.Pass {
			t.wrapped("           ", "fix: ", s.Fix)
		}
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

// foot writes the changes and what tools cost.
func (t *text) foot(r *check.Report) {
	if len(r.Diagnostics.Tools) > 0 {
		fmt.Fprintf(&t.b, "\n%s\n", t.paint(bold, fmt.Sprintf("Tools (%d tokens in all)", r.Diagnostics.Tokens.Total)))
	}
	for i, tool := range r.Diagnostics.Tools {
		if i == maxTools {
			fmt.Fprintf(&t.b, "  … and %d more\n", len(r.Diagnostics.Tools)-maxTools)
			break
		}
		t.wrapped("  ", "", fmt.Sprintf("%s: %d tokens, %d parameters", tool.Name, tool.Tokens, len(tool.Parameters)))
	}
	if len(r.Changes) > 0 {
		fmt.Fprintf(&t.b, "\n%s\n", t.paint(bold, "Changes"))
	}
	for _, c := range r.Changes {
		t.wrapped("  ", "", fmt.Sprintf("%s %s: %s", c.Time.Format("2006-01-02"), c.Class, c.What))
	}
}

// maxTools is how many tools a text names.
const maxTools = 20

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
