// Package report writes what scans have found: for people as text of 80 columns, as a page and as Markdown; for
// programs as JSON, SARIF 2.1.0 and JUnit; and as a badge.
//
// # Trust
//
// The texts of a check.Report control no terminal and have a bounded length. They are still of others: each form here quotes them so that
// they are no markup, no link and no picture in it. Nothing of a page or a badge is fetched from anywhere.
//
// # Failure
//
// An error is one of the writer.
package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"runpython/internal/check"
	"runpython/internal/check/lint"
)

// A Format is a form in which reports are written.
type Format string

// The formats.
const (
	Text     Format = "text"
	JSON     Format = "json"
	SARIF    Format = "sarif"
	HTML     Format = "html"
	Markdown Format = "markdown"
	JUnit    Format = "junit"
	Badge    Format = "badge"
)

// Formats returns those of whole reports.
func Formats() []Format { return []Format{Text, JSON, SARIF, HTML, Markdown, JUnit} }

// A Set is what a call of the scanner has found.
type Set struct {
	Tool     check.Tool
	Reports  []*check.Report
	Failures []Failure // targets that could not be scanned
	Many     bool      // more than one target was asked for, so that lists are written
}

// A Failure is a target that could not be scanned, and why.
type Failure struct {
	Name    string `json:"name,omitempty"` // of the server in a client's configuration
	Target  string `json:"target"`         // "" when it is not known
	Problem string `json:"problem"`
}

// NewFailure returns a failure, in which no text can disturb.
func NewFailure(name, target, problem string) Failure {
	return Failure{lint.Plain(name), lint.Plain(target), lint.Plain(problem)}
}

// Options are how reports are written.
type Options struct {
	Colours bool   // Text has colours
	Anchor  string // SARIF: the file of a repository that findings are shown at, as code scanning wants one
}

// Write writes a set in a format.
func Write(w io.Writer, format Format, s *Set, o Options) error {
	var b bytes.Buffer
	var err error
	switch format {
	case JSON:
		err = writeJSON(&b, s)
	case SARIF:
		err = writeSARIF(&b, s, o.Anchor)
	case HTML:
		err = writeHTML(&b, s)
	case Markdown:
		writeMarkdown(&b, s)
	case JUnit:
		err = writeJUnit(&b, s)
	case Badge:
		err = writeBadge(&b, s)
	case Text:
		writeText(&b, s, o.Colours)
	default:
		return fmt.Errorf("there is no format %q", format)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", format, err)
	}
	_, err = w.Write(b.Bytes())
	return err //nolint:wrapcheck // the caller knows what it writes to
}

// writeJSON writes one report as an object, several as a list in one; docs/check.schema.json describes both.
func writeJSON(w io.Writer, s *Set) error {
	var v any
	switch {
	case s.Many || len(s.Reports) != 1:
		v = struct {
			SchemaVersion int             `json:"schema_version"`
			Tool          check.Tool      `json:"tool"`
			Reports       []*check.Report `json:"reports"`
			Failures      []Failure       `json:"failures"`
		}{check.SchemaVersion, s.Tool, append([]*check.Report{}, s.Reports...), append([]Failure{}, s.Failures...)}
	default:
		v = s.Reports[0]
	}
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v) //nolint:wrapcheck // Write says what was written
}

// A task is what there is to do about a signal.
type task struct {
	Rule     check.Rule
	Severity check.Severity // of the worst
	Fix      string
	Findings []check.Finding
	More     int // findings that are not in Findings
}

const (
	maxOfTask  = 10 // findings that a task names
	maxTools   = 20 // that a text names
	firstTasks = 5  // that are told at the beginning of a text
)

// tasks returns what there is to do, the worst first.
func tasks(r *check.Report) []task {
	var all []task
	for i := range r.Findings {
		f := &r.Findings[i]
		if !f.Open() {
			continue
		}
		at := slices.IndexFunc(all, func(t task) bool { return t.Rule.ID == f.Signal })
		if at < 0 {
			rule, _ := check.RuleOf(f.Signal)
			rule.ID = f.Signal
			at = len(all)
			all = append(all, task{Rule: rule, Severity: f.Severity, Fix: f.Fix})
		}
		t := &all[at]
		if f.Severity.AtLeast(t.Severity) {
			t.Severity = f.Severity
		}
		if len(t.Findings) == maxOfTask {
			t.More++
			continue
		}
		t.Findings = append(t.Findings, *f)
	}
	rank := func(t task) int { return slices.Index(check.Severities(), t.Severity) }
	slices.SortStableFunc(all, func(a, b task) int { return rank(a) - rank(b) })
	return all
}

// suppressed returns the findings that are accepted.
func suppressed(r *check.Report) []check.Finding {
	return slices.DeleteFunc(slices.Clone(r.Findings), func(f check.Finding) bool { return f.Suppressed == nil })
}

// Tally says how many findings are open, by severity, and how many are not.
func Tally(r *check.Report) string {
	counts := map[check.Severity]int{}
	hidden, known := 0, 0
	for i := range r.Findings {
		switch f := &r.Findings[i]; {
		case f.Suppressed != nil:
			hidden++
		case f.State == check.Known:
			known++
		default:
			counts[f.Severity]++
		}
	}
	var parts []string
	for _, s := range check.Severities() {
		if n := counts[s]; n > 0 && s != check.Info {
			parts = append(parts, fmt.Sprintf("%d %s", n, s))
		}
	}
	text := "none"
	if len(parts) > 0 {
		text = strings.Join(parts, ", ")
	}
	if r.Baseline != nil {
		text += fmt.Sprintf("; %d known from the baseline", known)
	}
	if hidden > 0 {
		text += fmt.Sprintf("; %d suppressed", hidden)
	}
	return text
}

// verdict says in a few words how it stands.
func verdict(r *check.Report) string {
	worst := check.Severity("")
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Open() && (worst == "" || f.Severity.AtLeast(worst)) {
			worst = f.Severity
		}
	}
	switch {
	case r.Era == "":
		return "No MCP server answers"
	case worst.AtLeast(check.High):
		return "Needs repair"
	case worst == check.Medium:
		return "Should be improved"
	case worst == check.Low:
		return "Sound, with room to improve"
	}
	return "Nothing to repair"
}

// score says the number, or why there is none.
func score(r *check.Report) string {
	switch {
	case r.Score != nil:
		return fmt.Sprintf("score %d of 100, %d possible today", *r.Score, *r.Possible)
	case r.Era != "":
		return "no score: nothing was measured"
	}
	return "no score: no MCP server answers"
}

// title names a target, and the server that a configuration calls so.
func title(name, target string) string {
	switch "" {
	case name:
		return target
	case target:
		return name
	}
	return name + " (" + target + ")"
}

// serverOf says who answers, "" when nobody says who they are.
func serverOf(r *check.Report) string {
	s := r.Diagnostics.Server
	if s.Name == "" {
		return ""
	}
	return strings.TrimSpace(s.Name+" "+s.Version) + ", MCP " + s.Revision
}
