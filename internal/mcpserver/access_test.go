package mcpserver_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"runpython/internal/identity"
	"runpython/internal/mcpserver"
	"runpython/internal/oauth"
)

// people are bearers by their names: a token "ann" is Ann's.
type people struct {
	mu   sync.Mutex
	gone map[string]bool
}

// Bearer implements mcpserver.Bearers.
func (p *people) Bearer(_ context.Context, headers []string) (*identity.Principal, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(headers) == 0 {
		return nil, nil
	}
	name, ok := strings.CutPrefix(headers[0], "Bearer ")
	name = strings.TrimSuffix(name, " again") // another token of the same person
	switch {
	case name == "broken":
		return nil, errors.New("the database is at /var/lib")
	case !ok || p.gone[name]:
		return nil, identity.ErrToken
	}
	scopes := []string{"run"}
	if name == "narrow" {
		scopes = []string{"offline_access"}
	}
	return &identity.Principal{Subject: name, Scopes: scopes, Expires: time.Now().Add(time.Hour)}, nil
}

// guarded returns a server that asks for tokens, and what it is behind.
func guarded(t *testing.T, private bool) (http.Handler, *people, *fakeChat) {
	t.Helper()
	known, chats := &people{gone: map[string]bool{"expired": true}}, &fakeChat{}
	s := newServer(t, mcpserver.Options{Chat: chats, Access: &mcpserver.Access{
		Bearers: known, Metadata: "https://run.example/.well-known/oauth-protected-resource/mcp", Scope: oauth.ScopeRun, Has: oauth.Has, Private: private,
	}})
	return s.Handler(), known, chats
}

// sends sends a request to a handler, with a token unless that is "".
func (c *rawClient) sends(t *testing.T, h http.Handler, token, method, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := c.request(t.Context(), method, body)
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

const (
	listTools = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	challenge = `scope="run", resource_metadata="https://run.example/.well-known/oauth-protected-resource/mcp"`
)

func TestWhatNeedsAToken(t *testing.T) {
	h, _, chats := guarded(t, false)
	private, _, _ := guarded(t, true)
	for name, test := range map[string]struct {
		handler                http.Handler
		version, token, method string
		http, body             string
		status                 int
		challenge              string
	}{
		"list, modern":           {h, alone, "", "tools/list", "POST", body("tools/list", ""), 200, ""},
		"discover":               {h, alone, "", "server/discover", "POST", body("server/discover", ""), 200, ""},
		"initialize":             {h, legacy, "", "", "POST", initialize, 200, ""},
		"list with token":        {h, alone, "ann", "tools/list", "POST", body("tools/list", ""), 200, ""},
		"call":                   {h, alone, "", "", "POST", callBody(alone, "1+1"), 401, `Bearer realm="runpython", ` + challenge},
		"call of no tool":        {h, alone, "", "", "POST", body("tools/call", `"name":"nothing"`), 401, `Bearer realm="runpython", ` + challenge},
		"an unknown method":      {h, alone, "", "x/y", "POST", body("x/y", ""), 401, `Bearer realm="runpython", ` + challenge},
		"call with token":        {h, alone, "ann", "", "POST", callBody(alone, "1+1"), 200, ""},
		"OAU-22 an expired one":  {h, alone, "expired", "", "POST", callBody(alone, "1+1"), 401, `Bearer realm="runpython", error="invalid_token", `},
		"an expired one, public": {h, alone, "expired", "tools/list", "POST", body("tools/list", ""), 401, `Bearer realm="runpython", error="invalid_token", `},
		"OAU-20 a lack of scope": {h, alone, "narrow", "", "POST", callBody(alone, "1+1"), 403, `Bearer realm="runpython", error="insufficient_scope", `},
		"GET":                    {h, legacy, "", "", "GET", "", 401, `Bearer realm="runpython", ` + challenge},
		"DELETE":                 {h, legacy, "", "", "DELETE", "", 401, `Bearer realm="runpython", ` + challenge},
		"OPTIONS":                {h, alone, "", "", "OPTIONS", "", 204, ""},
		"our own failure":        {h, alone, "broken", "", "POST", callBody(alone, "1+1"), 503, ""},
		"private list":           {private, alone, "", "tools/list", "POST", body("tools/list", ""), 401, `Bearer realm="runpython", ` + challenge},
		"private initialize":     {private, legacy, "", "", "POST", initialize, 401, `Bearer realm="runpython", ` + challenge},
		"private, with token":    {private, legacy, "ann", "", "POST", initialize, 200, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := &rawClient{url: "http://localhost/mcp", version: test.version, method: test.method}
			w := c.sends(t, test.handler, test.token, test.http, test.body)
			got := w.Header().Get("WWW-Authenticate")
			if w.Code != test.status || !strings.HasPrefix(got, test.challenge) || test.challenge == "" && got != "" || got != "" && !strings.HasSuffix(got, challenge) {
				t.Errorf("%d, %q, %s; want %d, %q", w.Code, got, w.Body, test.status, test.challenge)
			}
			if strings.Contains(w.Body.String(), "/var/lib") {
				t.Errorf("the cause is shown: %s", w.Body)
			}
		})
	}
	for _, r := range chats.seen() {
		if r.Owner != "ann" {
			t.Errorf("a turn of owner %q", r.Owner)
		}
	}
	if n := len(chats.seen()); n != 1 {
		t.Errorf("%d turns, want 1", n)
	}
	t.Run("who may keep the list", func(t *testing.T) {
		for scope, handler := range map[string]http.Handler{"public": h, "private": private} {
			c := &rawClient{url: "http://localhost/mcp", version: alone, method: "tools/list"}
			if w := c.sends(t, handler, "ann", "POST", body("tools/list", "")); !strings.Contains(w.Body.String(), `"cacheScope":"`+scope+`"`) {
				t.Errorf("%s: %s", scope, w.Body)
			}
		}
	})
	t.Run("a token in the URL", func(t *testing.T) {
		c := &rawClient{url: "http://localhost/mcp?access_token=ann", version: alone}
		if w := c.sends(t, h, "", "POST", callBody(alone, "1+1")); w.Code != http.StatusUnauthorized {
			t.Errorf("status %d", w.Code)
		}
	})
	t.Run("a batch with something that needs one", func(t *testing.T) {
		c := &rawClient{url: "http://localhost/mcp", version: "2025-03-26"}
		if w := c.sends(t, h, "", "POST", "["+listTools+","+callBody(legacy, "1+1")+"]"); w.Code != http.StatusUnauthorized {
			t.Errorf("status %d", w.Code)
		}
	})
}

