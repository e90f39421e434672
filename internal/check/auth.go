package check

import (
	"fmt"
	"slices"
	"strings"

	"runpython/internal/check/probe"
)

// The verdicts about authorization.
const (
	enforcedVerified   = "enforced_and_verified"
	enforcedUnverified = "enforced_unverified"
	discoveryGated     = "discovery_gated" // not even the handshake is public
	openNondestructive = "open_nondestructive"
	openDestructive    = "open_destructive"
	authUnknown        = "unknown"
)

// verdict says how the target treats who brings no credentials.
func (f *findings) verdict() string {
	a := &f.facts.Auth
	switch {
	case a.Called && slices.ContainsFunc(f.tools, func(t tool) bool { return t.MayDestroy() }):
		return openDestructive
	case a.Called:
		return openNondestructive
	case !a.Challenged:
		return authUnknown
	case !a.Opened:
		return discoveryGated
	case !a.Refused:
		return authUnknown // something needs a token, but whether a call does was not seen
	case metadataProblem(a) == "":
		return enforcedVerified
	}
	return enforcedUnverified
}

// metadataProblem returns what is wrong with what leads a client to a token, or "".
func metadataProblem(a *probe.Auth) string {
	switch {
	case a.Resource == nil:
		return "no metadata (RFC 9728)"
	case a.Resource.Problem != "":
		return "the metadata at " + a.Resource.URL + " are not valid: " + a.Resource.Problem
	}
	for _, i := range a.Issuers {
		if i.Problem == "" {
			return ""
		}
	}
	if len(a.Issuers) > 0 {
		return "the metadata of " + a.Issuers[0].Issuer + " are not valid: " + a.Issuers[0].Problem
	}
	return "no authorization server"
}

func (f *findings) authEnforced() Signal {
	s := Signal{
		Fix:  "answer tools/call without a token with 401 and a WWW-Authenticate that names valid metadata (RFC 9728)",
		Refs: []string{"MCP Authorization", "RFC 9728", "RFC 8414"}, OWASP: []string{"MCP01", "MCP07"},
	}
	a := &f.facts.Auth
	if a.CallStatus != 0 {
		s.Evidence = append(s.Evidence, fmt.Sprintf("a call without a token of a tool that does not exist: HTTP %d, %s", a.CallStatus, a.CallDetail))
	}
	for _, c := range a.Challenges {
		s.Evidence = append(s.Evidence, "challenge: "+c.Scheme+" "+strings.Join(sortedPairs(c.Parameters), ", "))
	}
	if a.Resource != nil {
		s.Evidence = append(s.Evidence, "metadata: "+a.Resource.URL)
	}
	problem := metadataProblem(a)
	switch f.verdict() {
	case openDestructive:
		return s.as(Fail, 0, "tools can be called without a token, and some may destroy or do not say that they cannot")
	case openNondestructive:
		return s.as(Partial, 0.5, "tools can be called without a token; all say that they destroy nothing")
	case enforcedVerified:
		return s.as(Pass, 1, "calls of tools need a token, discovery is public, and the metadata are valid")
	case discoveryGated:
		if problem == "" {
			return s.as(Pass, 1, "everything needs a token, discovery too, and the metadata are valid")
		}
		return s.as(Partial, 0.5, "a token is needed, but "+problem)
	case enforcedUnverified:
		return s.as(Partial, 0.5, "a token is needed, but "+problem)
	}
	return s.as(Error, 0, "not measured: no call could be made without a token ("+f.whyNot()+")")
}

func sortedPairs(m map[string]string) []string {
	var all []string
	for k, v := range m {
		all = append(all, fmt.Sprintf("%s=%q", k, v))
	}
	slices.Sort(all)
	return all
}

func (f *findings) clientRegistration() Signal {
	s := Signal{
		Fix:  "support Client ID Metadata Documents and say client_id_metadata_document_supported: true",
		Refs: []string{"draft-ietf-oauth-client-id-metadata-document", "RFC 7591"}, OWASP: []string{"MCP01"},
	}
	a := &f.facts.Auth
	if !a.Challenged {
		if a.Called {
			return s.as(NotApplicable, 0, "calls need no token")
		}
		return s.as(Error, 0, "not measured: "+f.whyNot())
	}
	documents := slices.ContainsFunc(a.Issuers, func(i probe.Issuer) bool { return i.Documents })
	dynamic := slices.ContainsFunc(a.Issuers, func(i probe.Issuer) bool { return i.Registration })
	switch {
	case documents:
		return s.as(Pass, 1, "Client ID Metadata Documents are supported")
	case dynamic:
		return s.as(Partial, 0.5, "only dynamic registration (RFC 7591) is supported")
	case len(a.Issuers) == 0:
		return s.as(Fail, 0, "no authorization server is named")
	}
	return s.as(Fail, 0, "clients can neither register nor name themselves by a document")
}
