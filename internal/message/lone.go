package message

import "strings"

// loneExpression returns a message that is one line of names, constants and
// groups of them, as people type to see a variable; "" if it is anything else.
// A code span counts for its content.
func loneExpression(src string) string {
	src = strings.TrimSpace(src)
	if code, _, ok := codeSpan(src); ok {
		src = code
	}
	a := analyse(src)
	if len(a.lines) != 1 || !a.possible || a.acts {
		return ""
	}
	var l lexer
	tokens, depth := l.line(src), 0
	for _, t := range tokens {
		switch {
		case t.opens():
			depth++
		case t.closes():
			depth--
		case t.kind == reserved && !isConstant(t.text), depth == 0 && t.isOp(":", ";"):
			return "" // a statement: pass, or "Note: this", an annotation
		}
	}
	if len(tokens) == 0 {
		return "" // a comment
	}
	return src
}
