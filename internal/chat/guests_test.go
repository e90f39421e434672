package chat_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/chat"
	"runpython/internal/extent"
	"runpython/internal/fault"
	"runpython/internal/guesttest"
	"runpython/internal/kernel"
	"runpython/internal/sandbox"
	"runpython/internal/store/database"
	"runpython/internal/store/sqlite"
	"runpython/internal/store/storetest"
)

// guests are real interpreters and their checkpoints.
type guests struct {
	setup *guesttest.Setup
	host  *sandbox.Host
	dir   string
}

func (g *guests) config() kernel.Config {
	return kernel.Config{RunTimeout: time.Minute, Limits: g.setup.Config.Limits, Log: g.setup.Config.Log}
}

func (g *guests) start(ctx context.Context, _ chat.Start, fill func(dir string) error) (chat.Interpreter, error) {
	s, err := g.host.Take(ctx)
	if err != nil {
		return nil, err
	}
	if err := fill(s.Uploads); err != nil {
		return nil, err
	}
	return kernel.New(ctx, s, g.config(), g.setup.Key)
}

func (g *guests) Dir() string                    { return g.dir }
func (g *guests) Bound() string                  { return g.setup.Key }
func (g *guests) Remove(dir string) error        { return sandbox.RemoveCheckpoint(dir) }
func (g *guests) Copy(from, to string) error     { return sandbox.CopyCheckpoint(from, to) }
func (g *guests) Size(dir string) (int64, error) { return sandbox.CheckpointBytes(dir) }
func (g *guests) Shared() (int64, error)         { return sandbox.ImageBytes(g.setup.Config.Data, g.dir) }

// Rescue finds nothing: no process was killed.
func (g *guests) Rescue(context.Context, func(string) bool, func(context.Context, chat.Stranded) (bool, error)) error {
	return nil
}

func (g *guests) Resume(ctx context.Context, _ chat.Start, dir string, prepare func(string, bool) error) (chat.Interpreter, error) {
	s, note, err := g.host.Restore(ctx, dir, func(s *sandbox.Sandbox) error { return prepare(s.Environment, false) })
	if err != nil {
		return nil, fault.New(fault.Unsupported, err, err.Error())
	}
	return kernel.Resume(s, note, g.config(), g.setup.Key)
}

