package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// The prompts of the first and of the other lines of a message, and of an answer to code
// that shows none of its own.
const (
	prompt         = ">>> "
	promptContinue = "... "
	promptAnswer   = "? "
)

// ErrInterrupted is returned when the person presses Ctrl-C instead of answering.
var ErrInterrupted = errors.New("interrupted")

// ErrTooLong is returned for a message beyond the limit; reading can go on.
var ErrTooLong = errors.New("the message is too long")

// An Editor reads messages, and answers to questions of a run, from a terminal: lines with editing and history, several
// of them where a construct is open or a paste has several. Between two messages
// the terminal shows nothing of what is typed, and Ctrl-C is a signal. Close it to
// have the terminal as it was. One goroutine may read; Write may be called from others.
type Editor struct {
	tty     *tty
	out     *os.File
	keys    *keys
	term    *term.Terminal
	history *History
	limit   int
}

// NewEditor takes over the terminal in, and writes prompts and lines on the
// terminal out. A message has at most limit bytes.
func NewEditor(in, out *os.File, history *History, limit int) (*Editor, error) {
	t, err := openTTY(in)
	if err != nil {
		return nil, err
	}
	e := &Editor{tty: t, out: out, keys: &keys{tty: t, limit: limit}, history: history, limit: limit}
	e.term = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{e.keys, out}, prompt)
	e.term.History = lines{history}
	if err := t.forRunning(); err != nil {
		return nil, err
	}
	e.term.SetBracketedPasteMode(true) // also between messages, for what is pasted ahead
	return e, nil
}

// Close leaves the terminal as it was found.
func (e *Editor) Close() error {
	e.term.SetBracketedPasteMode(false)
	return e.tty.restore()
}

// Write writes above the line that is being edited.
func (e *Editor) Write(p []byte) (int, error) { return e.term.Write(p) }

// ReadMessage returns the next message that is not blank, without the newline at its
// end. Ctrl-C begins anew; Ctrl-D on an empty line and the loss of the terminal
// are io.EOF; the end of ctx is its cause.
func (e *Editor) ReadMessage(ctx context.Context) (message string, err error) {
	err = e.editing(ctx, func() (err error) {
		for err == nil && strings.TrimSpace(message) == "" {
			message, err = e.block()
		}
		return err
	})
	return message, err
}

// ReadAnswer shows the end of a run's output, whose last line is the prompt, and returns one
// line, which may be empty. Ctrl-C is ErrInterrupted; Ctrl-D and the loss of the terminal are
// io.EOF; the end of ctx is its cause.
func (e *Editor) ReadAnswer(ctx context.Context, output string) (line string, err error) {
	before, last := "", Clean(output)
	if i := strings.LastIndexByte(last, '\n'); i >= 0 {
		before, last = last[:i+1], last[i+1:]
	}
	if last == "" {
		last = promptAnswer
	}
	e.term.History, e.keys.answer = lines{new(History)}, true // messages are no answers
	defer func() { e.term.History, e.keys.answer = lines{e.history}, false }()
	err = e.editing(ctx, func() error {
		if _, err := e.term.Write([]byte(before)); err != nil {
			return fmt.Errorf("show a question: %w", err)
		}
		e.term.SetPrompt(last)
		line, err = e.term.ReadLine()
		switch {
		case err != nil && !errors.Is(err, term.ErrPasteIndicator):
			return err //nolint:wrapcheck // io.EOF must stay itself
		case e.keys.ended == interrupted:
			return ErrInterrupted
		case e.keys.ended == declined:
			return io.EOF
		}
		return nil
	})
	return line, err
}

// editing lets read read with the terminal in the mode for it.
func (e *Editor) editing(ctx context.Context, read func() error) (err error) {
	done, err := e.tty.during(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	if err := e.tty.forEditing(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.tty.forRunning()) }()
	defer e.follow()()
	return read()
}

// block reads lines until what they say is complete.
func (e *Editor) block() (string, error) {
	var text strings.Builder
	whole, tooLong := false, false
	e.term.SetPrompt(prompt)
	for {
		line, err := e.term.ReadLine()
		if err != nil && !errors.Is(err, term.ErrPasteIndicator) {
			return "", err
		}
		if e.keys.ended == interrupted {
			return "", nil
		}
		line, several := e.history.original(line)
		whole = whole || several || e.keys.ended == pasted
		if tooLong = tooLong || text.Len()+len(line) > e.limit; !tooLong {
			text.WriteString(line)
		}
		switch {
		case e.keys.ended == pasted: // a newline in a paste never sends anything
		case tooLong:
			return "", fmt.Errorf("%w: at most %d bytes", ErrTooLong, e.limit)
		case !unfinished(text.String(), whole):
			return strings.TrimRight(text.String(), "\n"), nil
		}
		text.WriteByte('\n')
		e.term.SetPrompt(promptContinue)
	}
}

// follow keeps the editor's width that of the terminal until stop is called.
func (e *Editor) follow() (stop func()) {
	e.resize()
	changes := make(chan os.Signal, 1)
	signal.Notify(changes, unix.SIGWINCH)
	end := make(chan struct{})
	var watcher sync.WaitGroup
	watcher.Go(func() {
		for {
			select {
			case <-changes:
				e.resize()
			case <-end:
				return
			}
		}
	})
	return func() {
		signal.Stop(changes)
		close(end)
		watcher.Wait()
	}
}

// resize tells the editor the size of the terminal.
func (e *Editor) resize() {
	_ = e.term.SetSize(Size(e.out)) // an error of a terminal that is gone comes from reading, too
}
