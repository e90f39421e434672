package triage_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/check"
	"runpython/internal/check/triage"
)

var now = time.Date(2026, 12, 1, 23, 0, 0, 0, time.UTC)

func file(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// scanned is a report with a few findings.
func scanned() *check.Report {
	score, low := 71, 40
	return &check.Report{
		Target: "https://a.test/mcp", Era: "dual", Score: &score, StartedAt: now,
		Categories: []check.Category{{ID: "capabilities", Title: "Capabilities", Score: &low, Signals: []check.Signal{{ID: "caps.spec_recency", Status: check.Partial, Credit: 0.4, Scored: true}}}},
		Findings: []check.Finding{
			{Fingerprint: "f1", Signal: "hsts.present", Severity: check.Medium, Location: "endpoint", Message: "no header"},
			{Fingerprint: "f2", Signal: "safety.injection_markers", Rule: "INJ-01", Severity: check.High, Location: "tool/a/b/description", Message: "steers"},
			{Fingerprint: "f3", Signal: "safety.injection_markers", Rule: "INJ-06", Severity: check.Info, Location: "tool/c/description", Message: "a path"},
		},
	}
}

func TestSuppressionsMustSayWhyAndUntilWhen(t *testing.T) {
	for name, c := range map[string]struct{ entry, want string }{
		"no signal":        {"{reason: x, expires: 2027-01-01}", "suppression 1: has no signal"},
		"no such signal":   {"{signal: nothing, reason: x, expires: 2027-01-01}", `there is no signal "nothing"; there are: tls.certificate`},
		"no reason":        {"{signal: hsts.present, expires: 2027-01-01}", "has no reason"},
		"blank reason":     {"{signal: hsts.present, reason: '  ', expires: 2027-01-01}", "has no reason"},
		"long reason":      {"{signal: hsts.present, reason: '" + strings.Repeat("x", 501) + "', expires: 2027-01-01}", "more than 500 characters"},
		"no end":           {"{signal: hsts.present, reason: x}", "has no day on which it expires"},
		"no day":           {"{signal: hsts.present, reason: x, expires: soon}", `"soon" is no day`},
		"too far":          {"{signal: hsts.present, reason: x, expires: 2028-01-01}", "more than a year ahead"},
		"unknown member":   {"{signal: hsts.present, reason: x, expires: 2027-01-01, reson: y}", "reson"},
		"hostile":          {"{signal: \"\\e[2J\", reason: x, expires: 2027-01-01}", `\x1b[2J`},
		"not a list":       {"hsts.present", "cannot unmarshal"},
		"second document":  {"{signal: hsts.present, reason: x, expires: 2027-01-01}\n---\nversion: 1", "more than one document"},
		"second is broken": {"{signal: hsts.present, reason: x, expires: 2027-01-01}\n - {signal: hsts.present}", "suppression 2: has no reason"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := triage.ReadSuppressions(file(t, "version: 1\nsuppressions:\n - "+c.entry+"\n"), now)
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\x1b") {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
		})
	}
	if _, err := triage.ReadSuppressions(file(t, ""), now); err == nil || !strings.Contains(err.Error(), "version is 0, must be 1") {
		t.Errorf("an empty file: %v", err)
	}
	if _, err := triage.ReadSuppressions(filepath.Join(t.TempDir(), "none"), now); err == nil {
		t.Error("a file that is not there is taken")
	}
}

// Whoever scans again and again has read the file once.
func TestSuppressionsExpireWhileTheyAreInUse(t *testing.T) {
	s, err := triage.ReadSuppressions(file(t, "version: 1\nsuppressions: [{signal: hsts.present, reason: because, expires: 2026-12-24}]"), now)
	if err != nil {
		t.Fatal(err)
	}
	before, after := scanned(), scanned()
	after.StartedAt = time.Date(2026, 12, 25, 0, 0, 1, 0, time.UTC)
	s.Apply(before)
	s.Apply(after)
	if before.Findings[0].Suppressed == nil || after.Findings[0].Suppressed != nil {
		t.Errorf("suppressed: %v, and when it has expired %v", before.Findings[0].Suppressed, after.Findings[0].Suppressed)
	}
	if notes := s.Notes(); len(notes) != 1 || !strings.Contains(notes[0], "has expired on 2026-12-24") {
		t.Errorf("notes %q, want that it has expired", notes)
	}
}

