package cache_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/guesttest"
	"runpython/internal/pypi/cache"
	"runpython/internal/pypi/indextest"
	"runpython/internal/pypi/wheel"
)

func open(t *testing.T, bytes int64) (*cache.Cache, cache.Config) {
	t.Helper()
	c := cache.Config{
		Dir: t.TempDir(), Python: guesttest.Python(t).Executable(), GuestPython: "/opt/python/bin/python3", GuestDir: "/opt/env",
		WheelBytes: 10 << 20, FilesBytes: 10 << 20, Bytes: bytes, Log: slog.New(slog.DiscardHandler),
	}
	k, err := cache.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(k.Close)
	return k, c
}

func pin(t *testing.T, w indextest.Wheel) (wheel.Pin, []byte) {
	t.Helper()
	b := w.Bytes(t)
	return wheel.Pin{Name: w.Name, Version: w.Version, File: w.File(), SHA256: indextest.SHA256(b), Bytes: int64(len(b))}, b
}

// ensure puts a wheel into the cache. The caller closes what is returned.
func ensure(t *testing.T, k *cache.Cache, w indextest.Wheel) *cache.Held {
	t.Helper()
	p, b := pin(t, w)
	h, err := k.Ensure(t.Context(), p, func(_ context.Context, to io.Writer, _ int64) (int64, error) {
		return io.Copy(to, bytes.NewReader(b))
	})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// Nothing of a wheel runs when it is compiled, whatever its files are named.
func TestCompilingRunsNothing(t *testing.T) {
	k, _ := open(t, 1<<30)
	mark := filepath.Join(t.TempDir(), "executed")
	evil := "open(" + quote(mark) + ", 'w').close()\n"
	w := indextest.Wheel{Name: "evil", Version: "1.0", Files: map[string]string{
		"sitecustomize.py": evil, "usercustomize.py": evil, "compileall.py": evil, "py_compile.py": evil, "struct.py": evil,
		"importlib/__init__.py": evil, "encodings/__init__.py": evil, "encodings/utf_8.py": evil, "encodings/evil.py": evil, "site.py": evil,
		"concurrent/__init__.py": evil, "evil.pth": "import os; " + evil, "__main__.py": evil, "evil/__init__.py": evil,
		"evil/conftest.py": evil, "evil/coded.py": "# coding: evil\n" + evil, "evil/broken.py": "def (:\n", "evil/zero.py": "a\x00b",
		"evil/deep.py": strings.Repeat("(", 5000) + strings.Repeat(")", 5000), "evil/fine.py": "def f():\n    return 1\n",
		"-c": evil, "-m.py": evil, "a b.py": "x = 1\n", "pyvenv.cfg": "home = .\n", "python314._pth": "import site\n",
	}}
	h := ensure(t, k, w)
	defer h.Close()
	if err := k.Compile(t.Context(), h.Content.Pin.SHA256); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(mark); !errors.Is(err, fs.ErrNotExist) {
		t.Fatal("code of the wheel was executed")
	}
	compiled := map[string]bool{}
	err := filepath.WalkDir(h.Tree, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, ".pyc") {
			return err
		}
		code, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if flags := code[4:8]; !bytes.Equal(flags, []byte{1, 0, 0, 0}) {
			t.Errorf("%s has flags %v, want an unchecked hash", name, flags)
		}
		if bytes.Contains(code, []byte(h.Tree)) || bytes.Contains(code, []byte("/new/")) {
			t.Errorf("%s names a folder of the host", name)
		}
		compiled[d.Name()] = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"fine.cpython-314.pyc", "a b.cpython-314.pyc", "sitecustomize.cpython-314.pyc"} {
		if !compiled[want] {
			t.Errorf("no %s in %v", want, compiled)
		}
	}
	code, err := os.ReadFile(filepath.Join(h.Tree, "evil/__pycache__/fine.cpython-314.pyc"))
	if err != nil || !bytes.Contains(code, []byte("/opt/env/evil/fine.py")) {
		t.Errorf("bytecode does not name the guest's path, %v", err)
	}
	if err := k.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	// The test can fail: compiled in the usual way, the same files do leave the mark.
	cmd := exec.Command(guesttest.Python(t).Executable(), "-B", "-m", "compileall", "-q", ".")
	cmd.Dir = h.Tree
	out, runErr := cmd.CombinedOutput()
	if _, err := os.Stat(mark); err != nil {
		t.Errorf("the wheel is not evil: %v, %v: %s", err, runErr, out)
	}
}

