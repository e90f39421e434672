package check_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"

	"runpython/internal/check"
	"runpython/internal/check/checktest"
	"runpython/internal/check/dnssec"
	"runpython/internal/extent"
)

// TestImitation scans a server that is like one that a public scanner gave these numbers.
func TestImitation(t *testing.T) {
	served := checktest.Serve(t, checktest.Site{
		Revisions: []string{"2025-06-18", "2025-03-26", "2024-11-05"}, Auth: checktest.Calls,
		HSTS: "max-age=31536000", Plain: redirect(http.StatusPermanentRedirect), Events: true,
		Tools: []string{`{"name":"chat","title":"Python","description":"Answers a message by running Python in a sandbox.",
			"inputSchema":{"type":"object","properties":{"message":{"type":"string","description":"What is to be done"},"chat_id":{"type":"string","description":"Chat that goes on"}},"required":["message"]}}`},
	})
	zone := checktest.NewRoot(t, checktest.Unsigned)
	o := check.Options{
		Profile: check.VerifyMCP, Roots: served.Roots, Network: served,
		DNSSEC: &dnssec.Validator{Resolver: zone, Anchors: []*dns.DS{zone.Anchor()}, Now: time.Now()},
	}
	first, seen, err := check.Scan(t.Context(), checktest.URL, o)
	if err != nil {
		t.Fatal(err)
	}
	if first.Possible == nil || *first.Possible != 85 {
		t.Errorf("a new endpoint can reach %v, want 85", first.Possible)
	}
	o.Now = time.Now()
	for day := range 12 {
		earlier := seen
		earlier.Time = o.Now.Add(-time.Duration(day+1) * 24 * time.Hour)
		o.Past = append(o.Past, earlier)
	}
	r, _, err := check.Scan(t.Context(), checktest.URL, o)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for _, c := range r.Categories {
		if c.Score != nil {
			got[c.Title] = *c.Score
		}
	}
	want := map[string]int{
		"Endpoint Security": 94, "Transport & Reachability": 100, "Schema Quality & AI Usability": 69, "Stability & Change Management": 40,
		"Tool Coverage": 100, "Tool Safety": 100, "Capabilities": 60,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if r.Score == nil || *r.Score != 82 {
		t.Errorf("the score is %v, want 82", r.Score)
	}
	statuses := map[string]check.Status{}
	for _, c := range r.Categories {
		for _, s := range c.Signals {
			statuses[s.ID] = s.Status
		}
	}
	wantStatuses := map[string]check.Status{
		"tls.certificate": check.Pass, "auth.enforced": check.Pass, "https.enforced": check.Pass, "hsts.present": check.Pass, "dnssec.chain": check.Fail,
		"oauth.client_registration": check.Partial, "transport.handshake": check.Pass, "schema.instruction_clarity": check.Unverified,
		"schema.context_budget": check.Pass, "schema.usage_examples": check.Fail, "stability.window": check.Partial, "coverage.tool_descriptions": check.Pass,
		"coverage.param_descriptions": check.Pass, "safety.injection_markers": check.Pass, "safety.irreversible_ops": check.Pass, "safety.text_judge": check.Unverified,
		"caps.spec_recency": check.Partial,
	}
	if diff := cmp.Diff(wantStatuses, statuses); diff != "" {
		t.Error(diff)
	}
	if n := r.Diagnostics.Tokens.Total; n < 60 || n > 90 {
		t.Errorf("the tool costs %d tokens", n)
	}
}

// TestHistory: days count when they were observed, and begin anew with what breaks callers or weakens security.
func TestHistory(t *testing.T) {
	served := checktest.Serve(t, good())
	o := check.Options{Roots: served.Roots, Network: served, Now: time.Now()}
	_, seen, err := check.Scan(t.Context(), checktest.URL, o)
	if err != nil {
		t.Fatal(err)
	}
	daily := func(days, step int, change func(day int, past *check.Observation)) []check.Observation {
		var all []check.Observation
		for day := step; day <= days; day += step {
			past := seen
			past.Time = o.Now.Add(-time.Duration(day) * 24 * time.Hour)
			if change != nil {
				change(day, &past)
			}
			all = append(all, past)
		}
		return all
	}
	more := func(shape check.ToolShape) map[string]check.ToolShape {
		all := map[string]check.ToolShape{"search": shape}
		all["delete_book"] = seen.Tools["delete_book"]
		return all
	}
	for name, c := range map[string]struct {
		past   []check.Observation
		want   check.Status
		credit float64
	}{
		"none":             {nil, check.Unverified, 0},
		"daily":            {daily(40, 1, nil), check.Pass, 1},
		"half":             {daily(15, 1, nil), check.Partial, 0.5},
		"three days apart": {daily(60, 3, nil), check.Fail, 0},
		"a tool is gone": {daily(30, 1, func(day int, o *check.Observation) {
			if day > 6 {
				o.Tools = more(seen.Tools["search"])
				o.Tools["gone"] = check.ToolShape{}
			}
		}), check.Partial, 0.2},
		"a parameter is required now": {daily(30, 1, func(day int, o *check.Observation) {
			if day > 6 {
				o.Tools = more(check.ToolShape{Parameters: seen.Tools["search"].Parameters})
			}
		}), check.Partial, 0.2},
		"other words": {daily(30, 1, func(day int, o *check.Observation) {
			if day > 6 {
				shape := seen.Tools["search"]
				shape.Text = "as it was"
				o.Tools = more(shape)
			}
		}), check.Pass, 1},
		"authorization is weaker": {daily(30, 1, func(day int, o *check.Observation) {
			if day == 6 {
				o.Auth = "open_destructive"
			}
		}), check.Partial, 0.2},
		"from another server": {daily(30, 1, func(day int, o *check.Observation) {
			if day > 6 {
				o.Issuers = []string{"https://other.test"}
			}
		}), check.Partial, 0.2},
	} {
		t.Run(name, func(t *testing.T) {
			o := o
			o.Past = c.past
			r, _, err := check.Scan(t.Context(), checktest.URL, o)
			if err != nil {
				t.Fatal(err)
			}
			if s := signal(t, r, "stability.window"); s.Status != c.want || s.Credit != c.credit {
				t.Errorf("it is %s, %.2f: %s %q; want %s, %.2f", s.Status, s.Credit, s.Summary, s.Evidence, c.want, c.credit)
			}
		})
	}
}

func TestState(t *testing.T) {
	extent.Slow(t)
	dir := t.TempDir() + "/seen"
	past, err := check.ReadState(dir, checktest.URL)
	if err != nil || past != nil {
		t.Errorf("ReadState of nothing = %v, %v", past, err)
	}
	for i := range 500 {
		seen := check.Observation{Time: time.Unix(int64(i), 0).UTC(), Auth: "unknown", Serial: fmt.Sprint(i)}
		if err := check.WriteState(dir, checktest.URL, checktest.URL, past, seen); err != nil {
			t.Fatal(err)
		}
		if past, err = check.ReadState(dir, checktest.URL); err != nil {
			t.Fatal(err)
		}
	}
	if len(past) != 400 || past[399].Time.Unix() != 499 {
		t.Errorf("%d observations are kept, the last of %v; want 400 and the latest", len(past), past[len(past)-1].Time)
	}
	if other, err := check.ReadState(dir, checktest.URL+"2"); err != nil || other != nil {
		t.Errorf("ReadState of another endpoint = %v, %v", other, err)
	}
}
