package message

import (
	"fmt"
	"slices"
	"strings"
)

// A reading is Python that is ready to run, made of one or more blocks, and what
// was found in them.
type reading struct {
	raw            string // the blocks as they were
	code           string
	requirements   []string
	requiresPython string
	notes          []string
	unescaped      bool   // literal line breaks were made real
	repair         string // what was changed to get here, for the person; or ""
	prompts        bool   // a transcript's prompts were taken out
	notebook       bool   // a line of notebooks was taken out
	foreign        bool   // a block is a cell of another language
	refusal        string // not "": code has a line that cannot run, and why
}

// candidate returns the reading as a candidate.
func (r reading) candidate(mustAct, runAnyway bool) Candidate {
	quiet := r.notebook || r.refusal != "" // "!pip install x" alone is all right
	return Candidate{
		Code:      r.code,
		MustAct:   mustAct && !quiet,
		RunAnyway: runAnyway || r.refusal != "",
		Refusal:   r.refusal,
		Note:      r.repair,
	}
}

// assemble joins blocks to one program after taking indentation, prompts and
// notebook lines out of each. help is whether "name?" is a notebook line.
func assemble(blocks []string, help bool) reading {
	var (
		r    reading
		code strings.Builder
		line = 0 // lines of the blocks before
	)
	for _, b := range blocks {
		text := dedent(b)
		if input, ok := untranscribe(text); ok {
			text, r.prompts = input, true
			r.notes = append(r.notes, "the prompts and the output of a transcript were left out")
		}
		c := readCell(text, help)
		if c.foreign != "" {
			r.foreign = true
			r.notes = append(r.notes, notRun(c.foreign))
			continue
		}
		r.requirements = append(r.requirements, c.requirements...)
		r.notes = append(r.notes, c.notes...)
		r.notebook = r.notebook || c.touched
		if c.refused > 0 && r.refusal == "" {
			r.refusal = fmt.Sprintf("line %d: %s", line+c.refused, c.refusal)
		}
		if code.Len() > 0 && !strings.HasSuffix(code.String(), "\n") {
			code.WriteByte('\n')
		}
		code.WriteString(c.code)
		line += lineCount(c.code)
	}
	r.raw, r.code = strings.Join(blocks, "\n"), code.String()
	header := parseScriptHeader(r.code)
	r.requirements = append(r.requirements, header.requirements...)
	r.requiresPython = header.requiresPython
	r.notes = append(r.notes, header.notes...)
	if r.refusal != "" {
		r.requirements = nil
	}
	return r
}

// lineCount returns how many lines code takes in front of more code.
func lineCount(code string) int {
	n := strings.Count(code, "\n")
	if code != "" && !strings.HasSuffix(code, "\n") {
		n++
	}
	return n
}

// notRun is the note on a block of another language.
func notRun(language string) string {
	advice := ""
	if name, cell := strings.CutPrefix(language, "%%"); cell {
		if advice = magicAdvice(name); advice == anyMagic {
			advice = ""
		}
	}
	if advice != "" {
		advice = "; " + advice
	}
	return fmt.Sprintf("a %s block was not run: only Python runs here%s", language, advice)
}

// readingsOf returns the ways to read blocks as one program: as they are, with
// characters repaired, and with literal line breaks made real. The first is
// always the blocks as they are.
func readingsOf(blocks []string, help bool) []reading {
	all := []reading{assemble(blocks, help)}
	if repaired, note := repairAll(blocks); note != "" {
		r := assemble(repaired, help)
		r.repair = note
		all = append(all, r)
	}
	if len(blocks) != 1 || !hasLiteralBreaks(blocks[0]) {
		return all
	}
	for _, text := range unescapings(blocks[0]) {
		r := assemble([]string{text}, help)
		r.repair, r.unescaped = literalBreaksNote, true
		all = append(all, r)
		if fixed, note := repairAll([]string{text}); note != "" {
			r := assemble(fixed, help)
			r.repair, r.unescaped = joinNotes(literalBreaksNote, note), true
			all = append(all, r)
		}
	}
	return all
}

const literalBreaksNote = `the text was one line with a literal \n for each line break; these were made line breaks`

// repairAll repairs the characters of each block. The note is "" when there was
// nothing to repair.
func repairAll(blocks []string) (repaired []string, note string) {
	var what []string
	for _, b := range blocks {
		text, changed := repairCharacters(b)
		repaired = append(repaired, text)
		for _, w := range changed {
			if !slices.Contains(what, w) {
				what = append(what, w)
			}
		}
	}
	if what == nil {
		return nil, ""
	}
	return repaired, strings.Join(what, " and ") + " outside of strings were replaced by plain ones"
}
