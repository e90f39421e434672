package mcpserver_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"runpython/internal/chat"
	"runpython/internal/extent"
	"runpython/internal/fault"
	"runpython/internal/mcpserver"
)

// An endless body counts what is read of it.
type endlessBody struct {
	head string
	read int64
}

func (b *endlessBody) Read(p []byte) (int, error) {
	n := copy(p, b.head)
	b.head = b.head[n:]
	for i := n; i < len(p); i++ {
		p[i] = "x = 1\\n"[(b.read+int64(i))%7]
	}
	b.read += int64(len(p))
	return len(p), nil
}

// TestBodyLimit: no more is read of a message that is too large than is needed to
// know it, with and without a length.
func TestBodyLimit(t *testing.T) {
	h := newServer(t, mcpserver.Options{Chat: &fakeChat{}}).Handler()
	for _, length := range []int64{200 << 20, -1} {
		t.Run(fmt.Sprintf("MSG-17 length %d", length), func(t *testing.T) {
			b := &endlessBody{head: `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"chat","arguments":{"message":"`}
			r := (&rawClient{url: "http://localhost/mcp", version: alone}).request(t.Context(), http.MethodPost, "")
			r.Body, r.ContentLength = io.NopCloser(b), length
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != http.StatusRequestEntityTooLarge || !strings.Contains(w.Body.String(), "4 MiB") {
				t.Errorf("status %d, body %s; want 413 that names the limit", w.Code, w.Body)
			}
			if length > 0 && b.read > 0 || b.read > 5<<20 {
				t.Errorf("%d bytes were read", b.read)
			}
		})
	}
}

// TestMessageLimit: the largest message arrives whole, also when JSON spells each
// of its bytes with six, and a larger one is refused with the limit.
func TestMessageLimit(t *testing.T) {
	extent.Slow(t)
	for _, tt := range []struct {
		name, unit string
		count      int
		fits       bool
	}{
		{"largest", "x", chat.MaxMessageBytes, true},
		{"largest, escaped", `\n`, chat.MaxMessageBytes - 1, true},
		{"MSG-17 one more", "x", chat.MaxMessageBytes + 1, false},
		{"MSG-17 one more, of two bytes", "é", chat.MaxMessageBytes/2 + 1, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			fake := &fakeChat{}
			h := newServer(t, mcpserver.Options{Chat: fake}).Handler()
			answer := post(t, h, "tools/call", `"name":"chat","arguments":{"message":"x`+strings.Repeat(tt.unit, tt.count-1)+`"}`)
			if tt.unit == "é" {
				answer = post(t, h, "tools/call", `"name":"chat","arguments":{"message":"`+strings.Repeat(tt.unit, tt.count)+`"}`)
			}
			switch seen := fake.seen(); {
			case tt.fits && (len(seen) != 1 || len(seen[0].Message) != tt.count):
				t.Errorf("the chat has not seen the whole message: %.300s", answer)
			case !tt.fits && (len(seen) != 0 || !strings.Contains(string(answer), "1 MiB") || !strings.Contains(string(answer), "-32602")):
				t.Errorf("answer %.300s, want invalid params with the limit", answer)
			}
		})
	}
}

