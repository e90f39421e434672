package chat_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"runpython/internal/chat"
	"runpython/internal/extent"
	"runpython/internal/fault"
	"runpython/internal/kernel"
	"runpython/internal/store"
	"runpython/internal/store/database"
)

// kept is what a checkpoint of a fake has.
type kept struct {
	Names map[string]bool
	Files map[string]string
}

// bedroom keeps checkpoints of fakes in a folder.
type bedroom struct {
	world    *world
	dir      string
	bound    string
	stranded []chat.Stranded // guests of killed processes

	size, shared int64 // bytes of each checkpoint, and of what they share
}

func (s *bedroom) Dir() string                { return s.dir }
func (s *bedroom) Bound() string              { return s.bound }
func (s *bedroom) Size(string) (int64, error) { return s.size, nil }
func (s *bedroom) Shared() (int64, error)     { return s.shared, nil }
func (s *bedroom) Remove(dir string) error    { return os.RemoveAll(dir) }

func (s *bedroom) Rescue(ctx context.Context, wanted func(string) bool, keep func(context.Context, chat.Stranded) (bool, error)) error {
	var left []chat.Stranded
	var err error
	for _, g := range s.stranded {
		leave := true
		if wanted(g.Label) {
			var keepErr error
			leave, keepErr = keep(ctx, g)
			err = errors.Join(err, keepErr)
		}
		if leave {
			left = append(left, g)
		}
	}
	s.stranded = left
	return err
}
func (s *bedroom) Copy(from, to string) error { return os.CopyFS(to, os.DirFS(from)) }

