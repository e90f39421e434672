package mcpserver

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"runpython/internal/excerpt"
)

// visible returns s with the characters that a terminal or a text view would
// obey instead of showing replaced by signs for them: control characters except
// tab and newline by their control pictures (␛ for escape), C1 controls and
// those that override the direction of text by their code in brackets. A
// carriage return before a newline is dropped.
func visible(s string) string {
	first := strings.IndexFunc(s, obeyed)
	if first < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s) + 16)
	b.WriteString(s[:first])
	for i, r := range s[first:] {
		switch {
		case !obeyed(r):
			b.WriteRune(r)
		case r == '\r' && strings.HasPrefix(s[first+i:], "\r\n"):
		case r < 0x20:
			b.WriteRune(0x2400 + r)
		case r == 0x7f:
			b.WriteRune('␡')
		default:
			fmt.Fprintf(&b, "<U+%04X>", r)
		}
	}
	return b.String()
}

// obeyed reports whether r changes how the text around it is shown.
func obeyed(r rune) bool {
	switch {
	case r < 0x20:
		return r != '\n' && r != '\t'
	case r < 0x7f:
		return false
	case r <= 0x9f: // delete and the C1 controls
		return true
	}
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// encodedLen is the number of bytes that s takes inside a JSON string as
// encoding/json writes it, which spells some characters with six.
func encodedLen(s string) int {
	n := 0
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		n += encodedRuneLen(r, size)
		i += size
	}
	return n
}

func encodedRuneLen(r rune, size int) int {
	switch {
	case r == '"', r == '\\', r == '\n', r == '\r', r == '\t', r == '\b', r == '\f':
		return 2
	case r < 0x20, r == '<', r == '>', r == '&', r == 0x2028, r == 0x2029, r == utf8.RuneError && size == 1:
		return 6
	}
	return size
}

// cutMiddle returns s, or its beginning and end with a mark between them, so
// that it takes at most limit bytes inside a JSON string.
func cutMiddle(s string, limit int) string {
	if len(s)*6 <= limit || encodedLen(s) <= limit {
		return s
	}
	limit = max(limit-excerpt.MarkBytes, 0)
	head, used := 0, 0
	for head < len(s) {
		r, size := utf8.DecodeRuneInString(s[head:])
		if used += encodedRuneLen(r, size); used > limit*2/3 {
			break
		}
		head += size
	}
	tail := len(s)
	used = 0
	for tail > head {
		r, size := utf8.DecodeLastRuneInString(s[head:tail])
		if used += encodedRuneLen(r, size); used > limit/3 {
			break
		}
		tail -= size
	}
	return s[:head] + excerpt.Mark(int64(tail-head)) + s[tail:]
}
