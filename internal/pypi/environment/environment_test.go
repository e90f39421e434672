package environment_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/pypi/environment"
	"runpython/internal/pypi/wheel"
)

// part makes an unpacked wheel with files that hold its name.
func part(t *testing.T, name string, files ...string) environment.Part {
	t.Helper()
	dir := t.TempDir()
	c := wheel.Content{Pin: wheel.Pin{Name: name, SHA256: name}}
	for _, f := range files {
		to := filepath.Join(dir, f)
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o700), os.WriteFile(to, []byte(name), 0o444)); err != nil {
			t.Fatal(err)
		}
		top, _, _ := strings.Cut(f, "/")
		c.Files = append(c.Files, wheel.File{Path: f})
		c.Tops = append(c.Tops, top)
	}
	slices.Sort(c.Tops)
	c.Tops = slices.Compact(c.Tops)
	return environment.Part{Content: c, Tree: dir}
}

func apply(t *testing.T, dir string, parts ...environment.Part) environment.Change {
	t.Helper()
	c, err := environment.Apply(t.Context(), dir, parts)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// contents returns the files of an environment with what they hold.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		rel := strings.TrimPrefix(name, dir+"/")
		if err != nil || d.IsDir() || rel == wheel.StatePrefix+".json" {
			return err
		}
		text, err := os.ReadFile(name)
		all[rel] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestApply(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "deep", "env")
	a1 := part(t, "a1", "a/__init__.py", "a/old.py", "a-1.dist-info/METADATA", "ns/a/x.py", "bin/a", "single.py")
	a2 := part(t, "a2", "a/__init__.py", "a/new.py", "a-2.dist-info/METADATA", "ns/a/x.py", "bin/a")
	b := part(t, "b", "b/__init__.py", "ns/b/y.py", "bin/b", "ns/a/x.py")

	c := apply(t, dir, a1)
	if diff := cmp.Diff([]string{"a", "bin", "ns", "single.py", "a-1.dist-info"}, c.Added); diff != "" {
		t.Errorf("added: %s", diff)
	}
	if c := apply(t, dir, a1); !cmp.Equal(c, environment.Change{}) {
		t.Errorf("the same again changes %+v", c)
	}

	// Another package beside it: what they share is made of both, the rest stays.
	before, err := os.Stat(filepath.Join(dir, "a"))
	if err != nil {
		t.Fatal(err)
	}
	c = apply(t, dir, a1, b)
	if diff := cmp.Diff(environment.Change{Added: []string{"b"}, Replaced: []string{"bin", "ns"}}, c); diff != "" {
		t.Errorf("change: %s", diff)
	}
	after, err := os.Stat(filepath.Join(dir, "a"))
	if err != nil || !os.SameFile(before, after) {
		t.Errorf("a folder that did not change is another one, %v", err)
	}
	want := map[string]string{
		"a/__init__.py": "a1", "a/old.py": "a1", "a-1.dist-info/METADATA": "a1", "ns/a/x.py": "a1", "bin/a": "a1", "single.py": "a1",
		"b/__init__.py": "b", "ns/b/y.py": "b", "bin/b": "b",
	}
	if diff := cmp.Diff(want, contents(t, dir)); diff != "" {
		t.Errorf("with two: %s", diff)
	}

	// Another version: nothing of the old one is left.
	c = apply(t, dir, a2, b)
	if diff := cmp.Diff(environment.Change{
		Added: []string{"a-2.dist-info"}, Replaced: []string{"a", "bin", "ns"}, Removed: []string{"a-1.dist-info", "single.py"},
	}, c); diff != "" {
		t.Errorf("change: %s", diff)
	}
	want = map[string]string{
		"a/__init__.py": "a2", "a/new.py": "a2", "a-2.dist-info/METADATA": "a2", "ns/a/x.py": "a2", "bin/a": "a2",
		"b/__init__.py": "b", "ns/b/y.py": "b", "bin/b": "b",
	}
	if diff := cmp.Diff(want, contents(t, dir)); diff != "" {
		t.Errorf("after the change: %s", diff)
	}
	apply(t, dir)
	if got := contents(t, dir); len(got) != 0 {
		t.Errorf("emptied: %v", got)
	}
}

