package message

import "strings"

// loneExpression returns a message that is only names, constants and groups of
// them, with comments, as people type to see a variable; "" if it is anything
// else. A code span counts for its content, and so do blocks that name no
// language if nothing stands beside them.
func loneExpression(src string) string {
	src = dedent(strings.TrimSpace(dedentText(src)))
	if code, _, ok := codeSpan(src); ok {
		src = code
	} else if code, ok := onlyUntagged(src); ok {
		src = strings.TrimSpace(dedent(code))
	}
	if a := analyse(src); !a.possible || a.acts {
		return ""
	}
	var l lexer
	some, depth := false, 0
	for line := range strings.SplitSeq(src, "\n") {
		for _, t := range l.line(line) {
			some = true
			switch {
			case t.opens():
				depth++
			case t.closes():
				depth--
			case t.kind == reserved && !isConstant(t.text), depth == 0 && t.isOp(":"):
				return "" // a statement: pass, or "Note: this", an annotation
			}
		}
	}
	if !some {
		return "" // a comment
	}
	return src
}

// onlyUntagged returns the code of a message that consists of blocks without a language.
func onlyUntagged(src string) (code string, ok bool) {
	doc := parseDocument(src, true)
	for _, b := range doc.blocks {
		if !b.language.untagged {
			return "", false
		}
	}
	if len(doc.blocks) == 0 || doc.outside(doc.blocks) != "" {
		return "", false
	}
	return strings.Join(codeOf(doc.blocks), "\n"), true
}
