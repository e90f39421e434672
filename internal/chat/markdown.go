package chat

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"runpython/internal/excerpt"
	"runpython/internal/message"
)

// What comes out of a guest is text to show and never markup to obey: a picture in it, which a
// client fetches at once, would be a way out for code that has no network. So it leaves in a
// fence (blocks.fence), as code (code), in cells of a table (tableText) or escaped (escaped),
// and each of them holds for every text.

const (
	// plainBytes is what the parts of a text have that are no fences: sentences, the table, notes.
	plainBytes = 24_000
	// fenceBytes is more than a fence takes beside its content and title.
	fenceBytes = 2*(longestRun+1) + 16
	// longestRun is how many backticks may follow each other in a fence, which is longer than that.
	longestRun = 64
)

// blocks builds a Markdown text of paragraphs and fenced blocks, of at most MaxTextBytes.
type blocks struct {
	parts []block
	plain int // bytes of paragraphs
	left  int // paragraphs that had no room
}

// block is a paragraph, or a title and what stands in a fence below it.
type block struct {
	title   string
	content string
	fence   string // the language of a fence, "" for a paragraph
}

func (b *blocks) empty() bool { return len(b.parts) == 0 }

// text adds Markdown, unless there is too much of it.
func (b *blocks) text(markdown string) {
	n := len(markdown) + len("\n\n")
	if b.plain+n > plainBytes {
		b.left++
		return
	}
	b.plain += n
	b.parts = append(b.parts, block{content: markdown})
}

// fence adds a title and a fenced block of plain text, unless the content is empty.
func (b *blocks) fence(title, content string) { b.fenceOf("text", title, content) }

// fenceOf is fence for a language.
func (b *blocks) fenceOf(language, title, content string) {
	if content != "" {
		b.parts = append(b.parts, block{title: title, content: breakRuns(strings.TrimSuffix(content, "\n")), fence: language})
	}
}

// notes adds sentences that are no Markdown.
func (b *blocks) notes(notes []string) {
	for _, n := range notes {
		b.text("Note: " + escaped(n))
	}
}

// String joins the parts. Where they are too much, the longest fences lose of their
// middle: all that was opened is closed.
func (b *blocks) String() string {
	foot := ""
	if b.left > 0 {
		foot = fmt.Sprintf("%d more remarks had no room here.", b.left)
	}
	room := MaxTextBytes - b.plain - len(foot)
	for _, p := range b.parts {
		if p.fence != "" {
			room -= len(p.title) + fenceBytes
		}
	}
	most := b.share(room)
	shown := make([]string, 0, len(b.parts)+1)
	for _, p := range b.parts {
		if p.fence != "" {
			shown = append(shown, p.title+"\n"+fenced(p.fence, excerpt.Middle(p.content, most)))
		} else {
			shown = append(shown, p.content)
		}
	}
	if foot != "" {
		shown = append(shown, foot)
	}
	return strings.Join(shown, "\n\n")
}

// share returns what each fence may have, so that they have room bytes together: short ones
// leave what they do not need to the others.
func (b *blocks) share(room int) int {
	var lengths []int
	for _, p := range b.parts {
		if p.fence != "" {
			lengths = append(lengths, len(p.content))
		}
	}
	slices.Sort(lengths)
	for i, n := range lengths {
		if n > room/(len(lengths)-i) {
			return room / (len(lengths) - i)
		}
		room -= n
	}
	return MaxTextBytes
}

// fenced puts content into a fence that is longer than any run of backticks in it.
func fenced(language, content string) string {
	marks := strings.Repeat("`", max(3, message.LongestRun(content, '`')+1))
	return marks + language + "\n" + content + "\n" + marks
}

// breakRuns shortens runs of more than longestRun backticks, which a fence would have to outdo.
func breakRuns(s string) string {
	if message.LongestRun(s, '`') <= longestRun {
		return s
	}
	var b strings.Builder
	for s != "" {
		rest := strings.TrimLeft(s, "`")
		run := len(s) - len(rest)
		b.WriteString(s[:min(run, longestRun)])
		if run > longestRun {
			fmt.Fprintf(&b, "… %d more backticks …", run-longestRun)
		}
		next := strings.IndexByte(rest, '`')
		if next < 0 {
			next = len(rest)
		}
		b.WriteString(rest[:next])
		s = rest[next:]
	}
	return b.String()
}

// shownPath is what a text shows of a path.
const shownPath = 200

// shortPath is a path within a line.
func shortPath(path string) string {
	if len(path) <= shownPath {
		return path
	}
	return excerpt.Head(path, shownPath/2) + "…" + excerpt.Tail(path, shownPath/2)
}

// code marks text as code within a line, whatever characters it has.
func code(s string) string {
	s = strings.Map(printable, s)
	marks := strings.Repeat("`", message.LongestRun(s, '`')+1)
	if len(marks) > 1 {
		return marks + " " + s + " " + marks
	}
	return marks + s + marks
}

// printable is what stands for a character within a line.
func printable(r rune) rune {
	switch {
	case r == '\n', r == '\t':
		return ' '
	case r < ' ', r == 0x7f:
		return utf8.RuneError
	}
	return r
}

// escaped makes a line of text into Markdown that shows it, as long as it does not begin the
// line. Backslashes stand where a renderer would see markup; elsewhere a model reads the
// text as it is. A closing bracket without an opening one is nothing. An address that a client
// makes a link of by itself stays: it says where it leads, and nothing is fetched for it.
func escaped(s string) string {
	s = strings.Map(printable, s)
	if !strings.ContainsAny(s, "\\`*_[<&~|!") {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	for i := range len(s) {
		if marksUp(s, i) {
			b.WriteByte('\\')
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// marksUp reports whether the byte of s at i has to be escaped.
func marksUp(s string, i int) bool {
	before, after := s[:i], s[i+1:]
	switch s[i] {
	case '\\', '`', '*', '[', '~', '|':
		return true
	case '_': // within a word it is none
		return !endsInWord(before) || !beginsWord(after)
	case '<': // a tag, a comment, an address
		return beginsWord(after) || strings.IndexAny(after, "/!?") == 0
	case '&':
		return beginsWord(after) || strings.HasPrefix(after, "#")
	case '!':
		return strings.HasPrefix(after, "[")
	}
	return false
}

func beginsWord(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}

func endsInWord(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(s)
	return unicode.IsLetter(r) || unicode.IsDigit(r)
}
