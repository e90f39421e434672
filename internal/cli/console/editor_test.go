package console_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"golang.org/x/term"

	"runpython/internal/cli/console"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A terminal is a pseudo-terminal with an editor at its near end.
type terminal struct {
	t      *testing.T
	person *os.File // the far end
	editor *console.Editor
	shown  string // what the person has seen and not expected yet
}

// newTerminal opens a terminal and an editor with a history at path.
func newTerminal(t *testing.T, path string, limit int) (*terminal, *console.History) {
	t.Helper()
	person, tty, err := pty.Open()
	if err != nil {
		t.Skipf("no pseudo-terminal: %v", err)
	}
	history, err := console.OpenHistory(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := pty.Setsize(person, &pty.Winsize{Rows: 24, Cols: 80}); err != nil {
		t.Fatal(err)
	}
	editor, err := console.NewEditor(tty, tty, history, limit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := errors.Join(editor.Close(), tty.Close(), person.Close()); err != nil {
			t.Error(err)
		}
	})
	return &terminal{t: t, person: person, editor: editor}, history
}

// patience bounds the wait for what must come.
const patience = 20 * time.Second

// expect reads until text is shown.
func (m *terminal) expect(text string) {
	m.t.Helper()
	if err := m.person.SetReadDeadline(time.Now().Add(patience)); err != nil {
		m.t.Fatal(err)
	}
	for !strings.Contains(m.shown, text) {
		var chunk [4096]byte
		n, err := m.person.Read(chunk[:])
		if err != nil {
			m.t.Fatalf("waiting for %q after %q: %v", text, m.shown, err)
		}
		m.shown += string(chunk[:n])
	}
	_, m.shown, _ = strings.Cut(m.shown, text)
}

// press presses keys.
func (m *terminal) press(keys string) {
	m.t.Helper()
	if _, err := io.WriteString(m.person, keys); err != nil {
		m.t.Fatal(err)
	}
}

// read lets the editor read a message while the person presses keys at the first prompt.
func (m *terminal) read(keys string) (string, error) {
	m.t.Helper()
	type result struct {
		message string
		err     error
	}
	done := make(chan result)
	ctx, cancel := context.WithTimeout(m.t.Context(), patience)
	defer cancel()
	go func() {
		message, err := m.editor.ReadMessage(ctx)
		done <- result{message, err}
	}()
	m.expect(">>> ")
	m.press(keys)
	r := <-done
	return r.message, r.err
}

// What keys make which message.
func TestKeys(t *testing.T) {
	const left, right, up, home, end, del = "\x1b[D", "\x1b[C", "\x1b[A", "\x1b[H", "\x1b[F", "\x1b[3~"
	for _, tt := range []struct{ name, keys, want string }{
		{"line", "1+1\r", "1+1"},
		{"line feed", "1+1\n", "1+1"},
		{"blank lines are nothing", "\r  \r\t\rx\r", "x"},
		{"backspace", "abx\x7fc\r", "abc"},
		{"arrows", "ac" + left + "b" + right + "d\r", "abcd"},
		{"keypad arrows", "ac\x1bODb\r", "abc"},
		{"home and end", "b" + home + "a" + end + "c\r", "abc"},
		{"home and end of others", "b\x1b[1~a\x1b[4~c\x1b[7~_\r", "_abc"},
		{"delete", "abx" + left + del + "\r", "ab"},
		{"words", "one two\x1b[1;5D" + "x \x1bby \r", "one y x two"},
		{"delete word", "one two\x17three\r", "one three"},
		{"delete to start", "rubbish\x15good\r", "good"},
		{"tab", "\tx\r", "    x"},
		{"umlauts, CJK, emoji", "é你🙂\r", "é你🙂"},
		{"invalid UTF-8", "a\xffb\xc3c\r", "a?b?c"},
		{"the replacement character", "a\uFFFDb\r", "a?b"},
		{"unknown sequences", "a\x1b[15~b\x1b[?1;2cc\x1b[999;999;999;999;999;999;999;999;9Rd\r", "abc999;999;999;999;999;999;999;999;9Rd"},
		{"alt key", "a\x1bxb\r", "axb"},
		{"controls", "a\x00\x1c\x1d\x1fb\r", "ab"},
		{"C1 and direction", "a\u009b\u202eb\r", "ab"},
		{"block", "for i in x:\r    print(i)\r\r", "for i in x:\n    print(i)"},
		{"bracket", "f(1,\r2)\r", "f(1,\n2)"},
		{"fence", "```python\rx\r\r```\r", "```python\nx\n\n```"},
		{"Ctrl-C drops the line", "bad\x03good\r", "good"},
		{"Ctrl-C drops the block", "f(\r1,\r\x03good\r", "good"},
		{"Ctrl-C after half a sequence", "x\x1b[\x03good\r", "good"},
		{"Ctrl-D in a line deletes", "abc" + left + "\x04\r", "ab"},
		{"paste of a line", "\x1b[200~x = 1\x1b[201~\r", "x = 1"},
		{"paste of lines", "\x1b[200~x = 1\r\ny = 2\n\tz\x1b[201~\r", "x = 1\ny = 2\n\tz"},
		{"paste of lines that ends with one", "\x1b[200~x = 1\ry = 2\r\x1b[201~\r", "x = 1\ny = 2"},
		{"paste of a block with empty lines", "\x1b[200~def f():\n\n    return 1\x1b[201~\r", "def f():\n\n    return 1"},
		{"paste that ends open", "\x1b[200~x = [1,\n2,\x1b[201~\r3]\r", "x = [1,\n2,\n3]"},
		{"paste after typing", "x = \x1b[200~[1,\n2]\x1b[201~\r", "x = [1,\n2]"},
		{"paste has no keys", "\x1b[200~a\x03\x04\x15\x1b[A\x1b[200~\x7f\x1b[201~b]]\r", "a[A[200~b]]"},
		{"paste that ends itself", "\x1b[200~a\x1b[201~\x1b[201~b\r", "ab"},
		{"nothing to recall", up + "x\r", "x"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, _ := newTerminal(t, filepath.Join(t.TempDir(), "history"), 1000)
			got, err := m.read(tt.keys)
			if diff := cmp.Diff(tt.want, got); err != nil || diff != "" {
				t.Errorf("message, error %v (-want +got):\n%s", err, diff)
			}
		})
	}
}

