package check

import (
	"fmt"
	"strings"

	"runpython/internal/check/lint"
)

// What definitions may cost, in tokens of o200k. A public scanner's limits are not known; these let a tool have a
// description of some sentences and a few described parameters.
const (
	leanPerItem = 100
	mostPerItem = 200
	mostInAll   = 2000
)

const maxEvidence = 10 // lines of a signal

// A tool is a definition that was read.
type tool = lint.Tool

// noTools returns why a signal about tools was not measured or is about nothing.
func (f *findings) noTools(s Signal) (Signal, bool) {
	t := &f.facts.Transport
	switch {
	case len(f.tools) > 0:
		return s, false
	case len(t.Accepted()) == 0 || t.Tools.Problem != "":
		return s.as(Error, 0, "not measured: "+f.whyNot()), true
	}
	return s.as(NotApplicable, 0, "the server lists no tools"), true
}

func (f *findings) clarity() Signal {
	s := Signal{Refs: []string{"MCP Tools"}}
	if s, none := f.noTools(s); none {
		return s
	}
	s.Evidence = few(f.problems)
	return s.as(Unverified, 0, "not measured: how clear instructions are is judged by no program; what a lint finds is told")
}

func (f *findings) contextBudget() Signal {
	s := Signal{Fix: "shorten descriptions to what a model needs, and list less", Refs: []string{"MCP Tools"}}
	if f.budget.Items == 0 {
		s, _ := f.noTools(s)
		return s
	}
	b := &f.budget
	for _, c := range b.Costs[:min(3, len(b.Costs))] {
		s.Evidence = append(s.Evidence, fmt.Sprintf("%s: %d tokens", c.Item, c.Tokens))
	}
	text := fmt.Sprintf("%d tokens in all, %.0f an item", b.Total, b.PerOne)
	switch {
	case b.PerOne <= leanPerItem:
		return s.as(Pass, 1, text+", lean")
	case b.PerOne <= mostPerItem || b.Total <= mostInAll:
		return s.as(Partial, 0.5, text)
	}
	return s.as(Fail, 0, text+", heavy")
}

func (f *findings) usageExamples() Signal {
	s := Signal{Fix: `give each input schema root "examples" that are valid and have all required parameters`, Refs: []string{"JSON Schema 2020-12 9.5"}}
	if s, none := f.noTools(s); none {
		return s
	}
	needed, full, credit := 0, 0, 0.0
	for i, e := range f.examples {
		if !e.Needed {
			continue
		}
		needed++
		credit += e.Credit
		if e.Credit == 1 {
			full++
		}
		if e.Problem != "" && len(s.Evidence) < maxEvidence {
			s.Evidence = append(s.Evidence, f.tools[i].Name+": "+e.Problem)
		}
		if e.Credit < 1 {
			s.at(place{location: toolPlace(f.tools[i].Name, "inputSchema"), message: exampleProblem(f.tools[i].Name, e)})
		}
	}
	switch {
	case needed == 0:
		return s.as(NotApplicable, 0, "no tool has parameters")
	case full == needed:
		return s.as(Pass, 1, "every tool with parameters has valid examples")
	case credit == 0 && len(s.Evidence) > 0:
		return s.as(Fail, 0, "no valid examples")
	case credit == 0:
		return s.as(Fail, 0, "no examples")
	}
	return s.as(Partial, credit/float64(needed), fmt.Sprintf("%d of %d tools with parameters have valid root examples", full, needed))
}

// share judges how many of some things have what they should.
func (s Signal) share(have, all int, what string) Signal {
	text := fmt.Sprintf("%d of %d %s are described", have, all, what)
	part := float64(have) / float64(all)
	switch {
	case have == all:
		return s.as(Pass, 1, text)
	case part < 0.5:
		return s.as(Fail, 0, text)
	}
	return s.as(Partial, part, text)
}

// toolPlace is the location of a part of a tool.
func toolPlace(tool, part string) string { return "tool/" + tool + "/" + part }

func exampleProblem(tool string, e lint.Example) string {
	if e.Problem != "" {
		return tool + ": " + e.Problem
	}
	return tool + ": its input schema has no root examples"
}

// undescribed tells of what has no description.
func (s *Signal) undescribed(location, what string) {
	line := what + " is not described, or by its name alone"
	if len(s.Evidence) < maxEvidence {
		s.Evidence = append(s.Evidence, line)
	}
	s.at(place{location: location, message: line})
}

func (f *findings) toolDescriptions() Signal {
	s := Signal{Fix: "say of each tool what it does, when to use it and what it returns", Refs: []string{"MCP Tools"}}
	if s, none := f.noTools(s); none {
		return s
	}
	have := 0
	for i := range f.tools {
		if t := &f.tools[i]; lint.Describes(t.Description, t.Name, t.Title) {
			have++
		} else {
			s.undescribed(toolPlace(t.Name, "description"), t.Name)
		}
	}
	return s.share(have, len(f.tools), "tools")
}

