package clientconfig

import "bytes"

// strict returns JSON with comments and trailing commas, as editors write it, without them. What is strict already is as it was; lines
// stay where they are.
func strict(text []byte) []byte {
	out := make([]byte, 0, len(text))
	comma := -1 // where in out a comma is that nothing but white space follows
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			n := stringLength(text[i:])
			out = append(out, text[i:i+n]...)
			i += n - 1
			comma = -1
		case c == '/' && i+1 < len(text) && (text[i+1] == '/' || text[i+1] == '*'):
			n := commentLength(text[i:])
			out = append(out, bytes.Repeat([]byte("\n"), bytes.Count(text[i:i+n], []byte("\n")))...)
			i += n - 1
		case c == ',':
			comma = len(out)
			out = append(out, c)
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			out = append(out, c)
		default:
			if comma >= 0 && (c == '}' || c == ']') {
				out[comma] = ' '
			}
			comma = -1
			out = append(out, c)
		}
	}
	return out
}

// stringLength is how long the string is that text begins with, its quotes included.
func stringLength(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// commentLength is how long the comment is that text begins with. The end of a line is no part of it.
func commentLength(text []byte) int {
	if text[1] == '/' {
		if i := bytes.IndexByte(text, '\n'); i >= 0 {
			return i
		}
		return len(text)
	}
	if i := bytes.Index(text[2:], []byte("*/")); i >= 0 {
		return 2 + i + 2
	}
	return len(text)
}
