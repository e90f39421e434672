package kernel_test

import (
	"strings"
	"testing"
	"time"

	"runpython/internal/guesttest"
	"runpython/internal/kernel"
)

// FIL-13: the number of files is bounded; the code that passes the bound gets an
// error and keeps its variables, and may delete what it made.
func TestNumberOfFilesIsBounded(t *testing.T) {
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

// A thread of an earlier run that ends the interpreter between two runs costs
// the variables, and not the next run; files that it wrote are not missed.
func TestInterpreterThatEndsBetweenRuns(t *testing.T) {
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
	for deadline := time.Now().Add(time.Minute); !done(); {
		if time.Now().After(deadline) {
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