// A session is its subject's: somebody else finds none, as with an id that was made up.
func TestSessionsBelongToSubjects(t *testing.T) {
	h, known, chats := guarded(t, false)
	begin := func(token string) *rawClient {
		c := &rawClient{url: "http://localhost/mcp", version: legacy}
		w := c.sends(t, h, token, "POST", initialize)
		if c.session = w.Header().Get("Mcp-Session-Id"); c.session == "" {
			t.Fatalf("initialize = %d %s", w.Code, w.Body)
		}
		return c
	}
	made := &rawClient{url: "http://localhost/mcp", version: legacy, session: "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
	for name, c := range map[string]*rawClient{"begun with a token": begin("ann"), "begun without": begin("")} {
		if w := c.sends(t, h, "ann", "POST", callBody(legacy, "1+1")); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), chatID) {
			t.Errorf("%s: Ann's call = %d %s", name, w.Code, w.Body)
		}
		if w := c.sends(t, h, "ann again", "POST", callBody(legacy, "1+1")); w.Code != http.StatusOK {
			t.Errorf("%s: MCP-28 with another token of Ann's = %d %s", name, w.Code, w.Body)
		}
		for method, message := range map[string]string{"POST": callBody(legacy, "1+1"), "GET": "", "DELETE": ""} {
			got, unknown := c.sends(t, h, "bob", method, message), made.sends(t, h, "bob", method, message)
			if got.Code != http.StatusNotFound || got.Body.String() != unknown.Body.String() || got.Code != unknown.Code {
				t.Errorf("%s: MCP-27 Bob's %s = %d %s; want %d %s", name, method, got.Code, got.Body, unknown.Code, unknown.Body)
			}
		}
		for method, message := range map[string]string{"POST": listTools, "GET": "", "DELETE": ""} {
			if w := c.sends(t, h, "", method, message); w.Code != http.StatusNotFound {
				t.Errorf("%s: %s without a token = %d", name, method, w.Code)
			}
		}
		known.mu.Lock()
		known.gone["ann"] = true
		known.mu.Unlock()
		if w := c.sends(t, h, "ann", "POST", callBody(legacy, "1+1")); w.Code != http.StatusUnauthorized {
			t.Errorf("%s: OAU-22 with a token that has expired meanwhile = %d", name, w.Code)
		}
		known.mu.Lock()
		delete(known.gone, "ann")
		known.mu.Unlock()
	}
	for _, r := range chats.seen() {
		if r.Owner != "ann" {
			t.Errorf("a turn of owner %q", r.Owner)
		}
	}
}

