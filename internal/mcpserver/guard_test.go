package mcpserver_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/mcpserver"
)

// TestHeadersOfEveryAnswer: whatever the answer is, no proxy may hold it back or keep it,
// and no browser may guess what it is.
func TestHeadersOfEveryAnswer(t *testing.T) {
	synctest.Test(t, testHeadersOfEveryAnswer)
}

func testHeadersOfEveryAnswer(t *testing.T) {
	handler := newServer(t, mcpserver.Options{Chat: &fakeChat{}}).Handler()
	tests := []struct {
		name, method, body string
		header             map[string]string
		status             int
		cache              string
	}{
		{"a result", http.MethodPost, initialize, nil, http.StatusOK, "no-store"},
		{"events", http.MethodPost, initialize, map[string]string{"Accept": "text/event-stream"}, http.StatusOK, "no-store, no-transform"},
		{"no JSON", http.MethodPost, "{", nil, http.StatusBadRequest, "no-store"},
		{"another type", http.MethodPost, "{}", map[string]string{"Content-Type": "text/plain"}, http.StatusUnsupportedMediaType, "no-store"},
		{"too large", http.MethodPost, strings.Repeat(" ", 4<<20+1), nil, http.StatusRequestEntityTooLarge, "no-store"},
		{"no session", http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, map[string]string{"Mcp-Session-Id": "gone"}, http.StatusNotFound, "no-store"},
		{"another page", http.MethodPost, initialize, map[string]string{"Origin": "https://evil.example"}, http.StatusForbidden, "no-store"},
		{"another host", http.MethodPost, initialize, map[string]string{"Host": "evil.example"}, http.StatusForbidden, "no-store"},
		{"no stream", http.MethodGet, "", nil, http.StatusMethodNotAllowed, "no-store"},
		{"HEAD", http.MethodHead, "", nil, http.StatusMethodNotAllowed, "no-store"},
		{"OPTIONS", http.MethodOptions, "", nil, http.StatusNoContent, "no-store"},
	}
	for _, test := range tests {
		r := httptest.NewRequestWithContext(t.Context(), test.method, "/mcp", strings.NewReader(test.body))
		r.Host = "localhost:8000"
		r.Header.Set("Content-Type", "application/json")
		for name, value := range test.header {
			if name == "Host" {
				r.Host = value
			}
			r.Header.Set(name, value)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != test.status {
			t.Errorf("%s: status %d, want %d", test.name, w.Code, test.status)
		}
		got := map[string][]string{}
		for _, name := range []string{"Cache-Control", "X-Accel-Buffering", "X-Content-Type-Options"} {
			got[name] = w.Header().Values(name)
		}
		want := map[string][]string{
			"Cache-Control": {test.cache}, "X-Accel-Buffering": {"no"}, "X-Content-Type-Options": {"nosniff"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: headers (-want +got):\n%s", test.name, diff)
		}
	}
}

// TestHeadersMoreThanOnce: of two values one is read by a proxy and the other here.
func TestHeadersMoreThanOnce(t *testing.T) {
	handler := newServer(t, mcpserver.Options{Chat: &fakeChat{}}).Handler()
	for _, name := range []string{"Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name", "Origin"} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/mcp", strings.NewReader(callBody(alone, "1+1")))
		r.Host = "localhost:8000"
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Mcp-Protocol-Version", alone)
		r.Header.Set("Mcp-Method", "tools/call")
		r.Header.Set("Mcp-Name", "chat")
		r.Header.Set("Origin", "http://localhost:8000")
		r.Header.Add(name, r.Header.Get(name))
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		want := http.StatusBadRequest
		if name == "Origin" {
			want = http.StatusForbidden
		}
		if w.Code != want {
			t.Errorf("%s twice: status %d, body %s, want %d", name, w.Code, w.Body, want)
		}
	}
}

// TestHostOfTheConnection: the address at which a request came in needs no allowance, and
// nothing but an address has that.
func TestHostOfTheConnection(t *testing.T) {
	handler := newServer(t, mcpserver.Options{Chat: &fakeChat{}}).Handler()
	for _, test := range []struct {
		local, host string
		status      int
	}{
		{"10.0.0.7:8000", "10.0.0.7:8000", http.StatusNoContent},
		{"10.0.0.7:8000", "10.0.0.7", http.StatusNoContent},
		{"[::ffff:10.0.0.7]:8000", "10.0.0.7:80", http.StatusNoContent},
		{"[2001:db8::1]:8000", "[2001:db8::1]:8000", http.StatusNoContent},
		{"[2001:db8::1]:8000", "[2001:0db8:0:0::1]", http.StatusNoContent},
		{"[fe80::1%eth0]:8000", "[fe80::1]:8000", http.StatusNoContent},
		{"10.0.0.7:8000", "10.0.0.8:8000", http.StatusForbidden},
		{"10.0.0.7:8000", "10.0.0.7.evil.example", http.StatusForbidden},
		{"10.0.0.7:8000", "167772167", http.StatusForbidden},
		{"10.0.0.7:8000", "evil.example", http.StatusForbidden},
	} {
		local := net.TCPAddrFromAddrPort(netip.MustParseAddrPort(test.local))
		ctx := context.WithValue(t.Context(), http.LocalAddrContextKey, local)
		r := httptest.NewRequestWithContext(ctx, http.MethodOptions, "/mcp", http.NoBody)
		r.Host = test.host
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != test.status {
			t.Errorf("Host %s at %s: status %d, want %d", test.host, test.local, w.Code, test.status)
		}
	}
}

// TestVersionInBodyOnly: a message that says in its body that it stands alone needs the
// header that says so, however its members are spelled; other members say nothing.
func TestVersionInBodyOnly(t *testing.T) {
	h := newServer(t, mcpserver.Options{Chat: &fakeChat{}}).Handler()
	const says, saysNot = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}`, `"_meta":{}`
	for members, mismatch := range map[string]bool{
		`"params":{` + says + `}`: true,
		`"p\u0061rams":{"_m\u0065ta":{"io.modelcontextprotocol\u002fprotocolVersion":"2026-07-28"}}`: true,
		`"params":{` + says + `},"Params":{` + saysNot + `}`:                                         true,
		`"params":{` + says + `,"_META":{}}`:                                                         true,
		`"params":{` + saysNot + `},"PARAMS":{` + says + `}`:                                         false,
		`"params":{"_Meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`:                false,
		`"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":7}}`:                           false,
		`"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25"}}`:                false,
	} {
		w := httptest.NewRecorder()
		ask(h, w, legacy, "application/json", `{"jsonrpc":"2.0","id":1,"method":"tools/list",`+members+`}`)
		if got := w.Body.String(); strings.Contains(got, `"code":-32020`) != mismatch {
			t.Errorf("%s got %s; want a mismatch: %v", members, got, mismatch)
		}
	}
}

