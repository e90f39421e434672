package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// endGrace is what a child has to end in order before it is killed: a server with many living chats keeps the
	// variables of all.
	endGrace = 2 * time.Minute
	// startGrace bounds the wait for a line that says that a child is ready.
	startGrace = 60 * time.Second
	// listenEvery is how often it is looked whether a child listens that does not say so.
	listenEvery = 50 * time.Millisecond
	// keptLines is how much of what a child said is told when it fails.
	keptLines = 10
	// waitingLines is how many lines a child may be ahead of who reads them; more are dropped.
	waitingLines = 64
)

// A child is a process that the benchmark starts and ends. Set what command is to
// have between newChild and start, and stop it also when start was an error.
type child struct {
	command *exec.Cmd
	said    *lines
	cancel  context.CancelFunc
	ended   chan struct{} // closed when the process has ended; nil before start
	err     error         // of Wait, set before ended is closed
}

// newChild prepares a process that is told to end when ctx does. What it writes to
// standard error is read as lines.
func newChild(ctx context.Context, name string, arguments ...string) *child {
	ctx, cancel := context.WithCancel(ctx)
	c := &child{command: exec.CommandContext(ctx, name, arguments...), said: newLines(), cancel: cancel}
	c.command.Stderr = c.said
	c.command.Cancel = func() error { return c.command.Process.Signal(syscall.SIGTERM) }
	c.command.WaitDelay = endGrace
	// A Ctrl-C at the terminal is for the benchmark, which then ends its children one by one.
	c.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	return c
}

func (c *child) start() error {
	if err := c.command.Start(); err != nil {
		return fmt.Errorf("start %s: %w", c.command.Path, err)
	}
	c.ended = make(chan struct{})
	go func() {
		defer close(c.ended)
		c.err = c.command.Wait()
	}()
	return nil
}

// await waits for a line that matches and returns what its first group has.
func (c *child) await(ctx context.Context, line *regexp.Regexp) (string, error) {
	limit := time.NewTimer(startGrace)
	defer limit.Stop()
	for {
		select {
		case text := <-c.said.out:
			if m := line.FindStringSubmatch(text); m != nil {
				return m[1], nil
			}
		case <-c.ended:
			return "", fmt.Errorf("%s has ended: %w%s", c.command.Path, c.err, c.said.last())
		case <-ctx.Done():
			return "", ctx.Err()
		case <-limit.C:
			return "", fmt.Errorf("%s is not ready after %v%s", c.command.Path, startGrace, c.said.last())
		}
	}
}

// awaitListener waits until somebody listens on an address, which is to be the child.
func (c *child) awaitListener(ctx context.Context, address string) error {
	var dialer net.Dialer
	for begun := time.Now(); time.Since(begun) < startGrace; {
		connection, err := dialer.DialContext(ctx, "tcp", address)
		if err == nil {
			return connection.Close()
		}
		select {
		case <-c.ended:
			return fmt.Errorf("%s has ended: %w%s", c.command.Path, c.err, c.said.last())
		default:
		}
		if err := pause(ctx, listenEvery); err != nil {
			return err
		}
	}
	return fmt.Errorf("%s does not listen after %v%s", c.command.Path, startGrace, c.said.last())
}

// stop ends the process and waits for that. It is an error when it had to be killed.
func (c *child) stop() error {
	c.cancel()
	if c.ended == nil {
		return nil
	}
	<-c.ended
	exit, failed := errors.AsType[*exec.ExitError](c.err)
	if !failed {
		return nil // context.Canceled: it was told to, and did
	}
	if status, ok := exit.Sys().(syscall.WaitStatus); ok && status.Signal() == syscall.SIGKILL {
		return fmt.Errorf("%s had to be killed%s", c.command.Path, c.said.last())
	}
	return nil
}

// lines cuts what a child writes into lines. It never makes the child wait.
type lines struct {
	out chan string

	mu   sync.Mutex // guards what follows
	part []byte     // the line under way, at most partBytes
	kept []string   // at most keptLines
}

const partBytes = 4 << 10

func newLines() *lines { return &lines{out: make(chan string, waitingLines)} }

// Write takes a piece of text.
func (l *lines) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for rest := text; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		l.part = append(l.part, line[:min(len(line), partBytes-len(l.part))]...)
		rest = after
		if !whole {
			break
		}
		l.finish(string(l.part))
		l.part = l.part[:0]
	}
	return len(text), nil
}

func (l *lines) finish(line string) {
	if l.kept = append(l.kept, line); len(l.kept) > keptLines {
		l.kept = l.kept[1:]
	}
	select {
	case l.out <- line:
	default: // nobody reads
	}
}

// last returns the last lines for the end of an error message.
func (l *lines) last() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.kept) == 0 {
		return ""
	}
	return ":\n  " + strings.Join(l.kept, "\n  ")
}

// pause waits for d or the end of ctx.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
