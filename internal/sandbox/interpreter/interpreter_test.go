package interpreter_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/extent"
	"runpython/internal/sandbox/interpreter"
)

// patience is how long a test waits for something that takes seconds at most.
const patience = 2 * time.Minute

// programs returns guest programs that differ with their version.
func programs(version string) fstest.MapFS {
	return fstest.MapFS{
		"init.py":         {Data: []byte("VERSION = " + version + "\n")},
		"pictures/png.py": {Data: []byte("def png():\n    return b'png'\n")},
		"fonts/LICENSE":   {Data: []byte("free\n")},
	}
}

func open(t *testing.T, dir string, programs fs.FS) *interpreter.Interpreter {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	in, err := interpreter.Open(ctx, dir, programs)
	if err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(func() { _ = in.Close() }) // a second Close of those that a test has closed
	return in
}

// canceled is a context in which Open may find an interpreter, not unpack one.
func canceled(t *testing.T) context.Context {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	return ctx
}

// names returns the names in dir.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// A made is what several processes, with a umask that hides all from others, have
// made of one folder, all at once. Every test begins with it that can, since each time that
// CPython is unpacked takes seconds.
type made struct {
	dir   string
	homes map[string]bool // what the processes got
}

// templateDir is the folder of template, "" before a test has asked for it.
var templateDir string

var template = sync.OnceValues(func() (made, error) {
	dir, err := os.MkdirTemp("", "interpreter")
	templateDir = dir
	m := made{dir: dir, homes: map[string]bool{}}
	if err != nil {
		return m, err
	}
	var children []*child
	for range 4 {
		c, err := spawn("umask", dir, nil)
		if err != nil {
			return m, err
		}
		children = append(children, c)
	}
	for _, c := range children {
		out, err := c.end()
		if err != nil {
			return m, err
		}
		m.homes[out[0]] = true
	}
	return m, nil
})

// first returns the template. Tests do not change it.
func first(t *testing.T) made {
	t.Helper()
	m, err := template()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// unpacked returns a folder of the test's own in which the first version is unpacked.
func unpacked(t *testing.T) string {
	t.Helper()
	return clone(t, first(t).dir)
}

// clone copies a folder with all that stat tells of its files.
func clone(t *testing.T, dir string) string {
	t.Helper()
	to := t.TempDir()
	if out, err := exec.Command("cp", "-a", dir+"/.", to).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v: %s", err, out)
	}
	return to
}

