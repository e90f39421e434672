package chat_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"runpython/internal/chat"
	"runpython/internal/extent"
	"runpython/internal/fault"
	"runpython/internal/store"
	"runpython/internal/store/database"
)

// rescuedID is the chat of a process that was killed.
var rescuedID = strings.Repeat("a", 26)

// storeX is Stranded.Store of a guest in which x is set.
func storeX(_ context.Context, dir string) error {
	text, err := json.Marshal(kept{Names: map[string]bool{"x": true}})
	return errors.Join(err, os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "kept"), text, 0o600))
}

// guestOf is a guest of a process that had the chat by the lease of this fence.
func guestOf(fence int) chat.Stranded {
	return chat.Stranded{Label: fmt.Sprintf("%s %d", rescuedID, fence), Store: storeX}
}

// afterOne has a process keep one turn of the chat, and go without a word of why the variables are lost.
func (m machine) afterOne(t *testing.T) *database.Store {
	t.Helper()
	dead := m.records(t)
	c := store.Chat{ID: rescuedID, Runs: 1}
	l, err := dead.Begin(t.Context(), c)
	if err == nil {
		err = errors.Join(saveTurn(t, dead, l, c, store.Turn{Number: 1, Runs: []store.Run{{Code: "x"}}}), dead.Release(t.Context(), l, ""))
	}
	if err != nil {
		t.Fatal(err)
	}
	return dead
}

// moved has the chat be taken and let go once more, with or without something written.
func moved(t *testing.T, s *database.Store, writes bool) {
	t.Helper()
	l, c, err := s.Take(t.Context(), rescuedID)
	if err == nil && writes {
		err = s.SaveChat(t.Context(), l, c)
	}
	if err == nil {
		err = s.Release(t.Context(), l, "")
	}
	if err != nil {
		t.Fatal(err)
	}
}

// A guest of a killed process is rescued unless its chat has gone on without it: when the server starts, and when a process
// that lives takes the chat. Who is killed in the middle of a rescue leaves it to the next one.
func TestRescue(t *testing.T) {
	extent.Slow(t)
	for _, c := range []struct {
		name          string
		moves, writes bool // another process had the chat meanwhile, and wrote something
		busy          bool
		state         chat.State
	}{
		{name: "idle", state: chat.Restored},
		{name: "busy", busy: true, state: chat.Restored},
		{name: "by one that was killed meanwhile", moves: true, state: chat.Restored},
		{name: "in other hands since", moves: true, writes: true, state: chat.Reset},
	} {
		for _, atStart := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, at the start %v", c.name, atStart), func(t *testing.T) {
				m := machine{t.TempDir()}
				dead := m.afterOne(t)
				if c.moves {
					moved(t, dead, c.writes)
				}
				g := guestOf(1)
				g.Busy = c.busy
				var at *bedroom
				s, _ := m.sleeping(t, func(o *chat.Options) { at = o.Checkpoints.(*bedroom) })
				if atStart {
					if leave, err := s.Rescue(t.Context(), g); leave || err != nil {
						t.Fatalf("Rescue() = %v, %v", leave, err)
					}
				} else {
					at.stranded = []chat.Stranded{{Label: strings.Repeat("b", 26) + " 1"}, g}
				}
				reply := ask(t, s, rescuedID, "get x")
				if told := strings.Contains(reply.Text, "interrupted"); reply.State != c.state || told != c.busy {
					t.Errorf("state %q, told of an interrupt: %v; want %q, %v", reply.State, told, c.state, c.busy)
				}
				if again := ask(t, s, rescuedID, "set y"); strings.Contains(again.Text, "interrupted") || again.State != chat.Kept {
					t.Errorf("the turn after: %q, %s", again.State, again.Text)
				}
				if !atStart && len(at.stranded) != 1 {
					t.Errorf("guests %v are left; want that of another chat", at.stranded)
				}
			})
		}
	}
}

// A guest whose chat another process has is left to that one, at once.
func TestRescueLeavesTheChatsOfOthers(t *testing.T) {
	m := machine{t.TempDir()}
	dead := m.afterOne(t)
	if _, _, err := dead.Take(t.Context(), rescuedID); err != nil { // it is the other one by now
		t.Fatal(err)
	}
	s, _ := m.sleeping(t, nil)
	g := guestOf(1)
	g.Store = func(context.Context, string) error { panic("it is another's") }
	if leave, err := s.Rescue(t.Context(), g); !leave || err != nil {
		t.Errorf("Rescue() = %v, %v; want that it is left", leave, err)
	}
}

// Without room for the checkpoint the guest is left, the turn says so, and the next one has the variables.
func TestRescueWithoutRoom(t *testing.T) {
	m := machine{t.TempDir()}
	m.afterOne(t)
	full := fault.New(fault.Busy, nil, "the server's disk is full; tell the operator")
	g := guestOf(1)
	g.Store = func(context.Context, string) error { return full }
	var at *bedroom
	s, _ := m.sleeping(t, func(o *chat.Options) { at = o.Checkpoints.(*bedroom) })
	if leave, err := s.Rescue(t.Context(), g); !leave || err == nil {
		t.Errorf("Rescue() = %v, %v; want that it is left, with the error", leave, err)
	}
	at.stranded = []chat.Stranded{g}
	_, err := s.Turn(t.Context(), chat.Request{ChatID: rescuedID, Message: do("get x")})
	if kind, text := fault.Shown(err); kind != fault.Busy || !strings.Contains(text, "disk is full") {
		t.Errorf("Turn without room: %v", err)
	}
	at.stranded = []chat.Stranded{guestOf(1)}
	wantGot(t, ask(t, s, rescuedID, "get x"), chat.Restored)
}

// Labels are read from the folders of guests, and a guest of another chat than ours is left alone.
func TestRescueOfUnknown(t *testing.T) {
	s, _ := machine{t.TempDir()}.sleeping(t, nil)
	for _, label := range []string{"", "x", "../.. 1", strings.Repeat("a", 26), strings.Repeat("a", 26) + " x", strings.Repeat("b", 26) + " 1"} {
		leave, err := s.Rescue(t.Context(), chat.Stranded{Label: label, Store: func(context.Context, string) error { panic("it is nobody's") }})
		if leave || err != nil {
			t.Errorf("Rescue(%q) = %v, %v", label, leave, err)
		}
	}
}

// A guest of a process that was killed while it executed the runs of a chat again has not the variables of the last turn.
func TestRescueInTheMiddleOfAReplay(t *testing.T) {
	m := machine{t.TempDir()}
	dead := m.afterOne(t)
	l, c, err := dead.Take(t.Context(), rescuedID)
	if err != nil {
		t.Fatal(err)
	}
	c.Replay = store.ReplayAsKept
	if err := errors.Join(dead.SaveChat(t.Context(), l, c), dead.Release(t.Context(), l, "")); err != nil {
		t.Fatal(err)
	}
	s, _ := m.sleeping(t, nil)
	if leave, err := s.Rescue(t.Context(), guestOf(int(l.Fence))); leave || err != nil {
		t.Fatalf("Rescue() = %v, %v", leave, err)
	}
	if kept, err := dead.Checkpoint(t.Context(), rescuedID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the checkpoint %+v, %v is kept; want none", kept, err)
	}
}
