package check

import (
	"crypto/tls"

	"runpython/internal/check/lint"
	"runpython/internal/check/probe"
)

// shownHeaders are those of the endpoint's first answer that a report has.
var shownHeaders = []string{"Server", "Content-Type", "Strict-Transport-Security", "Cache-Control", "X-Content-Type-Options", "Access-Control-Allow-Origin", "Location"}

// diagnostics are the facts in the form of a report.
func (f *findings) diagnostics() Diagnostics {
	t := &f.facts.Transport
	d := Diagnostics{
		TLS: tlsDiagnostics(f.facts.TLS), DNSSEC: f.dnssecDiagnostics(), Auth: f.authDiagnostics(), HTTP: HTTPDiagnostics{Headers: map[string]string{}},
		Addresses: []string{}, Transports: []TryDiagnostic{}, Tools: []ToolDiagnosis{},
		Server: ServerDiagnosis{
			Name: t.Server.Name, Version: t.Server.Version, Revision: t.Revision, Events: t.Events,
			Tools: len(t.Tools.Items), Resources: len(t.Resources.Items), Prompts: len(t.Prompts.Items),
		},
		Tokens:   TokenDiagnosis{Total: f.budget.Total, PerOne: f.budget.PerOne},
		Problems: few(f.problems),
	}
	for _, a := range f.facts.Addresses {
		d.Addresses = append(d.Addresses, a.String())
	}
	if p := f.facts.Plain; p != nil {
		d.HTTP.PlainListening, d.HTTP.PlainStatus, d.HTTP.PlainLocation, d.HTTP.PlainProblem = p.Listening, p.Status, p.Location, p.Problem
	}
	for _, name := range shownHeaders {
		if v := t.Headers.Get(name); v != "" {
			d.HTTP.Headers[name] = v
		}
	}
	for _, try := range t.Tries {
		d.Transports = append(d.Transports, TryDiagnostic(try))
	}
	costs := map[string]int{}
	for _, c := range f.budget.Costs {
		costs[c.Item] = c.Tokens
	}
	for i := range f.tools {
		d.Tools = append(d.Tools, toolDiagnosis(&f.tools[i], f.examples[i], costs["tool "+f.tools[i].Name]))
	}
	return d
}

func toolDiagnosis(t *tool, e lint.Example, tokens int) ToolDiagnosis {
	d := ToolDiagnosis{
		Name: t.Name, Title: t.Title, Description: t.Description, Tokens: tokens,
		ReadOnly: t.Annotations.ReadOnly, Destructive: t.Annotations.Destructive,
		Examples: e.Credit, Parameters: []ParameterDiagnosis{},
	}
	for _, p := range t.Parameters {
		d.Parameters = append(d.Parameters, ParameterDiagnosis{Path: p.Path, Type: p.Type, Required: p.Required, Description: p.Description})
	}
	return d
}

func tlsDiagnostics(t *probe.TLS) *TLSDiagnostics {
	if t == nil {
		return nil
	}
	d := &TLSDiagnostics{Problem: t.Problem, ALPN: t.ALPN, OldVersions: t.OldVersions, Chain: []Certificate{}}
	if t.Problem != "" {
		return d
	}
	d.Version, d.CipherSuite = tls.VersionName(t.Version), tls.CipherSuiteName(t.CipherSuite)
	for _, c := range t.Chain {
		d.Chain = append(d.Chain, Certificate{
			Subject: c.Subject.String(), Issuer: c.Issuer.String(), Names: few(c.DNSNames), NotBefore: c.NotBefore.UTC(), NotAfter: c.NotAfter.UTC(),
			Key: keyOf(c), Signature: c.SignatureAlgorithm.String(),
		})
	}
	return d
}

func (f *findings) authDiagnostics() AuthDiagnostics {
	a := &f.facts.Auth
	d := AuthDiagnostics{Verdict: f.verdict(), Opened: a.Opened, Listed: a.Listed, CallStatus: a.CallStatus, CallDetail: a.CallDetail}
	for _, c := range a.Challenges {
		d.Challenges = append(d.Challenges, ChallengeDiagnosis(c))
	}
	if r := a.Resource; r != nil {
		d.Resource = &ResourceDiagnosis{URL: r.URL, Problem: r.Problem, Issuers: r.Issuers, Bearer: r.Bearer}
	}
	for _, i := range a.Issuers {
		d.Issuers = append(d.Issuers, IssuerDiagnosis{
			Issuer: i.Issuer, URL: i.URL, Problem: i.Problem, Documents: i.Documents, Registration: i.Registration, NamesItself: i.NamesItself,
		})
	}
	return d
}
