package pypi_test

import (
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"runpython/internal/fault"
	"runpython/internal/guesttest"
	"runpython/internal/pypi"
	"runpython/internal/pypi/indextest"
)

// A bench is an Installer of a test with what belongs to it.
type bench struct {
	*pypi.Installer
	log    *strings.Builder
	dir    string
	python string
}

// open opens an Installer with a real uv in a folder of the test's own.
func open(t *testing.T, change func(c *pypi.Config)) bench {
	t.Helper()
	b := bench{log: &strings.Builder{}, dir: t.TempDir()}
	c := config(t, b.dir, b.log)
	b.python = c.Python
	if change != nil {
		change(&c)
	}
	var err error
	if b.Installer, err = pypi.Open(t.Context(), c); err != nil {
		t.Fatalf("Open: %v", err)
	}
	t.Cleanup(b.Close)
	return b
}

func config(t testing.TB, dir string, log io.Writer) pypi.Config {
	t.Helper()
	python := guesttest.Python(t)
	if log == nil {
		log = io.Discard
	}
	return pypi.Config{
		Dir: filepath.Join(dir, "packages"), Python: python.Executable(), PythonVersion: python.Version,
		GuestPython: "/opt/python/bin/python3", GuestDir: "/opt/env",
		Log: slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug})),
		UV:  indextest.UV(t), Environ: []string{"NO_PROXY=127.0.0.1"},
	}
}

// from returns a change of a Config that takes packages from x.
func from(x *indextest.Index) func(*pypi.Config) {
	return func(c *pypi.Config) { c.IndexURL = x.URL() }
}

// env returns the folder of an environment.
func (b bench) env(name string) string { return filepath.Join(b.dir, "envs", name) }

func (b bench) install(t *testing.T, env string, lock pypi.Lock, requirements ...string) pypi.Report {
	t.Helper()
	r, err := b.Install(t.Context(), pypi.Request{Folder: b.env(env), Requirements: requirements, Installed: lock})
	if err != nil {
		t.Fatalf("Install(%v): %v\n%s", requirements, err, b.log)
	}
	return r
}

// refused installs what cannot be and returns the line for people.
func (b bench) refused(t *testing.T, requirements ...string) string {
	t.Helper()
	return b.fails(t, pypi.Request{Folder: b.env("refused"), Requirements: requirements})
}

func (b bench) fails(t *testing.T, r pypi.Request) string {
	t.Helper()
	report, err := b.Install(t.Context(), r)
	if err == nil {
		t.Fatalf("Install(%v) = %s, want an error", r.Requirements, report.Lock)
	}
	kind, message := fault.Shown(err)
	if kind == fault.Internal || strings.Contains(message, "\n") {
		t.Errorf("Install(%v): %v, %q: not one line for whoever asked (%v)", r.Requirements, kind, message, err)
	}
	return message
}

// python runs code on the host with an environment on its path.
func (b bench) run(t *testing.T, env, code string) string {
	t.Helper()
	cmd := exec.Command(b.python, "-I", "-S", "-B", "-c", "import sys; sys.path.append("+quote(b.env(env))+")\n"+code)
	cmd.Env = []string{}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("python: %v: %s", err, out)
	}
	return strings.TrimSpace(string(out))
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", "\\'") + "'" }

// names returns the names in a folder that do not begin with a dot.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			all = append(all, e.Name())
		}
	}
	return all
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }
