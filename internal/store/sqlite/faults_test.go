package sqlite_test

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"runpython/internal/extent"
	"runpython/internal/fault"
	"runpython/internal/store"
	"runpython/internal/store/database"
	"runpython/internal/store/sqlite"
	"runpython/internal/store/storetest"
)

// holdVariable makes of this test's program one that works on the database in that file until it is killed.
const holdVariable = "RUNPYTHON_TEST_HOLD"

func TestMain(m *testing.M) {
	if name := os.Getenv(holdVariable); name != "" {
		fmt.Println(work(context.Background(), name))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// work adds turns and files to the chat "x", and tells of each when it is kept.
func work(ctx context.Context, name string) error {
	s, err := sqlite.Open(ctx, name)
	if err != nil {
		return err
	}
	l, _, err := s.Take(ctx, "x")
	if err != nil {
		return err
	}
	turns, err := s.Turns(ctx, "x", 1)
	if err != nil {
		return err
	}
	next := 1
	if len(turns) == 1 {
		next = turns[0].Number + 1
	}
	for ; ; next++ {
		if _, err := s.SaveFiles(ctx, l, store.Changes{Turn: next, Changed: []store.File{{Path: fmt.Sprint(next % 10), Hash: fmt.Sprint(next)}}}); err != nil {
			return err
		}
		t := store.Turn{Number: next, Message: strings.Repeat("m", 2000), Runs: []store.Run{{Code: "c"}}}
		if _, err := s.SaveTurn(ctx, l, store.Chat{ID: "x", Runs: next}, t, 1<<20); err != nil {
			return err
		}
		fmt.Println(next)
	}
}

// A process that is killed loses nothing that it has told of, and the next one has the chat at once.
func TestKill(t *testing.T) {
	name := filepath.Join(t.TempDir(), "chats.db")
	s := open(t, name)
	l, err := s.Begin(t.Context(), store.Chat{ID: "x"})
	if err == nil {
		err = s.Release(t.Context(), l, "")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeStore(t, s) })
	told := 0
	for round := range 10 {
		told = killAfter(t, name, told, round*7%5+1)
		turns, err := s.Turns(t.Context(), "x", 1<<20)
		if err != nil || len(turns) < told || turns[len(turns)-1].Number != len(turns) {
			t.Fatalf("round %d: %d turns are kept, %v; want the %d that were told of, without gaps", round, len(turns), err, told)
		}
		c, err := s.Chat(t.Context(), "x")
		if err != nil || c.Runs != len(turns) {
			t.Errorf("round %d: the chat has %d runs, %v; want %d, as its last turn", round, c.Runs, err, len(turns))
		}
		f, err := s.File(t.Context(), "x", fmt.Sprint(told%10))
		if err != nil || f.Hash != fmt.Sprint(told) && f.Hash != fmt.Sprint(told+10) {
			t.Errorf("round %d: the file of turn %d is %+v, %v", round, told, f, err)
		}
	}
	// The last one is dead, but its time is not over.
	l, _, err = s.Take(t.Context(), "x")
	if err != nil || l.Fence < 11 {
		t.Errorf("Take() = %+v, %v; want the chat", l, err)
	}
}

// killAfter has another process work, and kills it when it has told of so many more turns. It returns the last one.
func killAfter(t *testing.T, name string, told, more int) int {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), holdVariable+"="+name)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for killed := false; lines.Scan(); {
		var n int
		if _, err := fmt.Sscan(lines.Text(), &n); err != nil {
			t.Fatalf("the other process: %s", lines.Text())
		}
		if told = n; !killed {
			if more--; more == 0 {
				killed = true
				if err := cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Fatal("the other process ended by itself")
	}
	return told
}

func closeStore(t *testing.T, s *database.Store) {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// wantTold compares what callers learn of an error.
func wantTold(t *testing.T, what string, err error, kind fault.Kind, text string) {
	t.Helper()
	if got, shown := fault.Shown(err); err == nil || got != kind || !strings.Contains(shown, text) {
		t.Errorf("%s: %v (%v, %q); want %v with %q", what, err, got, shown, kind, text)
	}
}

// Those that open a new database at the same time all find its tables.
func TestOpenAtOnce(t *testing.T) {
	name := filepath.Join(t.TempDir(), "chats.db")
	var wait sync.WaitGroup
	for range 6 {
		wait.Go(func() {
			s, err := sqlite.Open(t.Context(), name)
			if err != nil {
				t.Errorf("open: %v", err)
				return
			}
			closeStore(t, s)
		})
	}
	wait.Wait()
}

func rawOpen(t *testing.T, name string) *sql.DB {
	t.Helper()
	return storetest.Lasting[*sql.DB](t)(sql.Open("sqlite", name))
}

func TestDatabaseOfANewerProgram(t *testing.T) {
	name := filepath.Join(t.TempDir(), "chats.db")
	closeStore(t, open(t, name))
	if _, err := rawOpen(t, name).ExecContext(t.Context(), `INSERT INTO goose_db_version (version_id, is_applied) VALUES (99, 1)`); err != nil {
		t.Fatal(err)
	}
	_, err := sqlite.Open(t.Context(), name)
	wantTold(t, "open", err, fault.Unsupported, "newer version of this program")
}

func TestDamagedDatabase(t *testing.T) {
	name := filepath.Join(t.TempDir(), "chats.db")
	if err := os.WriteFile(name, []byte(strings.Repeat("no database ", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := sqlite.Open(t.Context(), name)
	wantTold(t, "open", err, fault.Unsupported, "damaged")
}

// Another program, such as a shell or a backup, keeps the file locked: that is told, and over when it is done.
func TestLockedDatabase(t *testing.T) {
	extent.Slow(t)
	t.Parallel()
	name := filepath.Join(t.TempDir(), "chats.db")
	s := open(t, name)
	defer closeStore(t, s)
	other, err := rawOpen(t, name).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Close() }()
	if _, err := other.ExecContext(t.Context(), `BEGIN IMMEDIATE`); err != nil {
		t.Fatal(err)
	}
	_, err = s.Begin(t.Context(), store.Chat{ID: "x"})
	wantTold(t, "a write", err, fault.Busy, "locked")
	if chats, err := s.Chats(t.Context()); len(chats) != 0 || err != nil {
		t.Errorf("a read beside it: %v, %v; want none", chats, err)
	}
	if _, err := other.ExecContext(t.Context(), `ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	if _, err = s.Begin(t.Context(), store.Chat{ID: "x"}); err != nil {
		t.Errorf("a write when the other one is done: %v", err)
	}
}

// CHT-13: a full disk is told, nothing that was kept is damaged, and it goes on when there is room.
func TestFullDisk(t *testing.T) {
	dir := storetest.SmallDisk(t, 2<<20)
	s := open(t, filepath.Join(dir, "chats.db"))
	defer closeStore(t, s)
	l, err := s.Begin(t.Context(), store.Chat{ID: "x"})
	if err != nil {
		t.Fatal(err)
	}
	ballast := filepath.Join(dir, "ballast")
	if err := os.WriteFile(ballast, make([]byte, 1<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	kept := 0
	for err == nil {
		turn := store.Turn{Number: kept + 1, Begun: time.Unix(1, 0), Message: strings.Repeat("m", 20_000)}
		if _, err = s.SaveTurn(t.Context(), l, store.Chat{ID: "x", Runs: kept + 1}, turn, 1<<20); err == nil {
			kept++
		}
	}
	wantTold(t, "a turn on a full disk", err, fault.Busy, "disk of the server's database is full")
	turns, err := s.Turns(t.Context(), "x", 1<<20)
	if err != nil || len(turns) != kept || kept == 0 {
		t.Errorf("%d turns are there on a full disk, %v; want %d", len(turns), err, kept)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	if _, err := s.SaveTurn(t.Context(), l, store.Chat{ID: "x", Runs: kept + 1}, store.Turn{Number: kept + 1}, 1<<20); err != nil {
		t.Errorf("a turn when there is room: %v", err)
	}
	var verdict string
	if err := rawOpen(t, filepath.Join(dir, "chats.db")).QueryRowContext(t.Context(), `PRAGMA integrity_check`).Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("the database is %q, %v; want ok", verdict, err)
	}
}

func TestReadOnlyDisk(t *testing.T) {
	dir := storetest.SmallDisk(t, 2<<20)
	name := filepath.Join(dir, "chats.db")
	closeStore(t, open(t, name))
	remount := func(flags uintptr) {
		t.Helper()
		if err := unix.Mount("tmpfs", dir, "tmpfs", unix.MS_REMOUNT|flags, ""); err != nil {
			t.Fatal(err)
		}
	}
	remount(unix.MS_RDONLY)
	_, err := sqlite.Open(t.Context(), name)
	wantTold(t, "open", err, fault.Busy, "read-only")
	remount(0)
	closeStore(t, open(t, name))
}

// What is deleted makes the file smaller again.
func TestFileShrinks(t *testing.T) {
	name := filepath.Join(t.TempDir(), "chats.db")
	size := func() int64 {
		t.Helper()
		closeStore(t, open(t, name)) // which moves the journal into the file
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		return info.Size()
	}
	empty := size()
	s := open(t, name)
	l, err := s.Begin(t.Context(), store.Chat{ID: "x"})
	if err == nil {
		_, err = s.SaveTurn(t.Context(), l, store.Chat{ID: "x"}, store.Turn{Number: 1, Message: strings.Repeat("m", 1<<20)}, 9)
	}
	if err == nil {
		_, err = s.DeleteChat(t.Context(), l)
	}
	if err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	if got := size(); got != empty {
		t.Errorf("the file has %d bytes after the chat was deleted; want %d, as before", got, empty)
	}
}

// A call that is stopped at any moment of a change is told that it was stopped, and has changed nothing.
func TestStoppedChanges(t *testing.T) {
	extent.Slow(t)
	s := open(t, filepath.Join(t.TempDir(), "db"))
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	c := store.Chat{ID: "a", Owner: "ann"}
	l, err := s.Begin(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	const moments, longest = 3000, 600 * time.Microsecond
	for i := range moments {
		next := c
		next.Runs++
		ctx, cancel := context.WithTimeout(t.Context(), longest*time.Duration(i)/moments)
		err := s.SaveChat(ctx, l, next)
		cancel()
		switch {
		case err == nil:
			c = next
		case !errors.Is(err, context.DeadlineExceeded):
			t.Errorf("SaveChat = %v, want %v", err, context.DeadlineExceeded)
		}
		if got, err := s.Chat(t.Context(), c.ID); err != nil || got.Runs != c.Runs {
			t.Fatalf("the chat has %d runs, %v; want %d", got.Runs, err, c.Runs)
		}
	}
}
