package mcpserver_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"runpython/internal/caller"
	"runpython/internal/chat"
	"runpython/internal/mcpserver"
)

// A turn knows the address of the call that it belongs to, in both eras, and nobody can choose another.
func TestTurnKnowsItsCaller(t *testing.T) {
	var seen string
	s := mcpserver.New(mcpserver.Options{Chat: &fakeChat{turn: func(ctx context.Context, r chat.Request) (*chat.Reply, error) {
		seen = caller.FromContext(ctx).String()
		return &chat.Reply{ChatID: chatID, Text: "done", State: chat.New}, nil
	}}})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	handler := caller.NewTrust(nil).Handler(s.Handler())
	send := func(from string, header map[string]string, body string) http.Header {
		t.Helper()
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(body))
		r.RemoteAddr = from
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Runpython-Caller", "6.6.6.6")
		for name, value := range header {
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code >= http.StatusBadRequest {
			t.Fatalf("%s: %d %s", body, w.Code, w.Body)
		}
		return w.Header()
	}
	const call = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"chat","arguments":{"message":"1"}%s}}`
	session := send("192.0.2.1:1", nil, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`).Get("Mcp-Session-Id")
	for _, from := range []string{"192.0.2.2", "192.0.2.3"} { // not those that began the session
		seen = ""
		send(from+":1", map[string]string{"Mcp-Session-Id": session}, strings.Replace(call, "%s", "", 1))
		if seen != from {
			t.Errorf("in a session: the turn comes from %q, want %s", seen, from)
		}
	}
	modern := strings.Replace(call, "%s", `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`, 1)
	seen = ""
	send("[2001:db8::1]:1", map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "chat"}, modern)
	if seen != "2001:db8::1" {
		t.Errorf("without a session: the turn comes from %q", seen)
	}
}
