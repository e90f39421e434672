package console

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean returns text as a terminal may safely have it: valid UTF-8 in which only
// newline and tab control anything. Colours are dropped; any other control or
// direction character is written as its escape (\x1b, \u202e). Where a carriage
// return would let a line be overwritten, what was written last stays.
func Clean(text string) string {
	if harmless(text) {
		return text
	}
	b := make([]byte, 0, len(text))
	line := 0 // where the current line begins in b
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == '\n':
			b = append(b, '\n')
			line = len(b)
		case r == '\r':
			if next := i + n; next < len(text) && text[next] != '\n' && text[next] != '\r' {
				b = b[:line]
			}
		case r == '\x1b' && colour(text[i:]) > 0:
			n = colour(text[i:])
		case obeyed(r):
			b = append(b, escape(r)...)
		default:
			b = utf8.AppendRune(b, r)
		}
		i += n
	}
	return string(b)
}

// harmless is the quick answer for most text: it may stay as it is.
func harmless(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, obeyed)
}

// obeyed tells whether a terminal, or the eye, takes r for more than a character:
// controls but newline and tab, direction and line controls, invisible tags.
func obeyed(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r >= 0xE0000 && r <= 0xE007F, r == '\u2028', r == '\u2029':
		return true
	}
	return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
}

func escape(r rune) string {
	switch {
	case r < 0x100:
		return fmt.Sprintf(`\x%02x`, r)
	case r < 0x10000:
		return fmt.Sprintf(`\u%04x`, r)
	}
	return fmt.Sprintf(`\U%08x`, r)
}

// colour returns the length of the colour sequence (SGR) at the start of text, or 0.
func colour(text string) int {
	const longest = 64
	if !strings.HasPrefix(text, "\x1b[") {
		return 0
	}
	for i := 2; i < len(text) && i < longest; i++ {
		switch c := text[i]; {
		case c == 'm':
			return i + 1
		case c != ';' && c != ':' && (c < '0' || c > '9'):
			return 0
		}
	}
	return 0
}