func TestSuppressionsHoldForWhatTheySay(t *testing.T) {
	for name, c := range map[string]struct {
		entry string
		want  []string // fingerprints of what is suppressed
		notes int
	}{
		"a signal":             {"signal: safety.injection_markers", []string{"f2", "f3"}, 0},
		"a rule":               {"signal: safety.injection_markers, rule: INJ-06", []string{"f3"}, 0},
		"a place":              {"signal: safety.injection_markers, location: tool/a/b/description", []string{"f2"}, 0},
		"places":               {"signal: safety.injection_markers, location: 'tool/*/description'", []string{"f2", "f3"}, 0},
		"a part of a place":    {"signal: safety.injection_markers, location: tool/a", nil, 1},
		"parts in other order": {"signal: safety.injection_markers, location: '*c*tool*'", nil, 1},
		"a finding":            {"signal: hsts.present, fingerprint: f1", []string{"f1"}, 0},
		"another finding":      {"signal: hsts.present, fingerprint: f9", nil, 1},
		"a target":             {"signal: hsts.present, target: 'https://a.test/*'", []string{"f1"}, 0},
		"another target":       {"signal: hsts.present, target: 'https://b.test/*'", nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := triage.ReadSuppressions(file(t, "version: 1\nsuppressions: [{"+c.entry+", reason: because, expires: 2026-12-24}]"), now)
			if err != nil {
				t.Fatal(err)
			}
			r := scanned()
			s.Apply(r)
			var got []string
			for _, f := range r.Findings {
				if f.Suppressed != nil {
					got = append(got, f.Fingerprint)
				}
			}
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			if notes := s.Notes(); len(notes) != c.notes {
				t.Errorf("notes %q, want %d", notes, c.notes)
			}
			if *r.Score != 71 {
				t.Errorf("the score has become %d", *r.Score)
			}
		})
	}
}

// A suppression holds on its last day, and no more on the next.
func TestSuppressionsExpire(t *testing.T) {
	for expires, want := range map[string]bool{"2026-12-01": true, "2026-11-30": false} {
		s, err := triage.ReadSuppressions(file(t, "version: 1\nsuppressions: [{signal: hsts.present, reason: because, expires: "+expires+"}]"), now)
		if err != nil {
			t.Fatal(err)
		}
		r := scanned()
		s.Apply(r)
		if got := r.Findings[0].Suppressed != nil; got != want {
			t.Errorf("one that expires on %s holds: %v, want %v", expires, got, want)
		}
		if notes := strings.Join(s.Notes(), "\n"); strings.Contains(notes, "has expired") == want {
			t.Errorf("notes %q", notes)
		}
	}
}

func TestGate(t *testing.T) {
	suppressed := scanned()
	suppressed.Findings[1].Suppressed = &check.Suppression{Reason: "x", Expires: "2027-01-01"}
	known := scanned()
	known.Compare(check.Baseline{Findings: []check.GoneFinding{{Fingerprint: "f1"}, {Fingerprint: "f2"}}}, check.Observation{})
	drifted := scanned()
	before := check.Observation{Listed: true, Tools: map[string]check.ToolShape{"a": {}}}
	drifted.Compare(check.Baseline{Findings: []check.GoneFinding{{Fingerprint: "f1"}, {Fingerprint: "f2"}}, Seen: before}, check.Observation{Listed: true})
	unmeasured := scanned()
	unmeasured.Score, unmeasured.Categories[0].Score = nil, nil
	for name, c := range map[string]struct {
		gate triage.Gate
		r    *check.Report
		want []string // beginnings of what is said
	}{
		"open":                {triage.Gate{}, scanned(), nil},
		"score":               {triage.Gate{MinScore: 72}, scanned(), []string{"the score 71 is below --min-score 72: caps.spec_recency partial"}},
		"score reached":       {triage.Gate{MinScore: 71}, scanned(), nil},
		"no score":            {triage.Gate{MinScore: 1}, unmeasured, []string{"nothing was measured"}},
		"category":            {triage.Gate{MinCategory: map[string]int{"capabilities": 41}}, scanned(), []string{"Capabilities has 40, below --min capabilities=41"}},
		"category reached":    {triage.Gate{MinCategory: map[string]int{"capabilities": 40}}, scanned(), nil},
		"category unmeasured": {triage.Gate{MinCategory: map[string]int{"capabilities": 40}}, unmeasured, []string{"nothing was measured"}},
		"severity":            {triage.Gate{FailOn: check.High}, scanned(), []string{"there are findings of severity high", "high safety.injection_markers at tool/a/b/description: steers"}},
		"lower severity":      {triage.Gate{FailOn: check.Low}, scanned(), []string{"there are findings", "medium hsts", "high safety"}}, // and not what is for information
		"higher severity":     {triage.Gate{FailOn: check.Critical}, scanned(), nil},
		"suppressed":          {triage.Gate{FailOn: check.High}, suppressed, nil},
		"known":               {triage.Gate{FailOn: check.Low}, known, nil},
		"drifted":             {triage.Gate{FailOn: check.Low}, drifted, []string{"there are new findings", "breaking change since the baseline: tool a is gone"}},
		"both":                {triage.Gate{MinScore: 99, FailOn: check.High}, scanned(), []string{"the score", "there are", "high"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := c.gate.Judge(c.r)
			if len(got) != len(c.want) {
				t.Fatalf("said %q, want %d lines", got, len(c.want))
			}
			for i := range got {
				if !strings.HasPrefix(got[i], c.want[i]) {
					t.Errorf("said %q, want %q", got[i], c.want[i])
				}
			}
		})
	}
}