// What somebody who was killed left, or somebody changed, is put right.
func TestRepair(t *testing.T) {
	a := part(t, "a", "a/__init__.py", "a/b.py")
	want := map[string]string{"a/__init__.py": "a", "a/b.py": "a"}
	for name, damage := range map[string]func(dir string) error{
		"stage left":    func(dir string) error { return os.MkdirAll(filepath.Join(dir, wheel.StatePrefix+".new", "a"), 0o700) },
		"name missing":  func(dir string) error { return os.RemoveAll(filepath.Join(dir, "a")) },
		"name too many": func(dir string) error { return os.WriteFile(filepath.Join(dir, "x.py"), nil, 0o600) },
		"state missing": func(dir string) error { return os.Remove(filepath.Join(dir, wheel.StatePrefix+".json")) },
		"state unlike": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, wheel.StatePrefix+".json"), []byte(`{"names":{"a":"x"}}`), 0o600)
		},
		"state unread": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, wheel.StatePrefix+".json"), []byte(`{"na`), 0o600)
		},
		"file for a dir": func(dir string) error {
			return errors.Join(os.RemoveAll(filepath.Join(dir, "a")), os.WriteFile(filepath.Join(dir, "a"), nil, 0o600), os.Remove(filepath.Join(dir, wheel.StatePrefix+".json")))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "env")
			apply(t, dir, a)
			if err := damage(dir); err != nil {
				t.Fatal(err)
			}
			apply(t, dir, a)
			if diff := cmp.Diff(want, contents(t, dir)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// Somebody who looks all the time never sees a package without its files.
func TestNothingHalfDoneIsSeen(t *testing.T) {
	var files []string
	for i := range 200 {
		files = append(files, "a/f"+strings.Repeat("x", i)+".py")
	}
	one, two := part(t, "one", files...), part(t, "two", files...)
	dir := filepath.Join(t.TempDir(), "env")
	apply(t, dir, one)
	stop := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			folder, err := os.Open(filepath.Join(dir, "a"))
			if err != nil {
				t.Errorf("the package is missing: %v", err)
				return
			}
			if names, err := folder.Readdirnames(-1); err == nil && len(names) != 200 && len(names) != 0 {
				// A folder that was taken away is being removed; one with its name is whole.
				if now, statErr := os.Stat(filepath.Join(dir, "a")); statErr == nil {
					if this, statErr := folder.Stat(); statErr == nil && os.SameFile(now, this) {
						t.Errorf("the package has %d files", len(names))
					}
				}
			}
			_ = folder.Close()
		}
	})
	for i := range 40 {
		apply(t, dir, []environment.Part{one, two}[i%2])
	}
	close(stop)
	wait.Wait()
}

func TestStoppedBeforeNamesChange(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "env")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := environment.Apply(ctx, dir, []environment.Part{part(t, "a", "a/x.py")}); !errors.Is(err, context.Canceled) {
		t.Errorf("Apply: %v, want canceled", err)
	}
	if got := contents(t, dir); len(got) != 0 {
		t.Errorf("made %v", got)
	}
}

// Bytecode that comes late comes beside the sources of its own wheel only, and does not
// bring back an environment that is removed.
func TestAddBytecode(t *testing.T) {
	one := part(t, "one", "a/x.py", "a/sub/y.py", "b/z.py")
	two := part(t, "two", "b/z.py", "b/__pycache__/z.cpython-314.pyc")
	dir := filepath.Join(t.TempDir(), "env")
	apply(t, dir, two, one) // the file of the first one stands
	for _, f := range []string{"a/__pycache__/x.cpython-314.pyc", "a/__pycache__/none.cpython-314.pyc", "a/sub/__pycache__/y.cpython-314.pyc", "b/__pycache__/z.cpython-314.pyc"} {
		to := filepath.Join(one.Tree, f)
		if err := errors.Join(os.MkdirAll(filepath.Dir(to), 0o700), os.WriteFile(to, []byte("code"), 0o444)); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := environment.AddBytecode(t.Context(), dir, one); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]string{
		"a/x.py": "one", "a/sub/y.py": "one", "b/z.py": "two", "b/__pycache__/z.cpython-314.pyc": "two",
		"a/__pycache__/x.cpython-314.pyc": "code", "a/sub/__pycache__/y.cpython-314.pyc": "code",
	}
	if diff := cmp.Diff(want, contents(t, dir)); diff != "" {
		t.Error(diff)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := environment.AddBytecode(t.Context(), dir, one); err != nil {
		t.Errorf("of one that is removed: %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("an environment that is removed is there again: %v", err)
	}
}
