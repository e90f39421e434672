package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// stopGrace is how long the shipped program may take to end.
const stopGrace = 20 * time.Second

// shipped is the shipped program, with everything by default but its data folder and what serve is told.
type shipped struct {
	path, data string
	arguments  []string // of serve
}

// run runs one of its commands, and returns what that prints.
func (p shipped) run(ctx context.Context, input string, arguments ...string) (string, error) {
	command := exec.CommandContext(ctx, p.path, append(arguments, "--data", p.data)...)
	var said bytes.Buffer
	command.Stdin, command.Stderr = strings.NewReader(input), &said
	out, err := command.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", p.path, strings.Join(arguments, " "), err, said.Bytes())
	}
	return string(out), nil
}

// serve serves while use runs.
func (p shipped) serve(ctx context.Context, use func(url string) error) error {
	command := exec.CommandContext(ctx, p.path, append([]string{"serve", "--data", p.data}, p.arguments...)...)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = stopGrace
	said, err := command.StderrPipe()
	if err != nil {
		return fmt.Errorf("start %s: %w", p.path, err)
	}
	if err := command.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.path, err)
	}
	lines := bufio.NewReader(said)
	url, err := readyURL(lines)
	if err == nil {
		// What it logs from here on is read, so that it never waits for its reader.
		drained := make(chan error, 1)
		go func() {
			_, err := io.Copy(io.Discard, lines)
			drained <- err
		}()
		err = use(url)
		err = errors.Join(err, command.Process.Signal(syscall.SIGTERM), <-drained)
	} else {
		err = errors.Join(err, command.Process.Kill())
	}
	return errors.Join(err, command.Wait())
}

// readyURL reads until the line that says where the program serves.
func readyURL(lines *bufio.Reader) (string, error) {
	var before strings.Builder
	for {
		line, err := lines.ReadString('\n')
		if _, url, ready := strings.Cut(strings.TrimSpace(line), " ready: "); ready {
			return url, nil
		}
		before.WriteString(line)
		if err != nil {
			return "", fmt.Errorf("wait until the program is ready: %w; it said:\n%s", err, before.String())
		}
	}
}
