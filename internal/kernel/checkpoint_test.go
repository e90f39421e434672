package kernel_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"runpython/internal/extent"
	"runpython/internal/guesttest"
	"runpython/internal/kernel"
)

// save stores a checkpoint of k in a folder of the test's own.
func save(t *testing.T, k *kernel.Kernel, dir string) {
	t.Helper()
	if err := k.Checkpoint(t.Context(), dir); err != nil {
		t.Fatalf("checkpoint: %v", err)
	}
}

// stored returns a place for a checkpoint on the file system of the data folder.
func stored(t *testing.T, s *guesttest.Setup) string {
	t.Helper()
	dir := filepath.Join(s.Config.Data, "checkpoints")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "chat")
}

// Variables, files, open files, functions with their source and the numbers of runs go on; the guest of
// which the checkpoint is goes on too, and does not see what the other does.
func TestCheckpoint(t *testing.T) {
	s := guesttest.NewSetup(t)
	h := s.Open(t)
	guest, err := h.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(guest.Uploads, "upload.csv"), []byte("a,b\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	k, err := kernel.New(t.Context(), guest, kernel.Config{RunTimeout: time.Minute, Limits: s.Config.Limits, Log: s.Config.Log}, s.Key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = k.Close() })
	for _, code := range []string{
		"x = [1]\ndef f():\n    return 1/0",
		"f_open = open('made.txt', 'w+'); f_open.write('abc'); f_open.flush()",
		"import os; os.mkdir('d'); open('d/e', 'w').write('e'); up = open('upload.csv')",
	} {
		if r := execute(t, k, code); r.Status != kernel.OK {
			t.Fatalf("%s: %s %+v", code, r.Status, r.Error)
		}
	}
	dir := stored(t, s)
	for range 2 { // the second replaces the first
		save(t, k, dir)
	}
	if got := evaluate(t, k, "x.append(2); f_open.write('def'); f_open.flush(); x"); got != "[1, 2]" {
		t.Errorf("x is %s in the guest that was left running", got)
	}
	for range 2 { // a checkpoint is used as often as one likes
		again := s.Resume(t, h, dir)
		if r := execute(t, again, "x"); r.Value == nil || r.Value.Text != "[1]" || r.Files != nil || r.Renewed {
			t.Errorf("first run: %+v, files %+v; want [1] and nothing changed", r.Value, r.Files)
		}
		if got := evaluate(t, again, "f_open.seek(0), f_open.read(), f_open.write('!'), up.read(), open('d/e').read(), sorted(os.listdir())"); got != `(0, 'abc', 1, 'a,b\n', 'e', ['d', 'made.txt', 'upload.csv'])` {
			t.Errorf("files: %s", got)
		}
		r := execute(t, again, "f()")
		if r.Error == nil || !strings.Contains(r.Error.Traceback, "return 1/0") {
			t.Errorf("traceback: %+v", r.Error)
		}
		if r := execute(t, again, "f_open.flush(); open('new.txt', 'w').close()"); r.Files == nil || len(r.Files.Changed) != 2 {
			t.Errorf("files %+v; want made.txt and new.txt", r.Files)
		}
		if err := again.Close(); err != nil {
			t.Error(err)
		}
	}
	if got := evaluate(t, k, "open('made.txt').read(), sorted(os.listdir())"); got != "('abcdef', ['d', 'made.txt', 'upload.csv'])" {
		t.Errorf("files of the guest that was left running: %s", got)
	}
	if stats := h.Stats(); stats.Failed != 0 {
		t.Errorf("stats %+v", stats)
	}
}

// A guest that stands still between turns is checkpointed as well, and stands still again after it.
func TestCheckpointOfAGuestThatStandsStill(t *testing.T) {
	extent.Long(t)
	s := guesttest.NewSetup(t)
	h := s.Open(t)
	k := s.Kernel(t, h, 0)
	evaluate(t, k, "x = 41")
	time := time.NewTimer(300 * time.Millisecond)
	<-time.C // it stands still by now
	dir := stored(t, s)
	save(t, k, dir)
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	again := s.Resume(t, h, dir)
	if got := evaluate(t, again, "x + 1"); got != "42" {
		t.Errorf("x + 1 is %s", got)
	}
	save(t, again, dir) // of one that was restored
	if got := evaluate(t, s.Resume(t, h, dir), "x + 1"); got != "42" {
		t.Errorf("x + 1 is %s after a second time", got)
	}
}

// What threads have printed between runs is told after a restore.
func TestOutputBetweenRunsIsKept(t *testing.T) {
	extent.Slow(t)
	s := guesttest.NewSetup(t)
	h := s.Open(t)
	k := s.Kernel(t, h, 0)
	r := execute(t, k, "import os, threading, time\ndef say():\n    time.sleep(0.03)\n    os.write(1, b'said late')\nthreading.Thread(target=say).start()")
	if r.Status != kernel.OK {
		t.Fatalf("%+v", r)
	}
	dir := stored(t, s)
	await(t, "late output in a checkpoint", func() bool {
		save(t, k, dir)
		return strings.Contains(execute(t, s.Resume(t, h, dir), "1").Late.Text(100), "said late")
	})
}

// An interpreter that has ended between two runs is told of after a restore as before.
func TestCheckpointOfAnEndedInterpreter(t *testing.T) {
	extent.Slow(t)
	s := guesttest.NewSetup(t)
	h := s.Open(t)
	k := s.Kernel(t, h, 0)
	if r := execute(t, k, "x = 1; open('kept', 'w').close(); import os; os._exit(3)"); r.Status != kernel.Crashed {
		t.Fatalf("status %s", r.Status)
	}
	dir := stored(t, s)
	save(t, k, dir)
	again := s.Resume(t, h, dir)
	if r := execute(t, again, "import os; os.listdir()"); !r.Renewed || r.Value == nil || r.Value.Text != "['kept']" {
		t.Errorf("value %+v, renewed %v; want the file, and that the interpreter is another", r.Value, r.Renewed)
	}
	if got := evaluate(t, again, "x"); !strings.HasPrefix(got, "NameError") {
		t.Errorf("x is %s", got)
	}
}

// Issue 7, item 7: two guests restored from one checkpoint draw different numbers, unless the code had seeded.
func TestRandomnessAfterARestore(t *testing.T) {
	extent.Long(t)
	s := guesttest.NewSetup(t)
	h := s.Open(t)
	dir := stored(t, s)
	drawn := "import random, secrets, tempfile, uuid, ssl, os, time\nfirst = random.random(), secrets.token_hex(), uuid.uuid4(), next(tempfile._get_candidate_names()), ssl.RAND_bytes(4)\nbefore = time.time(), time.monotonic()"
	looks := []string{
		"random.random()", "random.gauss(0, 1)", "secrets.token_hex(8)", "uuid.uuid4()", "uuid.uuid1()", "uuid.uuid7()",
		"os.path.basename(tempfile.mktemp())", "ssl.RAND_bytes(8)", "os.urandom(8)", "random.SystemRandom().random()",
	}
	plain := s.Kernel(t, h, 0)
	evaluate(t, plain, drawn)
	save(t, plain, dir)
	one, other := s.Resume(t, h, dir), s.Resume(t, h, dir)
	for _, look := range looks {
		a, b, c := evaluate(t, one, look), evaluate(t, other, look), evaluate(t, plain, look)
		if a == b || a == c || b == c {
			t.Errorf("%s gives %s, %s after two restores and %s where it was made", look, a, b, c)
		}
	}
	for _, seed := range []string{"random.seed(7)", "random.seed(a='x')", "random.setstate(random.Random(5).getstate())"} {
		evaluate(t, plain, seed)
		save(t, plain, dir)
		one, other := s.Resume(t, h, dir), s.Resume(t, h, dir)
		const look = "[random.random() for _ in range(3)]"
		if a, b, c := evaluate(t, one, look), evaluate(t, other, look), evaluate(t, plain, look); a != b || a != c {
			t.Errorf("after %s: %s, %s after two restores and %s where it was made; want the same", seed, a, b, c)
		}
	}
	evaluate(t, plain, "random.seed()")
	save(t, plain, dir)
	if a, b := evaluate(t, s.Resume(t, h, dir), looks[0]), evaluate(t, s.Resume(t, h, dir), looks[0]); a == b {
		t.Errorf("after random.seed(): %s in both", a)
	}
}

// Time goes on: it is the time of the day, and never goes back.
func TestClockAfterARestore(t *testing.T) {
	extent.Slow(t)
	s := guesttest.NewSetup(t)
	h := s.Open(t)
	k := s.Kernel(t, h, 0)
	dir := stored(t, s)
	evaluate(t, k, "import time; before = time.monotonic(), time.perf_counter()")
	save(t, k, dir)
	again := s.Resume(t, h, dir)
	earliest := time.Now()
	got := evaluate(t, again, "time.time_ns()//1_000_000")
	at, err := time.ParseDuration(got + "ms")
	if now := time.Unix(0, int64(at)); err != nil || now.Before(earliest.Add(-time.Second)) || now.After(time.Now().Add(time.Second)) {
		t.Errorf("time %v; want now", now)
	}
	if got := evaluate(t, again, "time.monotonic() >= before[0], time.perf_counter() >= before[1], time.monotonic() - before[0] < 3600"); got != "(True, True, True)" {
		t.Errorf("clocks that only go on: %s", got)
	}
}

// numpy's global generator is treated as that of Python.
func TestRandomnessOfNumpyAfterARestore(t *testing.T) {
	s := guesttest.NewSetup(t)
	s.Config.Environment, s.Config.Limits.MemoryBytes = guesttest.Wheels(t), 1<<30
	h := s.Open(t)
	k := s.Kernel(t, h, 0)
	dir := stored(t, s)
	evaluate(t, k, "import numpy as np; first = np.random.random()")
	for _, step := range []struct {
		code string
		same bool
	}{{"None", false}, {"np.random.seed(3)", true}, {"np.random.seed()", false}, {"np.random.set_state(np.random.RandomState(4).get_state())", true}} {
		evaluate(t, k, step.code)
		save(t, k, dir)
		const look = "np.random.random(2).tolist(), np.random.permutation(50).tolist()"
		a, b, c := evaluate(t, s.Resume(t, h, dir), look), evaluate(t, s.Resume(t, h, dir), look), evaluate(t, k, look)
		if (a == b) != step.same || (a == c) != step.same {
			t.Errorf("after %s: %s, %s after two restores and %s where it was made; want the same: %v", step.code, a, b, c, step.same)
		}
	}
}

// Runs and checkpoints may come from anywhere: each checkpoint is of a moment between two runs.
func TestCheckpointsBesideRuns(t *testing.T) {
	extent.Long(t)
	s := guesttest.NewSetup(t)
	h := s.Open(t)
	k := s.Kernel(t, h, 0)
	dir := stored(t, s)
	evaluate(t, k, "n = m = 0")
	const saves = 4
	failed := make(chan error, saves)
	go func() {
		defer close(failed)
		for range saves {
			failed <- k.Checkpoint(t.Context(), dir)
		}
	}()
	runs := 0
	for ended := false; !ended; {
		runs++
		if r := execute(t, k, "n += 1; import time; time.sleep(0.001); print(n); m += 1"); r.Status != kernel.OK || r.Late.Len() != 0 {
			t.Fatalf("run %d: status %s, late %d bytes", runs, r.Status, r.Late.Len())
		}
		select {
		case err, more := <-failed:
			ended = !more
			if err != nil {
				t.Fatal(err)
			}
		default:
		}
	}
	if got := evaluate(t, k, "n == m, n"); got != fmt.Sprintf("(True, %d)", runs) {
		t.Errorf("n == m, n is %s after %d runs", got, runs)
	}
	if got := evaluate(t, s.Resume(t, h, dir), "n == m and n >= 1"); got != "True" {
		t.Errorf("n == m is %s after a restore", got)
	}
}

// Issue 7, item 3: a run goes before a checkpoint beside it, which is given up wherever it is; variables are not touched by it,
// and the next checkpoint has all of them.
func TestRunGoesBeforeACheckpoint(t *testing.T) {
	extent.Slow(t)
	s := guesttest.NewSetup(t)
	h := s.Open(t)
	k := s.Kernel(t, h, 0)
	dir := stored(t, s)
	evaluate(t, k, "import os; held = os.urandom(64 << 20); n = 0; f = open('f', 'w')")
	disturbed, runs := 0, 0
	for disturbed < 5 && runs < 500 {
		made := make(chan error, 1)
		go func() { made <- k.CheckpointBeside(t.Context(), dir) }()
		for over := false; !over; runs++ {
			if r := execute(t, k, "n += 1; print(n, file=f, flush=True)"); r.Status != kernel.OK || r.Late.Len() != 0 {
				t.Fatalf("run %d: %+v", runs, r)
			}
			select {
			case err := <-made:
				over = true
				if errors.Is(err, kernel.ErrDisturbed) {
					disturbed++
				} else if err != nil {
					t.Fatal(err)
				}
			default:
			}
		}
	}
	if disturbed == 0 {
		t.Error("no checkpoint gave way to a run")
	}
	if err := k.CheckpointBeside(t.Context(), dir); err != nil {
		t.Fatalf("checkpoint of a quiet interpreter: %v", err)
	}
	const look = "n, len(held), len(open('f').read().split())"
	want := fmt.Sprintf("(%d, %d, %d)", runs, 64<<20, runs)
	if got := evaluate(t, k, look); got != want {
		t.Errorf("it has %s; want %s", got, want)
	}
	if got := evaluate(t, s.Resume(t, h, dir), look); got != want {
		t.Errorf("after a restore %s; want %s", got, want)
	}
	if left, err := filepath.Glob(filepath.Join(s.Config.Data, "run", "*", "snapshot-*")); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// A caller that gives a checkpoint up has the guest go on.
func TestCheckpointBesideIsGivenUp(t *testing.T) {
	extent.Slow(t)
	s := guesttest.NewSetup(t)
	k := s.Kernel(t, s.Open(t), 0)
	dir := stored(t, s)
	evaluate(t, k, "x = 41")
	ended, end := context.WithCancel(t.Context())
	end()
	if err := k.CheckpointBeside(ended, dir); !errors.Is(err, context.Canceled) {
		t.Errorf("CheckpointBeside = %v; want canceled", err)
	}
	if got := evaluate(t, k, "x + 1"); got != "42" {
		t.Errorf("x + 1 is %s", got)
	}
}

// An interpreter that holds more than an image in memory may is left alone.
func TestTooLargeForACheckpointBeside(t *testing.T) {
	extent.Slow(t)
	s := guesttest.NewSetup(t)
	s.Config.ImageBytes = 40 << 20
	k := s.Kernel(t, s.Open(t), 0)
	dir := stored(t, s)
	if err := k.CheckpointBeside(t.Context(), dir); err != nil {
		t.Errorf("of a small one: %v", err)
	}
	evaluate(t, k, "held = b'x' * (64 << 20)")
	if err := k.CheckpointBeside(t.Context(), dir); !errors.Is(err, kernel.ErrTooLarge) {
		t.Errorf("CheckpointBeside = %v; want that it is too large", err)
	}
	save(t, k, dir)
}

// CHT-13: a disk that is full costs the checkpoint and nothing else: neither the variables nor the checkpoint before.
func TestDiskFullAtACheckpoint(t *testing.T) {
	extent.Long(t)
	s := guesttest.NewSetup(t)
	if err := unix.Mount("tmpfs", s.Config.Data, "tmpfs", 0, "size=48m"); err != nil {
		t.Skipf("no file system can be made: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(s.Config.Data, 0); err != nil {
			t.Error(err)
		}
	})
	h := s.Open(t)
	k := s.Kernel(t, h, 0)
	dir := stored(t, s)
	evaluate(t, k, "x = 1")
	save(t, k, dir)
	evaluate(t, k, "x = 2")
	fill := filepath.Join(s.Config.Data, "fill")
	data := make([]byte, 48<<20)
	if err := os.WriteFile(fill, data, 0o600); !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("fill the disk: %v", err)
	}
	if err := k.Checkpoint(t.Context(), dir); !errors.Is(err, unix.ENOSPC) {
		t.Errorf("Checkpoint = %v; want that there is no space", err)
	}
	if k.Lost() {
		t.Fatal("the guest is lost")
	}
	if got := evaluate(t, k, "x + 40"); got != "42" {
		t.Errorf("x + 40 is %s", got)
	}
	if err := os.Remove(fill); err != nil {
		t.Fatal(err)
	}
	if got := evaluate(t, s.Resume(t, h, dir), "x"); got != "1" {
		t.Errorf("x is %s in the checkpoint before", got)
	}
	save(t, k, dir)
	if got := evaluate(t, s.Resume(t, h, dir), "x"); got != "2" {
		t.Errorf("x is %s in the checkpoint after", got)
	}
}
