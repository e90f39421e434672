package mcpserver_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"runpython/internal/chat"
	"runpython/internal/mcpserver"
)

// While a server that stops waits for calls in flight, it takes what these need: the answer to
// a question and a cancellation.
func TestStoppingTakesWhatCallsNeed(t *testing.T) {
	fake := asking()
	g := newGatedChat()
	asks := fake.turn
	fake.turn = func(ctx context.Context, r chat.Request) (*chat.Reply, error) {
		if r.Message == "wait" {
			return g.turn(ctx, r)
		}
		return asks(ctx, r)
	}
	url, s := serve(t, fake)
	c := dial(t, url, legacy)
	first := (&rawClient{url: url}).do(t, http.MethodPost, strings.Replace(initialize, `"capabilities":{}`, `"capabilities":{"elicitation":{}}`, 1))
	drain(first)
	person := &rawClient{url: url, version: legacy, session: first.Header.Get("Mcp-Session-Id")}
	waiting := make(chan string, 1)
	go func() {
		res := c.do(t, http.MethodPost, callBody(legacy, "wait"))
		text, _ := io.ReadAll(res.Body)
		res.Body.Close()
		waiting <- string(text)
	}()
	<-g.began
	question := person.do(t, http.MethodPost, callBody(legacy, "name?"))
	defer question.Body.Close()
	buffer := make([]byte, 64<<10)
	for got := ""; !strings.Contains(got, "elicitation/create"); {
		n, err := question.Body.Read(buffer)
		if got += string(buffer[:n]); err != nil {
			t.Fatalf("no question in %s: %v", got, err)
		}
	}
	stopped := make(chan error, 1)
	go func() { stopped <- s.Shutdown(t.Context()) }()
	for refused := false; !refused; { // until it stops
		res := c.do(t, http.MethodPost, callBody(legacy, "name?"))
		refused = res.StatusCode == http.StatusServiceUnavailable
		drain(res)
	}
	// A call of this era is new whatever it carries.
	asRound := strings.Replace(callBody(legacy, "name?"), `"name":"chat"`, `"requestState":"x","name":"chat"`, 1)
	res := c.do(t, http.MethodPost, asRound)
	if drain(res); res.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a call that poses as a round got %s", res.Status)
	}
	res = person.do(t, http.MethodPost, `{"jsonrpc":"2.0","id":1,"result":{"action":"accept","content":{"answer":"Ada"}}}`)
	drain(res)
	if text, err := io.ReadAll(question.Body); err != nil || !strings.Contains(string(text), `typed \"Ada\"`) {
		t.Errorf("the answer got %s; the call %s, %v", res.Status, text, err)
	}
	drain(c.do(t, http.MethodPost, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`))
	if err := <-g.ended; err == nil {
		t.Error("the cancelled turn was not cancelled")
	}
	<-waiting
	if err := <-stopped; err != nil {
		t.Errorf("Shutdown() = %v", err)
	}
}

// A task that ends while the server stops can be fetched, for a while.
func TestStoppingKeepsOutcomes(t *testing.T) {
	for _, fetched := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			s := newServer(t, mcpserver.Options{Chat: slowChat()})
			id := startTask(t, s.Handler(), takesTasks+`,"runpython/taskAfterMs":0`, "5s")
			ctx, giveUp := context.WithTimeout(t.Context(), time.Minute)
			defer giveUp()
			stopped := make(chan error, 1)
			began := time.Now()
			go func() { stopped <- s.Shutdown(ctx) }()
			pause(4 * time.Second)
			if got := getTask(t, s.Handler(), id).Result; got == nil || got.Status != "working" {
				t.Errorf("a task that runs: %+v", got)
			}
			pause(1500 * time.Millisecond)
			if fetched {
				if got := getTask(t, s.Handler(), id).Result; got == nil || got.Status != "completed" {
					t.Errorf("a task that has ended: %+v", got)
				}
			}
			if err := <-stopped; err != nil {
				t.Errorf("Shutdown() = %v", err)
			}
			if took := time.Since(began); fetched != (took < 6*time.Second) || took > 10*time.Second {
				t.Errorf("fetched %v: the stop took %v", fetched, took)
			}
		})
	}
}