func TestBaselineIsReadAsItWasWritten(t *testing.T) {
	name := filepath.Join(t.TempDir(), "baseline.json")
	seen := check.Observation{Time: now, Listed: true, Tools: map[string]check.ToolShape{"a": {}}}
	if err := triage.WriteBaseline(name, []check.Baseline{scanned().AsBaseline(seen)}); err != nil {
		t.Fatal(err)
	}
	targets, err := triage.ReadBaseline(name)
	if err != nil {
		t.Fatal(err)
	}
	later := scanned()
	later.Findings = append(later.Findings[1:], check.Finding{Fingerprint: "f4", Signal: "tls.certificate", Severity: check.High})
	triage.Compare(targets, later, check.Observation{Time: now, Listed: true, Tools: map[string]check.ToolShape{"b": {}}})
	var states []check.State
	for _, f := range later.Findings {
		states = append(states, f.State)
	}
	if d := cmp.Diff([]check.State{check.Known, check.Known, check.New}, states); d != "" {
		t.Error(d)
	}
	want := &check.BaselineReport{CreatedAt: now, Known: 2, New: 1,
		Gone:    []check.GoneFinding{{Fingerprint: "f1", Signal: "hsts.present", Location: "endpoint", Message: "no header"}},
		Changes: []check.Change{{Time: now, Class: check.Breaking, What: "tool a is gone"}, {Time: now, Class: check.Functional, What: "tool b is new"}}}
	if d := cmp.Diff(want, later.Baseline); d != "" {
		t.Error(d)
	}

	other := scanned()
	other.Target = "https://b.test/mcp"
	triage.Compare(targets, other, seen)
	if other.Baseline.New != 3 {
		t.Errorf("of a target that the baseline has not, %d findings are new", other.Baseline.New)
	}
}

// What others have written into a baseline controls nothing.
func TestBaselineOfOthers(t *testing.T) {
	text, err := json.Marshal(map[string]any{"version": 1, "targets": []any{map[string]any{
		"target": "https://a.test/mcp", "findings": []any{map[string]any{"fingerprint": "x", "signal": "\x1b[2J", "location": "\u202e", "message": "\x07"}},
		"seen": map[string]any{"listed": true, "tools": map[string]any{"\x1b[31m": map[string]any{}}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	targets, err := triage.ReadBaseline(file(t, string(text)))
	if err != nil {
		t.Fatal(err)
	}
	r := scanned()
	triage.Compare(targets, r, check.Observation{Listed: true})
	if got, err := json.Marshal(r.Baseline); err != nil || strings.ContainsAny(string(got), "\u202e") || strings.Contains(string(got), `\u001b`) {
		t.Errorf("the report has %s, %v", got, err)
	}
	for name, text := range map[string]string{"no JSON": "{", "another version": `{"version":2}`, "a list": "[]"} {
		if _, err := triage.ReadBaseline(file(t, text)); err == nil || !strings.Contains(err.Error(), "is no baseline") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
