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

// promptFor returns the system prompt of a protocol.
func promptFor(p Protocol, f Facts) (string, error) {
	t, err := template.ParseFS(prompts, "prompt/"+string(p)+".md")
	if err != nil {
		return "", fmt.Errorf("read the prompt of the protocol %q: %w", p, err)
	}
	var text strings.Builder
	if err := t.Execute(&text, f.told()); err != nil {
		return "", fmt.Errorf("write the prompt of the protocol %q: %w", p, err)
	}
	return strings.TrimSpace(text.String()), nil
}

// toldFacts are Facts as prompts have them.
type toldFacts struct {
	Time, Memory, Work string // "" where there is no number
	Egress             string // "" for none
	Packages           string
	Listed             string
}

func (f Facts) told() toldFacts {
	t := toldFacts{Packages: f.Packages}
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
