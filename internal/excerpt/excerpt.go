// Package excerpt says large things in little room: a text by its beginning and
// its end, a number of bytes by a round one.
//
// # Trust
//
// Texts may be hostile and of any length: they are cut, in one pass, and never
// looked into. Whether a text is valid UTF-8 is the caller's business; a cut makes
// nothing invalid that was valid.
//
// # Failure
//
// Nothing here can fail.
package excerpt

import (
	"fmt"
	"unicode/utf8"
)

// MarkBytes is the most that a [Mark] takes, also inside a JSON string.
const MarkBytes = 48

// Mark stands where n bytes of a text were left out, on a line of its own.
func Mark(n int64) string { return fmt.Sprintf("\n… %d bytes left out …\n", n) }

// Middle returns s, or its beginning and its end with a [Mark] between them, so that
// it has at most most bytes. Of a bound that is too small for a mark nothing is left but the mark.
func Middle(s string, most int) string {
	if len(s) <= most {
		return s
	}
	half := max(0, most-MarkBytes) / 2
	first, last := Head(s, half), Tail(s, half)
	return first + Mark(int64(len(s)-len(first)-len(last))) + last
}

// Begin returns s, or its first most bytes and an ellipsis after them.
func Begin(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return Head(s, most) + "…"
}

// Head returns the first n bytes of s, or all that there are, without a part of a character at their end.
func Head(s string, n int) string {
	s = s[:min(n, len(s))]
	for i := len(s) - 1; i >= max(0, len(s)-utf8.UTFMax); i-- {
		if !utf8.RuneStart(s[i]) {
			continue
		}
		if !utf8.FullRuneInString(s[i:]) {
			return s[:i]
		}
		break
	}
	return s
}

// Tail returns the last n bytes of s, or all that there are, without a part of a character at their beginning.
func Tail(s string, n int) string {
	s = s[max(0, len(s)-n):]
	for i := range min(len(s), utf8.UTFMax) {
		if utf8.RuneStart(s[i]) {
			return s[i:]
		}
	}
	return s
}

// Size is a number of bytes as people write limits: 1 GiB, 512 MiB, 100 bytes. Of MiB
// the fraction is left out.
func Size(n int64) string {
	switch {
	case n >= 1<<30 && n%(1<<30) == 0:
		return fmt.Sprintf("%d GiB", n>>30)
	case n >= 1<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	default:
		return fmt.Sprintf("%d bytes", n)
	}
}
