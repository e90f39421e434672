package message_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/message"
)

// TestProse has texts that need no interpreter to be prose (MSG-14).
func TestProse(t *testing.T) {
	for _, text := range []string{
		"What is 17% of 2340, rounded to two digits?",
		"hello", "Hello!", "Hello.", "Thanks", "ok", "42", "-5", "yes, please", "Why?", "hello, world", "'quoted'",
		"Plot sin(x) from 0 to 10", "print the first 10 primes", "import the data from this CSV and plot it",
		"for each row print the total", "while you are at it, print x", "if the file exists, delete it",
		"from 1 to 10, sum the squares", "with pandas, compute the mean", "class of 2020 results",
		"return the sum of 1 and 2", "try to plot sin(x)", "assert that it works", "raise the limit", "del everything else",
		"x = 5, what is x+1?", "x = 5, then print it twice", "f(x) = x^2, find its derivative", "Foo(s) are there",
		"Total = 5 apples", "What's 2+2", "don't do it", "2+2=?", "2 + 2 =", "50%", "C++", "1. do this", "1) do this", "- item one",
		"* item", "**bold**", "*emphasis*", "# Heading", "| a | b |", "[link](https://example.com)", "![image](a.png)",
		"https://example.com/a?b=c", "Note: this is important", "License: GPL-2", "Answer: yes", "for example:", "if possible",
		"!!!", "pip install requests and then fetch the page",
		"Solve for z:\nx = 5\ny = 6\nz = x + y", "Dear all,\n\nplease see below.\n\nBest\nAnn", "请计算斐波那契数列", "Что такое питон",
		"Traceback (most recent call last):\n  File \"x.py\", line 1, in <module>\n    foo()\nNameError: name 'foo' is not defined",
		"{\"a\": true, \"b\": [1, -2]}", "name: x\nsize: 3", "a | b\n--|--\n", "~~~\nquoted", "match the pattern", "type the answer",
		"SELECT * FROM t WHERE x = 1", "const f = () => { return 1; }", "int main() { return 0; }", "import \"fmt\"",
	} {
		m := message.Read(text)
		if m.Kind != message.Prose || m.Candidates != nil {
			t.Errorf("Read(%q) is %v with candidates %q, want prose without any", text, m.Kind, codes(m))
		}
		if m.Prose == "" {
			t.Errorf("Read(%q) has no prose", text)
		}
	}
}

// TestMistakes has code that does not compile and is clearly meant as code, so
// that the person gets its SyntaxError.
func TestMistakes(t *testing.T) {
	for _, text := range []string{
		"print(1", "print('hello)", "print 'hello'", "for i in range(3) print(i)", "x = = 2", "x = 5 +", "prnt(\"x\"))",
		"def f(x)\n  return x", "def f(x) return x", "if x = 3:\n    print(x)", "if x > 3\n    print(x)", "while True print(1)",
		"import numpy as", "from math import", "a = [1, 2, 3", "x = {'a': 1", "class A(B metaclass=C):\n    pass",
		"import os\nimport sys\nprint(sys.argv\nprint(os.name)", "x = 5\nx++\nprint(x)", "df.groupby('a'.mean()",
		"print(\"a\" \"b\" c)", "for i in range(10):\nprint(i)", "  x = 1\n y = 2\nprint(x)", "@cache\ndef f(n) -> int\n    return n",
		"x = 'it's'\nprint(x)", "async def f():\n    await g(\n", "def f(:\n    pass", "return foo(1)", "print(1)\n  print(2)",
		"# a comment\n\n\"\"\"A docstring.\"\"\"\nimport os\nos.getcwd(", "try:\n    f()\nexcept ValueError\n    g()",
	} {
		m := message.Read(text)
		if m.Kind != message.Code || len(m.Candidates) != 1 || !m.Candidates[0].RunAnyway {
			t.Errorf("Read(%q) is %v with %+v, want code that is run anyway", text, m.Kind, m.Candidates)
		}
	}
}

// TestUnsure has texts that may be Python and count as such only if they compile
// and do something.
func TestUnsure(t *testing.T) {
	for _, text := range []string{"2+2", "1 + (2 * 3)", "x in xs", "not x", "a and b", "df.shape", "[x for x in xs]", "x[0]", "f'{x}'", "e-mail", "100 % sure", "a, b and c", "lambda: 1"} {
		want := message.Message{Kind: message.Prose, Prose: text, Candidates: []message.Candidate{{Code: text, MustAct: true}}}
		if diff := cmp.Diff(want, message.Read(text)); diff != "" {
			t.Errorf("Read(%q) (-want +got):\n%s", text, diff)
		}
	}
}

