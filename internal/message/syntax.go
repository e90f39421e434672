package message

import "strings"

// An analysis is what tokens alone tell of a text.
type analysis struct {
	// possible is false when the text surely does not compile. It may be true
	// for a text that does not, never false for one that does; the one exception
	// is a statement that begins with ~~~, which is taken for a fence.
	possible bool
	// acts is false when the text surely does nothing: it has only names,
	// constants, displays of them and annotations without a value.
	acts bool
	// meant is whether the text is clearly meant as code; see signs.go.
	meant bool
	// calls is whether a line does more than assign.
	calls bool
	// lines has the sign of each line.
	lines []sign
}

// analyse reads src in linear time.
func analyse(src string) analysis {
	var (
		a    analysis
		c    checker
		l    = lexer{check: &c}
		head = headWithoutColon{at: -1}
	)
	for line := range strings.SplitSeq(src, "\n") {
		inString := len(l.frames) > 0
		if l.fresh() {
			c.endStatement()
		}
		c.line = line
		tokens := l.line(line)
		s := signOf(tokens, inString)
		if (s == sentence || s == doubtful) && len(a.lines) > 0 && marginOf(line) != "" {
			s = neutral // prose is not indented, and a mistake may well be
		}
		a.lines = append(a.lines, s)
		head.next(a.lines, line, tokens)
	}
	c.endStatement()
	open := len(l.frames) > 0 || len(l.brackets) > 0
	a.possible = !l.fault && !c.fault && !open
	a.acts = c.acts
	a.meant, a.calls = weigh(a.lines)
	return a
}

// endsInString reports whether src ends inside of a string.
func endsInString(src string) bool {
	var l lexer
	for line := range strings.SplitSeq(src, "\n") {
		l.line(line)
	}
	return len(l.frames) > 0
}

// A checker tells token sequences that no Python program has. It knows which
// tokens cannot stand side by side and what a statement must contain, which is
// enough for nearly all prose, and nothing else of the grammar.
type checker struct {
	statementState
	line   string // the physical line at hand
	margin string // the indentation of the last statement
	block  bool   // … which ended in a colon
	any    bool   // there was one
	acts   bool
	fault  bool
}

// statementState is what is known of the statement that is being read.
type statementState struct {
	first, prev token
	n           int    // its tokens
	depth       int    // open brackets
	start       bool   // prev was its first token, or the first after ";" or ":"
	soft        string // the soft keyword that was used as one
	colon       bool   // there is a ":"
	assign      bool   // … a "="
	imports     bool   // … an "import"
	in          bool   // … an "in"
	lambda      bool   // … a "lambda"
	comma       bool   // … a ","
	semicolon   bool   // … a ";"
	computes    bool   // an operator stands outside of brackets, "." apart
	annotates   bool   // a ":" stands outside of brackets in what is no compound statement
	starred     bool   // it ends in "import *"
	negated     bool   // prev is the "not" of a "not in"
	signed      bool   // prev is a sign, which alone does nothing to a number
	doing       bool   // it does something
}

// token takes the next token of a statement.
func (c *checker) token(t token) {
	if c.fault {
		return
	}
	if !c.mayStand(t) {
		c.fault = true
		return
	}
	operand := c.operandBefore()
	c.doing = c.doing || c.doesSomething(t, operand) || c.signed && t.kind != number
	c.negated = operand && t.is(reserved, "not")
	c.signed = !operand && t.isOp("-", "+")
	c.starred = t.is(operator, "*") && c.prev.is(reserved, "import")
	c.note(t)
	c.prev = t
	c.n++
}

// note records what t makes of the statement.
func (c *checker) note(t token) {
	if c.n == 0 {
		c.first = t
	} else if c.softBefore() && beginsOperand(t) {
		c.soft = c.prev.text
	}
	c.start = c.n == 0 || c.prev.isOp(";", ":")
	switch t.kind {
	case reserved:
		c.imports = c.imports || t.text == "import"
		c.in = c.in || t.text == "in"
		c.lambda = c.lambda || t.text == "lambda"
	case operator:
		c.noteOperator(t)
	case identifier, number, literal, formatted, notebook, stray:
	}
}