// Whoever only looks is not sent to sign in: clients open the stream of their session at once, and end it when they go.
func TestNobodysSession(t *testing.T) {
	for name, private := range map[string]bool{"public": false, "private": true} {
		t.Run(name, func(t *testing.T) {
			h, _, _ := guarded(t, private)
			c := &rawClient{url: "http://localhost/mcp", version: legacy}
			token := ""
			if private {
				token = "ann"
			}
			c.session = c.sends(t, h, token, "POST", initialize).Header().Get("Mcp-Session-Id")
			made := &rawClient{url: "http://localhost/mcp", version: legacy, session: "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
			for _, step := range []struct {
				who         string
				client      *rawClient
				method      string
				code, guard int // without and with private discovery
			}{
				{"nobody's", c, "GET", http.StatusMethodNotAllowed, http.StatusUnauthorized},
				{"an unknown one's", made, "GET", http.StatusNotFound, http.StatusUnauthorized},
				{"an unknown one's", made, "DELETE", http.StatusNotFound, http.StatusUnauthorized},
				{"nobody's", c, "DELETE", http.StatusNoContent, http.StatusUnauthorized},
				{"nobody's that has ended", c, "GET", http.StatusNotFound, http.StatusUnauthorized},
			} {
				want := step.code
				if private {
					want = step.guard
				}
				if w := step.client.sends(t, h, "", step.method, ""); w.Code != want {
					t.Errorf("%s of %s session = %d %s, want %d", step.method, step.who, w.Code, w.Body, want)
				}
			}
		})
	}
}

// Whoever begins sessions without a token, and as many as there may be, keeps out nobody who has one, nor ends theirs.
func TestNobodysSessionsMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, mcpserver.Options{Chat: &fakeChat{}, MaxSessions: 3, Access: &mcpserver.Access{
			Bearers: &people{}, Metadata: "https://run.example/.well-known/oauth-protected-resource/mcp", Scope: oauth.ScopeRun, Has: oauth.Has,
		}})
		begin := func(token string) (*rawClient, int) {
			c := &rawClient{url: "http://localhost/mcp", version: legacy}
			w := c.sends(t, s.Handler(), token, "POST", initialize)
			c.session = w.Header().Get("Mcp-Session-Id")
			return c, w.Code
		}
		ann, _ := begin("ann")
		pause(2 * time.Minute) // the longest idle one of all
		for i := range 9 {
			if _, code := begin(""); i > 1 && code != http.StatusServiceUnavailable {
				t.Errorf("session %d without a token, at once = %d", i, code)
			}
		}
		pause(2 * time.Second)
		bob, code := begin("bob")
		if code != http.StatusOK {
			t.Errorf("Bob's session = %d", code)
		}
		for name, c := range map[string]*rawClient{"ann": ann, "bob": bob} {
			if w := c.sends(t, s.Handler(), name, "POST", listTools); w.Code != http.StatusOK {
				t.Errorf("%s's session has ended: %d", name, w.Code)
			}
		}
	})
}

// as sends all requests with a token.
func as(token string, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+token)
		h.ServeHTTP(w, r)
	})
}

// The state of a question is its subject's: with it somebody else cannot answer, and hears what is told of one that was made up.
func TestStatesBelongToSubjects(t *testing.T) {
	chats := asking()
	h := newServer(t, mcpserver.Options{Chat: chats, Access: &mcpserver.Access{Bearers: &people{}, Scope: oauth.ScopeRun, Has: oauth.Has}}).Handler()
	ann, bob := as("ann", h), as("bob", h)
	const message, typed = "first?", `{"input":{"action":"accept","content":{"answer":"Ada"}}}`
	state := stateOf(t, round(t, ann, "{}", fmt.Sprintf(`"arguments":{"message":%q}`, message)), "first?")
	stolen := string(round(t, bob, "{}", answering(message, state, typed)))
	if made := string(round(t, bob, "{}", answering(message, "AAAAAAAAAAAAAAAAAAAAAAAAAA", typed))); stolen != made || !strings.Contains(made, "is closed") {
		t.Errorf("with Ann's state Bob gets %s; with one that was made up %s", stolen, made)
	}
	if got := string(round(t, ann, "{}", answering(message, state, typed))); !strings.Contains(got, `typed \"Ada\"`) {
		t.Errorf("Ann's own answer: %s", got)
	}
}
