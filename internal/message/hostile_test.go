package message_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"runpython/internal/extent"
	"runpython/internal/message"
)

const mebibyte = 1 << 20

// hostileTexts returns texts of about size bytes that are meant to make a reader slow.
func hostileTexts(size int) map[string]string {
	fill := func(s string) string { return strings.Repeat(s, 1+size/len(s)) }
	half := func(s string) string { return strings.Repeat(s, 1+size/2/len(s)) }
	return map[string]string{
		"MSG-13 fences":          fill("```\n"),
		"MSG-13 stars":           fill("*"),
		"MSG-13 links":           fill("[a]("),
		"backticks":              fill("`"),
		"backtick runs":          fill("` `` ``` "),
		"python fences":          fill("```python\n"),
		"open strings":           fill("```python\nx = '''\n```\n"),
		"open strings, closed":   fill("```python\nx = '''\n```\n") + "'''\n",
		"tilde fences":           fill("~~~x\n```\n"),
		"nested quotes":          fill("> "),
		"nested lists":           half("- ") + half("\n"),
		"nested lists and text":  half("- ") + half("x\n"),
		"nested list, fences":    strings.Repeat("- ", 40) + "\n" + half("  ```\n"),
		"list items":             fill("- a\n"),
		"empty items":            fill("-\n"),
		"numbers":                fill("1. "),
		"headings":               fill("# a\n"),
		"setext":                 fill("a\n=\n"),
		"blank lines":            "```\n" + fill("\n"),
		"blank lines in a list":  "- ```\n\n" + fill("\n"),
		"tabs":                   "- ```\n" + fill("\t\n"),
		"comments":               "```\n```\n" + fill("<!--\n"),
		"indented":               "```\n```\n\n" + fill("     a\n\n"),
		"words":                  fill("please run this "),
		"lines of words":         fill("a\n"),
		"quotes":                 fill("'"),
		"double quotes":          fill(`"`),
		"brackets":               fill("(["),
		"closers":                fill(")"),
		"backslashes":            fill(`\`),
		"literal breaks":         fill(`\n`),
		"literal breaks, quoted": fill(`'\n`),
		"joined lines":           fill("\\\n"),
		"f-strings":              fill(`f"{`),
		"named escapes":          `f"` + fill(`\N{`),
		"format specs":           `f"{x:` + fill(`{y:`),
		"curly quotes":           fill("“"),
		"curly pairs":            fill("“‘"),
		"mixed quotes":           fill("“'‘\""),
		"no-break spaces":        fill("x\u00a0=\u00a0"),
		"zero width":             fill("a\u200b"),
		"not UTF-8":              fill("\xff\xfe"),
		"carriage returns":       fill("\r"),
		"nulls":                  fill("\x00"),
		"prompts":                fill(">>> x\n"),
		"prompts of IPython":     fill("In [1]: x\n"),
		"magics":                 fill("%time x\n"),
		"shell":                  fill("!x \\\n"),
		"packages":               fill("!pip install a b c\n"),
		"a line of packages":     "!pip install " + fill("a "),
		"plain packages":         fill("pip install a\n"),
		"timeit options":         "%timeit " + fill("-n 1 "),
		"headers":                fill("# /// script\n# ///\n"),
		"open headers":           fill("# /// script\n#\n"),
		"a long header":          "# /// script\n" + fill("# ///\n"),
		"header arrays":          "# /// script\n# dependencies = [\n" + fill("#   'a',\n") + "# ]\n# ///\n",
		"code and prose":         "Please:\n" + half("f(x)\n") + half("is that so?\n"),
		"prose and code":         half("is that so\n") + half("f(x)\n"),
		"assignments":            fill("x = 1\n"),
		"comment lines":          fill("#\n"),
		"colons":                 fill("a: "),
	}
}

// TestReadIsLinear reads each hostile text, the reported ones at the size of the
// largest message. A reader that is not linear runs into the test's time limit.
func TestReadIsLinear(t *testing.T) {
	extent.Slow(t)
	full, quarter := hostileTexts(mebibyte), hostileTexts(mebibyte/4)
	for name, text := range quarter {
		if strings.HasPrefix(name, "MSG-13") {
			text = full[name]
		}
		t.Run(name, func(t *testing.T) {
			checkInvariants(t, text, message.Read(text))
		})
	}
}

// BenchmarkRead reads an ordinary message of each kind, and hostile ones of 1 MiB.
func BenchmarkRead(b *testing.B) {
	texts := hostileTexts(mebibyte)
	texts["ordinary bare code"] = "import math\nprint(math.pi)\n"
	texts["ordinary block"] = "Run this:\n\n```python\nimport math\nprint(math.pi)\n```\n"
	texts["ordinary question"] = "What is 17% of 2340, rounded to two digits?"
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(texts[name])))
			b.ReportAllocs()
			for b.Loop() {
				message.Read(texts[name])
			}
		})
	}
}