// Keys that come one byte at a time mean the same.
func TestKeysInPieces(t *testing.T) {
	keys := "ac\x1b[Db\x1b[200~é\nx\x1b[201~\r"
	whole, err := io.ReadAll(console.NewKeys(strings.NewReader(keys), 1000))
	if err != nil {
		t.Fatal(err)
	}
	single, err := io.ReadAll(console.NewKeys(oneByOne{strings.NewReader(keys)}, 1000))
	if err != nil || !bytes.Equal(whole, single) {
		t.Errorf("keys = %q, %v; want %q", single, err, whole)
	}
}

type oneByOne struct{ r io.Reader }

func (o oneByOne) Read(p []byte) (int, error) { return o.r.Read(p[:1]) }

func TestLeaving(t *testing.T) {
	t.Run("Ctrl-D", func(t *testing.T) {
		m, _ := newTerminal(t, filepath.Join(t.TempDir(), "history"), 1000)
		if _, err := m.read("\x04"); !errors.Is(err, io.EOF) {
			t.Errorf("error = %v, want EOF", err)
		}
	})
	t.Run("context", func(t *testing.T) {
		m, _ := newTerminal(t, filepath.Join(t.TempDir(), "history"), 1000)
		why := errors.New("told to end")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(0, func() { cancel(why) })
		if _, err := m.editor.ReadMessage(ctx); !errors.Is(err, why) {
			t.Errorf("error = %v, want the cause", err)
		}
	})
	t.Run("terminal is gone", func(t *testing.T) {
		person, tty, err := pty.Open()
		if err != nil {
			t.Skipf("no pseudo-terminal: %v", err)
		}
		history, err := console.OpenHistory(filepath.Join(t.TempDir(), "history"))
		if err != nil {
			t.Fatal(err)
		}
		editor, err := console.NewEditor(tty, tty, history, 100)
		if err != nil {
			t.Fatal(err)
		}
		if err := person.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := editor.ReadMessage(t.Context()); err == nil {
			t.Error("no error")
		}
		_ = tty.Close() // an error here says nothing
	})
}