// withGuests returns a service on a data folder of its own with room for so many real interpreters.
func withGuests(t *testing.T, kernels int) (*chat.Service, *guests) {
	t.Helper()
	setup := guesttest.NewSetup(t)
	g := &guests{setup: setup, host: setup.Open(t), dir: filepath.Join(setup.Config.Data, "checkpoints")}
	if err := os.Mkdir(g.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	s := chat.NewService(chat.Options{
		Start: g.start, Checkpoints: g, Log: setup.Config.Log,
		Store:   storetest.Lasting[*database.Store](t)(sqlite.Open(t.Context(), filepath.Join(setup.Config.Data, "chats.db"))),
		Content: contentIn(t, filepath.Join(setup.Config.Data, "content")),
		Limits: chat.Limits{
			RunTimeout: time.Minute, MemoryBytes: 1 << 30, WorkBytes: 1 << 30, WorkFiles: 10_000,
			Kernels: kernels, Chats: 1000, Idle: time.Hour, Keep: time.Hour, Storage: 1 << 40,
		},
	})
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s, g
}

// python runs code of the local user.
func python(t *testing.T, s *chat.Service, id, code string) *chat.Reply {
	t.Helper()
	r, err := s.Turn(t.Context(), chat.Request{ChatID: id, Message: code})
	if err != nil || r.IsError {
		t.Fatalf("%s: %+v, %v", code, r, err)
	}
	return r
}

// Issue 7, item 3: when there is no room for another interpreter, the idle one that was used least recently is checkpointed
// and freed, and comes back with all that it had; the others go on.
func TestIdleGuestMakesRoom(t *testing.T) {
	extent.Slow(t)
	s, g := withGuests(t, 2)
	var ids []string
	for i := range 2 {
		ids = append(ids, python(t, s, "", fmt.Sprintf("x = [%d]; f = open('f', 'w+'); f.write('%d')", i, i)).ChatID)
	}
	look := func(i int, want chat.State) {
		t.Helper()
		r := python(t, s, ids[i], "f.seek(0), f.read(), x")
		if r.State != want || !strings.Contains(r.Text, fmt.Sprintf("'%d', [%d]", i, i)) {
			t.Errorf("chat %d: %s, %s\n%s", i, r.State, r.StateReason, r.Text)
		}
	}
	look(0, chat.Kept) // so that 1 is the one that was used least recently
	ids = append(ids, python(t, s, "", "x = [2]; f = open('f', 'w+'); f.write('2')").ChatID)
	look(0, chat.Kept)
	look(1, chat.Restored) // 2 makes room
	look(0, chat.Kept)
	look(2, chat.Restored)
	if live := g.host.Stats().Live; s.Living() != 2 || live != 2 {
		t.Errorf("%d interpreters, %d guests; want 2", s.Living(), live)
	}
}

// CHT-12: real guests and checkpoints that come and go leave nothing: no byte, no file, no process.
func TestGuestsComeAndGo(t *testing.T) {
	extent.Long(t)
	s, g := withGuests(t, 3)
	round := func(chats int) {
		var ids []string
		for i := range chats {
			ids = append(ids, python(t, s, "", fmt.Sprintf("import os; x = os.urandom(100_000); open('f', 'w').write('%d'); x[:1]", i)).ChatID)
		}
		for i := 0; i < chats; i += 3 {
			if r := python(t, s, ids[i], "len(x)"); !strings.Contains(r.Text, "100000") {
				t.Errorf("chat %d:\n%s", i, r.Text)
			}
		}
		for _, id := range ids {
			if err := s.Delete(t.Context(), "", id); err != nil {
				t.Error(err)
			}
		}
	}
	round(5) // what the first ones make for all
	before := leavings(t, g.setup.Config.Data)
	round(36)
	after := leavings(t, g.setup.Config.Data)
	if diff := cmp.Diff(before.names, after.names); diff != "" {
		t.Errorf("files before and after (-before +after):\n%s", diff)
	}
	if after.bytes > before.bytes+oneDatabase {
		t.Errorf("%d bytes before, %d after", before.bytes, after.bytes)
	}
	if live := g.host.Stats().Live; live != 0 || s.Conversations() != 0 {
		t.Errorf("%d guests and %d conversations are left", live, s.Conversations())
	}
}

// Issue 7, item 9; CHT-12: 5,000 chats that come and go, by hand and by their number, leave the disk as it was.
func TestThousandsOfChatsComeAndGo(t *testing.T) {
	extent.Long(t)
	const chats, side, kept = 5000, 8, 100
	m := machine{t.TempDir()}
	round := func(t *testing.T, chats, checkpoints int) {
		s, w := m.sleeping(t, func(o *chat.Options) { o.Limits.Kernels, o.Limits.Chats = 2*side, kept })
		var sides sync.WaitGroup
		for range side {
			sides.Go(func() {
				for i := range chats / side {
					r, err := s.Turn(t.Context(), chat.Request{Message: "do('set x')"})
					if err == nil {
						_, err = s.PutFile(t.Context(), "", r.ChatID, "f", strings.NewReader(r.ChatID))
					}
					if err == nil && i%2 == 0 {
						err = s.Delete(t.Context(), "", r.ChatID)
					}
					if err != nil {
						t.Error(err)
						return
					}
				}
			})
		}
		sides.Wait()
		if n, made := s.Living(), int(w.checkpoints.Load()); n > 2*side || made < checkpoints {
			t.Errorf("%d interpreters live, %d checkpoints were made; want at most %d, and at least %d", n, made, 2*side, checkpoints)
		}
		all, err := s.Summaries(t.Context())
		if err != nil || len(all) > kept+side {
			t.Errorf("%d chats are kept, %v; want %d", len(all), err, kept)
		}
		for _, c := range all {
			if err := s.Delete(t.Context(), "", c.ID); err != nil {
				t.Error(err)
			}
		}
		if n := s.Conversations(); n != 0 || s.Living() != 0 {
			t.Errorf("%d conversations and %d interpreters after all; want none", n, s.Living())
		}
	}
	t.Run("some", func(t *testing.T) { round(t, 2*side, 0) })
	before := leavings(t, m.dir)
	t.Run("all", func(t *testing.T) { round(t, chats, chats/4) }) // those that are not deleted make room for others
	after := leavings(t, m.dir)
	if diff := cmp.Diff(before.names, after.names); diff != "" {
		t.Errorf("files before and after (-before +after):\n%s", diff)
	}
	if after.bytes > before.bytes+oneDatabase {
		t.Errorf("%d bytes before, %d after", before.bytes, after.bytes)
	}
	if after.descriptors > before.descriptors {
		t.Errorf("%d descriptors before, %d after", before.descriptors, after.descriptors)
	}
}

// oneDatabase is by how much the file of an empty database may differ: pages that its trees keep.
const oneDatabase = 256 << 10

// left is what there is of a data folder.
type left struct {
	names       []string // but those of content, which has a folder for each beginning of a hash
	bytes       int64    // on the disk, without folders
	descriptors int      // of this process
}

// leavings looks at a data folder, whose database first gets what waits in its log: else the file is as large as it was when
// that happened last.
func leavings(t *testing.T, data string) (l left) {
	t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(data, "chats.db"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)")
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(data, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && entry.Name() == "content" {
			_, bytes := contents(t, name)
			l.bytes += bytes
			return fs.SkipDir
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		below, err := filepath.Rel(data, name)
		l.names = append(l.names, below)
		if stat, ok := info.Sys().(*syscall.Stat_t); ok && !entry.IsDir() && !strings.HasSuffix(name, "-wal") { // that is bounded, and gone in the end
			l.bytes += stat.Blocks * 512
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	descriptors, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	l.descriptors = len(descriptors)
	return l
}
