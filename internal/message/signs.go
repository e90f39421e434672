package message

// When is a text that is not Python meant as Python?
//
// A question must go to a model, and a mistyped program must get its
// SyntaxError. Tokens decide, in this one place. A line is
//
//   - a statement when it begins as only code does: an import, def or class, a
//     block that ends in a colon, a call without a space before its
//     parenthesis, an assignment, print with a string, a notebook line;
//   - a sentence when three words stand side by side, or a number stands before
//     a word, a word has an apostrophe, or a ? or ! stands outside of a string;
//   - doubtful when just two words stand side by side;
//   - neither when it is indented below another line and no statement.
//
// A text is meant as code when the first of its lines that says anything is a
// statement, and it has more statements than doubtful lines, a sentence
// counting as four of those. Comments, docstrings, decorators and what goes on
// from the line before say nothing.

// sign is what the tokens of one line speak for.
type sign uint8

const (
	silent    sign = iota // blank, comment, docstring, decorator, continued string
	neutral               // could be either
	assigns               // statement: an assignment
	statement             // statement: anything else
	doubtful
	sentence
)

// sentenceWeight is how many doubtful lines a sentence counts for.
const sentenceWeight = 4

// weigh says what the signs of a text speak for: whether it is meant as code,
// and whether a line does more than assign.
func weigh(signs []sign) (meant, calls bool) {
	began, opens, statements, against := false, false, 0, 0
	for _, s := range signs {
		switch s {
		case silent:
			continue
		case assigns, statement:
			statements++
			opens = opens || !began
			calls = calls || s == statement
		case doubtful:
			against++
		case sentence:
			against += sentenceWeight
		case neutral:
		}
		began = true
	}
	return opens && against < statements, calls
}

// headWithoutColon finds the head of a block whose colon was forgotten, which is
// a statement if the next line is indented.
type headWithoutColon struct {
	at     int // the line, -1 if there is none
	margin string
}

func (h *headWithoutColon) next(signs []sign, line string, tokens []token) {
	if len(tokens) == 0 {
		return
	}
	margin := marginOf(line)
	if h.at >= 0 && len(margin) > len(h.margin) {
		signs[h.at] = statement
	}
	h.at = -1
	if last := len(signs) - 1; signs[last] == neutral && isCompound(tokens[0]) {
		h.at, h.margin = last, margin
	}
}

// signOf classifies a line by its tokens. inString is whether the line begins
// inside of a string.
func signOf(t []token, inString bool) sign {
	switch {
	case inString || len(t) == 0 || t[0].is(operator, "@"):
		return silent
	case len(t) == 1 && t[0].kind == literal:
		return silent
	case t[0].kind == notebook:
		if isSureNotebook(t[0].text) {
			return statement
		}
		return neutral
	}
	switch words, bracketed := prosePairs(t); {
	case words > 1:
		return sentence
	case words == 1 && bracketed && isStatement(t):
		return statement // a comma is missing
	case words == 1:
		return doubtful
	case isStatement(t):
		return statement
	case isAssignment(t):
		return assigns
	}
	return neutral
}

// prosePairs counts the places of a line that code does not have and prose
// does. A place that is enough for a sentence counts as two. bracketed is
// whether the last of them is in brackets.
func prosePairs(t []token) (pairs int, bracketed bool) {
	depth := 0
	for i := range t {
		switch {
		case t[i].opens():
			depth++
		case t[i].closes():
			depth--
		default:
			if n := proseAt(t, i); n > 0 {
				pairs += n
				bracketed = depth > 0
			}
		}
	}
	return pairs, bracketed
}

// proseAt says how much t[i], after the token before it, speaks for prose.
func proseAt(t []token, i int) int {
	b := t[i]
	var before token
	if i > 0 {
		before = t[i-1]
	}
	switch {
	case b.is(stray, "?") || b.is(stray, "!") && !before.is(operator, "="): // a notebook has "x = !command"
		return 2
	case i == 0:
	case isApostrophe(t, i):
		return 2
	case b.kind != identifier || !b.spaced:
	case before.kind == number:
		return 2
	case before.kind == identifier && (i > 1 || !isSoftStatement(t)):
		return 1
	}
	return 0
}