func python(t *testing.T, in *interpreter.Interpreter, code string) string {
	t.Helper()
	cmd := exec.Command(in.Executable(), "-I", "-c", code)
	cmd.Env = []string{}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("python: %v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

func TestManyProcessesUnpackOnce(t *testing.T) {
	extent.Long(t)
	t.Parallel()
	dir, homes := first(t).dir, first(t).homes
	first := open(t, dir, programs("1"))
	second := open(t, dir, programs("1"))
	if first.Home != second.Home || first.Key != second.Key || len(first.Warnings)+len(second.Warnings) > 0 {
		t.Errorf("two Opens give %+v and %+v, want the same without warnings", first, second)
	}
	if len(homes) != 1 || !homes[first.Home] {
		t.Errorf("four processes at once have %v, a later one %s; want one folder", homes, first.Home)
	}
	if got := python(t, first, "import platform; print(platform.python_version())"); got != first.Version {
		t.Errorf("the interpreter says that it is %s, Version is %s", got, first.Version)
	}
	// The library works, and using it writes nothing.
	python(t, first, "import json, ssl, sqlite3, ctypes, asyncio, lzma, zoneinfo, multiprocessing, decimal")
	if err := first.Verify(t.Context()); err != nil {
		t.Errorf("Verify: %v", err)
	}
	if got, want := names(t, dir), []string{filepath.Base(filepath.Dir(first.Home)), "lock"}; !cmp.Equal(got, want) {
		t.Errorf("folder holds %v, want %v", got, want)
	}
	for _, name := range []string{"init.py", "pictures/png.py", "fonts/LICENSE"} {
		got, err := os.ReadFile(filepath.Join(first.Programs, name))
		if want := programs("1")[name].Data; err != nil || !bytes.Equal(got, want) {
			t.Errorf("program %s is %q, %v; want %q", name, got, err, want)
		}
	}
}

func TestEverythingIsCompiledAndReadable(t *testing.T) {
	extent.Long(t)
	t.Parallel()
	dir := first(t).dir
	in := open(t, dir, programs("1"))
	sources, compiled := 0, 0
	err := filepath.WalkDir(filepath.Dir(in.Home), func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if d.Name() == "complete" {
			return nil // for processes of the owner only
		}
		if d.IsDir() && info.Mode().Perm() != 0o755 || d.Type().IsRegular() && info.Mode()&0o444 != 0o444 {
			t.Errorf("%s has mode %v, want it readable for all", name, info.Mode())
		}
		switch filepath.Ext(name) {
		case ".py":
			sources++
		case ".pyc":
			compiled++
			code, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			if bytes.Contains(code, []byte(dir)) {
				t.Errorf("%s names the folder of the host", name)
			}
			if flags := code[4:8]; !bytes.Equal(flags, []byte{1, 0, 0, 0}) {
				t.Errorf("%s has flags %v, want an unchecked hash", name, flags)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if sources != compiled || sources < 400 {
		t.Errorf("%d sources and %d compiled, want the same number and some 500", sources, compiled)
	}
	for _, name := range []string{"lib/python3.14/tkinter", "lib/python3.14/turtle.py", "lib/libtcl9.0.so", "bin/pip"} {
		if _, err := os.Lstat(filepath.Join(in.Home, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v, want it left out", name, err)
		}
	}
}

// damages are accidents that Open must notice.
var damages = map[string]func(root string) error{
	"changed, same size": func(root string) error {
		return overwrite(filepath.Join(root, "python/lib/python3.14/os.py"), "x", 0)
	},
	"truncated": func(root string) error {
		name := filepath.Join(root, "python/bin/python3.14")
		return errors.Join(os.Chmod(name, 0o755), os.Truncate(name, 4096), os.Chmod(name, 0o555))
	},
	"removed": func(root string) error {
		return os.Remove(filepath.Join(root, "python/lib/python3.14/__pycache__/os.cpython-314.pyc"))
	},
	"added": func(root string) error {
		return os.WriteFile(filepath.Join(root, "python/lib/python3.14/sitecustomize.py"), nil, 0o444)
	},
	"mode changed": func(root string) error {
		return os.Chmod(filepath.Join(root, "python/bin/python3.14"), 0o444)
	},
	"link changed": func(root string) error {
		return errors.Join(os.Remove(filepath.Join(root, "python/bin/python3")),
			os.Symlink("/bin/sh", filepath.Join(root, "python/bin/python3")))
	},
	"program changed": func(root string) error {
		return overwrite(filepath.Join(root, "programs/init.py"), "v", 0)
	},
	"list changed": func(root string) error {
		return overwrite(filepath.Join(root, "files.txt"), "v", 0)
	},
	"marker cut": func(root string) error { return os.Truncate(filepath.Join(root, "complete"), 10) },
	"marker a FIFO's place": func(root string) error {
		return errors.Join(os.Remove(filepath.Join(root, "complete")), os.Mkdir(filepath.Join(root, "complete"), 0o755))
	},
	"folder emptied": func(root string) error {
		return errors.Join(os.RemoveAll(filepath.Join(root, "python")), os.RemoveAll(filepath.Join(root, "programs")))
	},
}

func overwrite(name, text string, offset int64) error {
	if err := os.Chmod(name, 0o644); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(text), offset)
	return errors.Join(err, f.Close(), os.Chmod(name, 0o444))
}

func TestOpenNoticesDamage(t *testing.T) {
	extent.Long(t)
	t.Parallel()
	dir := unpacked(t)
	intact := open(t, dir, programs("1"))
	root := filepath.Base(filepath.Dir(intact.Home))
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			dir := clone(t, dir)
			in, err := interpreter.Open(canceled(t), dir, programs("1"))
			if err != nil {
				t.Fatalf("Open of a copy that keeps the times: %v", err)
			}
			if err := in.Close(); err != nil {
				t.Error(err)
			}
			if err := damage(filepath.Join(dir, root)); err != nil {
				t.Fatal(err)
			}
			if _, err := interpreter.Open(canceled(t), dir, programs("1")); !errors.Is(err, context.Canceled) {
				t.Errorf("Open = %v, want that it begins to unpack anew, so context canceled", err)
			}
		})
	}
}

func TestDamagedIsReplacedBesideItsUsers(t *testing.T) {
	extent.Long(t)
	t.Parallel()
	dir := unpacked(t)
	damaged := open(t, dir, programs("1"))
	if err := damages["removed"](filepath.Dir(damaged.Home)); err != nil {
		t.Fatal(err)
	}
	second := open(t, dir, programs("1"))
	if second.Home == damaged.Home || second.Key != damaged.Key {
		t.Errorf("Open = %s, key %s; want a folder other than %s, key %s", second.Home, second.Key, damaged.Home, damaged.Key)
	}
	if len(second.Warnings) != 1 {
		t.Errorf("Warnings = %v, want one that tells of the damage", second.Warnings)
	}
	if _, err := os.Stat(damaged.Executable()); err != nil {
		t.Errorf("the folder that is in use: %v", err)
	}
	if err := damaged.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, dir, programs("1"))
	if _, err := os.Stat(damaged.Home); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the damaged folder that nobody uses: %v, want it removed", err)
	}
}

