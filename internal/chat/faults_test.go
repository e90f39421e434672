package chat_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"runpython/internal/chat"
	"runpython/internal/extent"
	"runpython/internal/fault"
	"runpython/internal/store/storetest"
)

// wantTrouble wants of a reply that it shows what is wrong, and that something is not kept.
func wantTrouble(t *testing.T, reply *chat.Reply, trouble string) {
	t.Helper()
	if !reply.IsError || !strings.Contains(reply.Text, trouble) || !strings.Contains(reply.Text, "not ") {
		t.Errorf("a reply while the store is in trouble: %s\nwant that something is not kept, and %q", reply.Text, trouble)
	}
}

// Issue 7, item 10, and CHT-13: on a full disk of a running server turns show what their code has done and say that it is
// not kept; when there is room, the chat goes on, with all that was kept.
func TestFullDisk(t *testing.T) {
	m := machine{storetest.SmallDisk(t, 4<<20)}
	s, _ := m.sleeping(t, nil)
	id := ask(t, s, "", "set x").ChatID
	uri := ask(t, s, id, "file f 17").Files[0].URI
	ballast := filepath.Join(m.dir, "ballast")
	for err := error(nil); err == nil; {
		err = grow(ballast)
	}
	wantTrouble(t, ask(t, s, id, "file g "+strings.Repeat("g", 200_000)), "full")
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	wantGot(t, ask(t, s, id, "get x"), chat.Kept)
	if got := read(t, s, uri); got != "17" {
		t.Errorf("the file of before is %q; want 17", got)
	}
	if got := ask(t, s, id, "file g 2"); got.IsError || len(got.Files) != 1 {
		t.Errorf("a file when there is room: %s", got.Text)
	}
	m.wantSound(t, id)
}

// grow makes a file larger by 16 KiB.
func grow(name string) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(make([]byte, 16<<10))
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// wantSound wants that the database is whole, and the turns of a chat without gaps.
func (m machine) wantSound(t *testing.T, id string) {
	t.Helper()
	var verdict string
	if err := m.raw(t).QueryRowContext(t.Context(), `PRAGMA integrity_check`).Scan(&verdict); err != nil || verdict != "ok" {
		t.Errorf("the database is %q, %v; want ok", verdict, err)
	}
	turns, err := m.records(t).Turns(t.Context(), id, 100)
	if err != nil || len(turns) == 0 || turns[len(turns)-1].Number != len(turns) {
		t.Errorf("%d turns are kept, %v; want all without gaps", len(turns), err)
	}
}

// raw is a connection of another program to the database.
func (m machine) raw(t *testing.T) *sql.DB {
	return connectTo(t, "sqlite", filepath.Join(m.dir, "chats.db"))
}

func connectTo(t *testing.T, driver, source string) *sql.DB {
	t.Helper()
	return storetest.Lasting[*sql.DB](t)(sql.Open(driver, source))
}

// Issue 7, item 10: a disk that becomes read-only under a running server is told, and used again when it takes changes.
func TestReadOnlyDisk(t *testing.T) {
	m := machine{storetest.SmallDisk(t, 4<<20)}
	s, _ := m.sleeping(t, nil)
	id := ask(t, s, "", "set x").ChatID
	undo := storetest.ReadOnly(t, m.dir)
	wantTrouble(t, ask(t, s, id, "file f 1"), "read-only")
	undo()
	wantGot(t, ask(t, s, id, "get x"), chat.Kept)
	if got := ask(t, s, id, "file f 2"); got.IsError || read(t, s, got.Files[0].URI) != "2" {
		t.Errorf("a file when the disk takes changes: %s", got.Text)
	}
	m.wantSound(t, id)
}

// Issue 7, item 10: while another program keeps the database locked, turns say so and that they are not kept.
func TestLockedDatabase(t *testing.T) {
	t.Parallel()
	extent.Long(t) // who waits for a lock waits 5 s
	m := machine{t.TempDir()}
	s, _ := m.sleeping(t, nil)
	id := ask(t, s, "", "set x").ChatID
	other, err := m.raw(t).Conn(t.Context())
	if err == nil {
		_, err = other.ExecContext(t.Context(), `BEGIN EXCLUSIVE`)
	}
	if err != nil {
		t.Fatal(err)
	}
	wantTrouble(t, ask(t, s, id, "set y"), "locked")
	_, err = s.Turn(t.Context(), chat.Request{Message: do("set z")})
	if kind, text := fault.Shown(err); kind != fault.Busy || !strings.Contains(text, "locked") {
		t.Errorf("a chat that begins: %v; want that the database is locked", err)
	}
	if _, err := other.ExecContext(t.Context(), `ROLLBACK`); err != nil {
		t.Fatal(err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	wantGot(t, ask(t, s, id, "get x"), chat.Kept)
	wantGot(t, ask(t, s, id, "get y"), chat.Kept)
	m.wantSound(t, id)
}

// Issue 7, items 5 and 10: when the clock of a process jumps, it keeps its chats with their variables, gives them to who asks, and gets
// them back.
func TestClockJumps(t *testing.T) {
	extent.Slow(t)
	t.Parallel()
	for _, jump := range []time.Duration{24 * time.Hour, -24 * time.Hour} {
		t.Run(jump.String(), func(t *testing.T) {
			var offset atomic.Int64
			m := machine{t.TempDir()}
			jumping := func(o *chat.Options) {
				o.Now = func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
				o.Limits.Keep = 30 * 24 * time.Hour
			}
			a, _ := m.sleeping(t, jumping)
			b, _ := m.sleeping(t, nil)
			id := ask(t, a, "", "set x").ChatID
			before := a.Leases()
			offset.Store(int64(jump))
			if got := ask(t, a, id, "get x"); got.IsError || got.State == chat.Reset {
				t.Errorf("after the jump: %q, %s", got.State, got.Text)
			}
			if after := a.Leases(); len(after) != 1 || after[0] != before[0] {
				t.Errorf("leases %v; want those of before, %v", after, before)
			}
			wantGot(t, ask(t, b, id, "get x"), chat.Restored)
			offset.Store(0)
			wantGot(t, ask(t, a, id, "get x"), chat.Restored)
		})
	}
}
