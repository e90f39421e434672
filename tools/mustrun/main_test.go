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
		"go test itself fails":    {"", stream + `{"Action":"exit"}` + "\n", false, nil},
		"words of the go command": {"", "go: downloading\n" + stream, true, []string{"go: downloading\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			list := filepath.Join(t.TempDir(), "list")
			if err := os.WriteFile(list, []byte(c.list), 0o600); err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			ok, err := run(list, "m", retry{}, strings.NewReader(c.in), &out)
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

// A test that failed is played again where that may have been chance.
func TestPlayedAgain(t *testing.T) {
	const (
		bad    = `{"Action":"output","Package":"m/b","Test":"TestBad/sub","Output":"late\n"}` + "\n" + `{"Action":"fail","Package":"m/b","Test":"TestBad/sub"}` + "\n" + `{"Action":"fail","Package":"m/b","Test":"TestBad"}` + "\n"
		worse  = `{"Action":"fail","Package":"m/b","Test":"TestWorse"}` + "\n"
		ended  = `{"Action":"fail","Package":"m/b"}` + "\n"
		raced  = `{"Action":"output","Package":"m/b","Test":"TestBad","Output":"race detected during execution of test\n"}` + "\n"
		good   = `{"Action":"pass","Package":"m/b","Test":"TestBad/sub"}` + "\n" + `{"Action":"pass","Package":"m/b","Test":"TestBad"}` + "\n" + `{"Action":"pass","Package":"m/b"}` + "\n"
		other  = `{"Action":"fail","Package":"m/b","Test":"TestBad/other"}` + "\n"
		both   = `{"Action":"pass","Package":"m/b","Test":"TestBad/other"}` + "\n" + good
		silent = "nothing"
		needy  = "needy" // fails but as a whole
	)
	for name, c := range map[string]struct {
		in, second string
		status     string
		ok         bool
		says       string
	}{
		"passes then":           {bad + ended, good, "0", true, "m/b TestBad/sub failed beside other tests and passed alone"},
		"passes as a whole":     {bad + ended, needy, "0", true, "m/b TestBad failed, and is played again"},
		"by two parts":          {other + bad + ended, both, "0", true, "m/b TestBad failed beside other tests"},
		"fails again":           {bad + ended, bad + ended, "1", false, "1 passed, 1 failed"},
		"too many":              {bad + worse + ended, good, "0", false, "2 failed"},
		"a race":                {raced + bad + ended, good, "0", false, "1 failed"},
		"and the command":       {bad + ended + `{"Action":"exit"}` + "\n", good, "0", true, "passed alone"},
		"another command":       {bad + ended + strings.Repeat(`{"Action":"exit"}`+"\n", 2), good, "0", false, "passed alone"},
		"a package by itself":   {ended + bad, good, "0", false, "failed beside"},
		"the command says none": {bad + ended, silent, "1", false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			second := filepath.Join(t.TempDir(), "second")
			if err := os.WriteFile(second, []byte(c.second), 0o600); err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			script := `case "$2 $3 $4" in '-run ^TestBad$ m/b' | '-run ^TestBad$/^sub$ m/b') cat "$0"; exit "$1" ;; *) exit 9 ;; esac`
			if c.second == needy {
				script = `[ "$3" = '^TestBad$' ] && echo '` + good + `' || echo '` + bad + ended + `'`
			}
			again := retry{1, []string{"sh", "-c", script, second, c.status}}
			ok, err := run("", "m", again, strings.NewReader(stream+c.in), &out)
			if ok != c.ok || !strings.Contains(out.String(), c.says) {
				t.Errorf("run = %v, %v, want %v; it says\n%s\nwant %q in it", ok, err, c.ok, out.String(), c.says)
			}
		})
	}
}
