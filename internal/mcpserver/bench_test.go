package mcpserver_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/mcpserver"
)

// BenchmarkHTTPCall compares one call of the tool, with a chat that answers at
// once, with a tool of the bare SDK that returns its arguments.
func BenchmarkHTTPCall(b *testing.B) {
	for _, version := range []string{"2025-11-25", "2026-07-28"} {
		b.Run("bare/"+version, func(b *testing.B) { benchmarkCalls(b, bareHandler(version), version) })
		b.Run("ours/"+version, func(b *testing.B) {
			s := mcpserver.New(mcpserver.Options{Chat: &fakeChat{}})
			defer s.Close()
			benchmarkCalls(b, s.Handler(), version)
		})
	}
}

func bareHandler(version string) http.Handler {
	s := mcp.NewServer(&mcp.Implementation{Name: "bare", Version: "1"}, nil)
	s.AddTool(&mcp.Tool{Name: "chat", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, r *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(r.Params.Arguments)}}}, nil
		})
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s },
		&mcp.StreamableHTTPOptions{Stateless: version >= "2026-07-28"})
}

func benchmarkCalls(b *testing.B, h http.Handler, version string) {
	ts := httptest.NewServer(h)
	defer ts.Close()
	session := connect(b, ts.URL+"/mcp", version)
	defer session.Close()
	b.ReportAllocs()
	for b.Loop() {
		res, err := session.CallTool(b.Context(), &mcp.CallToolParams{Name: "chat", Arguments: map[string]any{"message": "1+1"}})
		if err != nil || res.IsError {
			b.Fatal(res, err)
		}
	}
}
