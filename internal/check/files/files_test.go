package files_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"runpython/internal/check/files"
)

func TestRead(t *testing.T) {
	name := filepath.Join(t.TempDir(), "a")
	if err := os.WriteFile(name, []byte("four"), 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := files.Read(name, 4); string(text) != "four" || err != nil {
		t.Errorf("Read = %q, %v", text, err)
	}
	for _, err := range []error{second(files.Read(name, 3)), second(files.Read(name+"b", 3)), second(files.Read(filepath.Dir(name), 3))} {
		if err == nil || !strings.Contains(err.Error(), filepath.Dir(name)) {
			t.Errorf("Read = %v; want an error that names the file", err)
		}
	}
}

func second(_ []byte, err error) error { return err }

// Many who replace a file at once leave one of their texts whole, and nothing beside it; whoever cannot leaves it as it was.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a")
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			if err := files.Replace(name, bytes.Repeat([]byte{byte('a' + i)}, 100_000), 0o600); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	text, err := files.Read(name, 100_000)
	if err != nil || len(text) != 100_000 || len(bytes.Trim(text, string(text[:1]))) != 0 {
		t.Errorf("the file has %d bytes of several, %v", len(text), err)
	}
	if err := os.Mkdir(filepath.Join(dir, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := files.Replace(filepath.Join(dir, "folder"), []byte("b"), 0o600); err == nil {
		t.Error("a folder is replaced")
	}
	there, err := os.ReadDir(dir)
	if err != nil || len(there) != 2 {
		t.Errorf("beside the file and the folder there is something: %v, %v", there, err)
	}
}
