package app_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"runpython/internal/app"
	"runpython/internal/chat"
	"runpython/internal/extent"
	"runpython/internal/fault"
	"runpython/internal/guesttest"
)

// recordsAt opens the chats that are kept in a data folder, as the commands about them do.
func recordsAt(t *testing.T, data string) *app.Records {
	t.Helper()
	c := unset()
	c.Data = data
	r, err := app.OpenRecords(t.Context(), c, guesttest.Log(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return r
}

// The archive of a running server, unpacked, is a data folder in which a chat goes on.
func TestBackupIsRestored(t *testing.T) {
	extent.Long(t)
	data := guesttest.Data(t)
	a := openAt(t, data, nil)
	first := turn(t, a, "", "open('data.csv', 'w').write('17')")
	archive := filepath.Join(t.TempDir(), "chats.tar.gz")
	var b bytes.Buffer
	done, err := recordsAt(t, data).Backup(t.Context(), &b)
	if err != nil || done.Chats == 0 || done.Files == 0 || done.Missing != 0 {
		t.Fatalf("Backup = %+v, %v; want a chat with its file", done, err)
	}
	if err := os.WriteFile(archive, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	turn(t, a, first.ChatID, "open('data.csv', 'w').write('later')")
	restored := guesttest.Data(t)
	if out, err := exec.CommandContext(t.Context(), "tar", "-xpzf", archive, "-C", restored).CombinedOutput(); err != nil {
		t.Fatalf("unpack: %v\n%s", err, out)
	}
	before, err := recordsAt(t, restored).Transcript(t.Context(), first.ChatID)
	if err != nil || len(before.Turns) != 1 || len(before.Files) != 1 {
		t.Fatalf("the restored chat: %+v, %v; want one turn with its file", before, err)
	}
	next := turn(t, openAt(t, restored, nil), first.ChatID, "print(open('data.csv').read())\nopen('data.csv', 'a').write('8')")
	if len(next.Runs) != 1 || next.Runs[0].Stdout != "17\n" || next.Runs[0].Error != "" || next.State != chat.Reset {
		t.Errorf("the chat goes on with %+v, state %q; want its file as it was, which it may write", next.Runs, next.State)
	}
}

func turn(t *testing.T, a *app.App, id, code string) *chat.Reply {
	t.Helper()
	reply, err := a.Turn(t.Context(), chat.Request{ChatID: id, Message: code})
	if err != nil {
		t.Fatalf("Turn(%q) = %v", code, err)
	}
	return reply
}

// What is not there is told, with what shows what is.
func TestUnknownChatIsNotFound(t *testing.T) {
	r := recordsAt(t, t.TempDir())
	for _, id := range []string{"aaaaaaaaaaaaaaaaaaaaaaaaaa", "../chats.db", ""} {
		_, err := r.Transcript(t.Context(), id)
		if kind, message := fault.Shown(err); kind != fault.NotFound || !strings.Contains(message, "chats list") {
			t.Errorf("Transcript(%q) = %v; want not found", id, err)
		}
		if kind, _ := fault.Shown(r.Delete(t.Context(), id)); kind != fault.NotFound {
			t.Errorf("Delete(%q) is %v; want not found", id, kind)
		}
	}
	if all, err := r.Summaries(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("Summaries = %v, %v; want none", all, err)
	}
	var b bytes.Buffer
	if done, err := r.Backup(t.Context(), &b); err != nil || done != (app.Backup{}) {
		t.Errorf("Backup of nothing = %+v, %v", done, err)
	}
}

// What is deleted while no server runs takes the variables with it that the last one has kept.
func TestDeletedChatLeavesNoCheckpoint(t *testing.T) {
	extent.Slow(t)
	guesttest.Guests(t)
	data := guesttest.Data(t)
	var id string
	t.Run("server", func(t *testing.T) { id = turn(t, openAt(t, data, nil), "", "x = 41").ChatID })
	kept := func() int {
		entries, err := os.ReadDir(filepath.Join(data, "checkpoints"))
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	before := kept()
	if err := recordsAt(t, data).Delete(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	if after := kept(); before != 1 || after != 0 {
		t.Errorf("%d checkpoints before the chat was deleted, %d after; want 1 and 0", before, after)
	}
}
