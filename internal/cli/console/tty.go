package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// A tty is a terminal whose modes we change, and from which reading can be given up.
type tty struct {
	file  *os.File
	saved unix.Termios // as it was found

	wake  [2]int       // a pipe: closing the second end wakes a reader of the first
	cause func() error // why the reading under way has to end, nil while it has not
}

func openTTY(f *os.File) (*tty, error) {
	saved, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	if err != nil {
		return nil, fmt.Errorf("read the modes of the terminal: %w", err)
	}
	return &tty{file: f, saved: *saved}, nil
}

// forEditing lets every key through as it is.
func (t *tty) forEditing() error {
	return t.set(func(m *unix.Termios) {
		m.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
		m.Oflag &^= unix.OPOST
		m.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	})
}

// forRunning keeps what is typed for the next line, unseen; only Ctrl-C and Ctrl-\ act, as
// signals. Ctrl-Z does not: who stops a program in this mode gets a silent terminal.
func (t *tty) forRunning() error {
	return t.set(func(m *unix.Termios) {
		m.Iflag &^= unix.ICRNL | unix.INLCR | unix.IXON
		m.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.IEXTEN
		m.Lflag |= unix.ISIG
		m.Cc[unix.VSUSP] = 0
	})
}

// restore leaves the terminal as it was found.
func (t *tty) restore() error { return t.set(func(*unix.Termios) {}) }

// set changes the modes as found by change. Keys that wait to be read are not lost.
func (t *tty) set(change func(*unix.Termios)) error {
	modes := t.saved
	change(&modes)
	if modes.Lflag&unix.ICANON == 0 {
		modes.Cc[unix.VMIN], modes.Cc[unix.VTIME] = 1, 0
	}
	if err := unix.IoctlSetTermios(int(t.file.Fd()), unix.TCSETS, &modes); err != nil {
		return fmt.Errorf("set the modes of the terminal: %w", err)
	}
	return nil
}

// during lets Read give up when ctx ends, until done is called.
func (t *tty) during(ctx context.Context) (done func() error, err error) {
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	t.wake, t.cause = pipe, func() error { return context.Cause(ctx) }
	woken := make(chan error, 1)
	stop := context.AfterFunc(ctx, func() { woken <- unix.Close(pipe[1]) })
	return func() error {
		var err error
		if stop() {
			err = unix.Close(pipe[1])
		} else {
			err = <-woken
		}
		return errors.Join(err, unix.Close(pipe[0]))
	}, nil
}

// Read reads keys. It returns the error of the context when that ends first.
func (t *tty) Read(p []byte) (int, error) {
	fds := []unix.PollFd{
		{Fd: int32(t.file.Fd()), Events: unix.POLLIN},
		{Fd: int32(t.wake[0]), Events: unix.POLLIN},
	}
	for {
		if _, err := unix.Poll(fds, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return 0, fmt.Errorf("wait for a key: %w", err)
		}
		if err := t.cause(); err != nil {
			return 0, err
		}
		if fds[0].Revents != 0 {
			n, err := t.file.Read(p)
			if errors.Is(err, unix.EIO) { // the other end is gone
				err = io.EOF
			}
			return n, err
		}
	}
}
