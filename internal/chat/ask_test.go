package chat_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/chat"
	"runpython/internal/fault"
)

func TestAsk(t *testing.T) {
	s, _ := newService(t, nil)
	var steps []string
	r := chat.Request{Message: do("ask name?"), Progress: func(p chat.Progress) { steps = append(steps, p.Step) }}
	if reply, err := s.Turn(t.Context(), r); err != nil || !reply.IsError || !strings.Contains(reply.Text, "EOFError") {
		t.Errorf("without anybody to ask: %+v, %v; want the code's error", reply, err)
	}
	steps = nil
	r.Ask = func(_ context.Context, q chat.Question) chat.Answer {
		if q.Prompt != "name?" {
			t.Errorf("prompt %q", q.Prompt)
		}
		return chat.Answer{Outcome: chat.Typed, Text: "Ada"}
	}
	reply, err := s.Turn(t.Context(), r)
	if err != nil || len(reply.Runs) != 1 || reply.Runs[0].Value != "typed Ada" {
		t.Errorf("reply %+v, %v; want the answer", reply, err)
	}
	if diff := cmp.Diff([]string{"starting", "running", "asking", "running", "saving"}, steps); diff != "" {
		t.Error(diff)
	}
}

// While the code waits for the person nobody waits for the chat, whether they came before the
// question or after it; with the answer the chat goes on as before.
func TestNobodyWaitsForTheAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := newService(t, nil)
		id := ask(t, s, "", "set x").ChatID
		first := begin(t.Context(), s, id, "wait")
		synctest.Wait()
		answer := make(chan string)
		asking := beside(t.Context(), s, chat.Request{ChatID: id, Message: do("ask name?"), Ask: func(context.Context, chat.Question) chat.Answer {
			return chat.Answer{Outcome: chat.Typed, Text: <-answer}
		}})
		synctest.Wait()
		before := begin(t.Context(), s, id, "get x")
		synctest.Wait()
		close(w.release)
		synctest.Wait()
		<-first
		after := begin(t.Context(), s, id, "get x")
		deleted := s.Delete(t.Context(), "", id)
		for what, err := range map[string]error{"a call before": (<-before).err, "a call after": (<-after).err, "a delete": deleted} {
			if kind, shown := fault.Shown(err); kind != fault.Busy || !strings.Contains(shown, "waits for the answer") {
				t.Errorf("%s: %v; want that the chat waits", what, err)
			}
		}
		answer <- "Ada"
		if got := <-asking; got.err != nil || got.reply.Runs[0].Value != "typed Ada" {
			t.Errorf("the turn that asked: %+v", got)
		}
		if got := ask(t, s, id, "get x"); got.IsError || got.State != chat.Kept {
			t.Errorf("afterwards: %+v; want the variable kept", got)
		}
	})
}

// A turn that waits for its chat says so; one that need not does not.
func TestWaitingIsTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, w := newService(t, nil)
		id := ask(t, s, "", "set x").ChatID
		first := begin(t.Context(), s, id, "wait")
		synctest.Wait()
		var steps []string
		second := beside(t.Context(), s, chat.Request{ChatID: id, Message: do("get x"), Progress: func(p chat.Progress) { steps = append(steps, p.Step) }})
		synctest.Wait()
		if diff := cmp.Diff([]string{"waiting"}, steps); diff != "" {
			t.Error(diff)
		}
		close(w.release)
		<-first
		if got := <-second; got.err != nil || got.reply.IsError {
			t.Errorf("%+v", got)
		}
		if diff := cmp.Diff([]string{"waiting", "running", "saving"}, steps); diff != "" {
			t.Error(diff)
		}
	})
}

// A panic of whoever asks leaves a chat that others may use, and that can ask again.
func TestAskPanics(t *testing.T) {
	s, _ := newService(t, nil)
	id := ask(t, s, "", "set x").ChatID
	for range 2 {
		reply, err := s.Turn(t.Context(), chat.Request{ChatID: id, Message: do("ask name?"), Ask: func(context.Context, chat.Question) chat.Answer { panic("a bug") }})
		if err != nil || strings.TrimSpace(reply.Runs[0].Value) != "unasked" {
			t.Errorf("reply %+v, %v; want that nobody could be asked", reply, err)
		}
	}
	reply, err := s.Turn(t.Context(), chat.Request{ChatID: id, Message: do("ask name?"), Ask: func(context.Context, chat.Question) chat.Answer {
		return chat.Answer{Outcome: chat.Typed, Text: "Ada"}
	}})
	if err != nil || reply.Runs[0].Value != "typed Ada" {
		t.Errorf("reply %+v, %v; want the answer", reply, err)
	}
}

// A caller that leaves while the code asks ends the question and the run, not the chat.
func TestCancelWhileAsking(t *testing.T) {
	s, _ := newService(t, nil)
	id := ask(t, s, "", "set x").ChatID
	ctx, cancel := context.WithCancel(t.Context())
	reply, err := s.Turn(ctx, chat.Request{ChatID: id, Message: do("ask name?"), Ask: func(ctx context.Context, _ chat.Question) chat.Answer {
		cancel()
		<-ctx.Done()
		if !errors.Is(ctx.Err(), context.Canceled) {
			t.Errorf("the question ended by %v", ctx.Err())
		}
		return chat.Answer{Outcome: chat.Unasked}
	}})
	if err != nil || !reply.IsError {
		t.Errorf("reply %+v, %v; want that it was stopped", reply, err)
	}
	if got := ask(t, s, id, "get x"); got.IsError || got.State != chat.Kept {
		t.Errorf("afterwards: %+v; want the variable kept", got)
	}
}
