package chat

import (
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// inert makes the Markdown of a model into one that fetches nothing and hides no address. A model may
// have been talked into it by what it has read: a picture, which clients fetch at once, carries
// what is in its address to whoever owns that, and so does a link that does not show where it leads. Code
// stays as it is, and so do emphasis, lists and tables.
func inert(markdown string) string {
	if !strings.ContainsAny(markdown, "]<") {
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
	return b.String()
}

// obeyed reports whether the byte of s at i makes a link, a picture, a definition of one or a tag.
func obeyed(s string, i int) bool {
	after := s[i+1:]
	switch s[i] {
	case '(', '[', ':':
		return i > 0 && (s[i-1] == ']' || s[i] == '[' && s[i-1] == '!')
	case '<':
		return beginsWord(after) || strings.IndexAny(after, "/!?") == 0
	}
	return false
}

// liveParts tells of each byte whether it is markup or text, and not code.
func liveParts(src []byte) []bool {
	live := make([]bool, len(src))
	for i := range live {
		live[i] = true
	}
	still := func(s text.Segment) {
		for i := s.Start; i < s.Stop; i++ {
			live[i] = false
		}
	}
	visit := func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			for _, line := range n.Lines().Sliced(0, n.Lines().Len()) {
				still(line)
			}
		case *ast.CodeSpan:
			for c := n.FirstChild(); c != nil; c = c.NextSibling() {
				if t, ok := c.(*ast.Text); ok {
					still(t.Segment)
				}
			}
		}
		return ast.WalkContinue, nil
	}
	_ = ast.Walk(goldmark.DefaultParser().Parse(text.NewReader(src)), visit) // visit has no errors
	return live
}
