package console_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"runpython/internal/cli/console"
)

func TestClean(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"plain", "a\tb\nc é 你好 👩‍🔬\n", "a\tb\nc é 你好 👩‍🔬\n"},
		{"OUT-10 title, erase, direction", "\x1b]0;owned\x07\x1b[2J\u202eabc", `\x1b]0;owned\x07\x1b[2J\u202eabc`},
		{"colours go", "\x1b[1;31mred\x1b[0m \x1b[38:5:3mx\x1b[m", "red x"},
		{"colour without end", "\x1b[31", `\x1b[31`},
		{"colour with other bytes", "\x1b[3 q\x1b[?25l", `\x1b[3 q\x1b[?25l`},
		{"8-bit controls", "\u009b2J\u0090q\u009c", `\x9b2J\x90q\x9c`},
		{"progress bar", "start\n 10%\r 50%\r100%\nend", "start\n100%\nend"},
		{"windows lines", "a\r\nb\r\n", "a\nb\n"},
		{"carriage return at the end", "abc\r", "abc"},
		{"backspace, bell, null, delete", "a\bb\ac\x00d\x7f", `a\x08b\x07c\x00d\x7f`},
		{"invalid UTF-8", "a\xff\xc3b", "a\uFFFD\uFFFDb"},
		{"line separator and tags", "a\u2028b\U000E0041", `a\u2028b\U000e0041`},
		{"shift out", "\x0e", `\x0e`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := console.Clean(tt.in); got != tt.want {
				t.Errorf("Clean(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
}

// safe fails when a terminal would obey anything in text.
func safe(t *testing.T, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("%q is not UTF-8", text)
	}
	for _, r := range text {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) {
			t.Fatalf("%q has %U", text, r)
		}
	}
}

func FuzzClean(f *testing.F) {
	for _, seed := range []string{"\x1b[31m", "a\rb\r\nc", "\x1b\x1b[m[2J", "\xff\u202e", "x\x1b[0\r1mab"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		once := console.Clean(text)
		safe(t, once)
		if twice := console.Clean(once); twice != once {
			t.Errorf("Clean(%q) = %q, and again %q", text, once, twice)
		}
	})
}

func TestMarkdown(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"heading and prose", "# Title\n\nHi *you* **there** `x` ~~no~~\nnext line\n", "# Title\n\nHi *you* **there** `x` ~~no~~\nnext line\n"},
		{"code is never wrapped", "```python\nx = 1  # a long line that has no place\n\n  y\n```", "  x = 1  # a long line that has no place\n\n    y\n"},
		{"prose is wrapped", "one two three four five six seven eight", "one two three four five six\nseven eight\n"},
		{"lists", "1. a\n2. b\n   - c\n\n     more\n- [x] done", "1. a\n2. b\n   • c\n\n     more\n\n• [x] done\n"},
		{"quote", "> a\n> b\n>\n> c", "│ a\n│ b\n│\n│ c\n"},
		{"table", "| name | n |\n|:--|--:|\n| a | 10 |\n| 你好 | 2 |", "name   n\n────  ──\na     10\n你好   2\n"},
		{"link that lies", "[http://good](http://evil)", "http://good (http://evil)\n"},
		{"link that does not", "[http://a](http://a) <http://b>", "http://a http://b\n"},
		{"image", "![plot](fig.png)", "image: plot (fig.png)\n"},
		{"escapes and references", `\*a\* &lt;b&gt; &amp;`, "*a* <b> &\n"},
		{"OUT-10 reference to a control", "&#27;[2J &#x202e;x &#13;y", `\x1b[2J \u202ex  y` + "\n"},
		{"OUT-10 in code", "```\n\x1b]0;owned\x07\n```", `  \x1b]0;owned\x07` + "\n"},
		{"html", "<b>x</b>\n\n<div>\ny\n</div>", "<b>x</b>\n\n<div>\ny\n</div>\n"},
		{"rule", "a\n\n---\n\nb", "a\n\n──────────────────────────────\n\nb\n"},
		{"empty", "", ""},
		{"empty fence", "```\n```\n", ""},
		{"no end of a fence", "```\nprint(1)\n", "  print(1)\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := console.Markdown(tt.in, 30, false); got != tt.want {
				t.Errorf("Markdown(%q) = %q, want %q", tt.in, got, tt.want)
			}
		})
	}
	t.Run("colours", func(t *testing.T) {
		const want = "# \x1b[1;34mT\x1b[0m\n\n\x1b[1mb\x1b[0m \x1b[3mi\x1b[0m \x1b[3;1mbi\x1b[0m \x1b[36mc\x1b[0m\n"
		if got := console.Markdown("# T\n\n**b** *i* ***bi*** `c`", 30, true); got != want {
			t.Errorf("Markdown = %q, want %q", got, want)
		}
	})
}

// Text that is made to be slow, deep or wide is laid out all the same.
func TestMarkdownBounds(t *testing.T) {
	for name, text := range map[string]string{
		"quotes": strings.Repeat(">", 5000) + "x", "lists": strings.Repeat("- ", 2000) + "x",
		"brackets": strings.Repeat("[", 20000), "emphasis": strings.Repeat("*a _b ", 5000),
		"wide table": strings.Repeat("a|", 2000) + "\n" + strings.Repeat("-|", 2000) + "\n" + strings.Repeat("x|", 2000),
		"long":       strings.Repeat("# x\n", 100_000),
	} {
		if got := console.Markdown(text, 80, false); got == "" || len(got) > 4*len(text)+100 {
			t.Errorf("%s: %d bytes became %d", name, len(text), len(got))
		}
	}
}

func FuzzMarkdown(f *testing.F) {
	for _, seed := range []string{"# a\n- b\n  > c\n", "|a|\n|-|\n|&#27;|\n", "[a](b \"c\") ![d][e]\n\n[e]: f", "1) x\n\n   ```\ny", "<!-- x\n-->", "a\\\nb  \nc"} {
		f.Add(seed, 20)
	}
	f.Fuzz(func(t *testing.T, text string, width int) {
		safe(t, console.Markdown(text, width, false))
	})
}
