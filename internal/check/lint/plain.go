package lint

import (
	"fmt"
	"strings"
	"unicode"
)

// Plain returns a text of others in one line as any place may show it: valid UTF-8, in which what controls a terminal, turns the
// direction of text or is not seen is written as its code (U+202E).
func Plain(text string) string {
	if !strings.ContainsFunc(text, disturbs) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case r == '\n' || r == '\t' || r == '\r':
			b.WriteByte(' ')
		case disturbs(r):
			fmt.Fprintf(&b, "<U+%04X>", r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// disturbs reports whether a character is more than itself, or cannot be seen. Bytes that are no UTF-8 count as such a character; the
// selectors of forms that emoji have do not.
func disturbs(r rune) bool {
	emojiForm := r >= 0xFE00 && r <= 0xFE0F
	return r == unicode.ReplacementChar || unicode.IsControl(r) || unseen(r) && !emojiForm || r == '\u2028' || r == '\u2029'
}