// TestOriginOfAllowedHost: pages of an allowed host may call, whatever a proxy makes of Host; a
// page on the reader's own machine is no page of a public server.
func TestOriginOfAllowedHost(t *testing.T) {
	handler := newServer(t, mcpserver.Options{Chat: &fakeChat{}, AllowedHosts: []string{"Py.Example.org", "10.0.0.9"}}).Handler()
	for _, test := range []struct {
		host, origin string
		status       int
	}{
		{"127.0.0.1:8000", "https://py.example.org", http.StatusNoContent},
		{"127.0.0.1:8000", "https://PY.example.org:443", http.StatusNoContent},
		{"py.example.org.", "https://py.example.org", http.StatusNoContent},
		{"PY.EXAMPLE.ORG:8443", "https://py.example.org:8443", http.StatusNoContent},
		{"py.example.org.:8443", "http://py.example.org:8443", http.StatusNoContent},
		{"localhost:8000", "http://localhost:3000", http.StatusNoContent},
		{"127.0.0.1:8000", "http://localhost.:3000", http.StatusNoContent},
		{"127.0.0.1:8000", "http://py.example.org", http.StatusForbidden},
		{"127.0.0.1:8000", "https://py.example.org:8443", http.StatusForbidden},
		{"py.example.org", "https://py.example.org.evil.example", http.StatusForbidden},
		{"py.example.org", "http://localhost:3000", http.StatusForbidden},
		{"10.0.0.9:8000", "http://127.0.0.1:8000", http.StatusForbidden},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodOptions, "/mcp", http.NoBody)
		r.Host = test.host
		r.Header.Set("Origin", test.origin)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if w.Code != test.status {
			t.Errorf("Origin %s at Host %s: status %d, want %d", test.origin, test.host, w.Code, test.status)
		}
	}
}

// TestPagesByHost: pages beside the endpoint are served under its Hosts only, to every Origin.
func TestPagesByHost(t *testing.T) {
	s := newServer(t, mcpserver.Options{Chat: &fakeChat{}, AllowedHosts: []string{"py.example.org"}})
	page := func(text string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) })
	}
	pages := s.Pages(page("local"), page("public"))
	for host, want := range map[string]string{
		"localhost:8000": "local", "[::1]:8000": "local", "py.example.org": "public", "evil.example": "not served here", "": "not served here",
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/mcp/server-card", http.NoBody)
		r.Host = host
		r.Header.Set("Origin", "https://anywhere.example")
		w := httptest.NewRecorder()
		pages.ServeHTTP(w, r)
		if refused := w.Code == http.StatusForbidden; !strings.Contains(w.Body.String(), want) || refused != (want == "not served here") {
			t.Errorf("Host %q: %d %s; want %q", host, w.Code, w.Body, want)
		}
	}
}
