package check

import (
	"fmt"

	"runpython/internal/check/dnssec"
)

func (f *findings) dnssec() Signal {
	s := Signal{Fix: "have the zone signed, and its DS record put into the parent zone by the registrar", Refs: []string{"RFC 4033", "RFC 4035"}, OWASP: []string{"MCP07"}}
	switch {
	case !f.named:
		return s.as(NotApplicable, 0, "the endpoint has no name in the DNS")
	case f.chain == nil:
		return s.as(Error, 0, "not measured: no resolver was asked")
	}
	for _, z := range f.chain.Zones {
		line := fmt.Sprintf("%s is %s", z.Name, z.State)
		if z.Note != "" {
			line += ": " + z.Note
		}
		s.Evidence = append(s.Evidence, line)
	}
	s.Evidence = few(s.Evidence)
	switch f.chain.State {
	case dnssec.Secure:
		return s.as(Pass, 1, f.chain.Reason)
	case dnssec.Insecure:
		if f.chain.Alias {
			return s.as(Partial, 0.5, "the name is secure, but an alias leads to one that is not: "+f.chain.Reason)
		}
		return s.as(Fail, 0, f.chain.Reason)
	case dnssec.Bogus:
		s.Fix = "repair the chain at once: validating resolvers do not give this name to anybody"
		return s.as(Fail, 0, "bogus: "+f.chain.Reason)
	case dnssec.Indeterminate:
	}
	return s.as(Error, 0, "not measured: "+f.chain.Reason)
}

func (f *findings) dnssecDiagnostics() *DNSSECDiagnosis {
	if f.chain == nil {
		return nil
	}
	d := &DNSSECDiagnosis{State: f.chain.State, Reason: f.chain.Reason, AD: f.chain.AD, Zones: []ZoneDiagnosis{}}
	for _, z := range f.chain.Zones {
		d.Zones = append(d.Zones, ZoneDiagnosis(z))
	}
	return d
}
