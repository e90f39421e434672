package message

import (
	"fmt"
	"strings"
)

// readText reads a message that is not blank.
func readText(src string) Message {
	src = dedentText(src)
	if m, ok := readEscaped(src); ok {
		return m
	}
	if code, tagged, ok := codeSpan(src); ok {
		if m, _ := readBare(code, tagged, false); len(m.Candidates) > 0 {
			return m
		}
		return Message{Kind: Prose, Prose: src}
	}
	doc := parseDocument(src, true)
	// The fences may all be in strings of what is Python as a whole.
	whole, signs := readBare(src, false, len(doc.blocks) > 0)
	if len(doc.blocks) == 0 {
		if len(whole.Candidates) == 0 {
			readTails(src, signs, &whole)
		}
		return whole
	}
	if len(whole.Candidates) > 0 {
		return whole
	}
	m, ok := readFenced(doc)
	if !ok {
		whole.Notes = append(m.Notes, whole.Notes...)
		return whole
	}
	return m
}

// readEscaped reads a message with fences that was escaped once too often, so
// that it is one line with a literal \n for each line break.
func readEscaped(src string) (m Message, ok bool) {
	if !strings.Contains(src, "```") || !hasLiteralBreaks(src) {
		return m, false
	}
	for _, text := range unescapings(src) {
		if isBlank(text) || hasLiteralBreaks(text) {
			continue
		}
		if m = readText(text); len(m.Candidates) > 0 {
			for i, c := range m.Candidates {
				m.Candidates[i].Note = joinNotes(literalBreaksNote, c.Note)
			}
			return m, true
		}
	}
	return Message{}, false
}

// codeSpan returns the content of a message that is one code span, a fence on
// one line included. tagged is whether it begins with the word python.
func codeSpan(src string) (code string, tagged, ok bool) {
	src = strings.TrimSpace(src)
	inner := strings.TrimLeft(src, "`")
	n := len(src) - len(inner)
	code = strings.TrimRight(inner, "`")
	if n == 0 || code == "" || len(inner)-len(code) != n {
		return "", false, false
	}
	if n >= 3 && strings.Contains(code, "\n") || hasRun(code, n) {
		return "", false, false
	}
	if n >= 3 {
		if rest, ok := cutPythonWord(code); ok {
			return rest, true, true
		}
	}
	return strings.TrimSpace(code), false, true
}

// cutPythonWord removes the tag that a fence on one line begins with.
func cutPythonWord(code string) (rest string, ok bool) {
	word, rest, ok := strings.Cut(code, " ")
	if !ok || !isPythonWord(word) {
		return code, false
	}
	return strings.TrimSpace(rest), true
}

// hasRun reports whether s has a run of exactly n backticks.
func hasRun(s string, n int) bool {
	run := 0
	for i := range len(s) + 1 {
		if i < len(s) && s[i] == '`' {
			run++
			continue
		}
		if run == n {
			return true
		}
		run = 0
	}
	return false
}

// readBare reads a text as a whole, and returns the signs of its lines. tagged is
// whether it is surely Python, fences whether it has blocks, which then must be
// in strings.
func readBare(src string, tagged, fences bool) (m Message, signs []sign) {
	m = Message{Kind: Prose, Prose: strings.TrimSpace(src)}
	all := readingsOf([]string{src}, tagged)
	if all[0].foreign {
		m.Notes = all[0].notes
	}
	escaped := all[len(all)-1].unescaped
	for i, r := range all {
		a := r.analyse()
		if i == 0 {
			signs = a.lines
		}
		if r.foreign || !a.possible && (fences || escaped && !r.unescaped) {
			continue // there is nothing to run, or its error would be of no use
		}
		switch {
		case r.isMeant(a, tagged):
			m.Kind, m.Prose = Code, ""
			m.add([]reading{r}, !tagged, true)
		case a.possible && a.acts && r.refusal == "":
			m.add([]reading{r}, !tagged, false)
		}
	}
	return m, signs
}

