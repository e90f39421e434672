package check

import (
	"fmt"
	"slices"
	"time"

	"runpython/internal/check/dnssec"
	"runpython/internal/check/lint"
)

const (
	windowDays = 30             // without a change that counts, for full credit
	longestGap = 48 * time.Hour // between observations; what is longer does not count as observed
	maxChanges = 200            // that are told
)

// An Observation is what of one scan is compared with others. Its JSON form is what --state keeps.
type Observation struct {
	Time    time.Time            `json:"time"`
	Tools   map[string]ToolShape `json:"tools"`  // by name
	Listed  bool                 `json:"listed"` // the tools could be read
	Auth    string               `json:"auth"`   // the verdict
	Issuers []string             `json:"issuers"`
	TLS     bool                 `json:"tls"` // verified
	Markers []string             `json:"markers"`
	// Certificate is the issuer and key of the certificate, and DNSSEC the state of the name; "" when not known.
	Certificate string       `json:"certificate"`
	Serial      string       `json:"serial"` // of the certificate
	DNSSEC      dnssec.State `json:"dnssec"`
}

// A Class says how much a change matters.
type Class string

// The classes of changes. Breaking ones and those of security begin the window of stability anew.
const (
	Breaking   Class = "breaking"
	Security   Class = "security"
	Functional Class = "functional"
	// Cosmetic changes are of titles and white space, those of the Environment of certificates that were renewed.
	Cosmetic    Class = "cosmetic"
	Environment Class = "environment"
)

// counts reports whether changes of the class begin the window of stability anew.
func (c Class) counts() bool { return c == Breaking || c == Security }

// A Change is one between two observations.
type Change struct {
	Time  time.Time `json:"time"` // of the later observation
	Class Class     `json:"class"`
	What  string    `json:"what"`
}

// observe keeps what later scans compare with.
func (f *findings) observe() Observation {
	t := &f.facts.Transport
	o := Observation{
		Time: f.facts.Started.UTC(), Tools: map[string]ToolShape{}, Auth: f.verdict(),
		Listed: len(t.Accepted()) > 0 && t.Tools.Problem == "",
		TLS:    f.facts.TLS != nil && f.facts.TLS.Problem == "" && f.facts.TLS.Verified == nil,
	}
	for i := range f.tools {
		o.Tools[f.tools[i].Name] = shapeOf(&f.tools[i])
	}
	if t := f.facts.TLS; t != nil && t.Problem == "" {
		o.Certificate, o.Serial = lint.Plain(t.Chain[0].Issuer.String())+", "+keyOf(t.Chain[0]), t.Chain[0].SerialNumber.Text(16)
	}
	if f.chain != nil {
		o.DNSSEC = f.chain.State
	}
	for _, i := range f.facts.Auth.Issuers {
		o.Issuers = append(o.Issuers, i.Issuer)
	}
	for _, h := range f.hits {
		if !h.Warning {
			o.Markers = append(o.Markers, h.Rule+" "+h.Path)
		}
	}
	return o
}

// history compares observations one after the other, and returns the changes and how many whole days were
// observed since the last of them that counts.
func history(past []Observation, now Observation) ([]Change, int) {
	all := slices.Clone(past)
	all = slices.DeleteFunc(append(all, now), func(o Observation) bool { return o.Time.After(now.Time) })
	slices.SortStableFunc(all, func(a, b Observation) int { return a.Time.Compare(b.Time) })
	changes := []Change{}
	var observed time.Duration
	for i := 1; i < len(all); i++ {
		if gap := all[i].Time.Sub(all[i-1].Time); gap <= longestGap {
			observed += gap
		}
		for _, c := range compare(all[i-1], all[i]) {
			if c.Class.counts() {
				observed = 0
			}
			changes = append(changes, c)
		}
	}
	changes = changes[max(0, len(changes)-maxChanges):]
	return changes, int(observed / (24 * time.Hour))
}

// compare returns what differs between two observations.
func compare(before, after Observation) []Change {
	var all []Change
	add := func(c Class, format string, args ...any) {
		all = append(all, Change{after.Time, c, fmt.Sprintf(format, args...)})
	}
	if before.Listed && after.Listed {
		compareTools(before, after, add)
	}
	if strength(after.Auth) < strength(before.Auth) {
		add(Security, "authorization was %s and is %s", before.Auth, after.Auth)
	}
	if len(before.Issuers) > 0 && len(after.Issuers) > 0 && !slices.Equal(before.Issuers, after.Issuers) {
		add(Security, "the authorization servers are others")
	}
	compareEndpoints(before, after, add)
	return all
}

// compareEndpoints tells what differs beneath MCP: certificate and name.
func compareEndpoints(before, after Observation, add addFunc) {
	if before.TLS && !after.TLS {
		add(Security, "the certificate is valid no more")
	}
	if before.DNSSEC == dnssec.Secure && (after.DNSSEC == dnssec.Insecure || after.DNSSEC == dnssec.Bogus) {
		add(Security, "the name was signed to the root and is %s", after.DNSSEC)
	}
	switch {
	case before.Certificate == "" || after.Certificate == "" || before.Serial == after.Serial:
	case before.Certificate != after.Certificate:
		add(Environment, "the certificate was of %s and is of %s", before.Certificate, after.Certificate)
	default:
		add(Environment, "the certificate was renewed")
	}
}

// strength orders the verdicts about authorization. What is not known is no weaker than anything.
func strength(verdict string) int {
	i := slices.Index([]string{openDestructive, openNondestructive, enforcedUnverified, discoveryGated, enforcedVerified, authUnknown}, verdict)
	return min(i, 3) // what is verified differs by the documents of others, which may be away for a moment
}

func (f *findings) stability() Signal {
	s := Signal{Refs: []string{"docs/check.md"}, OWASP: []string{"MCP03"}}
	if !f.known {
		s.Fix = "scan once a day with --state DIR"
		return s.as(Unverified, 0, "one scan sees no history; --state keeps one")
	}
	for _, c := range f.changes {
		if c.Class.counts() {
			s.Evidence = append(s.Evidence, fmt.Sprintf("%s %s: %s", c.Time.Format(time.DateOnly), c.Class, c.What))
		}
	}
	s.Evidence = few(s.Evidence)
	days := min(f.quiet, windowDays)
	text := fmt.Sprintf("%d of %d days observed without a change that breaks callers or weakens security", days, windowDays)
	switch days {
	case windowDays:
		return s.as(Pass, 1, text)
	case 0:
		return s.as(Fail, 0, text)
	}
	return s.as(Partial, float64(days)/windowDays, text)
}
