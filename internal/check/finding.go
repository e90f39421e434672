package check

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

const (
	maxPlaces        = 200 // of one signal that are findings of their own
	fingerprintBytes = 16
)

// endpointPlace is the location of findings that are about no text in particular.
const endpointPlace = "endpoint"

// A Finding is one thing to repair, at one place. A signal that is not right has at least one.
type Finding struct {
	Fingerprint string       `json:"fingerprint"` // 32 hexadecimal digits, the same in each scan that finds the same at the same place
	Signal      string       `json:"signal"`
	Rule        string       `json:"rule,omitempty"` // within the signal, as in INJ-01
	Severity    Severity     `json:"severity"`
	Location    string       `json:"location"` // "endpoint", or as in "tool/search/description"
	Message     string       `json:"message"`
	Fix         string       `json:"fix,omitempty"`
	State       State        `json:"state,omitempty"` // only beside a baseline
	Suppressed  *Suppression `json:"suppressed,omitempty"`
}

// A State says whether a finding was there before.
type State string

// The states of findings beside a baseline.
const (
	New   State = "new"
	Known State = "known"
)

// A Suppression is why a finding is accepted for some time. It changes no score.
type Suppression struct {
	Reason  string `json:"reason"`
	Expires string `json:"expires"` // the last day on which it holds, as in 2027-03-01
}

// Open reports whether a finding is to be dealt with: it is not suppressed, and, beside a baseline, new.
func (f *Finding) Open() bool { return f.Suppressed == nil && f.State != Known }

// A BaselineReport is what differs from a baseline.
type BaselineReport struct {
	CreatedAt time.Time     `json:"created_at"`
	Known     int           `json:"known"` // findings that it has
	New       int           `json:"new"`   // and those that it has not, suppressed ones included
	Gone      []GoneFinding `json:"gone"`  // what it has and this scan has not
	Changes   []Change      `json:"changes"`
}

// A GoneFinding is one of a baseline that is there no more.
type GoneFinding struct {
	Fingerprint string `json:"fingerprint"`
	Signal      string `json:"signal"`
	Location    string `json:"location"`
	Message     string `json:"message"`
}

// Severity returns how much a change matters: callers and security as much as what is wrong by itself.
func (c Change) Severity() Severity {
	if c.Class == Breaking || c.Class == Security {
		return High
	}
	return Info
}

// A Baseline is what one target was like when it was accepted.
type Baseline struct {
	CreatedAt time.Time     `json:"created_at"`
	Target    string        `json:"target"`
	Findings  []GoneFinding `json:"findings"`
	Seen      Observation   `json:"seen"`
}

// AsBaseline returns what a later scan is compared with.
func (r *Report) AsBaseline(seen Observation) Baseline {
	b := Baseline{CreatedAt: r.StartedAt, Target: r.Target, Findings: []GoneFinding{}, Seen: seen}
	for i := range r.Findings {
		f := &r.Findings[i]
		b.Findings = append(b.Findings, GoneFinding{Fingerprint: f.Fingerprint, Signal: f.Signal, Location: f.Location, Message: f.Message})
	}
	return b
}

// Compare says of each finding whether the baseline has it, and what else differs.
func (r *Report) Compare(b Baseline, seen Observation) {
	d := &BaselineReport{CreatedAt: b.CreatedAt, Gone: []GoneFinding{}, Changes: []Change{}}
	there := map[string]bool{}
	for i := range r.Findings {
		f := &r.Findings[i]
		there[f.Fingerprint] = true
		if slices.ContainsFunc(b.Findings, func(g GoneFinding) bool { return g.Fingerprint == f.Fingerprint }) {
			f.State = Known
			d.Known++
			continue
		}
		f.State = New
		d.New++
	}
	for _, g := range b.Findings {
		if !there[g.Fingerprint] && len(d.Gone) < maxChanges {
			d.Gone = append(d.Gone, g)
		}
	}
	d.Changes = append(d.Changes, compare(b.Seen, seen)...)
	d.Changes = d.Changes[:min(len(d.Changes), maxChanges)]
	r.Baseline = d
	// A baseline is a file that others may have written.
	cleanValue(reflect.ValueOf(d).Elem(), Harmless(nil))
}

// A place is where a signal has found something.
type place struct {
	rule     string
	location string
	text     string // which, when it changes, makes it another finding
	message  string
	info     bool // it costs nothing
}

// at adds a place to a signal.
func (s *Signal) at(p place) {
	if len(s.places) < maxPlaces {
		s.places = append(s.places, p)
	}
}

// findings returns what there is to repair: the places of a signal, or the signal itself where it has none.
func (r *Report) findings() []Finding {
	all := []Finding{}
	for _, c := range r.Categories {
		for i := range c.Signals {
			all = append(all, c.Signals[i].findings()...)
		}
	}
	return all
}

func (s *Signal) findings() []Finding {
	rule, ok := RuleOf(s.ID)
	if !ok {
		return nil
	}
	wrong := s.Status == Fail || s.Status == Partial
	severity := rule.Partial
	if s.Status == Fail {
		severity = rule.Fail
	}
	var all []Finding
	sure := 0
	for _, p := range s.places {
		f := Finding{Signal: s.ID, Rule: p.rule, Severity: severity, Location: p.location, Message: p.message, Fix: s.Fix}
		switch {
		case p.info:
			f.Severity = Info
		case !wrong:
			continue
		default:
			sure++
		}
		f.Fingerprint = fingerprint(s.ID, p.rule, p.location, p.text)
		all = append(all, f)
	}
	if wrong && sure == 0 {
		f := Finding{Signal: s.ID, Severity: severity, Location: endpointPlace, Message: s.Summary, Fix: s.Fix}
		f.Fingerprint = fingerprint(s.ID, "", endpointPlace, string(s.Status))
		all = append(all, f)
	}
	return all
}

// fingerprint names a finding by what it is and where, not by its words or numbers, which change from scan to scan.
func fingerprint(parts ...string) string {
	var b strings.Builder
	for _, p := range parts {
		fmt.Fprintf(&b, "%d:%s", len(p), p)
	}
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:fingerprintBytes])
}
