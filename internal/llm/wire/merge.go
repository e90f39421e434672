package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
)

// Body returns the JSON of params with each of extra merged into it, the later over the earlier, as RFC 7396
// has it: objects are merged, null removes, everything else replaces. What nothing is merged into, such as
// the conversation, is not parsed.
func Body(params json.Marshaler, extra ...map[string]any) ([]byte, error) {
	text, err := params.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	for _, e := range extra {
		for key, v := range e {
			if err := mergeKey(doc, key, v); err != nil {
				return nil, fmt.Errorf("encode the request: %s: %w", key, err)
			}
		}
	}
	out, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("encode the request: %w", err)
	}
	return out, nil
}

// mergeKey merges v into the member key of doc.
func mergeKey(doc map[string]json.RawMessage, key string, v any) error {
	if v == nil {
		delete(doc, key)
		return nil
	}
	if patch, ok := v.(map[string]any); ok {
		var old map[string]any
		if raw := doc[key]; len(raw) > 0 && raw[0] == '{' {
			decoder := json.NewDecoder(bytes.NewReader(raw))
			decoder.UseNumber()
			if err := decoder.Decode(&old); err != nil {
				return err //nolint:wrapcheck // Body does
			}
		}
		v = merge(old, patch)
	}
	text, err := json.Marshal(v)
	doc[key] = text
	return err //nolint:wrapcheck // Body does
}

func merge(doc, patch map[string]any) map[string]any {
	doc = maps.Clone(doc)
	if doc == nil {
		doc = map[string]any{}
	}
	for key, v := range patch {
		switch v := v.(type) {
		case nil:
			delete(doc, key)
		case map[string]any:
			old, _ := doc[key].(map[string]any)
			doc[key] = merge(old, v)
		default:
			doc[key] = v
		}
	}
	return doc
}

// Object returns the arguments of a call as servers want them in a history: a JSON object. What a model
// wrote otherwise stands in it as text, so that the model sees its mistake.
func Object(arguments string) json.RawMessage {
	text := strings.TrimSpace(arguments)
	switch {
	case text == "":
		return json.RawMessage("{}")
	case text[0] == '{' && json.Valid([]byte(text)):
		return json.RawMessage(text)
	}
	quoted, err := json.Marshal(map[string]string{"malformed": arguments})
	if err != nil { // it cannot be: a text
		return json.RawMessage("{}")
	}
	return quoted
}

// Estimate returns the tokens of text of that many bytes where a server does not count them.
func Estimate(size int) int { return (size + 3) / 4 }

// maxCounted bounds the tokens of one request, so that no sum of what servers claim runs over.
const maxCounted = 1_000_000_000

// Counted returns the tokens that a server claims, from 0 to 1,000,000,000.
func Counted(claimed int64) int { return int(min(max(claimed, 0), maxCounted)) }
