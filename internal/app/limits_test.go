package app_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/app"
	"runpython/internal/caller"
	"runpython/internal/config"
	"runpython/internal/extent"
	"runpython/internal/fault"
	"runpython/internal/guesttest"
	"runpython/internal/identity"
	"runpython/internal/oauth"
)

func from(ctx context.Context, address string) context.Context {
	return caller.NewContext(ctx, caller.Origin{Address: netip.MustParseAddr(address)})
}

// An address that sends too many requests is refused with 429 and told when to come again; others, and loopback, are not.
func TestRequestsOfAnAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := unset()
		c.AddressRequests = 3
		served := 0
		h := app.LimitRequests(c, http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served++ }))
		send := func(address string) *httptest.ResponseRecorder {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, httptest.NewRequestWithContext(from(t.Context(), address), http.MethodGet, "/mcp", http.NoBody))
			return w
		}
		for range 3 {
			if w := send("192.0.2.1"); w.Code != http.StatusOK {
				t.Errorf("within the limit: %d", w.Code)
			}
		}
		w := send("192.0.2.1")
		if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") != "20" || !strings.Contains(w.Body.String(), "at most 3 in a minute; try again in 20 s") {
			t.Errorf("beyond the limit: %d %v %q", w.Code, w.Header(), w.Body)
		}
		<-time.After(20 * time.Second)
		if w := send("192.0.2.1"); w.Code != http.StatusOK {
			t.Errorf("after the wait: %d", w.Code)
		}
		for range 3 {
			send("2001:db8:1:2::1")
		}
		if w := send("2001:db8:1:2:ffff::1"); w.Code != http.StatusTooManyRequests {
			t.Errorf("another address of the same network: %d", w.Code)
		}
		served = 0
		for range 10 {
			send("127.0.0.1")
			send("::1")
		}
		for i := range 10_000 {
			send(netip.AddrFrom4([4]byte{198, 18, byte(i >> 8), byte(i)}).String())
		}
		if served != 10_020 {
			t.Errorf("%d of 10,020 requests from loopback and from 10,000 addresses were served", served)
		}
	})
}

// Whoever makes the headers of a trusted proxy contradict each other does not pass for the proxy, which is on loopback and has no limits.
func TestRequestsWithContradictingHeaders(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := unset()
		c.AddressRequests = 3
		trust := caller.NewTrust([]netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")})
		h := trust.Handler(app.LimitRequests(c, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})))
		codes := make(map[int]int)
		for range 10 {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/mcp", http.NoBody)
			r.RemoteAddr = "127.0.0.1:4711"
			r.Header.Set("X-Forwarded-For", "192.0.2.1")
			r.Header.Set("Forwarded", "for=198.51.100.7") // the caller's, which the proxy has passed on
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			codes[w.Code]++
		}
		if diff := cmp.Diff(map[int]int{http.StatusOK: 3, http.StatusTooManyRequests: 7}, codes); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// Calls of an account are bounded in a minute and at once, in words with numbers; without accounts those of an address are.
func TestCallsOfACaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := unset()
		c.UserCalls, c.UserRuns = 4, 2
		begin := app.LimitCalls(c)
		refused := func(ctx context.Context, owner, want string) {
			t.Helper()
			_, err := begin(ctx, owner)
			if kind, shown := fault.Shown(err); err == nil || kind != fault.Busy || !strings.Contains(shown, want) {
				t.Errorf("%q: %v, want it refused: %s", owner, err, want)
			}
		}
		allowed := func(ctx context.Context, owner string) (leave func()) {
			t.Helper()
			leave, err := begin(ctx, owner)
			if err != nil {
				t.Fatalf("%q: %v", owner, err)
			}
			return leave
		}
		first, second := allowed(t.Context(), "ada"), allowed(from(t.Context(), "192.0.2.1"), "ada")
		refused(t.Context(), "ada", "2 of your calls are running")
		first()
		allowed(t.Context(), "ada")() // what was refused has cost nothing
		second()
		allowed(t.Context(), "ada")()
		refused(t.Context(), "ada", "more calls than the 4 allowed in a minute; wait 15 s")
		allowed(t.Context(), "bob")()
		<-time.After(15 * time.Second)
		allowed(t.Context(), "ada")()
		for range 4 {
			allowed(from(t.Context(), "192.0.2.1"), "")()
			allowed(t.Context(), "")() // this machine's own
			allowed(from(t.Context(), "127.0.0.1"), "")()
		}
		refused(from(t.Context(), "192.0.2.1"), "", "wait 15 s")
		allowed(t.Context(), "")()
		allowed(from(t.Context(), "127.0.0.1"), "")()
	})
}

func TestEventsOfAnAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := unset()
		c.AddressSignIns, c.AddressRegistrations = 2, 1
		allow := app.LimitEvents(c)
		for _, tt := range []struct {
			event, address string
			wait           time.Duration
		}{
			{identity.EventSignedIn, "192.0.2.1", 0}, {identity.EventSignedIn, "192.0.2.1", 0}, {identity.EventSignedIn, "192.0.2.1", 30 * time.Second}, {identity.EventSignedIn, "192.0.2.2", 0},
			{oauth.EventRegistered, "192.0.2.1", 0}, {oauth.EventRegistered, "192.0.2.1", time.Hour},
			{"something else", "192.0.2.1", 0}, {oauth.EventRegistered, "", 0}, {oauth.EventRegistered, "::1", 0}, {oauth.EventRegistered, "::1", 0},
		} {
			if wait, ok := allow(tt.event, tt.address); wait != tt.wait || ok != (tt.wait == 0) {
				t.Errorf("%s from %s: wait %v, %v; want %v", tt.event, tt.address, wait, ok, tt.wait)
			}
		}
	})
}

// What those who decide who may call have done is in the audit log.
func TestRecordedEvents(t *testing.T) {
	data := t.TempDir()
	app.RecordEvent(t, data, oauth.EventReplayed, "ada", "192.0.2.1", "client-1")
	lines, text := auditLines(t, data)
	if len(lines) != 1 || lines[0] != (audited{Kind: "grant_replayed", Subject: "ada", Address: "192.0.2.1"}) || !strings.Contains(text, `"object":"client-1"`) {
		t.Errorf("the audit log has %s", text)
	}
}

// Who calls too often is told by status 429, and so is who sends too much even for that.
func TestLimitsOverHTTP(t *testing.T) {
	extent.Slow(t)
	a := openAt(t, guesttest.Data(t), func(c *config.Config, _ *app.Build) {
		c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		c.UserCalls, c.AddressRequests = 2, 12
	})
	url, admin := serve(t, a)
	client := &http.Client{Transport: forwarding{"198.51.100.7"}}
	s := connect(t, &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: client, DisableStandaloneSSE: true})
	_, _, id := call(t, s, "", "x = 1")
	call(t, s, id, "x")
	_, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "chat", Arguments: map[string]any{"chat_id": id, "message": "x"}})
	if err == nil || !strings.Contains(err.Error(), "Too Many Requests") {
		t.Errorf("the third call: %v", err)
	}
	if _, err := s.ListTools(t.Context(), nil); err != nil {
		t.Errorf("what is no call, after it: %v", err)
	}
	for i := range 20 {
		response, err := client.Get(url)
		if err != nil {
			t.Fatal(err)
		}
		_ = response.Body.Close()
		if response.StatusCode == http.StatusTooManyRequests {
			if response.Header.Get("Retry-After") == "" {
				t.Error("429 does not say when to come again")
			}
			break
		}
		if i == 19 {
			t.Error("an address is never refused")
		}
	}
	if _, text, _ := get(t, admin+"/metrics"); !strings.Contains(text, `runpython_refused_total{limit="calls"} 1`+"\n") || !strings.Contains(text, `runpython_refused_total{limit="address_requests"} 1`+"\n") {
		t.Error("the metrics do not tell of what was refused")
	}
}
