package llm

import "bytes"

// EscapeControls returns JSON with control characters escaped that stand in its strings as they are, which
// RFC 8259 forbids in section 7, and which servers and models write all the same. What needs nothing is
// returned itself; what is no JSON comes out as such.
func EscapeControls(data []byte) []byte {
	if !bytes.ContainsFunc(data, func(r rune) bool { return r < ' ' }) {
		return data
	}
	const digits = "0123456789abcdef"
	out := make([]byte, 0, len(data)+len(data)/8)
	within, escaped := false, false
	for _, b := range data {
		switch {
		case within && b < ' ':
			if escaped { // the backslash stood before a character that cannot be escaped so
				out = append(out, '\\')
			}
			out = append(out, '\\', 'u', '0', '0', digits[b>>4], digits[b&15])
			escaped = false
			continue
		case escaped:
			escaped = false
		case within && b == '\\':
			escaped = true
		case b == '"':
			within = !within
		}
		out = append(out, b)
	}
	return out
}
