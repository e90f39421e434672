package check

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"runpython/internal/check/probe"
)

// perRevision is what each revision that the newest one is ahead costs.
const perRevision = 0.2

// era tells which generation of the protocol is spoken, "unknown" where it takes a token to see it, and "" where none is.
func (f *findings) era() string {
	accepted := f.facts.Transport.Accepted()
	newest := probe.Revisions()[0]
	modern := slices.Contains(accepted, newest)
	legacy := slices.ContainsFunc(accepted, func(r string) bool { return r != newest }) || f.facts.Transport.SSE
	switch {
	case modern && legacy:
		return "dual"
	case modern:
		return "modern"
	case legacy:
		return "legacy"
	case f.facts.Transport.Locked():
		return "unknown"
	}
	return ""
}

func (f *findings) handshake() Signal {
	s := Signal{Fix: "serve streamable HTTP (MCP 2025-03-26 and later) at this URL", Refs: []string{"MCP Transports"}}
	t := &f.facts.Transport
	for _, try := range t.Tries {
		line := try.Revision + ": " + string(try.Outcome)
		if more := try.Offered + try.Detail; more != "" {
			line += " (" + more + ")"
		}
		s.Evidence = append(s.Evidence, line)
	}
	switch {
	case len(t.Accepted()) > 0 && t.Tools.Declared && t.Tools.Problem != "" && len(t.Tools.Items) == 0:
		return s.as(Partial, 0.5, "the handshake is done, but tools/list is not answered: "+t.Tools.Problem)
	case len(t.Accepted()) > 0:
		return s.as(Pass, 1, "streamable HTTP, by a live handshake in "+strings.Join(t.Accepted(), ", "))
	case t.Locked():
		return s.as(Error, 0, "not measured: "+f.whyNot())
	case t.SSE:
		return s.as(Partial, 0.5, "only the HTTP+SSE transport of 2024-11-05")
	}
	return s.as(Fail, 0, "nothing there speaks MCP: "+f.whyNot())
}

func (f *findings) specRecency() Signal {
	s := Signal{Fix: "update the SDK to one that speaks " + probe.Revisions()[0], Refs: []string{"MCP Versioning"}, OWASP: []string{"MCP04"}}
	accepted := f.facts.Transport.Accepted()
	if len(accepted) == 0 {
		return s.as(Error, 0, "not measured: "+f.whyNot())
	}
	broken := 0
	for _, r := range f.facts.Transport.Rules {
		if !r.Kept {
			broken++
			s.Evidence = append(s.Evidence, strings.TrimSuffix(fmt.Sprintf("not so: %s (%s)", r.Name, r.Detail), " ()"))
		}
	}
	behind := slices.Index(probe.Revisions(), accepted[0])
	credit := math.Max(0, 1-perRevision*float64(behind))
	if behind == 0 && broken > 0 {
		return s.as(Pass, 1, fmt.Sprintf("speaks the latest revision, %s, but breaks %d of %d rules that were tried", accepted[0], broken, len(f.facts.Transport.Rules)))
	}
	if behind == 0 {
		return s.as(Pass, 1, "speaks the latest revision, "+accepted[0])
	}
	return s.as(Partial, credit, fmt.Sprintf("speaks %s at most; %s is the latest, %d ahead", accepted[0], probe.Revisions()[0], behind))
}

// whyNot says why what needs an answer was not measured.
func (f *findings) whyNot() string {
	t := &f.facts.Transport
	switch {
	case t.Locked():
		return "initialize needs a token; give one by --token-env to measure what is behind it"
	case f.era() == "":
		for _, try := range t.Tries {
			if try.Status == 0 && try.Detail != "" {
				return "the endpoint does not answer: " + try.Detail
			}
		}
		return "its answers are not of MCP"
	case t.Tools.Problem != "":
		return "tools/list: " + t.Tools.Problem
	}
	return "no answer"
}
