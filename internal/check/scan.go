// Package check scores an MCP endpoint: what it is asked, what of the answers is good, and how much that counts.
//
// A scan is a chain of values: probes of package probe give facts, each signal is a function of the facts, the
// rubric makes scores of signals, and all of it is a [Report]. The same facts give the same report. It
// knows nothing of the server of this program, which it scans like any other.
//
// # Trust
//
// Everything that comes from the endpoint is hostile. Package probe bounds it, and before a report is handed out every text
// in it is cut, cleaned of what controls terminals or turns or hides text, and freed of the credentials of the scan, in
// one place.
//
// # Failure
//
// What could not be measured is a signal with [Error] and the reason, and does not count. An error means that there is no report:
// the URL is wrong (fault.Invalid) or its host cannot be asked at all (fault.NotFound).
package check

import (
	"context"
	"crypto/x509"
	"net/http"
	"slices"
	"time"

	"runpython/internal/check/dnssec"
	"runpython/internal/check/lint"
	"runpython/internal/check/probe"
	"runpython/internal/fault"
)

// ProgramName is what a report says of who made it.
const ProgramName = "runpython check"

// Options are how an endpoint is scanned. The zero value is usable.
type Options struct {
	Version      string               // of the program
	Profile      Profile              // "" is Local
	Wanted       func(id string) bool // which signals are judged; nil: all
	Headers      http.Header          // credentials, sent to the endpoint's origin only
	Secrets      []string             // more texts that no report may have
	Roots        *x509.CertPool       // nil: those of the system
	AllowPrivate bool                 // documents may lead to addresses that are not public
	Past         []Observation        // earlier scans of the endpoint, in any order
	Network      probe.Network        // nil: that of the machine
	// DNSSEC validates the target's name; nil: it is not measured.
	DNSSEC *dnssec.Validator
	Now    time.Time    // zero: now
	Step   func(string) // nil, or told what is being done; may be called from any goroutine
}

// Scan scans the endpoint at a URL. It returns when all is known, or when ctx ends, with what is known then.
// The observation is what of it later scans should be told as Past.
func Scan(ctx context.Context, url string, o Options) (*Report, Observation, error) {
	target, err := probe.ParseTarget(url)
	if err != nil {
		return nil, Observation{}, err //nolint:wrapcheck // it says all
	}
	if !target.TLS() && !target.IsLoopback() && len(o.Headers) > 0 {
		return nil, Observation{}, fault.New(fault.Invalid, nil, "credentials are not sent without TLS: use the https URL")
	}
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	o.Secrets = append(target.QueryValues(), o.Secrets...)
	facts, err := probe.Run(ctx, target, probe.Options{
		Headers: o.Headers, Roots: o.Roots, AllowPrivate: o.AllowPrivate, Network: o.Network, Now: o.Now, Step: o.Step,
		Agent: "runpython-check/" + o.Version,
	})
	if err != nil {
		return nil, Observation{}, err //nolint:wrapcheck // the same
	}
	f, err := find(facts, o.hide())
	if err != nil {
		return nil, Observation{}, err
	}
	f.named = !target.IsLoopback() && !target.IsNumber()
	if f.named && o.DNSSEC != nil {
		if o.Step != nil {
			o.Step("DNSSEC")
		}
		result := o.DNSSEC.Validate(ctx, target.Host())
		f.chain = &result
	}
	return f.told(target.String(), o)
}

// told returns the report and what later scans compare with.
func (f *findings) told(target string, o Options) (*Report, Observation, error) {
	f.now = f.observe()
	f.now.clean(o.hide())
	f.changes, f.quiet = history(o.Past, f.now)
	f.known = len(o.Past) > 0
	return f.report(target, o), f.now, nil
}

// findings are the facts and what follows from them, by which signals are judged.
type findings struct {
	facts    *probe.Facts
	tools    []tool
	budget   lint.Budget
	chain    *dnssec.Result // nil when there is no name or no resolver
	named    bool           // the target has a name, and not a number
	hits     []lint.Hit
	now      Observation
	examples []lint.Example // of each tool
	problems []string       // of definitions
	changes  []Change
	quiet    int  // days without a change that counts
	known    bool // there are earlier observations
}

// find judges texts. What hide hides is hidden from excerpts of them before they are cut.
func find(facts *probe.Facts, hide func(string) string) (*findings, error) {
	t := &facts.Transport
	f := &findings{facts: facts, tools: lint.ParseTools(t.Tools.Items)}
	var err error
	if f.budget, err = lint.Count(f.tools, t.Resources.Items, t.Server.Instructions); err != nil {
		return nil, err //nolint:wrapcheck // it says all
	}
	others := slices.Concat(t.Resources.Items, t.Prompts.Items)
	fields := lint.Fields(f.tools, others, lint.About{Name: t.Server.Name, Title: t.Server.Title, Instructions: t.Server.Instructions})
	for _, group := range fields {
		for i := range group {
			group[i].Text = hide(group[i].Text)
		}
	}
	f.hits = lint.FindMarkers(fields)
	for i := range f.tools {
		f.examples = append(f.examples, lint.Examples(&f.tools[i]))
	}
	f.problems = lint.Problems(f.tools)
	return f, nil
}

// signals judges everything.
func (f *findings) signals() map[string]Signal {
	all := map[string]Signal{
		tlsCertificate:    f.tlsCertificate(),
		authEnforced:      f.authEnforced(),
		httpsEnforced:     f.httpsEnforced(),
		hstsPresent:       f.hsts(),
		dnssecChain:       f.dnssec(),
		registration:      f.clientRegistration(),
		handshake:         f.handshake(),
		clarity:           f.clarity(),
		contextBudget:     f.contextBudget(),
		usageExamples:     f.usageExamples(),
		stabilityWindow:   f.stability(),
		toolDescriptions:  f.toolDescriptions(),
		paramDescriptions: f.paramDescriptions(),
		injectionMarkers:  f.injection(),
		irreversibleOps:   f.irreversible(),
		textJudge:         f.textJudge(),
		specRecency:       f.specRecency(),
	}
	if f.facts.Pipe {
		f.overPipe(all)
	}
	return all
}

func (f *findings) report(target string, o Options) *Report {
	r := &Report{
		SchemaVersion: SchemaVersion,
		Tool:          Tool{ProgramName, o.Version, Rubric},
		Target:        target,
		StartedAt:     f.facts.Started.UTC().Truncate(time.Second),
		Profile:       o.Profile,
		Era:           f.era(),
		Diagnostics:   f.diagnostics(),
		Changes:       f.changes,
	}
	if r.Profile == "" {
		r.Profile = Local
	}
	wanted := o.Wanted
	if wanted == nil {
		wanted = func(string) bool { return true }
	}
	r.score(f.signals(), wanted)
	r.Findings = r.findings()
	r.clean(o.hide())
	return r
}

// as returns s with a verdict. What is right, or was not seen, needs no remedy.
func (s Signal) as(status Status, credit float64, summary string) Signal {
	s.Status, s.Credit, s.Summary = status, credit, summary
	if status == Pass || status == Error || status == NotApplicable {
		s.Fix = ""
	}
	return s
}
