package message

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// A block is a fenced code block.
type block struct {
	start, end int // the bytes of its lines in the text, fences included
	info       string
	language   language
	code       string
	use        use
	// inString is whether code, read leniently, ends inside of a string.
	inString bool

	indent int // of the opening fence
	fence  string
	closed bool
	text   strings.Builder // of what may be Python, while the block is read
}

// use is what is done with a block.
type use uint8

const (
	none   use = iota // it is not Python
	tagged            // it is Python, by its tag or its prompts
	maybe             // it names no language
)

// A document is a text with its fenced blocks in order.
type document struct {
	src    string
	blocks []*block
	// stretched is whether a block goes on after a fence that ends it for CommonMark.
	stretched bool
	// tooMany is whether there are more blocks than maxBlocks.
	tooMany bool
}

// Bounds of the block structure.
const (
	// maxBlocks is how many blocks are read. The rest of the text is prose.
	maxBlocks = 1000
	// maxNesting is how deep lists and quotes are followed.
	maxNesting = 32
	// maxLineLevels bounds lines times nesting, for each of which the parser
	// keeps some 24 bytes: texts of very many lines may nest less.
	maxLineLevels = 1 << 20
)

// parseDocument finds the fenced blocks of src, which has no carriage returns,
// as CommonMark has them. With lenient it knows two things more about a block of
// Python: a fence inside of a triple-quoted string does not end it, and a line
// outside of a string that begins with its fence does, whatever follows, since it
// cannot be Python.
func parseDocument(src string, lenient bool) document {
	doc := document{src: src}
	if !strings.Contains(src, "```") && !strings.Contains(src, "~~~") {
		return doc
	}
	source := []byte(src)
	f := &fenceParser{
		BlockParser: parser.NewFencedCodeBlockParser(),
		lenient:     lenient,
		lastSingle:  strings.LastIndex(src, "'''"),
		lastDouble:  strings.LastIndex(src, `"""`),
	}
	nesting := min(maxNesting, maxLineLevels/(1+strings.Count(src, "\n"))-1)
	newParser(f, nesting).Parse(text.NewReader(source))
	for _, b := range f.blocks {
		b.finish()
	}
	doc.blocks, doc.stretched, doc.tooMany = f.blocks, f.stretched, f.tooMany
	return doc
}

// newParser returns a parser of CommonMark's blocks. It parses no inlines and no
// link definitions, which do not change where a fence begins or ends, and of
// HTML only comments: people put fences into <details>.
func newParser(f *fenceParser, nesting int) parser.Parser {
	return parser.NewParser(parser.WithBlockParsers(
		util.Prioritized(pruned{BlockParser: parser.NewSetextHeadingParser()}, 100),
		util.Prioritized(pruned{BlockParser: parser.NewThematicBreakParser()}, 200),
		util.Prioritized(pruned{BlockParser: parser.NewListParser(), levels: 2, nesting: nesting}, 300),
		util.Prioritized(pruned{BlockParser: parser.NewListItemParser()}, 400),
		util.Prioritized(forgetful{parser.NewCodeBlockParser()}, 500),
		util.Prioritized(pruned{BlockParser: parser.NewATXHeadingParser()}, 600),
		util.Prioritized(pruned{BlockParser: f}, 700),
		util.Prioritized(pruned{BlockParser: parser.NewBlockquoteParser(), levels: 1, nesting: nesting}, 800),
		util.Prioritized(comments{forgetful{parser.NewHTMLBlockParser()}}, 900),
		util.Prioritized(forgetful{parser.NewParagraphParser()}, 1000),
	))
}

// pruned is a block parser whose blocks do not gather in the tree: only the
// fences are of use, and fenceParser holds those.
type pruned struct {
	parser.BlockParser
	levels  int // that the block and its only kind of child add to the nesting; 0 for leaves
	nesting int // the deepest that is opened
}

// Open drops the siblings that the parser does not look back at, and opens the
// block unless it would be nested too deep.
func (p pruned) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	prune(parent)
	if p.levels > 0 {
		depth := p.levels
		for n := parent.Parent(); n != nil; n = n.Parent() {
			depth++
		}
		if depth > p.nesting {
			return nil, parser.NoChildren
		}
	}
	return p.BlockParser.Open(parent, reader, pc)
}

func prune(parent ast.Node) {
	last := parent.LastChild()
	if last == nil {
		return
	}
	if before := last.PreviousSibling(); before != nil {
		parent.RemoveChild(parent, before)
	}
}

// forgetful is a parser of leaf blocks that keeps two lines of each at most.
type forgetful struct{ parser.BlockParser }

// Open opens the block.
func (f forgetful) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	prune(parent)
	return f.BlockParser.Open(parent, reader, pc)
}

// Continue takes the next line of the block.
func (f forgetful) Continue(node ast.Node, reader text.Reader, pc parser.Context) parser.State {
	state := f.BlockParser.Continue(node, reader, pc)
	if lines := node.Lines(); lines.Len() > 2 {
		lines.Set(1, lines.At(lines.Len()-1))
		lines.SetSliced(0, 2)
	}
	return state
}

// comments opens an HTML block for a comment only.
type comments struct{ parser.BlockParser }

// Open opens the block.
func (c comments) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, _ := reader.PeekLine()
	if !bytes.HasPrefix(bytes.TrimLeft(line, " "), []byte("<!--")) {
		return nil, parser.NoChildren
	}
	return c.BlockParser.Open(parent, reader, pc)
}

