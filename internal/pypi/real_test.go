package pypi_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"runpython/internal/extent"
	"runpython/internal/fault"
	"runpython/internal/guesttest"
	"runpython/internal/kernel"
	"runpython/internal/pypi"
)

// real opens an Installer for the index that the environment names, or skips the test.
func real(t *testing.T, requirements ...string) (bench, pypi.Report) {
	t.Helper()
	b := open(t, func(c *pypi.Config) { c.Environ = os.Environ() })
	r, err := b.Install(t.Context(), pypi.Request{Folder: b.env("a"), Requirements: requirements})
	if _, message := fault.Shown(err); err != nil && strings.Contains(message, "cannot be reached") {
		t.Skipf("the package index cannot be reached: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b, r
}

// The packages that most people come for, from the real index, used in a real guest.
func TestRealPackages(t *testing.T) {
	extent.Long(t)
	b, r := real(t, "pandas", "matplotlib")
	t.Logf("%s; %d bytes downloaded, %d installed; resolving %v, fetching %v, linking %v", r.Lock, r.DownloadedBytes, r.EnvironmentBytes, r.Resolving, r.Fetching, r.Linking)
	if _, ok := installed(r.Lock, "numpy"); !ok || len(r.Warnings) > 0 {
		t.Errorf("installed %s with %q", r.Lock, r.Warnings)
	}
	if p, ok := installed(r.Lock, "matplotlib"); !ok || strings.Join(p.Imports, " ") != "matplotlib mpl_toolkits pylab" {
		t.Errorf("matplotlib is imported by %q", p.Imports)
	}
	if err := b.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	if err := b.Compile(t.Context(), r.Lock); err != nil {
		t.Error(err)
	}
	again := b.install(t, "b", pypi.Lock{}, "matplotlib", "pandas")
	t.Logf("again: %+v", struct{ Resolving, Fetching, Linking any }{again.Resolving, again.Fetching, again.Linking})
	if again.Resolved || again.DownloadedBytes != 0 {
		t.Errorf("the same set again: %+v", again)
	}
	for _, name := range []string{"pandas/__pycache__/__init__.cpython-314.pyc", "bin/f2py"} {
		if _, err := os.Stat(filepath.Join(b.env("b"), name)); err != nil {
			t.Error(err)
		}
	}
	if got := b.run(t, "b", "import pandas, numpy; print(pandas.DataFrame({'a': [1, 2]}).a.sum())"); got != "3" {
		t.Errorf("pandas says %q", got)
	}
}

func installed(l pypi.Lock, name string) (pypi.Package, bool) {
	for _, p := range l.Packages {
		if p.Name == name {
			return p, true
		}
	}
	return pypi.Package{}, false
}

// A living guest sees what is installed while it lives, and a new version after that.
//
// PKG-16.
func TestPKG16LivingGuest(t *testing.T) {
	extent.Long(t)
	x := shop(t)
	b := open(t, from(x))
	env := b.env("a")
	if err := os.MkdirAll(env, 0o755); err != nil {
		t.Fatal(err)
	}
	setup := guesttest.NewSetup(t)
	setup.Config.Environment = env
	k := setup.Kernel(t, setup.Open(t), 0)
	const look = "import importlib, sys; importlib.invalidate_caches()\n"
	if got := stdout(t, k, "try:\n    import top\nexcept ModuleNotFoundError: print('missing')"); got != "missing\n" {
		t.Fatalf("before: %q", got)
	}
	r := b.install(t, "a", pypi.Lock{}, "top")
	if got := stdout(t, k, look+"import top, leaf; print(top.__version__, leaf.__version__)"); got != "1.0 2.0\n" {
		t.Errorf("after an install: %q", got)
	}
	lock := r.Lock
	lock.Requirements = nil
	r = b.install(t, "a", lock, "old-friend")
	if len(r.Changed) != 1 || r.Changed[0].String() != "leaf 1.0" || len(r.Removed) != 1 {
		t.Errorf("changed %v, removed %v", r.Changed, r.Removed)
	}
	if got := stdout(t, k, look+"print(leaf.__version__); del sys.modules['leaf']; import leaf, old_friend; print(leaf.__version__)"); got != "2.0\n1.0\n" {
		t.Errorf("after a change: %q", got)
	}
	if got := stdout(t, k, look+"for n in ('top', 'leaf'): sys.modules.pop(n, None)\ntry:\n    import top\nexcept ModuleNotFoundError: print('gone')"); got != "gone\n" {
		t.Errorf("after a removal: %q", got)
	}
	if got := stdout(t, k, "import os\ntry: os.remove('/opt/env/leaf/__init__.py')\nexcept OSError: print('refused')"); got != "refused\n" {
		t.Errorf("a guest may write: %q", got)
	}
}

// stdout runs code in a guest and returns what it printed.
func stdout(t *testing.T, k *kernel.Kernel, code string) string {
	t.Helper()
	r, err := k.Run(t.Context(), kernel.Request{Candidates: []kernel.Candidate{{Code: code, RunAnyway: true}}})
	if err != nil {
		t.Fatal(err)
	}
	if r.Status != kernel.OK {
		t.Errorf("%q: status %s, %+v", code, r.Status, r.Error)
	}
	return r.Stdout.Text(1 << 16)
}
