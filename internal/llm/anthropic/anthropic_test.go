package anthropic_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"runpython/internal/llm"
	"runpython/internal/llm/anthropic"
	"runpython/internal/llm/llmtest"
	"runpython/internal/llm/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// model returns a model of a server at url.
func model(t *testing.T, url string) *anthropic.Model {
	t.Helper()
	client, err := wire.NewClient("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	return anthropic.New(anthropic.Config{
		Server:  &wire.Server{Name: "anthropic", Model: "m", Key: llmtest.Key, KeyFrom: "ANTHROPIC_API_KEY"},
		BaseURL: url, Name: "anthropic/m", HTTP: client,
	})
}

// Each conversation of the scripted server is understood, or fails as what it is.
func TestConversations(t *testing.T) {
	llmtest.Play(t, llmtest.Anthropic, func(t *testing.T, url string) llm.Model {
		t.Helper()
		return model(t, url)
	})
}

// stream serves events of the protocol, each of which is named by its type.
func stream(t *testing.T, events ...string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range events {
			var kind struct{ Type string }
			if err := json.Unmarshal([]byte(e), &kind); err != nil {
				t.Error(err)
			}
			fmt.Fprintf(w, "event: %s\ndata: %s\n\n", kind.Type, e)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

const begin = `{"type":"message_start","message":{"id":"m1","type":"message","role":"assistant","content":[],"model":"m","stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":20,"cache_read_input_tokens":70,"output_tokens":1}}}`

func end(reason string) []string {
	return []string{
		`{"type":"message_delta","delta":{"stop_reason":"` + reason + `","stop_sequence":null},"usage":{"output_tokens":50,"output_tokens_details":{"thinking_tokens":30}}}`,
		`{"type":"message_stop"}`,
	}
}

// block is one block of an answer in pieces of a kind, with the field that they have.
func block(index int, start string, pieces ...string) []string {
	list := []string{fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":%s}`, index, start)}
	for _, p := range pieces {
		list = append(list, fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":%s}`, index, p))
	}
	return append(list, fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index))
}

// Thinking, also what the vendor keeps secret, goes back as it came, in its place and with its signature.
func TestThinkingGoesBack(t *testing.T) {
	url := stream(t, slices.Concat([]string{begin},
		block(0, `{"type":"thinking","thinking":"","signature":""}`, `{"type":"thinking_delta","thinking":"I "}`, `{"type":"thinking_delta","thinking":"run"}`, `{"type":"signature_delta","signature":"S1"}`),
		block(1, `{"type":"redacted_thinking","data":"R1"}`),
		block(2, `{"type":"text","text":""}`, `{"type":"text_delta","text":"Let me "}`, `{"type":"text_delta","text":"see."}`),
		block(3, `{"type":"tool_use","id":"toolu_1","name":"run_python","input":{}}`, `{"type":"input_json_delta","partial_json":""}`, `{"type":"input_json_delta","partial_json":"{\"code\": "}`, `{"type":"input_json_delta","partial_json":"1}"}`),
		end("tool_use"))...)
	got, err := model(t, url).Complete(t.Context(), llm.Request{})
	if err != nil {
		t.Fatal(err)
	}
	if got.Message.Text != "Let me see." || got.Stop != llm.Called {
		t.Errorf("text, stop = %q, %q", got.Message.Text, got.Stop)
	}
	if diff := cmp.Diff([]llm.Call{{ID: "toolu_1", Name: "run_python", Arguments: `{"code": 1}`}}, got.Message.Calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(llm.Usage{Input: 100, Cached: 70, Output: 50, Thinking: 30}, got.Usage); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
	check(t, llm.Request{Messages: []llm.Message{got.Message, {Role: llm.Tooling, CallID: "toolu_1", Text: "1", Failed: true}}}, `[
		{"role":"assistant","content":[
			{"type":"thinking","thinking":"I run","signature":"S1"},{"type":"redacted_thinking","data":"R1"},{"type":"text","text":"Let me see."},
			{"type":"tool_use","id":"toolu_1","name":"run_python","input":{"code":1}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","is_error":true,"content":[{"type":"text","text":"1"}],"cache_control":{"type":"ephemeral"}}]}]`)
	got.Message.Text, got.Message.Calls = "Shortened.", nil
	check(t, llm.Request{Messages: []llm.Message{got.Message, {Role: llm.User, Text: "go on"}}}, `[
		{"role":"assistant","content":[{"type":"thinking","thinking":"I run","signature":"S1"},{"type":"redacted_thinking","data":"R1"},{"type":"text","text":"Shortened."}]},
		{"role":"user","content":[{"type":"text","text":"go on","cache_control":{"type":"ephemeral"}}]}]`)
}

// check compares the messages of a request.
func check(t *testing.T, r llm.Request, want string) {
	t.Helper()
	body, err := anthropic.Body(anthropic.Config{Server: &wire.Server{Model: "m"}}, r)
	if err != nil {
		t.Fatal(err)
	}
	var messages any
	if err := json.Unmarshal([]byte(want), &messages); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(messages, body["messages"]); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestRequest(t *testing.T) {
	image := []llm.Image{{MIMEType: "image/png", Data: []byte("png")}}
	got, err := anthropic.Body(anthropic.Config{Server: &wire.Server{Model: "m"}, Images: true, Extra: map[string]any{"thinking": map[string]any{"type": "adaptive"}}}, llm.Request{
		System: "be brief", MaxTokens: 7, Tools: []llm.Tool{llmtest.Tool()}, Extra: map[string]any{"temperature": 0},
		Messages: []llm.Message{
			{Role: llm.User, Text: "a", Images: image},
			{Role: llm.User, Text: "b"},
			{Role: llm.Assistant, Calls: []llm.Call{{ID: "1", Name: "run_python", Arguments: "print(1)"}, {ID: "2", Name: "run_python", Arguments: "{}"}}},
			{Role: llm.Tooling, CallID: "1", Text: "x", Images: image},
			{Role: llm.Tooling, CallID: "2"},
			{Role: llm.Assistant},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	const picture = `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"cG5n"}}`
	var want map[string]any
	err = json.Unmarshal([]byte(`{"model":"m","stream":true,"max_tokens":7,"temperature":0,"thinking":{"type":"adaptive"},
		"system":[{"type":"text","text":"be brief","cache_control":{"type":"ephemeral"}}],
		"tools":[{"name":"run_python","description":"runs","input_schema":{"type":"object","properties":{"code":{"type":"string"}},"required":["code"]}}],
		"messages":[
			{"role":"user","content":[{"type":"text","text":"a"},`+picture+`,{"type":"text","text":"b"}]},
			{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"run_python","input":{"malformed":"print(1)"}},{"type":"tool_use","id":"2","name":"run_python","input":{}}]},
			{"role":"user","content":[
				{"type":"tool_result","tool_use_id":"1","is_error":false,"content":[{"type":"text","text":"x"},`+picture+`]},
				{"type":"tool_result","tool_use_id":"2","is_error":false,"cache_control":{"type":"ephemeral"}}]}]}`), &want)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}

func TestEnds(t *testing.T) {
	for reason, want := range map[string]llm.Stop{
		"end_turn": llm.End, "stop_sequence": llm.End, "pause_turn": llm.End, "max_tokens": llm.Length,
		"model_context_window_exceeded": llm.Length, "refusal": llm.Refused,
	} {
		url := stream(t, slices.Concat([]string{begin}, block(0, `{"type":"text","text":""}`, `{"type":"text_delta","text":"a"}`), end(reason))...)
		got, err := model(t, url).Complete(t.Context(), llm.Request{})
		if err != nil || got.Stop != want {
			t.Errorf("%s: %v, %v; want %q", reason, got, err, want)
		}
	}
}

// Arguments that are no JSON reach the caller as the model wrote them.
func TestMalformedArguments(t *testing.T) {
	url := stream(t, slices.Concat([]string{begin},
		block(0, `{"type":"tool_use","id":"1","name":"run_python","input":{}}`, `{"type":"input_json_delta","partial_json":"{\"code\": \"pri"}`), end("max_tokens"))...)
	got, err := model(t, url).Complete(t.Context(), llm.Request{})
	if err != nil || len(got.Message.Calls) != 1 || got.Message.Calls[0].Arguments != `{"code": "pri` {
		t.Errorf("Complete = %+v, %v", got, err)
	}
}

func TestBrokenAnswers(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	text := func(s string) []string {
		return block(0, `{"type":"text","text":""}`, `{"type":"text_delta","text":"`+s+`"}`)
	}
	var blocks []string
	for i := range 300 {
		blocks = append(blocks, block(i, `{"type":"text","text":""}`)...)
	}
	for _, tt := range []struct {
		name   string
		events []string
		want   llm.Kind
	}{
		{"nothing", nil, llm.Cut},
		{"no end", slices.Concat([]string{begin}, text("a")), llm.Cut},
		{"no begin of a block", []string{begin, `{"type":"content_block_delta","index":7,"delta":{"type":"text_delta","text":"a"}}`}, llm.Cut},
		{"overloaded amid", append(slices.Concat([]string{begin}, text("a")), `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`), llm.Overloaded},
		{"too much text", slices.Concat([]string{begin}, text(long+"x"), end("end_turn")), llm.Oversized},
		{"too many blocks", slices.Concat([]string{begin}, blocks, end("end_turn")), llm.Oversized},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := model(t, stream(t, tt.events...)).Complete(t.Context(), llm.Request{})
			if got != nil || llm.KindOf(err) != tt.want {
				t.Errorf("Complete = %v, %v (%q); want an error of kind %q", got, err, llm.KindOf(err), tt.want)
			}
		})
	}
}