func quote(s string) string { return "'" + s + "'" }

// The cache is bounded, and what an environment links or somebody holds stays.
func TestPrune(t *testing.T) {
	k, c := open(t, 1)
	old := ensure(t, k, indextest.Wheel{Name: "old", Version: "1.0"})
	linked := ensure(t, k, indextest.Wheel{Name: "linked", Version: "1.0"})
	held := ensure(t, k, indextest.Wheel{Name: "held", Version: "1.0"})
	defer held.Close()
	for _, h := range []*cache.Held{old, linked, held} {
		if err := k.Compile(t.Context(), h.Content.Pin.SHA256); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(linked.Tree, "linked/__init__.py"), filepath.Join(t.TempDir(), "x")); err != nil {
		t.Fatal(err)
	}
	old.Close()
	linked.Close()
	k.Close() // the compiler in the background holds what it compiles
	before, err := k.Size()
	if err != nil {
		t.Fatal(err)
	}
	removed, err := k.Prune(t.Context())
	after, sizeErr := k.Size()
	if err != nil || sizeErr != nil || removed == 0 || before-after != removed {
		t.Errorf("Prune = %d, %v; sizes %d and %d, %v", removed, err, before, after, sizeErr)
	}
	for h, want := range map[*cache.Held]bool{old: false, linked: true, held: true} {
		if _, err := os.Stat(h.Tree); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %v", h.Content.Pin, err, want)
		}
	}
	// It comes again when it is asked for.
	again := ensure(t, k, indextest.Wheel{Name: "old", Version: "1.0"})
	if again.Bytes == 0 {
		t.Error("what was removed was not fetched again")
	}
	again.Close()
	if left, err := os.ReadDir(filepath.Join(c.Dir, "new")); err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}

// What is not the wheel of the lock does not enter the cache.
func TestOtherContent(t *testing.T) {
	k, _ := open(t, 1<<30)
	p, b := pin(t, indextest.Wheel{Name: "x", Version: "1.0"})
	for name, fetch := range map[string]cache.Fetch{
		"changed": func(_ context.Context, w io.Writer, _ int64) (int64, error) {
			return io.Copy(w, bytes.NewReader(append([]byte("x"), b[1:]...)))
		},
		"cut": func(_ context.Context, w io.Writer, _ int64) (int64, error) {
			return io.Copy(w, bytes.NewReader(b[:len(b)-1]))
		},
	} {
		_, err := k.Ensure(t.Context(), p, fetch)
		if _, ok := errors.AsType[*cache.MismatchError](err); !ok {
			t.Errorf("%s: %v", name, err)
		}
	}
	if size, err := k.Size(); size != 0 || err != nil {
		t.Errorf("the cache has %d bytes, %v", size, err)
	}
}

// Damage is found.
func TestVerify(t *testing.T) {
	k, _ := open(t, 1<<30)
	h := ensure(t, k, indextest.Wheel{Name: "x", Version: "1.0"})
	h.Close()
	if err := k.Verify(t.Context()); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(h.Tree, "x/__init__.py")
	if err := errors.Join(os.Chmod(name, 0o600), os.WriteFile(name, []byte("changed"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := k.Verify(t.Context()); err == nil || !strings.Contains(err.Error(), "x-1.0-py3-none-any.whl") {
		t.Errorf("Verify: %v", err)
	}
	if diff := cmp.Diff([]string{"x"}, h.Content.Imports); diff != "" {
		t.Error(diff)
	}
}
