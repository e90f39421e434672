package triage

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"

	"runpython/internal/check"
	"runpython/internal/check/files"
	"runpython/internal/check/lint"
)

// Bounds of suppressions.
const (
	maxSuppressions    = 1000
	maxReason          = 500                  // characters
	longestSuppression = 366 * 24 * time.Hour // ahead; what is accepted is looked at again at least once a year
	version            = 1                    // of both files
)

// A suppression is one entry of the file.
type suppression struct {
	Signal      string `yaml:"signal"`
	Rule        string `yaml:"rule"`
	Location    string `yaml:"location"` // a pattern
	Target      string `yaml:"target"`   // a pattern
	Fingerprint string `yaml:"fingerprint"`
	Reason      string `yaml:"reason"`
	Expires     string `yaml:"expires"`
}

// Suppressions are findings that somebody has accepted. It is not safe for concurrent use.
type Suppressions struct {
	name    string
	entries []suppression
	lasts   []time.Time // days on which they hold for the last time
	expired []bool      // by the time of the latest report
	used    []bool
}

// ReadSuppressions reads a YAML file of suppressions. Each needs a signal, a reason, and a day until which it holds, at
// most a year ahead of now.
func ReadSuppressions(name string, now time.Time) (*Suppressions, error) {
	text, err := files.Read(name, maxFileBytes)
	if err != nil {
		return nil, err
	}
	var file struct {
		Version      int           `yaml:"version"`
		Suppressions []suppression `yaml:"suppressions"`
	}
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return nil, wrong(name, "%s", strings.TrimPrefix(err.Error(), "yaml: "))
	}
	switch {
	case !errors.Is(d.Decode(new(yaml.Node)), io.EOF):
		return nil, wrong(name, "has more than one document; only one would be read, so take out the lines of ---")
	case file.Version != version:
		return nil, wrong(name, "version is %d, must be %d", file.Version, version)
	case len(file.Suppressions) > maxSuppressions:
		return nil, wrong(name, "has more than %d suppressions", maxSuppressions)
	}
	n := len(file.Suppressions)
	s := &Suppressions{name: name, entries: file.Suppressions, lasts: make([]time.Time, n), expired: make([]bool, n), used: make([]bool, n)}
	for i, e := range s.entries {
		if s.lasts[i], err = e.check(now); err != nil {
			return nil, wrong(name, "suppression %d: %v", i+1, err)
		}
	}
	return s, nil
}

// check returns the last day on which the suppression holds.
func (e *suppression) check(now time.Time) (time.Time, error) {
	last, err := time.Parse(time.DateOnly, e.Expires)
	switch {
	case e.Signal == "":
		return last, errors.New("has no signal, such as signal: hsts.present")
	case !slices.Contains(check.SignalIDs(), e.Signal):
		return last, fmt.Errorf("there is no signal %q; there are: %s", e.Signal, strings.Join(check.SignalIDs(), ", "))
	case strings.TrimSpace(e.Reason) == "":
		return last, errors.New("has no reason; say why this is accepted, and by whom")
	case len([]rune(e.Reason)) > maxReason:
		return last, fmt.Errorf("has a reason of more than %d characters", maxReason)
	case e.Expires == "":
		return last, errors.New("has no day on which it expires, such as expires: 2027-03-01")
	case err != nil:
		return last, fmt.Errorf("expires: %q is no day, such as 2027-03-01", e.Expires)
	case last.Sub(now) > longestSuppression:
		return last, fmt.Errorf("expires: %s is more than a year ahead", e.Expires)
	}
	return last, nil
}

// Apply marks the findings of a report that are accepted at the time of its scan.
func (s *Suppressions) Apply(r *check.Report) {
	for n, last := range s.lasts {
		s.expired[n] = r.StartedAt.After(last.AddDate(0, 0, 1))
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		for n, e := range s.entries {
			if !e.holdsFor(r.Target, f) {
				continue
			}
			s.used[n] = true
			if !s.expired[n] && f.Suppressed == nil {
				f.Suppressed = &check.Suppression{Reason: lint.Plain(e.Reason), Expires: e.Expires}
			}
		}
	}
}

func (e *suppression) holdsFor(target string, f *check.Finding) bool {
	anything := func(pattern, text string) bool { return pattern == "" || Matches(pattern, text) }
	return e.Signal == f.Signal && (e.Rule == "" || e.Rule == f.Rule) && (e.Fingerprint == "" || e.Fingerprint == f.Fingerprint) &&
		anything(e.Location, f.Location) && anything(e.Target, target)
}

// Notes returns what whoever keeps the file should know, once every report has been marked: which suppressions have
// expired, and which are about nothing any more.
func (s *Suppressions) Notes() []string {
	var all []string
	for i, e := range s.entries {
		switch {
		case s.expired[i] && s.used[i]:
			all = append(all, wrong(s.name, "suppression %d (%s) has expired on %s: what it was about counts again", i+1, e.Signal, e.Expires).Error())
		case !s.used[i]:
			all = append(all, wrong(s.name, "suppression %d (%s) is about nothing that was found; take it out", i+1, e.Signal).Error())
		}
	}
	return all
}
