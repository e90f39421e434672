package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// maxHiddenBytes bounds a line that is not shown; terminals take no longer ones.
const maxHiddenBytes = 4096

// ReadHidden asks a question on out and reads one line at a terminal, which by then does not show what is typed. The line comes
// without its end. It gives up when ctx ends, with its cause; the terminal is as before then.
func ReadHidden(ctx context.Context, f *os.File, out io.Writer, question string) (line string, err error) {
	t, err := openTTY(f)
	if err != nil {
		return "", err
	}
	done, err := t.during(ctx)
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, done()) }()
	hide := func(m *unix.Termios) {
		m.Lflag &^= unix.ECHO
		m.Lflag |= unix.ICANON | unix.ISIG | unix.ECHONL
		m.Iflag |= unix.ICRNL
	}
	if err := t.set(hide); err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, t.restore()) }()
	if _, err := io.WriteString(out, question); err != nil {
		return "", fmt.Errorf("ask at the terminal: %w", err)
	}
	var text strings.Builder
	piece := make([]byte, maxHiddenBytes)
	for text.Len() < maxHiddenBytes {
		n, err := t.Read(piece)
		text.Write(piece[:n])
		if before, _, ended := strings.Cut(text.String(), "\n"); ended {
			return before, nil
		}
		switch {
		case errors.Is(err, io.EOF), err == nil && n == 0: // Ctrl-D
			return text.String(), nil
		case err != nil:
			return "", err
		}
	}
	return text.String(), nil
}
