// Package uv finds the program uv and asks it which wheels belong to a set of
// requirements. uv resolves and does nothing else: wheels are fetched, checked and
// unpacked by this program.
//
// # Trust
//
// uv is the operator's (a path, or the one on PATH), or a wheel of it whose digest is
// compiled in. It gets no argument that comes from outside: requirements are lines of
// its input, read and written anew by package requirement. It runs without the home,
// the configuration, the keyring and the variables of whoever started the server. What
// it prints carries text of the index, so it is hostile: bounded, and never shown.
//
// # Failure
//
// A set that cannot be resolved is a [fault.Error] with one line that says what to
// change; uv's own words are its cause, without credentials, for the log.
package uv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"runpython/internal/fault"
	"runpython/internal/pattern"
	"runpython/internal/pypi/source"
)

// Bounds of a process of uv or of the interpreter.
const (
	maxOutput    = 8 << 20 // bytes of each stream
	maxErrors    = 64 << 10
	maxMemory    = 8 << 30 // bytes of address space
	maxFile      = 2 << 30 // bytes of one file that it writes
	versionTime  = 10 * time.Second
	afterKill    = 2 * time.Second // for its streams to close
	maxProcesses = 2               // resolutions of one Program at once
	retries      = "2"             // of a request of uv
)

// oldest is the first version whose answers are understood.
var oldest = []int{0, 9, 0}

// Config says where uv may be.
type Config struct {
	Path   string // of the program; "" looks for it
	Data   string // folder of this package
	Python string // interpreter that packages are for

	PythonVersion string // of it, "3.14.6"
	Sources       *source.Sources
	Files         *source.Downloader
	Log           *slog.Logger
}

// Program is a uv that works. It is safe for concurrent use.
type Program struct {
	Path    string
	Version string
	Origin  string // for people: where it comes from

	config Config
	slots  chan struct{} // taken by those who resolve

	mu       sync.Mutex // guards what follows
	timeless []string   // packages whose files have no upload time on the operator's index
}

// Open finds uv: the one that is given, the one on PATH, one that was fetched before,
// else the wheel of the pinned version, which it fetches. The error of kind Unsupported
// says what the operator can do; when ctx ends, it is the cause of that.
func Open(ctx context.Context, c Config) (*Program, error) {
	if err := os.MkdirAll(filepath.Join(c.Data, "cache"), 0o700); err != nil {
		return nil, fmt.Errorf("folder of uv: %w", err)
	}
	sweep(c)
	p := &Program{config: c, slots: make(chan struct{}, maxProcesses)}
	err := p.find(ctx)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, err
	}
	return p, nil
}

// find looks in all places.
func (p *Program) find(ctx context.Context) error {
	if p.config.Path != "" {
		if err := p.try(ctx, p.config.Path, "set by --uv"); err != nil {
			return fault.New(fault.Unsupported, err, "the uv that --uv names does not work; name another one, or none")
		}
		return nil
	}
	if found, err := exec.LookPath("uv"); err == nil {
		err := p.try(ctx, found, "found on PATH")
		if err == nil {
			return nil
		}
		p.config.Log.Warn("the uv on PATH is not used", slog.Any("error", err))
	}
	path, err := fetched(ctx, p.config)
	if err != nil {
		return err
	}
	if err := p.try(ctx, path, "fetched from the package index"); err != nil {
		return fault.New(fault.Unsupported, err, "the uv that was fetched does not run on this machine; install uv and name it with --uv")
	}
	return nil
}

var versionLine = pattern.New(`^uv ([0-9]{1,4})\.([0-9]{1,4})\.([0-9]{1,4})`)

// try takes a program if it says that it is a uv which is new enough.
func (p *Program) try(ctx context.Context, path, origin string) error {
	p.Path, p.Origin = path, origin
	ctx, cancel := context.WithTimeout(ctx, versionTime)
	defer cancel()
	out, err := p.run(ctx, command{program: p.Path, args: []string{"--version"}})
	if err != nil {
		return err
	}
	m := versionLine().FindStringSubmatch(string(out.text))
	if m == nil {
		return fmt.Errorf("%s does not say that it is uv", p.Path)
	}
	p.Version = strings.Join(m[1:], ".")
	for i, digits := range m[1:] {
		n, err := strconv.Atoi(digits)
		if err != nil {
			return err
		}
		if n != oldest[i] {
			if n < oldest[i] {
				return fmt.Errorf("uv %s is too old", p.Version)
			}
			break
		}
	}
	return nil
}

