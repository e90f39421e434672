package lint

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"runpython/internal/pattern"
)

// maxExamples is how many examples of a tool are checked.
const maxExamples = 20

var errReference = errors.New("it refers to another document")

// compile returns the schema of a tool's input, or what is wrong with it.
func compile(raw []byte, input map[string]any) (schema *jsonschema.Resolved, problem string) {
	switch {
	case input == nil:
		return nil, "inputSchema is no object"
	case text(input["type"]) != "object":
		return nil, `inputSchema has not "type": "object"`
	case len(raw) > maxSchema || deeper(input, 0):
		return nil, fmt.Sprintf("inputSchema is larger than %d bytes or deeper than %d levels, and not checked", maxSchema, maxDepth)
	}
	if dialect := text(input["$schema"]); dialect != "" && !strings.Contains(dialect, "/2020-12/") && !strings.Contains(dialect, "/draft-07/") {
		return nil, "inputSchema is of another dialect than 2020-12 and draft-07, and not checked"
	}
	var s jsonschema.Schema
	if json.Unmarshal(raw, &s) != nil {
		return nil, "inputSchema is not valid JSON Schema"
	}
	schema, err := s.Resolve(&jsonschema.ResolveOptions{Loader: func(*url.URL) (*jsonschema.Schema, error) { return nil, errReference }})
	switch {
	case errors.Is(err, errReference):
		return nil, "inputSchema refers to another document, which clients do not fetch"
	case err != nil:
		return nil, "inputSchema is not valid JSON Schema"
	case !unfolds(input):
		return nil, "inputSchema refers to itself, or to the same parts too often, and is not checked"
	}
	return schema, ""
}

// deeper reports whether a value is nested more than maxDepth levels deep.
func deeper(v any, depth int) bool {
	if depth > 2*maxDepth { // each level of a schema is two of JSON
		return true
	}
	switch v := v.(type) {
	case map[string]any:
		for _, w := range v {
			if deeper(w, depth+1) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(w any) bool { return deeper(w, depth+1) })
	}
	return false
}

// An Example says which examples a tool gives.
type Example struct {
	Needed bool // the tool has parameters
	// Credit is 1 for examples at the root of the input schema that are valid and have all that is required, 1/2
	// for some of single parameters or in prose, else 0.
	Credit  float64
	Problem string // what is wrong with those at the root, or ""
}

// proseExample finds an example in a description.
var proseExample = pattern.New(`(?i)\b(?:examples?\s*:|for example\b|e\.g\.)`)

// Examples looks at the examples of a tool.
func Examples(t *Tool) Example {
	if len(t.Parameters) == 0 {
		return Example{}
	}
	e := Example{Needed: true}
	root, _ := t.Input["examples"].([]any)
	if len(root) > 0 {
		if e.Problem = wrongExample(t, root); e.Problem == "" {
			e.Credit = 1
			return e
		}
	}
	if slices.ContainsFunc(t.proses(), proseExample().MatchString) || singleExamples(t.Input, 0) {
		e.Credit = 0.5
	}
	return e
}

// wrongExample returns what is wrong with examples at the root, or "".
func wrongExample(t *Tool, all []any) string {
	if t.problem != "" {
		return t.problem
	}
	for i, example := range all[:min(len(all), maxExamples)] {
		if deeper(example, 0) || t.schema.Validate(example) != nil {
			return fmt.Sprintf("example %d is not valid by the schema that it is an example of", i+1)
		}
	}
	return ""
}

// singleExamples reports whether a parameter has examples of its own.
func singleExamples(schema map[string]any, depth int) bool {
	properties, _ := schema["properties"].(map[string]any)
	for _, v := range properties {
		p, _ := v.(map[string]any)
		all, _ := p["examples"].([]any)
		_, one := p["example"]
		if len(all) > 0 || one || depth < maxDepth && singleExamples(p, depth+1) {
			return true
		}
	}
	return false
}

// proses returns the descriptions of the tool.
func (t *Tool) proses() []string {
	all := []string{t.Description}
	for _, p := range t.Parameters {
		all = append(all, p.Description)
	}
	return all
}
