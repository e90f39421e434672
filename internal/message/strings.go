package message

import "strings"

// maxNameBytes is more than the longest \\N{name} of a character takes.
const maxNameBytes = 128

// mode says what a frame of the lexer is in.
type mode uint8

const (
	textMode  mode = iota // the text of a string
	fieldMode             // the expression in a replacement field of an f-string
	specMode              // the format after the colon of a replacement field
)

// A frame is an open string or an open replacement field. A field carries the
// quotes of its string.
type frame struct {
	mode   mode
	quote  byte
	triple bool
	raw    bool
	format bool
	depth  int // of a field, its open brackets
}

// open begins the string whose prefix is s[i:quote] and returns the position
// of its text.
func (l *lexer) open(s string, i, quote int) int {
	f := frame{quote: s[quote]}
	for _, c := range []byte(s[i:quote]) {
		switch c | 0x20 {
		case 'r':
			f.raw = true
		case 'f', 't':
			f.format = true
		}
	}
	end := quote + 1
	if strings.HasPrefix(s[quote:], tripled(f.quote)) {
		f.triple = true
		end = quote + 3
	}
	if len(l.frames) == 0 {
		k := literal
		if f.format {
			k = formatted
		}
		l.emit(k, s[i:quote+1])
	}
	l.frames = append(l.frames, f)
	return end
}

func tripled(quote byte) string {
	if quote == '"' {
		return `"""`
	}
	return "'''"
}

// text reads the text of a string, or a format, from s[i] until that ends or a
// replacement field begins.
func (l *lexer) text(s string, i int) int {
	n := len(l.frames)
	f := l.frames[n-1]
	for ; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\\':
			i += l.escape(s, i, f)
		case c == f.quote && (!f.triple || strings.HasPrefix(s[i:], tripled(c))):
			l.frames = l.frames[:n-1]
			if f.mode == specMode { // the string ends inside of its own field
				l.fault = true
				l.frames = l.frames[:n-2]
			}
			if f.triple {
				return i + 3
			}
			return i + 1
		case c == '{' && f.format:
			if f.mode == textMode && i+1 < len(s) && s[i+1] == '{' {
				i++
				continue
			}
			l.frames = append(l.frames, frame{mode: fieldMode, quote: f.quote, triple: f.triple, raw: f.raw, format: true})
			return i + 1
		case c == '}' && f.mode == specMode:
			l.frames = l.frames[:n-1]
			return i + 1
		}
	}
	return i
}

// escape returns how many bytes the backslash at s[i] takes with it. A brace
// that begins a field cannot be escaped.
func (l *lexer) escape(s string, i int, f frame) int {
	if i+1 == len(s) {
		l.escaped = true
		return 0
	}
	switch c := s[i+1]; {
	case f.format && (c == '{' || c == '}'):
		return 0
	case f.format && !f.raw && c == 'N' && i+2 < len(s) && s[i+2] == '{':
		if end := strings.IndexByte(s[i:min(len(s), i+maxNameBytes)], '}'); end > 0 {
			return end
		}
	}
	return 1
}

// field reads the expression in a replacement field from s[i] until it ends or
// a string begins in it.
func (l *lexer) field(s string, i int) int {
	f := &l.frames[len(l.frames)-1]
	for i < len(s) {
		switch c := s[i]; {
		case c == '#':
			l.comment = true
			return len(s)
		case c == '}' && f.depth == 0:
			l.frames = l.frames[:len(l.frames)-1]
			return i + 1
		case c == ':' && f.depth == 0:
			f.mode = specMode
			return i + 1
		case isOpener(c):
			f.depth++
		case isCloser(c):
			f.depth = max(0, f.depth-1)
		}
		end := nameEnd(s, i)
		if quote := min(end, len(s)-1); isQuote(s[quote]) && (end == i || isStringPrefix(s[i:end])) {
			return l.open(s, i, quote)
		}
		i = max(end, i+1)
	}
	return i
}
