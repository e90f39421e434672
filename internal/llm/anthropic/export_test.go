package anthropic

import (
	"encoding/json"

	"runpython/internal/llm"
)

// Body returns the body of a request, as a document.
func Body(c Config, r llm.Request) (map[string]any, error) {
	text, err := c.body(r)
	if err != nil {
		return nil, err
	}
	var doc map[string]any
	return doc, json.Unmarshal(text, &doc)
}