// A command is one process.
type command struct {
	program string
	args    []string
	env     []string
	input   io.Reader // nil: none
}

// An output is what a process printed.
type output struct {
	text   []byte
	errors []byte
}

// run runs a process and all that it starts to its end, or until ctx ends.
func (p *Program) run(ctx context.Context, c command) (output, error) {
	cmd := exec.CommandContext(ctx, c.program, c.args...)
	cmd.Env = append([]string{"PATH=/usr/bin:/bin", "HOME=/nonexistent", "LC_ALL=C.UTF-8"}, c.env...)
	cmd.Dir = p.config.Data
	cmd.Stdin = c.input
	text, complaints := &bounded{most: maxOutput}, &bounded{most: maxErrors}
	cmd.Stdout, cmd.Stderr = text, complaints
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = afterKill
	err := cmd.Start()
	if err == nil {
		err = errors.Join(confine(cmd.Process.Pid), cmd.Wait())
	}
	out := output{text.kept, complaints.kept}
	switch {
	case ctx.Err() != nil:
		return out, context.Cause(ctx)
	case err == nil && text.cut:
		return out, fmt.Errorf("%s printed more than %d bytes", filepath.Base(c.program), maxOutput)
	case err != nil:
		return out, fmt.Errorf("%s: %w", filepath.Base(c.program), err)
	}
	return out, nil
}

// confine bounds the memory of a process that has just begun, and the files that it
// writes: how long a page of an index is, the index decides.
func confine(pid int) error {
	err := errors.Join(
		unix.Prlimit(pid, unix.RLIMIT_AS, &unix.Rlimit{Cur: maxMemory, Max: maxMemory}, nil),
		unix.Prlimit(pid, unix.RLIMIT_FSIZE, &unix.Rlimit{Cur: maxFile, Max: maxFile}, nil))
	if errors.Is(err, unix.ESRCH) {
		return nil // it is over
	}
	return err
}

// bounded keeps the first bytes that are written to it.
type bounded struct {
	kept []byte
	most int
	cut  bool
}

// Write never fails, so that the writing process goes on.
func (b *bounded) Write(p []byte) (int, error) {
	n := min(len(p), b.most-len(b.kept))
	b.cut = b.cut || n < len(p)
	b.kept = append(b.kept, p[:n]...)
	return len(p), nil
}

// environ returns the variables of uv, for which the folders are sources of wheels too.
func (p *Program) environ(folders ...string) []string {
	return append(p.config.Sources.Environ(folders...),
		"UV_CACHE_DIR="+filepath.Join(p.config.Data, "cache"), "UV_NO_CONFIG=1", "UV_KEYRING_PROVIDER=disabled",
		"UV_PYTHON_DOWNLOADS=never", "UV_NO_PROGRESS=1", "UV_HTTP_RETRIES="+retries, "NO_COLOR=1")
}

// maxCache bounds what uv keeps of indexes, in bytes.
const maxCache = 1 << 30

// Prune empties uv's cache when it has grown beyond its bound. uv itself waits for its
// other processes.
func (p *Program) Prune(ctx context.Context) error {
	var total int64
	err := filepath.WalkDir(filepath.Join(p.config.Data, "cache"), func(_ string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			if info, statErr := d.Info(); statErr == nil {
				total += info.Size()
			}
		}
		return ctx.Err() // files that go meanwhile do not matter
	})
	if err != nil || total <= maxCache {
		return err
	}
	out, err := p.run(ctx, command{program: p.Path, args: []string{"cache", "clean"}, env: p.environ()})
	if err != nil {
		return errors.Join(err, errors.New(p.config.Sources.Redact(string(out.errors))))
	}
	return nil
}
