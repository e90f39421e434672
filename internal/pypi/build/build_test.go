package build_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"runpython/internal/pypi/build"
	"runpython/internal/pypi/wheel"
)

// scripted is a guest that answers each step with what the test wants.
type scripted struct {
	steps  []build.Outcome
	made   string // the wheel
	closed bool
}

func (g *scripted) Environment() string { return "/env" }

func (g *scripted) Run(context.Context, string) (build.Outcome, error) {
	out := g.steps[0]
	g.steps = g.steps[1:]
	return out, nil
}

func (g *scripted) Get(_ context.Context, _ string, w io.Writer, _ int64) (string, error) {
	_, err := io.WriteString(w, g.made)
	return "", err
}

func (g *scripted) Close() error { g.closed = true; return nil }

// A product is what a build gives.
type product struct {
	file, made string     // name and content of the wheel
	provided   [][]string // what was to be installed
}

// run builds in g.
func run(t *testing.T, g *scripted) (p product, err error) {
	t.Helper()
	dir := t.TempDir()
	archive := filepath.Join(dir, "archive")
	if err := os.WriteFile(archive, []byte("source"), 0o600); err != nil {
		t.Fatal(err)
	}
	var w bytes.Buffer
	p.file, err = build.Build(t.Context(), func(_ context.Context, fill func(string) error) (build.Guest, error) {
		if err := fill(dir); err != nil {
			return nil, err
		}
		got, err := os.ReadFile(filepath.Join(dir, "source.tar.gz"))
		if err != nil || string(got) != "source" {
			t.Errorf("the guest has %q, %v", got, err)
		}
		return g, nil
	}, build.Order{
		Pin: wheel.Pin{Name: "x", Version: "1", File: "x-1.tar.gz"}, Archive: archive, Wheel: &w, Bytes: 10,
		Provide: func(_ context.Context, folder string, list []string) error {
			if folder != "/env" {
				t.Errorf("installed into %s", folder)
			}
			p.provided = append(p.provided, append([]string(nil), list...))
			return nil
		},
	})
	if !g.closed {
		t.Error("the guest lives on")
	}
	p.made = w.String()
	return p, err
}

// said returns the steps of a build that says these lines.
func said(lines ...string) []build.Outcome {
	steps := make([]build.Outcome, len(lines))
	for i, l := range lines {
		steps[i].Stdout = l
	}
	return steps
}

func TestBuild(t *testing.T) {
	g := &scripted{made: "wheel", steps: said(`{"requires": ["a"]}`, "noise\n"+`{"requires": ["b", "c"]}`+"\n", `{"wheel": "x-1-py3-none-any.whl", "bytes": 5}`)}
	p, err := run(t, g)
	if err != nil || p.file != "x-1-py3-none-any.whl" || p.made != "wheel" || fmt.Sprint(p.provided) != "[[a] [a b c]]" {
		t.Errorf("%+v, %v", p, err)
	}
}

func TestTooLarge(t *testing.T) {
	for name, g := range map[string]*scripted{
		"told":     {made: "wheel", steps: said(`{}`, `{}`, `{"wheel": "x", "bytes": 11}`)},
		"not told": {made: "a long wheel", steps: said(`{}`, `{}`, `{"wheel": "x", "bytes": 5}`)},
	} {
		if p, err := run(t, g); !errors.Is(err, build.ErrTooLarge) || len(p.made) > 10 {
			t.Errorf("%s: %+v, %v", name, p, err)
		}
	}
}

func TestReasons(t *testing.T) {
	const compiler = "it has parts in C or another language"
	for _, test := range []struct {
		out  build.Outcome
		want string
	}{
		{build.Outcome{Stdout: `{"failed": "hook"}`, Log: "Traceback\nValueError: x"}, "its build failed"},
		{build.Outcome{Stdout: `{"failed": "hook"}`, Log: "error: command '/usr/bin/gcc' failed: No such file or directory"}, compiler},
		{build.Outcome{Stdout: `{"failed": "hook"}`, Log: "unable to execute 'x86_64-linux-gnu-gcc': No such file"}, compiler},
		{build.Outcome{Stdout: `{"failed": "hook"}`, Log: "x.c:1:10: fatal error: Python.h: No such file or directory"}, compiler},
		{build.Outcome{Stdout: `{"failed": "hook"}`, Log: "FileNotFoundError: [Errno 2] No such file or directory: 'cargo'"}, compiler},
		{build.Outcome{Stdout: `{"failed": "hook"}`, Log: "error: can't find Rust compiler"}, compiler},
		{build.Outcome{Stdout: `{"failed": "hook"}`, Log: "configure: error: cannot run C compiled programs."}, compiler},
		{build.Outcome{Stdout: `{"failed": "archive"}`, Log: "Python.h: No such file"}, "its source archive cannot be unpacked"},
		{build.Outcome{Stdout: `{"failed": "<script>"}`}, "its build failed"},
		{build.Outcome{Stdout: `[1]`}, "its build failed"},
		{build.Outcome{Stdout: `{"requires": "x"}`}, "its build failed"},
		{build.Outcome{Stdout: strings.Repeat(" ", 10) + `{"wheel": "` + strings.Repeat("x", 70_000) + `"}`}, "its build failed"},
		{build.Outcome{Stopped: "it was stopped"}, "it was stopped"},
	} {
		_, err := run(t, &scripted{steps: []build.Outcome{test.out}})
		f, ok := errors.AsType[*build.FailedError](err)
		if !ok || !strings.HasPrefix(f.Reason, test.want) {
			t.Errorf("%+v: %v, want %s", test.out, err, test.want)
		}
	}
}

// FuzzBuild: whatever a guest says, what comes of it is bounded, and its words are in the log
// alone, which is text.
func FuzzBuild(f *testing.F) {
	f.Add(`{"requires": []}`, "log")
	f.Add(`{"failed": "hook"}`, "a\x1b[31m\r\nb\xff\u009b"+strings.Repeat("x\n", 5000))
	f.Add(`{"failed": "nothing"}`, strings.Repeat("\u4e2d", 5000))
	f.Fuzz(func(t *testing.T, line, log string) {
		g := &scripted{made: "wheel"}
		for range 3 {
			g.steps = append(g.steps, build.Outcome{Stdout: line, Log: log})
		}
		p, err := run(t, g)
		for _, list := range p.provided {
			if len(list) > 100 {
				t.Errorf("%d requirements", len(list))
			}
		}
		failed, ok := errors.AsType[*build.FailedError](err)
		if !ok {
			return
		}
		if len(failed.Reason) > 300 || len(failed.Log) > 4096 || !utf8.ValidString(failed.Log) || strings.ContainsFunc(failed.Log, func(c rune) bool {
			return c < ' ' && c != '\n' && c != '\t' || c >= 0x7f && c < 0xa0
		}) {
			t.Errorf("%q, %q", failed.Reason, failed.Log)
		}
	})
}
