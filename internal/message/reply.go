package message

import (
	"slices"
	"strings"
)

// A Reply is what a model has written, by what is done with it.
type Reply struct {
	// Candidates are readings of its Python, the best first, as those of a Message; none when it has no code.
	Candidates []Candidate
	// Requirements are packages that the code asks for, as those of a Message.
	Requirements []string
	// Before is the text in front of the code, all of it when there is none; Prose is all that is not code.
	Before, Prose string
	// Bare means that the code stands there without a fence and is all of the reply.
	Bare bool
	// Open means that the last block of the code is not closed, as when a reply was cut.
	Open bool
}

// ReadReply reads the reply of a model, which differs from the message of a person in this: its
// blocks are a program up to the place where the reply tells what it prints. What comes after that is
// built on an output that nobody has seen, and is no code. Like Read it takes linear time and cannot fail.
func ReadReply(text string) Reply {
	src, _ := clean(text)
	src = dedentText(src)
	doc := parseDocument(src, true)
	// The fences may all be in strings of what is Python as a whole.
	bare, _ := readBare(src, false, len(doc.blocks) > 0)
	blocks := doc.program()
	if bare.Kind == Code || len(blocks) == 0 {
		return readUnfenced(src)
	}
	var m Message
	m.add(readingsOf(codeOf(blocks), true), false, true)
	if doc.stretched {
		m.add(readingsOf(codeOf(parseDocument(src, false).program()), true), false, false)
	}
	r := newReply(m)
	r.Before, r.Prose = strings.TrimSpace(src[:blocks[0].start]), doc.outside(blocks)
	r.Open = !blocks[len(blocks)-1].closed
	return r
}

// readUnfenced reads a reply that has no block of Python: it is code as a whole, or prose.
func readUnfenced(src string) Reply {
	m := Read(src)
	if m.Kind != Code {
		return Reply{Before: strings.TrimSpace(src), Prose: strings.TrimSpace(src)}
	}
	r := newReply(m)
	r.Bare = !strings.HasPrefix(strings.TrimSpace(src), "`")
	return r
}

// newReply takes the code of m over, unless there is nothing in it.
func newReply(m Message) Reply {
	all := slices.DeleteFunc(boundCandidates(m.Candidates), func(c Candidate) bool { return isBlank(c.Code) })
	requirements, _ := boundRequirements(m.Requirements)
	return Reply{Candidates: all, Requirements: requirements}
}

// program returns the blocks that are the code of a model's reply, in their order. Blocks that name no
// language count if they surely are code, or if no other block is.
func (d document) program() []*block {
	p := d.sort()
	var blocks []*block
	for _, b := range d.blocks {
		if len(blocks) > 0 && (d.announcesOutput(b) || tellsOutput(d.src[blocks[len(blocks)-1].end:b.start])) {
			break
		}
		a := analysis{}
		if b.use == maybe {
			a = analyse(b.code)
		}
		switch {
		case b.use == tagged, b.use == maybe && a.isCode(),
			b.use == maybe && len(p.python) == 0 && a.possible && a.acts && !looksLikeShell(b.code):
			blocks = append(blocks, b)
		case len(blocks) > 0 && (b.use == maybe || slices.Contains(outputLanguages(), strings.ToLower(b.language.name))):
			return blocks // it is output
		}
	}
	return blocks
}

// outputLanguages are words by which the fence of a block says that it is what a program prints.
func outputLanguages() []string {
	return []string{"output", "text", "txt", "plaintext", "plain", "console", "stdout", "result", "results", "none"}
}

// tellsOutput reports whether a line of text, which stands between two blocks, begins to tell what the
// first of them prints.
func tellsOutput(text string) bool {
	for line := range strings.Lines(text) {
		line = strings.ToLower(strings.TrimLeft(line, " \t*_#>-"))
		for _, begin := range []string{"output", "result", "the output", "the result", "this prints", "this will print", "this outputs", "this will output", "it prints"} {
			if strings.HasPrefix(line, begin) {
				return true
			}
		}
	}
	return false
}
