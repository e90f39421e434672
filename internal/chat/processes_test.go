package chat_test

import (
	"context"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/agent"
	"runpython/internal/chat"
	"runpython/internal/extent"
	"runpython/internal/fault"
	"runpython/internal/store"
	"runpython/internal/store/database"
	"runpython/internal/store/sqlite"
	"runpython/internal/store/storetest"
)

// machine is a data directory on which several processes work.
type machine struct{ dir string }

// records opens the database as one more process, which lasts as long as the test.
func (m machine) records(t *testing.T) *database.Store {
	t.Helper()
	return storetest.Lasting[*database.Store](t)(sqlite.Open(t.Context(), filepath.Join(m.dir, "chats.db")))
}

// process starts one more process.
func (m machine) process(t *testing.T, change func(*chat.Options)) (*chat.Service, *world) {
	t.Helper()
	return newService(t, func(o *chat.Options) {
		o.Store, o.Content = m.records(t), contentIn(t, filepath.Join(m.dir, "content"))
		if change != nil {
			change(o)
		}
	})
}

// CHT-04: after a restart the chat goes on, with its files, and says that its variables are lost.
func TestChatOutlivesTheProcess(t *testing.T) {
	m := machine{t.TempDir()}
	var id, uri string
	t.Run("before", func(t *testing.T) {
		s, _ := m.process(t, nil)
		id = ask(t, s, "", "set x").ChatID
		uri = ask(t, s, id, "file data.csv 17").Files[0].URI
	})
	s, w := m.process(t, nil)
	if got := read(t, s, uri); got != "17" {
		t.Errorf("the file after a restart is %q; want 17", got)
	}
	next := ask(t, s, id, "get x")
	if next.State != chat.Reset || !strings.Contains(next.StateReason, "restarted, or the process that had the chat stopped answering") {
		t.Errorf("state %q, %q; want reset by a restart", next.State, next.StateReason)
	}
	if got, err := w.root.ReadFile("1/data.csv"); string(got) != "17" || err != nil {
		t.Errorf("the file in the new interpreter is %q, %v; want 17", got, err)
	}
	if again := ask(t, s, id, "set y"); again.State != chat.Kept {
		t.Errorf("state of the turn after: %q; want kept", again.State)
	}
}

// A later process remembers for the model what was said, and shows what was run.
func TestTranscriptOutlivesTheProcess(t *testing.T) {
	m := machine{t.TempDir()}
	var told []agent.Exchange
	talks := func(o *chat.Options) {
		o.Agent = agentFunc(func(_ context.Context, task agent.Task) (*agent.Answer, error) {
			told = task.History
			return &agent.Answer{End: agent.Answered, Words: "done", Exchange: agent.Exchange{
				Message: task.Message, Answer: "done", Steps: []agent.Step{{Said: "so", Code: "1", Result: "2", Failed: true}},
			}}, nil
		})
	}
	var id string
	t.Run("before", func(t *testing.T) {
		s, _ := m.process(t, talks)
		id = send(t, s, "", plain).ChatID
		ask(t, s, id, "set x")
	})
	s, _ := m.process(t, talks)
	if reply := send(t, s, id, plain); reply.State != chat.Reset {
		t.Errorf("state %q; want reset", reply.State)
	}
	if len(told) != 2 {
		t.Fatalf("the model is told of %d turns; want 2", len(told))
	}
	want := agent.Exchange{Message: plain, Answer: "done", Steps: []agent.Step{{Said: "so", Code: "1", Result: "2", Failed: true}}}
	if diff := cmp.Diff(want, told[0]); diff != "" {
		t.Errorf("the first turn as the model is told of it (-want +got):\n%s", diff)
	}
	turns, err := m.records(t).Turns(t.Context(), id, 10)
	if err != nil || len(turns) != 3 {
		t.Fatalf("%d turns are kept, %v; want 3", len(turns), err)
	}
	if got := turns[1].Runs; len(got) != 1 || got[0].Code != do("set x") {
		t.Errorf("the runs of the second turn: %+v; want its code", got)
	}
}

