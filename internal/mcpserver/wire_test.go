package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// legacy and alone are the newest revision of each era: with sessions, and with
// requests that stand alone.
const (
	legacy = "2025-11-25"
	alone  = "2026-07-28"
)

var eras = []string{legacy, alone}

// aloneMeta is what a request of the newer era carries in _meta.
const aloneMeta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`

// body returns a message of the newer era. params are the members of an object.
func body(method, params string) string {
	if params != "" {
		params = "," + params
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"_meta":{%s}%s}}`, method, aloneMeta, params)
}

// callBody returns a call of the tool that asks for progress.
func callBody(version, message string) string {
	meta := `"progressToken":"p"`
	if version == alone {
		meta += "," + aloneMeta
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{%s},"name":"chat","arguments":{"message":%q}}}`, meta, message)
}

// A rawClient builds requests in the way of one era.
type rawClient struct {
	url     string
	version string
	session string
	method  string // of the protocol, "tools/call" if empty
}

func (c *rawClient) request(ctx context.Context, method, body string) *http.Request {
	r, err := http.NewRequestWithContext(ctx, method, c.url, strings.NewReader(body))
	if err != nil {
		panic(err) // the arguments are constants of a test
	}
	protocolMethod, name := c.method, ""
	if protocolMethod == "" {
		protocolMethod, name = "tools/call", "chat"
	}
	for header, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Session-Id": c.session, "Mcp-Protocol-Version": c.version, "Mcp-Method": protocolMethod, "Mcp-Name": name,
	} {
		if value != "" {
			r.Header.Set(header, value)
		}
	}
	return r
}

// do sends a request over the network.
func (c *rawClient) do(tb testing.TB, method, body string) *http.Response {
	tb.Helper()
	res, err := new(http.Client).Do(c.request(tb.Context(), method, body))
	if err != nil {
		tb.Fatal(err)
	}
	return res
}

// dial returns a client for url, with a session if its era has them.
func dial(tb testing.TB, url, version string) *rawClient {
	tb.Helper()
	c := &rawClient{url: url, version: version}
	if version == legacy {
		res := c.do(tb, http.MethodPost, initialize)
		drain(res)
		c.session = res.Header.Get("Mcp-Session-Id")
	}
	return c
}

func drain(res *http.Response) {
	_, _ = io.Copy(io.Discard, res.Body) // how a connection breaks is not the point
	res.Body.Close()
}

// attach returns a client for a handler, as dial does for a URL.
func attach(h http.Handler, version string) *rawClient {
	c := &rawClient{url: "http://localhost/mcp", version: version}
	if version == legacy {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, c.request(context.Background(), http.MethodPost, initialize))
		c.session = w.Header().Get("Mcp-Session-Id")
	}
	return c
}

// ask sends a message to a handler in the way of an era.
func ask(h http.Handler, w http.ResponseWriter, version, accept, message string) {
	r := attach(h, version).request(context.Background(), http.MethodPost, message)
	r.Header.Set("Accept", accept)
	h.ServeHTTP(w, r)
}

// post sends one message of the newer era to h and returns the JSON answer.
func post(tb testing.TB, h http.Handler, method, params string) []byte {
	tb.Helper()
	c := &rawClient{url: "http://localhost/mcp", version: alone, method: method}
	r := c.request(tb.Context(), http.MethodPost, body(method, params))
	r.Header.Set("Accept", "application/json")
	if method == "tools/call" {
		r.Header.Set("Mcp-Name", "chat")
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Body.Bytes()
}

// checkAnswer checks what every answer in JSON must be, whatever was asked.
func checkAnswer(t *testing.T, answer []byte) {
	t.Helper()
	var m any
	if err := json.Unmarshal(answer, &m); err != nil {
		t.Fatalf("the answer is not JSON: %v: %.500q", err, answer)
	}
	if len(answer) >= largest {
		t.Errorf("the answer has %d bytes", len(answer))
	}
	for _, leak := range []string{"*mcp.", "Go struct", "goroutine", "unmarshal", "encoding/json", "internal/"} {
		if bytes.Contains(answer, []byte(leak)) {
			t.Errorf("the answer shows how this program is made: %.500q", answer)
		}
	}
}
