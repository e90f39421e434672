// Package message reads a chat message: which parts of it are Python, which are
// prose, and which packages it asks for.
//
// [Read] finds fenced blocks with a CommonMark parser and judges text without
// fences by its tokens. There is no Python parser here, so it does not decide
// what compiles: it returns candidates in the order of preference, and the
// interpreter of the chat takes the first one that compiles. What is surely no
// Python, as most prose is, has no candidates and needs no interpreter.
//
// # Trust
//
// A message is hostile. Reading takes linear time and memory, whatever it has in
// it. Blocks of other languages are in no candidate; the exception is a fence in
// a string of Python, which is text of that string. Requirements are
// names with versions, never options, paths or addresses.
//
// # Failure
//
// None: a text that cannot be read as Python is prose.
package message

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Kind is what a message consists of.
type Kind int

// The kinds.
const (
	// Empty is a message of white space only.
	Empty Kind = iota
	// Prose has no Python that is surely meant as such. Its candidates, if any,
	// are bare text that may be Python: they are run at once, and when none of them
	// is picked the message is for a model.
	Prose
	// Mixed is prose, or blocks of other languages, and Python. It is for a model;
	// without one its Python runs.
	Mixed
	// Code is Python and nothing else. It runs at once.
	Code
)

// String returns the kind as one lower-case word.
func (k Kind) String() string {
	switch k {
	case Empty:
		return "empty"
	case Mixed:
		return "mixed"
	case Code:
		return "code"
	case Prose:
	}
	return "prose"
}

// Bounds of a message that is read.
const (
	MaxCandidates   = 8
	MaxRequirements = 64
	MaxNotes        = 16
	MaxNoteBytes    = 240 // of each note
)

// A Message is a text that was read.
type Message struct {
	Kind Kind
	// Candidates are readings of the Python, the best first: at most
	// MaxCandidates, each at most a small multiple of the text. Blocks are joined
	// in their order, so line numbers are those of the joined code.
	Candidates []Candidate
	// Lone is a message without candidates that is only names and constants, as x
	// or 42: prose, unless nobody is there to read prose and it names variables of
	// the chat. Else "".
	Lone string
	// Prose is the text outside of the Python, blocks of other languages included.
	Prose string
	// Requirements are packages that lines like "!pip install x" and a PEP 723
	// header ask for, in PEP 508 form: at most MaxRequirements. They belong to the
	// first candidate.
	Requirements []string
	// RequiresPython is the version range of a PEP 723 header, or "".
	RequiresPython string
	// Notes are sentences without a full stop that say what was ignored: at most
	// MaxNotes.
	Notes []string
}

// A Candidate is one reading of the Python in a message.
type Candidate struct {
	Code string
	// MustAct means that the candidate counts only if it does something: a lone
	// name or constant does not.
	MustAct bool
	// RunAnyway means that the code is run, for its SyntaxError, when no
	// candidate compiles.
	RunAnyway bool
	// Refusal is a sentence without a full stop that says which line of a notebook
	// cannot run and what to write instead, or "". The code has that line as it was,
	// so it does not compile.
	Refusal string
	// Note is told when this candidate is chosen, or "".
	Note string
}

// Read reads a message. Bytes that are not UTF-8 are replaced and noted.
func Read(text string) Message {
	src, notes := clean(text)
	if isBlank(src) {
		return Message{Kind: Empty, Notes: notes}
	}
	m := readText(src)
	if len(m.Candidates) == 0 {
		m.Lone = loneExpression(src)
	}
	var dropped []string
	m.Requirements, dropped = boundRequirements(m.Requirements)
	m.Notes = boundNotes(slices.Concat(notes, dropped, m.Notes))
	m.Candidates = boundCandidates(m.Candidates)
	return m
}

// clean makes text plain UTF-8 with line feeds and without a byte order mark.
func clean(text string) (src string, notes []string) {
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\ufffd")
		notes = append(notes, "bytes that are not UTF-8 were replaced")
	}
	text = strings.TrimPrefix(text, "\ufeff")
	if strings.IndexByte(text, '\r') >= 0 {
		text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	}
	return text, notes
}

// isBlank reports whether nothing of src is visible.
func isBlank(src string) bool {
	return strings.IndexFunc(src, func(r rune) bool {
		plain, what := replacement(r)
		return strings.TrimSpace(plain) != "" || what == "" && !strings.ContainsRune(" \t\n\f\v", r)
	}) < 0
}

// boundNotes shortens notes and drops repeated ones.
func boundNotes(notes []string) []string {
	var out []string
	seen := map[string]bool{}
	for _, n := range notes {
		n = clip(n, MaxNoteBytes-len("…"))
		if seen[n] {
			continue
		}
		if len(out) == MaxNotes-1 {
			return append(out, "more was ignored that is not listed")
		}
		seen[n] = true
		out = append(out, n)
	}
	return out
}

// boundRequirements drops repeated requirements and says so when there are too many.
func boundRequirements(all []string) (kept, notes []string) {
	seen := map[string]bool{}
	for _, r := range all {
		if seen[r] {
			continue
		}
		if len(kept) == MaxRequirements {
			return kept, []string{fmt.Sprintf("only the first %d packages were taken", MaxRequirements)}
		}
		seen[r] = true
		kept = append(kept, r)
	}
	return kept, nil
}

// boundCandidates drops repeated candidates. One that is run anyway keeps that
// when an equal one before it is not.
func boundCandidates(all []Candidate) []Candidate {
	var out []Candidate
	at := map[string]int{}
	for _, c := range all {
		if i, ok := at[c.Code]; ok {
			out[i].RunAnyway = out[i].RunAnyway || c.RunAnyway
			out[i].MustAct = out[i].MustAct && c.MustAct
			continue
		}
		if len(out) < MaxCandidates {
			at[c.Code] = len(out)
			out = append(out, c)
		}
	}
	return out
}
