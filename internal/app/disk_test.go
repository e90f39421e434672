package app_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"runpython/internal/app"
	"runpython/internal/chat"
	"runpython/internal/config"
	"runpython/internal/extent"
	"runpython/internal/fault"
	"runpython/internal/guesttest"
	"runpython/internal/store/storetest"
)

// onSmallDisk opens the program on a data folder on a disk of its own, which the interpreter is not on.
func onSmallDisk(t *testing.T, bytes int64, pool int) (*app.App, string) {
	t.Helper()
	shared, err := os.Readlink(filepath.Join(guesttest.Data(t), "interpreter"))
	if err != nil {
		t.Fatal(err)
	}
	data := storetest.SmallDisk(t, bytes)
	if err := os.Symlink(shared, filepath.Join(data, "interpreter")); err != nil {
		t.Fatal(err)
	}
	return openAt(t, data, func(c *config.Config, _ *app.Build) { c.Pool = pool }), data
}

// told is what somebody is told of a turn: the text of its reply, or the words of the error.
func told(t *testing.T, a *app.App, id, code string) (text string, failed bool) {
	t.Helper()
	reply, err := a.Turn(t.Context(), chat.Request{ChatID: id, Message: code})
	if err != nil {
		kind, shown := fault.Shown(err)
		if kind == fault.Internal {
			t.Errorf("the turn %q fails with %v, of which nobody is told what to do", code, err)
		}
		return shown, true
	}
	return reply.Text, reply.IsError
}

// CHT-13: while the disk of a running program is full, it says so; when there is room, chats go on with variables and files, and others
// begin.
func TestDiskOfTheProgramIsFull(t *testing.T) {
	extent.Long(t)
	for _, pool := range []int{0, 2} { // without one, a new chat needs a new guest
		t.Run(fmt.Sprintf("pool of %d", pool), func(t *testing.T) { playFullDisk(t, pool) })
	}
}

func playFullDisk(t *testing.T, pool int) {
	t.Helper()
	a, data := onSmallDisk(t, 64<<20, pool)
	first := turn(t, a, "", "x = 41; open('kept', 'w').write('17')")
	for look := time.Tick(10 * time.Millisecond); app.Pooled(a) < int64(pool); { // an image of it that fails would make room
		<-look
	}
	ballast := filepath.Join(data, "ballast")
	f, err := os.Create(ballast)
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if text, failed := told(t, a, first.ChatID, "open('lost', 'w').write('1' * 300_000)"); !failed || !strings.Contains(text, "full") && !strings.Contains(text, "No space left") {
		t.Errorf("a file on a full disk: %s", text)
	}
	if text, failed := told(t, a, "", "print(1)"); !failed || !strings.Contains(text, "full") {
		t.Errorf("a new chat on a full disk: %s", text)
	}
	if err := errors.Join(f.Close(), os.Remove(ballast)); err != nil {
		t.Fatal(err)
	}
	got := turn(t, a, first.ChatID, "print(x, open('kept').read())\nopen('again', 'w').write('2')")
	if got.IsError || len(got.Runs) != 1 || got.Runs[0].Stdout != "41 17\n" {
		t.Errorf("the chat when there is room: %s", got.Text)
	}
	if got := turn(t, a, "", "print(1)"); got.IsError {
		t.Errorf("a new chat when there is room: %s", got.Text)
	}
}

// The same for a disk that becomes read-only.
func TestDiskOfTheProgramIsReadOnly(t *testing.T) {
	extent.Long(t)
	a, data := onSmallDisk(t, 64<<20, 0)
	first := turn(t, a, "", "x = 41; open('kept', 'w').write('17')")
	undo := storetest.ReadOnly(t, data)
	if text, failed := told(t, a, first.ChatID, "open('lost', 'w').write('1')"); !failed || !strings.Contains(text, "read-only") {
		t.Errorf("a file on a read-only disk: %s", text)
	}
	undo()
	got := turn(t, a, first.ChatID, "print(x, open('kept').read())\nopen('again', 'w').write('2')")
	if got.IsError || len(got.Runs) != 1 || got.Runs[0].Stdout != "41 17\n" {
		t.Errorf("the chat when the disk takes changes: %s", got.Text)
	}
}
