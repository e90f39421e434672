// Package process starts an MCP server that speaks over its standard streams, for a scan.
//
// # Trust
//
// Whoever calls it has asked the operator: what is started runs with the operator's rights. It gets a few variables of the
// environment and those that its configuration names, none else; what it writes to standard error is thrown away.
//
// # Failure
//
// A program that cannot be started is an error that does not name it, since commands may have secrets. [Streams.Close] ends it and all that it has started, and says nothing of how.
package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"runpython/internal/fault"
)

// endDelay is how long a program may take to end by itself once its input ends, as MCP asks of it (Lifecycle, Shutdown, stdio).
const endDelay = time.Second

// A Command is what is started.
type Command struct {
	Name string
	Args []string
	Env  map[string]string // besides those of passedOn
}

// passedOn are the variables of our own environment that a program gets: what it takes to be found and to run.
func passedOn() []string {
	return []string{"HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER"}
}

// Streams are the standard streams of a program that runs. Read and Write may be called by one goroutine each.
type Streams struct {
	io.Reader // its output
	in        io.WriteCloser
	cmd       *exec.Cmd
	done      chan struct{} // closed once the program has ended
	out       *os.File
}

// Start starts a program; lookup finds variables of our own environment. The caller closes what it returns; the end of ctx ends nothing.
// Its error is fault.NotFound and shows nothing of the command.
func Start(ctx context.Context, c Command, lookup func(string) (string, bool)) (*Streams, error) {
	cmd := exec.CommandContext(context.WithoutCancel(ctx), c.Name, c.Args...)
	cmd.Env = []string{}
	for _, name := range passedOn() {
		if v, ok := lookup(name); ok {
			cmd.Env = append(cmd.Env, name+"="+v)
		}
	}
	for name, v := range c.Env {
		cmd.Env = append(cmd.Env, name+"="+v)
	}
	slices.Sort(cmd.Env)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // so that all of it can be ended
	failed := func(err error) (*Streams, error) {
		return nil, fault.New(fault.NotFound, err, "its program could not be started; see that it is installed and on PATH")
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return failed(err)
	}
	out, write, err := os.Pipe() // and not StdoutPipe, which Wait closes while it is read
	if err != nil {
		return failed(err)
	}
	cmd.Stdout = write
	err = cmd.Start()
	closing := write.Close()
	if err = errors.Join(err, closing); err != nil {
		return failed(errors.Join(err, out.Close()))
	}
	s := &Streams{Reader: out, in: in, cmd: cmd, done: make(chan struct{}), out: out}
	go func() {
		defer close(s.done)
		_ = cmd.Wait() // how it ends does not matter
	}()
	return s, nil
}

// Write writes to the program's input.
func (s *Streams) Write(p []byte) (int, error) { return s.in.Write(p) } //nolint:wrapcheck // as an io.Writer

// Close ends the program, gently and then not, and whatever it has started. It returns when the program is gone.
func (s *Streams) Close() error {
	_ = s.in.Close() // one that has ended already has closed it
	select {
	case <-s.done:
	case <-time.After(endDelay):
	}
	_ = syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL) // the group; it may be gone
	<-s.done
	if err := s.out.Close(); err != nil {
		return fmt.Errorf("close the output: %w", err)
	}
	return nil
}
