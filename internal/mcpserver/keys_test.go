package mcpserver_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"runpython/internal/chat"
	"runpython/internal/extent"
	"runpython/internal/mcpserver"
)

// endedChat has turns that last until they are stopped, and tells how each ended.
func endedChat() (*fakeChat, chan error) {
	ended := make(chan error, 9)
	return &fakeChat{turn: func(ctx context.Context, _ chat.Request) (*chat.Reply, error) {
		<-ctx.Done()
		ended <- ctx.Err()
		return &chat.Reply{ChatID: chatID, IsError: true, Text: "stopped"}, nil
	}}, ended
}

const keyedCall = `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"_meta":{"runpython/idempotencyKey":"k"},"name":"chat","arguments":{"message":"x"}}}`

const cancelled = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`

// TestKeyedCallCancelled: a client that cancels a call with a key ends its run; one whose
// connection is lost does not, and may cancel the copy that it sends.
func TestKeyedCallCancelled(t *testing.T) {
	for _, lost := range []bool{false, true} {
		t.Run(fmt.Sprintf("connection lost %v", lost), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake, ended := endedChat()
				h := newServer(t, mcpserver.Options{Chat: fake}).Handler()
				c := attach(h, legacy)
				call := func(ctx context.Context) {
					h.ServeHTTP(httptest.NewRecorder(), c.request(ctx, http.MethodPost, keyedCall))
				}
				if lost {
					ctx, hangUp := context.WithTimeout(t.Context(), time.Second)
					defer hangUp()
					call(ctx)
					pause(time.Minute)
					if n := len(ended); n != 0 {
						t.Fatal("the run has ended with its connection")
					}
					c = attach(h, legacy) // as for the SDK one session has one call of an id
				}
				go call(t.Context())
				pause(time.Second)
				h.ServeHTTP(httptest.NewRecorder(), c.request(t.Context(), http.MethodPost, cancelled))
				synctest.Wait()
				if n := len(ended); n != 1 {
					t.Errorf("%d runs have ended, want the one that was cancelled", n)
				}
				if n := len(fake.seen()); n != 1 {
					t.Errorf("%d turns, want 1", n)
				}
			})
		})
	}
	t.Run("over pipes", func(t *testing.T) {
		fake, ended := endedChat()
		c := startStdio(t, fake)
		c.open()
		c.send(keyedCall)
		c.send(`{"jsonrpc":"2.0","id":8,"method":"ping"}`)
		c.expect(`"id":8`)
		c.send(cancelled)
		if err := <-ended; err == nil {
			t.Error("the run goes on")
		}
		c.close()
	})
}

// TestKeyOfAbandonedQuestion: when a question is closed since nobody answered, its call,
// sent again with its key, gets neither the dead question nor another run.
func TestKeyOfAbandonedQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := askingChat()
		h := newServer(t, mcpserver.Options{Chat: fake}).Handler()
		keyed := strings.Replace(aloneMeta, `clientCapabilities":{}`, `clientCapabilities":{"elicitation":{}},"runpython/idempotencyKey":"k"`, 1)
		call := func() string {
			return string(request(t, h, "tools/call", "chat", fmt.Sprintf(`"_meta":{%s},"name":"chat","arguments":{"message":"1s"}`, keyed)))
		}
		first := stateOf(t, []byte(call()), "Name?")
		if again := stateOf(t, []byte(call()), "Name?"); again != first {
			t.Errorf("a copy got the state %q, want %q", again, first)
		}
		pause(11 * time.Minute)
		if got := call(); !strings.Contains(got, `"isError":true`) || !strings.Contains(got, "no longer kept") || strings.Contains(got, "requestState") {
			t.Errorf("a copy got %s; want that the call has run", got)
		}
		if n := len(fake.seen()); n != 1 {
			t.Errorf("%d turns, want 1", n)
		}
	})
}

// TestKeysOutliveOutcomes: a call whose outcome was dropped for room does not run again.
func TestKeysOutliveOutcomes(t *testing.T) {
	extent.Slow(t)
	if testing.Short() {
		t.Skip("much data of one goroutine is left out of -short tests")
	}
	synctest.Test(t, func(t *testing.T) {
		fake := &fakeChat{turn: func(context.Context, chat.Request) (*chat.Reply, error) {
			return &chat.Reply{ChatID: chatID, Text: strings.Repeat("x", 300<<10)}, nil
		}}
		h := newServer(t, mcpserver.Options{Chat: fake}).Handler()
		call := func(key int) taskAnswer {
			return tasked(t.Context(), t, h, "tools/call", aloneMeta+fmt.Sprintf(`,"runpython/idempotencyKey":"%d"`, key), say1("x"))
		}
		const calls = 250 // more than a quarter of 256 MiB holds
		for i := range calls {
			call(i)
			pause(time.Second)
		}
		if got := call(0).Result; got == nil || !got.IsError || !strings.Contains(got.Content[0].Text, "no longer kept") {
			t.Errorf("the oldest call sent again got %+v", got)
		}
		if got := call(calls - 1).Result; got == nil || got.IsError {
			t.Errorf("the newest call sent again got %+v", got)
		}
		if n := len(fake.seen()); n != calls {
			t.Errorf("%d turns for %d keys", n, calls)
		}
	})
}
