package kernel_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/extent"
	"runpython/internal/guesttest"
	"runpython/internal/kernel"
	"runpython/internal/sandbox"
)

// preloaded opens a host whose guests have modules of folder loaded, and returns two kernels from one image.
func preloaded(t *testing.T, folder string, modules ...string) (one, other *kernel.Kernel, h *sandbox.Host) {
	t.Helper()
	s := guesttest.NewSetup(t)
	s.Config.Pool, s.Config.AwaitPreload = 1, true
	s.Config.Limits.MemoryBytes = 1 << 30
	h = s.Open(t)
	h.Preload(sandbox.Preload{Dir: folder, Modules: modules})
	await(t, "a guest in the pool", func() bool { return h.Stats().Pooled == 1 })
	one = s.Kernel(t, h, 0)
	await(t, "a guest in the pool", func() bool { return h.Stats().Pooled == 1 })
	other = s.Kernel(t, h, 0)
	if h.Stats().Restored < 2 || !one.Preloaded() || !other.Preloaded() {
		t.Fatalf("not from an image: %+v", h.Stats())
	}
	return one, other, h
}

// Modules are loaded and not named, and what is random differs between guests of one image; one that cannot
// be imported keeps nothing else away.
func TestPreload(t *testing.T) {
	extent.Slow(t)
	folder := t.TempDir()
	for name, text := range map[string]string{
		"ahead.py":  "import random, ssl, tempfile, uuid\nprint('at the import')\nssl.RAND_bytes(1); random.random()\ncontext = ssl.create_default_context()\n",
		"broken.py": "raise SystemExit('not here')\n",
		"later.py":  "N = 7\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	one, other, h := preloaded(t, folder, "broken", "ahead")
	const look = "import sys\n'ahead' in sys.modules, 'broken' in sys.modules, sorted(n for n in globals() if n[:2] != '__'), 'preloads' in sys.modules"
	if got := evaluate(t, one, look); got != "(True, False, ['sys'], False)" {
		t.Errorf("loaded and named: %s", got)
	}
	if r := supplied(t.Context(), t, one, "import later, ahead\nlater.N", nil); r.Value == nil || r.Value.Text != "7" || r.Stdout.Text(100) != "" {
		t.Errorf("later: %+v", r)
	}
	for _, code := range []string{
		"import random\n[random.random() for _ in range(3)]",
		"import ssl\nssl.RAND_bytes(16)",
		"import tempfile\nnext(tempfile._get_candidate_names())",
		"import uuid\nuuid.uuid4()",
	} {
		if a, b := evaluate(t, one, code), evaluate(t, other, code); a == b {
			t.Errorf("two guests of one image: %s gives %s in both", code, a)
		}
	}
	plain, err := h.TakePlain(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if plain.Preloaded {
		t.Error("a plain guest is preloaded")
	}
	if err := plain.Close(); err != nil {
		t.Error(err)
	}
	// The interpreter that follows one that has ended finds the packages too.
	if r := supplied(t.Context(), t, one, "import os; os._exit(1)", nil); r.Status != kernel.Crashed && r.Status != kernel.Exited {
		t.Errorf("status %s", r.Status)
	}
	if got := evaluate(t, one, "import sys, later\nlater.N, 'ahead' in sys.modules"); got != "(7, False)" {
		t.Errorf("afterwards: %s", got)
	}
}

// The packages that most people come for.
func TestPreloadOfLibraries(t *testing.T) {
	folder := guesttest.Wheels(t)
	one, other, _ := preloaded(t, folder, "numpy", "pandas", "matplotlib")
	if got := evaluate(t, one, "import sys\n[n in sys.modules for n in ('numpy', 'pandas', 'matplotlib.pyplot', 'matplotlib.backends.backend_agg')]"); got != "[True, True, True, True]" {
		t.Errorf("loaded: %s", got)
	}
	for _, code := range []string{
		"import numpy\nnumpy.random.random(3).tolist()",
		"numpy.random.default_rng().random(3).tolist()",
		"import pandas\npandas.Series(range(1000)).sample(5).tolist()",
	} {
		if a, b := evaluate(t, one, code), evaluate(t, other, code); a == b {
			t.Errorf("two guests of one image: %s gives %s in both", code, a)
		}
	}
	r := supplied(t.Context(), t, one, "import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.title('数据')\nplt.gcf().number", nil)
	if r.Status != kernel.OK || len(r.Images) != 1 || r.Value.Text != "1" || len(r.Notes) != 0 || r.Stderr.Text(100) != "" {
		t.Errorf("a plot: status %s, %d images, value %+v, notes %q", r.Status, len(r.Images), r.Value, r.Notes)
	}
	if diff := cmp.Diff("'agg'", strings.ToLower(evaluate(t, one, "plt.get_backend()"))); diff != "" {
		t.Errorf("backend (-want +got):\n%s", diff)
	}
}