// TestTails is MSG-18 in its variants: code in a text without fences.
func TestTails(t *testing.T) {
	tests := []struct {
		name string
		text string
		want message.Message
	}{
		{
			"MSG-18 prose before", "Please run this:\nimport math\nprint(math.floor(2.7))",
			message.Message{Kind: message.Mixed, Prose: "Please run this:", Candidates: []message.Candidate{{
				Code: "import math\nprint(math.floor(2.7))", MustAct: true,
				Note: "line 1 of the message was taken as prose, not as code",
			}}},
		},
		{
			"MSG-18 prose on both sides", "Hi!\nPlease run this\n\nimport math\nprint(math.pi)\n\nThanks a lot!\n",
			message.Message{Kind: message.Mixed, Prose: "Hi!\nPlease run this\n\nThanks a lot!", Candidates: []message.Candidate{{
				Code: "import math\nprint(math.pi)\n\n", MustAct: true,
				Note: "lines 1-3 and 7 of the message were taken as prose, not as code",
			}}},
		},
		{
			"MSG-18 prose after", "print(6*7)\nWhat does it print?",
			message.Message{Kind: message.Mixed, Prose: "What does it print?", Candidates: []message.Candidate{{
				Code: "print(6*7)\n", MustAct: true, Note: "line 2 of the message was taken as prose, not as code",
			}}},
		},
		{
			"MSG-18 indented code", "Run this:\n\n    for x in 'ab':\n        print(x)\n",
			message.Message{Kind: message.Mixed, Prose: "Run this:", Candidates: []message.Candidate{{
				Code: "for x in 'ab':\n    print(x)", MustAct: true,
				Note: "lines 1-2 of the message were taken as prose, not as code",
			}}},
		},
		{
			"MSG-18 curly quotes", "Please run this:\nprint(“hi”)",
			message.Message{Kind: message.Mixed, Prose: "Please run this:", Candidates: []message.Candidate{{
				Code: "print(\"hi\")", MustAct: true,
				Note: "line 1 of the message was taken as prose, not as code; curly quotes outside of strings were replaced by plain ones",
			}}},
		},
		{
			"MSG-12 MSG-18 transcript", "This is what I did:\n>>> x = 2\n>>> x\n2",
			message.Message{Kind: message.Mixed, Prose: "This is what I did:", Candidates: []message.Candidate{{
				Code: "x = 2\nx\n", MustAct: true, Note: "line 1 of the message was taken as prose, not as code",
			}}, Notes: []string{"the prompts and the output of a transcript were left out"}},
		},
		{
			"MSG-18 assignments only", "Solve for z:\nx = 5\nz = x + 1",
			message.Message{Kind: message.Prose, Prose: "Solve for z:\nx = 5\nz = x + 1"},
		},
		{
			"MSG-18 prose in the middle", "Run this:\nprint(1)\nand then please\nprint(2)",
			message.Message{Kind: message.Prose, Prose: "Run this:\nprint(1)\nand then please\nprint(2)"},
		},
		{
			"MSG-18 a block with a mistyped head", "fro x in range(3):\n    print(x)",
			message.Message{Kind: message.Prose, Prose: "fro x in range(3):\n    print(x)"},
		},
		{
			"MSG-18 code with a mistake before", "x = = 2\nprint(x)",
			message.Message{Kind: message.Code, Candidates: []message.Candidate{{Code: "x = = 2\nprint(x)", MustAct: true, RunAnyway: true}}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, message.Read(tt.text)); diff != "" {
				t.Errorf("Read(%q) (-want +got):\n%s", tt.text, diff)
			}
		})
	}
}

// TestTranscripts is MSG-12 in its variants.
func TestTranscripts(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"MSG-12 IPython", "In [1]: for i in x:\n   ...:     f(i)\n   ...:\n1\n\nIn [2]: x\nOut[2]: 3", "for i in x:\n    f(i)\n\n\n\nx\n"},
		{"MSG-12 no space", ">>>f(1)\n1", "f(1)\n"},
		{"MSG-12 string over lines", ">>> s = '''a\n... b'''\n>>> s\n'a\\nb'", "s = '''a\nb'''\ns\n"},
		{"MSG-12 dots in the output", ">>> f(1)\nx\n... y\n>>> g(2)", "f(1)\n\n\ng(2)"},
		{"MSG-12 in a block", "```pycon\n>>> f(1)\n1\n```", "f(1)\n\n"},
		{"MSG-12 indented", "    >>> f(1)\n    1", "f(1)\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := message.Read(tt.text)
			if diff := cmp.Diff([]string{tt.want}, codes(m)); diff != "" {
				t.Errorf("candidates (-want +got):\n%s", diff)
			}
			if m.Kind != message.Code {
				t.Errorf("kind %v, want code", m.Kind)
			}
		})
	}
	if m := message.Read(">>> On Monday Bob wrote\n>> something"); m.Candidates != nil {
		t.Errorf("quoted mail gives the candidates %q", codes(m))
	}
}
