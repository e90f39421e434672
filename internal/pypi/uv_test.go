package pypi_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"runpython/internal/extent"
	"runpython/internal/fault"
	"runpython/internal/pypi"
	"runpython/internal/pypi/indextest"
	"runpython/internal/pypi/uv"
)

// withoutUV opens an Installer that finds no uv on this machine.
func withoutUV(t *testing.T, dir, index string) (*pypi.Installer, pypi.Config) {
	t.Helper()
	c := config(t, dir, nil)
	c.UV, c.IndexURL = "", index
	in, err := pypi.Open(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(in.Close)
	return in, c
}

// uvOnIndex puts the pinned wheel of uv on an index.
func uvOnIndex(t *testing.T, x *indextest.Index, change func([]byte) []byte) {
	t.Helper()
	name := indextest.UVWheel(t)
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	x.AddFile("uv", indextest.File{Name: filepath.Base(name), Bytes: change(b)})
}

func same(b []byte) []byte { return b }

func TestUVIsFetchedOnce(t *testing.T) {
	extent.Slow(t)
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skipf("no uv is pinned for %s", runtime.GOARCH)
	}
	t.Setenv("PATH", "/nonexistent")
	x := shop(t)
	x.User, x.Password = "user", "password"
	uvOnIndex(t, x, same)
	dir := t.TempDir()
	var wait sync.WaitGroup
	for range 4 { // as several processes: each has a lock of its own
		in, _ := withoutUV(t, dir, x.URL())
		wait.Go(func() {
			d, err := in.Describe(t.Context())
			if err != nil || !strings.Contains(d.UV, uv.PinnedVersion) || !strings.Contains(d.UV, "fetched from the package index") {
				t.Errorf("Describe: %+v, %v", d, err)
			}
			r, err := in.Install(t.Context(), pypi.Request{Folder: filepath.Join(t.TempDir(), "env"), Requirements: []string{"top"}})
			if err != nil || r.Lock.String() != "leaf 2.0, top 1.0" {
				t.Errorf("installed %q, %v", r.Lock, err)
			}
		})
	}
	wait.Wait()
	fetched := 0
	for _, p := range x.Asked() {
		if strings.HasPrefix(p, "/files/uv/") {
			fetched++
		}
	}
	if fetched != 1 {
		t.Errorf("uv was fetched %d times", fetched)
	}
	left, err := os.ReadDir(filepath.Join(dir, "packages", "uv"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range left {
		if e.Name() == "new" {
			t.Error("the folder in which uv was unpacked is left")
		}
	}
}

func TestUVFromAnIndexInHTML(t *testing.T) {
	extent.Slow(t)
	t.Setenv("PATH", "/nonexistent")
	x := indextest.New(t)
	x.HTML = true
	uvOnIndex(t, x, same)
	in, _ := withoutUV(t, t.TempDir(), x.URL())
	if d, err := in.Describe(t.Context()); err != nil || !strings.Contains(d.UV, uv.PinnedVersion) {
		t.Errorf("Describe: %+v, %v", d, err)
	}
}

// A folder that has the wheel is enough, whether there is an index or one that does not answer.
func TestUVFromAFolder(t *testing.T) {
	t.Setenv("PATH", "/nonexistent")
	gone := indextest.New(t)
	gone.Server.Close()
	for name, change := range map[string]func(*pypi.Config){
		"no index":      func(c *pypi.Config) { c.NoIndex = true },
		"index is gone": func(c *pypi.Config) { c.IndexURL = gone.URL() },
	} {
		c := config(t, t.TempDir(), nil)
		c.UV, c.FindLinks = "", []string{filepath.Dir(indextest.UVWheel(t))}
		change(&c)
		in, err := pypi.Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if d, err := in.Describe(t.Context()); err != nil || !strings.Contains(d.UV, uv.PinnedVersion) {
			t.Errorf("%s: Describe: %+v, %v", name, d, err)
		}
		in.Close()
	}
}

// PKG-31: without uv and without an index, all that needs no package works.
func TestUVThatCannotBeHad(t *testing.T) {
	t.Setenv("PATH", "/nonexistent")
	for name, prepare := range map[string]func(t *testing.T, x *indextest.Index){
		"not there": func(*testing.T, *indextest.Index) {},
		"other content": func(t *testing.T, x *indextest.Index) {
			uvOnIndex(t, x, func(b []byte) []byte { return append(b, 'x') })
		},
		"index is gone":  func(_ *testing.T, x *indextest.Index) { x.Server.Close() },
		"other versions": func(t *testing.T, x *indextest.Index) { x.Add(t, indextest.Wheel{Name: "uv", Version: "9.9"}) },
	} {
		t.Run(name, func(t *testing.T) {
			x := shop(t)
			prepare(t, x)
			in, c := withoutUV(t, t.TempDir(), x.URL())
			d, err := in.Describe(t.Context())
			kind, message := fault.Shown(err)
			if kind != fault.Unsupported || !strings.Contains(message, "--uv") || d.UV != "" {
				t.Errorf("Describe: %+v, %v %q", d, kind, message)
			}
			if found, err := filepath.Glob(filepath.Join(c.Dir, "uv", "uv-*")); err != nil || len(found) > 0 {
				t.Errorf("left %v, %v", found, err)
			}
			// Code without packages does not care.
			if _, err := in.Install(t.Context(), pypi.Request{Folder: filepath.Join(t.TempDir(), "env")}); err != nil {
				t.Errorf("an empty environment: %v", err)
			}
		})
	}
}

func TestUVThatIsNone(t *testing.T) {
	dir := t.TempDir()
	for name, script := range map[string]string{
		"silent":  "#!/bin/sh\nexit 0\n",
		"old":     "#!/bin/sh\necho uv 0.4.30\n",
		"another": "#!/bin/sh\necho hello\n",
		"failing": "#!/bin/sh\necho uv 0.13.9; exit 3\n",
		"no file": "",
	} {
		path := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
		if script != "" {
			if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		c := config(t, t.TempDir(), nil)
		c.UV = path
		in, err := pypi.Open(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		_, err = in.Describe(t.Context())
		if kind, message := fault.Shown(err); kind != fault.Unsupported || !strings.Contains(message, "--uv") {
			t.Errorf("%s: %v", name, err)
		}
		in.Close()
	}
}

// Nothing of whoever runs the server reaches uv: no configuration, no netrc, no home.
func TestUVSeesNoHome(t *testing.T) {
	x := shop(t)
	home := t.TempDir()
	if cache, err := os.UserCacheDir(); err == nil {
		t.Setenv("XDG_CACHE_HOME", cache) // of the tests themselves
	}
	t.Setenv("HOME", home)
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("NETRC", filepath.Join(home, ".netrc"))
	t.Setenv("UV_CONFIG_FILE", filepath.Join(home, "uv", "uv.toml"))
	if err := os.Mkdir(filepath.Join(home, "uv"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"uv/uv.toml": "no-index = true\n", ".netrc": "machine 127.0.0.1 login user password password\n",
	} {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b := open(t, func(c *pypi.Config) { c.IndexURL, c.Environ = x.URL(), os.Environ() })
	b.install(t, "a", pypi.Lock{}, "top")
	x.User, x.Password = "user", "password"
	private := open(t, func(c *pypi.Config) { c.IndexURL, c.Environ = x.Server.URL+"/simple", os.Environ() })
	if got := private.refused(t, "top"); !strings.Contains(got, "401") {
		t.Errorf("message %q", got)
	}
}

// What uv prints is bounded, whoever uv is.
func TestUVThatPrintsTooMuch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "uv")
	script := "#!/bin/sh\n[ \"$1\" = --version ] && echo uv 0.13.9 && exit\nhead -c 20000000 /dev/zero\n"
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	b := open(t, func(c *pypi.Config) { c.UV = path })
	_, err := b.Install(t.Context(), pypi.Request{Folder: b.env("a"), Requirements: []string{"top"}})
	if kind, message := fault.Shown(err); kind == fault.Invalid || !strings.Contains(err.Error(), "printed more than") {
		t.Errorf("%v %q: %v", kind, message, err)
	}
}