func (f *findings) paramDescriptions() Signal {
	s := Signal{Fix: "give every property of the input schemas a description", Refs: []string{"JSON Schema 2020-12 9.1"}}
	if s, none := f.noTools(s); none {
		return s
	}
	have, all := 0, 0
	for i := range f.tools {
		for _, p := range f.tools[i].Parameters {
			all++
			if lint.DescribesParameter(p) {
				have++
			} else {
				s.undescribed(toolPlace(f.tools[i].Name, "inputSchema/"+p.Path), f.tools[i].Name+": "+p.Path)
			}
		}
	}
	if all == 0 {
		return s.as(NotApplicable, 0, "no tool has parameters")
	}
	return s.share(have, all, "parameters")
}

func (f *findings) injection() Signal {
	s := Signal{Fix: "take out of the texts what steers the model that reads them", Refs: []string{"MCP Security Best Practices"}, OWASP: []string{"MCP03", "MCP06"}}
	if s, none := f.noTools(s); none && len(f.hits) == 0 {
		return s // prompts, resources and instructions have texts too, but only what is found in them counts
	}
	sure := 0
	for _, h := range f.hits {
		if !h.Warning {
			sure++
		}
		kind := "it"
		if h.Warning {
			kind = "it may be meant well, but"
		}
		line := fmt.Sprintf("%s in %s, bytes %d to %d: %s %s: %q", h.Rule, h.Path, h.Start, h.End, kind, h.Meaning, h.Excerpt)
		if len(s.Evidence) < maxEvidence {
			s.Evidence = append(s.Evidence, line)
		}
		s.at(place{rule: h.Rule, location: h.Path, text: f.textOf(h), message: fmt.Sprintf("%s: %s %s: %q", h.Rule, kind, h.Meaning, h.Excerpt), info: h.Warning})
	}
	if sure > 0 {
		return s.as(Fail, 0, fmt.Sprintf("texts that try to steer the model: %d", sure))
	}
	if n := len(f.hits); n > 0 {
		return s.as(Pass, 1, fmt.Sprintf("no text tries to steer the model; %d should be looked at", n))
	}
	return s.as(Pass, 1, "no text tries to steer the model")
}

// textOf returns the text that a marker stands in: one that was edited is looked at again.
func (f *findings) textOf(h lint.Hit) string {
	if h.Path == "instructions" {
		return f.facts.Transport.Server.Instructions
	}
	for i := range f.tools {
		if strings.HasPrefix(h.Path, toolPlace(f.tools[i].Name, "")) {
			return f.tools[i].Description + "\n" + h.Excerpt
		}
	}
	return h.Excerpt
}

func (f *findings) irreversible() Signal {
	s := Signal{Fix: "give tools that cannot be taken back destructiveHint: true and no readOnlyHint", Refs: []string{"MCP ToolAnnotations"}, OWASP: []string{"MCP02"}}
	if s, none := f.noTools(s); none {
		return s
	}
	found := lint.FindIrreversible(f.tools)
	denied, unsaid := 0, 0
	for _, i := range found {
		why := "says so"
		switch {
		case i.Denied:
			denied++
			why = "its annotations say the opposite"
		case i.Unsaid:
			unsaid++
			why = "its annotations do not say it"
		}
		line := fmt.Sprintf("%s: %q in its %s; %s", i.Tool, i.Word, i.Where, why)
		s.Evidence = append(s.Evidence, line)
		if i.Denied || i.Unsaid {
			s.at(place{location: toolPlace(i.Tool, "annotations"), text: i.Word, message: line})
		}
	}
	s.Evidence = few(append(s.Evidence, lint.RunsCode(f.tools)...))
	switch {
	case denied > 0:
		return s.as(Fail, 0, fmt.Sprintf("tools that do what cannot be taken back and say that they do not: %d", denied))
	case unsaid > 0:
		return s.as(Partial, 0.5, fmt.Sprintf("tools that do what cannot be taken back and do not say so: %d", unsaid))
	}
	if len(found) > 0 {
		return s.as(Pass, 1, fmt.Sprintf("tools that do what cannot be taken back, and say so: %d", len(found)))
	}
	return s.as(Pass, 1, "no tool seems to do what cannot be taken back")
}

func (f *findings) textJudge() Signal {
	return Signal{}.as(Unverified, 0, "not measured: it takes a judge that is no program")
}

// few returns the first lines, and says how many there are more.
func few(lines []string) []string {
	if len(lines) <= maxEvidence {
		return lines
	}
	return append(lines[:maxEvidence:maxEvidence], fmt.Sprintf("… and %d more", len(lines)-maxEvidence))
}
