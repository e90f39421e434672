package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/chat"
	"runpython/internal/fault"
	"runpython/internal/mcpserver"
)

// pause lets time pass in a bubble.
func pause(d time.Duration) { <-time.After(d) }

// A client is what reads an answer: it notes when each part of it came.
type client struct {
	mu     sync.Mutex
	header http.Header
	status int
	began  time.Time
	parts  []string
	body   bytes.Buffer
	block  chan struct{} // if not nil, Write waits for it
	hangs  chan struct{} // takes one when Write begins to wait
}

func newClient() *client { return &client{header: make(http.Header), began: time.Now()} }

func (c *client) Header() http.Header { return c.header }

func (c *client) WriteHeader(status int) { c.status = status }

func (c *client) Write(p []byte) (int, error) {
	if c.block != nil {
		select {
		case c.hangs <- struct{}{}:
		default:
		}
		<-c.block
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.body.Write(p)
	part := regexp.MustCompile(`"result":.*`).ReplaceAllString(strings.TrimSuffix(string(p), "\n\n"), `"result":…`)
	c.parts = append(c.parts, fmt.Sprintf("%v %s", time.Since(c.began), part))
	return len(p), nil
}

// TestKeepAlive: an answer that takes long begins early and is never silent for
// long, whatever its form.
func TestKeepAlive(t *testing.T) {
	tests := []struct {
		name, accept string
		want         []string
	}{
		{"MCP-15 events", "application/json, text/event-stream", []string{
			"250ms : working", "15.25s : keep-alive", "30.25s : keep-alive",
			"40s event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":…",
		}},
		{"MCP-15 JSON", "application/json", []string{
			"250ms \n", "15.25s \n", "30.25s \n", "40s {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":…",
		}},
	}
	for _, tt := range tests {
		for _, version := range eras {
			t.Run(tt.name+" "+version, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newServer(t, mcpserver.Options{Chat: &fakeChat{turn: func(context.Context, chat.Request) (*chat.Reply, error) {
						pause(40 * time.Second)
						return &chat.Reply{ChatID: chatID, Text: "done"}, nil
					}}})
					c := newClient()
					ask(s.Handler(), c, version, tt.accept, callBody(version, "x"))
					if diff := cmp.Diff(tt.want, c.parts); diff != "" {
						t.Errorf("parts of the answer (-want +got):\n%s", diff)
					}
					if c.status != http.StatusOK || c.header.Get("X-Accel-Buffering") != "no" {
						t.Errorf("status %d, header %v", c.status, c.header)
					}
				})
			})
		}
	}
}

// TestStreamOfSession: the stream that a session may hold open lives too.
func TestStreamOfSession(t *testing.T) {
	t.Run("MCP-15 GET", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t, mcpserver.Options{Chat: &fakeChat{}})
			c := attach(s.Handler(), legacy)
			reader := newClient()
			ctx, hangUp := context.WithTimeout(t.Context(), 40*time.Second)
			defer hangUp()
			s.Handler().ServeHTTP(reader, c.request(ctx, http.MethodGet, ""))
			if diff := cmp.Diff([]string{"0s : ok", "15s : keep-alive", "30s : keep-alive"}, reader.parts); diff != "" {
				t.Errorf("parts of the stream (-want +got):\n%s", diff)
			}
		})
	})
}

// A session has one stream; who opens another is told so in our words.
func TestSecondStream(t *testing.T) {
	s := newServer(t, mcpserver.Options{Chat: &fakeChat{}})
	c := attach(s.Handler(), legacy)
	ctx, hangUp := context.WithCancel(t.Context())
	first := newClient()
	closed := make(chan struct{})
	opened := &announcing{client: first, written: make(chan struct{})}
	go func() {
		defer close(closed)
		s.Handler().ServeHTTP(opened, c.request(ctx, http.MethodGet, ""))
	}()
	<-opened.written
	second := newClient()
	s.Handler().ServeHTTP(second, c.request(t.Context(), http.MethodGet, ""))
	if got := second.body.String(); second.status != http.StatusConflict || !strings.Contains(got, "has an open stream already") || strings.Contains(got, "ID") {
		t.Errorf("a second stream got %d %s", second.status, got)
	}
	hangUp()
	<-closed
}

// announcing is a client that says when something has been written to it.
type announcing struct {
	*client
	once    sync.Once
	written chan struct{}
}

func (a *announcing) Write(p []byte) (int, error) {
	defer a.once.Do(func() { close(a.written) })
	return a.client.Write(p)
}

