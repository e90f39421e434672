package message_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/message"
)

// TestRepairs is TXT-08: characters that chat programs put in are replaced, where
// they are code and nowhere else.
func TestRepairs(t *testing.T) {
	replaced := func(what string) string { return what + " outside of strings were replaced by plain ones" }
	tests := []struct{ name, code, want, note string }{
		{"TXT-08 quotes", "f(“a”, ‘b’)\n", "f(\"a\", 'b')\n", replaced("curly quotes")},
		{"TXT-08 low quotes", "f(„a“)\n", "f(\"a\")\n", replaced("curly quotes")},
		{"TXT-08 mixed pair", "f(“a\")\n", "f(\"a\")\n", replaced("curly quotes")},
		{"TXT-08 apostrophe inside", "f(“it’s”)\n", "f(\"it’s\")\n", replaced("curly quotes")},
		{"TXT-08 prefix", "f(r“a”)\n", "f(r\"a\")\n", replaced("curly quotes")},
		{"TXT-08 spaces", "x\u00a0=\u20031\n", "x = 1\n", replaced("unusual spaces")},
		{"TXT-08 indentation", "if x:\n\u00a0\u00a0f(1)\n", "if x:\n  f(1)\n", replaced("unusual spaces")},
		{"TXT-08 zero width", "f\u200b(1)\ufeff\n", "f(1)\n", replaced("invisible characters")},
		{"TXT-08 full width", "f（1，2）；x＝３\n", "f(1,2);x=3\n", replaced("full-width characters")},
		{"TXT-08 signs", "f(2 × 3 − 1 ≤ 4)\n", "f(2 * 3 - 1 <= 4)\n", replaced("typographic signs")},
		{"TXT-08 two kinds", "x\u00a0= “a”\n", "x = \"a\"\n", replaced("unusual spaces and curly quotes")},
		{"TXT-08 strings are kept", "x\u00a0= 'a\u00a0b “c”' + '''\n\u200b×'''\n", "x = 'a\u00a0b “c”' + '''\n\u200b×'''\n", replaced("unusual spaces")},
		{"TXT-08 comments are kept", "x\u00a0= 1 # “a”\u00a0× \n", "x = 1 # “a”\u00a0× \n", replaced("unusual spaces")},
		{"TXT-08 fields are code", "f'{x\u00a0}\u00a0'\n", "f'{x }\u00a0'\n", replaced("unusual spaces")},
		{"TXT-08 nothing to replace", "x = 'ü' # “a”\n", "", ""},
		{"TXT-08 direction marks", "x = 1\u202e\n", "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := []message.Candidate{{Code: tt.code, RunAnyway: true}}
			if tt.note != "" {
				want = append(want, message.Candidate{Code: tt.want, Note: tt.note})
			}
			if diff := cmp.Diff(want, message.Read("```python\n"+tt.code+"```").Candidates); diff != "" {
				t.Errorf("candidates (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLiteralBreaks is TXT-07: a program on one line with \n for each line break.
func TestLiteralBreaks(t *testing.T) {
	const note = `the text was one line with a literal \n for each line break; these were made line breaks`
	tests := []struct {
		name, text string
		want       []message.Candidate
	}{
		{
			"TXT-07 plain", `x = 1\nprint(x)`,
			[]message.Candidate{{Code: "x = 1\nprint(x)", MustAct: true, RunAnyway: true, Note: note}},
		},
		{
			"TXT-07 CRLF and tabs", `if x:\r\n\tprint(x)`,
			[]message.Candidate{{Code: "if x:\n\tprint(x)", MustAct: true, RunAnyway: true, Note: note}},
		},
		{
			"TXT-07 in a string as well", `x = 1\nprint("a\nb")`,
			[]message.Candidate{
				{Code: "x = 1\nprint(\"a\\nb\")", MustAct: true, RunAnyway: true, Note: note},
				{Code: "x = 1\nprint(\"a\nb\")", MustAct: true, RunAnyway: true, Note: note},
			},
		},
		{
			"TXT-07 escaped as a whole", `x = 1\nprint(\"a\\nb\")`,
			[]message.Candidate{
				{Code: "x = 1\nprint(\"a\\nb\")", MustAct: true, RunAnyway: true, Note: note},
				{Code: "x = 1\nprint(\\\"a\\\\nb\\\")", MustAct: true, RunAnyway: true, Note: note},
			},
		},
		{
			"TXT-07 in strings only", `print("a\nb", 'c\nd')`,
			[]message.Candidate{{Code: `print("a\nb", 'c\nd')`, MustAct: true, RunAnyway: true}},
		},
		{
			"TXT-07 with real line breaks", "print('a')\nprint(b'\\n')",
			[]message.Candidate{{Code: "print('a')\nprint(b'\\n')", MustAct: true, RunAnyway: true}},
		},
		{
			"TXT-07 after a comment", `# first\nprint(1)`,
			[]message.Candidate{{Code: "# first\nprint(1)", MustAct: true, RunAnyway: true, Note: note}},
		},
		{
			"TXT-07 in a block", "```python\nx = 1\\nprint(x)\n```",
			[]message.Candidate{{Code: "x = 1\\nprint(x)\n", RunAnyway: true}, {Code: "x = 1\nprint(x)\n", Note: note}},
		},
		{
			"TXT-07 with its fences", "```python\\nprint(1)\\n```",
			[]message.Candidate{{Code: "print(1)\n", RunAnyway: true, Note: note}},
		},
		{"TXT-07 prose", `C:\new folder is not there`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, message.Read(tt.text).Candidates); diff != "" {
				t.Errorf("candidates (-want +got):\n%s", diff)
			}
		})
	}
}