// TestCallsThatAreTooMany: a bound of the caller's own is 429 where requests stand alone, and a result where clients take
// that for the end of their session, or where the answer has begun.
func TestCallsThatAreTooMany(t *testing.T) {
	const words = "you have sent more calls than the 4 allowed in a minute"
	for _, tt := range []struct {
		name, version, accept string
		takes                 time.Duration // of the Chatter
		status                int
		again, want           string
	}{
		{"alone", alone, "application/json, text/event-stream", 0, http.StatusTooManyRequests, "15", `"error":{"code":-32010,"message":"` + words + `","data":{"retryAfter":15}}`},
		{"alone, as JSON", alone, "application/json", 0, http.StatusTooManyRequests, "15", `"data":{"retryAfter":15}}`},
		{"alone, as events", alone, "text/event-stream", 0, http.StatusOK, "", `"data":{"retryAfter":15}}`},
		{"alone, late", alone, "application/json, text/event-stream", time.Second, http.StatusOK, "", `"data":{"retryAfter":15}}`},
		{"in a session", legacy, "application/json, text/event-stream", 0, http.StatusOK, "", `"text":"` + words + `"}],"isError":true`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, mcpserver.Options{Chat: &fakeChat{turn: func(context.Context, chat.Request) (*chat.Reply, error) {
					<-time.After(tt.takes)
					return nil, fault.TryAgainAfter(14500*time.Millisecond, words)
				}}})
				h := s.Handler()
				c := &rawClient{url: "http://localhost/mcp", version: tt.version}
				if tt.version == legacy {
					w := httptest.NewRecorder()
					h.ServeHTTP(w, c.request(t.Context(), http.MethodPost, initialize))
					c.session = w.Header().Get("Mcp-Session-Id")
				}
				r := c.request(t.Context(), http.MethodPost, strings.ReplaceAll(callBody(tt.version, "x = 1"), `"progressToken":"p",`, ""))
				r.Header.Set("Accept", tt.accept)
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				if w.Code != tt.status || w.Header().Get("Retry-After") != tt.again || !strings.Contains(w.Body.String(), tt.want) {
					t.Errorf("status %d, Retry-After %q, body %s; want %d, %q, %s", w.Code, w.Header().Get("Retry-After"), w.Body, tt.status, tt.again, tt.want)
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestCutBody: a client that breaks off gets no further.
func TestCutBody(t *testing.T) {
	fake := &fakeChat{}
	h := newServer(t, mcpserver.Options{Chat: fake}).Handler()
	r := (&rawClient{url: "http://localhost/mcp", version: alone}).request(t.Context(), http.MethodPost, "")
	r.Body, r.ContentLength = io.NopCloser(io.MultiReader(strings.NewReader(`{"jsonrpc":`), errReader{})), 100
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusBadRequest || len(fake.seen()) > 0 {
		t.Errorf("status %d, body %s", w.Code, w.Body)
	}
}

// FuzzArguments sends arbitrary arguments: a call reaches the chat with a message
// that keeps the contract, or gets an error that says what to send and nothing of
// how this program is made.
func FuzzArguments(f *testing.F) {
	for _, seed := range []string{
		`{"message":"1+1"}`, `{"message":"1+1","chat_id":null}`, `{"message":"","chat_id":"x"}`, `{"code":"1"}`, `"x"`, `[]`, `null`, `7`, `true`,
		`{"message":{"message":"x"}}`, `{"message":"\ud800"}`, `{"message":"a","message":"b"}`, `{"Message":"a"}`, `{"message":" \u0085\u2003"}`,
		`{"message":"x","chat_id":12e999}`, `{"":""}`, `{"mess\u0061ge":"x"}`, `{"message":"` + "\xff\xfe" + `"}`, `{"message":"x"}}`, `{"\u202e":1}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, args string) {
		fake := &fakeChat{}
		h := newServer(t, mcpserver.Options{Chat: fake}).Handler()
		answer := post(t, h, "tools/call", `"name":"chat","arguments":`+args)
		checkAnswer(t, answer)
		for _, r := range fake.seen() {
			if strings.TrimSpace(r.Message) == "" || len(r.Message) > chat.MaxMessageBytes || strings.ToValidUTF8(r.Message, "") != r.Message {
				t.Errorf("the chat was asked %q", r.Message)
			}
		}
	})
}

// FuzzBody sends arbitrary bodies in both eras. A call reaches the chat only if the
// SDK reads the same method in it as the guard, which decides by it.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{
		callBody(legacy, "1+1"), callBody(alone, "1+1"), body("tools/list", ""), initialize, `[` + callBody(legacy, "1") + `]`, `[[]]`, `{}`, ``, `7`, "\x00",
		`{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{}}`, `{"jsonrpc":"2.0","id":1,"meth\u006fd":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"METHOD":"ping"}`, `{"jsonrpc":"2.0","id":"\"","method":"ping"}`, `{"jsonrpc":"2.0","id":1e3,"method":"ping"}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":"a","error":{"code":1}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`,
		strings.Repeat(`{"a":`, 1001) + "1" + strings.Repeat("}", 1001),
	} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	f.Fuzz(func(t *testing.T, message string, standsAlone bool) {
		version := legacy
		if standsAlone {
			version = alone
		}
		fake := &fakeChat{}
		h := newServer(t, mcpserver.Options{Chat: fake}).Handler()
		w := httptest.NewRecorder()
		ask(h, w, version, "application/json", message)
		if w.Code != http.StatusAccepted || w.Body.Len() > 0 {
			checkAnswer(t, w.Body.Bytes())
		}
		if len(fake.seen()) > 0 && !strings.HasPrefix(strings.TrimSpace(message), "[") {
			m, err := jsonrpc.DecodeMessage([]byte(message))
			if r, ok := m.(*jsonrpc.Request); err != nil || !ok || r.Method != "tools/call" {
				t.Errorf("the chat was asked by %q, which the SDK reads as %v, %v", message, m, err)
			}
		}
	})
}