// fenceParser is goldmark's parser of fenced blocks which notes where they are
// and, when lenient, follows strings in Python.
type fenceParser struct {
	parser.BlockParser
	lenient    bool
	lastSingle int // position of the last ''' of the text
	lastDouble int // … and of the last """

	blocks    []*block
	open      *block // nil when it is one too many
	python    *lexer // of the open block, nil when it is not followed
	stretched bool
	tooMany   bool
}

// Open opens a block at a fence.
func (f *fenceParser) Open(parent ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, segment := reader.PeekLine()
	node, state := f.BlockParser.Open(parent, reader, pc)
	fenced, ok := node.(*ast.FencedCodeBlock)
	if !ok {
		return node, state
	}
	source, indent := reader.Source(), pc.BlockOffset()
	f.open, f.python = nil, nil
	if len(f.blocks) == maxBlocks {
		f.tooMany = true
		return node, state
	}
	b := &block{
		start:  bytes.LastIndexByte(source[:segment.Start], '\n') + 1,
		end:    segment.Stop,
		indent: indent,
		fence:  fenceOf(line[indent:]),
	}
	if fenced.Info != nil {
		b.info = string(fenced.Info.Segment.Value(source))
	}
	b.language = languageOf(b.info)
	b.text.WriteString(b.language.firstLine)
	f.blocks, f.open = append(f.blocks, b), b
	if f.lenient && b.language.python {
		f.python = &lexer{}
	}
	return node, state
}

// fenceOf returns the fence that line begins with, "" if there is none.
func fenceOf(line []byte) string {
	n := 0
	for n < len(line) && line[n] == line[0] {
		n++
	}
	if n < 3 || line[0] != '`' && line[0] != '~' {
		return ""
	}
	return string(line[:n])
}

// Continue takes the next line of the open block.
func (f *fenceParser) Continue(node ast.Node, reader text.Reader, pc parser.Context) parser.State {
	b := f.open
	if b == nil {
		return f.BlockParser.Continue(node, reader, pc)
	}
	line, segment := reader.PeekLine()
	if f.python != nil && !f.python.inside() && b.endsAt(line) {
		b.closed = true
		if opensBlock(line) {
			return parser.Close // this block was not closed, and the next begins
		}
		b.end = segment.Stop - len(afterFence(line)) // what follows the fence is prose
		reader.AdvanceToEOL()
		return parser.Close
	}
	lineOffset := reader.LineOffset()
	state := f.BlockParser.Continue(node, reader, pc)
	b.end = segment.Stop
	if state&parser.Continue == 0 {
		if !f.staysOpen(segment.Start) {
			b.closed = true
			return state
		}
		f.stretched = true
		pos, padding := util.IndentPositionPadding(line, lineOffset, segment.Padding, b.indent)
		content := text.NewSegmentPadding(segment.Start+max(pos, 0), segment.Stop, max(padding, 0))
		content.ForceNewline = true
		node.Lines().Append(content)
	}
	content := node.Lines()
	if b.language.python || b.language.untagged {
		last := content.At(content.Len() - 1)
		text := string(last.Value(reader.Source()))
		b.text.WriteString(text)
		if f.python != nil {
			f.python.line(strings.TrimSuffix(text, "\n"))
		}
	}
	content.SetSliced(0, 0)
	return parser.Continue | parser.NoChildren
}

// staysOpen reports whether the fence at the position is text of a string that
// is closed later.
func (f *fenceParser) staysOpen(pos int) bool {
	if f.python == nil {
		return false
	}
	quote, ok := f.python.insideTriple()
	if quote == '"' {
		return ok && f.lastDouble >= pos
	}
	return ok && f.lastSingle >= pos
}

// endsAt reports whether line, which is no closing fence for CommonMark, begins
// with the fence of b and goes on with something else.
func (b *block) endsAt(line []byte) bool {
	indented := bytes.TrimLeft(line, " ")
	if len(indented) == 0 || len(line)-len(indented) > 3 || indented[0] != b.fence[0] {
		return false
	}
	info := infoOf(line)
	return len(fenceOf(indented)) >= len(b.fence) && info != "" && strings.IndexByte(info, b.fence[0]) < 0
}

// opensBlock reports whether line, which begins with a fence, looks like the
// opening one of a block: it names Python, or has a word right after the fence.
func opensBlock(line []byte) bool {
	lang := languageOf(infoOf(line))
	return lang.python || lang.word && afterFence(line)[0] != ' '
}

// infoOf returns what follows the fence of line.
func infoOf(line []byte) string {
	return string(bytes.TrimSpace(afterFence(line)))
}

// afterFence returns the rest of a line that begins with a fence.
func afterFence(line []byte) []byte {
	line = bytes.TrimLeft(line, " ")
	return line[len(fenceOf(line)):]
}

// finish completes b when the document is read.
func (b *block) finish() {
	b.code = b.text.String()
	if !b.closed && b.fence[0] == '`' {
		b.code = trimFence(b.code)
	}
	b.inString = b.language.python && endsInString(b.code)
}

// trimFence drops a closing fence that stands at the end of the last line of code.
func trimFence(code string) string {
	trimmed := strings.TrimRight(code, " \t\n")
	if body := strings.TrimRight(trimmed, "`"); len(trimmed)-len(body) >= 3 {
		return body + "\n"
	}
	return code
}

// LongestRun is the length of the longest run of mark, a backtick or tilde, in text. What is to stand in a fence or
// in a code span needs marks of another length: a longer one ends nowhere in it (CommonMark 0.31, 4.5 and 6.1).
func LongestRun(text string, mark byte) int {
	most, run := 0, 0
	for i := range len(text) {
		if text[i] != mark {
			run = 0
			continue
		}
		run++
		most = max(most, run)
	}
	return most
}