// noteOperator records what an operator makes of the statement.
func (c *checker) noteOperator(t token) {
	outside := c.depth == 0
	switch {
	case t.opens():
		c.depth++
		return
	case t.closes():
		c.depth--
		return
	case t.text == ";":
		c.semicolon, c.computes, c.annotates = true, false, false
		return
	case t.text == ":":
		c.colon = true
		c.annotates = c.annotates || outside
		return
	}
	c.comma = c.comma || t.text == ","
	c.assign = c.assign || t.text == "="
	c.computes = c.computes || outside && t.text != "."
}

// mayStand reports whether t can be the next token.
func (c *checker) mayStand(t token) bool {
	switch {
	case c.n == 0 && !c.indented():
		return false
	case c.negated && !t.is(reserved, "in"):
		return false
	}
	return c.mayFollow(t) && c.mayHaveColon(t)
}

// mayHaveColon reports whether t, if it is a colon outside of brackets, can end
// the head of a compound statement or annotate a target.
func (c *checker) mayHaveColon(t token) bool {
	if !t.is(operator, ":") || c.depth > 0 || c.lambda || isCompound(c.first) {
		return true
	}
	return c.n > 0 && !c.computes && !c.annotates
}

// indented checks that the statement that begins on this line is indented more
// than the one before only after a colon.
func (c *checker) indented() bool {
	if strings.Contains(c.line, "\f") {
		return true
	}
	margin := marginOf(c.line)
	deeper := len(margin) > len(c.margin) && strings.HasPrefix(margin, c.margin)
	wrong := c.any && !c.block && deeper
	c.margin, c.any = margin, true
	return !wrong
}

// marginOf returns the white space that line begins with.
func marginOf(line string) string {
	return line[:len(line)-len(strings.TrimLeft(line, " \t"))]
}

// endStatement checks the statement as a whole and begins the next one.
func (c *checker) endStatement() {
	if c.n > 0 && !c.fault && !(c.endsWell() && c.isWhole()) {
		c.fault = true
	}
	// An annotation is not evaluated.
	declares := c.annotates && c.first.kind == identifier && !isCompound(c.first) && !c.assign && !c.semicolon
	c.acts = c.acts || c.doing && !declares
	if c.n > 0 {
		c.block = c.prev.is(operator, ":")
	}
	c.statementState = statementState{}
}

// endsWell reports whether the statement can end after prev.
func (c *checker) endsWell() bool {
	switch c.prev.kind {
	case operator:
		return c.prev.closes() || c.prev.isOp(";", ",", "...") || c.starred ||
			c.prev.isOp(":") && isCompound(c.first)
	case reserved:
		switch c.prev.text {
		case "True", "False", "None", "pass", "break", "continue", "return", "yield", "raise":
			return true
		}
		return false
	case identifier, number, literal, formatted, notebook, stray:
	}
	return true
}

// isWhole reports whether the statement has what its first word asks for.
func (c *checker) isWhole() bool {
	switch {
	case c.first.is(operator, "**"):
		return false
	case c.first.is(operator, "*"):
		return c.comma
	case c.soft == "type":
		return c.assign
	case c.soft != "":
		return c.colon
	case c.first.kind != reserved:
		return true
	case c.first.text == "from":
		return c.imports
	case c.first.text == "for":
		return c.colon && c.in
	case isCompound(c.first):
		return c.colon
	}
	return true
}

func isCompound(t token) bool {
	switch t.text {
	case "if", "for", "while", "def", "class", "with", "try", "else", "elif", "except", "finally", "async":
		return t.kind == reserved
	case "match", "case":
		return t.kind == identifier
	}
	return false
}

// softBefore reports whether prev may be a soft keyword, which an operand may follow.
func (c *checker) softBefore() bool {
	if !c.start || c.prev.kind != identifier {
		return false
	}
	return c.prev.text == "match" || c.prev.text == "case" || c.prev.text == "type"
}

