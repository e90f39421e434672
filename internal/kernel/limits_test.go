package kernel_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"runpython/internal/extent"
	"runpython/internal/guesttest"
	"runpython/internal/kernel"
)

// FIL-13: the number of files is bounded; the code that passes the bound gets an
// error and keeps its variables, and may delete what it made.
func TestNumberOfFilesIsBounded(t *testing.T) {
	extent.Long(t)
	s := guesttest.NewSetup(t)
	s.Config.Limits.WorkFiles = 100
	s.Config.Program = kernel.Program(s.Config.Program.Dir, s.Key, s.Config.Limits)
	k := s.Kernel(t, s.Open(t), time.Minute)
	r := execute(t, k, "import time\nn = 0\nwhile True:\n    open(f'f{n}', 'w').close()\n    n += 1\n    time.sleep(0.02)")
	if r.Error == nil || !strings.Contains(r.Error.Message, "more than 100 files in /work") {
		t.Fatalf("status %s, error %+v; want the limit of files", r.Status, r.Error)
	}
	if r.Files == nil || !r.Files.Over {
		t.Errorf("files %+v; want a report that says over", r.Files)
	}
	if got := evaluate(t, k, "n > 100"); got != "True" {
		t.Errorf("n > 100 is %s; want the variables kept", got)
	}
	clean := "import os\nfor name in os.listdir('.'):\n    os.remove(name)\n    time.sleep(0.02)\nlen(os.listdir('.'))"
	if got := evaluate(t, k, clean); got != "0" {
		t.Errorf("deleting the files: %s; want 0 left", got)
	}
}

// Code that ends while its interpreter is being killed for memory has cost the variables, and not the next run.
func TestEndBesideAKill(t *testing.T) {
	extent.Slow(t)
	s := guesttest.NewSetup(t)
	s.Config.Limits.MemoryBytes = 128 << 20
	s.Config.Program = kernel.Program(s.Config.Program.Dir, s.Key, s.Config.Limits)
	k := s.Kernel(t, s.Open(t), time.Minute)
	resets := 0
	for i := range 20 {
		evaluate(t, k, "kept = 1")
		r := execute(t, k, fmt.Sprintf("try:\n    b = bytearray(%d << 20)\nexcept MemoryError:\n    pass\nb = None", 140+4*i))
		want := "1"
		if r.Reset {
			want = "NameError: name 'kept' is not defined"
			resets++
		}
		if got := evaluate(t, k, "kept"); got != want {
			t.Fatalf("attempt %d, status %s, reset %v: the next run gives %q, want %q", i, r.Status, r.Reset, got, want)
		}
	}
	t.Logf("%d of 20 have cost the variables", resets)
}

// A thread of an earlier run that ends the interpreter between two runs costs
// the variables, and not the next run; files that it wrote are not missed.
func TestInterpreterThatEndsBetweenRuns(t *testing.T) {
	extent.Slow(t)
	s := guesttest.NewSetup(t)
	k := s.Kernel(t, s.Open(t), time.Minute)
	code := "import os, threading, time\nx = 1\ndef f():\n    time.sleep(0.03)\n    open('late.txt', 'w').write('late')\n    os._exit(5)\nthreading.Thread(target=f).start()"
	if r := execute(t, k, code); r.Status != kernel.OK {
		t.Fatalf("status %s, %+v", r.Status, r.Error)
	}
	var r *kernel.Result
	await(t, "the interpreter to end", func() bool {
		r = execute(t, k, "40 + 2")
		return r.Renewed || r.Status == kernel.Crashed
	})
	if r.Status == kernel.Crashed { // it ended in this run: told there, and the files too
		if r.Files == nil || !r.Reset {
			t.Errorf("result %+v; want reset with files", r)
		}
		return
	}
	if r.Value == nil || r.Value.Text != "42" || r.Files == nil || len(r.Files.Changed) != 1 || r.Files.Changed[0].Path != "late.txt" {
		t.Errorf("value %+v, files %+v; want 42 and late.txt", r.Value, r.Files)
	}
	if got := evaluate(t, k, "x"); !strings.HasPrefix(got, "NameError") {
		t.Errorf("x is %s; want it gone", got)
	}
}

// await looks until something has come about.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for !done() {
		select {
		case <-look.C:
		case <-deadline.C:
			t.Fatalf("waited a minute for %s", what)
		}
	}
}

// Libraries open their output by name.
func TestOutputByName(t *testing.T) {
	s := guesttest.NewSetup(t)
	r := execute(t, s.Kernel(t, s.Open(t), 0), "for name in '/dev/stdout', '/dev/stderr', '/dev/fd/1':\n    with open(name, 'w') as f: f.write(name + '\\n')")
	if r.Status != kernel.OK || r.Stdout.Text(100) != "/dev/stdout\n/dev/fd/1\n" || r.Stderr.Text(100) != "/dev/stderr\n" {
		t.Errorf("status %s, %+v, stdout %q, stderr %q", r.Status, r.Error, r.Stdout.Text(100), r.Stderr.Text(100))
	}
}

