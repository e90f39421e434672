// Command mustrun reads what "go test -json" prints, shows it as go test would
// have done, and makes sure that the tests in a list have run: a test that
// skips itself where something is missing must not do so on the machine that
// decides about a change.
//
//	go test -json ./... | mustrun -list may-not-skip.txt
//
// A line of the list is a package, relative to the module, and a test, in which *
// stands for any text without a slash. The test must have run, and neither it
// nor a subtest of it may have skipped. The exit code is 1 when a test failed or a
// line of the list was not met.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"
)

func main() {
	list := flag.String("list", "", "file with the tests that may not skip")
	module := flag.String("module", "runpython", "module of the packages in the list")
	flag.Parse()
	ok, err := run(*list, *module, os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mustrun:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

func run(list, module string, in io.Reader, out io.Writer) (bool, error) {
	var rules []rule
	if list != "" {
		text, err := os.ReadFile(list)
		if err != nil {
			return false, err
		}
		if rules, err = parse(string(text), module); err != nil {
			return false, fmt.Errorf("%s: %w", list, err)
		}
	}
	r := newReport(out)
	if err := r.read(in); err != nil {
		return false, err
	}
	return r.finish(rules), nil
}

// A rule is a line of the list.
type rule struct {
	pkg  string // import path
	test string // pattern of path.Match, one for each part of a test's name
}

func parse(text, module string) ([]rule, error) {
	var rules []rule
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		fields := strings.Fields(line)
		if len(fields) == 0 {
			continue
		}
		if len(fields) != 2 {
			return nil, fmt.Errorf("%q is not a package and a test", strings.TrimSpace(line))
		}
		if _, err := path.Match(fields[1], ""); err != nil {
			return nil, fmt.Errorf("%q: %w", fields[1], err)
		}
		rules = append(rules, rule{path.Join(module, fields[0]), fields[1]})
	}
	return rules, nil
}

// covers tells whether test is the one that r names, or below it.
func (r rule) covers(pkg, test string) bool {
	if pkg != r.pkg {
		return false
	}
	parts := strings.Split(test, "/")
	n := strings.Count(r.test, "/") + 1
	if len(parts) < n {
		return false
	}
	ok, err := path.Match(r.test, strings.Join(parts[:n], "/"))
	return ok && err == nil
}

// An event is a line of go test -json; see "go doc test2json".
type event struct {
	Action     string
	Package    string
	ImportPath string // of a build that went wrong
	Test       string
	Output     string
}

// A test is a name in a package.
type test struct{ pkg, name string }

// A report is what became of each test.
type report struct {
	out     io.Writer
	results map[test]string   // pass, fail or skip
	pending map[test][]string // output of a test that is not over
	failed  bool              // a package, with or without a test of it
}

func newReport(out io.Writer) *report {
	return &report{out: out, results: map[test]string{}, pending: map[test][]string{}}
}

// maxLine bounds a line of the input; a test may print a great deal at once.
const maxLine = 16 << 20

func (r *report) read(in io.Reader) error {
	s := bufio.NewScanner(in)
	s.Buffer(nil, maxLine)
	for s.Scan() {
		var e event
		if err := json.Unmarshal(s.Bytes(), &e); err != nil {
			fmt.Fprintln(r.out, s.Text()) // of the go command itself
			continue
		}
		r.take(e)
	}
	return s.Err()
}

func (r *report) take(e event) {
	key := test{e.Package, e.Test}
	switch e.Action {
	case "output", "build-output":
		if e.Test == "" {
			if e.Output != "PASS\n" && e.Output != "FAIL\n" {
				fmt.Fprint(r.out, e.Output)
			}
			return
		}
		r.pending[key] = append(r.pending[key], e.Output)
	case "build-fail":
		r.failed = true
	case "pass", "fail", "skip":
		if e.Action == "fail" {
			r.failed = true
		}
		if e.Test == "" {
			return
		}
		r.results[key] = e.Action
		if e.Action != "pass" {
			fmt.Fprint(r.out, strings.Join(slices.DeleteFunc(r.pending[key], isFrame), ""))
		}
		delete(r.pending, key)
	}
}

// isFrame tells the lines that say only that a test begins or goes on.
func isFrame(line string) bool {
	return strings.HasPrefix(line, "=== ")
}

// finish prints what is wrong and the sum, and returns whether all is well.
func (r *report) finish(rules []rule) bool {
	for key, lines := range r.pending { // cut off by a panic or the end of the time
		if out := strings.Join(lines, ""); !r.failed || strings.Contains(out, "panic:") {
			fmt.Fprintf(r.out, "%s %s did not end:\n%s", key.pkg, key.name, out)
		}
		r.failed = true
	}
	for _, rule := range rules {
		for _, problem := range r.check(rule) {
			r.failed = true
			fmt.Fprintln(r.out, problem)
		}
	}
	count := map[string]int{}
	for key, result := range r.results {
		if !r.hasSubtests(key) {
			count[result]++
		}
	}
	fmt.Fprintf(r.out, "%d passed, %d failed, %d skipped\n", count["pass"], count["fail"], count["skip"])
	return !r.failed
}

func (r *report) hasSubtests(key test) bool {
	for other := range r.results {
		if other.pkg == key.pkg && strings.HasPrefix(other.name, key.name+"/") {
			return true
		}
	}
	return false
}

// check returns how a rule was broken.
func (r *report) check(rule rule) []string {
	ran := false
	var problems []string
	for key, result := range r.results {
		if !rule.covers(key.pkg, key.name) {
			continue
		}
		ran = true
		if result == "skip" {
			problems = append(problems, fmt.Sprintf("%s %s was skipped, which it may not be here", key.pkg, key.name))
		}
	}
	if !ran {
		problems = append(problems, fmt.Sprintf("%s %s is in the list of tests that may not skip, and did not run", rule.pkg, rule.test))
	}
	slices.Sort(problems)
	return problems
}
