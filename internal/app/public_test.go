package app_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/about"
	"runpython/internal/app"
	"runpython/internal/config"
	"runpython/internal/extent"
	"runpython/internal/guesttest"
)

// page reads a page, which must be there.
func page(t *testing.T, url string) (body []byte, header http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := new(http.Client).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err = io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("GET %s = %s, %v", url, res.Status, err)
	}
	return body, res.Header
}

// What is told before anybody connects is what a client then finds.
func TestCardTellsTheTruth(t *testing.T) {
	extent.Long(t)
	url, _ := serve(t, open(t, nil))
	body, header := page(t, url+"/server-card")
	var card struct {
		Title, Version string
		Remotes        []struct {
			Type, URL                 string
			SupportedProtocolVersions []string
		}
	}
	if err := json.Unmarshal(body, &card); err != nil || header.Get("Content-Type") != "application/mcp-server-card+json" {
		t.Fatalf("the card is %q: %v", header.Get("Content-Type"), err)
	}
	if len(card.Remotes) != 1 || card.Remotes[0].URL != url || card.Remotes[0].Type != "streamable-http" {
		t.Fatalf("remotes are %+v, want %s", card.Remotes, url)
	}
	for _, revision := range card.Remotes[0].SupportedProtocolVersions {
		s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
			&mcp.StreamableClientTransport{Endpoint: url}, &mcp.ClientSessionOptions{ProtocolVersion: revision})
		if err != nil {
			t.Fatalf("connect with revision %s: %v", revision, err)
		}
		if got := s.InitializeResult(); got.ProtocolVersion != revision || got.ServerInfo.Title != card.Title {
			t.Errorf("the server says %s, %+v, the card %s, %+v", got.ProtocolVersion, got.ServerInfo, revision, card)
		}
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/server-card", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = "rebound.example"
	res, err := new(http.Client).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil || res.StatusCode != http.StatusForbidden {
		t.Errorf("the card under another Host: %s, %v; want 403", res.Status, err)
	}
	if text, _ := page(t, strings.TrimSuffix(url, "/mcp")+"/llms.txt"); string(text) != string(about.LLMs()) {
		t.Errorf("llms.txt is\n%s", text)
	}
}

// The trace of a call is in the event of its turn.
func TestLogTellsTrace(t *testing.T) {
	extent.Long(t)
	var mu sync.Mutex
	var logged strings.Builder
	c := unset()
	c.Data, c.Pool, c.Listen = guesttest.Data(t), 0, "127.0.0.1:0"
	a, err := app.Open(t.Context(), c, slog.New(slog.NewJSONHandler(lockedWriter{&mu, &logged}, nil)), build(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := a.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	url, _ := serve(t, a)
	s := connect(t, &mcp.StreamableClientTransport{Endpoint: url})
	result, err := s.CallTool(t.Context(), &mcp.CallToolParams{
		Meta: mcp.Meta{"traceparent": "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01", "tracestate": "vendor=x"},
		Name: "chat", Arguments: map[string]any{"message": "1+1"},
	})
	if err != nil || result.IsError {
		t.Fatalf("CallTool() = %v, %v", result, err)
	}
	mu.Lock()
	defer mu.Unlock()
	for line := range strings.Lines(logged.String()) {
		var event map[string]any
		if json.Unmarshal([]byte(line), &event) == nil && event["msg"] == "turn" {
			if event["trace_id"] != "0af7651916cd43dd8448eb211c80319c" || event["span_id"] != "00f067aa0ba902b7" || event["trace_state"] != "vendor=x" {
				t.Errorf("event of the turn: %v", event)
			}
			return
		}
	}
	t.Errorf("no event of a turn in:\n%s", logged.String())
}

// As long as nobody can tell callers apart, files are listed on loopback only.
func TestFilesAreNotListedToStrangers(t *testing.T) {
	extent.Long(t)
	for address, want := range map[string]int{"127.0.0.1:0": 1, "0.0.0.0:0": 0} {
		url, _ := serve(t, open(t, func(c *config.Config) {
			c.Listen, c.AdminListen, c.Auth, c.AllowHosts = address, "", config.AuthNone, []string{"0.0.0.0"}
		}))
		s := connect(t, &mcp.StreamableClientTransport{Endpoint: url})
		result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "chat", Arguments: map[string]any{"message": "print(1, file=open('mine.txt', 'w'))"}})
		if err != nil || result.IsError {
			t.Fatalf("%s: CallTool() = %v, %v", address, result, err)
		}
		files, err := s.ListResources(t.Context(), nil)
		if err != nil || len(files.Resources) != want {
			t.Errorf("%s: ListResources() = %v, %v; want %d", address, files, err, want)
		}
	}
}
