package openai_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

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
		Server:  &wire.Server{Name: "the server", Model: "m", Key: llmtest.Key, KeyFrom: "THE_KEY"},
		BaseURL: url + "/v1", Name: "vendor/m", HTTP: client, Dialect: openai.Dialect{AskUsage: true},
	}
	if change != nil {
		change(&c)
	}
	return openai.New(c)
}

// Each conversation of the scripted server is understood, or fails as what it is.
func TestConversations(t *testing.T) {
	llmtest.Play(t, llmtest.OpenAI, func(t *testing.T, url string) llm.Model {
		t.Helper()
		return model(t, url, nil)
	})
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
