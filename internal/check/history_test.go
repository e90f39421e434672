package check_test

import (
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/miekg/dns"

	"runpython/internal/check"
	"runpython/internal/check/checktest"
	"runpython/internal/check/dnssec"
	"runpython/internal/extent"
)

const shapedTool = `{"name":"sort","title":"Sort","description":"Sorts the lines of a text.",
	"inputSchema":{"type":"object","properties":{"order":{"type":"string","enum":["up","down"],"description":"direction"},"n":{"type":"integer","description":"how many"},
		"text":{"type":"string","description":"what"},"mode":{"const":"fast","description":"how"}},"required":["text"]},
	"outputSchema":{"type":"object","properties":{"lines":{"type":"array","items":{"type":"object","properties":{"text":{"type":"string"}}}}}},
	"annotations":{"destructiveHint":true}}`

// TestClassesOfChanges says for each change how much it matters. The tool is always the same one; what differs is how it was a
// day ago.
func TestClassesOfChanges(t *testing.T) {
	site := good()
	site.Tools = []string{shapedTool}
	served := checktest.Serve(t, site)
	o := check.Options{Roots: served.Roots, Network: served, Now: time.Now()}
	_, seen, err := check.Scan(t.Context(), checktest.URL, o)
	if err != nil {
		t.Fatal(err)
	}
	shaped := func(change func(*check.ToolShape)) func(*check.Observation) {
		return func(past *check.Observation) {
			shape := seen.Tools["sort"]
			shape.Parameters, shape.Values = maps.Clone(shape.Parameters), maps.Clone(shape.Values)
			change(&shape)
			past.Tools = map[string]check.ToolShape{"sort": shape}
		}
	}
	for name, c := range map[string]struct {
		before func(*check.Observation)
		class  check.Class // "": nothing is told
		says   string
	}{
		"the same":               {shaped(func(*check.ToolShape) {}), "", ""},
		"an enumeration is less": {shaped(func(s *check.ToolShape) { s.Values["order"] = []string{`"down"`, `"shuffled"`, `"up"`} }), check.Breaking, `does not take "shuffled"`},
		"an enumeration is more": {shaped(func(s *check.ToolShape) { s.Values["order"] = []string{`"up"`} }), check.Functional, "takes more values"},
		"any value before":       {shaped(func(s *check.ToolShape) { delete(s.Values, "order") }), check.Breaking, "took any value and takes 2"},
		"other constant":         {shaped(func(s *check.ToolShape) { s.Values["mode"] = []string{`"slow"`} }), check.Breaking, `does not take "slow"`},
		"too many to keep":       {shaped(func(s *check.ToolShape) { s.Values["order"] = []string{} }), "", ""},
		"of an older program":    {shaped(func(s *check.ToolShape) { s.Values, s.Outputs, s.Title = nil, nil, "" }), "", ""},
		"a type is less":         {shaped(func(s *check.ToolShape) { s.Parameters["n"] = "integer|null" }), check.Breaking, "was integer|null"},
		"a number is an integer": {shaped(func(s *check.ToolShape) { s.Parameters["n"] = "number" }), check.Breaking, "was number"},
		"a type is more":         {shaped(func(s *check.ToolShape) { s.Parameters["n"] = "integer"; s.Parameters["text"] = "" }), check.Breaking, "of any type"},
		"a result is less": {shaped(func(s *check.ToolShape) { s.Outputs = append([]string{"total"}, s.Outputs...) }), check.Breaking,
			"total is gone from its results"},
		"a parameter is new":     {shaped(func(s *check.ToolShape) { delete(s.Parameters, "n") }), "", ""},
		"other words":            {shaped(func(s *check.ToolShape) { s.Text = "Orders lines." }), check.Functional, "other words"},
		"other spaces":           {shaped(func(s *check.ToolShape) { s.Text = " Sorts the  lines of a text.\n" }), check.Cosmetic, "white space"},
		"other title":            {shaped(func(s *check.ToolShape) { s.Title = "Sorting" }), check.Cosmetic, "another title"},
		"renewed":                {func(past *check.Observation) { past.Serial = "ff" }, check.Environment, "was renewed"},
		"of another issuer":      {func(past *check.Observation) { past.Serial, past.Certificate = "ff", "CN=other, RSA 2048" }, check.Environment, "CN=other"},
		"a marker less":          {func(past *check.Observation) { past.Markers = []string{"INJ-01 tool/sort/description"} }, "", ""},
		"was not signed":         {func(past *check.Observation) { past.DNSSEC = dnssec.Insecure }, "", ""},
		"was signed, not looked": {func(past *check.Observation) { past.DNSSEC = dnssec.Secure }, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			past := seen
			past.Time = o.Now.Add(-24 * time.Hour)
			c.before(&past)
			o := o
			o.Past = []check.Observation{past}
			r, _, err := check.Scan(t.Context(), checktest.URL, o)
			if err != nil {
				t.Fatal(err)
			}
			if c.class == "" {
				if len(r.Changes) > 0 {
					t.Errorf("it is told: %+v", r.Changes)
				}
				return
			}
			if len(r.Changes) != 1 || r.Changes[0].Class != c.class || !strings.Contains(r.Changes[0].What, c.says) {
				t.Errorf("the changes are %+v, want one that is %s and says %q", r.Changes, c.class, c.says)
			}
			counts := c.class == check.Breaking || c.class == check.Security
			if s := signal(t, r, "stability.window"); (s.Credit == 0) != counts {
				t.Errorf("the window has %.2f of its days", s.Credit)
			}
		})
	}
}

