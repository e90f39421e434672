package content_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"runpython/internal/store/content"
)

func open(t *testing.T, dir string) *content.Store {
	t.Helper()
	s, err := content.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// referred answers as a database that refers to some contents.
func referred(names ...string) content.Unreferenced {
	return func(_ context.Context, asked []string) ([]string, error) {
		return slices.DeleteFunc(slices.Clone(asked), func(name string) bool { return slices.Contains(names, name) }), nil
	}
}

func wantText(t *testing.T, s *content.Store, when, name, want string) {
	t.Helper()
	f, err := s.Open(name)
	if err != nil {
		t.Errorf("%s: %v; want %q", when, err, want)
		return
	}
	defer func() { _ = f.Close() }()
	if data, err := io.ReadAll(f); string(data) != want || err != nil {
		t.Errorf("%s: %q, %v; want %q", when, data, err, want)
	}
}

func wantGone(t *testing.T, s *content.Store, when, name string) {
	t.Helper()
	if f, err := s.Open(name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s: %v, %v; want that it is not there", when, f, err)
	}
}

func put(t *testing.T, s *content.Store, text string) string {
	t.Helper()
	name, size, err := s.Put(strings.NewReader(text))
	if err != nil || size != int64(len(text)) {
		t.Fatalf("Put(%q) = %d bytes, %v", text, size, err)
	}
	return name
}

func TestContentIsThereUntilNobodyNeedsIt(t *testing.T) {
	dir := t.TempDir()
	s, other := open(t, dir), open(t, dir)
	name := put(t, s, "same")
	if again := put(t, other, "same"); again != name {
		t.Errorf("the same content has the names %s and %s", name, again)
	}
	opened, err := s.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = opened.Close() }()
	if err := s.Release(name); err != nil {
		t.Errorf("release: %v", err)
	}
	remove := func(ask content.Unreferenced) {
		t.Helper()
		if err := s.Remove(t.Context(), []string{name}, ask); err != nil {
			t.Errorf("remove: %v", err)
		}
	}
	remove(referred())
	wantText(t, s, "content that another process holds", name, "same")
	if err := other.Release(name); err != nil {
		t.Errorf("the last release: %v", err)
	}
	remove(referred(name))
	wantText(t, other, "content that a record refers to", name, "same")
	copied := filepath.Join(t.TempDir(), "copy")
	if err := s.Copy(name, copied); err != nil {
		t.Fatal(err)
	}
	remove(referred())
	wantText(t, s, "content that a guest has", name, "same")
	if err := os.Remove(copied); err != nil {
		t.Fatal(err)
	}
	remove(referred())
	wantGone(t, s, "content that nobody needs", name)
	if data, err := io.ReadAll(opened); string(data) != "same" || err != nil {
		t.Errorf("what was opened before reads %q, %v", data, err)
	}
	if err := s.Release(name); err == nil {
		t.Error("a release too many is no error")
	}
}

// A killed process leaves drafts, holds and content behind that no record refers to.
func TestSweepAfterAKill(t *testing.T) {
	dir := t.TempDir()
	killed, s := open(t, dir), open(t, dir)
	kept, lost := put(t, killed, "kept"), put(t, killed, "lost")
	if _, err := killed.New(); err != nil {
		t.Fatal(err)
	}
	sweep := func() {
		t.Helper()
		if err := s.Sweep(t.Context(), referred(kept)); err != nil {
			t.Errorf("sweep: %v", err)
		}
	}
	sweep()
	wantText(t, s, "content that a living process holds", lost, "lost")
	if err := killed.EndWithoutClose(); err != nil {
		t.Fatal(err)
	}
	sweep()
	wantGone(t, s, "content of a killed process", lost)
	wantText(t, s, "content of a killed process that a record refers to", kept, "kept")
	if folders, err := os.ReadDir(filepath.Join(dir, "holds")); len(folders) != 1 || err != nil {
		t.Errorf("%d folders of processes, %v; want that of the one that lives", len(folders), err)
	}
}

// A power failure may leave less of a file than its name says, when no record refers to it yet.
func TestTornContentIsReplaced(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	name := put(t, s, "whole")
	if err := s.Release(name); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, name[:2], name[2:]), 2); err != nil {
		t.Fatal(err)
	}
	put(t, s, "whole")
	wantText(t, s, "content that was torn and came again", name, "whole")
	if err := s.Remove(t.Context(), []string{name}, referred()); err != nil {
		t.Fatal(err)
	}
	wantText(t, s, "content that is held", name, "whole")
}

func TestSync(t *testing.T) {
	s := open(t, t.TempDir())
	var names []string
	for i := range 20 { // one by one, and then all at once
		names = append(names, put(t, s, fmt.Sprint(i)))
		if err := s.Sync(names); err != nil {
			t.Errorf("sync of %d: %v", len(names), err)
		}
	}
	if err := s.Sync([]string{strings.Repeat("0", 64)}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("sync of what is not there: %v", err)
	}
}

// Whoever keeps content has it, whatever others let go of at the same time.
func TestKeepBesideRelease(t *testing.T) {
	dir := t.TempDir()
	all := []*content.Store{open(t, dir), open(t, dir)}
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			s := all[i%2]
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
				if err := errors.Join(s.Release(name), s.Remove(t.Context(), []string{name}, referred())); err != nil {
					t.Errorf("let go: %v", err)
				}
			}
		})
	}
	wait.Wait()
}

// Guests read and write their copies, whatever mask the process was started with.
func TestModeUnderAStrictMask(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o077))
	s := open(t, t.TempDir())
	copied := filepath.Join(t.TempDir(), "copy")
	if err := s.Copy(put(t, s, "x"), copied); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(copied)
	if err != nil || info.Mode().Perm() != 0o666 {
		t.Errorf("mode of a copy: %v, %v; want 0666", info.Mode(), err)
	}
}
