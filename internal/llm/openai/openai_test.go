package openai_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"runpython/internal/llm"
	"runpython/internal/llm/llmtest"
	"runpython/internal/llm/openai"
	"runpython/internal/llm/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// model returns a model of a server at url.
func model(t *testing.T, url string, change func(*openai.Config)) *openai.Model {
	t.Helper()
	client, err := wire.NewClient("")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.CloseIdleConnections)
	c := openai.Config{
		Server:  &wire.Server{Name: "the server", Model: "m", Key: "sk-secret", KeyFrom: "THE_KEY"},
		BaseURL: url + "/v1", Name: "vendor/m", HTTP: client, Dialect: openai.Dialect{AskUsage: true},
	}
	if change != nil {
		change(&c)
	}
	return openai.New(c)
}

var tool = llm.Tool{Name: "run_python", Description: "runs", Schema: map[string]any{
	"type": "object", "properties": map[string]any{"code": map[string]any{"type": "string"}}, "required": []any{"code"},
}}

// failures are what the conversations that begin with one must be understood as.
var failures = map[string]llm.Kind{
	"cut-before": llm.Unreachable, "cut-body": llm.Cut, "cut-connection": llm.Cut, "cut-finish": llm.Cut, "garbage": llm.Cut,
	"detail": llm.Invalid, "failing": llm.Overloaded, "overloaded": llm.Overloaded, "overloaded-late": llm.Overloaded,
	"invalid": llm.Invalid, "no-credit": llm.Unauthorized, "unauthorized": llm.Unauthorized, "no-model": llm.NoModel,
	"no-tools": llm.NoTools, "rate-limited": llm.Limited, "too-long": llm.TooLong, "endless": llm.Oversized,
	"huge": llm.Oversized, "huge-arguments": llm.Oversized,
}

// Each conversation of the scripted server is understood, or fails as what it is.
func TestConversations(t *testing.T) {
	for _, name := range llmtest.Names(t) {
		script := llmtest.Conversation(t, name)
		w := script.Exchanges[0].Want
		if w.Protocol == llmtest.Anthropic || w.Stream != nil && !*w.Stream {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, script)
		})
	}
}

func play(t *testing.T, script llmtest.Script) {
	t.Helper()
	m := model(t, llmtest.Serve(t, script).URL, nil)
	history := []llm.Message{{Role: llm.User, Text: "What is 6 times 7?"}}
	failed := false
	for i, exchange := range script.Exchanges {
		reply := exchange.Reply
		r := llm.Request{System: "be brief", Messages: history, MaxTokens: 1000}
		if tools := exchange.Want.Tools; tools == nil || len(tools) > 0 {
			r.Tools = []llm.Tool{tool}
		}
		ctx, stop := context.WithCancel(t.Context())
		for _, gate := range []*llmtest.Gate{reply.Before, reply.Amid} {
			if gate != nil {
				go func() { <-gate.Reached(); stop() }()
			}
		}
		got, err := m.Complete(ctx, r)
		stop()
		if reply.Before != nil || reply.Amid != nil {
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("exchange %d: error = %v, want that of the context", i+1, err)
			}
			failed = true
			continue
		}
		if want := failures[script.Name]; err != nil {
			if llm.KindOf(err) != want {
				t.Fatalf("exchange %d: error = %v (%q), want %q", i+1, err, llm.KindOf(err), want)
			}
			if strings.Contains(err.Error(), "sk-secret") {
				t.Errorf("the error has the key: %v", err)
			}
			failed = true
			continue
		}
		compare(t, reply, got)
		history = append(history, after(got)...)
	}
	if _, fails := failures[script.Name]; fails && !failed {
		t.Error("nothing failed")
	}
}

// after are the messages that go on: the answer, and 42 for each call.
func after(r *llm.Response) []llm.Message {
	list := []llm.Message{r.Message}
	for _, c := range r.Message.Calls {
		list = append(list, llm.Message{Role: llm.Tooling, CallID: c.ID, Text: "42\n"})
	}
	if len(list) == 1 {
		list = append(list, llm.Message{Role: llm.User, Text: "The output is 42."})
	}
	return list
}

