package mcpserver_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/chat"
	"runpython/internal/mcpserver"
)

// serve returns the URL at which a server with c serves until the test ends.
func serve(tb testing.TB, c mcpserver.Chatter) (string, *mcpserver.Server) {
	tb.Helper()
	s := newServer(tb, mcpserver.Options{Chat: c})
	ts := httptest.NewServer(s.Handler())
	tb.Cleanup(ts.Close)
	// The server under test ends first: it closes the streams that ts waits for.
	tb.Cleanup(func() { _ = s.Close() })
	return ts.URL + "/mcp", s
}

func say(message string) *mcp.CallToolParams {
	return &mcp.CallToolParams{Name: "chat", Arguments: map[string]any{"message": message}}
}

// TestSDKClient goes through a session with the client of the SDK.
func TestSDKClient(t *testing.T) {
	for _, version := range append([]string{"2025-06-18", "2025-03-26"}, eras...) {
		t.Run(version, func(t *testing.T) {
			fake := &fakeChat{}
			url, _ := serve(t, fake)
			session := connect(t, url, version)
			defer session.Close()

			tools, err := session.ListTools(t.Context(), nil)
			if err != nil || len(tools.Tools) != 1 || tools.Tools[0].Title != "Run Python" {
				t.Fatalf("ListTools() = %v, %v; want the one tool", tools, err)
			}
			params := say("1+1")
			for _, want := range []string{"```\n2\n```\n\nchat_id: " + chatID, "```\n2\n```\n\nstate: kept (variables and files are still there)\nchat_id: " + chatID} {
				res, err := session.CallTool(t.Context(), params)
				if err != nil || res.IsError {
					t.Fatalf("CallTool() = %v, %v", res, err)
				}
				if diff := cmp.Diff(want, text(t, res)); diff != "" {
					t.Errorf("text (-want +got):\n%s", diff)
				}
				params.Arguments = map[string]any{"message": "1+1", "chat_id": chatID}
			}
			file, err := session.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "runpython://chats/" + chatID + "/files/report.csv"})
			if err != nil || file.Contents[0].Text != "a,b\n1,2\n" {
				t.Errorf("ReadResource() = %v, %v", file, err)
			}
			if got := fake.seen(); len(got) != 2 || got[0].Progress != nil || got[0].Owner != "" {
				t.Errorf("the chat has seen %v", got)
			}
		})
	}
}

// A gatedChat lets a turn with the message "wait" begin, and end when the gate
// opens or the call is cancelled. Other messages are answered at once.
type gatedChat struct {
	fakeChat
	began chan struct{}
	gate  chan struct{}
	ended chan error // the cause with which a waiting turn ended, nil for the gate
}

func newGatedChat() *gatedChat {
	g := &gatedChat{began: make(chan struct{}, 9), gate: make(chan struct{}), ended: make(chan error, 9)}
	g.turn = func(ctx context.Context, r chat.Request) (*chat.Reply, error) {
		if r.Message != "wait" {
			return &chat.Reply{ChatID: chatID, Text: "at once"}, nil
		}
		g.began <- struct{}{}
		select {
		case <-ctx.Done():
			g.ended <- ctx.Err()
			return &chat.Reply{ChatID: chatID, IsError: true, Text: "stopped; variables are kept"}, nil
		case <-g.gate:
			g.ended <- nil
			return &chat.Reply{ChatID: chatID, Text: "later"}, nil
		}
	}
	return g
}

// TestParallel: a call does not wait for another one, in the same session either.
func TestParallel(t *testing.T) {
	for _, version := range eras {
		t.Run("CHT-01 "+version, func(t *testing.T) {
			g := newGatedChat()
			url, _ := serve(t, g)
			session := connect(t, url, version)
			defer session.Close()
			var slow *mcp.CallToolResult
			var wg sync.WaitGroup
			wg.Go(func() { slow, _ = session.CallTool(t.Context(), say("wait")) })
			<-g.began
			if res, err := session.CallTool(t.Context(), say("now")); err != nil || !strings.HasPrefix(text(t, res), "at once") {
				t.Errorf("CallTool() = %v, %v", res, err)
			}
			close(g.gate)
			wg.Wait()
			if slow == nil || !strings.HasPrefix(text(t, slow), "later") {
				t.Errorf("the slow call got %v", slow)
			}
		})
	}
}

// TestCancel: a client that cancels a call ends its turn, and only that.
func TestCancel(t *testing.T) {
	for _, version := range eras {
		t.Run(version, func(t *testing.T) {
			g := newGatedChat()
			url, _ := serve(t, g)
			session := connect(t, url, version)
			defer session.Close()
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			wg.Go(func() {
				if res, err := session.CallTool(ctx, say("wait")); err == nil {
					t.Errorf("CallTool() = %v, want an error", res)
				}
			})
			<-g.began
			cancel()
			if err := <-g.ended; err == nil {
				t.Error("the turn was not cancelled")
			}
			wg.Wait()
			if res, err := session.CallTool(t.Context(), say("now")); err != nil {
				t.Errorf("CallTool() after the cancelled one = %v, %v", res, err)
			}
		})
	}
}