// Two processes use a chat in turn: it moves when the other one asks, and its files with it.
func TestChatMovesBetweenProcesses(t *testing.T) {
	extent.Slow(t)
	t.Parallel()
	m := machine{t.TempDir()}
	a, _ := m.process(t, nil)
	b, wb := m.process(t, nil)
	id := ask(t, a, "", "set x").ChatID
	ask(t, a, id, "file f 1")
	moved := ask(t, b, id, "get x")
	if moved.State != chat.Reset || !strings.Contains(moved.StateReason, "another process") || a.Living() != 0 {
		t.Errorf("state %q, %q with %d interpreters in the first process; want reset, with none", moved.State, moved.StateReason, a.Living())
	}
	if got, err := wb.root.ReadFile("1/f"); string(got) != "1" || err != nil {
		t.Errorf("the file is %q, %v; want 1", got, err)
	}
	ask(t, b, id, "file f 2")
	back := ask(t, a, id, "get x")
	if back.State != chat.Reset || read(t, a, "runpython://chats/"+id+"/files/f") != "2" {
		t.Errorf("state %q on the way back; want reset, with the newer file", back.State)
	}
	if kept := ask(t, a, id, "set y"); kept.State != chat.Kept {
		t.Errorf("state %q of the turn after; want kept", kept.State)
	}
}

// A turn under way is not disturbed by a process that asks for its chat.
func TestChatMovesAfterItsTurn(t *testing.T) {
	t.Parallel()
	m := machine{t.TempDir()}
	a, wa := m.process(t, nil)
	b, _ := m.process(t, nil)
	id := ask(t, a, "", "set x").ChatID
	running := begin(t.Context(), a, id, "wait")
	asked := make(chan struct{}, 1)
	other := beside(t.Context(), b, chat.Request{ChatID: id, Message: do("set y"), Progress: func(p chat.Progress) {
		if p.Step == "waiting" {
			asked <- struct{}{}
		}
	}})
	<-asked
	select {
	case got := <-other:
		t.Errorf("beside a turn of the first process: %v; want that it waits", got)
	case wa.release <- struct{}{}:
	}
	if got := <-running; got.err != nil || got.reply.IsError {
		t.Errorf("the turn that was under way: %v", got)
	}
	if got := <-other; got.err != nil || got.reply.State != chat.Reset {
		t.Errorf("the turn of the other process: %v; want it, with a reset", got)
	}
}

// A process that wakes late runs nothing with what it had: it asks for the chat like any other.
func TestLateProcessAsks(t *testing.T) {
	extent.Slow(t)
	t.Parallel()
	m := machine{t.TempDir()}
	a, _ := m.process(t, nil)
	id := ask(t, a, "", "set x").ChatID
	var lease store.Lease
	for _, h := range heldBy(t, a) {
		lease = h
	}
	// The chat is taken from it, as when its time was over.
	if err := m.records(t).Release(t.Context(), lease, ""); err != nil {
		t.Fatal(err)
	}
	b, _ := m.process(t, nil)
	ask(t, b, id, "set y")
	late := ask(t, a, id, "get x")
	if late.State != chat.Reset || a.Living() != 1 || b.Living() != 0 {
		t.Errorf("state %q with %d and %d interpreters; want reset, with the one of who asked last", late.State, a.Living(), b.Living())
	}
}

func heldBy(t *testing.T, s *chat.Service) []store.Lease {
	t.Helper()
	held := s.Leases()
	if len(held) != 1 {
		t.Fatalf("%d chats are held; want 1", len(held))
	}
	return held
}

// What takes more than all chats may have makes room: the chat that was used least recently goes.
func TestStorageIsBounded(t *testing.T) {
	s, dir := keeping(t, func(l *chat.Limits) { l.Chats, l.Storage = 3, 8000 })
	var ids []string
	for range 3 {
		id := ask(t, s, "", "set x").ChatID
		if _, err := s.PutFile(t.Context(), "", id, "f", strings.NewReader(id+strings.Repeat("x", 5000))); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
	}
	ask(t, s, "", "set x") // as many as there may be: old ones are looked for
	for i, id := range ids {
		known := ask(t, s, id, "set y").ChatID != ""
		if want := i == 2; known != want {
			t.Errorf("chat %d of 3 is known: %v; want %v", i+1, known, want)
		}
	}
	wantContents(t, dir, "of the last chat", 1)
}

// CHT-12: chats that come and go leave nothing in memory and on the disk.
func TestChatsComeAndGo(t *testing.T) {
	extent.Slow(t)
	s, dir := keeping(t, nil)
	for i := range 200 {
		id := ask(t, s, "", "set x").ChatID
		ask(t, s, id, "file f "+id)
		if err := s.Delete(t.Context(), "", id); err != nil {
			t.Fatalf("chat %d: %v", i, err)
		}
	}
	wantContents(t, dir, "after all", 0)
	if n := s.Conversations(); n != 0 || s.Living() != 0 {
		t.Errorf("%d conversations and %d interpreters after all; want none", n, s.Living())
	}
}

