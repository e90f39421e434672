package agent

import (
	"embed"
	"fmt"
	"strings"
	"text/template"

	"runpython/internal/excerpt"
	"runpython/internal/llm"
)

// prompts are the system prompts, one for each protocol.
//
//go:embed prompt/*.md
var prompts embed.FS

// Bounds of what a prompt says about the settings of the operator.
const (
	promptEgress   = 300 // bytes
	promptPackages = 40  // names
)

// shortWindow is the largest window with which a model is taken for a small one.
const shortWindow = 8_192

// A prompt is what stands in front of the conversation in a protocol.
type prompt struct {
	system string
	// example is shown as messages in front of the conversation; none where the system prompt has one.
	example []llm.Message
}

// isSmall reports whether the model is taken for a small one, which does worse with more to read.
func (o Options) isSmall() bool { return o.Window <= shortWindow }

// promptFor returns the prompt of a protocol. A file is the system prompt and, where the example is to be
// messages, that under the headings "### Request" and "### Reply". Small models do what an example does: with one that goes on
// to an output and an answer, they answer without code.
func promptFor(p Protocol, o Options) (prompt, error) {
	t, err := template.ParseFS(prompts, "prompt/"+string(p)+".md")
	if err != nil {
		return prompt{}, fmt.Errorf("read the prompt of the protocol %q: %w", p, err)
	}
	var text strings.Builder
	if err := t.Execute(&text, o.told()); err != nil {
		return prompt{}, fmt.Errorf("write the prompt of the protocol %q: %w", p, err)
	}
	parts := strings.Split(text.String(), "\n### ")
	all := prompt{system: strings.TrimSpace(parts[0])}
	for _, part := range parts[1:] {
		heading, body, _ := strings.Cut(part, "\n")
		role := llm.User
		if heading == "Reply" {
			role = llm.Assistant
		}
		all.example = append(all.example, llm.Message{Role: role, Text: strings.TrimSpace(body)})
	}
	return all, nil
}

// toldFacts are Facts as prompts have them.
type toldFacts struct {
	Time, Memory, Work string // "" where there is no number
	Egress             string // "" for none
	Packages           string
	Listed             string
	Short              bool // the model is small
}

// told returns what prompts say about the settings of the operator.
func (o Options) told() toldFacts {
	f := o.Facts
	t := toldFacts{Packages: f.Packages, Short: o.isSmall()}
	if f.RunTimeout > 0 {
		t.Time = fmt.Sprintf("%g seconds", f.RunTimeout.Seconds())
	}
	if f.MemoryBytes > 0 {
		t.Memory = excerpt.Size(f.MemoryBytes)
	}
	if f.WorkBytes > 0 {
		t.Work = excerpt.Size(f.WorkBytes)
	}
	if f.Egress != "none" {
		t.Egress = excerpt.Begin(strings.ReplaceAll(f.Egress, ",", ", "), promptEgress)
	}
	t.Listed = strings.Join(f.Listed[:min(len(f.Listed), promptPackages)], ", ")
	if len(f.Listed) > promptPackages {
		t.Listed += " and others"
	}
	return t
}

// tools returns what a request in the protocol offers.
func (p Protocol) tools(f Facts) []llm.Tool {
	if p != Tools {
		return nil
	}
	properties := map[string]any{
		"code": map[string]any{"type": "string", "description": "A Python program. Print what is needed for the answer."},
	}
	if f.Packages != "off" {
		properties["packages"] = map[string]any{
			"type": "array", "items": map[string]any{"type": "string"},
			"description": "PyPI packages that the code needs and does not import itself, as openpyxl for pandas.read_excel.",
		}
	}
	return []llm.Tool{{
		Name:        toolName,
		Description: "Runs Python in the interpreter of this chat and returns what it prints, the value of its last expression, its error and its files.",
		Schema: map[string]any{
			"type": "object", "properties": properties, "required": []string{"code"}, "additionalProperties": false,
		},
	}}
}