// The modes of the terminal are those from before, and between messages nothing
// typed is shown or lost.
func TestModes(t *testing.T) {
	person, tty, err := pty.Open()
	if err != nil {
		t.Skipf("no pseudo-terminal: %v", err)
	}
	defer func() { _, _ = person.Close(), tty.Close() }()
	before, err := term.GetState(int(tty.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	history, err := console.OpenHistory(filepath.Join(t.TempDir(), "history"))
	if err != nil {
		t.Fatal(err)
	}
	editor, err := console.NewEditor(tty, tty, history, 1000)
	if err != nil {
		t.Fatal(err)
	}
	m := &terminal{t: t, person: person, editor: editor}
	m.press("ahead\r")
	if message, err := editor.ReadMessage(t.Context()); err != nil || message != "ahead" {
		t.Errorf("message = %q, %v; want what was typed ahead", message, err)
	}
	m.expect(">>> ahead")
	if strings.Contains(m.shown, "ahead") {
		t.Errorf("typed ahead was shown twice: %q", m.shown)
	}
	if err := editor.Close(); err != nil {
		t.Fatal(err)
	}
	after, err := term.GetState(int(tty.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(before, after) {
		t.Errorf("modes = %+v, want those from before, %+v", after, before)
	}
}

func TestLimitOfAMessage(t *testing.T) {
	for name, keys := range map[string]string{
		"lines": "f(\r" + strings.Repeat("1,\r", 40),
		"paste": "\x1b[200~" + strings.Repeat("x", 5000) + "\n" + strings.Repeat("y", 5000) + "\x1b[201~\r",
	} {
		t.Run(name, func(t *testing.T) {
			m, _ := newTerminal(t, filepath.Join(t.TempDir(), "history"), 50)
			if _, err := m.read(keys); !errors.Is(err, console.ErrTooLong) {
				t.Errorf("error = %v, want ErrTooLong", err)
			}
		})
	}
}

// Messages come back with the arrow, whole, in this dialogue and in the next one.
func TestRecall(t *testing.T) {
	path := filepath.Join(t.TempDir(), "history")
	const up, down = "\x1b[A", "\x1b[B"
	m, history := newTerminal(t, path, 1000)
	for _, message := range []string{"first", "def f():\n\treturn 1", "third"} {
		if err := history.Remember(message); err != nil {
			t.Fatal(err)
		}
	}
	next, _ := newTerminal(t, path, 1000)
	for _, m := range []*terminal{m, next} {
		for keys, want := range map[string]string{
			up + "\r":                           "third",
			up + up + "\r":                      "def f():\n\treturn 1",
			up + up + " + 1\r":                  "def f():\n\treturn 1 + 1",
			up + up + up + up + "\r":            "first",
			"new" + up + down + "er\r":          "newer",
			up + up + up + down + down + "!\r":  "third!",
			"a␤b\r":                             "a␤b",
			"\x10\x10\x0e\r":                    "third",
			up + up + "\x1b[200~\nx\x1b[201~\r": "def f():\n\treturn 1\nx",
		} {
			if got, err := m.read(keys); err != nil || got != want {
				t.Errorf("%q gave %q, %v; want %q", keys, got, err, want)
			}
		}
	}
}

// A message of another goroutine does not garble the line that is being edited.
func TestWriteAbove(t *testing.T) {
	m, _ := newTerminal(t, filepath.Join(t.TempDir(), "history"), 1000)
	done := make(chan string)
	go func() {
		message, err := m.editor.ReadMessage(t.Context())
		if err != nil {
			message = err.Error()
		}
		done <- message
	}()
	m.expect(">>> ")
	m.press("1+")
	m.expect("1+")
	if _, err := io.WriteString(m.editor, "a warning\n"); err != nil {
		t.Fatal(err)
	}
	m.expect("a warning\r\n>>> 1+")
	m.press("1\r")
	if got := <-done; got != "1+1" {
		t.Errorf("message = %q, want 1+1", got)
	}
}

// Whatever is typed, the editor gets keys that it knows, and no more than were typed.
func FuzzKeys(f *testing.F) {
	for _, seed := range []string{"a\x1b[A\r", "\x1b[200~x\ny\x1b[201~\r", "\x1b", "\x1b[", "\x1bO", "\xc3", "\r\n\n\r", "\x03\x04"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, typed []byte) {
		const limit = 100
		keys, err := io.ReadAll(console.NewKeys(bytes.NewReader(typed), limit))
		if err != nil {
			t.Fatal(err)
		}
		if len(keys) > 4*len(typed) {
			t.Errorf("%d bytes became %d", len(typed), len(keys))
		}
		for line := range bytes.SplitSeq(keys, []byte{'\r'}) {
			if bytes.Contains(line, []byte{'\n'}) || bytes.Contains(line, []byte{3}) {
				t.Errorf("%q gave %q", typed, keys)
			}
		}
		reader := struct {
			io.Reader
			io.Writer
		}{console.NewKeys(bytes.NewReader(typed), limit), io.Discard}
		editor := term.NewTerminal(reader, "> ")
		for lines := 0; ; lines++ {
			line, err := editor.ReadLine()
			if err != nil && !errors.Is(err, term.ErrPasteIndicator) {
				return
			}
			if lines > len(typed) {
				t.Fatalf("%d bytes gave more lines, the last %q", len(typed), line)
			}
		}
	})
}