// What is fetched is bounded in all, however large files claim to be.
func TestSparseFilesAreBoundedInAll(t *testing.T) {
	extent.Slow(t)
	s := guesttest.NewSetup(t)
	s.Config.Limits.WorkBytes = 8 << 20
	s.Config.Program = kernel.Program(s.Config.Program.Dir, s.Key, s.Config.Limits)
	k := s.Kernel(t, s.Open(t), 0)
	r := execute(t, k, "for i in range(100):\n    with open(f'{i:02}', 'wb') as f: f.truncate(5 << 20)")
	if r.Files == nil || len(r.Files.Changed) != 100 {
		t.Fatalf("status %s, %+v, files %+v; want 100", r.Status, r.Error, r.Files)
	}
	var paths []string
	for _, f := range r.Files.Changed {
		paths = append(paths, f.Path)
	}
	var got int64
	ended, whole := 0, 0
	end := func(_ int, problem string) error {
		ended++
		switch {
		case problem == "":
			whole++
		case !strings.Contains(problem, "no room"):
			t.Errorf("file %d: %q; want that there is no room", ended, problem)
		}
		return nil
	}
	err := k.Get(t.Context(), paths, 8<<20, func(_ int, data []byte) error { got += int64(len(data)); return nil }, end)
	if err != nil || got != 8<<20 || ended != 100 || whole != 1 {
		t.Errorf("Get = %v with %d bytes of %d files, %d whole; want 8 MiB of 100, one whole", err, got, ended, whole)
	}
	if v := evaluate(t, k, "6 * 7"); v != "42" {
		t.Errorf("afterwards 6 * 7 is %s", v)
	}
}

// An interpreter that ends while its files are read costs what is in flight; init hands out the rest.
func TestInterpreterThatEndsDuringGet(t *testing.T) {
	extent.Long(t)
	s := guesttest.NewSetup(t)
	k := s.Kernel(t, s.Open(t), 0)
	code := "import os, threading\nfor i in range(40):\n    open(f'{i:02}', 'wb').write(bytes([i]) * (1 << 20))\nt = threading.Timer(0.02, os._exit, (1,)); t.start()"
	r := execute(t, k, code)
	if r.Files == nil {
		t.Fatalf("status %s, %+v: no files", r.Status, r.Error)
	}
	var paths []string
	for _, f := range r.Files.Changed {
		paths = append(paths, f.Path)
	}
	ended := 0
	err := k.Get(t.Context(), paths, 64<<20, func(int, []byte) error { return nil }, func(int, string) error { ended++; return nil })
	if err != nil || ended != len(paths) {
		t.Errorf("Get = %v, %d of %d files ended", err, ended, len(paths))
	}
	await(t, "the interpreter to end", func() bool { return execute(t, k, "1").Renewed || k.Lost() })
	if k.Lost() {
		t.Error("the guest is lost")
	}
}

// An interpreter ends once. Code that pretends it again and again, while nobody answers, costs its
// guest and not the caller's time.
func TestForgedEndsDuringGet(t *testing.T) {
	extent.Slow(t)
	s := guesttest.NewSetup(t)
	k := s.Kernel(t, s.Open(t), 0)
	code := forge + `
import threading, time
library = ctypes.PyDLL(None) # keeps the interpreter to itself

def lie():
    time.sleep(0.05)
    sys.setswitchinterval(1000)
    packet = token + b'.{"op":"died","status":0}'
    while True:
        library.write(channel, packet, len(packet))
        library.usleep(1000)

open("a.txt", "w").close()
threading.Thread(target=lie).start()`
	if r := execute(t, k, code); r.Status != kernel.OK {
		t.Fatalf("status %s, %+v", r.Status, r.Error)
	}
	ended := func(int, string) error { return nil }
	await(t, "the first lie", func() bool {
		err := k.Get(t.Context(), []string{"a.txt"}, 100, func(int, []byte) error { return nil }, ended)
		if err != nil && !strings.Contains(err.Error(), "ended twice") {
			t.Fatalf("Get = %v; want that the interpreter has ended twice", err)
		}
		return err != nil
	})
	if !k.Lost() {
		t.Error("the guest lives on")
	}
}

// forge finds the channel and the token, with which code can say what it likes.
const forge = `
import ctypes, os, re, stat, sys
channel = max(int(n) for n in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{n}") and stat.S_ISSOCK(os.fstat(int(n)).st_mode))
ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)
token = b""
with open("/proc/self/mem", "rb", 0) as memory:
    for line in open("/proc/self/maps"):
        start, end = (int(x, 16) for x in line.split()[0].split("-"))
        if " rw" in line and end - start < 64 << 20:
            try:
                memory.seek(start)
                found = re.search(rb'([!-~]{16})[.]\{"[^\n]{0,99}"n": ?\d+', memory.read(end - start))
            except (OSError, OverflowError):
                continue
            token = found[1] if found else token
assert token
`

// Looking through /work costs each run of a chat that has many files; a chat that has written
// nothing, in a guest that was only just begun, does not pay for it.
func TestOnlyWhatMayHaveWrittenIsLookedAfter(t *testing.T) {
	extent.Long(t)
	s := guesttest.NewSetup(t)
	h := s.Open(t)
	k := s.Kernel(t, h, 0)
	const seen = `import sys
frame = sys._getframe()
while not hasattr(frame.f_locals.get('self'), '_activity'): frame = frame.f_back
frame.f_locals['self']._activity.seen`
	if got := evaluate(t, k, seen); got != "False" {
		t.Errorf("before anything was written: %s; want False", got)
	}
	for _, writes := range []string{"open('x', 'w').close()", "import os; os.mkfifo('f')", "import os; os.mkdir('d')", "import os; os.symlink('a', 'b')"} {
		if got := evaluate(t, s.Kernel(t, h, 0), writes+"\n"+seen); got != "True" {
			t.Errorf("after %s: %s; want True", writes, got)
		}
	}
}