// brokenStore cannot write as long as it is broken.
type brokenStore struct {
	*database.Store
	broken atomic.Bool
}

func (b *brokenStore) SaveChat(ctx context.Context, l store.Lease, c store.Chat) error {
	if b.broken.Load() {
		return fault.New(fault.Busy, nil, "the disk of the server's database is full; tell the operator")
	}
	return b.Store.SaveChat(ctx, l, c) //nolint:wrapcheck // the same contract
}

func (b *brokenStore) SaveTurn(ctx context.Context, l store.Lease, c store.Chat, turn store.Turn, most int) ([]string, error) {
	if b.broken.Load() {
		return nil, fault.New(fault.Busy, nil, "the disk of the server's database is full; tell the operator")
	}
	return b.Store.SaveTurn(ctx, l, c, turn, most) //nolint:wrapcheck // the same contract
}

// CHT-13: a turn that cannot be kept shows what its code has done, says so once, and the chat goes on.
func TestTurnThatCannotBeKept(t *testing.T) {
	broken := &brokenStore{}
	s, _ := newService(t, func(o *chat.Options) {
		broken.Store = records(t)
		o.Store = broken
	})
	id := ask(t, s, "", "set x").ChatID
	broken.broken.Store(true)
	got := ask(t, s, id, "get x")
	if !got.IsError || got.Runs[0].Value != "x" || strings.Count(got.Text, "not kept") != 1 || !strings.Contains(got.Text, "disk of the server's database is full") {
		t.Errorf("a turn that cannot be kept: %+v; want its value, and that it is not kept", got)
	}
	broken.broken.Store(false)
	if next := ask(t, s, id, "get x"); next.IsError || next.State != chat.Kept {
		t.Errorf("the turn after: %+v; want it, with the variables", next)
	}
	if turns, err := broken.Turns(t.Context(), id, 10); len(turns) != 2 || err != nil {
		t.Errorf("%d turns are kept, %v; want the two that were not refused", len(turns), err)
	}
}

// What a process only asked for, or looked at to see whether it is old, takes none of its memory.
func TestChatsOfOthersTakeNoMemory(t *testing.T) {
	m := machine{t.TempDir()}
	a, wa := m.process(t, nil)
	b, _ := m.process(t, func(o *chat.Options) { o.Limits.Chats = 1 })
	id := ask(t, a, "", "set x").ChatID
	running := begin(t.Context(), a, id, "wait")
	ctx, stop := context.WithCancel(t.Context())
	given := beside(ctx, b, chat.Request{ChatID: id, Message: do("set y"), Progress: func(p chat.Progress) {
		if p.Step == "waiting" {
			stop()
		}
	}})
	if got := <-given; got.err == nil {
		t.Errorf("a turn that was stopped while it waited for another process: %v", got)
	}
	if prose := send(t, b, id, plain); !prose.IsError || prose.State != "" {
		t.Errorf("prose for the chat of another process: %+v; want no state", prose)
	}
	own := ask(t, b, "", "set z").ChatID // a chat too many: the old one is looked at
	if n := b.Conversations(); n != 1 {
		t.Errorf("%d chats are in memory; want the own one", n)
	}
	wa.release <- struct{}{}
	if got := <-running; got.err != nil || got.reply.IsError {
		t.Errorf("the turn of the first process: %v", got)
	}
	if got := ask(t, b, own, "get z"); got.IsError {
		t.Errorf("the own chat: %+v", got)
	}
}

// A call that is stopped while the store is asked is told so, and not that the store has failed.
func TestStoppedBeforeAnythingRuns(t *testing.T) {
	s, _ := newService(t, nil)
	id := ask(t, s, "", "set x").ChatID
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Turn(ctx, chat.Request{ChatID: id, Message: do("get x")})
	if kind, text := fault.Shown(err); kind != fault.Canceled {
		t.Errorf("Turn: %v, shown as %q", err, text)
	}
	if reply := ask(t, s, id, "get x"); reply.IsError || reply.State != chat.Kept {
		t.Errorf("after it: %+v", reply)
	}
}
