package guest_test

import (
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An exchange is a run whose questions are answered in turn.
type exchange struct {
	code      string
	answers   []string // "!reason" when nobody answers
	asks      int      // as many as there are answers, if 0
	prompts   []string
	stdout    string
	value     string
	exception string
	message   string // a part of the exception's text
}

// exchange runs the code and answers its questions.
func (k *kernel) exchange(t *testing.T, e exchange) {
	t.Helper()
	var prompts []string
	k.asks = max(e.asks, len(e.answers))
	k.answer = func(_ int, prompt string) (text, why string) {
		prompts = append(prompts, prompt)
		if len(prompts) > len(e.answers) {
			return "", "the test has no more answers"
		}
		text = e.answers[len(prompts)-1]
		if reason, refused := strings.CutPrefix(text, "!"); refused {
			return "", reason
		}
		return text, ""
	}
	r := k.exec(e.code)
	kind, message, _ := r.exception()
	value := ""
	if r.done.Value != nil {
		value = r.done.Value.Text
	}
	got := exchange{prompts: prompts, stdout: r.stdout, value: value, exception: kind}
	want := exchange{prompts: e.prompts, stdout: e.stdout, value: e.value, exception: e.exception}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(exchange{})); diff != "" {
		t.Errorf("%s\n%s\nstderr: %s, message: %s", e.code, diff, r.stderr, message)
	}
	if !strings.Contains(message, e.message) {
		t.Errorf("%s\nmessage %q; want a part %q", e.code, message, e.message)
	}
}

const (
	lineQuestion = "The code reads a line of standard input. Decline to end the input."
	allQuestion  = "The code reads all of standard input."
)