func compare(t *testing.T, said llmtest.Reply, got *llm.Response) {
	t.Helper()
	want := said.Text
	if want == "" {
		want = said.Refusal
	}
	if got.Message.Text != want {
		t.Errorf("text = %q, want %q", got.Message.Text, want)
	}
	var calls []llmtest.Call
	for i, c := range got.Message.Calls {
		if i < len(said.Calls) && (said.Calls[i].ID == "-" || said.Calls[i].ID == "") {
			said.Calls[i].ID = c.ID
		}
		if strings.TrimSpace(c.ID) == "" {
			t.Error("a call has no id")
		}
		calls = append(calls, llmtest.Call(c))
	}
	if slices.Contains(said.Quirks, llmtest.Object) { // an object is written without spaces
		for i := range said.Calls {
			said.Calls[i].Arguments = strings.ReplaceAll(said.Calls[i].Arguments, ": ", ":")
		}
	}
	if diff := cmp.Diff(said.Calls, calls); diff != "" {
		t.Errorf("calls (-said +heard):\n%s", diff)
	}
	if said.Usage.Input > 0 {
		if diff := cmp.Diff(said.Usage, got.Usage); diff != "" {
			t.Errorf("usage (-said +heard):\n%s", diff)
		}
	}
	if slices.Contains(said.Quirks, llmtest.NoUsage) != got.Usage.Estimated {
		t.Errorf("Estimated = %v", got.Usage.Estimated)
	}
}

// A server by its URL is asked once which model it has.
func TestFirstModelOfAServer(t *testing.T) {
	asked, named := 0, map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/models" {
			asked++
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"object":"list","data":[{"id":"q05","object":"model","owned_by":"me","permissions":[]}]}`))
			return
		}
		body := make([]byte, r.ContentLength)
		_, _ = r.Body.Read(body)
		named[string(body)] = true
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = w.Write([]byte("data: {\"choices\":[{\"delta\":{\"content\":\"hi\"},\"finish_reason\":\"stop\"}]}\n\n"))
	}))
	defer server.Close()
	m := model(t, server.URL, func(c *openai.Config) { c.Server.Model, c.Dialect = "", openai.Dialect{} })
	for range 2 {
		if _, err := m.Complete(t.Context(), llm.Request{}); err != nil {
			t.Fatal(err)
		}
	}
	if asked != 1 || !named[`{"model":"q05","stream":true}`] {
		t.Errorf("asked %d times for models, requests %v; want once, and the model q05 in each", asked, named)
	}
}

// What is told of a server names the model that was asked for, also when it is the server's first one.
func TestFirstModelIsNamedInErrors(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/v1/models" {
			_, _ = w.Write([]byte(`{"data":[{"id":"q05"}]}`))
			return
		}
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"error":{"message":"this model does not support tools"}}`))
	}))
	defer server.Close()
	m := model(t, server.URL, func(c *openai.Config) { c.Server.Model = "" })
	if _, err := m.Complete(t.Context(), llm.Request{}); llm.KindOf(err) != llm.NoTools || !strings.Contains(err.Error(), "model q05") {
		t.Errorf("error = %v, want one of kind %q that names q05", err, llm.NoTools)
	}
}

// A server without a list of models is not one that lacks a model, since none was named.
func TestNoListOfModels(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte("/v1/models not found"))
	}))
	defer server.Close()
	m := model(t, server.URL, func(c *openai.Config) { c.Server.Model = "" })
	if _, err := m.Complete(t.Context(), llm.Request{}); llm.KindOf(err) != llm.Invalid {
		t.Errorf("error = %v, want one of kind %q", err, llm.Invalid)
	}
}

func TestNoModelOnAServer(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"data":[]}`))
	}))
	defer server.Close()
	m := model(t, server.URL, func(c *openai.Config) { c.Server.Model = "" })
	if _, err := m.Complete(t.Context(), llm.Request{}); llm.KindOf(err) != llm.NoModel {
		t.Errorf("error = %v, want one of kind %q", err, llm.NoModel)
	}
}

// A key goes to no other server than that which is configured.
func TestRedirectsAreNotFollowed(t *testing.T) {
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s was asked for, with %q", r.URL, r.Header.Get("Authorization"))
	}))
	defer other.Close()
	server := httptest.NewServer(http.RedirectHandler(other.URL, http.StatusTemporaryRedirect))
	defer server.Close()
	_, err := model(t, server.URL, nil).Complete(t.Context(), llm.Request{})
	if llm.KindOf(err) != llm.Invalid || !strings.Contains(err.Error(), "redirects") {
		t.Errorf("error = %v, want one that says that the server redirects", err)
	}
}
