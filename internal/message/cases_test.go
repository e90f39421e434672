package message_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/message"
)

// reported are failures that people reported of systems like this one, by the
// id of the case, with what the code prints when it runs; "-" when nothing must run.
var reported = []struct {
	name  string
	text  string
	kind  message.Kind
	first string // the code of the first candidate
	out   string
}{
	{
		name: "VAL-04 notebook lines", text: "!pip install cowsay\n%matplotlib inline\nprint('x')",
		kind: message.Code, first: "# !pip install cowsay\n# %matplotlib inline\nprint('x')", out: "x",
	},
	{
		name: "TXT-06 CRLF", text: "```python\r\nif True:\r\n    print('a')\r\n```\r\n",
		kind: message.Code, first: "if True:\n    print('a')\n", out: "a",
	},
	{
		name: "TXT-07 literal line breaks", text: `x = 1\nfor i in range(2):\n    print(x + i)`,
		kind: message.Code, first: "x = 1\nfor i in range(2):\n    print(x + i)", out: "1 2",
	},
	{
		name: "TXT-08 curly quotes and no-break spaces", text: "x\u00a0=\u00a0'ok'\nprint(“hi”)",
		kind: message.Code, first: "x = 'ok'\nprint(\"hi\")", out: "hi",
	},
	{
		name: "MSG-01 fence in a string", text: "```python\nmd = '''\n```bash\necho hi\n```\n'''\nprint(len(md) > 5)\n```",
		kind: message.Code, first: "md = '''\n```bash\necho hi\n```\n'''\nprint(len(md) > 5)\n", out: "True",
	},
	{
		name: "MSG-02 several blocks", text: "First:\n```python\na = 2\n```\nthen\n```python\nprint(a + 1)\n```",
		kind: message.Mixed, first: "a = 2\nprint(a + 1)\n", out: "3",
	},
	{
		name: "MSG-04 language words",
		text: "```Python3 title=\"a.py\"\nprint(1)\n```\n```py\nprint(2)\n```\n```{.python .numberLines}\nprint(3)\n```",
		kind: message.Code, first: "print(1)\nprint(2)\nprint(3)\n", out: "1 2 3",
	},
	{
		name: "MSG-05 other languages",
		text: "```json\n{\"a\": true}\n```\n```bash\necho SHOULD_NOT_RUN\n```\n```python\nprint('only me')\n```",
		kind: message.Mixed, first: "print('only me')\n", out: "only me",
	},
	{name: "MSG-07 code span", text: "`print(6*7)`", kind: message.Code, first: "print(6*7)", out: "42"},
	{name: "MSG-08 fence on one line", text: "```print(1)```", kind: message.Code, first: "print(1)", out: "1"},
	{
		name: "MSG-09 fence not closed", text: "Here you go:\n```python\nprint('tail')\n",
		kind: message.Mixed, first: "print('tail')\n", out: "tail",
	},
	{
		name: "MSG-11 fence in a list", text: "1. do this\n   ```python\n   for i in range(2):\n       print(i)\n   ```\n",
		kind: message.Mixed, first: "for i in range(2):\n    print(i)\n", out: "0 1",
	},
	{
		name: "MSG-12 transcript", text: ">>> x = 2\n>>> if x:\n...     print(x)\n...\n2\n>>> x + 1\n3",
		kind: message.Code, first: "x = 2\nif x:\n    print(x)\n\n\nx + 1\n", out: "2",
	},
	{name: "MSG-14 question", text: "What is 17% of 2340, rounded to two digits?", kind: message.Prose, out: "-"},
	{
		name: "MSG-18 prose before code", text: "Please run this:\nimport math\nprint(math.floor(2.7))",
		kind: message.Mixed, first: "import math\nprint(math.floor(2.7))", out: "2",
	},
	{name: "MSG-19 blank", text: "  \n\t", kind: message.Empty, out: "-"},
}

func TestReportedFailures(t *testing.T) {
	for _, c := range reported {
		t.Run(c.name, func(t *testing.T) {
			m := message.Read(c.text)
			if m.Kind != c.kind {
				t.Errorf("kind %v, want %v", m.Kind, c.kind)
			}
			first := ""
			if len(m.Candidates) > 0 {
				first = m.Candidates[0].Code
			}
			if diff := cmp.Diff(c.first, first); diff != "" {
				t.Errorf("first candidate (-want +got):\n%s", diff)
			}
		})
	}
}

// TestEmoji is TXT-02: an emoji that JSON carries as two surrogates is one character.
func TestEmoji(t *testing.T) {
	t.Run("TXT-02", func(t *testing.T) {
		var text string
		if err := json.Unmarshal([]byte(`"print(len('\ud83c\udf78'), '\ud83c\udf78')"`), &text); err != nil {
			t.Fatal(err)
		}
		want := []string{"print(len('🍸'), '🍸')"}
		if diff := cmp.Diff(want, codes(message.Read(text))); diff != "" {
			t.Errorf("candidates (-want +got):\n%s", diff)
		}
	})
}

// TestTrailingSemicolon is VAL-03: the semicolon that hides a value reaches the kernel.
func TestTrailingSemicolon(t *testing.T) {
	t.Run("VAL-03", func(t *testing.T) {
		for _, text := range []string{"x = 5\nx;", "```python\nx = 5\nx;\n```"} {
			if got := strings.TrimSpace(codes(message.Read(text))[0]); got != "x = 5\nx;" {
				t.Errorf("Read(%q) gives %q", text, got)
			}
		}
	})
}

// TestBytes reads what is no plain text.
func TestBytes(t *testing.T) {
	tests := []struct {
		name, text string
		want       message.Message
	}{
		{
			name: "byte order mark", text: "\ufeffprint(1)",
			want: message.Message{Kind: message.Code, Candidates: []message.Candidate{
				{Code: "print(1)", MustAct: true, RunAnyway: true},
			}},
		},
		{
			name: "byte order mark before a fence", text: "\ufeff```python\nprint(1)\n```",
			want: message.Message{Kind: message.Code, Candidates: []message.Candidate{{Code: "print(1)\n", RunAnyway: true}}},
		},
		{
			name: "not UTF-8", text: "print('\xff')",
			want: message.Message{
				Kind:       message.Code,
				Candidates: []message.Candidate{{Code: "print('\ufffd')", MustAct: true, RunAnyway: true}},
				Notes:      []string{"bytes that are not UTF-8 were replaced"},
			},
		},
		{
			name: "lone carriage returns", text: "x = 1\rprint(x)",
			want: message.Message{Kind: message.Code, Candidates: []message.Candidate{
				{Code: "x = 1\nprint(x)", MustAct: true, RunAnyway: true},
			}},
		},
		{name: "nothing", text: "", want: message.Message{}},
		{name: "nothing visible", text: "\ufeff\u00a0\u200b\u3000\r\n", want: message.Message{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, message.Read(tt.text)); diff != "" {
				t.Errorf("Read(%q) (-want +got):\n%s", tt.text, diff)
			}
		})
	}
}

func codes(m message.Message) []string {
	var all []string
	for _, c := range m.Candidates {
		all = append(all, c.Code)
	}
	return all
}
