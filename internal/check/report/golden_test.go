package report_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"

	"runpython/internal/check"
	"runpython/internal/check/dnssec"
	"runpython/internal/check/probe"
	"runpython/internal/check/report"
)

var update = flag.Bool("update", false, "write the golden files anew")

// hostile is what a server may say that wants to be more than text in some form of a report.
const hostile = `</style></script><script>alert(1)</script><img src=x onerror=alert(1)> "'` + "`" + ` | [a](javascript:alert(1)) ![b](https://evil.example/p.png) ` +
	`https://evil.example www.evil.example @everyone #1 me@evil.example <!-- c --> ]]> {{.}} &lt; ~~x~~ **y** _z_ ::error::x %0A \`

func date(day int) time.Time { return time.Date(2026, 12, day, 10, 20, 30, 0, time.UTC) }

// fixed is a report with everything in it, and hostile texts wherever a server's own can be.
func fixed() *check.Report {
	score, possible, none, full := 61, 86, 0, 100
	no := false
	signal := func(id string, status check.Status, summary, fix string, evidence ...string) check.Signal {
		return check.Signal{ID: id, Status: status, Credit: 0.5, Weight: 50, Scored: true, Summary: summary, Fix: fix, Evidence: evidence, Refs: []string{"RFC 6797"}, OWASP: []string{"MCP07"}}
	}
	finding := func(fingerprint, signal string, s check.Severity, location, message string) check.Finding {
		return check.Finding{Fingerprint: strings.Repeat(fingerprint, 32), Signal: signal, Severity: s, Location: location, Message: message, Fix: "repair " + signal}
	}
	r := &check.Report{
		SchemaVersion: check.SchemaVersion, Tool: tool(), Target: "https://mcp.test/mcp", Name: "a <b>server</b>", StartedAt: date(1), Profile: check.Local, Era: "dual",
		Score: &score, Possible: &possible, Coverage: check.Coverage{Measured: 15, Total: 17},
		Categories: []check.Category{
			{ID: "endpoint_security", Title: "Endpoint Security", Weight: 30, Score: &score, Signals: []check.Signal{
				signal("tls.certificate", check.Pass, "the certificate is valid for this name", "", "TLS 1.3"),
				signal("hsts.present", check.Fail, "no Strict-Transport-Security header", "send the header"),
				signal("auth.enforced", check.Error, "not measured: "+hostile, ""),
			}},
			{ID: "schema_quality", Title: "Schema Quality & AI Usability", Weight: 10, Signals: []check.Signal{signal("schema.instruction_clarity", check.Unverified, "not measured", "")}},
			{ID: "tool_coverage", Title: "Tool Coverage", Weight: 15, Score: &full, Signals: []check.Signal{signal("coverage.tool_descriptions", check.NotApplicable, "no tools", "")}},
			{ID: "tool_safety", Title: "Tool Safety", Weight: 15, Score: &none, Signals: []check.Signal{
				signal("safety.injection_markers", check.Fail, "1 texts try to steer the model", "take it out", hostile),
				signal("safety.irreversible_ops", check.Partial, "2 tools do not say so", "say so"),
			}},
		},
		Findings: []check.Finding{
			finding("1", "hsts.present", check.Medium, "endpoint", "no Strict-Transport-Security header"),
			finding("2", "safety.injection_markers", check.High, "tool/"+hostile+"/description", "INJ-01: "+hostile),
			finding("3", "safety.irreversible_ops", check.Medium, "tool/drop/annotations", "drop"),
			finding("4", "safety.irreversible_ops", check.Medium, "tool/wipe/annotations", "wipe"),
		},
		Diagnostics: check.Diagnostics{
			Addresses: []string{"192.0.2.1"},
			TLS: &check.TLSDiagnostics{Version: "TLS 1.3", CipherSuite: "TLS_AES_128_GCM_SHA256", Chain: []check.Certificate{{
				Subject: "CN=" + hostile, Issuer: "CN=root", NotBefore: date(1), NotAfter: date(9), Key: "EC P-256", Signature: "ECDSA-SHA256"}}},
			DNSSEC: &check.DNSSECDiagnosis{State: dnssec.Insecure, Reason: "no DS", Zones: []check.ZoneDiagnosis{{Name: "test.", State: dnssec.Insecure, DS: []string{}, Note: hostile}}},
			HTTP:   check.HTTPDiagnostics{PlainListening: true, PlainStatus: 308, PlainLocation: "https://mcp.test/", Headers: map[string]string{"Server": hostile}},
			Auth: check.AuthDiagnostics{Verdict: "enforced_unverified", CallStatus: 401, CallDetail: hostile,
				Challenges: []check.ChallengeDiagnosis{{Scheme: "Bearer", Parameters: map[string]string{"realm": hostile}}},
				Resource:   &check.ResourceDiagnosis{URL: "https://mcp.test/x", Problem: hostile}, Issuers: []check.IssuerDiagnosis{{Issuer: hostile, URL: hostile}}},
			Transports: []check.TryDiagnostic{{Revision: "2026-07-28", Outcome: probe.Accepted, Status: 200, Detail: hostile}},
			Server:     check.ServerDiagnosis{Name: hostile, Version: "1", Revision: "2026-07-28", Tools: 2},
			Tokens:     check.TokenDiagnosis{Total: 90, PerOne: 45},
			Tools: []check.ToolDiagnosis{
				{Name: hostile, Description: hostile, Tokens: 60, ReadOnly: &no, Parameters: []check.ParameterDiagnosis{{Path: hostile, Type: "string", Required: true, Description: hostile}}},
				{Name: "drop", Description: "Drops.", Tokens: 30, Parameters: []check.ParameterDiagnosis{}},
			},
			Problems: []string{hostile},
		},
		Changes: []check.Change{{Time: date(1), Class: check.Breaking, What: "tool " + hostile + " is gone"}},
		Baseline: &check.BaselineReport{CreatedAt: date(1), Known: 1, New: 3, Changes: []check.Change{{Time: date(1), Class: check.Security, What: "the certificate is valid no more"}},
			Gone: []check.GoneFinding{{Fingerprint: strings.Repeat("5", 32), Signal: "https.enforced", Location: "endpoint", Message: hostile}}},
	}
	r.Findings[0].State, r.Findings[1].State, r.Findings[2].State, r.Findings[3].State = check.Known, check.New, check.New, check.New
	r.Findings[1].Rule = "INJ-01"
	r.Findings[2].Suppressed = &check.Suppression{Reason: "reviewed " + hostile, Expires: "2027-03-01"}
	return r
}

func tool() check.Tool {
	return check.Tool{Name: check.ProgramName, Version: "1.2.3", Rubric: "2026-12"}
}

func one() *report.Set { return &report.Set{Tool: tool(), Reports: []*check.Report{fixed()}} }

func many() *report.Set {
	return &report.Set{Tool: tool(), Many: true, Reports: []*check.Report{fixed(), fixed()}, Failures: []report.Failure{report.NewFailure("gone", "https://gone.test/"+hostile, hostile+"\x1b[2J")}}
}

func write(t *testing.T, f report.Format, s *report.Set) string {
	t.Helper()
	var b bytes.Buffer
	if err := report.Write(&b, f, s, report.Options{Anchor: "server.json"}); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Every form of the same reports is what it was.
func TestGolden(t *testing.T) {
	endings := map[report.Format]string{report.Text: "txt", report.JSON: "json", report.SARIF: "sarif", report.HTML: "html", report.Markdown: "md", report.JUnit: "xml", report.Badge: "svg"}
	for format, ending := range endings {
		for name, set := range map[string]*report.Set{"one": one(), "many": many()} {
			t.Run(string(format)+"/"+name, func(t *testing.T) {
				file := filepath.Join("testdata", "golden", name+"."+ending)
				got := write(t, format, set)
				if *update {
					if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				want, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(string(want), got); d != "" {
					t.Errorf("%s differs (-want +got); if that is meant, run with -update\n%s", file, d)
				}
			})
		}
	}
}

// compiled returns a schema of a file.
func compiled(t *testing.T, file string) *jsonschema.Schema {
	t.Helper()
	doc, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(doc))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("schema.json", v); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func validate(t *testing.T, schema *jsonschema.Schema, doc string) {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(doc))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(v); err != nil {
		t.Error(err)
	}
}

func TestFixedReportIsWhatTheSchemasSay(t *testing.T) {
	ours := compiled(t, "../../../docs/check.schema.json")
	sarif := compiled(t, "testdata/sarif-schema-2.1.0.json")
	for name, set := range map[string]*report.Set{"one": one(), "many": many(), "nothing": {Tool: tool(), Many: true}} {
		t.Run(name, func(t *testing.T) {
			validate(t, ours, write(t, report.JSON, set))
			validate(t, sarif, write(t, report.SARIF, set))
		})
	}
}

// What code scanning shows: each result has its rule, a level, a place in the repository and a fingerprint of its own, the same in
// each scan; what is accepted or known says so.
func TestSARIFTellsResultsApart(t *testing.T) {
	var log struct {
		Runs []struct {
			Tool struct {
				Driver struct {
					Rules []struct {
						ID   string
						Help struct{ Text, Markdown string }
					}
				}
			}
			Results []struct {
				RuleID              string
				RuleIndex           int
				Level               string
				BaselineState       string
				PartialFingerprints map[string]string
				Suppressions        []struct{ Justification string }
				Locations           []struct {
					PhysicalLocation struct{ ArtifactLocation struct{ URI string } }
				}
			}
		}
	}
	first := write(t, report.SARIF, one())
	if err := json.Unmarshal([]byte(first), &log); err != nil {
		t.Fatal(err)
	}
	run := log.Runs[0]
	var states, levels []string
	seen := map[string]bool{}
	for _, r := range run.Results {
		if id := run.Tool.Driver.Rules[r.RuleIndex].ID; id != r.RuleID {
			t.Errorf("rule %d is %s, but the result is of %s", r.RuleIndex, id, r.RuleID)
		}
		states, levels = append(states, r.BaselineState), append(levels, r.Level)
		for _, f := range r.PartialFingerprints {
			if seen[f] {
				t.Errorf("two results have the fingerprint %s", f)
			}
			seen[f] = true
		}
		if r.Locations[0].PhysicalLocation.ArtifactLocation.URI != "server.json" {
			t.Errorf("%s is at %q", r.RuleID, r.Locations[0].PhysicalLocation.ArtifactLocation.URI)
		}
	}
	if d := cmp.Diff([]string{"unchanged", "new", "new", "new", "absent"}, states); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]string{"warning", "error", "warning", "warning", "note"}, levels); d != "" {
		t.Error(d)
	}
	if s := run.Results[2].Suppressions; len(s) != 1 || !strings.Contains(s[0].Justification, "reviewed") {
		t.Errorf("the suppression is told as %v", s)
	}
	for _, rule := range run.Tool.Driver.Rules {
		if rule.Help.Text == "" || rule.Help.Markdown == "" {
			t.Errorf("%s has no help", rule.ID)
		}
	}
	later := one()
	later.Reports[0].StartedAt = date(2)
	later.Reports[0].Findings[0].Message = "told in other words"
	for f := range seen {
		if !strings.Contains(write(t, report.SARIF, later), f) {
			t.Errorf("a later scan does not have the fingerprint %s", f)
		}
	}
}

// A page has no element but its own: what servers say is text. TestPage in a browser looks at the rest.
func TestPageHasNoMarkupOfServers(t *testing.T) {
	for _, set := range []*report.Set{one(), many()} {
		html := write(t, report.HTML, set)
		for _, bad := range []string{"<script", "<img", "javascript:alert(1)\"", "href=", "src=\"", "style=\"", "<!-- c -->", "http-equiv=\"refresh"} {
			if i := strings.Index(html, bad); i >= 0 {
				t.Errorf("the page has %q: %q", bad, html[max(0, i-60):min(len(html), i+60)])
			}
		}
		if n := strings.Count(html, "</style>"); n != 1 {
			t.Errorf("the page closes %d styles", n)
		}
		if !strings.Contains(html, "default-src &#39;none&#39;") && !strings.Contains(html, "default-src 'none'") {
			t.Error("the page has no policy")
		}
	}
}

// Whoever renders the Markdown, with the extensions of GitHub, makes no link, picture, code, emphasis or HTML of what servers say.
func TestMarkdownHasNoMarkupOfServers(t *testing.T) {
	source := []byte(write(t, report.Markdown, many()))
	doc := goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser().Parse(text.NewReader(source))
	comments := regexp.MustCompile(`^<!-- -->$`)
	cells := map[int]int{}
	err := ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Link, *ast.Image, *ast.AutoLink, *ast.CodeSpan, *ast.HTMLBlock, *ast.CodeBlock, *ast.FencedCodeBlock:
			t.Errorf("a %s: %.200q", n.Kind(), n.Parent().Text(source)) //nolint:staticcheck // for a message
		case *ast.RawHTML:
			if html := string(n.Segments.Value(source)); !comments.MatchString(html) {
				t.Errorf("HTML %q", html)
			}
		}
		if n.Kind().String() == "TableRow" {
			cells[n.ChildCount()]++
		}
		if n.Kind().String() == "Strikethrough" {
			t.Error("something is struck through")
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if cells[4] == 0 || cells[3] == 0 || len(cells) != 2 {
		t.Errorf("tables have rows of so many cells: %v, want 3 and 4", cells)
	}
	for _, bad := range []string{"@everyone", "#1", "me@evil"} {
		if bytes.Contains(source, []byte(bad)) {
			t.Errorf("the Markdown has %q, which GitHub makes a link of", bad)
		}
	}
}

func TestXMLIsWellFormed(t *testing.T) {
	for _, f := range []report.Format{report.JUnit, report.Badge} {
		for name, set := range map[string]*report.Set{"one": one(), "many": many(), "nothing": {Tool: tool(), Many: true}} {
			d := xml.NewDecoder(strings.NewReader(write(t, f, set)))
			for {
				_, err := d.Token()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatalf("%s of %s: %v", f, name, err)
				}
			}
		}
	}
}

// A case of JUnit fails for what is open alone.
func TestJUnitFailsForWhatIsOpen(t *testing.T) {
	var got struct {
		Suites []struct {
			Cases []struct {
				Name    string `xml:"name,attr"`
				Failure *struct {
					Type string `xml:"type,attr"`
				} `xml:"failure"`
				Skipped *struct{} `xml:"skipped"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	set := one()
	set.Reports[0].Findings[3].Suppressed = set.Reports[0].Findings[2].Suppressed
	if err := xml.Unmarshal([]byte(write(t, report.JUnit, set)), &got); err != nil {
		t.Fatal(err)
	}
	words := map[string]string{}
	for _, c := range got.Suites[0].Cases {
		switch {
		case c.Failure != nil:
			words[c.Name] = c.Failure.Type
		case c.Skipped != nil:
			words[c.Name] = "skipped"
		default:
			words[c.Name] = "passed"
		}
	}
	want := map[string]string{
		"tls.certificate": "passed", "hsts.present": "passed", // the baseline has it
		"auth.enforced": "skipped", "schema.instruction_clarity": "skipped", "coverage.tool_descriptions": "skipped",
		"safety.injection_markers": "high", "safety.irreversible_ops": "skipped",
	}
	if d := cmp.Diff(want, words); d != "" {
		t.Error(d)
	}
}

func TestBadgeTellsTheLowestScore(t *testing.T) {
	good, bad := 97, 42
	a, b, none := fixed(), fixed(), fixed()
	a.Score, b.Score, none.Score = &good, &bad, nil
	for want, set := range map[string]*report.Set{
		"97 / 100": {Reports: []*check.Report{a}}, "42 / 100": {Reports: []*check.Report{a, b}}, "no score": {Reports: []*check.Report{a, none}},
	} {
		svg := write(t, report.Badge, set)
		if !strings.Contains(svg, `<title id="t">MCP check: `+want+`</title>`) || !strings.Contains(svg, `aria-labelledby="t"`) {
			t.Errorf("want a badge of %s: %s", want, svg)
		}
	}
}
