package message

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// kind is the class of a token.
type kind uint8

const (
	identifier kind = iota // a name that is no hard keyword
	reserved               // a hard keyword, True, False and None included
	number
	literal   // a string, seen at its opening quote
	formatted // an f-string or t-string
	operator
	notebook // a line that begins with ! or %, or one that asks for packages
	stray    // a character that cannot stand outside of a string
)

// A token is a piece of one physical line.
type token struct {
	text   string // of a string, its prefix and first quote
	kind   kind
	spaced bool // white space stands before it
}

func (t token) is(k kind, text string) bool { return t.kind == k && t.text == text }

// isOp reports whether t is one of some operators.
func (t token) isOp(ops ...string) bool { return t.kind == operator && slices.Contains(ops, t.text) }

func (t token) opens() bool  { return t.isOp("(", "[", "{") }
func (t token) closes() bool { return t.isOp(")", "]", "}") }

// maxLineTokens is how many tokens of a line are kept to tell what it is.
const maxLineTokens = 1024

// A lexer splits Python source into tokens, one physical line at a time, in
// linear time. It accepts a superset of Python's tokens and goes on after a
// fault, so it can be run over prose.
//
// Tokens inside the replacement fields of an f-string are followed but not
// reported.
type lexer struct {
	tokens   []token  // of the line, at most maxLineTokens
	check    *checker // takes all tokens; or nil
	frames   []frame  // open strings and replacement fields, the innermost last
	brackets []byte   // the closers that open brackets wait for
	joined   bool     // the last line ended in a backslash
	spaced   bool     // white space was seen since the last token
	escaped  bool     // a backslash ends the line inside of a string
	comment  bool     // the rest of the line is a comment
	shell    bool     // the last line was a notebook line that ended in a backslash
	fault    bool     // what was read cannot be Python
}

// fresh reports whether the next line begins a statement.
func (l *lexer) fresh() bool {
	return len(l.frames) == 0 && len(l.brackets) == 0 && !l.joined && !l.shell
}

// inside reports whether the position is in the text of a string.
func (l *lexer) inside() bool {
	n := len(l.frames)
	return n > 0 && l.frames[n-1].mode != fieldMode
}

// insideTriple reports whether the position is in the text of a triple-quoted
// string, and which quote ends it.
func (l *lexer) insideTriple() (quote byte, ok bool) {
	n := len(l.frames)
	if n == 0 || l.frames[n-1].mode != textMode || !l.frames[n-1].triple {
		return 0, false
	}
	return l.frames[n-1].quote, true
}

