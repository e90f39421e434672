// Package hostiletest reads the corpus of hostile programs: Python files, each with
// one attack and, in a header of comments, the verdict that it must get. The format is
// described beside the programs, in testdata/hostile/README.md. Only tests import it.
//
// # Trust
//
// The files are of this repository and trusted to be what they say, which is
// dangerous: nothing here runs them, and nobody may run them outside of a guest.
//
// # Failure
//
// A file that does not keep to the format is an error that names file and line, so
// that no verdict is lost by a misspelled key. All such errors are reported at once.
package hostiletest

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// MaxProgramBytes is the size of the largest program.
	MaxProgramBytes = 16 << 10
	// maxLineBytes is the length of the longest line of a header.
	maxLineBytes = 160
)

// After says what must be left of a chat's variables when the program is over.
type After string

// The two states.
const (
	Kept After = "kept" // the same interpreter goes on, with its variables
	Any  After = "any"  // another one may have taken its place
)

// Kinds are what a program can attack, in the order of the README.
func Kinds() []string {
	return []string{
		"memory", "process", "thread", "disk", "inode", "descriptor", "output", "cpu", "host-read", "proc", "network",
		"syscall", "file-trick", "protocol", "kernel-module", "pid1", "signal", "time", "repr",
	}
}

// Statuses are the ways in which a run can end.
func Statuses() []string {
	return []string{"ok", "error", "exit", "timeout", "memory", "files", "crashed", "killed"}
}

// A Program is one attack and the verdict that it must get.
type Program struct {
	Name     string // of its file, without ".py"
	Why      string // one sentence: what is attacked and what must hold
	Kind     string // one of Kinds
	Statuses []string
	After    After

	StdoutHas []string // each must be in stdout
	StdoutNot []string // none may be anywhere in the result
	ErrorHas  []string // each must be in the traceback or in the sentence of the limit

	Setup     string // code of a run before, "" for none
	Next      string // code of a run afterwards, "" for none
	NextValue string // what the value of Next must be, as text

	Code string // the whole file, header included
}

// Load returns the programs of the files *.py in dir, sorted by name. Any other file
// than those and README.md is an error.
func Load(dir string) ([]Program, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("list the hostile programs: %w", err)
	}
	var programs []Program
	var faults []error
	for _, e := range entries {
		if e.Name() == "README.md" {
			continue
		}
		p, err := load(dir, e)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %w", e.Name(), err))
			continue
		}
		programs = append(programs, p)
	}
	return programs, errors.Join(faults...)
}

// names are of letters that need no care on any command line or in any test's name.
var names = regexp.MustCompile(`^[a-z0-9]+(_[a-z0-9]+)*\.py$`)

func load(dir string, e fs.DirEntry) (Program, error) {
	if !e.Type().IsRegular() || !names.MatchString(e.Name()) {
		return Program{}, errors.New("only files named like one_idea.py, and README.md, belong here")
	}
	text, err := os.ReadFile(filepath.Join(dir, e.Name()))
	if err != nil {
		return Program{}, err //nolint:wrapcheck // names the file
	}
	return Parse(strings.TrimSuffix(e.Name(), ".py"), text)
}

// Parse reads one program. Its header is the comments up to the first empty line.
func Parse(name string, text []byte) (Program, error) {
	p := Program{Name: name, Code: string(text)}
	switch {
	case len(text) > MaxProgramBytes:
		return Program{}, fmt.Errorf("%d bytes are more than %d", len(text), MaxProgramBytes)
	case !utf8.Valid(text) || bytes.ContainsAny(text, "\r\x00"):
		return Program{}, errors.New("not UTF-8, or with carriage returns or NUL; write such bytes as escapes")
	}
	header, body, ok := strings.Cut(p.Code, "\n\n")
	if !ok || strings.TrimSpace(body) == "" {
		return Program{}, errors.New("a header, an empty line and code are needed")
	}
	var faults []error
	seen := map[string]bool{}
	for i, line := range strings.Split(header, "\n") {
		if err := p.read(line, seen); err != nil {
			faults = append(faults, fmt.Errorf("line %d: %w", i+1, err))
		}
	}
	if len(faults) == 0 {
		faults = append(faults, p.missing(seen))
	}
	if err := errors.Join(faults...); err != nil {
		return Program{}, err
	}
	return p, nil
}

