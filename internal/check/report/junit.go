package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"runpython/internal/check"
)

// The elements of JUnit's form, as far as CI systems read it.
type (
	junitSuites struct {
		XMLName  xml.Name     `xml:"testsuites"`
		Name     string       `xml:"name,attr"`
		Tests    int          `xml:"tests,attr"`
		Failures int          `xml:"failures,attr"`
		Errors   int          `xml:"errors,attr"`
		Skipped  int          `xml:"skipped,attr"`
		Suites   []junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name      string      `xml:"name,attr"`
		Timestamp string      `xml:"timestamp,attr,omitempty"`
		Tests     int         `xml:"tests,attr"`
		Failures  int         `xml:"failures,attr"`
		Errors    int         `xml:"errors,attr"`
		Skipped   int         `xml:"skipped,attr"`
		Cases     []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Class   string        `xml:"classname,attr"`
		Name    string        `xml:"name,attr"`
		Failure *junitProblem `xml:"failure,omitempty"`
		Error   *junitProblem `xml:"error,omitempty"`
		Skipped *junitProblem `xml:"skipped,omitempty"`
		Out     string        `xml:"system-out,omitempty"`
	}
	junitProblem struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",chardata"`
	}
)

// writeJUnit writes a suite for each target and a case for each signal. A case fails when the signal has findings that are open
// and cost something; it is skipped when it was not measured, or all its findings are accepted.
func writeJUnit(w io.Writer, s *Set) error {
	all := junitSuites{Name: check.ProgramName}
	for _, r := range s.Reports {
		all.add(junitReport(r))
	}
	for _, f := range s.Failures {
		suite := junitSuite{Name: title(f.Name, f.Target)}
		suite.add(junitCase{Class: "scan", Name: "scan", Error: &junitProblem{Message: f.Problem, Type: "unreachable"}})
		all.add(suite)
	}
	if _, err := io.WriteString(w, xml.Header); err != nil {
		return err //nolint:wrapcheck // Write says what was written
	}
	e := xml.NewEncoder(w)
	e.Indent("", "  ")
	if err := e.Encode(all); err != nil {
		return err //nolint:wrapcheck // the same
	}
	_, err := io.WriteString(w, "\n")
	return err //nolint:wrapcheck // the same
}

func (j *junitSuites) add(s junitSuite) {
	j.Suites = append(j.Suites, s)
	j.Tests += s.Tests
	j.Failures += s.Failures
	j.Errors += s.Errors
	j.Skipped += s.Skipped
}

func (j *junitSuite) add(c junitCase) {
	j.Cases = append(j.Cases, c)
	j.Tests++
	switch {
	case c.Failure != nil:
		j.Failures++
	case c.Error != nil:
		j.Errors++
	case c.Skipped != nil:
		j.Skipped++
	}
}

func junitReport(r *check.Report) junitSuite {
	suite := junitSuite{Name: title(r.Name, r.Target), Timestamp: r.StartedAt.Format("2006-01-02T15:04:05")}
	open := map[string]task{}
	for _, t := range tasks(r) {
		if t.Severity != check.Info {
			open[t.Rule.ID] = t
		}
	}
	accepted := map[string]string{}
	for _, f := range suppressed(r) {
		accepted[f.Signal] = fmt.Sprintf("suppressed until %s: %s", f.Suppressed.Expires, f.Suppressed.Reason)
	}
	for _, c := range r.Categories {
		for _, s := range c.Signals {
			suite.add(junitSignal(c.ID, s, open, accepted))
		}
	}
	return suite
}

func junitSignal(category string, s check.Signal, open map[string]task, accepted map[string]string) junitCase {
	c := junitCase{Class: category, Name: s.ID}
	if t, ok := open[s.ID]; ok {
		c.Failure = &junitProblem{Message: s.Summary, Type: string(t.Severity), Text: junitLines(t)}
		return c
	}
	switch {
	case accepted[s.ID] != "":
		c.Skipped = &junitProblem{Message: accepted[s.ID]}
	case s.Status == check.Error || s.Status == check.Unverified || s.Status == check.NotApplicable:
		c.Skipped = &junitProblem{Message: s.Summary}
	default:
		c.Out = s.Summary // also of what a baseline knows
	}
	return c
}

func junitLines(t task) string {
	var b strings.Builder
	for _, f := range t.Findings {
		fmt.Fprintf(&b, "%s: %s\n", f.Location, f.Message)
	}
	if t.More > 0 {
		fmt.Fprintf(&b, "… and %d more\n", t.More)
	}
	if t.Fix != "" {
		fmt.Fprintf(&b, "fix: %s\n", t.Fix)
	}
	return b.String()
}
