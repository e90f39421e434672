package message

import (
	"fmt"
	"strings"
)

// readText reads a message that is not blank.
func readText(src string) Message {
	if code, tagged, ok := codeSpan(src); ok {
		if m := readBare(code, tagged); len(m.Candidates) > 0 {
			return m
		}
		return Message{Kind: Prose, Prose: src}
	}
	doc := parseDocument(src, true)
	fenced, ok := readFenced(doc)
	if !ok {
		m := readBare(src, false)
		if len(m.Candidates) == 0 && len(doc.blocks) == 0 {
			readTails(src, &m)
		}
		m.Notes = append(fenced.Notes, m.Notes...)
		return m
	}
	if a := analyse(src); a.possible && a.acts {
		// The whole text may be Python whose strings have the fences.
		whole := readBare(src, false)
		if whole.Kind == Code {
			return whole
		}
		fenced.Candidates = append(whole.Candidates, fenced.Candidates...)
	}
	return fenced
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

// cutPythonWord removes the tag that a fence on one line begins with. A literal
// \n may end it.
func cutPythonWord(code string) (rest string, ok bool) {
	end := strings.IndexAny(code, " \t\\")
	if end < 0 || !isPythonWord(code[:end]) {
		return code, false
	}
	rest = code[end:]
	if after, ok := strings.CutPrefix(rest, `\n`); ok {
		rest = after
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

// readBare reads text without fences as a whole. tagged is whether it is surely
// Python.
func readBare(src string, tagged bool) Message {
	m := Message{Kind: Prose, Prose: strings.TrimSpace(src)}
	all := readingsOf([]string{src}, tagged)
	if all[0].foreign {
		m.Notes = all[0].notes
	}
	for i, r := range all {
		text := r.raw
		if r.prompts {
			text = r.code
		}
		a := analyse(text)
		if !a.possible && !r.unescaped && all[len(all)-1].unescaped && i < len(all)-1 {
			continue // its error would be about the backslashes
		}
		meant := a.meant || tagged || r.prompts && a.possible
		if !meant && (!a.possible || !a.acts || r.refused) {
			continue
		}
		if len(m.Candidates) == 0 {
			m.take(r)
		}
		m.Candidates = append(m.Candidates, r.candidate(!tagged, meant))
		if meant {
			m.Kind, m.Prose = Code, ""
		}
	}
	return m
}

// readTails looks for prose with code after it: from the first line that begins
// as a statement to the end, or to the prose at the end. What stands before must
// read as prose, all lines of the code must be possible as Python and one must do
// more than assign, so that "x = 5" in a question is no program.
func readTails(src string, m *Message) {
	lines := strings.SplitAfter(src, "\n")
	signs := analyse(src).lines
	start := 0
	for ; !beginsTail(lines[start], signs[start]); start++ {
		var l lexer
		if t := l.line(strings.TrimSuffix(lines[start], "\n")); start == len(lines)-1 || len(t) > 0 && !isProse(t) {
			return
		}
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
		if !a.possible || !a.acts || !a.calls && !r.prompts || r.refused {
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
			parts = append(parts, fmt.Sprintf("%d to %d", span[0], span[1]))
		}
	}
	if len(parts) == 1 && !strings.Contains(parts[0], " ") {
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
