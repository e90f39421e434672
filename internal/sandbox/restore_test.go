package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"runpython/internal/extent"
	"runpython/internal/guesttest"
	"runpython/internal/kernel"
	"runpython/internal/sandbox"
)

// checkpointOf stores a guest in which x is 41, and returns the folder.
func checkpointOf(t *testing.T, s *guesttest.Setup, h *sandbox.Host) string {
	t.Helper()
	k := s.Kernel(t, h, 0)
	value(t, k, "x = 41\n1")
	dir := filepath.Join(s.Config.Data, "stored")
	if err := k.Checkpoint(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// A checkpoint outlives its host, and the image from which it differs.
func TestRestoreByAnotherHost(t *testing.T) {
	extent.Slow(t)
	s := guesttest.NewSetup(t)
	s.Config.Pool = 1
	h := s.Open(t)
	await(t, "a guest in the pool", func() bool { return h.Stats().Pooled == 1 })
	dir := checkpointOf(t, s, h)
	if there, err := os.ReadDir(filepath.Join(dir, "base")); err != nil || len(there) != 3 {
		t.Errorf("base %v, %v; want the files of the image", there, err)
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(filepath.Join(s.Config.Data, "images")); err != nil {
		t.Fatal(err)
	}
	s.Config.Pool = 0
	k := s.Resume(t, s.Open(t), dir)
	if got := value(t, k, "x + 1"); got != "42" {
		t.Errorf("x + 1 is %s", got)
	}
	left, err := filepath.Glob(filepath.Join(s.Config.Data, "run", "*", "[is]*-*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left of snapshots and images: %v, %v", left, err)
	}
}

// The same program at another place, newer by its time, goes on with a checkpoint.
func TestRestoreByACopyOfTheProgram(t *testing.T) {
	extent.Slow(t)
	s := guesttest.NewSetup(t)
	dir := checkpointOf(t, s, s.Open(t))
	text, err := os.ReadFile(s.Config.Runsc)
	if err != nil {
		t.Fatal(err)
	}
	moved := *s
	moved.Config.Runsc = filepath.Join(t.TempDir(), "copy")
	if err := os.WriteFile(moved.Config.Runsc, text, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := value(t, moved.Resume(t, moved.Open(t), dir), "x + 1"); got != "42" {
		t.Errorf("x + 1 is %s", got)
	}
}

// What depends on something else, or is damaged, is told before a guest is made of it.
func TestUnusableCheckpoints(t *testing.T) {
	extent.Slow(t)
	s := guesttest.NewSetup(t)
	h := s.Open(t)
	dir := checkpointOf(t, s, h)
	unusable := func(t *testing.T, h *sandbox.Host, dir, reason string) {
		t.Helper()
		before := h.Stats()
		guest, _, err := h.Restore(t.Context(), dir, nil)
		if err == nil {
			t.Error(errors.Join(errors.New("it was restored"), guest.Close()))
			return
		}
		e, ok := errors.AsType[*sandbox.UnusableError](err)
		if !ok || !strings.Contains(e.Reason, reason) || strings.Contains(e.Reason, "/") {
			t.Errorf("Restore = %v; want an UnusableError with %q", err, reason)
		}
		if after := h.Stats(); after != before {
			t.Errorf("stats %+v, then %+v; want that nothing was tried", before, after)
		}
	}
	t.Run("none", func(t *testing.T) { unusable(t, h, filepath.Join(t.TempDir(), "none"), "not there") })
	t.Run("other limits", func(t *testing.T) {
		other := *s
		other.Config.Limits.OpenFiles--
		unusable(t, other.Open(t), dir, "other settings")
	})
	t.Run("another program", func(t *testing.T) {
		other := *s
		other.Config.Program.Key = "another" + s.Config.Program.Key
		unusable(t, other.Open(t), dir, "other settings")
	})
	t.Run("another gVisor", func(t *testing.T) {
		other := *s
		other.Config.Runsc = filepath.Join(t.TempDir(), "runsc") // no program of Go's
		if err := os.WriteFile(other.Config.Runsc, []byte("#!/bin/sh\nexec true\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		unusable(t, other.Open(t), dir, "other settings")
	})
	t.Run("a program that is built of other source", func(t *testing.T) {
		other := *s
		text, err := os.ReadFile(s.Config.Runsc)
		if err != nil {
			t.Fatal(err)
		}
		at := bytes.Index(text, []byte("Go\x00\x00")) + 4 // its build ID, which is the only thing that would tell
		if text[at]++; text[at] == '/' {
			text[at]++
		}
		other.Config.Runsc = filepath.Join(t.TempDir(), "runsc")
		if err := os.WriteFile(other.Config.Runsc, text, 0o700); err != nil {
			t.Fatal(err)
		}
		unusable(t, other.Open(t), dir, "other settings")
	})
	t.Run("torn", func(t *testing.T) {
		name := filepath.Join(dir, "difference")
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for what, bad := range map[string][]byte{"cut": data[:len(data)/2], "changed": append([]byte("0123"), data[4:]...)} {
			if err := os.WriteFile(name, bad, 0o600); err != nil {
				t.Fatal(err)
			}
			t.Run(what, func(t *testing.T) { unusable(t, h, dir, "damaged") })
		}
	})
}

// A restored interpreter that does not answer is given up, after a second attempt, and is no guest of anybody's.
func TestRestoreWithoutAnAnswer(t *testing.T) {
	extent.Long(t)
	s := guesttest.NewSetup(t)
	s.Config.Log = slog.New(slog.DiscardHandler)
	resume, answers := s.Config.Program.Resume, 0
	s.Config.Program.Resume = func(ctx context.Context, g *sandbox.Sandbox) error {
		if answers--; answers >= 0 {
			return resume(ctx, g)
		}
		return errors.New("no answer")
	}
	h := s.Open(t)
	dir := checkpointOf(t, s, h)
	_, _, err := h.Restore(t.Context(), dir, nil)
	if _, unusable := errors.AsType[*sandbox.UnusableError](err); !errors.Is(err, sandbox.ErrNotRestored) || unusable {
		t.Errorf("Restore = %v; want ErrNotRestored", err)
	}
	if stats := h.Stats(); stats.Failed != 2 || stats.Live != 0 {
		t.Errorf("stats %+v; want two failures and nothing that lives", stats)
	}
	answers = 1
	if got := value(t, s.Resume(t, h, dir), "x + 1"); got != "42" {
		t.Errorf("x + 1 is %s afterwards", got)
	}
}

// Files that the caller says a guest had are there before it exists.
func TestRestorePreparesTheEnvironment(t *testing.T) {
	extent.Long(t)
	s := guesttest.NewSetup(t)
	h := s.Open(t)
	guest, err := h.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fill := func(g *sandbox.Sandbox) error {
		return os.WriteFile(filepath.Join(g.Environment, "added.py"), []byte("N = 7\n"), 0o644)
	}
	if err := fill(guest); err != nil {
		t.Fatal(err)
	}
	k, err := kernel.New(t.Context(), guest, kernel.Config{Limits: s.Config.Limits, RunTimeout: time.Minute, Log: s.Config.Log}, s.Key)
	if err != nil {
		t.Fatal(err)
	}
	if got := value(t, k, "import added; source = open(added.__file__); added.N"); got != "7" {
		t.Fatalf("N is %s", got)
	}
	dir := filepath.Join(s.Config.Data, "stored")
	if err := errors.Join(k.Checkpoint(t.Context(), dir), k.Close()); err != nil {
		t.Fatal(err)
	}
	again, note, err := h.Restore(t.Context(), dir, fill)
	if err != nil {
		t.Fatal(err)
	}
	k, err = kernel.Resume(again, note, kernel.Config{Limits: s.Config.Limits, RunTimeout: time.Minute, Log: s.Config.Log}, s.Key)
	if err != nil {
		t.Fatal(err)
	}
	if got := value(t, k, "import importlib; source.read(), importlib.reload(added).N"); got != `('N = 7\n', 7)` {
		t.Errorf("after the restore: %s", got)
	}
	if err := k.Close(); err != nil {
		t.Error(err)
	}
}

// RUN-03: a checkpoint of a sick guest ends with its context and leaves nothing; a guest that recovers is as it was.
func TestCheckpointOfASickGuest(t *testing.T) {
	extent.Long(t)
	s := guesttest.NewSetup(t)
	h := s.Open(t)
	k := s.Kernel(t, h, 0)
	value(t, k, "x = 41\n1")
	stopSandboxes(t, s.Config.Data, "STOP")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	dir := filepath.Join(s.Config.Data, "stored")
	if err := k.Checkpoint(ctx, dir); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Checkpoint = %v; want the end of its context", err)
	}
	if got := value(t, s.Kernel(t, h, 0), "6 * 7"); got != "42" {
		t.Errorf("a new guest beside the sick one: %s", got)
	}
	stopSandboxes(t, s.Config.Data, "CONT")
	if got := value(t, k, "x + 1"); got != "42" {
		t.Errorf("x + 1 is %s in the guest that has recovered", got)
	}
	if err := k.Checkpoint(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	if got := value(t, s.Resume(t, h, dir), "x + 1"); got != "42" {
		t.Errorf("x + 1 is %s after a restore", got)
	}
	left, err := filepath.Glob(filepath.Join(s.Config.Data, "run", "*", "[is]*-*"))
	if err != nil || len(left) != 0 {
		t.Errorf("left of snapshots and images: %v, %v", left, err)
	}
}

// An image is made while one is under way that nobody waits for any more: both at once would end the guest.
func TestImageAfterOneThatWasGivenUp(t *testing.T) {
	extent.Slow(t)
	s := guesttest.NewSetup(t)
	h := s.Open(t)
	k := s.Kernel(t, h, 0)
	value(t, k, "x = bytearray(64 << 20)")
	for range 5 {
		ctx, cancel := context.WithCancel(t.Context())
		given := make(chan error, 1)
		go func() {
			given <- k.Checkpoint(ctx, filepath.Join(s.Config.Data, "given-up"))
		}()
		await(t, "the image to be begun", func() bool {
			files, err := filepath.Glob(filepath.Join(h.Dir(), "snapshot-*", "image", "*"))
			return err != nil || len(files) > 0
		})
		cancel()
		if err := <-given; err == nil {
			t.Log("the image was done before it was given up")
		}
		dir := filepath.Join(s.Config.Data, "done")
		if err := errors.Join(os.RemoveAll(dir), k.Checkpoint(t.Context(), dir)); err != nil {
			t.Fatal(err)
		}
	}
	if got := value(t, k, "len(x)"); got != "67108864" {
		t.Errorf("len(x) is %s after all of them", got)
	}
}
