package flock_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"runpython/internal/pypi/flock"
)

func open(t *testing.T, name string) *os.File {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() }) // a second time for those that a test has closed
	return f
}

func TestLocks(t *testing.T) {
	name := filepath.Join(t.TempDir(), "lock")
	first, err := flock.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	second := open(t, name)
	if err := flock.Try(second); !errors.Is(err, flock.ErrBusy) {
		t.Errorf("Try of a locked file: %v", err)
	}
	if err := flock.Share(second); !errors.Is(err, flock.ErrBusy) {
		t.Errorf("Share of a locked file: %v", err)
	}
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	if err := flock.Wait(ctx, second); !errors.Is(err, gone) {
		t.Errorf("Wait of one that went: %v", err)
	}
	waited := make(chan error)
	go func() { waited <- flock.Wait(t.Context(), second) }()
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-waited; err != nil {
		t.Errorf("Wait: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	third, fourth := open(t, name), open(t, name)
	if err := errors.Join(flock.Share(third), flock.Share(fourth)); err != nil {
		t.Errorf("two who share: %v", err)
	}
	if err := flock.Try(open(t, name)); !errors.Is(err, flock.ErrBusy) {
		t.Errorf("Try of a shared file: %v", err)
	}
}

func TestNamed(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "lock")
	if err := os.WriteFile(name, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f := open(t, name)
	if err := flock.Named(f, name); err != nil {
		t.Errorf("Named: %v", err)
	}
	if err := errors.Join(os.Rename(name, name+".old"), os.WriteFile(name, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := flock.Named(f, name); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Named of another file: %v", err)
	}
	if err := os.Symlink("/etc/hostname", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	if f, err := flock.Open(t.Context(), filepath.Join(dir, "link")); err == nil {
		_ = f.Close()
		t.Error("a symbolic link was followed")
	}
}
