package console

import (
	"fmt"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// Bounds of what is laid out. A longer text is shown as it is; deeper blocks
// are shown no further to the right.
const (
	maxMarkdownBytes = 128 << 10
	maxNesting       = 8
	widestProse      = 100 // columns; longer lines are hard to read
)

// Markdown lays text out for a terminal of that width. Code and tables are
// never wrapped, so that output keeps its form. The text may be hostile: what a
// terminal would obey is written as Clean does. Without colours the result has no
// escape sequence at all.
func Markdown(source string, width int, colours bool) string {
	source = Clean(source)
	if len(source) > maxMarkdownBytes {
		return ended(source)
	}
	md := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList))
	p := &page{source: []byte(source), width: min(width, widestProse), colours: colours}
	p.blocks(md.Parser().Parse(text.NewReader(p.source)), "\n")
	return ended(strings.Trim(p.out.String(), "\n"))
}

// ended returns text with one newline at its end, unless it is empty.
func ended(text string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + "\n"
}

// A page is a text that is being laid out.
type page struct {
	source  []byte
	width   int
	colours bool

	out    strings.Builder
	indent string // in front of every line of the block under way
	first  string // instead of indent, in front of its first line
	depth  int    // blocks around the one under way
}

// line writes one line of a block.
func (p *page) line(text string) {
	lead := p.indent
	if p.first != "" {
		lead, p.first = p.first, ""
	}
	p.out.WriteString(strings.TrimRight(lead+text, " "))
	p.out.WriteByte('\n')
}

// room returns the columns that are left for text.
func (p *page) room() int { return max(p.width-textWidth(p.indent), 20) }

// blocks lays out the children of n with gap between them.
func (p *page) blocks(n ast.Node, gap string) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if c != n.FirstChild() && gap != "" {
			p.line("")
		}
		p.block(c)
	}
}

// block lays out one block.
func (p *page) block(n ast.Node) {
	switch n := n.(type) {
	case *ast.Heading:
		p.prose(strings.Repeat("#", n.Level)+" "+p.inline(n, bold+blue), false)
	case *ast.Paragraph, *ast.TextBlock:
		p.prose(p.inline(n, ""), true)
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		p.verbatim(n, "  ")
	case *ast.HTMLBlock:
		p.verbatim(n, "")
	case *ast.Blockquote:
		p.nested("│ ", "│ ", func() { p.blocks(n, "\n") })
	case *ast.List:
		p.list(n)
	case *ast.ThematicBreak:
		p.line(strings.Repeat("─", min(p.room(), 40)))
	case *east.Table:
		p.table(n)
	default:
		p.blocks(n, "\n")
	}
}

// nested lays out what inside does with first before its first line and rest before
// the others.
func (p *page) nested(first, rest string, inside func()) {
	indent := p.indent
	if p.depth++; p.depth <= maxNesting {
		if p.first != "" {
			p.first += first
		} else {
			p.first = indent + first
		}
		p.indent += rest
	}
	inside()
	p.depth--
	p.indent = indent
}

// list lays out a list; its items stand close together when they do so in the text.
func (p *page) list(n *ast.List) {
	gap := "\n"
	if n.IsTight {
		gap = ""
	}
	number := n.Start
	for item := n.FirstChild(); item != nil; item = item.NextSibling() {
		marker := "• "
		if n.IsOrdered() {
			marker = fmt.Sprintf("%d%c ", number, n.Marker)
			number++
		}
		if item != n.FirstChild() && gap != "" {
			p.line("")
		}
		p.nested(marker, strings.Repeat(" ", textWidth(marker)), func() {
			if p.blocks(item, gap); !item.HasChildren() {
				p.line("")
			}
		})
	}
}

// verbatim writes the lines of code or HTML as they are.
func (p *page) verbatim(n ast.Node, lead string) {
	lines := n.Lines()
	for i := range lines.Len() {
		segment := lines.At(i)
		p.line(lead + strings.TrimRight(string(segment.Value(p.source)), "\n"))
	}
	if html, ok := n.(*ast.HTMLBlock); ok && html.HasClosure() {
		p.line(lead + strings.TrimRight(string(html.ClosureLine.Value(p.source)), "\n"))
	}
	if lines.Len() == 0 {
		p.line("")
	}
}

// prose writes text, whose newlines stay, wrapped if it may be.
func (p *page) prose(text string, wrap bool) {
	for line := range strings.SplitSeq(text, "\n") {
		if !wrap {
			p.line(line)
			continue
		}
		for _, l := range wrapped(line, p.room()) {
			p.line(l)
		}
	}
}

// wrapped breaks line at spaces into pieces of at most width columns, as far as it has spaces.
func wrapped(line string, width int) []string {
	if textWidth(line) <= width {
		return []string{line}
	}
	var pieces []string
	var b strings.Builder
	used := 0
	for word := range strings.FieldsSeq(line) {
		n := textWidth(word)
		if used > 0 && used+1+n > width {
			pieces = append(pieces, b.String())
			b.Reset()
			used = 0
		}
		if used > 0 {
			b.WriteByte(' ')
			used++
		}
		b.WriteString(word)
		used += n
	}
	return append(pieces, b.String())
}

// table writes a table in aligned columns, with a rule below its head.
func (p *page) table(n *east.Table) {
	var rows [][]string
	widths := make([]int, len(n.Alignments))
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		style := ""
		if row.Kind() == east.KindTableHeader {
			style = bold
		}
		var cells []string
		for c := row.FirstChild(); c != nil && len(cells) < len(widths); c = c.NextSibling() {
			cells = append(cells, p.inline(c, style))
			widths[len(cells)-1] = max(widths[len(cells)-1], textWidth(cells[len(cells)-1]))
		}
		rows = append(rows, cells)
	}
	for i, cells := range rows {
		for j, c := range cells {
			cells[j] = aligned(c, widths[j], n.Alignments[j])
		}
		p.line(strings.Join(cells, "  "))
		if i == 0 {
			rules := make([]string, len(widths))
			for j, w := range widths {
				rules[j] = strings.Repeat("─", w)
			}
			p.line(strings.Join(rules, "  "))
		}
	}
}

// aligned fills cell up to width.
func aligned(cell string, width int, a east.Alignment) string {
	space := max(width-textWidth(cell), 0)
	left := 0
	switch a {
	case east.AlignRight:
		left = space
	case east.AlignCenter:
		left = space / 2
	case east.AlignLeft, east.AlignNone:
	}
	return strings.Repeat(" ", left) + cell + strings.Repeat(" ", space-left)
}