func TestVerifyReadsEverything(t *testing.T) {
	extent.Long(t)
	t.Parallel()
	dir := unpacked(t)
	in := open(t, dir, programs("1"))
	root := filepath.Dir(in.Home)
	for _, name := range []string{
		"python/lib/python3.14/os.py", "python/lib/python3.14/__pycache__/os.cpython-314.pyc", "programs/init.py", "files.txt",
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(root, name)
			before, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			info, err := os.Stat(file)
			if err != nil {
				t.Fatal(err)
			}
			change := func(text string) {
				if err := overwrite(file, text, int64(len(before)-1)); err != nil {
					t.Fatal(err)
				}
				if err := os.Chtimes(file, info.ModTime(), info.ModTime()); err != nil {
					t.Fatal(err)
				}
			}
			change(string(before[len(before)-1] ^ 1))
			if _, err := interpreter.Open(canceled(t), dir, programs("1")); err != nil {
				t.Errorf("Open = %v, want it not to read the file", err)
			}
			if err := in.Verify(t.Context()); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("Verify = %v, want it to name %s", err, name)
			}
			change(string(before[len(before)-1]))
			if err := in.Verify(t.Context()); err != nil {
				t.Errorf("Verify of the repaired file = %v", err)
			}
		})
	}
	if err := in.Verify(canceled(t)); !errors.Is(err, context.Canceled) {
		t.Errorf("Verify = %v, want context canceled", err)
	}
}

func TestVersionsStandBesideEachOther(t *testing.T) {
	extent.Long(t)
	t.Parallel()
	dir := unpacked(t)
	older := open(t, dir, programs("1"))
	newer := open(t, dir, programs("2"))
	if older.Key == newer.Key || older.Home == newer.Home {
		t.Fatalf("both versions are %s in %s", older.Key, older.Home)
	}
	held, err := older.Hold()
	if err != nil {
		t.Fatal(err)
	}
	if err := older.Close(); err != nil {
		t.Fatal(err)
	}
	open(t, dir, programs("2"))
	if _, err := os.Stat(older.Executable()); err != nil {
		t.Errorf("a folder that is held: %v", err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	strange := filepath.Join(dir, "notes.txt")
	if err := os.WriteFile(strange, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	open(t, dir, programs("2"))
	want := []string{filepath.Base(filepath.Dir(newer.Home)), "lock", "notes.txt"}
	if got := names(t, dir); !cmp.Equal(got, want) {
		t.Errorf("folder holds %v, want %v", got, want)
	}
}

func TestStrangePrograms(t *testing.T) {
	extent.Long(t)
	t.Parallel()
	many := fstest.MapFS{}
	for i := range 1001 {
		many[fmt.Sprintf("f%d.py", i)] = &fstest.MapFile{}
	}
	for name, fsys := range map[string]fs.FS{
		"too many": many,
		"link":     fstest.MapFS{"init.py": {Mode: fs.ModeSymlink, Data: []byte("/etc/passwd")}},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := interpreter.Open(t.Context(), t.TempDir(), fsys); err == nil {
				t.Error("Open = nil, want an error")
			}
		})
	}
	t.Run("does not compile", func(t *testing.T) {
		dir := t.TempDir()
		_, err := interpreter.Open(t.Context(), dir, fstest.MapFS{"init.py": {Data: []byte("if:\n")}})
		if err == nil || !strings.Contains(err.Error(), "SyntaxError") {
			t.Errorf("Open = %v, want the syntax error", err)
		}
		if got := names(t, dir); !cmp.Equal(got, []string{"lock"}) {
			t.Errorf("folder holds %v, want nothing half done", got)
		}
	})
}

func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	first, err := interpreter.Open(b.Context(), dir, programs("1"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = first.Close() })
	for b.Loop() {
		in, err := interpreter.Open(b.Context(), dir, programs("1"))
		if err != nil {
			b.Fatal(err)
		}
		if err := in.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkUnpack(b *testing.B) {
	for b.Loop() {
		in, err := interpreter.Open(b.Context(), b.TempDir(), programs("1"))
		if err != nil {
			b.Fatal(err)
		}
		if err := in.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
