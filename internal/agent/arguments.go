package agent

import (
	"encoding/json"
	"slices"
	"strings"

	"runpython/internal/llm"
	"runpython/internal/message"
)

// An order is what a call, or what stands for one, asks for.
type order struct {
	code     Code
	leftOut  []string // packages that were asked for and are none, or are too many
	unusable bool     // it cannot be told what is meant, or there is no code, or it is too long
	tooLong  bool
}

// maxWrapping is how many objects or strings may be around the arguments of a call.
const maxWrapping = 3

// codeNames are names that models give to the argument with the code.
func codeNames() []string {
	return []string{"code", "python", "python_code", "source", "script", "program", "input"}
}

// readArguments reads the arguments of a call as models write them: the object that the schema asks for;
// one in a string, or in a string in a string; one in an object such as {"arguments": …}; one whose code
// has another name, is a list of lines, or has raw line breaks in it; and code that is no JSON at all.
func readArguments(text string) order {
	text = strings.TrimSpace(text)
	value, ok := decode(text)
	if !ok {
		return orderOf(text, nil, false)
	}
	return orderIn(value, maxWrapping)
}

// decode reads JSON in which strings may have raw control characters.
func decode(text string) (value any, ok bool) {
	if json.Unmarshal([]byte(text), &value) == nil {
		return value, true
	}
	if json.Unmarshal(llm.EscapeControls([]byte(text)), &value) == nil {
		return value, true
	}
	return nil, false
}

// wrapped returns the arguments that were put into a string once more. A text such as "42", which is JSON
// too, is code.
func wrapped(text string, depth int) (value any, ok bool) {
	if depth == 0 {
		return nil, false
	}
	value, ok = decode(text)
	switch value.(type) {
	case map[string]any, string:
		return value, ok
	}
	return nil, false
}

// orderIn finds the order in arguments that are JSON.
func orderIn(value any, depth int) order {
	switch value := value.(type) {
	case string:
		return orderInText(value, nil, depth)
	case map[string]any:
		return orderInObject(value, depth)
	}
	return order{unusable: true}
}

// orderInText finds the order in a string of JSON.
func orderInText(text string, packages []string, depth int) order {
	if inner, ok := wrapped(text, depth); ok {
		if o := orderIn(inner, depth-1); !o.unusable {
			return o
		}
	}
	return orderOf(text, packages, true)
}

func orderInObject(object map[string]any, depth int) order {
	packages := words(object["packages"])
	for _, name := range codeNames() {
		if text, ok := textOf(object[name]); ok {
			return orderInText(text, packages, depth)
		}
	}
	var texts []string
	var objects []map[string]any
	for name, value := range object {
		if name == "packages" || name == "name" {
			continue
		}
		if text, ok := textOf(value); ok {
			texts = append(texts, text)
		}
		if inner, ok := value.(map[string]any); ok {
			objects = append(objects, inner)
		}
	}
	switch {
	case len(objects) == 1 && depth > 0:
		return orderInObject(objects[0], depth-1)
	case len(texts) == 1:
		return orderInText(texts[0], packages, depth)
	}
	return order{unusable: true}
}

// textOf returns a string, or lines that are to be joined.
func textOf(value any) (text string, ok bool) {
	if text, ok := value.(string); ok {
		return text, true
	}
	list, ok := value.([]any)
	lines := make([]string, 0, len(list))
	for _, v := range list {
		line, isText := v.(string)
		lines, ok = append(lines, line), ok && isText
	}
	return strings.Join(lines, "\n"), ok && len(list) > 0
}

// words returns the strings of a list, or those of one string with commas or spaces between them.
func words(value any) []string {
	switch value := value.(type) {
	case string:
		return strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' })
	case []any:
		var all []string
		for _, v := range value {
			if s, ok := v.(string); ok {
				all = append(all, s)
			}
		}
		return all
	}
	return nil
}

// orderOf makes an order of text that is, or has in it, the code. sure is whether all of it is code where
// none of it can be told from prose.
func orderOf(text string, packages []string, sure bool) order {
	read := message.ReadReply(text)
	if len(read.Candidates) == 0 && sure && strings.TrimSpace(text) != "" {
		read.Candidates = []message.Candidate{{Code: strings.TrimSpace(text), RunAnyway: true}}
	}
	return orderFrom(read, packages)
}

// orderFrom makes an order of a reply that was read.
func orderFrom(read message.Reply, packages []string) order {
	if len(read.Candidates) == 0 {
		return order{unusable: true}
	}
	if len(read.Candidates[0].Code) > MaxCodeBytes {
		return order{unusable: true, tooLong: true}
	}
	// A model means what it writes to be run, also what shows nothing.
	readings := slices.Clone(read.Candidates)
	for i := range readings {
		readings[i].MustAct = false
	}
	readings[0].RunAnyway = true
	o := order{code: Code{Source: readings[0].Code, Readings: readings}}
	for _, p := range slices.Concat(packages, read.Requirements) {
		o.ask(p)
	}
	return o
}
