package openai_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/llm"
	"runpython/internal/llm/llmtest"
	"runpython/internal/llm/openai"
)

func document(t *testing.T, text string) map[string]any {
	t.Helper()
	var doc map[string]any
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestRequests(t *testing.T) {
	loop := []llm.Message{
		{Role: llm.User, Text: "hi"},
		{Role: llm.Assistant, Calls: []llm.Call{{ID: "call_1", Name: "run_python", Arguments: `{"code": 1}`}}},
		{Role: llm.Tooling, CallID: "call_1", Text: "42", Images: []llm.Image{{MIMEType: "image/png", Data: []byte("png")}}},
	}
	for _, tt := range []struct {
		name   string
		config openai.Config
		r      llm.Request
		want   string
	}{
		{
			"a call and its result; no null beside calls; pictures are left out",
			openai.Config{Dialect: openai.Dialect{AskUsage: true}},
			llm.Request{System: "s", Messages: loop, MaxTokens: 7, Tools: []llm.Tool{llmtest.Tool()}},
			`{"model":"m","stream":true,"stream_options":{"include_usage":true},"max_tokens":7,"messages":[
				{"role":"system","content":"s"},{"role":"user","content":"hi"},
				{"role":"assistant","content":"","tool_calls":[{"id":"call_1","type":"function","function":{"name":"run_python","arguments":"{\"code\": 1}"}}]},
				{"role":"tool","tool_call_id":"call_1","content":"42"}],
			 "tools":[{"type":"function","function":{"name":"run_python","description":"runs","parameters":{"type":"object","properties":{"code":{"type":"string"}},"required":["code"]}}}]}`,
		},
		{
			"pictures of a result in a message after it; the other bound of tokens",
			openai.Config{Images: true, Dialect: openai.Dialect{CompletionTokens: true}},
			llm.Request{Messages: loop, MaxTokens: 7},
			`{"model":"m","stream":true,"max_completion_tokens":7,"messages":[
				{"role":"user","content":"hi"},
				{"role":"assistant","content":"","tool_calls":[{"id":"call_1","type":"function","function":{"name":"run_python","arguments":"{\"code\": 1}"}}]},
				{"role":"tool","tool_call_id":"call_1","content":"42"},
				{"role":"user","content":[{"type":"text","text":"What the code has shown:"},{"type":"image_url","image_url":{"url":"data:image/png;base64,cG5n"}}]}]}`,
		},
		{
			"Mistral's ids",
			openai.Config{Dialect: openai.Dialect{ShortIDs: true}},
			llm.Request{Messages: []llm.Message{
				{Role: llm.Assistant, Calls: []llm.Call{{ID: "D681PevKs", Name: "f", Arguments: "{}"}, {ID: "call_1", Name: "f", Arguments: "{}"}}},
				{Role: llm.Tooling, CallID: "call_1", Text: "a"},
			}},
			`{"model":"m","stream":true,"messages":[
				{"role":"assistant","content":"","tool_calls":[
					{"id":"D681PevKs","type":"function","function":{"name":"f","arguments":"{}"}},
					{"id":"16xj2wjzp","type":"function","function":{"name":"f","arguments":"{}"}}]},
				{"role":"tool","tool_call_id":"16xj2wjzp","content":"a"}]}`,
		},
		{
			"arguments that no server would read",
			openai.Config{},
			llm.Request{Messages: []llm.Message{{Role: llm.Assistant, Calls: []llm.Call{
				{ID: "a", Name: "f", Arguments: "print(1)"}, {ID: "b", Name: "f", Arguments: ""}, {ID: "c", Name: "f", Arguments: `"x"`},
			}}}},
			`{"model":"m","stream":true,"messages":[{"role":"assistant","content":"","tool_calls":[
				{"id":"a","type":"function","function":{"name":"f","arguments":"{\"malformed\":\"print(1)\"}"}},
				{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}},
				{"id":"c","type":"function","function":{"name":"f","arguments":"{\"malformed\":\"\\\"x\\\"\"}"}}]}]}`,
		},
		{
			"further fields: merged, replaced, removed; the request's over the configuration's",
			openai.Config{
				Extra:   map[string]any{"temperature": 0, "provider": map[string]any{"order": []any{"a"}}, "grammar": "g", "stream": false},
				Dialect: openai.Dialect{AskUsage: true},
			},
			llm.Request{Extra: map[string]any{"provider": map[string]any{"sort": "price"}, "grammar": nil, "stream_options": nil}},
			`{"model":"m","stream":true,"temperature":0,"provider":{"order":["a"],"sort":"price"}}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := openai.Body(tt.config, tt.r)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(document(t, tt.want), got); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

// Each vendor gets back what it wants of what its model thought, and no other does.
func TestThinkingGoesBack(t *testing.T) {
	deepseek := sse(delta(`{"reasoning_content":"I "}`), delta(`{"reasoning_content":"run"}`),
		delta(`{"content":"","tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}`), called)
	openrouter := sse(
		delta(`{"reasoning":"I ","reasoning_details":[{"type":"reasoning.text","index":0,"text":"I ","format":"x","signature":null}]}`),
		delta(`{"reasoning":"run","reasoning_details":[{"type":"reasoning.text","index":0,"text":"run","signature":"sig"},{"type":"reasoning.encrypted","index":1,"data":"e30"}]}`),
		delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}`), called)
	gemini := sse(
		delta(`{"extra_content":{"google":{"thought_signature":"M"}},"tool_calls":[{"index":0,"id":"a","extra_content":{"google":{"thought_signature":"S"}},"function":{"name":"f","arguments":"{}"}}]}`),
		called)
	call := `{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}`
	for _, tt := range []struct {
		name string
		from openai.Echo
		data []byte
		to   openai.Echo
		want string // the message as it goes back
	}{
		{"DeepSeek", openai.ReasoningContent, deepseek, openai.ReasoningContent, `{"role":"assistant","content":"","reasoning_content":"I run","tool_calls":[` + call + `]}`},
		{"DeepSeek's of a message without calls is not wanted", openai.ReasoningContent, sse(delta(`{"reasoning_content":"hm","content":"42"}`), stopped), openai.ReasoningContent,
			`{"role":"assistant","content":"42"}`},
		{"DeepSeek wants it even if there is none", openai.NoEcho, gemini, openai.ReasoningContent, `{"role":"assistant","content":"","reasoning_content":"","tool_calls":[` + call + `]}`},
		{"OpenRouter", openai.ReasoningDetails, openrouter, openai.ReasoningDetails,
			`{"role":"assistant","content":"","tool_calls":[` + call + `],"reasoning_details":[
				{"type":"reasoning.text","index":0,"text":"I run","format":"x","signature":"sig"},{"type":"reasoning.encrypted","index":1,"data":"e30"}]}`},
		{"Gemini", openai.ThoughtSignatures, gemini, openai.ThoughtSignatures,
			`{"role":"assistant","content":"","extra_content":{"google":{"thought_signature":"M"}},"tool_calls":[
				{"id":"a","type":"function","extra_content":{"google":{"thought_signature":"S"}},"function":{"name":"f","arguments":"{}"}}]}`},
		{"Gemini takes a call without a signature only so", openai.NoEcho, deepseek, openai.ThoughtSignatures,
			`{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","extra_content":{"google":{"thought_signature":"skip_thought_signature_validator"}},
				"function":{"name":"f","arguments":"{}"}}]}`},
		{"another vendor's", openai.ReasoningDetails, openrouter, openai.NoEcho, `{"role":"assistant","content":"","tool_calls":[` + call + `]}`},
		{"nobody wants it", openai.NoEcho, deepseek, openai.NoEcho, `{"role":"assistant","content":"","tool_calls":[` + call + `]}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, _, err := openai.Read(tt.data, tt.from)
			if err != nil {
				t.Fatal(err)
			}
			body, err := openai.Body(openai.Config{Dialect: openai.Dialect{Echo: tt.to}}, llm.Request{Messages: []llm.Message{r.Message}})
			if err != nil {
				t.Fatal(err)
			}
			messages, _ := body["messages"].([]any)
			if diff := cmp.Diff([]any{any(document(t, tt.want))}, messages); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}
