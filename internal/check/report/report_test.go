package report_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"runpython/internal/check"
	"runpython/internal/check/checktest"
	"runpython/internal/check/dnssec"
	"runpython/internal/check/report"
)

// sites are as different as reports can be.
func sites() map[string]checktest.Site {
	hostile := `{"name":"a\u001b[2Jb","title":"\u202egnp.exe","description":"` + strings.Repeat(`\u200b\u0007x`, 3000) + `","inputSchema":{"type":"object","properties":{"p\u001b]0;t\u0007":{"description":"` + strings.Repeat("long", 100) + `"}}}}`
	return map[string]checktest.Site{
		"open":    {Revisions: []string{"2025-06-18"}, Tools: []string{hostile}, Instructions: "\x1b[31mread \u202ethis", Header: http.Header{"Server": {"a\u202eb"}}},
		"locked":  {Revisions: []string{"2026-07-28"}, Auth: checktest.All},
		"calls":   {Revisions: []string{"2026-07-28"}, Auth: checktest.Calls, Resource: map[string]any{"resource": "https://\u202eevil"}},
		"no MCP":  {Handler: http.NotFoundHandler()},
		"expired": {Certificate: checktest.Certificate{Expired: true}},
	}
}

func scan(t *testing.T, site checktest.Site) *check.Report {
	t.Helper()
	served := checktest.Serve(t, site)
	r, _, err := check.Scan(t.Context(), checktest.URL, check.Options{
		Version: "test", Roots: served.Roots, Network: served,
		DNSSEC: &dnssec.Validator{Resolver: dnssec.Server{Address: "127.0.0.1:1"}, Anchors: dnssec.RootAnchors(), Now: time.Now()},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestJSONIsWhatItsSchemaSays(t *testing.T) {
	schema := compiled(t, "../../../docs/check.schema.json")
	for name, site := range sites() {
		t.Run(name, func(t *testing.T) {
			validate(t, schema, write(t, report.JSON, &report.Set{Reports: []*check.Report{scan(t, site)}}))
		})
	}
}

// TestNothingOfAServerControlsAnything: no form has a character that a terminal or the eye obeys, and no line of
// text is wider than 80 characters.
func TestNothingOfAServerControlsAnything(t *testing.T) {
	for name, site := range sites() {
		t.Run(name, func(t *testing.T) {
			r := scan(t, site)
			set := &report.Set{Reports: []*check.Report{r}}
			for _, form := range append(report.Formats(), report.Badge) {
				s := write(t, form, set)
				if i := strings.IndexAny(s, "\x1b\x07\u202e\u200b\r"); i >= 0 {
					t.Errorf("the %s has %q", form, s[max(0, i-40):min(len(s), i+40)])
				}
				if strings.Contains(s, `\u001b`) {
					t.Errorf("the %s has an escaped control character", form)
				}
			}
			text := write(t, report.Text, set)
			for line := range strings.Lines(text) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > 80 {
					t.Errorf("a line has %d characters: %q", n, line)
				}
			}
			if len(text) > 64<<10 {
				t.Errorf("the text has %d bytes", len(text))
			}
		})
	}
}

func TestColoursOnlyWhereTheyAreWanted(t *testing.T) {
	r := scan(t, checktest.Site{Revisions: []string{"2026-07-28"}})
	var b bytes.Buffer
	if err := report.Write(&b, report.Text, &report.Set{Reports: []*check.Report{r}}, report.Options{Colours: true}); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "\x1b[31mFAIL") {
		t.Errorf("no failure is red in:\n%s", b.String())
	}
}

// What costs nothing and should be looked at is told to people too.
func TestAdviceIsShown(t *testing.T) {
	r := fixed()
	r.Categories[0].Signals = append(r.Categories[0].Signals, check.Signal{ID: "caps.spec_recency", Status: check.Pass, Evidence: []string{"not so: a rule"}})
	for _, f := range []report.Format{report.Text, report.HTML} {
		if text := write(t, f, &report.Set{Tool: tool(), Reports: []*check.Report{r}}); !strings.Contains(text, "not so: a rule") {
			t.Errorf("%s does not have it", f)
		}
	}
}
