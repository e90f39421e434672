package console_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"runpython/internal/cli/console"
)

func open(t *testing.T, path string) *console.History {
	t.Helper()
	h, err := console.OpenHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func remember(t *testing.T, h *console.History, messages ...string) {
	t.Helper()
	for _, m := range messages {
		if err := h.Remember(m); err != nil {
			t.Fatal(err)
		}
	}
}

func TestHistoryFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data", "history")
	h := open(t, path)
	if _, err := os.Stat(path); err == nil {
		t.Error("the file is there before anything is remembered")
	}
	remember(t, h, "a", "a", " secret", "two\nlines", "", "bad\x1b[2J", strings.Repeat("x", 100_000), "has ␤")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v, want 0600", info.Mode().Perm())
	}
	text, err := os.ReadFile(path)
	if want := "\"a\"\n\"two\\nlines\"\n"; err != nil || string(text) != want {
		t.Errorf("file = %q, %v; want %q", text, err, want)
	}
}

// A file that others have damaged or filled gives what is good in it.
func TestHistoryFileIsBoundedAndRepaired(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	text := strings.Repeat("\""+strings.Repeat("y", 999)+"\"\n", 2000) + "rubbish\n\"\\x1b[2J\"\n\"last\"\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	remember(t, open(t, path), "newest")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > 512<<10 || info.Mode().Perm() != 0o600 {
		t.Errorf("size, mode = %d, %v; want at most 512 KiB and 0600", info.Size(), info.Mode())
	}
	after, err := os.ReadFile(path)
	if err != nil || !strings.HasSuffix(string(after), "\"last\"\n\"newest\"\n") || strings.Contains(string(after), "rubbish") {
		t.Errorf("file ends with %q, %v", after[max(0, len(after)-60):], err)
	}
	if left, err := filepath.Glob(path + ".*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A history that cannot be kept is told once, and works in memory.
func TestHistoryThatCannotBeKept(t *testing.T) {
	dir := t.TempDir()
	link := filepath.Join(dir, "link")
	if err := os.Symlink(filepath.Join(dir, "target"), link); err != nil {
		t.Fatal(err)
	}
	if h, err := console.OpenHistory(link); err == nil {
		t.Error("a link was followed")
	} else if err := h.Remember("x"); err != nil {
		t.Errorf("Remember after a failed open: %v", err)
	}
	if _, err := console.OpenHistory(dir); err == nil {
		t.Error("a directory was read")
	}
	blocked := filepath.Join(dir, "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := console.OpenHistory(filepath.Join(dir, "new", "history"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(blocked, filepath.Join(dir, "new")); err != nil {
		t.Fatal(err)
	}
	if err := h.Remember("x"); err == nil {
		t.Error("no error although the directory is a file")
	}
	if err := h.Remember("y"); err != nil {
		t.Errorf("the error is told again: %v", err)
	}
}