// isMeant reports whether the reading is surely meant as Python; tagged is whether its block says so.
func (r reading) isMeant(a analysis, tagged bool) bool {
	return a.meant || tagged || r.prompts && a.possible
}

// analyse judges the text that the reading was made of, where notebook lines
// still stand; of a transcript, the code.
func (r reading) analyse() analysis {
	if r.prompts {
		return analyse(r.code)
	}
	return analyse(r.raw)
}

// readTails looks for prose with code after it: from the first line that begins
// as a statement to the end, or to the prose at the end. What stands before must
// read as prose, all lines of the code must be possible as Python and one must do
// more than assign, so that "x = 5" in a question is no program.
func readTails(src string, signs []sign, m *Message) {
	lines := strings.SplitAfter(strings.TrimRight(src, " \t\n"), "\n")
	start := 0
	for ; !beginsTail(lines[start], signs[start]); start++ {
		var l lexer
		if t := l.line(strings.TrimSuffix(lines[start], "\n")); start == len(lines)-1 || len(t) > 0 && !isProse(t) {
			return
		}
	}
	if start > 0 && marginOf(lines[start]) != "" && strings.TrimSpace(lines[start-1]) != "" {
		return // the line before may be the mistyped head of this block
	}
	end := proseFrom(lines, signs, start)
	ends := []int{len(lines), end}
	if isPrompted(lines[start]) || end == len(lines) {
		ends = ends[:1]
	}
	for _, end := range ends {
		if start == 0 && end == len(lines) || !m.addTail(strings.Join(lines[start:end], "")) {
			continue
		}
		m.Kind = Mixed
		m.Prose = strings.TrimSpace(strings.Join(lines[:start], "") + strings.Join(lines[end:], ""))
		last := &m.Candidates[len(m.Candidates)-1]
		last.Note = joinNotes(takenAsProse(start, end, len(lines)), last.Note)
		return
	}
}

// beginsTail reports whether code may begin at a line.
func beginsTail(line string, s sign) bool {
	return s == statement || s == assigns || isPrompted(line)
}

// isPrompted reports whether line begins with the prompt of a transcript.
func isPrompted(line string) bool { return strings.HasPrefix(line, primaryPrompt+" ") }

// proseFrom returns where the prose at the end of lines begins, if code begins
// at line from.
func proseFrom(lines []string, signs []sign, from int) int {
	end := len(lines)
	for i := len(lines) - 1; i > from; i-- {
		switch {
		case strings.TrimSpace(lines[i]) == "":
		case signs[i] == sentence || signs[i] == doubtful:
			end = i
		default:
			return end
		}
	}
	return end
}

// addTail adds text as a candidate if it can be a program.
func (m *Message) addTail(text string) bool {
	for _, r := range readingsOf([]string{text}, false) {
		a := analyse(r.code)
		if !a.possible || !a.acts || !a.calls && !r.prompts || r.refusal != "" {
			continue
		}
		m.take(r)
		m.Candidates = append(m.Candidates, r.candidate(true, false))
		return true
	}
	return false
}

// takenAsProse says which lines were left out of code that is lines[from:end].
func takenAsProse(from, end, all int) string {
	var parts []string
	for _, span := range [][2]int{{1, from}, {end + 1, all}} {
		switch {
		case span[0] == span[1]:
			parts = append(parts, fmt.Sprint(span[0]))
		case span[0] < span[1]:
			parts = append(parts, fmt.Sprintf("%d-%d", span[0], span[1]))
		}
	}
	if len(parts) == 1 && !strings.Contains(parts[0], "-") {
		return "line " + parts[0] + " of the message was taken as prose, not as code"
	}
	return "lines " + strings.Join(parts, " and ") + " of the message were taken as prose, not as code"
}

func joinNotes(a, b string) string {
	if b == "" {
		return a
	}
	return a + "; " + b
}
