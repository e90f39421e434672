package cli_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// A person sits at a terminal on which the program runs.
type person struct {
	t       *testing.T
	program *exec.Cmd
	screen  *os.File
	seen    string // and not expected yet
	all     string
}

// patience bounds the wait for what must come.
const patience = 20 * time.Second

// sit starts the program at a terminal, in a directory of its own.
func sit(t *testing.T, data string, args ...string) *person {
	t.Helper()
	program := exec.CommandContext(t.Context(), "runpython", args...)
	program.Dir = t.TempDir()
	program.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", "TERM=xterm", "NO_COLOR=", "RUNPYTHON_RUNSC=/bin/true", "RUNPYTHON_DATA="+data)
	return start(t, program)
}

// start gives program a terminal of its own. A Ctrl-C there throws away none of what was written to the
// screen and not read yet: what a test waits for could be in it.
func start(t *testing.T, program *exec.Cmd) *person {
	t.Helper()
	master, tty, err := pty.Open()
	if err != nil {
		t.Skipf("no pseudo-terminal: %v", err)
	}
	defer tty.Close()
	defer master.Close()
	if err := pty.Setsize(tty, &pty.Winsize{Rows: 24, Cols: 100}); err != nil {
		t.Fatal(err)
	}
	settings, err := unix.IoctlGetTermios(int(tty.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	settings.Lflag |= unix.NOFLSH
	if err := unix.IoctlSetTermios(int(tty.Fd()), unix.TCSETS, settings); err != nil {
		t.Fatal(err)
	}
	screen := pollable(t, master)
	program.Stdin, program.Stdout, program.Stderr = tty, tty, tty
	program.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := program.Start(); err != nil {
		t.Fatal(err)
	}
	return &person{t: t, program: program, screen: screen}
}

// pollable returns the file anew, so that deadlines hold: pty asks for the number of its
// descriptor, after which reading blocks for good.
func pollable(t *testing.T, f *os.File) *os.File {
	t.Helper()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	again := os.NewFile(uintptr(fd), f.Name())
	t.Cleanup(func() { _ = again.Close() }) // some tests close it before
	return again
}

// sees reads the screen until text is on it.
func (p *person) sees(text string) {
	p.t.Helper()
	for !strings.Contains(p.seen, text) {
		if err := p.read(); err != nil {
			p.t.Fatalf("waiting for %q: %v\nseen: %q", text, err, p.seen)
		}
	}
	_, p.seen, _ = strings.Cut(p.seen, text)
}

func (p *person) read() error {
	if err := p.screen.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	var chunk [4096]byte
	n, err := p.screen.Read(chunk[:])
	p.seen += string(chunk[:n])
	p.all += string(chunk[:n])
	return err
}

// types presses keys.
func (p *person) types(keys string) {
	p.t.Helper()
	if _, err := io.WriteString(p.screen, keys); err != nil {
		p.t.Fatal(err)
	}
}

// asks types a message at the next prompt.
func (p *person) asks(message string) {
	p.t.Helper()
	p.sees(">>> ")
	p.types(message + "\r")
}

// leaves reads to the end and returns the exit code.
func (p *person) leaves() int {
	p.t.Helper()
	for {
		err := p.read()
		if errors.Is(err, syscall.EIO) || errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			p.t.Fatalf("waiting for the end: %v\nseen: %q", err, p.seen)
		}
	}
	var exit *exec.ExitError
	if err := p.program.Wait(); err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return p.program.ProcessState.ExitCode()
}

func TestDialogue(t *testing.T) {
	p := sit(t, t.TempDir(), "chat")
	p.sees("runpython 0.1.0, Python 3.14.6. Ctrl-C stops a run, Ctrl-D leaves.")
	p.asks("set 41")
	p.asks("out hello")
	p.sees("  hello\r\n")
	p.asks("out [1,")
	p.sees("... ")
	p.types("out 2]\r")
	p.sees("  [1,\r\n  2]\r\n")
	p.asks("raise Boom")
	p.sees("Boom")
	p.asks("fault busy")
	p.sees("runpython: the message: the cause\r\n")
	p.asks("get")
	p.sees("  41\r\n")
	p.sees(">>> ")
	p.types("\x04")
	if code := p.leaves(); code != 0 {
		t.Errorf("exit code = %d, want 0", code)
	}
}

// A paste of several lines is one message, which only Enter sends.
func TestDialoguePaste(t *testing.T) {
	p := sit(t, t.TempDir(), "chat", "--json")
	p.sees(">>> ")
	p.types("\x1b[200~out one\r\n\r\nout two\r\n\x1b[201~")
	p.sees("... ")
	p.sees("... ")
	p.sees("... ")
	p.types("\r")
	p.sees(`"code":"out one\n\nout two",`)
	p.sees(">>> ")
	p.types("\x04")
	if code := p.leaves(); code != 0 || strings.Count(p.all, `"chat_id"`) != 1 {
		t.Errorf("exit code = %d, replies: %q", code, p.all)
	}
}

// Ctrl-C stops a run, keeps the state and the dialogue, and at the prompt clears the line.
func TestDialogueInterrupt(t *testing.T) {
	p := sit(t, t.TempDir(), "chat")
	p.asks("set 42")
	p.asks("wait")
	p.sees("waiting for Ctrl-C") // live
	p.sees("running ")
	p.types("\x03")
	p.sees("Stopped, because the caller stopped the call.")
	p.asks("cancel")
	p.sees("seen before")
	p.types("\x03\x03\x03")
	p.sees("runpython: interrupted")
	p.sees(">>> ")
	p.types("out bad\x03")
	p.asks("get")
	p.sees("  42\r\n")
	p.asks("exit")
	if code := p.leaves(); code != 0 || strings.Contains(p.all, "  bad") {
		t.Errorf("exit code = %d, screen %q", code, p.all)
	}
}

// What was typed is there in the next dialogue, in a file that only its owner reads.
func TestDialogueHistory(t *testing.T) {
	data := t.TempDir()
	p := sit(t, data, "chat")
	p.asks("out a long and memorable message")
	p.asks("quit()")
	p.leaves()
	info, err := os.Stat(filepath.Join(data, "chat-history"))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("history: %v, %v; want a file of mode 0600", info, err)
	}
	p = sit(t, data, "chat")
	p.asks("\x1b[A")
	p.sees("  a long and memorable message\r\n")
	p.sees(">>> ")
	p.types("\x04")
	p.leaves()
}

