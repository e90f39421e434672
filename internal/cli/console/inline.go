package console

import (
	"strings"

	"github.com/yuin/goldmark/ast"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"
)

// Parts of colour sequences: the sixteen colours of the terminal's own palette, which
// its owner chose to be readable.
const (
	bold      = "1;"
	italic    = "3;"
	underline = "4;"
	struck    = "9;"
	blue      = "34;"
	cyan      = "36;"
)

// inline returns the text inside a block in one style; its newlines are those of the source.
func (p *page) inline(n ast.Node, style string) string {
	var b strings.Builder
	p.spans(&b, n, style)
	return b.String()
}

// spans writes the children of n.
func (p *page) spans(b *strings.Builder, n ast.Node, style string) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		p.span(b, c, style)
	}
}

// span writes one piece of a line.
func (p *page) span(b *strings.Builder, n ast.Node, style string) {
	switch n := n.(type) {
	case *ast.Text:
		b.WriteString(p.styled(resolved(n.Segment.Value(p.source)), style))
		if n.SoftLineBreak() || n.HardLineBreak() {
			b.WriteByte('\n')
		}
	case *ast.CodeSpan:
		p.code(b, n, style)
	case *ast.Emphasis:
		if n.Level == 1 {
			p.marked(b, n, "*", style, italic)
		} else {
			p.marked(b, n, "**", style, bold)
		}
	case *east.Strikethrough:
		p.marked(b, n, "~~", style, struck)
	case *east.TaskCheckBox:
		b.WriteString(map[bool]string{true: "[x] ", false: "[ ] "}[n.IsChecked])
	case *ast.RawHTML:
		for i := range n.Segments.Len() {
			segment := n.Segments.At(i)
			b.WriteString(p.styled(string(segment.Value(p.source)), style))
		}
	default:
		p.reference(b, n, style)
	}
}

// reference writes a link or an image, or the children of anything else.
func (p *page) reference(b *strings.Builder, n ast.Node, style string) {
	switch n := n.(type) {
	case *ast.Link:
		p.spans(b, n, style)
		p.target(b, n, string(n.Destination))
	case *ast.Image:
		b.WriteString("image: ")
		p.spans(b, n, style)
		p.target(b, n, string(n.Destination))
	case *ast.AutoLink:
		b.WriteString(p.styled(string(n.Label(p.source)), underline+blue))
	default:
		p.spans(b, n, style)
	}
}

// marked writes n in one more style, or between marks when there are no colours.
func (p *page) marked(b *strings.Builder, n ast.Node, mark, style, more string) {
	if !strings.Contains(style, more) {
		style += more
	}
	if p.colours {
		mark = ""
	}
	b.WriteString(mark)
	p.spans(b, n, style)
	b.WriteString(mark)
}

// code writes a code span, in which nothing is resolved.
func (p *page) code(b *strings.Builder, n *ast.CodeSpan, style string) {
	var code strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			code.Write(t.Segment.Value(p.source))
		}
	}
	text := strings.ReplaceAll(code.String(), "\n", " ")
	if p.colours {
		b.WriteString(p.styled(text, style+cyan))
		return
	}
	b.WriteString("`" + text + "`")
}

// target writes where a link leads, which its words may belie.
func (p *page) target(b *strings.Builder, n ast.Node, destination string) {
	destination = resolved([]byte(destination))
	if only, ok := n.FirstChild().(*ast.Text); ok && only.NextSibling() == nil &&
		string(only.Segment.Value(p.source)) == destination {
		return
	}
	b.WriteString(" (" + p.styled(destination, underline+blue) + ")")
}

// styled gives each word of text the style, so that lines can be broken between them.
func (p *page) styled(text, style string) string {
	if !p.colours || style == "" {
		return text
	}
	var b strings.Builder
	for i, word := range strings.Split(text, " ") {
		if i > 0 {
			b.WriteByte(' ')
		}
		if word != "" {
			b.WriteString("\x1b[" + strings.TrimSuffix(style, ";") + "m" + word + "\x1b[0m")
		}
	}
	return b.String()
}

// resolved returns raw text with its backslash escapes and references resolved. A
// reference may name a character that a terminal obeys.
func resolved(raw []byte) string {
	raw = util.UnescapePunctuations(raw)
	raw = util.ResolveEntityNames(util.ResolveNumericReferences(raw))
	return Clean(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\r' {
			return ' '
		}
		return r
	}, string(raw)))
}
