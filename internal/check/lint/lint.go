// Package lint judges what a server says of its tools: how much it costs, how well it is described, whether
// examples are right, and whether it tries to steer the model that reads it.
//
// Everything here is a function of its arguments, which it does not change: no network, no clock, no model.
//
// # Trust
//
// Definitions are hostile: large, deep, cyclic, in look-alike letters, with hidden characters. Work is bounded
// for each of them; references of schemas are never fetched. Texts in results are as they came, but those
// that are called excerpts, which are harmless to show.
//
// # Failure
//
// What has no form that can be judged is a finding of the tool. Nothing here returns an error.
package lint

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/google/jsonschema-go/jsonschema"

	"runpython/internal/excerpt"
	"runpython/internal/pattern"
)

const (
	maxDepth      = 32       // of a schema that is walked
	maxParameters = 1000     // of one tool that are looked at
	maxSchema     = 64 << 10 // bytes of a schema that is compiled
	maxValues     = 200      // of an enumeration that are kept
	maxValue      = 200      // bytes of one of them
	maxName       = 256      // bytes of a tool's name that are kept
	maxPath       = 600      // bytes of a path: each text has one, so long names would be kept once for each
)

// A Tool is one tool's definition.
type Tool struct {
	Name, Title, Description string // Name of maxName bytes
	Annotations              Annotations
	Input                    map[string]any // nil when it is none
	Outputs                  []string       // paths of the properties of its results
	Parameters               []Parameter
	name                     string               // as it came
	annotations, output      any                  // as they came
	definition               []byte               // what a client hands to its model, as compact JSON
	schema                   *jsonschema.Resolved // of Input, nil when there is a problem
	problem                  string
}

// Annotations are the hints of a tool, nil where they are not given.
type Annotations struct {
	Title       string `json:"title"`
	ReadOnly    *bool  `json:"readOnlyHint"`
	Destructive *bool  `json:"destructiveHint"`
	Idempotent  *bool  `json:"idempotentHint"`
	OpenWorld   *bool  `json:"openWorldHint"`
}

// A Parameter is one property of a tool's input, also one within others.
type Parameter struct {
	Path        string // as in "filter.items.name", of maxPath bytes
	Name        string
	Type        string
	Description string
	Required    bool
	// Values are those that it may have, as JSON in the order of texts; nil: any, empty: too many to keep.
	Values []string
}

// MayDestroy reports whether the tool says that it may destroy, or says nothing, which means the same (MCP
// 2025-06-18, ToolAnnotations).
func (t *Tool) MayDestroy() bool {
	readOnly := t.Annotations.ReadOnly != nil && *t.Annotations.ReadOnly
	spared := t.Annotations.Destructive != nil && !*t.Annotations.Destructive
	return !readOnly && !spared
}

// ParseTools reads definitions. What has no name gets one by its place.
func ParseTools(raw []json.RawMessage) []Tool {
	tools := make([]Tool, len(raw))
	for i, text := range raw {
		tools[i] = parseTool(text)
		if tools[i].Name == "" {
			tools[i].Name = fmt.Sprintf("(unnamed %d)", i+1)
		}
	}
	return tools
}

func parseTool(text json.RawMessage) Tool {
	var d struct {
		Name        looseText       `json:"name"`
		Title       looseText       `json:"title"`
		Description looseText       `json:"description"`
		Input       json.RawMessage `json:"inputSchema"`
		Output      json.RawMessage `json:"outputSchema"`
		Annotations json.RawMessage `json:"annotations"`
	}
	if json.Unmarshal(text, &d) != nil {
		return Tool{definition: text, problem: "its definition is no object"}
	}
	t := Tool{Name: excerpt.Head(string(d.Name), maxName), name: string(d.Name), Title: string(d.Title), Description: string(d.Description)}
	if json.Unmarshal(d.Annotations, &t.Annotations) != nil {
		t.Annotations = Annotations{} // of another form, so nothing is said
	}
	t.annotations, t.output = loose(d.Annotations), loose(d.Output)
	t.definition = compact(text, "name", "title", "description", "inputSchema", "outputSchema", "annotations")
	if json.Unmarshal(d.Input, &t.Input) != nil {
		t.Input = nil
	}
	out := Tool{}
	result, _ := t.output.(map[string]any)
	out.walk("", result, 0)
	for _, p := range out.Parameters {
		t.Outputs = append(t.Outputs, p.Path)
	}
	t.walk("", t.Input, 0)
	t.schema, t.problem = compile(d.Input, t.Input)
	return t
}

// loose returns a value, or nil of what is none.
func loose(raw json.RawMessage) any {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return nil
	}
	return v
}

// looseText is a text, or "" of anything else.
type looseText string

// UnmarshalJSON implements json.Unmarshaler.
func (l *looseText) UnmarshalJSON(text []byte) error {
	var s string
	if json.Unmarshal(text, &s) == nil {
		*l = looseText(s)
	}
	return nil
}

// compact returns those of an object's members, without spaces, in the order of names.
func compact(text []byte, names ...string) []byte {
	var all map[string]json.RawMessage
	if json.Unmarshal(text, &all) != nil {
		return text
	}
	kept := map[string]json.RawMessage{}
	for _, n := range names {
		if v, ok := all[n]; ok {
			kept[n] = v
		}
	}
	out, err := json.Marshal(kept)
	if err != nil {
		return text
	}
	return out
}

