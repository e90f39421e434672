package message_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/message"
)

func TestReadReply(t *testing.T) {
	const block = "```python\nprint(1)\n```"
	const code = "print(1)\n"
	tests := []struct {
		name string
		text string
		want message.Reply // Candidates apart
		code []string      // of the candidates
	}{
		{"one block", block, message.Reply{}, []string{code}},
		{"words before", "Let me see.\n\n" + block, message.Reply{Before: "Let me see.", Prose: "Let me see."}, []string{code}},
		{"short tag", "```py\nprint(1)\n```", message.Reply{}, []string{code}},
		{"no tag", "```\nprint(1)\n```", message.Reply{}, []string{code}},
		{"MSG-09 not closed", "Now:\n```python\nprint(1)\n", message.Reply{Before: "Now:", Prose: "Now:", Open: true}, []string{code}},
		{"closed at the end of a line", "```python\nprint(1)```", message.Reply{Open: true}, []string{code}},
		{"MSG-02 steps", "```python\nx = 2\n```\nthen\n```python\nprint(x)\n```", message.Reply{Prose: "then"}, []string{"x = 2\nprint(x)\n"}},
		{"definition and use", "```python\ndef f():\n    return 1\n```\n\n```\nprint(f())\n```", message.Reply{},
			[]string{"def f():\n    return 1\nprint(f())\n"}},
		{"invented output in a block", block + "\nOutput:\n```\n7\n```\nThe answer is 7.",
			message.Reply{Prose: "Output:\n```\n7\n```\nThe answer is 7."}, []string{code}},
		{"invented output in a tagged block", block + "\n```text\n7\n```\n```python\nprint(7 + 1)\n```",
			message.Reply{Prose: "```text\n7\n```\n```python\nprint(7 + 1)\n```"}, []string{code}},
		{"invented output in words", block + "\n**Output:** 7\n\n```python\nprint(7 + 1)\n```",
			message.Reply{Prose: "**Output:** 7\n\n```python\nprint(7 + 1)\n```"}, []string{code}},
		{"invented output without a word", block + "\n```\n7\n```\n```python\nprint(8)\n```",
			message.Reply{Prose: "```\n7\n```\n```python\nprint(8)\n```"}, []string{code}},
		{"an installation beside it", "```bash\npip install rich\n```\n" + block,
			message.Reply{Before: "```bash\npip install rich\n```", Prose: "```bash\npip install rich\n```"}, []string{code}},
		{"the result is announced before the code", "This prints the result:\n" + block,
			message.Reply{Before: "This prints the result:", Prose: "This prints the result:"}, []string{code}},
		{"a line that installs", "```python\n!pip install rich\nprint(1)\n```", message.Reply{Requirements: []string{"rich"}},
			[]string{"# !pip install rich\nprint(1)\n"}},
		{"prompts", "```python\n>>> print(1)\n1\n```", message.Reply{}, []string{"print(1)\n\n"}},
		{"curly quotes", "```python\nprint(“a”)\n```", message.Reply{}, []string{"print(“a”)\n", "print(\"a\")\n"}},
		{"MSG-01 a fence in a string", "```python\nx = '''\n```python\ny\n```\n'''\nprint(x)\n```", message.Reply{},
			[]string{"x = '''\n```python\ny\n```\n'''\nprint(x)\n", "x = '''\n```python\ny\n"}},
		{"bare code", "print(17 * 23)", message.Reply{Bare: true}, []string{"print(17 * 23)"}},
		{"bare code with fences in a string", "s = '''\n```python\nx\n```\n'''\nprint(s)", message.Reply{Bare: true},
			[]string{"s = '''\n```python\nx\n```\n'''\nprint(s)"}},
		{"a fence on one line", "```python print(1)```", message.Reply{}, []string{"print(1)"}},
		{"escaped once too often", "```python\\nprint(1)\\n```", message.Reply{}, []string{code}},
		{"words", "The answer is `391`.", message.Reply{Before: "The answer is `391`.", Prose: "The answer is `391`."}, nil},
		{"a number", "391", message.Reply{Before: "391", Prose: "391"}, nil},
		{"an empty block", "```python\n```", message.Reply{}, nil},
		{"another language", "```sql\nselect 1\n```", message.Reply{Before: "```sql\nselect 1\n```", Prose: "```sql\nselect 1\n```"}, nil},
		{"nothing", " \n", message.Reply{}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := message.ReadReply(tt.text)
			var code []string
			for _, c := range got.Candidates {
				code = append(code, c.Code)
			}
			if d := cmp.Diff(tt.code, code); d != "" {
				t.Errorf("candidates (-want +got):\n%s", d)
			}
			got.Candidates = nil
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("reply (-want +got):\n%s", d)
			}
		})
	}
}

func FuzzReadReply(f *testing.F) {
	f.Add("```python\nprint(1)\n```\nOutput:\n```\n1\n```")
	f.Add("```\n>>> x\n")
	f.Add("~~~python\n'''\n~~~\n```py\n1\n```")
	f.Fuzz(func(t *testing.T, text string) {
		r := message.ReadReply(text)
		if len(r.Candidates) > message.MaxCandidates || len(r.Requirements) > message.MaxRequirements {
			t.Errorf("%d candidates, %d requirements", len(r.Candidates), len(r.Requirements))
		}
		if len(r.Prose) > 4*len(text)+8 {
			t.Errorf("%d bytes of prose of %d", len(r.Prose), len(text))
		}
	})
}
