package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"
)

// stopGrace is how long the shipped program may take to end.
const stopGrace = 20 * time.Second

// serveProgram runs the shipped program, with everything by default but an own folder and a
// free port, while use runs.
func serveProgram(ctx context.Context, program string, use func(url string) error) (err error) {
	data, err := os.MkdirTemp("", "conformance-data-")
	if err != nil {
		return fmt.Errorf("make a data folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(data)) }()
	command := exec.CommandContext(ctx, program, "serve", "--listen", "127.0.0.1:0", "--data", data)
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = stopGrace
	said, err := command.StderrPipe()
	if err != nil {
		return fmt.Errorf("start %s: %w", program, err)
	}
	if err := command.Start(); err != nil {
		return fmt.Errorf("start %s: %w", program, err)
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
