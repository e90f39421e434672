package message_test

import (
	"testing"

	"runpython/internal/message"
)

// TestLone has what people type to see a variable, which is prose as long as
// somebody reads prose.
func TestLone(t *testing.T) {
	for text, want := range map[string]string{
		"x": "x", " x\n": "x", "`x`": "x", "x, y": "x, y", "(x, [y])": "(x, [y])", "{'a': x}": "{'a': x}",
		"42": "42", "-5": "-5", "None": "None", "'quoted'": "'quoted'", "x # a comment": "x # a comment", "äöü": "äöü",
		"hello": "hello", "hello, world": "hello, world",
		"x\ny": "x\ny", "# both\nx\n\ny # too": "# both\nx\n\ny # too", "x;": "x;", "[1,2,3];": "[1,2,3];", "x; y": "x; y", "[x,\n y]": "[x,\n y]", "  x\n  y": "x\ny",
		"```\nx\n```": "x", "```\n# what is it?\nx\n```\n": "# what is it?\nx", "~~~\n  x\n  y;\n~~~": "x\ny;", "```\nx\n```\n\n```\ny": "x\n\ny",
	} {
		m := message.Read(text)
		if m.Lone != want || m.Kind != message.Prose || m.Candidates != nil {
			t.Errorf("Read(%q) is %v with lone %q and candidates %q, want prose with lone %q and none", text, m.Kind, m.Lone, codes(m), want)
		}
	}
	for _, text := range []string{
		"", "hello world", "Note: this", "x: int", "yes!", "Why?", "# Heading", "pass", "x; pass", "x\npass", "x\n  y", "1.2.3", "x = 1", "x.y", "f(x)", "x + 1",
		"```python\nx\n```", "```text\nx\n```", "Look:\n```\nx\n```", "```\nx\n```\n```json\nx\n```", "```\nhello world\n```", "```\n```", "'''x", "(x", "What is x?", "%%bash\nx",
	} {
		if m := message.Read(text); m.Lone != "" {
			t.Errorf("Read(%q) has lone %q, want none", text, m.Lone)
		}
	}
}