// line reads one physical line, given without its line break, and returns its
// first tokens, which are valid until the next call.
func (l *lexer) line(s string) []token {
	l.tokens, l.spaced, l.comment = l.tokens[:0], false, false
	if l.shell || l.fresh() && isNotebookLine(s) {
		if !l.shell {
			l.emit(notebook, strings.TrimSpace(s))
		}
		l.shell = strings.HasSuffix(s, `\`)
		return l.tokens
	}
	l.joined = false
	l.scan(s)
	l.endLine()
	return l.tokens
}

// scan reads a part of a line.
func (l *lexer) scan(s string) {
	for i := 0; i < len(s) && !l.comment; {
		switch n := len(l.frames); {
		case n == 0:
			i = l.outside(s, i)
		case l.frames[n-1].mode == fieldMode:
			i = l.field(s, i)
		default:
			i = l.text(s, i)
		}
	}
}

func (l *lexer) endLine() {
	l.comment = false
	if l.escaped {
		l.escaped = false
		return
	}
	if n := len(l.frames); n > 0 && l.frames[n-1].mode != fieldMode && !l.frames[n-1].triple {
		l.fault = true
		l.frames = l.frames[:0]
	}
}

func (l *lexer) emit(k kind, text string) {
	t := token{kind: k, text: text, spaced: l.spaced}
	if l.check != nil {
		l.check.token(t)
	}
	if len(l.tokens) < maxLineTokens {
		l.tokens = append(l.tokens, t)
	}
	l.spaced = false
}

// outside reads one token that begins at s[i], outside of strings, and
// returns where it ends.
func (l *lexer) outside(s string, i int) int {
	switch c := s[i]; {
	case c == ' ' || c == '\t' || c == '\f':
		l.spaced = true
		return i + 1
	case c == '#':
		l.comment = true
		return len(s)
	case c == '\\' && i == len(s)-1:
		l.joined = true
		return len(s)
	case isQuote(c):
		return l.open(s, i, i)
	case isDigit(c) || c == '.' && i+1 < len(s) && isDigit(s[i+1]):
		end := numberEnd(s, i)
		l.emit(number, s[i:end])
		return end
	}
	if end := nameEnd(s, i); end > i {
		return l.name(s, i, end)
	}
	return l.operator(s, i)
}

// name emits the name s[i:end], or the string that it is the prefix of.
func (l *lexer) name(s string, i, end int) int {
	word := s[i:end]
	switch {
	case end < len(s) && isQuote(s[end]) && isStringPrefix(word):
		return l.open(s, i, end)
	case isReserved(word):
		l.emit(reserved, word)
	default:
		l.emit(identifier, word)
	}
	return end
}

func (l *lexer) operator(s string, i int) int {
	text := operatorAt(s, i)
	if text == "" {
		_, width := utf8.DecodeRuneInString(s[i:])
		l.fault = true
		l.emit(stray, s[i:i+width])
		return i + width
	}
	switch c := text[0]; {
	case len(text) > 1:
	case isOpener(c):
		l.brackets = append(l.brackets, closerOf(c))
	case isCloser(c):
		if n := len(l.brackets); n > 0 && l.brackets[n-1] == c {
			l.brackets = l.brackets[:n-1]
		} else {
			l.fault = true
		}
	}
	l.emit(operator, text)
	return i + len(text)
}

func isOpener(c byte) bool { return c == '(' || c == '[' || c == '{' }

func isCloser(c byte) bool { return c == ')' || c == ']' || c == '}' }

func isQuote(c byte) bool { return c == '"' || c == '\'' }

func closerOf(c byte) byte {
	switch c {
	case '(':
		return ')'
	case '[':
		return ']'
	}
	return '}'
}

// operatorAt returns the longest operator at s[i], "" if there is none.
func operatorAt(s string, i int) string {
	for n := min(3, len(s)-i); n > 1; n-- {
		switch s[i : i+n] {
		case "...", "**=", "//=", "<<=", ">>=",
			"**", "//", "<<", ">>", "<=", ">=", "==", "!=", "->", ":=",
			"+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "@=":
			return s[i : i+n]
		}
	}
	if strings.IndexByte("+-*/%@&|^~<>()[]{},:.;=", s[i]) >= 0 {
		return s[i : i+1]
	}
	return ""
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// numberEnd returns where the number that begins at s[i] ends. A keyword may
// follow without white space, as in "1if x else 2".
func numberEnd(s string, i int) int {
	if s[i] == '0' && i+1 < len(s) {
		switch s[i+1] | 0x20 {
		case 'x':
			return runOf(s, i+2, isHexDigit)
		case 'o', 'b':
			return runOf(s, i+2, isDigit)
		}
	}
	i = runOf(s, i, isDigit)
	if i < len(s) && s[i] == '.' {
		i = runOf(s, i+1, isDigit)
	}
	i = exponentEnd(s, i)
	if i < len(s) && s[i]|0x20 == 'j' {
		i++
	}
	return i
}

func isHexDigit(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// exponentEnd returns where the exponent at s[i] ends, i if there is none.
func exponentEnd(s string, i int) int {
	if i >= len(s) || s[i]|0x20 != 'e' {
		return i
	}
	j := i + 1
	if j < len(s) && (s[j] == '+' || s[j] == '-') {
		j++
	}
	if j < len(s) && isDigit(s[j]) {
		return runOf(s, j, isDigit)
	}
	return i
}

// runOf returns the end of the run of digits and underscores from s[i] on.
func runOf(s string, i int, digit func(byte) bool) int {
	for i < len(s) && (s[i] == '_' || digit(s[i])) {
		i++
	}
	return i
}

// nameEnd returns the end of the name that begins at s[i], i if there is none.
func nameEnd(s string, i int) int {
	start := i
	for i < len(s) {
		if c := s[i]; c < utf8.RuneSelf {
			if !isLetter(c) && c != '_' && (i == start || !isDigit(c)) {
				return i
			}
			i++
			continue
		}
		r, width := utf8.DecodeRuneInString(s[i:])
		if !inName(r) {
			return i
		}
		i += width
	}
	return i
}

// inName reports whether r can be part of a name. It accepts more than Python,
// also characters that are newer than Go's tables.
func inName(r rune) bool {
	if unicode.In(r, unicode.Other_ID_Start, unicode.Other_ID_Continue, unicode.Pc) {
		return true
	}
	return r != utf8.RuneError && !unicode.In(r, unicode.Z, unicode.P, unicode.S, unicode.C)
}

func isStringPrefix(s string) bool {
	switch strings.ToLower(s) {
	case "r", "b", "u", "f", "t", "br", "rb", "fr", "rf", "tr", "rt":
		return true
	}
	return false
}

func isReserved(s string) bool {
	switch s {
	case "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class",
		"continue", "def", "del", "elif", "else", "except", "finally", "for", "from", "global",
		"if", "import", "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return",
		"try", "while", "with", "yield":
		return true
	}
	return false
}
