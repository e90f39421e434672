package chat_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"runpython/internal/chat"
	"runpython/internal/extent"
	"runpython/internal/fault"
	"runpython/internal/store"
	"runpython/internal/store/database"
)

// A process that was killed right after the undo was written leaves a chat that goes on as it was before the turn, and what nobody
// needs is removed later.
func TestUndoThatWasKilled(t *testing.T) {
	m := machine{t.TempDir()}
	var id string
	t.Run("before", func(t *testing.T) {
		s, _ := m.sleeping(t, func(o *chat.Options) { o.Limits.Kernels = 1 })
		id = ask(t, s, "", "file a.txt one").ChatID
		ask(t, s, "", "set o") // makes room
		ask(t, s, id, "file a.txt two")
	})
	db := m.records(t)
	l, _, err := db.Take(t.Context(), id)
	if err == nil {
		_, err = db.Undo(t.Context(), l, store.Undo{Turn: 2, Run: 2})
	}
	if err = errors.Join(err, db.Release(t.Context(), l, "")); err != nil {
		t.Fatal(err)
	}
	s, _ := m.sleeping(t, nil)
	if files, turns := paths(t, s, id); !slices.Equal(files, []string{"a.txt"}) || turns != 1 {
		t.Errorf("files %v, %d turns; want a.txt and 1", files, turns)
	}
	reply := ask(t, s, id, "show a.txt")
	if reply.State != chat.Restored || reply.Runs[0].Value != "one" || len(reply.Problems) != 0 {
		t.Errorf("the chat goes on with %+v, state %q, %q", reply.Runs, reply.State, reply.Problems)
	}
}

// A disk that is full, and a caller who stops, leave nothing of a fork.
func TestForkThatFails(t *testing.T) {
	m := machine{t.TempDir()}
	full := &fullBedroom{}
	s, _ := m.sleeping(t, func(o *chat.Options) {
		full.bedroom = o.Checkpoints.(*bedroom)
		o.Checkpoints = full
	})
	id := ask(t, s, "", "set x").ChatID
	_, err := s.Fork(t.Context(), "", id)
	if kind, text := fault.Shown(err); kind != fault.Busy || !strings.Contains(text, "disk is full") {
		t.Errorf("Fork on a full disk = %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = s.Fork(ctx, "", id)
	if kind, _ := fault.Shown(err); kind != fault.Canceled {
		t.Errorf("Fork that is stopped = %v; want canceled", err)
	}
	_, err = s.Undo(ctx, "", id)
	if kind, _ := fault.Shown(err); kind != fault.Canceled {
		t.Errorf("Undo that is stopped = %v; want canceled", err)
	}
	all, err := s.Summaries(t.Context())
	if len(all) != 1 || all[0].Turns != 1 || err != nil {
		t.Errorf("there are %+v, %v; want the chat as it was", all, err)
	}
	if n := len(m.folders(t)); n != 1 {
		t.Errorf("%d checkpoints; want that of the chat", n)
	}
	wantGot(t, ask(t, s, id, "get x"), chat.Kept)
}

// fullBedroom has no room for copies.
type fullBedroom struct{ *bedroom }

func (fullBedroom) Copy(_, to string) error {
	return fmt.Errorf("copy: %w", &os.PathError{Op: "link", Path: filepath.Base(to), Err: syscall.ENOSPC})
}

// overdue is a context that ends as at a deadline.
type overdue struct{ context.Context } //nolint:containedctx // it is one

func (o overdue) Err() error {
	if o.Context.Err() != nil {
		return context.DeadlineExceeded
	}
	return nil
}

// Where the checkpoint that an undo goes back to is damaged, all runs are executed again, and the reply says why in one sentence.
func TestUndoToADamagedCheckpoint(t *testing.T) {
	m := machine{t.TempDir()}
	s, _ := m.sleeping(t, func(o *chat.Options) { o.Limits.Kernels = 1 })
	id := ask(t, s, "", "set x").ChatID
	other := ask(t, s, "", "set o").ChatID // which makes room
	ask(t, s, id, "set y")
	ask(t, s, other, "set o")
	undo(t, s, id)
	for _, dir := range m.folders(t) {
		if err := os.WriteFile(filepath.Join(dir, "kept"), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	reply := ask(t, s, id, "get x")
	wantGot(t, reply, chat.Restored)
	wantTold(t, reply, "the runs of turn 1 were executed again", "The variables could not come from turn 1: its checkpoint cannot be used: it is damaged.")
}

// Runs that take longer than a turn may would never end in the next one either: then the variables are lost, which is told.
func TestReplayThatTakesTooLong(t *testing.T) {
	s, w := newService(t, nil)
	id := ask(t, s, "", "set x").ChatID
	released := make(chan struct{})
	close(released)
	blocked := w.release
	w.release = released
	ask(t, s, id, "wait")
	w.release = blocked
	ask(t, s, id, "set y")
	undo(t, s, id)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := s.Turn(overdue{ctx}, chat.Request{ChatID: id, Message: do("get x"), Progress: func(p chat.Progress) {
		if p.Step == "executing turn 2 again" {
			cancel()
		}
	}})
	if err == nil {
		t.Error("a turn whose time was over went on")
	}
	wantState(t, ask(t, s, id, "set z"), chat.Reset, "took longer than the turn may")
	wantGot(t, ask(t, s, id, "get z"), chat.Kept)
}

// unreadable is a store that does not give turns as long as it is told so.
type unreadable struct {
	*database.Store
	broken atomic.Bool
	breaks bool // once a turn was undone
}

func (u *unreadable) Undo(ctx context.Context, l store.Lease, n store.Undo) (store.Undone, error) {
	defer u.broken.Store(u.breaks)
	return u.Store.Undo(ctx, l, n) //nolint:wrapcheck // the same contract
}

func (u *unreadable) Turns(ctx context.Context, id string, most int) ([]store.Turn, error) {
	if u.broken.Load() {
		return nil, fault.New(fault.Busy, nil, "the database cannot be read")
	}
	return u.Store.Turns(ctx, id, most) //nolint:wrapcheck // the same contract
}

// A process that takes a chat, or undoes a turn of it, and cannot read what there is lets go of it: else nobody would get the
// chat as long as that process lives.
func TestChatThatCannotBeReadIsLetGo(t *testing.T) {
	extent.Slow(t)
	t.Parallel()
	for _, what := range []string{"taken", "undone"} {
		t.Run(what, func(t *testing.T) {
			m := machine{t.TempDir()}
			a, _ := m.sleeping(t, nil)
			broken := &unreadable{Store: m.records(t), breaks: true}
			b, _ := m.sleeping(t, func(o *chat.Options) { o.Store = broken })
			id := ask(t, a, "", "set x").ChatID
			ask(t, a, id, "set y")
			broken.broken.Store(what == "taken")
			if _, err := b.Undo(t.Context(), "", id); err == nil {
				t.Fatal("Undo in a chat that cannot be read is no error")
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // else it would wait for ever
			defer cancel()
			if reply, err := a.Turn(ctx, chat.Request{ChatID: id, Message: do("get x")}); err != nil || reply.IsError || reply.State != chat.Restored {
				t.Errorf("the next turn of another process: %+v, %v; want it, with the variables", reply, err)
			}
		})
	}
}
