package content_test

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"runpython/internal/store/content"
)

func open(t *testing.T) *content.Store {
	t.Helper()
	s, err := content.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func put(t *testing.T, s *content.Store, text string) string {
	t.Helper()
	name, size, err := s.Put(strings.NewReader(text))
	if err != nil || size != int64(len(text)) {
		t.Fatalf("Put(%q) = %d bytes, %v", text, size, err)
	}
	return name
}

func TestContentLivesUntilItsLastRelease(t *testing.T) {
	s := open(t)
	name := put(t, s, "same")
	if again := put(t, s, "same"); again != name {
		t.Errorf("the same content has the names %s and %s", name, again)
	}
	opened, err := s.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = opened.Close() }()
	if err := s.Release(name); err != nil {
		t.Errorf("the first release: %v", err)
	}
	copied := filepath.Join(t.TempDir(), "copy")
	if err := s.Copy(name, copied); err != nil {
		t.Errorf("copy what one still holds: %v", err)
	}
	if err := s.Release(name); err != nil {
		t.Errorf("the last release: %v", err)
	}
	if _, err := s.Open(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("open what nobody holds: %v; want that it is not there", err)
	}
	if data, err := io.ReadAll(opened); string(data) != "same" || err != nil {
		t.Errorf("what was opened before reads %q, %v", data, err)
	}
	if data, err := os.ReadFile(copied); string(data) != "same" || err != nil {
		t.Errorf("the copy reads %q, %v", data, err)
	}
	if err := s.Release(name); err == nil {
		t.Error("a release too many is no error")
	}
}

// Whoever keeps content has it, whatever others let go of at the same time.
func TestKeepBesideRelease(t *testing.T) {
	s := open(t)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 50 {
				name, _, err := s.Put(strings.NewReader("same"))
				if err != nil {
					t.Errorf("put: %v", err)
					return
				}
				f, err := s.Open(name)
				if err != nil {
					t.Errorf("open what is held: %v", err)
					return
				}
				_ = f.Close()
				if err := s.Release(name); err != nil {
					t.Errorf("release: %v", err)
				}
			}
		})
	}
	wait.Wait()
}

// Guests read and write their copies, whatever mask the process was started with.
func TestModeUnderAStrictMask(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	s := open(t)
	copied := filepath.Join(t.TempDir(), "copy")
	if err := s.Copy(put(t, s, "x"), copied); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(copied)
	if err != nil || info.Mode().Perm() != 0o666 {
		t.Errorf("mode of a copy: %v, %v; want 0666", info.Mode(), err)
	}
}