func (s *bedroom) Resume(_ context.Context, _ chat.Start, dir string, prepare func(string, bool) error) (chat.Interpreter, error) {
	text, err := os.ReadFile(filepath.Join(dir, "kept"))
	var k kept
	if err == nil {
		err = json.Unmarshal(text, &k)
	}
	if err != nil {
		return nil, fault.New(fault.Unsupported, err, "its checkpoint cannot be used: it is damaged")
	}
	w := s.world
	f := &fake{world: w, names: k.Names, files: k.Files, end: make(chan struct{})}
	if w.packages {
		f.environment = filepath.Join(dir, "env")
		if err := errors.Join(os.MkdirAll(f.environment, 0o700), prepare(f.environment, false)); err != nil {
			return nil, err
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.started++
	w.living++
	w.peak = max(w.peak, w.living)
	return f, nil
}

// sleeping starts one more process of a machine, whose interpreters leave checkpoints.
func (m machine) sleeping(t *testing.T, change func(*chat.Options)) (*chat.Service, *world) {
	t.Helper()
	at := &bedroom{dir: filepath.Join(m.dir, "checkpoints"), bound: "python"}
	if err := os.MkdirAll(at.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s, w := m.process(t, func(o *chat.Options) {
		o.Checkpoints, o.Limits.Idle = at, time.Hour
		if change != nil {
			change(o)
		}
	})
	at.world = w
	return s, w
}

// folders are those of the checkpoints that there are.
func (m machine) folders(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(m.dir, "checkpoints", "*"))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func wantState(t *testing.T, reply *chat.Reply, want chat.State, reason string) {
	t.Helper()
	if reply.State != want || !strings.Contains(reply.StateReason, reason) || reason == "" && reply.StateReason != "" {
		t.Errorf("state %q, %q; want %q, %q", reply.State, reply.StateReason, want, reason)
	}
}

// wantGot wants that "get" has found its name.
func wantGot(t *testing.T, reply *chat.Reply, state chat.State) {
	t.Helper()
	wantState(t, reply, state, "")
	if reply.IsError {
		t.Errorf("the variable is not there: %s", reply.Text)
	}
}

// CHT-04, CHT-06: who has to make room comes back with variables and files.
func TestVariablesOutliveTheRoom(t *testing.T) {
	m := machine{t.TempDir()}
	s, w := m.sleeping(t, func(o *chat.Options) { o.Limits.Kernels = 1 })
	first := ask(t, s, "", "set x").ChatID
	ask(t, s, first, "file data.csv 17")
	second := ask(t, s, "", "set y").ChatID
	for range 3 {
		wantGot(t, ask(t, s, first, "get x"), chat.Restored)
		wantGot(t, ask(t, s, second, "get y"), chat.Restored)
	}
	wantGot(t, ask(t, s, second, "get y"), chat.Kept)
	if w.peak != 1 {
		t.Errorf("%d interpreters at once; want 1", w.peak)
	}
	if n := len(m.folders(t)); n != 4 {
		t.Errorf("%d checkpoints of 2 chats; want 4: beside the latest the one before it is kept", n)
	}
}

// Where no checkpoint can be made the variables are lost, and the chat says why.
func TestNoCheckpointIsTold(t *testing.T) {
	m := machine{t.TempDir()}
	s, w := m.sleeping(t, func(o *chat.Options) { o.Limits.Kernels = 1 })
	w.refuse.Store(true)
	id := ask(t, s, "", "set x").ChatID
	ask(t, s, "", "set y")
	wantState(t, ask(t, s, id, "get x"), chat.Reset, "make room")
}

// CHT-04: an orderly end keeps the variables of all chats, and what was told to be lost stays lost.
func TestVariablesOutliveTheProcess(t *testing.T) {
	m := machine{t.TempDir()}
	var ids []string
	var crashed string
	t.Run("before", func(t *testing.T) {
		s, _ := m.sleeping(t, nil)
		for range 6 {
			ids = append(ids, ask(t, s, "", "set x").ChatID)
		}
		crashed = ask(t, s, "", "set x").ChatID
		ask(t, s, crashed, "crash")
	})
	s, _ := m.sleeping(t, nil)
	for _, id := range ids {
		wantGot(t, ask(t, s, id, "get x"), chat.Restored)
		wantGot(t, ask(t, s, id, "get x"), chat.Kept)
	}
	wantState(t, ask(t, s, crashed, "get x"), chat.Reset, "crashed")
	if id := ids[0]; s.Delete(t.Context(), "", id) != nil || len(m.folders(t)) != len(ids) {
		t.Errorf("%d checkpoints after a chat was deleted; want %d", len(m.folders(t)), len(ids))
	}
}

// A checkpoint that cannot be used ends in a reset with the reason, never in an error.
func TestUnusableCheckpoints(t *testing.T) {
	for _, c := range []struct {
		name, reason string
		spoil        func(t *testing.T, m machine, o *chat.Options, id string)
	}{
		{"damaged", "damaged", func(t *testing.T, m machine, _ *chat.Options, _ string) {
			if err := os.WriteFile(filepath.Join(m.folders(t)[0], "kept"), []byte("{"), 0o600); err != nil {
				t.Fatal(err)
			}
		}},
		{"of another version", "another version", func(_ *testing.T, _ machine, o *chat.Options, _ string) {
			o.Checkpoints.(*bedroom).bound = "another"
		}},
		{"gone", "damaged", func(t *testing.T, m machine, _ *chat.Options, _ string) {
			if err := os.RemoveAll(m.folders(t)[0]); err != nil {
				t.Fatal(err)
			}
		}},
		{"older than the last turn", "restarted", func(t *testing.T, m machine, _ *chat.Options, id string) {
			db := m.records(t)
			l, c, err := db.Take(t.Context(), id)
			if err == nil {
				err = errors.Join(saveTurn(t, db, l, c, store.Turn{Number: 2, Runs: []store.Run{{Code: "x"}}}), db.Release(t.Context(), l, ""))
			}
			if err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := machine{t.TempDir()}
			var id string
			t.Run("before", func(t *testing.T) {
				s, _ := m.sleeping(t, nil)
				id = ask(t, s, "", "set x").ChatID
			})
			s, _ := m.sleeping(t, func(o *chat.Options) { c.spoil(t, m, o, id) })
			reply := ask(t, s, id, "set y")
			wantState(t, reply, chat.Reset, c.reason)
			if reply.IsError {
				t.Errorf("an error: %s", reply.Text)
			}
			wantGot(t, ask(t, s, id, "get y"), chat.Kept)
		})
	}
}

// A turn in which nothing ran does not make a checkpoint older.
func TestWordsDoNotOutdate(t *testing.T) {
	m := machine{t.TempDir()}
	var id string
	t.Run("before", func(t *testing.T) {
		s, _ := m.sleeping(t, nil)
		id = ask(t, s, "", "set x").ChatID
	})
	db := m.records(t)
	l, c, err := db.Take(t.Context(), id)
	if err == nil {
		err = errors.Join(saveTurn(t, db, l, c, store.Turn{Number: 2, Message: "hello"}), db.Release(t.Context(), l, ""))
	}
	if err != nil {
		t.Fatal(err)
	}
	s, _ := m.sleeping(t, nil)
	wantGot(t, ask(t, s, id, "get x"), chat.Restored)
}

// A file that comes while the interpreter is on the disk is there with the variables.
func TestUploadIntoACheckpoint(t *testing.T) {
	m := machine{t.TempDir()}
	var id string
	for round, name := range []string{"a.txt", "b.txt"} {
		t.Run(name, func(t *testing.T) {
			s, _ := m.sleeping(t, nil)
			if round == 0 {
				id = ask(t, s, "", "set x").ChatID
			}
			if _, err := s.PutFile(t.Context(), "", id, name, strings.NewReader(name)); err != nil {
				t.Fatal(err)
			}
		})
	}
	s, _ := m.sleeping(t, nil)
	wantGot(t, ask(t, s, id, "get x"), chat.Restored)
	text, err := os.ReadFile(filepath.Join(m.folders(t)[0], "kept"))
	if err != nil || !strings.Contains(string(text), "a.txt") || !strings.Contains(string(text), "b.txt") {
		t.Errorf("the interpreter has %s, %v; want both files", text, err)
	}
}

// A chat that another process wants comes there with its variables.
func TestVariablesMove(t *testing.T) {
	t.Parallel()
	m := machine{t.TempDir()}
	a, _ := m.sleeping(t, nil)
	b, _ := m.sleeping(t, nil)
	id := ask(t, a, "", "set x").ChatID
	wantGot(t, ask(t, b, id, "get x"), chat.Restored)
	wantGot(t, ask(t, a, id, "get x"), chat.Restored)
}

// An idle interpreter is freed, with a checkpoint.
func TestIdleIsFreed(t *testing.T) {
	m := machine{t.TempDir()}
	s, w := m.sleeping(t, func(o *chat.Options) { o.Limits.Idle = time.Millisecond })
	id := ask(t, s, "", "set x").ChatID
	for look := time.Tick(time.Millisecond); s.Living() > 0; {
		<-look
	}
	wantGot(t, ask(t, s, id, "get x"), chat.Restored)
	if n := w.checkpoints.Load(); n < 1 {
		t.Errorf("%d checkpoints; want some", n)
	}
}

// A quiet chat gets a checkpoint once, beside its interpreter, which goes on.
func TestQuietChatGetsACheckpoint(t *testing.T) {
	extent.Slow(t)
	t.Parallel()
	m := machine{t.TempDir()}
	s, w := m.sleeping(t, nil)
	id := ask(t, s, "", "set x").ChatID
	for look := time.Tick(time.Millisecond); len(m.folders(t)) == 0 || w.checkpoints.Load() == 0; {
		<-look
	}
	wantGot(t, ask(t, s, id, "get x"), chat.Kept)
}

// A checkpoint that a turn has gone before is made once the chat is quiet again, and nobody hears of it.
func TestDisturbedCheckpointIsMadeLater(t *testing.T) {
	extent.Slow(t)
	t.Parallel()
	m := machine{t.TempDir()}
	s, w := m.sleeping(t, nil)
	w.against.Store(&kernel.ErrDisturbed)
	id := ask(t, s, "", "set x").ChatID
	look := time.Tick(time.Millisecond)
	for w.disturbed.Load() == 0 {
		<-look
	}
	w.against.Store(nil)
	for len(m.folders(t)) == 0 || w.checkpoints.Load() == 0 {
		<-look
	}
	wantGot(t, ask(t, s, id, "get x"), chat.Kept)
}

// What holds too much for a checkpoint beside its chat gets one when it is idle.
func TestLargeChatIsCheckpointedWhenItIsIdle(t *testing.T) {
	m := machine{t.TempDir()}
	s, w := m.sleeping(t, func(o *chat.Options) { o.Limits.Idle = time.Millisecond })
	w.against.Store(&kernel.ErrTooLarge)
	id := ask(t, s, "", "set x").ChatID
	for look := time.Tick(time.Millisecond); s.Living() > 0; {
		<-look
	}
	wantGot(t, ask(t, s, id, "get x"), chat.Restored)
}

// Issue 7, item 9: checkpoints count for the storage of all chats, each with what it takes, and what they share once.
func TestCheckpointsCountAsStorage(t *testing.T) {
	for _, c := range []struct {
		name         string
		size, shared int64
		limit        int64
		kept         int // of three chats, of which one goes since there are too many
	}{
		{"little", 10_000, 0, 25_000, 2},
		{"each too much", 10_000, 0, 5_000, 1},
		{"too much together", 10_000, 20_000, 25_000, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := machine{t.TempDir()}
			s, _ := m.sleeping(t, func(o *chat.Options) {
				o.Limits.Kernels, o.Limits.Chats, o.Limits.Storage = 1, 3, c.limit
				o.Checkpoints.(*bedroom).size, o.Checkpoints.(*bedroom).shared = c.size, c.shared
			})
			var ids []string
			for range 3 {
				ids = append(ids, ask(t, s, "", "set x").ChatID) // who comes next has the one before make room, with a checkpoint
			}
			ask(t, s, "", "set x") // as many as there may be: old ones are looked for
			kept := 0
			for _, id := range ids {
				if ask(t, s, id, "get x").ChatID != "" {
					kept++
				}
			}
			if kept != c.kept {
				t.Errorf("%d chats are kept; want %d", kept, c.kept)
			}
		})
	}
}

// saveTurn saves a turn by hand.
func saveTurn(t *testing.T, db *database.Store, l store.Lease, c store.Chat, turn store.Turn) error {
	t.Helper()
	_, err := db.SaveTurn(t.Context(), l, c, turn, 9)
	return err
}
