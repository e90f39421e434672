package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const stream = `{"Action":"start","Package":"m/a"}
{"Action":"run","Package":"m/a","Test":"TestOne"}
{"Action":"output","Package":"m/a","Test":"TestOne","Output":"=== RUN   TestOne\n"}
{"Action":"output","Package":"m/a","Test":"TestOne","Output":"noise\n"}
{"Action":"pass","Package":"m/a","Test":"TestOne/sub"}
{"Action":"pass","Package":"m/a","Test":"TestOne"}
{"Action":"output","Package":"m/a","Test":"TestTwo/deep","Output":"    a_test.go:1: no guest here\n"}
{"Action":"skip","Package":"m/a","Test":"TestTwo/deep"}
{"Action":"pass","Package":"m/a","Test":"TestTwo"}
{"Action":"output","Package":"m/a","Output":"PASS\n"}
{"Action":"output","Package":"m/a","Output":"ok  \tm/a\t0.1s\n"}
{"Action":"pass","Package":"m/a"}
`

func TestRun(t *testing.T) {
	for name, c := range map[string]struct {
		list, in string
		ok       bool
		says     []string
	}{
		"all run":            {"a TestOne", stream, true, []string{"ok  \tm/a\t0.1s\n", "1 passed, 0 failed, 1 skipped\n"}},
		"skip told":          {"# nothing\n", stream, true, []string{"no guest here"}},
		"skipped below":      {"a TestTwo", stream, false, []string{"m/a TestTwo/deep was skipped"}},
		"skipped by pattern": {"a Test*/d*", stream, false, []string{"m/a TestTwo/deep was skipped"}},
		"did not run":        {"a TestThree", stream, false, []string{"m/a TestThree is in the list of tests that may not skip, and did not run"}},
		"other package":      {"b TestOne", stream, false, []string{"did not run"}},
		"failed": {"", stream + `{"Action":"output","Package":"m/a","Test":"TestBad","Output":"why\n"}
{"Action":"fail","Package":"m/a","Test":"TestBad"}` + "\n", false, []string{"why\n", "1 passed, 1 failed, 1 skipped"}},
		"panicked": {"", `{"Action":"output","Package":"m/a","Test":"TestBad","Output":"panic: x\n"}
{"Action":"fail","Package":"m/a"}` + "\n", false, []string{"panic: x"}},
		"did not build": {"", `{"ImportPath":"m/a","Action":"build-output","Output":"a.go:1: undefined\n"}
{"ImportPath":"m/a","Action":"build-fail"}` + "\n", false, []string{"undefined"}},
		"words of the go command": {"", "go: downloading\n" + stream, true, []string{"go: downloading\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			list := filepath.Join(t.TempDir(), "list")
			if err := os.WriteFile(list, []byte(c.list), 0o600); err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			ok, err := run(list, "m", strings.NewReader(c.in), &out)
			if err != nil || ok != c.ok {
				t.Errorf("run = %v, %v, want %v", ok, err, c.ok)
			}
			for _, want := range c.says {
				if !strings.Contains(out.String(), want) {
					t.Errorf("it says\n%s\nwant %q in it", out.String(), want)
				}
			}
			if strings.Contains(out.String(), "noise") {
				t.Errorf("it shows the output of a test that passed:\n%s", out.String())
			}
		})
	}
}

func TestListIsRead(t *testing.T) {
	for _, text := range []string{"one", "a b c", "a Test["} {
		if _, err := parse(text, "m"); err == nil {
			t.Errorf("parse(%q) = nil, want an error", text)
		}
	}
}