// isApostrophe reports whether t[i] is the quote of "it's", unless that is the
// mistake 'it's'.
func isApostrophe(t []token, i int) bool {
	if !t[i].is(literal, "'") || t[i].spaced || t[i-1].kind != identifier {
		return false
	}
	return i == 1 || t[i-2].kind != literal
}

// isProse reports whether a line without the sign of a statement can stand
// before code as an introduction: a sentence, or words and marks.
func isProse(t []token) bool {
	if pairs, _ := prosePairs(t); pairs > 1 {
		return true
	}
	for i, x := range t {
		last := i == len(t)-1
		switch x.kind {
		case operator:
			if !x.isOp(",", "-") && !(last && x.isOp(":", ".")) {
				return false
			}
		case notebook, formatted:
			return false
		case identifier, reserved, number, literal, stray:
		}
	}
	return len(t) > 0 && !isCompound(t[0])
}

// isSoftStatement reports whether the line begins as "match x:", "case x:" or "type X = …" do.
func isSoftStatement(t []token) bool {
	switch t[0].text {
	case "match", "case":
		return t[len(t)-1].is(operator, ":")
	case "type":
		return has(t, operator, "=")
	}
	return false
}

func has(t []token, k kind, text string) bool {
	for _, x := range t {
		if x.is(k, text) {
			return true
		}
	}
	return false
}

// isStatement reports whether the line begins as a statement does that is no assignment.
func isStatement(t []token) bool {
	if t[0].kind == identifier {
		return isSoftStatement(t) || isCall(t) || isOldPrint(t)
	}
	if t[0].kind != reserved || len(t) < 2 {
		return false
	}
	switch t[0].text {
	case "import":
		return t[1].kind == identifier
	case "from":
		return t[1].kind != number && has(t, reserved, "import")
	case "def", "class":
		return isDefinition(t)
	case "async":
		return t[1].kind == reserved
	case "for":
		return has(t, reserved, "in") && isBlockHead(t)
	case "if", "while", "with", "elif", "else", "try", "except", "finally":
		return isBlockHead(t)
	case "return", "raise", "assert", "del", "await", "yield", "not", "lambda":
		return hasCall(t)
	}
	return false
}

// isBlockHead reports whether the line ends in a colon or at least has a call.
func isBlockHead(t []token) bool { return t[len(t)-1].is(operator, ":") || hasCall(t) }

// isDefinition reports whether a name and its parameters, or nothing, follow.
func isDefinition(t []token) bool {
	return t[1].kind == identifier && (len(t) == 2 || t[2].isOp("(", ":", "["))
}

// isCall reports whether the line begins with a call: a dotted name and, without
// a space, its parenthesis.
func isCall(t []token) bool {
	i := 1
	for i+1 < len(t) && t[i].is(operator, ".") && t[i+1].kind == identifier {
		i += 2
	}
	return i < len(t) && t[i].is(operator, "(") && (!t[i].spaced || t[0].text == "print")
}

// hasCall reports whether a call stands anywhere in the line.
func hasCall(t []token) bool {
	for i := 1; i < len(t); i++ {
		if t[i].is(operator, "(") && !t[i].spaced && t[i-1].kind == identifier {
			return true
		}
	}
	return false
}

// isOldPrint reports whether the line is a print statement of Python 2 with a string.
func isOldPrint(t []token) bool {
	return t[0].text == "print" && len(t) > 1 && (t[1].kind == literal || t[1].kind == formatted)
}

// isAssignment reports whether the line begins with a target and an assignment operator.
func isAssignment(t []token) bool {
	if t[0].kind != identifier && !t[0].isOp("(", "[", "*") {
		return false
	}
	depth, annotated := 0, false
	for i, x := range t {
		switch {
		case x.opens():
			depth++
		case x.closes():
			depth--
		case depth > 0:
		case x.kind == operator && isAssigning(x.text):
			return true
		case x.is(operator, ":"):
			annotated = true
		case annotated:
		case x.kind == identifier:
			if i > 0 && t[i-1].closes() {
				return false
			}
		case !x.isOp(".", ",", "*"):
			return false
		}
	}
	return false
}

func isAssigning(op string) bool {
	switch op {
	case "=", "+=", "-=", "*=", "/=", "//=", "%=", "@=", "&=", "|=", "^=", "<<=", ">>=", "**=":
		return true
	}
	return false
}