// TestLateError: the newer era gives some errors a status of their own, which is
// too late for an answer that has begun.
func TestLateError(t *testing.T) {
	for _, accept := range []string{"application/json", "text/event-stream", "*/*"} {
		t.Run(accept, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, mcpserver.Options{Chat: &fakeChat{turn: func(context.Context, chat.Request) (*chat.Reply, error) {
					pause(time.Second)
					return nil, fault.New(fault.Invalid, nil, "too late")
				}}})
				c := newClient()
				ask(s.Handler(), c, alone, accept, callBody(alone, "x"))
				want := `{"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"too late"}}`
				if accept != "application/json" {
					want = "event: message\ndata: " + want
				}
				if got := c.parts[len(c.parts)-1]; got != "1s "+want {
					t.Errorf("the last part is %q, want %q", got, want)
				}
			})
		})
	}
}

// TestProgress: notifications rise, are not too many, not too large, end before the
// answer, and come only to those who asked.
func TestProgress(t *testing.T) {
	for _, version := range eras {
		t.Run(version, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, mcpserver.Options{Chat: &fakeChat{turn: func(_ context.Context, r chat.Request) (*chat.Reply, error) {
					r.Progress(chat.Progress{Step: "starting"})
					r.Progress(chat.Progress{Step: "running"})
					pause(time.Second)
					r.Progress(chat.Progress{Step: "output", Stdout: "one\n"})
					r.Progress(chat.Progress{Step: "output", Stderr: "two\x1b\n"})
					pause(time.Second)
					for range 1000 {
						r.Progress(chat.Progress{Step: "output", Stdout: strings.Repeat("é", 10_000)})
						pause(10 * time.Millisecond)
					}
					r.Progress(chat.Progress{Step: "saving"})
					return &chat.Reply{ChatID: chatID, Text: "done"}, nil
				}}})
				c := newClient()
				ask(s.Handler(), c, version, "*/*", callBody(version, "x"))
				checkProgress(t, c)
			})
		})
	}
}

