// Package build makes wheels of source distributions, each in a guest of its own.
//
// To build is to run code of the package. [Build] puts the source into a guest that
// nobody has used, and has a program there unpack it and call the hooks of its build backend
// (PEP 517). What the build needs (PEP 518) is told by the guest, installed by the host into
// the folder that the guest imports from, and is wheels only. The guest has no network, no
// credentials and nothing of any chat; it ends with the build.
//
// # Trust
//
// The source is hostile, and so is everything that comes out of the guest once it was there:
// requirements are parsed by whoever installs them, the wheel is read by package wheel like
// any other, and no text of the guest is part of a sentence. The host opens no archive of a
// source.
//
// # Failure
//
// A source that cannot be built is a [FailedError], whose Reason is one clause for people and
// whose Log is the end of what the build has printed. Any other error is the machine's.
package build

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"runpython/internal/pattern"
	"runpython/internal/pypi/wheel"
)

//go:embed build.py
var program string

// Bounds of what a guest says.
const (
	maxReply    = 64 << 10 // bytes of the line of JSON
	maxRequires = 100      // requirements of one build
	maxLog      = 4 << 10  // bytes of a FailedError's Log
)

// A Guest is one that nobody has used, with a Python interpreter and no way out.
type Guest interface {
	// Environment is the folder of the host from which the guest imports packages.
	Environment() string
	// Run runs code in the interpreter, whose variables live from run to run.
	Run(ctx context.Context, code string) (Outcome, error)
	// Get copies a file of the guest's working directory to w, most bytes at most. The
	// problem, if not "", is why it is not whole.
	Get(ctx context.Context, path string, w io.Writer, most int64) (problem string, err error)
	Close() error
}

// An Outcome is what came of a run.
type Outcome struct {
	Stdout  string
	Log     string // standard error; its end matters
	Stopped string // why it did not run to its end, as a clause for people; "" when it did
}

// Start returns a Guest; fill puts files into the folder that becomes its working directory.
type Start func(ctx context.Context, fill func(dir string) error) (Guest, error)

// An Order is one build.
type Order struct {
	Pin     wheel.Pin // of the source
	Archive string    // the file, whose digest was checked
	Wheel   io.Writer // gets the wheel
	Bytes   int64     // that it may have
	// Provide installs requirements (PEP 508, as the guest writes them) into a folder, in
	// place of what is there.
	Provide func(ctx context.Context, folder string, requirements []string) error
}

// A FailedError is a source of which no wheel can be made.
type FailedError struct {
	Reason string // "its build failed"
	Log    string // the end of what was printed: valid UTF-8, no control characters but line ends
}

// Error returns the reason and the log, for operators.
func (e *FailedError) Error() string { return fmt.Sprintf("build: %s: %q", e.Reason, e.Log) }

// ErrTooLarge says that the wheel has more bytes than it may.
var ErrTooLarge = errors.New("the wheel that was built is too large")

// Build makes a wheel and returns the name that the build gave it. The caller checks both.
func Build(ctx context.Context, start Start, o Order) (file string, err error) {
	archive := "source.tar.gz"
	if strings.HasSuffix(o.Pin.File, ".zip") {
		archive = "source.zip"
	}
	g, err := start(ctx, func(dir string) error { return place(o.Archive, filepath.Join(dir, archive)) })
	if err != nil {
		return "", fmt.Errorf("start a guest for a build: %w", err)
	}
	defer func() { err = errors.Join(err, g.Close()) }()
	s := session{guest: g}
	needs, err := s.ask(ctx, program+"\nbegin("+strconv.Quote("/work/"+archive)+")")
	if err == nil {
		err = s.provide(ctx, o, needs)
	}
	if err == nil {
		needs, err = s.ask(ctx, "more()")
	}
	if err == nil && len(needs.Requires) > 0 {
		err = s.provide(ctx, o, needs)
	}
	if err != nil {
		return "", err
	}
	const made = "built.whl"
	r, err := s.ask(ctx, "wheel("+strconv.Quote("/work/"+made)+")")
	if err != nil {
		return "", err
	}
	if r.Bytes > o.Bytes {
		return "", ErrTooLarge
	}
	limit := &limited{w: o.Wheel, left: o.Bytes}
	problem, err := g.Get(ctx, made, limit, o.Bytes)
	switch {
	case limit.over:
		return "", ErrTooLarge
	case err != nil:
		return "", fmt.Errorf("fetch a wheel out of a guest: %w", err)
	case problem != "":
		return "", s.failed("its build left no wheel that can be read")
	}
	return r.Wheel, nil
}

