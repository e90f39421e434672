package guest_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A delivery is a run and what it needs from the host, which writes files into the folder
// of packages and tells which modules have changed.
type delivery struct {
	code    string
	needed  []string // nil when it must not ask
	brings  map[string]string
	changed []string
	stdout  string
	failure string // the class of the exception
	note    string // a part of the only note, "" for none
}

var deliveries = map[string][]delivery{
	"PKG-16 installed while the interpreter runs": {
		{code: "try:\n    import cowsay\nexcept ModuleNotFoundError:\n    print('missing')", stdout: "missing\n"},
		{code: "import cowsay\nprint('ok')", needed: []string{"cowsay"}, brings: map[string]string{"cowsay.py": ""}, stdout: "ok\n"},
		{code: "import cowsay\nprint('again')", stdout: "again\n"},
	},
	"PKG-15 another version of what is loaded": {
		{code: "import six", needed: []string{"six"}, brings: map[string]string{"six.py": "v = 1"}},
		{
			code: "import six, more\nprint(six.v, more.v)", needed: []string{"more"}, changed: []string{"six", "unloaded"},
			brings: map[string]string{"six.py": "v = 2", "more.py": "v = 3"}, stdout: "1 3\n",
			note: "six: loaded before another version was installed, the old one goes on in this chat",
		},
	},
	"not brought": {
		{code: "print('not reached')\nimport nothing_there", needed: []string{"nothing_there"}, stdout: "not reached\n", failure: "ModuleNotFoundError"},
		{code: "import nothing_there", needed: []string{"nothing_there"}, failure: "ModuleNotFoundError"},
	},
	"more parts of a namespace": {
		{code: "import space.one\nprint('one')", needed: []string{"space.one"}, brings: map[string]string{"space/one.py": ""}, stdout: "one\n"},
		{code: "import space.two\nprint('two')", needed: []string{"space.two"}, brings: map[string]string{"space/two.py": ""}, stdout: "two\n"},
	},
	"finders of the chat are left alone": {
		{code: "import sys\nclass F:\n    def invalidate_caches(self): print('called')\nsys.path_importer_cache['/x'] = F()"},
		{code: "import thing\nprint(1)", needed: []string{"thing"}, brings: map[string]string{"thing.py": ""}, stdout: "1\n"},
		{code: "sys.path_importer_cache = None; sys.path = None"},
		{code: "import other", needed: []string{"other"}, failure: "TypeError"},
	},
}

func TestImportsAreBroughtByTheHost(t *testing.T) {
	for name, all := range deliveries {
		t.Run(name, func(t *testing.T) {
			packages := t.TempDir()
			k := start(t, packages)
			for _, d := range all {
				k.deliver(t, packages, d)
			}
		})
	}
}

// deliver runs the code of d and brings what it needs.
func (k *kernel) deliver(t *testing.T, packages string, d delivery) {
	t.Helper()
	var needed []string
	k.supply = func(names []string) []string {
		needed = append(needed, names...)
		bring(t, packages, d.brings)
		return append([]string{}, d.changed...)
	}
	r := k.exec(d.code)
	if diff := cmp.Diff(d.needed, needed); diff != "" {
		t.Errorf("%s\nneeds (-want +got):\n%s", d.code, diff)
	}
	if kind, message, _ := r.exception(); r.stdout != d.stdout || kind != d.failure {
		t.Errorf("%s\nprinted %q, raised %s %s; want %q, %q", d.code, r.stdout, kind, message, d.stdout, d.failure)
	}
	if notes := strings.Join(r.done.Notes, "\n"); !strings.Contains(notes, d.note) || d.note == "" && notes != "" {
		t.Errorf("%s\nnotes %q; want %q", d.code, notes, d.note)
	}
}

func bring(t *testing.T, folder string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// What was installed before a run is seen by it, also when it was looked for in vain just before.
func TestRunIsToldWhatWasInstalled(t *testing.T) {
	packages := t.TempDir()
	k := start(t, packages)
	k.exec("try: import six\nexcept ImportError: pass")
	bring(t, packages, map[string]string{"six.py": "v = 1"})
	k.fresh = []string{}
	if r := k.exec("import six\nprint(six.v)"); r.stdout != "1\n" || len(r.done.Notes) > 0 {
		t.Errorf("after an install: %q, %q, %v", r.stdout, r.done.Notes, r.done.Error)
	}
	k.fresh = []string{"six"}
	if r := k.exec("six.v"); len(r.done.Notes) != 1 {
		t.Errorf("after another version: notes %q; want one", r.done.Notes)
	}
}

// Without a host that installs, nothing is asked; and code that is interrupted while it
// waits has not run, and its late answer does not disturb the next run.
func TestInterruptWhilePackagesAreInstalled(t *testing.T) {
	k := start(t, t.TempDir())
	if r := k.exec("import nothing_there"); r.done.Status != "error" {
		t.Fatalf("without packages: %+v", r.done)
	}
	const code = "print('ran')\nimport nothing_there"
	k.supply = func([]string) []string { return []string{} }
	k.send(map[string]any{"op": "run", "n": 100, "candidates": []candidate{{Code: code}}, "packages": true}, nil)
	if m, _, err := k.receive(); err != nil || m.Op != "needs" || m.N != 100 {
		t.Fatalf("got %+v, %v; want needs", m, err)
	}
	if err := k.process.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	m, _, err := k.receive()
	kind, _, _ := result{done: m}.exception()
	if err != nil || m.Op != "done" || kind != "KeyboardInterrupt" || k.stdout.take() != "" {
		t.Fatalf("got %+v, %v; want done with KeyboardInterrupt", m, err)
	}
	k.send(map[string]any{"op": "installed", "n": 100, "changed": []string{}}, nil)
	if r := k.exec("print(1)"); r.stdout != "1\n" || r.done.Status != "ok" {
		t.Errorf("after it: %q, %+v", r.stdout, r.done)
	}
}