// walk collects the properties of a schema and of those within it.
func (t *Tool) walk(path string, schema map[string]any, depth int) {
	if depth > maxDepth {
		return
	}
	required, _ := schema["required"].([]any)
	properties, _ := schema["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if len(t.Parameters) == maxParameters {
			return
		}
		p, _ := properties[name].(map[string]any)
		t.Parameters = append(t.Parameters, Parameter{
			Path: under(path, name), Name: name, Type: typeOf(p), Description: text(p["description"]), Required: slices.Contains(required, any(name)),
			Values: enumerated(p),
		})
		t.walk(under(path, name+"."), p, depth+1)
	}
	for _, within := range []string{"items", "additionalProperties"} {
		if s, ok := schema[within].(map[string]any); ok {
			t.walk(under(path, within+"."), s, depth+1)
		}
	}
	for _, within := range []string{"$defs", "definitions"} {
		defs, _ := schema[within].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(defs)) {
			if s, ok := defs[name].(map[string]any); ok {
				t.walk(under(path, within+"."+name+"."), s, depth+1)
			}
		}
	}
	for _, within := range []string{"anyOf", "oneOf", "allOf"} {
		choices, _ := schema[within].([]any)
		for i, c := range choices {
			if s, ok := c.(map[string]any); ok {
				t.walk(under(path, fmt.Sprintf("%s.%d.", within, i)), s, depth+1)
			}
		}
	}
}

// under returns the path of what is beneath another.
func under(path, name string) string { return excerpt.Head(path+name, maxPath) }

func text(v any) string {
	s, _ := v.(string)
	return s
}

// typeOf returns the type that a schema names, or its types.
func typeOf(schema map[string]any) string {
	switch v := schema["type"].(type) {
	case string:
		return v
	case []any:
		var all []string
		for _, t := range v {
			all = append(all, text(t))
		}
		return strings.Join(all, "|")
	}
	return ""
}

// enumerated returns the values that a schema names.
func enumerated(schema map[string]any) []string {
	all, ok := schema["enum"].([]any)
	if one, isConst := schema["const"]; isConst {
		all, ok = []any{one}, true
	}
	if !ok {
		return nil
	}
	values := []string{}
	if len(all) > maxValues {
		return values
	}
	for _, v := range all {
		text, err := json.Marshal(v)
		if err != nil || len(text) > maxValue {
			return []string{}
		}
		values = append(values, string(text))
	}
	slices.Sort(values)
	return slices.Compact(values)
}

// stopWords say nothing of a tool.
var stopWords = []string{"a", "an", "the", "this", "that", "of", "for", "to", "and", "or", "is", "tool", "function", "parameter", "argument", "value", "field"}

// words returns the words of a text that say something: in small letters, names split at case, digits kept.
func words(s string) []string {
	var b strings.Builder
	lower := false
	for _, r := range s {
		if unicode.IsUpper(r) && lower {
			b.WriteByte(' ')
		}
		lower = unicode.IsLower(r)
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			r = ' '
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return slices.DeleteFunc(strings.Fields(b.String()), func(w string) bool { return slices.Contains(stopWords, w) })
}

// What a description has at least to say more than a name does.
const (
	leastWords    = 3
	leastUnspaced = 6 // letters beyond ASCII, for scripts that put no spaces between words
)

// Describes reports whether a description says what a tool of these names does, beyond repeating them.
func Describes(description string, names ...string) bool {
	said := words(description)
	return enough(said, description, leastWords) && !repeats(said, names)
}

// DescribesParameter is Describes for a parameter, for which a word or two may do.
func DescribesParameter(p Parameter) bool {
	said := words(p.Description)
	return len(said) > 0 && !repeats(said, []string{p.Name})
}

func enough(said []string, description string, least int) bool {
	unspaced := 0
	for _, r := range description {
		if r > unicode.MaxASCII && unicode.IsLetter(r) {
			unspaced++
		}
	}
	return len(said) >= least || unspaced >= leastUnspaced
}

func repeats(said, names []string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return slices.Equal(said, words(n)) })
}

// toolName is what names of tools may be (MCP 2025-11-25, Tool Names).
var toolName = pattern.New(`^[A-Za-z0-9_./-]{1,128}$`)

// Problems returns what is wrong with definitions of tools, and what a reader of them would miss: one line each,
// which begins with the tool's name.
func Problems(tools []Tool) []string {
	var all []string
	seen := map[string]bool{}
	for i := range tools {
		t := &tools[i]
		say := func(format string, args ...any) { all = append(all, t.Name+": "+fmt.Sprintf(format, args...)) }
		if !toolName().MatchString(t.Name) {
			say("its name has other characters than letters, digits, _ - . / or more than 128")
		}
		if seen[t.Name] {
			say("another tool has the same name")
		}
		seen[t.Name] = true
		if t.Title == "" && t.Annotations.Title == "" {
			say("no title")
		}
		if t.Annotations.ReadOnly == nil && t.Annotations.Destructive == nil {
			say("no annotations")
		}
		if t.problem != "" {
			say("%s", t.problem)
		}
	}
	return all
}