// TestProgressOfSilentCode: a client that waits as long as there is progress waits for
// code that prints nothing, and for code that has printed more than is passed on.
func TestProgressOfSilentCode(t *testing.T) {
	for _, version := range eras {
		t.Run(version, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, mcpserver.Options{Chat: &fakeChat{turn: func(_ context.Context, r chat.Request) (*chat.Reply, error) {
					r.Progress(chat.Progress{Step: "running"})
					pause(50 * time.Second)
					for range 500 {
						r.Progress(chat.Progress{Step: "output", Stdout: strings.Repeat("x", 4<<10)})
						pause(150 * time.Millisecond) // not as often as notifications may be
					}
					return &chat.Reply{ChatID: chatID, Text: "done"}, nil
				}}})
				c := newClient()
				ask(s.Handler(), c, version, "*/*", callBody(version, "x"))
				messages := events(t, c.body.Bytes())
				var pulses []string
				for i, m := range messages[:len(messages)-1] {
					if !strings.Contains(m, fmt.Sprintf(`"progress":%d}`, i+1)) {
						t.Fatalf("notification %d is %.300s", i, m)
					}
					if _, message, _ := strings.Cut(m, `"message":"`); strings.HasPrefix(message, "running") {
						pulses = append(pulses, strings.Split(message, `"`)[0])
					}
				}
				// What is passed on of the output is used up after ten seconds.
				want := []string{"running", "running, 15 s", "running, 30 s", "running, 45 s", "running, 74 s", "running, 89 s", "running, 104 s", "running, 119 s"}
				if diff := cmp.Diff(want, pulses); diff != "" {
					t.Errorf("what was said while there was no output (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func checkProgress(t *testing.T, c *client) {
	t.Helper()
	messages := events(t, c.body.Bytes())
	total := 0
	for i, m := range messages[:len(messages)-1] {
		var n struct {
			Method string
			Params struct {
				ProgressToken string
				Progress      float64
				Message       string
			}
		}
		if err := json.Unmarshal([]byte(m), &n); err != nil || n.Method != "notifications/progress" || n.Params.ProgressToken != "p" || n.Params.Progress != float64(i+1) {
			t.Fatalf("notification %d is %.300s, %v", i, m, err)
		}
		want := []string{"running", "one\ntwo␛\n"}
		if i < len(want) && n.Params.Message != want[i] {
			t.Errorf("notification %d says %q, want %q", i, n.Params.Message, want[i])
		}
		if i == len(want) && !strings.Contains(n.Params.Message, "bytes left out") {
			t.Errorf("notification %d is %.300q…, want it to say what was left out", i, n.Params.Message)
		}
		if len(n.Params.Message) > 5<<10 {
			t.Errorf("notification %d has %d bytes", i, len(n.Params.Message))
		}
		total += len(n.Params.Message)
	}
	// Ten seconds at ten a second, and less once so much has been sent.
	if n := len(messages) - 1; n < 10 || n > 110 || total > 300<<10 {
		t.Errorf("%d notifications with %d bytes", n, total)
	}
	if last := messages[len(messages)-1]; !strings.Contains(last, `"result"`) {
		t.Errorf("the last message is %s", last)
	}
}

// TestNoProgressUnlessAsked also checks that a token that is no token is ignored.
func TestNoProgressUnlessAsked(t *testing.T) {
	fake := &fakeChat{}
	h := newServer(t, mcpserver.Options{Chat: fake}).Handler()
	long := `"` + strings.Repeat("x", 300) + `"`
	for _, token := range []string{"{}", "[1]", "null", "true", long} {
		w := httptest.NewRecorder()
		ask(h, w, legacy, "*/*", strings.Replace(callBody(legacy, "1+1"), `"p"`, token, 1))
		if w.Code != http.StatusOK {
			t.Errorf("token %s: status %d", token, w.Code)
		}
	}
	for _, r := range fake.seen() {
		if r.Progress != nil {
			t.Errorf("progress was wanted for a token that is none")
		}
	}
}

// TestSlowReader: a client that does not read holds up nobody else, nor its own other
// calls.
func TestSlowReader(t *testing.T) {
	for _, version := range eras {
		t.Run(version, func(t *testing.T) {
			gate := make(chan struct{})
			s := newServer(t, mcpserver.Options{Chat: &fakeChat{turn: func(_ context.Context, r chat.Request) (*chat.Reply, error) {
				if r.Message == "wait" {
					r.Progress(chat.Progress{Step: "running"})
					<-gate
				}
				return &chat.Reply{ChatID: chatID, Text: "done"}, nil
			}}})
			here := attach(s.Handler(), version)
			call := func(from *rawClient, to *client, id int, message string) {
				body := strings.Replace(callBody(version, message), `"id":1`, fmt.Sprintf(`"id":%d`, id), 1)
				s.Handler().ServeHTTP(to, from.request(t.Context(), http.MethodPost, body))
			}
			slow := newClient()
			slow.block, slow.hangs = make(chan struct{}), make(chan struct{}, 1)
			var wg sync.WaitGroup
			wg.Go(func() { call(here, slow, 1, "wait") })
			<-slow.hangs
			for name, from := range map[string]*rawClient{"same": here, "other": attach(s.Handler(), version)} {
				quick := newClient()
				call(from, quick, 2, "1+1")
				if !strings.Contains(quick.body.String(), chatID) {
					t.Errorf("the %s client got %q beside a slow reader", name, quick.body.String())
				}
			}
			if slow.body.Len() > 0 {
				t.Errorf("the slow client got %q", slow.body.String())
			}
			close(slow.block)
			close(gate)
			wg.Wait()
			if !strings.Contains(slow.body.String(), chatID) {
				t.Errorf("the slow client got %q in the end", slow.body.String())
			}
		})
	}
}

// TestSessionsMakeRoom: a session that nobody uses ends for a new one; one that
// is used does not.
func TestSessionsMakeRoom(t *testing.T) {
	t.Run("CHT-14", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t, mcpserver.Options{Chat: &fakeChat{}, MaxSessions: 2})
			send := func(id, message string) *httptest.ResponseRecorder {
				c := &rawClient{url: "http://localhost/mcp", version: legacy, session: id}
				w := httptest.NewRecorder()
				s.Handler().ServeHTTP(w, c.request(t.Context(), http.MethodPost, message))
				return w
			}
			open := func() (string, int) {
				w := send("", initialize)
				return w.Header().Get("Mcp-Session-Id"), w.Code
			}
			ping := func(id string) int { return send(id, `{"jsonrpc":"2.0","id":1,"method":"ping"}`).Code }
			first, _ := open()
			second, _ := open()
			if _, code := open(); code != http.StatusServiceUnavailable {
				t.Errorf("a third session got %d, want 503", code)
			}
			pause(2 * time.Minute)
			if code := ping(second); code != http.StatusOK {
				t.Errorf("a ping got %d", code)
			}
			third, code := open()
			if code != http.StatusOK {
				t.Errorf("a session got %d although one was idle", code)
			}
			for id, want := range map[string]int{first: http.StatusNotFound, second: http.StatusOK, third: http.StatusOK} {
				if got := ping(id); got != want {
					t.Errorf("a ping got %d, want %d", got, want)
				}
			}
			pause(25 * time.Hour)
			if got := ping(second); got != http.StatusNotFound {
				t.Errorf("a ping after a day got %d, want 404", got)
			}
		})
	})
}

// events returns the messages in a stream of events.
func events(t *testing.T, stream []byte) []string {
	t.Helper()
	var messages []string
	for line := range strings.Lines(string(stream)) {
		if data, ok := strings.CutPrefix(line, "data: "); ok {
			messages = append(messages, strings.TrimSuffix(data, "\n"))
		}
	}
	if len(messages) == 0 {
		t.Fatalf("no events in %.300q", stream)
	}
	return messages
}
