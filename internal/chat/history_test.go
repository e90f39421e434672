package chat_test

import (
	"context"
	"strings"
	"testing"

	"runpython/internal/agent"
	"runpython/internal/chat"
	"runpython/internal/extent"
)

// TestHistoriesAreBounded has more said in chats than is kept of all together: those that nobody has used for
// longest are given up, and read again when somebody uses one.
func TestHistoriesAreBounded(t *testing.T) {
	extent.Slow(t)
	if testing.Short() {
		t.Skip("much data of one goroutine is left out of -short tests")
	}
	long := strings.Repeat("x", 8<<10)
	said := agent.Exchange{Message: long, Answer: long, Steps: []agent.Step{{Said: long, Code: long}, {Said: long, Code: long}}}
	var told int // exchanges, in the last turn
	s, _ := newService(t, func(o *chat.Options) {
		o.Limits.Chats = 10_000
		o.Agent = agentFunc(func(_ context.Context, task agent.Task) (*agent.Answer, error) {
			told = len(task.History)
			return &agent.Answer{End: agent.Answered, Words: "done", Exchange: said}, nil
		})
	})
	turn := func(id string) string {
		t.Helper()
		reply, err := s.Turn(t.Context(), chat.Request{ChatID: id, Message: plain})
		if err != nil || reply.IsError {
			t.Fatalf("Turn() = %+v, %v", reply, err)
		}
		return reply.ChatID
	}
	first, last := turn(""), ""
	const each = 4
	for range chat.MaxHistories / agent.MaxHistoryBytes * 2 {
		last = ""
		for range each {
			last = turn(last)
		}
	}
	if turn(last); told < each {
		t.Errorf("of the chat that was used last %d turns are known, want %d", told, each)
	}
	before := s.Histories()
	if turn(first); told != 1 {
		t.Errorf("of the chat that was used first %d turns are known, want the one that it had, read again", told)
	}
	if grown := s.Histories() - before; grown < 2*4*len(long) {
		t.Errorf("its turns take %d bytes more; want them in memory again", grown)
	}
	if n := s.Histories(); n > chat.MaxHistories || n < chat.MaxHistories/4 {
		t.Errorf("%d bytes are kept of all chats; the most is %d", n, chat.MaxHistories)
	}
}