// read takes one line of a header.
func (p *Program) read(line string, seen map[string]bool) error {
	rest, isComment := strings.CutPrefix(line, "# ")
	key, value, hasColon := strings.Cut(rest, ": ")
	switch {
	case !isComment || !hasColon:
		return fmt.Errorf("%q is not \"# key: value\"", line)
	case len(line) > maxLineBytes:
		return fmt.Errorf("%d bytes are more than %d", len(line), maxLineBytes)
	case value == "" || value != strings.TrimSpace(value):
		return fmt.Errorf("the value of %q is empty or has blanks around it", key)
	}
	if list := p.list(key); list != nil {
		if slices.Contains(*list, value) {
			return fmt.Errorf("%q says %q twice", key, value)
		}
		*list = append(*list, value)
		return nil
	}
	if seen[key] {
		return fmt.Errorf("%q stands there twice", key)
	}
	seen[key] = true
	return p.set(key, value)
}

// list returns the field of a key that may be repeated, nil for any other key.
func (p *Program) list(key string) *[]string {
	switch key {
	case "stdout-has":
		return &p.StdoutHas
	case "stdout-not":
		return &p.StdoutNot
	case "error-has":
		return &p.ErrorHas
	}
	return nil
}

// set sets the field of a key that stands there once.
func (p *Program) set(key, value string) error {
	switch key {
	case "why":
		p.Why = value
	case "kind":
		p.Kind = value
		return oneOf("kind", value, Kinds())
	case "status":
		return p.setStatuses(value)
	case "after":
		p.After = After(value)
		return oneOf("after", value, []string{string(Kept), string(Any)})
	case "setup":
		p.Setup = value
	case "next":
		p.Next = value
	case "next-value":
		p.NextValue = value
	default:
		return fmt.Errorf("unknown key %q", key)
	}
	return nil
}

func (p *Program) setStatuses(value string) error {
	for status := range strings.SplitSeq(value, ", ") {
		if err := oneOf("status", status, Statuses()); err != nil {
			return err
		}
		if slices.Contains(p.Statuses, status) {
			return fmt.Errorf("status %q is named twice", status)
		}
		p.Statuses = append(p.Statuses, status)
	}
	return nil
}

func oneOf(key, value string, known []string) error {
	if slices.Contains(known, value) {
		return nil
	}
	return fmt.Errorf("%s %q is none of %s", key, value, strings.Join(known, ", "))
}

// missing says which keys a header lacks, and which stand there without sense.
func (p *Program) missing(seen map[string]bool) error {
	for _, key := range []string{"why", "kind", "status", "after"} {
		if !seen[key] {
			return fmt.Errorf("%q is missing", key)
		}
	}
	if seen["next"] != seen["next-value"] {
		return errors.New(`"next" and "next-value" need each other`)
	}
	if !strings.HasSuffix(p.Why, ".") {
		return errors.New(`"why" is no sentence: it needs a full stop`)
	}
	if p.After == Kept {
		for _, lost := range []string{"crashed", "killed"} {
			if slices.Contains(p.Statuses, lost) {
				return fmt.Errorf("status %s cannot leave the variables %s", lost, Kept)
			}
		}
	}
	return nil
}

// Limit returns the time limit of the run. What must be stopped costs as much, so it is short there; what must end by itself
// ends in seconds on a machine that has much else to do.
func (p *Program) Limit() time.Duration {
	switch {
	case !p.Fits("timeout"):
		return 20 * time.Second
	case p.Statuses[0] == "timeout":
		return 3 * time.Second
	default:
		return 5 * time.Second
	}
}

// Fits reports whether a run that ended with status is what the header allows.
func (p *Program) Fits(status string) bool { return slices.Contains(p.Statuses, status) }