var exchanges = map[string][]exchange{
	"input": {
		{code: "name = input('name? ')\nprint('hi', name)", answers: []string{"Ada"}, prompts: []string{"name? "}, stdout: "name? Ada\nhi Ada\n"},
		{code: "name", value: "'Ada'"},
	},
	"any text": {
		{code: "input()", answers: []string{"žluťoučký 🐎 \u2028\x00\t'\""}, prompts: []string{""}, stdout: "žluťoučký 🐎 \u2028\x00\t'\"\n", value: `'žluťoučký 🐎 \u2028\x00\t\'"'`},
		{code: "input(3)", answers: []string{""}, prompts: []string{"3"}, stdout: "3\n", value: "''"},
		{code: "len(input())", answers: []string{strings.Repeat("é", 16<<10)}, prompts: []string{""}, stdout: strings.Repeat("é", 16<<10) + "\n", value: "16384"},
	},
	"several lines are read one after the other": {
		{
			code: "[input('a'), input('b'), input('c')]", answers: []string{"1\r\n2\r", "3"},
			prompts: []string{"a", "c"}, stdout: "a1\nb2\nc3\n", value: "['1', '2', '3']",
		},
		{code: "input('rest? ')", answers: []string{"1\n2"}, prompts: []string{"rest? "}, stdout: "rest? 1\n", value: "'1'"},
		{code: "input('next? ')", answers: []string{"new"}, prompts: []string{"next? "}, stdout: "next? new\n", value: "'new'"},
	},
	"declined": {
		{code: "x = 1\ninput('name? ')", answers: []string{"!the person declined to answer"}, prompts: []string{"name? "}, stdout: "name? ", exception: "EOFError", message: "input() got no answer, the person declined to answer: assign the value"},
		{code: "try: input()\nexcept EOFError: print('caught', x)", answers: []string{"!no"}, prompts: []string{""}, stdout: "caught 1\n"},
	},
	"as often as the run may": {
		{code: "while True: input('?')", answers: []string{"1", "2"}, prompts: []string{"?", "?"}, stdout: "?1\n?2\n", exception: "EOFError", message: "this run has asked 2 times, the most it may"},
		{code: "input()", exception: "EOFError", message: "nobody can type while the code runs"},
	},
	"standard input": {
		{code: "import sys\nsys.stdin.readline()", answers: []string{"one"}, prompts: []string{lineQuestion}, stdout: "one\n", value: `'one\n'`},
		{code: "sys.stdin.readline(2), sys.stdin.readline(9), sys.stdin.readline(0)", answers: []string{"one"}, prompts: []string{lineQuestion}, stdout: "one\n", value: `('on', 'e\n', '')`},
		{code: "[line for line in sys.stdin]", answers: []string{"1\n2", "3", "!the person declined to answer"}, prompts: []string{lineQuestion, lineQuestion, lineQuestion}, stdout: "1\n2\n3\n", value: `['1\n', '2\n', '3\n']`},
		{code: "sys.stdin.read()", answers: []string{"1\n2\n"}, prompts: []string{allQuestion}, stdout: "1\n2\n", value: `'1\n2\n'`},
		{code: "sys.stdin.read(1) + input() + sys.stdin.readline()", answers: []string{"123\n4"}, prompts: []string{allQuestion}, stdout: "123\n4\n", value: `'1234\n'`},
		{code: "sys.stdin.readlines()", answers: []string{"a\x0bb\nc"}, prompts: []string{allQuestion}, stdout: "a\x0bb\nc\n", value: `['a\x0bb\n', 'c\n']`},
		{code: "sys.stdin.read(), sys.stdin.readlines(), sys.stdin.readline(), list(sys.stdin)", asks: 1, prompts: []string{allQuestion}, value: "('', [], '', [])"},
	},
	"EXT-03 by path or descriptor nothing waits": {
		{code: "import os, sys\nopen('/dev/stdin').read(), os.read(0, 9), sys.stdin.buffer.read()", asks: 1, value: "('', b'', b'')"},
	},
	"streams of the code's own": {
		{code: "import io, sys\nsys.stdin = io.StringIO('x\\n')\ninput('p'), sys.stdin.read()", asks: 1, stdout: "p", value: "('x', '')"},
		{code: "import contextlib\nkept = io.StringIO()\nwith contextlib.redirect_stdout(kept): x = input('q')\nkept.getvalue(), x", answers: []string{"y"}, prompts: []string{"q"}, value: "('q', 'y')"},
	},
	"not in threads and processes": {
		{code: "import threading\ndef f():\n    try: input()\n    except EOFError as e: print(e)\nt = threading.Thread(target=f); t.start(); t.join()", asks: 1, stdout: "input() can ask only in the main thread of the code: ask there and pass the value on\n"},
		{code: "import os\nif os.fork() == 0:\n    f()\n    os._exit(0)\nos.wait()\nNone", asks: 1, stdout: "input() can ask only in the interpreter of the chat, not in a process that it has started: ask before and pass the value on\n"},
		{code: "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'print(repr(open(0).read()))'], capture_output=True).stdout", asks: 1, value: `b"''\n"`},
	},
	"a secret is not asked for": {
		{code: "import getpass\ngetpass.getpass()", asks: 1, exception: "EOFError", message: "a secret must not be asked for"},
	},
	"a long prompt": {
		{code: "input('é' * 5000 + '?');", answers: []string{"y"}, prompts: []string{strings.Repeat("é", 2047) + "?"}, stdout: strings.Repeat("é", 5000) + "?y\n"},
	},
	"what was printed is out before the question": {
		{code: "print('higher', end=' ')\ninput();", answers: []string{"7"}, prompts: []string{""}, stdout: "higher 7\n"},
	},
	"in a coroutine": {
		{code: "import asyncio\nasync def f(): return input('in? ')\nawait f()", answers: []string{"in"}, prompts: []string{"in? "}, stdout: "in? in\n", value: "'in'"},
	},
}

func TestAsking(t *testing.T) {
	for name, steps := range exchanges {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := start(t, "")
			for _, e := range steps {
				k.exchange(t, e)
			}
		})
	}
}

// An interrupt ends the wait; the answer that comes too late is not that to the next question.
func TestInterruptWhileAsking(t *testing.T) {
	t.Parallel()
	k := start(t, "")
	k.asks = 5
	k.answer = func(id int, _ string) (text, why string) {
		if id == 1 {
			_ = k.process.Process.Signal(syscall.SIGINT)
			return "late", ""
		}
		return "in time", ""
	}
	code := "x = 1\ntry: input('first? ')\nexcept KeyboardInterrupt: print('stopped')\nx, input('second? ')"
	r := k.exec(code)
	kind, _, _ := r.exception()
	// The signal and the answer race; whichever comes first, the second question has the second answer, or is
	// itself what the interrupt has ended.
	if kind != "KeyboardInterrupt" && (r.done.Value == nil || r.done.Value.Text != "(1, 'in time')") {
		t.Errorf("%+v, exception %q, stdout %q", r.done, kind, r.stdout)
	}
	k.exchange(t, exchange{code: "x, input('third? ')", answers: []string{"fine"}, prompts: []string{"third? "}, stdout: "third? fine\n", value: "(1, 'fine')"})
}
