package app_test

import (
	"fmt"
	"net/http"
	"net/http/httputil"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/extent"
	"runpython/internal/identity"
)

// The revisions with and without sessions.
const (
	inSessions = "2025-11-25"
	alone      = "2026-07-28"
)

// An asker is somebody with a token, in one era of the protocol.
type asker struct {
	server            *signedServer
	token, revision   string
	session, meantime string // of the older era; the last answer's Mcp-Session-Id
}

// asks sends a message and returns the whole answer: status, headers and body. Only the date is left out.
func (c *asker) asks(method, params string) string {
	t := c.server.t
	t.Helper()
	if c.revision == alone {
		params = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}},` + params
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, c.server.url,
		strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s}}`, method, params)))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Authorization", "Bearer "+c.token)
	if c.session != "" || c.revision == alone {
		r.Header.Set("Mcp-Protocol-Version", c.revision)
	}
	if c.session != "" {
		r.Header.Set("Mcp-Session-Id", c.session)
	}
	if c.revision == alone {
		r.Header.Set("Mcp-Method", method)
		if name := nameIn(params); name != "" {
			r.Header.Set("Mcp-Name", name)
		}
	}
	res, err := new(http.Client).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	res.Header.Del("Date")
	c.meantime = res.Header.Get("Mcp-Session-Id")
	answer, err := httputil.DumpResponse(res, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := res.Body.Close(); err != nil {
		t.Error(err)
	}
	return string(answer)
}

// begin begins a session in the older era.
func (c *asker) begin() *asker {
	if c.revision == inSessions {
		c.asks("initialize", `"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}`)
		if c.session = c.meantime; c.session == "" {
			c.server.t.Fatal("there is no session")
		}
	}
	return c
}

// succeeded reports whether an answer is neither an error of the protocol nor one of the tool.
func succeeded(answer string) bool {
	return strings.HasPrefix(answer, "HTTP/1.1 200 ") && !strings.Contains(answer, `"error"`) && !strings.Contains(answer, `"isError":true`)
}

// Another subject's chat, file, result and task look exactly like unknown ones, byte by byte, in both eras. A chat has no other
// way out for its owner: exports are the operator's.
func TestOthersThingsLookUnknown(t *testing.T) {
	extent.Slow(t)
	s := serveSigned(t, nil, "ann", "bob")
	tokens := map[string]string{}
	for _, name := range []string{"ann", "bob"} {
		token, err := s.accounts.CreateToken(t.Context(), identity.NewToken{Name: "t", User: name, Scopes: "run", Expires: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		tokens[name] = token
	}
	for _, revision := range []string{alone, inSessions} {
		t.Run(revision, func(t *testing.T) {
			ann := (&asker{server: s, token: tokens["ann"], revision: revision}).begin()
			bob := (&asker{server: s, token: tokens["bob"], revision: revision}).begin()
			made := ann.asks("tools/call", `"name":"chat","arguments":{"message":"print('secret' * 20000); open('mine.txt', 'w').write('secret')"}`)
			chat := regexp.MustCompile(`chat_id: ([a-z2-7]{26})`).FindStringSubmatch(made)
			result := regexp.MustCompile(`runpython://chats/[a-z2-7]{26}/results/[^"\\ )]+`).FindString(made)
			if chat == nil || result == "" {
				t.Fatalf("call = %s", made)
			}
			const unknown = "aaaaaaaaaaaaaaaaaaaaaaaaaa"
			file := "runpython://chats/" + chat[1] + "/files/"
			for what, ask := range map[string][2]string{
				"a chat":           {"tools/call", `"name":"chat","arguments":{"message":"1+1","chat_id":"` + chat[1] + `"}`},
				"a file":           {"resources/read", `"uri":"` + file + `mine.txt"`},
				"a part of a file": {"resources/read", `"uri":"` + file + `mine.txt?offset=0&length=3"`},
				"a result":         {"resources/read", `"uri":"` + result + `"`},
			} {
				if own := ann.asks(ask[0], ask[1]); !succeeded(own) {
					t.Errorf("%s: its owner gets %s", what, own)
				}
				theirs, none := bob.asks(ask[0], ask[1]), bob.asks(ask[0], strings.ReplaceAll(ask[1], chat[1], unknown))
				if diff := cmp.Diff(none, strings.ReplaceAll(theirs, chat[1], unknown)); diff != "" || succeeded(theirs) || strings.Contains(theirs, "secret") {
					t.Errorf("%s: somebody else gets %s\n(-unknown +somebody else's):\n%s", what, theirs, diff)
				}
			}
			// What is not there looks the same in somebody else's chat.
			missing := bob.asks("resources/read", `"uri":"`+file+`none.txt"`)
			if diff := cmp.Diff(bob.asks("resources/read", `"uri":"`+file+`mine.txt"`), strings.ReplaceAll(missing, "none.txt", "mine.txt")); diff != "" {
				t.Errorf("a file that is there, and one that is not, of somebody else (-there +not):\n%s", diff)
			}
			for who, want := range map[*asker]bool{ann: true, bob: false} {
				if list := who.asks("resources/list", `"cursor":""`); !succeeded(list) || strings.Contains(list, "mine.txt") != want {
					t.Errorf("a list of files, with mine.txt %v: %s", want, list)
				}
			}
		})
	}
	t.Run("a task", func(t *testing.T) {
		ann, bob := &asker{server: s, token: tokens["ann"], revision: alone}, &asker{server: s, token: tokens["bob"], revision: alone}
		begun := s.begunTask(tokens["ann"])
		id := regexp.MustCompile(`"taskId":"([^"]+)"`).FindStringSubmatch(begun)
		if id == nil {
			t.Fatalf("call as a task = %s", begun)
		}
		unknown := strings.Repeat("a", len(id[1]))
		for _, method := range []string{"tasks/get", "tasks/update", "tasks/cancel"} {
			ask := `"inputResponses":{},"taskId":"` + id[1] + `"`
			theirs, none := bob.asks(method, ask), bob.asks(method, strings.ReplaceAll(ask, id[1], unknown))
			if diff := cmp.Diff(none, strings.ReplaceAll(theirs, id[1], unknown)); diff != "" || succeeded(theirs) {
				t.Errorf("%s: somebody else gets %s\n(-unknown +somebody else's):\n%s", method, theirs, diff)
			}
		}
		if own := ann.asks("tasks/get", `"taskId":"`+id[1]+`"`); !succeeded(own) || !strings.Contains(own, id[1]) {
			t.Errorf("its owner's task: %s", own)
		}
	})
	if err := s.accounts.RevokeToken(t.Context(), "t", "ann"); err != nil {
		t.Fatal(err)
	}
	if status, _, _ := s.post(tokens["ann"], "tools/call", callParams); status != http.StatusUnauthorized {
		t.Errorf("a token that was revoked: %d", status)
	}
}

// begunTask makes a call that is a task at once, and returns the answer.
func (s *signedServer) begunTask(token string) string {
	s.t.Helper()
	_, _, body := s.post(token, "tools/call", `"_meta":{"runpython/taskAfterMs":0,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}},"name":"chat","arguments":{"message":"1+1"}`)
	return body
}
