package message_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/message"
)

func TestFences(t *testing.T) {
	const py = "print(1)\n"
	tests := []struct {
		name string
		text string
		kind message.Kind
		want []string // codes of the candidates
	}{
		{"tildes", "~~~python\nprint(1)\n~~~", message.Code, []string{py}},
		{"longer fence", "````python\nprint(1)\nx = '```'\n````", message.Code, []string{"print(1)\nx = '```'\n"}},
		{"shorter fence inside", "````python\nx = '''\n```\n'''\n````", message.Code, []string{"x = '''\n```\n'''\n"}},
		{"tildes in backticks", "```python\nx = 1\n~~~\n```", message.Code, []string{"x = 1\n~~~\n"}},
		{"longer closing fence", "```python\nprint(1)\n`````", message.Code, []string{py}},
		{"indented fence", "   ```python\n   print(1)\n   ```", message.Code, []string{py}},
		{"closing fence indented", "```python\nprint(1)\n   ```", message.Code, []string{py}},
		{"code indented as a whole", "```python\n    print(1)\n    print(2)\n```", message.Code, []string{"print(1)\nprint(2)\n"}},
		{"all indented", "    ```python\n    print(1)\n    ```", message.Code, []string{py}},
		{"list", "- a\n- b\n\n  ```python\n  print(1)\n  ```", message.Mixed, []string{py}},
		{"wide list", "10. a\n    ```python\n    print(1)\n    ```", message.Mixed, []string{py}},
		{"nested lists", "- a\n  - b\n    1. c\n       ~~~py\n       print(1)\n       ~~~", message.Mixed, []string{py}},
		{"tab in a list", "-\t```python\n\tprint(1)\n\t```", message.Code, []string{py}},
		{"tab in the code", "```python\nif 1:\n\tprint(1)\n```", message.Code, []string{"if 1:\n\tprint(1)\n"}},
		{"quote", "> ```python\n> print(1)\n> ```", message.Code, []string{py}},
		{"quote that ends", "> ```python\n> print(1)\nand so on", message.Mixed, []string{py}},
		{"after a heading", "Title\n===\n```python\nprint(1)\n```", message.Mixed, []string{py}},
		{"in details", "<details>\n```python\nprint(1)\n```\n</details>", message.Mixed, []string{py}},
		{"in a comment", "<!--\n```python\nprint(1)\n```\n-->", message.Prose, nil},
		{"empty block", "```python\n```", message.Code, []string{""}},
		{"space before the tag", "``` python\nprint(1)\n```", message.Code, []string{py}},
		{"closed on the last line", "```python\nprint(1)```", message.Code, []string{py}},
		{"words after the closing fence", "```python\nprint(1)\n``` and so on", message.Mixed, []string{py}},
		{"not closed before the next", "```python\nx = 1\n```python\nprint(x)\n```", message.Code,
			[]string{"x = 1\nprint(x)\n"}},
		{"not closed before another language", "```python\nprint(1)\n```bash\nls\n```", message.Mixed,
			[]string{py}},
		{"code on the line of the fence", "```print(1)\nprint(2)\n```", message.Code, []string{"print(1)\nprint(2)\n"}},
		{"one line with a tag", "```python print(1)```", message.Code, []string{"print(1)"}},
		{"code span of two lines", "`x = 1\nprint(x)`", message.Code, []string{"x = 1\nprint(x)"}},
		{"code span with two backticks", "`` print('`') ``", message.Code, []string{"print('`')"}},
		{"two code spans", "`print(1)` `print(2)`", message.Prose, nil},
		{"code span that is a word", "`hello`", message.Prose, nil},
		{"block in markdown block", "````markdown\n```python\nprint(1)\n```\n````", message.Prose, nil},
		{"fences in strings of bare code", "s = '''\n```bash\nls\n```\n'''\nprint(s)", message.Code,
			[]string{"s = '''\n```bash\nls\n```\n'''\nprint(s)"}},
		{"escaped once too often", "```python\\nprint(1)\\n```", message.Code, []string{py}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := message.Read(tt.text)
			if m.Kind != tt.kind {
				t.Errorf("kind %v, want %v", m.Kind, tt.kind)
			}
			if diff := cmp.Diff(tt.want, codes(m)); diff != "" {
				t.Errorf("candidates (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLanguages(t *testing.T) {
	python := []string{
		"python", "Python", "PYTHON3", "py", "py3", "python3.14", "ipython", "ipython3", "pycon", "python title=\"x\"",
		"python,ignore", "python {1,3}", "{.python .numberLines}", "{python}", "{python, echo=FALSE}", "{code-cell} ipython3",
	}
	others := []string{
		"bash", "sh", "text", "json", "pytb", "python-traceback", "pythonx", "pyx", "console", "output", "js", "c++",
		"{.bash}", "title=\"a.py\"", "Thanks",
	}
	for _, info := range python {
		if m := message.Read("```" + info + "\nf(1)\n```"); m.Kind != message.Code || m.Candidates[0].Code != "f(1)\n" {
			t.Errorf("a block tagged %q is not read as Python", info)
		}
	}
	for _, info := range others {
		m := message.Read("```" + info + "\nf(1)\n```")
		if m.Candidates != nil {
			t.Errorf("a block tagged %q gives the candidate %q", info, m.Candidates[0].Code)
		}
		if len(m.Notes) != 1 || !strings.HasSuffix(m.Notes[0], "block was not run: only Python runs here") {
			t.Errorf("a block tagged %q gives the notes %q", info, m.Notes)
		}
	}
}

// TestUntagged has blocks without a language, which count if they are code.
func TestUntagged(t *testing.T) {
	tests := []struct {
		name string
		text string
		kind message.Kind
		want []message.Candidate
	}{
		{"code", "```\nprint(1)\n```", message.Code, []message.Candidate{{Code: "print(1)\n", MustAct: true, RunAnyway: true}}},
		{"code with a mistake", "```\nfor i in range(3) print(i)\n```", message.Code,
			[]message.Candidate{{Code: "for i in range(3) print(i)\n", MustAct: true, RunAnyway: true}}},
		{"operation", "```\n1 + 1\n```", message.Mixed, []message.Candidate{{Code: "1 + 1\n", MustAct: true}}},
		{"output", "```\n42\n```", message.Prose, nil},
		{"shell", "```\nls -la\n```", message.Prose, nil},
		{"table", "```\na | b\n--|--\n1 | 2\n```", message.Prose, nil},
		{"other language", "```\nfunc main() {\n```", message.Prose, nil},
		{"transcript", "```\n>>> x = 1\n>>> print(x)\n1\n```", message.Code,
			[]message.Candidate{{Code: "x = 1\nprint(x)\n\n", RunAnyway: true}}},
		{"code beside tagged code", "```python\ndef f(): return 1\n```\n```\nprint(f())\n```", message.Code,
			[]message.Candidate{{Code: "def f(): return 1\nprint(f())\n"}, {Code: "def f(): return 1\n", RunAnyway: true}}},
		{"output beside tagged code", "```python\nP(x=1)\n```\nThis prints:\n```\nP(x=1)\n```", message.Mixed,
			[]message.Candidate{{Code: "P(x=1)\n", RunAnyway: true}}},
		{"one is code, one may be", "```\nprint(x)\n```\n```\n1 + 1\n```", message.Code,
			[]message.Candidate{{Code: "print(x)\n1 + 1\n", MustAct: true}, {Code: "print(x)\n", MustAct: true, RunAnyway: true}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := message.Read(tt.text)
			if m.Kind != tt.kind {
				t.Errorf("kind %v, want %v", m.Kind, tt.kind)
			}
			if diff := cmp.Diff(tt.want, m.Candidates); diff != "" {
				t.Errorf("candidates (-want +got):\n%s", diff)
			}
		})
	}
}

// TestFenceInString is MSG-01 in its variants: which of two readings is offered
// first, and whose error is shown.
func TestFenceInString(t *testing.T) {
	tests := []struct {
		name string
		text string
		want []message.Candidate
	}{
		{"MSG-01 double quotes", "```python\nx = \"\"\"\n```\n\"\"\"\nf(x)\n```", []message.Candidate{
			{Code: "x = \"\"\"\n```\n\"\"\"\nf(x)\n", RunAnyway: true}, {Code: "x = \"\"\"\n", RunAnyway: true}}},
		{"MSG-01 format string", "```python\nx = f'''{'a'}\n```\n{1}'''\n```", []message.Candidate{
			{Code: "x = f'''{'a'}\n```\n{1}'''\n", RunAnyway: true}, {Code: "x = f'''{'a'}\n", RunAnyway: true}}},
		{"MSG-01 string never closed", "```python\nx = '''\n```\nDone.", []message.Candidate{
			{Code: "x = '''\n", RunAnyway: true}}},
		{"MSG-01 quotes in a comment", "```python\nx = 1 # '''\n```\n'''", []message.Candidate{
			{Code: "x = 1 # '''\n", RunAnyway: true}}},
		{"MSG-01 closed by another block's quotes", "```python\nx = '''\n```\n```python\ny = '''\nz\n'''\n```", []message.Candidate{
			{Code: "x = '''\n```\n```python\ny = '''\nz\n'''\n"},
			{Code: "x = '''\ny = '''\nz\n'''\n", RunAnyway: true}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, message.Read(tt.text).Candidates); diff != "" {
				t.Errorf("candidates (-want +got):\n%s", diff)
			}
		})
	}
}

// TestProseOutside keeps all but the Python for the model.
func TestProseOutside(t *testing.T) {
	m := message.Read("Look:\n\n- a\n\n  ```python\n  x = 1\n  ```\n\n```json\n{}\n```\nWhy?")
	want := "Look:\n\n- a\n\n\n```json\n{}\n```\nWhy?"
	if diff := cmp.Diff(want, m.Prose); diff != "" {
		t.Errorf("prose (-want +got):\n%s", diff)
	}
}

func TestManyBlocks(t *testing.T) {
	m := message.Read(strings.Repeat("```python\nx = 1\n```\n", 3000))
	if n := strings.Count(m.Candidates[0].Code, "x = 1\n"); n != 1000 {
		t.Errorf("%d blocks were joined, want 1000", n)
	}
	if diff := cmp.Diff([]string{"only the first 1000 blocks were read"}, m.Notes); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	if m.Kind != message.Mixed {
		t.Errorf("kind %v, want mixed", m.Kind)
	}
}

func TestLongestRun(t *testing.T) {
	for text, want := range map[string]int{"": 0, "a": 0, "`": 1, "a``b`": 2, "`~``~```": 3, "``\n````": 4, "~~~~~": 0} {
		if got := message.LongestRun(text, '`'); got != want {
			t.Errorf("LongestRun(%q) = %d, want %d", text, got, want)
		}
	}
}