// operandBefore reports whether an operand ends with prev.
func (c *checker) operandBefore() bool {
	if c.n == 0 {
		return false
	}
	switch t := c.prev; t.kind {
	case identifier, number, literal, formatted:
		return true
	case reserved:
		return isConstant(t.text)
	case operator:
		switch t.text {
		case ")", "]", "}":
			return true
		case "...":
			return !c.first.is(reserved, "from")
		}
	case notebook, stray:
	}
	return false
}

func isConstant(s string) bool { return s == "True" || s == "False" || s == "None" }

// beginsOperand reports whether t begins an operand and cannot go on with one.
func beginsOperand(t token) bool {
	switch t.kind {
	case identifier, number, literal, formatted:
		return true
	case reserved:
		switch t.text {
		case "True", "False", "None", "lambda", "await":
			return true
		}
	case operator:
		return t.text == "{" || t.text == "~" || t.text == "..."
	case notebook, stray:
	}
	return false
}

// mayFollow reports whether t can stand after prev.
func (c *checker) mayFollow(t token) bool {
	if c.n > 0 && c.prev.kind == reserved && needsName(c.prev.text) {
		return t.kind == identifier || c.prev.text == "import" && c.mayFollowImport(t)
	}
	operand := c.operandBefore()
	fits := !operand || c.softBefore() // an operand can begin
	switch t.kind {
	case notebook:
		return true
	case literal, formatted:
		return fits || c.prev.kind == literal || c.prev.kind == formatted
	case identifier, number:
		return fits
	case reserved:
		return c.mayFollowWord(t, operand, fits)
	case operator:
		return c.mayFollowOperator(t, operand, fits)
	case stray:
	}
	return false
}

// mayFollowImport reports whether t, which is no name, can follow "import".
func (c *checker) mayFollowImport(t token) bool {
	return c.first.is(reserved, "from") && t.isOp("(", "*")
}

// needsName reports whether only a name can follow a keyword.
func needsName(word string) bool {
	switch word {
	case "import", "def", "class", "global", "nonlocal":
		return true
	}
	return false
}

func (c *checker) mayFollowWord(t token, operand, fits bool) bool {
	switch t.text {
	case "and", "or", "is", "as":
		return operand
	case "in":
		return operand || c.prev.is(reserved, "not") || c.prev.is(operator, ",")
	case "not", "if", "else", "for", "async", "from", "import":
		return true
	}
	return fits
}

func (c *checker) mayFollowOperator(t token, operand, fits bool) bool {
	switch t.text {
	case "(", "[", ";", "+", "-", "*", "**", "@":
		return true
	case ":":
		return c.prev.kind != reserved || !wantsMore(c.prev.text)
	case "{", "...":
		return fits || c.first.is(reserved, "from")
	case "~":
		return fits && !(c.n == 2 && c.first.is(operator, "~") && c.prev.is(operator, "~"))
	}
	return operand || c.mayFollowMark(t)
}

// mayFollowMark reports whether an operator that stands after operands can stand
// after prev, which is none.
func (c *checker) mayFollowMark(t token) bool {
	switch t.text {
	case ".":
		return c.prev.isOp(".", "...") || c.prev.is(reserved, "from")
	case ",":
		return c.prev.isOp("*", "/", ":")
	case "/":
		return c.prev.isOp(",")
	case ")", "]", "}":
		return c.prev.isOp("(", "[", "{", ",", ":", "*", "/") || c.prev.is(reserved, "yield")
	}
	return false
}

// wantsMore reports whether a keyword cannot stand before a colon.
func wantsMore(word string) bool {
	switch word {
	case "and", "or", "not", "is", "in", "as", "from", "if", "elif", "while", "for", "with", "assert", "del", "await":
		return true
	}
	return false
}

// doesSomething reports whether t makes the program do something.
func (c *checker) doesSomething(t token, operand bool) bool {
	switch t.kind {
	case formatted, notebook:
		return true
	case reserved:
		return !isConstant(t.text)
	case operator:
		switch t.text {
		case "(", "[":
			return operand
		case "+", "-":
			return operand
		case ")", "]", "{", "}", ",", ":", ";", "...":
			return false
		}
		return true
	case identifier, number, literal, stray:
	}
	return false
}
