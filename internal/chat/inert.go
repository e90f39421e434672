package chat

import (
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"runpython/internal/message"
)

// inert makes the Markdown of a model into one that fetches nothing and hides no address, and that ends the
// blocks that it begins. A model may have been talked into it by what it has read: a picture, which clients
// fetch at once, carries what is in its address to whoever owns that, and so does a link that does not show
// where it leads; a fence that is left open would make the fences of what follows the markup around it.
// Code stays as it is, and so do emphasis, lists and tables.
func inert(markdown string) string {
	if !strings.ContainsAny(markdown, "]<") && !strings.Contains(markdown, "```") && !strings.Contains(markdown, "~~~") {
		return markdown
	}
	src := []byte(markdown)
	live := liveParts(src)
	var b strings.Builder
	b.Grow(len(src) + 16)
	for i := range src {
		if live[i] && obeyed(markdown, i) {
			b.WriteByte('\\')
		}
		b.WriteByte(src[i])
	}
	return closed(b.String())
}

// obeyed reports whether the byte of s at i makes a link, a picture, a definition of one or a tag.
func obeyed(s string, i int) bool {
	before, after := s[:i], s[i+1:]
	switch s[i] {
	case '(', '[', ':':
		return strings.HasSuffix(before, "]") || s[i] == '[' && strings.HasSuffix(before, "!")
	case '<':
		// One more backslash would take the one that is there away from it.
		escaped := (len(before)-len(strings.TrimRight(before, `\`)))%2 == 1
		return !escaped && (beginsWord(after) || strings.IndexAny(after, "/!?") == 0)
	}
	return false
}

// closed returns text with an end to the fence that is open where it ends.
func closed(text string) string {
	isOpen := func(text string) bool {
		live := liveParts([]byte(text + "\n\nx"))
		return !live[len(live)-1]
	}
	if !isOpen(text) {
		return text
	}
	for _, mark := range []byte("`~") {
		end := text + "\n" + strings.Repeat(string(mark), max(3, message.LongestRun(text, mark)))
		if !isOpen(end) {
			return end
		}
	}
	return fenced("text", breakRuns(text)) // no reader is known that comes here
}

// liveParts tells of each byte whether it is markup or text, and not code. What some readers take for code
// and others do not is live.
func liveParts(src []byte) []bool {
	live := make([]bool, len(src))
	for _, read := range codeReaders() {
		still := make([]bool, len(src))
		markCode(read.Parse(text.NewReader(src)), still)
		for i := range live {
			live[i] = live[i] || !still[i]
		}
	}
	return live
}

// codeReaders read Markdown as clients do that have tables and as those do that have none. They know
// no links and no HTML: inert leaves none of these, and what seems to be code in the title of a link, or a
// part of an HTML block, must be judged by what it becomes.
func codeReaders() []parser.Parser {
	blocks := parser.WithBlockParsers(slices.DeleteFunc(parser.DefaultBlockParsers(), func(v util.PrioritizedValue) bool {
		return v.Value == parser.NewHTMLBlockParser()
	})...)
	code := parser.WithInlineParsers(util.Prioritized(parser.NewCodeSpanParser(), 100))
	return []parser.Parser{
		parser.NewParser(blocks, code),
		parser.NewParser(blocks, code, parser.WithParagraphTransformers(util.Prioritized(extension.NewTableParagraphTransformer(), 200))),
	}
}

// markCode notes the bytes of code below n.
func markCode(n ast.Node, still []bool) {
	mark := func(s text.Segment) {
		for i := s.Start; i < s.Stop; i++ {
			still[i] = true
		}
	}
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // it has no errors
		switch n := n.(type) {
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			for _, line := range n.Lines().Sliced(0, n.Lines().Len()) {
				mark(line)
			}
		case *ast.CodeSpan:
			for c := n.FirstChild(); c != nil; c = c.NextSibling() {
				if t, ok := c.(*ast.Text); ok {
					mark(t.Segment)
				}
			}
		}
		return ast.WalkContinue, nil
	})
}
