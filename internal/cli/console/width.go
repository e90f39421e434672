package console

import (
	"unicode"
	"unicode/utf8"
)

// columns returns how many columns of a terminal r takes.
func columns(r rune) int {
	switch {
	case r < 0x300:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case wide(r):
		return 2
	}
	return 1
}

// wide tells whether r is of those blocks whose characters take two columns: East
// Asian scripts and signs, full-width forms, emoji.
func wide(r rune) bool {
	switch {
	case r < 0x1100:
		return false
	case r <= 0x115F, r >= 0x2E80 && r <= 0xA4CF, r >= 0xAC00 && r <= 0xD7A3, r >= 0xF900 && r <= 0xFAFF:
		return true
	case r >= 0xFE30 && r <= 0xFE6F, r >= 0xFF00 && r <= 0xFF60, r >= 0xFFE0 && r <= 0xFFE6:
		return true
	}
	return r >= 0x1F300 && r <= 0x1FAFF || r >= 0x20000 && r <= 0x3FFFD
}

// textWidth returns the columns that text takes, colour sequences not counted.
func textWidth(text string) int {
	n := 0
	for i := 0; i < len(text); {
		if skip := colour(text[i:]); skip > 0 {
			i += skip
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		n += columns(r)
		i += size
	}
	return n
}

// cut returns the longest beginning of line that takes at most width columns.
func cut(line string, width int) string {
	used := 0
	for i, r := range line {
		if used += columns(r); used > width {
			return line[:i]
		}
	}
	return line
}
