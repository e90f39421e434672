package openai

import (
	"bytes"
	"encoding/json"

	"runpython/internal/llm"
	"runpython/internal/llm/wire"
)

// Read reads an answer as it comes from a server, and returns the text that was streamed as well.
func Read(data []byte, echo Echo) (*llm.Response, string, error) {
	var streamed bytes.Buffer
	a := &answer{server: &wire.Server{Name: "the server"}, stream: func(s string) { streamed.WriteString(s) }, thinking: thinking{echo: echo}}
	if err := a.read(bytes.NewReader(data)); err != nil {
		return nil, streamed.String(), err
	}
	return a.response(100), streamed.String(), nil
}

// Body returns the body of a request, as a document.
func Body(c Config, r llm.Request) (map[string]any, error) {
	text, err := c.body("m", r)
	if err != nil {
		return nil, err
	}
	var doc map[string]any
	return doc, json.Unmarshal(text, &doc)
}
