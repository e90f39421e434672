package message

import (
	"fmt"
	"strings"
)

// readFenced reads the fenced blocks of a document that was parsed leniently. ok
// is false when none of them can be Python; the notes then still name the blocks
// that are not run.
func readFenced(doc document) (m Message, ok bool) {
	m, ok = doc.read(!doc.stretched || !doc.stringsOpen())
	if !ok || !doc.stretched {
		return m, ok
	}
	// A person may have meant what CommonMark has; then its error is the better.
	strict, _ := parseDocument(doc.src, false).read(true)
	m.Candidates = append(m.Candidates, strict.Candidates...)
	return m, true
}

// stringsOpen reports whether a block of Python ends inside of a string.
func (d document) stringsOpen() bool {
	for _, b := range d.blocks {
		if b.language.python && b.inString {
			return true
		}
	}
	return false
}

// A parcel is the blocks of a document by what is done with them.
type parcel struct {
	python   []*block // tagged, or a transcript
	untagged []*block // may be Python
	notes    []string // name the others
}

func (d document) sort() parcel {
	var p parcel
	if d.tooMany {
		p.notes = append(p.notes, fmt.Sprintf("only the first %d blocks were read", maxBlocks))
	}
	for _, b := range d.blocks {
		switch name := b.foreign(); {
		case name != "":
			p.notes = append(p.notes, notRun(name))
		case b.language.python || b.isTranscript():
			b.use = tagged
			p.python = append(p.python, b)
		default:
			b.use = maybe
			p.untagged = append(p.untagged, b)
		}
	}
	return p
}

// foreign returns the language of a block that is not Python, "" if it may be.
func (b *block) foreign() string {
	if !b.language.python && !b.language.untagged {
		return b.language.name
	}
	return foreignCell(dedent(b.code))
}

func (b *block) isTranscript() bool {
	_, ok := untranscribe(dedent(b.code))
	return ok
}

// read makes candidates of the blocks. runAnyway is whether code that does not
// compile is run for its error.
func (d document) read(runAnyway bool) (Message, bool) {
	p := d.sort()
	if len(p.python) > 0 {
		return d.readTagged(p, runAnyway), true
	}
	return d.readUntagged(p)
}

// readTagged reads a document with blocks that are surely Python. Blocks
// without a language join them if they begin as code does and are not
// announced as output; the second candidate is without these.
func (d document) readTagged(p parcel, runAnyway bool) Message {
	var joined []*block
	for _, b := range d.blocks {
		if b.use == tagged || b.use == maybe && analyse(b.code).isCode() && !d.announcesOutput(b) {
			joined = append(joined, b)
		}
	}
	m := Message{Kind: Mixed, Notes: p.notes}
	if len(joined) > len(p.python) {
		m.add(readingsOf(codeOf(joined), true), false, false)
	}
	m.add(readingsOf(codeOf(p.python), true), false, runAnyway)
	m.Prose = d.outside(joined)
	if m.Prose == "" {
		m.Kind = Code
	}
	return m
}

// isCode reports whether a text surely begins as code and may compile.
func (a analysis) isCode() bool { return a.possible && a.acts && a.meant }

// readUntagged reads a document whose blocks name no language. They are Python
// if they compile and do something.
func (d document) readUntagged(p parcel) (Message, bool) {
	m := Message{Kind: Mixed, Notes: p.notes}
	var likely, surely []*block
	for _, b := range p.untagged {
		a := analyse(b.code)
		if a.possible && a.acts && !looksLikeShell(b.code) || a.meant {
			likely = append(likely, b)
		}
		if a.meant {
			surely = append(surely, b)
		}
	}
	if len(likely) == 0 {
		return m, false
	}
	m.add(readingsOf(codeOf(likely), false), true, len(surely) == len(likely))
	if len(surely) > 0 && len(surely) < len(likely) {
		m.add(readingsOf(codeOf(surely), false), true, true)
	}
	if len(likely) > 1 {
		m.add(readingsOf(codeOf(likely[:1]), false), true, false)
	}
	m.Prose = d.outside(likely)
	if m.Prose == "" && len(surely) > 0 {
		m.Kind = Code
	}
	return m, true
}

// looksLikeShell reports whether the first line of a block passes an option, as
// in "ls -la", which is also a subtraction.
func looksLikeShell(code string) bool {
	words := strings.Fields(firstLine(strings.TrimSpace(code)))
	return len(words) > 1 && len(words[1]) > 1 && words[1][0] == '-' && (isLetter(words[1][1]) || words[1][1] == '-')
}

// announcesOutput reports whether the line before b says that b is what a
// program prints.
func (d document) announcesOutput(b *block) bool {
	before := strings.TrimRight(d.src[:b.start], " \t\n")
	before = strings.ToLower(before[strings.LastIndexByte(before, '\n')+1:])
	for _, word := range []string{"output", "result", "prints", "printed", "returns", "gives", "shows", "expected", "error"} {
		if strings.Contains(before, word) {
			return true
		}
	}
	return false
}

// outside returns the text without the given blocks.
func (d document) outside(blocks []*block) string {
	var out strings.Builder
	at := 0
	for _, b := range blocks {
		out.WriteString(d.src[at:b.start])
		at = b.end
	}
	out.WriteString(d.src[at:])
	return strings.TrimSpace(out.String())
}

// add appends readings as candidates. What was found beside the code is that of
// the first reading of all.
func (m *Message) add(all []reading, mustAct, runAnyway bool) {
	for i, r := range all {
		if len(m.Candidates) == 0 {
			m.take(r)
		}
		m.Candidates = append(m.Candidates, r.candidate(mustAct, runAnyway && (i == 0 || mustAct)))
	}
}

// take takes over what was found beside the code.
func (m *Message) take(r reading) {
	m.Requirements, m.RequiresPython = r.requirements, r.requiresPython
	m.Notes = append(m.Notes, r.notes...)
}

func codeOf(blocks []*block) []string {
	code := make([]string, len(blocks))
	for i, b := range blocks {
		code[i] = b.code
	}
	return code
}