// place copies the archive to where the guest sees it, readable for its user.
func place(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Chmod(0o666), target.Close())
}

// limited passes on as much as it may.
type limited struct {
	w    io.Writer
	left int64
	over bool
}

// Write fails with ErrTooLarge when there is more.
func (l *limited) Write(p []byte) (int, error) {
	if l.left -= int64(len(p)); l.left < 0 {
		l.over = true
		return 0, ErrTooLarge
	}
	return l.w.Write(p)
}

// A session is the conversation with one guest.
type session struct {
	guest    Guest
	requires []string // that were installed
	log      string   // of the last run
}

// provide installs what the build needs, all of it that was told so far.
func (s *session) provide(ctx context.Context, o Order, r reply) error {
	if s.requires = append(s.requires, r.Requires...); len(s.requires) > maxRequires {
		return s.failed(fmt.Sprintf("its build needs more than %d packages", maxRequires))
	}
	return o.Provide(ctx, s.guest.Environment(), s.requires)
}

// A reply is the line that a step prints.
type reply struct {
	Failed   string   // one of the keys of reasons
	Requires []string // PEP 508
	Wheel    string   // name of the file
	Bytes    int64    // its size, as the guest has it
}

// reasons are why a step ends without success.
var reasons = map[string]string{
	"archive":  "its source archive cannot be unpacked",
	"files":    "its source cannot be unpacked and built within the limits of a chat (size and number of files)",
	"nothing":  "its source has neither pyproject.toml nor setup.py",
	"settings": "the [build-system] in its pyproject.toml is not as PEP 517 and PEP 518 want it",
	"hook":     "its build failed",
}

// ask runs one step.
func (s *session) ask(ctx context.Context, code string) (r reply, err error) {
	out, err := s.guest.Run(ctx, code)
	if ctx.Err() != nil {
		return r, context.Cause(ctx)
	}
	if err != nil {
		return r, fmt.Errorf("build in a guest: %w", err)
	}
	s.log = out.Log
	if out.Stopped != "" {
		return r, s.failed(out.Stopped)
	}
	line := strings.TrimSpace(out.Stdout)
	line = line[strings.LastIndexByte(line, '\n')+1:]
	if len(line) > maxReply || json.Unmarshal([]byte(line), &r) != nil {
		return r, s.failed(reasons["hook"])
	}
	if r.Failed == "" {
		return r, nil
	}
	reason, ok := reasons[r.Failed]
	switch {
	case !ok:
		reason = reasons["hook"]
	case r.Failed == "hook" && compiles().MatchString(out.Log):
		reason = "it has parts in C or another language, and the sandbox has no compiler with Python's headers for them; a version with a wheel for this Python would do"
	}
	return r, s.failed(reason)
}

// compiles is what builds print that look for a compiler, or for what it needs.
var compiles = pattern.New(`(?i)` + strings.Join([]string{
	`unable to execute '?[^'\n]*(?:cc|clang|\+\+)`,
	`command '[^'\n]*(?:cc|clang|\+\+)' failed`,
	`[A-Za-z_/]+\.h: No such file`,
	`No such file or directory: '[^'\n]*(?:cc|clang|\+\+|cargo|rustc|cmake|ninja|make)'`,
	`unknown compiler`,
	`(?:rust|cargo)[^\n]{0,80}(?:not installed|not found|is required)`,
	`can't find rust compiler`,
	`could not find [^\n]{0,40}(?:compiler|cmake)`,
	`configure: error: [^\n]{0,80}compile`,
}, "|"))

func (s *session) failed(reason string) error { return &FailedError{Reason: reason, Log: end(s.log)} }

// end returns the last lines of a log, as text that can be shown.
func end(log string) string {
	log = strings.Map(func(c rune) rune {
		if unicode.IsControl(c) && c != '\n' && c != '\t' || c == utf8.RuneError { // which also stands for what is not UTF-8
			return -1
		}
		return c
	}, log)
	log = strings.TrimSpace(log)
	if len(log) > maxLog {
		log = log[len(log)-maxLog:]
		if _, rest, ok := strings.Cut(log, "\n"); ok {
			log = rest
		}
		log = strings.ToValidUTF8(log, "")
	}
	return log
}
