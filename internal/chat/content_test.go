package chat_test

import (
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"runpython/internal/chat"
	"runpython/internal/extent"
)

// keeping makes a service whose content is in the folder that is returned.
func keeping(t *testing.T, limits func(*chat.Limits)) (s *chat.Service, dir string) {
	t.Helper()
	dir = t.TempDir()
	s, _ = newService(t, func(o *chat.Options) {
		o.Content = contentIn(t, dir)
		if limits != nil {
			limits(&o.Limits)
		}
	})
	return s, dir
}

// contents counts the files below dir and their bytes.
func contents(t *testing.T, dir string) (count int, bytes int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if len(filepath.Base(filepath.Dir(path))) != 2 {
			return nil // a lock
		}
		info, err := d.Info()
		count, bytes = count+1, bytes+info.Size()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return count, bytes
}

func wantContents(t *testing.T, dir, when string, want int) {
	t.Helper()
	if got, _ := contents(t, dir); got != want {
		t.Errorf("%d contents are kept %s; want %d", got, when, want)
	}
}

func read(t *testing.T, s *chat.Service, uri string) string {
	t.Helper()
	_, body, err := s.OpenFile(t.Context(), "", uri)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = body.Close() }()
	data, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestContentGoesWithItsLastRecord(t *testing.T) {
	s, dir := keeping(t, nil)
	id := ask(t, s, "", "file a.csv 0").ChatID
	for i := range 5 {
		ask(t, s, id, fmt.Sprintf("file a.csv %d", i+1))
	}
	wantContents(t, dir, "of a file that six turns have written", 6)
	for range 5 {
		undo(t, s, id)
	}
	wantContents(t, dir, "when all but one are undone", 1)
	ask(t, s, id, "file a.csv 5")
	ask(t, s, id, "file same.csv 5")
	other := ask(t, s, "", "file theirs.csv 5")
	wantContents(t, dir, "of three files with the same content, and an earlier one", 2)
	ask(t, s, id, "delete a.csv")
	ask(t, s, id, "picture p")
	wantContents(t, dir, "with a picture", 3)
	if err := s.Delete(t.Context(), "", id); err != nil {
		t.Fatal(err)
	}
	wantContents(t, dir, "of another chat", 1)
	if got := read(t, s, other.Files[0].URI); got != "5" {
		t.Errorf("the other chat's file is %q after a chat with the same content was deleted; want 5", got)
	}
	if err := s.Delete(t.Context(), "", other.ChatID); err != nil {
		t.Fatal(err)
	}
	wantContents(t, dir, "after the last chat was deleted", 0)
}

func TestContentOfUploads(t *testing.T) {
	s, dir := keeping(t, nil)
	id, err := s.PutFile(t.Context(), "", "", "a.csv", strings.NewReader("1"))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"2", "3"} {
		if _, err := s.PutFile(t.Context(), "", id, "a.csv", strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.PutFile(t.Context(), "", id, "a.csv/b", strings.NewReader("4")); err == nil {
		t.Error("an upload below a file is no error")
	}
	if _, err := s.PutFile(t.Context(), "", "", "big", strings.NewReader(strings.Repeat("x", 1<<20+1))); err == nil {
		t.Error("an upload above the limit is no error")
	}
	wantContents(t, dir, "of a file that was uploaded three times", 1)
}

func TestResultsAreBounded(t *testing.T) {
	s, dir := keeping(t, nil)
	first := ask(t, s, "", "picture 0")
	id := first.ChatID
	var last *chat.Reply
	for i := range 250 {
		last = ask(t, s, id, fmt.Sprintf("picture %d", i+1))
	}
	wantContents(t, dir, "after 251 pictures", 200)
	if _, _, err := s.OpenFile(t.Context(), "", first.Images[0].URI); !isNotFound(err) {
		t.Errorf("the oldest of 251 results: %v; want not found", err)
	}
	if got := read(t, s, last.Images[0].URI); got != "250" {
		t.Errorf("the newest result is %q; want 250", got)
	}
}

// A guest may name other files in each report.
func TestFilesAreBounded(t *testing.T) {
	s, dir := keeping(t, func(l *chat.Limits) { l.WorkFiles, l.WorkBytes = 5, 10 })
	reply := ask(t, s, "", "files a b c d e f g")
	id := reply.ChatID
	wantContents(t, dir, "of a report above the limit", 5)
	reply = ask(t, s, id, "files h i")
	wantContents(t, dir, "of more files than a chat may have", 5)
	if !strings.Contains(reply.Text, "2 files were not kept") {
		t.Errorf("text %q; want how many were not kept", reply.Text)
	}
	ask(t, s, id, "delete a")
	ask(t, s, id, "delete b")
	reply = ask(t, s, id, "file h "+strings.Repeat("x", 20)) // 12 of 30 bytes are taken
	if len(reply.Files) != 1 || !strings.Contains(reply.Files[0].Skipped, "30 bytes") {
		t.Errorf("a file above the bytes of a chat: %+v; want it skipped with the limit", reply.Files)
	}
	if _, bytes := contents(t, dir); bytes > 30 {
		t.Errorf("%d bytes are kept of a chat; want at most 30", bytes)
	}
	if _, err := s.PutFile(t.Context(), "", id, "h", strings.NewReader(strings.Repeat("x", 10))); err != nil {
		t.Errorf("an upload for which there is room: %v", err)
	}
}

// A guest may report what cannot be: the chat must go on with the next interpreter.
func TestFilesThatCannotBe(t *testing.T) {
	extent.Slow(t)
	s, w := newService(t, nil)
	deep := strings.Repeat("d/", 2040) + "f"
	id := ask(t, s, "", "files good a a/b "+deep).ChatID
	ask(t, s, id, "lose")
	next := ask(t, s, id, "set x")
	if next.State != chat.Reset || w.started != 2 {
		t.Fatalf("state %q with %d interpreters; want reset with 2: %s", next.State, w.started, next.Text)
	}
	for _, want := range []string{"Not in /work", `"a/b"`, `"d/d/`} {
		if !strings.Contains(next.Text, want) {
			t.Errorf("text %q; want %q in it", next.Text, want)
		}
	}
	if len(next.Problems) != 1 || !strings.Contains(next.Text, next.Problems[0]) {
		t.Errorf("problems %q; want the one that the text tells", next.Problems)
	}
	for name, want := range map[string]string{"good": "of good", "a": "of a"} {
		got, err := w.root.ReadFile("2/" + name)
		if string(got) != want || err != nil {
			t.Errorf("%s in the next interpreter is %q, %v; want %q", name, got, err, want)
		}
	}
	if again := ask(t, s, id, "set y"); strings.Contains(again.Text, "Not in /work") {
		t.Errorf("text of the next turn: %q; want nothing of files that were told of", again.Text)
	}
}

// A report that is cut does not tell what is gone.
func TestFileThatBecameAFolder(t *testing.T) {
	s, w := newService(t, nil)
	id := ask(t, s, "", "files a b/c b/d bc").ChatID
	ask(t, s, id, "cut a/x/y")
	ask(t, s, id, "cut b")
	ask(t, s, id, "lose")
	if next := ask(t, s, id, "set x"); strings.Contains(next.Text, "Not in /work") {
		t.Errorf("text %q; want all files in place", next.Text)
	}
	for name, want := range map[string]string{"a/x/y": "a/x/y", "b": "b", "bc": "of bc"} {
		got, err := w.root.ReadFile("2/" + name)
		if string(got) != want || err != nil {
			t.Errorf("%s in the next interpreter is %q, %v; want %q", name, got, err, want)
		}
	}
}
