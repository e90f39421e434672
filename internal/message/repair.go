package message

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// What chat programs put in the place of plain characters, by what a person
// calls it.
const (
	curlyQuotes    = "curly quotes"
	unusualSpaces  = "unusual spaces"
	invisible      = "invisible characters"
	wideCharacters = "full-width characters"
	mathSigns      = "typographic signs"
)

// The characters that stand for a plain one.
const (
	doubleQuotes = "\u201c\u201d\u201e\u201f\u2033\uff02"
	singleQuotes = "\u2018\u2019\u201a\u201b\u2032\uff07"
	spaces       = "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
	lineBreaks   = "\u0085\u2028\u2029"
	nothing      = "\u00ad\u180e\u200b\u200c\u200d\u2060\ufeff"
	dashes       = "\u2010\u2011\u2012\u2013\u2212"
)

// replacement returns the plain form of a character that cannot stand outside
// of a string in Python. Direction marks are not among them: what hides the
// order of code is refused by Python, and should be.
func replacement(r rune) (plain, what string) {
	switch {
	case r < utf8.RuneSelf:
		return "", ""
	case strings.ContainsRune(doubleQuotes, r):
		return `"`, curlyQuotes
	case strings.ContainsRune(singleQuotes, r):
		return `'`, curlyQuotes
	case strings.ContainsRune(spaces, r):
		return " ", unusualSpaces
	case strings.ContainsRune(lineBreaks, r):
		return "\n", unusualSpaces
	case strings.ContainsRune(nothing, r):
		return "", invisible
	case strings.ContainsRune(dashes, r):
		return "-", mathSigns
	case '\uff01' <= r && r <= '\uff5e':
		if c := r - '\uff01' + '!'; !isLetter(byte(c)) { // wide letters are letters to Python
			return string(c), wideCharacters
		}
	}
	return mathSign(r)
}

func mathSign(r rune) (plain, what string) {
	switch r {
	case '…':
		return "...", mathSigns
	case '×':
		return "*", mathSigns
	case '÷':
		return "/", mathSigns
	case '≤':
		return "<=", mathSigns
	case '≥':
		return ">=", mathSigns
	case '≠':
		return "!=", mathSigns
	}
	return "", ""
}

// repairCharacters replaces, outside of strings and comments, what chat programs
// put in the place of plain characters, and returns what that was, nothing when
// src is unchanged. What stands between curly quotes is not touched.
func repairCharacters(src string) (repaired string, what []string) {
	if isASCII(src) {
		return src, nil
	}
	r := repairer{}
	for line := range strings.Lines(src) {
		text := strings.TrimSuffix(line, "\n")
		r.line(text)
		if len(text) < len(line) {
			r.out.WriteByte('\n')
		}
	}
	return r.out.String(), r.what
}

// A repairer follows the source with a lexer to know what is inside of strings.
type repairer struct {
	lexer
	out  strings.Builder
	what []string
}

func (r *repairer) line(s string) {
	if isASCII(s) {
		r.lexer.line(s)
		r.out.WriteString(s)
		return
	}
	r.joined = false
	noCloser := "" // quotes that do not close on this line
	done := 0      // what is written
	for i := 0; i < len(s); {
		c, width := utf8.DecodeRuneInString(s[i:])
		plain, what := replacement(c)
		if what == "" {
			i += width
			continue
		}
		r.scan(s[done:i])
		r.out.WriteString(s[done:i])
		done = i
		i += width
		if r.comment || r.inside() {
			continue
		}
		r.note(what)
		r.out.WriteString(plain)
		done = i
		if what != curlyQuotes || noCloser == plain {
			r.scan(plain)
			continue
		}
		text, after, ok := cutCloser(s[i:], plain)
		if !ok {
			noCloser = plain
			continue
		}
		r.out.WriteString(text + plain)
		i = len(s) - len(after)
		done = i
	}
	r.scan(s[done:])
	r.out.WriteString(s[done:])
	r.endLine()
}

// cutCloser returns the text of a string that a curly quote opened, and what
// follows its closing quote.
func cutCloser(s, plain string) (text, after string, ok bool) {
	for i, c := range s {
		if p, what := replacement(c); what == curlyQuotes && p == plain {
			return s[:i], s[i+utf8.RuneLen(c):], true
		}
	}
	return strings.Cut(s, plain)
}

func (r *repairer) note(what string) {
	if !slices.Contains(r.what, what) {
		r.what = append(r.what, what)
	}
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// hasLiteralBreaks reports whether src is one line in which a backslash and an
// "n" stand outside of strings, as when a program was escaped once too often.
func hasLiteralBreaks(src string) bool {
	if strings.Contains(strings.TrimSpace(src), "\n") {
		return false
	}
	_, n := breakOutside(src)
	return n > 0
}

// breakOutside makes line breaks and tabs of \n and \t outside of strings, and
// returns how many breaks it made.
func breakOutside(src string) (string, int) {
	var (
		l   lexer
		out strings.Builder
		n   int
	)
	for {
		i := strings.IndexByte(src, '\\')
		if i < 0 || i+1 == len(src) {
			out.WriteString(src)
			return out.String(), n
		}
		l.scan(src[:i])
		out.WriteString(src[:i])
		pair := src[i : i+2]
		src = src[i+2:]
		switch {
		case l.inside():
			l.scan(pair)
			out.WriteString(pair)
		case pair == `\n`:
			l.endLine()
			out.WriteByte('\n')
			n++
		case pair == `\t`:
			out.WriteByte('\t')
		case pair == `\r`:
		default:
			out.WriteString(pair)
		}
	}
}

// unescape undoes one level of escaping everywhere, as a JSON decoder would.
func unescape(src string) string {
	return strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\r`, "", `\t`, "\t", `\"`, `"`, `\'`, `'`).Replace(src)
}

// unescapings returns the ways to read a text with literal breaks, the likelier
// first. A text that was escaped as a whole has \" or \\ in it.
func unescapings(src string) []string {
	outside, _ := breakOutside(src)
	all := unescape(src)
	if strings.Contains(src, `\\`) || strings.Contains(src, `\"`) {
		return []string{all, outside}
	}
	return []string{outside, all}
}

// dedentText removes the indentation of the first line if all lines have it.
func dedentText(src string) string {
	margin := marginOf(strings.TrimLeft(src, "\n"))
	if margin == "" {
		return src
	}
	var out strings.Builder
	for line := range strings.Lines(src) {
		rest, ok := strings.CutPrefix(line, margin)
		if !ok && strings.TrimSpace(line) != "" {
			return src
		}
		out.WriteString(rest)
	}
	return out.String()
}

// dedent removes the indentation of the first statement from all lines that
// have it. Python that compiles is never indented as a whole.
func dedent(src string) string {
	var margin string
	for line := range strings.Lines(src) {
		body := strings.TrimLeft(line, " \t")
		if strings.Trim(body, "\n\f") == "" || body[0] == '#' {
			continue
		}
		margin = line[:len(line)-len(body)]
		break
	}
	if margin == "" {
		return src
	}
	var out strings.Builder
	for line := range strings.Lines(src) {
		out.WriteString(strings.TrimPrefix(line, margin))
	}
	return out.String()
}