// TestDisconnect: a client that goes away without a word ends its turn too.
func TestDisconnect(t *testing.T) {
	for _, version := range eras {
		t.Run(version, func(t *testing.T) {
			g := newGatedChat()
			url, _ := serve(t, g)
			c := dial(t, url, version)
			ctx, hangUp := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			wg.Go(func() {
				if res, err := new(http.Client).Do(c.request(ctx, http.MethodPost, callBody(version, "wait"))); err == nil {
					drain(res)
				}
			})
			<-g.began
			hangUp()
			if err := <-g.ended; err == nil {
				t.Error("the turn was not cancelled")
			}
			wg.Wait()
			res := c.do(t, http.MethodPost, strings.Replace(callBody(version, "now"), `"id":1`, `"id":2`, 1))
			defer res.Body.Close()
			if body, err := io.ReadAll(res.Body); err != nil || !strings.Contains(string(body), "at once") {
				t.Errorf("the next call got %s, %v", body, err)
			}
		})
	}
}

// TestEndOfSession: a client that ends its session ends what runs in it.
func TestEndOfSession(t *testing.T) {
	g := newGatedChat()
	url, _ := serve(t, g)
	c := dial(t, url, legacy)
	var wg sync.WaitGroup
	wg.Go(func() { drain(c.do(t, http.MethodPost, callBody(legacy, "wait"))) })
	<-g.began
	res := c.do(t, http.MethodDelete, "")
	res.Body.Close()
	if err := <-g.ended; err == nil || res.StatusCode != http.StatusNoContent {
		t.Errorf("DELETE got %s, the turn ended with %v", res.Status, err)
	}
	wg.Wait()
}

// TestShutdown: open streams do not hold it up, a call in flight may finish, and
// one that does not in time is ended with an answer that says so.
func TestShutdown(t *testing.T) {
	for _, version := range eras {
		for _, patient := range []bool{true, false} {
			t.Run(fmt.Sprintf("MCP-25 %s patient %v", version, patient), func(t *testing.T) {
				g := newGatedChat()
				url, s := serve(t, g)
				c := dial(t, url, version)
				var wg sync.WaitGroup
				if c.session != "" {
					stream := c.do(t, http.MethodGet, "")
					wg.Go(func() { drain(stream) })
				}
				var answer []byte
				wg.Go(func() {
					res := c.do(t, http.MethodPost, callBody(version, "wait"))
					answer, _ = io.ReadAll(res.Body)
					res.Body.Close()
				})
				<-g.began
				ctx, cancel := context.WithCancel(t.Context())
				if patient {
					wg.Go(func() { close(g.gate) })
				} else {
					cancel()
				}
				if err := s.Shutdown(ctx); err != nil {
					t.Errorf("Shutdown() = %v", err)
				}
				cancel()
				wg.Wait()
				want := "The server is stopping"
				if patient {
					want = "later"
				}
				if !strings.Contains(string(answer), want) {
					t.Errorf("the call in flight got %q, want %q in it", answer, want)
				}
				res := c.do(t, http.MethodPost, callBody(version, "now"))
				res.Body.Close()
				if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" {
					t.Errorf("a call after Shutdown got %s, want 503 and Retry-After", res.Status)
				}
			})
		}
	}
}

// TestStatelessLeavesNothing: the check for goroutines that are left is in
// TestMain.
func TestStatelessLeavesNothing(t *testing.T) {
	t.Run("MCP-26", func(t *testing.T) {
		h := newServer(t, mcpserver.Options{Chat: &fakeChat{}}).Handler()
		for range 500 {
			if body := post(t, h, "tools/list", ""); !strings.Contains(string(body), "Run Python") {
				t.Fatalf("tools/list = %s", body)
			}
		}
	})
}

// TestPlainAnswerHasLength: an answer that comes at once leaves in one piece, which
// is cheaper than a stream, and its connection is used again.
func TestPlainAnswerHasLength(t *testing.T) {
	for _, version := range eras {
		t.Run(version, func(t *testing.T) {
			url, _ := serve(t, &fakeChat{})
			c := dial(t, url, version)
			for range 3 {
				r := c.request(t.Context(), http.MethodPost, callBody(version, "1+1"))
				r.Header.Set("Accept", "application/json")
				res, err := new(http.Client).Do(r)
				if err != nil {
					t.Fatal(err)
				}
				answer, err := io.ReadAll(res.Body)
				res.Body.Close()
				if err != nil || res.ContentLength != int64(len(answer)) || len(answer) == 0 || res.Close {
					t.Errorf("Content-Length %d for %d bytes, close %v, %v", res.ContentLength, len(answer), res.Close, err)
				}
			}
		})
	}
}