// TestALostSignature: a name that was signed and is not any more is a change of security.
func TestALostSignature(t *testing.T) {
	served := checktest.Serve(t, good())
	zone := checktest.NewRoot(t, checktest.Unsigned)
	o := check.Options{
		Roots: served.Roots, Network: served, Now: time.Now(),
		DNSSEC: &dnssec.Validator{Resolver: zone, Anchors: []*dns.DS{zone.Anchor()}, Now: time.Now()},
	}
	_, past, err := check.Scan(t.Context(), checktest.URL, o)
	if err != nil {
		t.Fatal(err)
	}
	past.Time, past.DNSSEC = o.Now.Add(-24*time.Hour), dnssec.Secure
	o.Past = []check.Observation{past}
	r, _, err := check.Scan(t.Context(), checktest.URL, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Changes) != 1 || r.Changes[0].Class != check.Security || !strings.Contains(r.Changes[0].What, "signed") {
		t.Errorf("the changes are %+v, want one of security", r.Changes)
	}
}

// TestObservationsThatAreAlikeMakeRoom: whoever scans every hour sees a month too.
func TestObservationsThatAreAlikeMakeRoom(t *testing.T) {
	dir, now := t.TempDir(), time.Now().UTC().Truncate(time.Second)
	const hours = 40 * 24
	var past []check.Observation
	for hour := range hours {
		past = append(past, check.Observation{Time: now.Add(time.Duration(hour-hours) * time.Hour), Auth: "unknown"})
	}
	last := len(past) - 1
	if err := check.WriteState(dir, checktest.URL, checktest.URL, past[:last], past[last]); err != nil {
		t.Fatal(err)
	}
	kept, err := check.ReadState(dir, checktest.URL)
	if err != nil {
		t.Fatal(err)
	}
	r := scan(t, good(), func(o *check.Options) { o.Now, o.Past = now, kept })
	if s := signal(t, r, "stability.window"); s.Status != check.Pass || len(kept) > 400 {
		t.Errorf("of %d observations the window is %s: %s", len(kept), s.Status, s.Summary)
	}
}

// TestNoObservationIsTooLargeToBeReadAgain: a server with endless definitions does not lock the file.
func TestNoObservationIsTooLargeToBeReadAgain(t *testing.T) {
	extent.Slow(t)
	if testing.Short() {
		t.Skip("much data of one goroutine is left out of -short tests")
	}
	dir := t.TempDir()
	large := func(bytes int) check.Observation {
		return check.Observation{Listed: true, Auth: "unknown", Tools: map[string]check.ToolShape{"a": {Text: strings.Repeat("x", bytes)}}}
	}
	for _, c := range []struct {
		past []check.Observation
		seen check.Observation
		want check.Observation
	}{
		{[]check.Observation{large(40 << 20)}, large(40 << 20), large(40 << 20)},
		{nil, large(70 << 20), check.Observation{Auth: "unknown"}},
	} {
		if err := check.WriteState(dir, checktest.URL, checktest.URL, c.past, c.seen); err != nil {
			t.Fatal(err)
		}
		got, err := check.ReadState(dir, checktest.URL)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 1 || got[0].Listed != c.want.Listed || len(got[0].Tools) != len(c.want.Tools) || got[0].Auth != c.want.Auth {
			t.Errorf("%d observations are kept; want the latest one", len(got))
		}
	}
}