// A signal to end, and a terminal that is closed, end the dialogue.
func TestDialogueEnd(t *testing.T) {
	for name, end := range map[string]func(*person) error{
		"SIGTERM": func(p *person) error { return p.program.Process.Signal(syscall.SIGTERM) },
		"SIGQUIT": func(p *person) error { return p.program.Process.Signal(syscall.SIGQUIT) },
		"SIGTERM in a run": func(p *person) error {
			p.types("wait\r")
			p.sees("waiting")
			return p.program.Process.Signal(syscall.SIGTERM)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := sit(t, t.TempDir(), "chat")
			p.sees(">>> ")
			if err := end(p); err != nil {
				t.Fatal(err)
			}
			if code := p.leaves(); code != 130 {
				t.Errorf("exit code = %d, want 130\nseen: %q", code, p.all)
			}
		})
	}
	t.Run("terminal is closed", func(t *testing.T) {
		p := sit(t, t.TempDir(), "chat")
		p.sees(">>> ")
		if err := p.screen.Close(); err != nil {
			t.Fatal(err)
		}
		if err := p.program.Wait(); err == nil && p.program.ProcessState.ExitCode() != 0 {
			t.Errorf("Wait = %v", err)
		}
	})
}

// The terminal obeys nothing that a run printed: OUT-10.
func TestHostileOutput(t *testing.T) {
	const hostile = `"\x1b]0;owned\x07\x1b[2J\u202eabc"`
	for _, word := range []string{"out", "err", "value", "raise", "text", "prose"} {
		t.Run("OUT-10 "+word, func(t *testing.T) {
			p := sit(t, t.TempDir(), "chat", word+" "+hostile)
			p.leaves()
			if strings.ContainsAny(p.all, "\x1b\x07\u202e") || !strings.Contains(p.all, `\x1b]0;owned\x07\x1b[2J\u202eabc`) {
				t.Errorf("screen: %q", p.all)
			}
		})
	}
	t.Run("OUT-10 live", func(t *testing.T) {
		p := sit(t, t.TempDir(), "chat", "--output", "x\x1b[2J", "out x")
		if code := p.leaves(); code != 2 || strings.Contains(p.all, "\x1b") {
			t.Errorf("exit code = %d, screen %q", code, p.all)
		}
	})
}

// On a terminal Markdown is shown in colour unless nobody wants it.
func TestMarkdownOnTerminal(t *testing.T) {
	p := sit(t, t.TempDir(), "chat", "text **bold**")
	p.leaves()
	if p.all != "\x1b[1mbold\x1b[0m\r\n" {
		t.Errorf("screen: %q", p.all)
	}
	for _, variable := range []string{"NO_COLOR=1", "TERM=dumb"} {
		program := exec.CommandContext(t.Context(), "runpython", "chat", "text **bold**")
		program.Env = append(os.Environ(), "GORACE=atexit_sleep_ms=0", "TERM=xterm", "RUNPYTHON_RUNSC=/bin/true", variable)
		p := start(t, program)
		p.leaves()
		if p.all != "**bold**\r\n" {
			t.Errorf("%s: screen %q", variable, p.all)
		}
	}
}

// A one-shot run shows what goes on, and Ctrl-C ends it.
func TestInterruptOneShot(t *testing.T) {
	p := sit(t, t.TempDir(), "chat", "wait")
	p.sees("waiting for Ctrl-C")
	p.types("\x03")
	p.sees("Stopped, because the caller stopped the call.")
	if code := p.leaves(); code != 130 {
		t.Errorf("exit code = %d, want 130", code)
	}
}
