package console

import "strings"

// unfinished tells whether text, which ends where Enter was pressed, goes on in the
// next line: in an open bracket, triple-quoted string or fence, after a
// backslash, after a colon, and in the block after one until an empty line. With
// whole it came as one piece, so an open block alone does not ask for more.
//
// An empty line ends everything but a fence and a triple-quoted string, in which it
// has a meaning; Ctrl-C is the way out of those.
func unfinished(text string, whole bool) bool {
	var s scanner
	last := ""
	for last = range strings.SplitSeq(text, "\n") {
		s.line(last)
	}
	switch {
	case s.fence != "" || s.quote != "":
		return true
	case strings.TrimSpace(last) == "":
		return false
	case s.depth > 0 || s.backslash || s.colon:
		return true
	}
	return s.block && !whole
}

// A scanner knows so much of Python and Markdown as is needed to see what is open.
// Text that is neither, such as prose with an apostrophe, must not confuse it.
type scanner struct {
	fence string // the fence that is open
	quote string // the triple quote that is open
	depth int    // open brackets

	colon     bool // the newest line ends with a colon outside of brackets
	backslash bool // … with a backslash
	block     bool // a line before ended with a colon, or is a decorator
}

// line takes the next line.
func (s *scanner) line(line string) {
	s.colon, s.backslash = false, false
	if s.fence != "" {
		if run := fenceOf(line); strings.HasPrefix(run, s.fence) && strings.TrimSpace(line) == run {
			s.fence = ""
		}
		return
	}
	if s.quote == "" && s.depth == 0 {
		if s.fence = fenceOf(line); s.fence != "" {
			return
		}
		s.block = s.block || strings.HasPrefix(line, "@")
	}
	last := s.code(line)
	s.colon = last == ':' && s.depth == 0
	s.backslash = last == '\\'
	s.block = s.block || s.colon
}

// code goes through a line and returns its last character that is code, 0 if there is none.
func (s *scanner) code(line string) (last byte) {
	for i := 0; i < len(line); {
		if s.quote != "" {
			i = s.inQuote(line, i)
			last = 0
			continue
		}
		c := line[i]
		switch c {
		case '#':
			return last
		case '\'', '"':
			i += s.quoted(line[i:])
			last = c
			continue
		case '(', '[', '{':
			s.depth++
		case ')', ']', '}':
			s.depth = max(s.depth-1, 0)
		}
		if c != ' ' && c != '\t' {
			last = c
		}
		i++
	}
	return last
}

// inQuote returns where code goes on after the triple-quoted string at i.
func (s *scanner) inQuote(line string, i int) int {
	for ; i < len(line); i++ {
		if line[i] == '\\' {
			i++
		} else if strings.HasPrefix(line[i:], s.quote) {
			i += len(s.quote)
			s.quote = ""
			return i
		}
	}
	return len(line)
}

// quoted returns the length of the string at the start of text, or of its opening
// quotes if it goes on in the next line. A single quote without its fellow is an
// apostrophe.
func (s *scanner) quoted(text string) int {
	if triple := strings.Repeat(text[:1], 3); strings.HasPrefix(text, triple) {
		s.quote = triple
		return len(triple)
	}
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case text[0]:
			return i + 1
		}
	}
	return 1
}

// fenceOf returns the run of backticks or tildes that opens or closes a fenced block
// in line, or "".
func fenceOf(line string) string {
	rest := strings.TrimLeft(line, " ")
	if len(line)-len(rest) > 3 || rest == "" || rest[0] != '`' && rest[0] != '~' {
		return ""
	}
	info := strings.TrimLeft(rest, rest[:1])
	run := rest[:len(rest)-len(info)]
	if len(run) < 3 || rest[0] == '`' && strings.Contains(info, "`") {
		return ""
	}
	return run
}
