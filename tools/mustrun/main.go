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
//
//	go test -json ./... | mustrun -again 3 -list may-not-skip.txt go test -json -count=1
//
// plays tests that failed once more, each alone, when there are at most three of them: on a machine that
// does much else some fail for want of time. Of a test that failed by one subtest, that one is played first, and all of it if
// that fails. One that passes then counts as passed, and is named before the sum. A panic, a data race, or a package that
// failed without a test is not tried again.
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
)

func main() {
	list := flag.String("list", "", "file with the tests that may not skip")
	module := flag.String("module", "runpython", "module of the packages in the list")
	again := flag.Int("again", 0, "most failed tests that are played again, by the command that follows the flags")
	flag.Parse()
	ok, err := run(*list, *module, retry{*again, flag.Args()}, os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "mustrun:", err)
	}
	if err != nil || !ok {
		os.Exit(1)
	}
}

// A retry says how failed tests are played again.
type retry struct {
	most    int      // more failed tests than that are not chance
	command []string // what "-run PATTERN PACKAGE" is added to; it prints what "go test -json" does
}

func run(list, module string, again retry, in io.Reader, out io.Writer) (bool, error) {
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
	if err := r.playAgain(again); err != nil {
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

// An event is a line of go test -json; see "go doc test2json". The action "exit" is none of its: whoever runs it says so
// when it has failed, since it may have failed without a word of a test.
type event struct {
	Action     string
	Package    string
	ImportPath string // of a build that went wrong
	Test       string
	Output     string
}

// A test is a name in a package.
type test struct{ pkg, name string }

// top is the test that t is a part of.
func (t test) top() test {
	name, _, _ := strings.Cut(t.name, "/")
	return test{t.pkg, name}
}

// A report is what became of each test.
type report struct {
	out     io.Writer
	results map[test]string   // pass, fail or skip
	pending map[test][]string // output of a test that is not over
	final   map[test]bool     // failed in a way that is no chance
	failed  bool              // something failed that is not a test, or the tests that failed were not all played again
	failing bool              // since the last exit
	lucky   []test            // passed when they were played again
}

func newReport(out io.Writer) *report {
	return &report{out: out, results: map[test]string{}, pending: map[test][]string{}, final: map[test]bool{}}
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
	case "exit":
		r.failed = r.failed || !r.failing
		r.failing = false
	case "pass", "fail", "skip":
		r.failing = r.failing || e.Action == "fail"
		if e.Test == "" {
			r.failed = r.failed || e.Action == "fail" && len(r.failures(e.Package)) == 0
			return
		}
		r.results[key] = e.Action
		if said := strings.Join(slices.DeleteFunc(r.pending[key], isFrame), ""); e.Action != "pass" {
			fmt.Fprint(r.out, said)
			r.final[key.top()] = r.final[key.top()] || strings.Contains(said, "panic:") || strings.Contains(said, "race detected")
		}
		delete(r.pending, key)
	}
}

// failures returns the tests that have failed, without subtests, of one package or of all ("").
func (r *report) failures(pkg string) []test {
	var failed []test
	for key, result := range r.results {
		if result == "fail" && key == key.top() && (pkg == "" || key.pkg == pkg) {
			failed = append(failed, key)
		}
	}
	slices.SortFunc(failed, func(a, b test) int { return strings.Compare(a.pkg+" "+a.name, b.pkg+" "+b.name) })
	return failed
}

// playAgain replaces the results of the tests that failed, if that may have been chance.
func (r *report) playAgain(how retry) error {
	failed := r.failures("")
	if len(failed) > how.most || len(how.command) == 0 {
		return nil
	}
	for _, t := range failed {
		if r.final[t] {
			continue
		}
		part := r.part(t)
		err := r.play(how, part)
		if err == nil && part != t && (r.results[t] == "fail" || r.results[part] == "") { // it may need those before it
			part = t
			err = r.play(how, t)
		}
		if err == nil && r.results[t] == "" {
			err = fmt.Errorf("play %s %s again: it has not run", t.pkg, t.name)
		}
		if err != nil {
			return err
		}
		if r.results[t] != "fail" {
			r.lucky = append(r.lucky, part)
		}
	}
	return nil
}

// part returns the subtest that a test has failed by, or the test itself when there are several, or none.
func (r *report) part(t test) test {
	var leaves []test
	for key, result := range r.results {
		if result == "fail" && key.top() == t {
			leaves = append(leaves, key)
		}
	}
	leaves = slices.DeleteFunc(slices.Clone(leaves), func(key test) bool {
		return slices.ContainsFunc(leaves, func(other test) bool { return strings.HasPrefix(other.name, key.name+"/") })
	})
	if len(leaves) == 1 {
		return leaves[0]
	}
	return t
}

// play replaces the results of a test, or of one subtest and those above it.
func (r *report) play(how retry, t test) error {
	fmt.Fprintf(r.out, "%s %s failed, and is played again, alone\n", t.pkg, t.name)
	for key := range r.results {
		if key.pkg == t.pkg && (strings.HasPrefix(key.name+"/", t.name+"/") || strings.HasPrefix(t.name, key.name+"/")) {
			delete(r.results, key)
		}
	}
	names := strings.Split(t.name, "/")
	for i, name := range names {
		names[i] = "^" + regexp.QuoteMeta(name) + "$"
	}
	cmd := exec.Command(how.command[0], append(slices.Clone(how.command[1:]), "-run", strings.Join(names, "/"), t.pkg)...)
	cmd.Stderr = r.out
	printed, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	readErr := r.read(printed)
	if err := errors.Join(readErr, cmd.Wait()); err != nil && r.results[t.top()] != "fail" {
		return fmt.Errorf("play %s %s again: %w", t.pkg, t.name, err)
	}
	return nil
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
	for _, t := range r.lucky {
		fmt.Fprintf(r.out, "%s %s failed beside other tests and passed alone: look into it\n", t.pkg, t.name)
	}
	r.failed = r.failed || len(r.failures("")) > 0
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
