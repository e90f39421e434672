package message

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A scriptHeader is what a PEP 723 comment asks for.
type scriptHeader struct {
	requirements   []string
	requiresPython string
	notes          []string
}

// maxHeaderBytes bounds the TOML of a script header.
const maxHeaderBytes = 64 << 10

// parseScriptHeader reads the PEP 723 comment of code. A header that is not
// understood in full asks for nothing and is named in a note.
func parseScriptHeader(code string) scriptHeader {
	document, err := headerDocument(code)
	if err == nil && document == "" {
		return scriptHeader{}
	}
	var h scriptHeader
	if err == nil {
		h, err = parseHeader(document)
	}
	if err != nil {
		return scriptHeader{notes: []string{fmt.Sprintf("the script header was ignored: %v", err)}}
	}
	return h
}

// headerDocument returns the text inside of the one "# /// script" comment, ""
// if there is none. Like an unclosed one, a comment in a string is no header.
func headerDocument(code string) (string, error) {
	if !strings.Contains(code, headerStart) {
		return "", nil
	}
	var (
		l lexer
		f headerFinder
	)
	for line := range strings.SplitSeq(code, "\n") {
		fresh := l.fresh()
		l.line(line)
		f.line(line, fresh)
	}
	f.end()
	switch {
	case f.found > 1:
		return "", errors.New("there is more than one")
	case len(f.document) > maxHeaderBytes:
		return "", fmt.Errorf("it has more than %d bytes", maxHeaderBytes)
	}
	return f.document, nil
}

const (
	headerStart = "# /// script"
	headerEnd   = "# ///"
)

// A headerFinder takes the lines of a program.
type headerFinder struct {
	document string
	found    int
	open     bool
	content  []string // of the open header
	closed   int      // lines of content before its last "# ///", -1 if there is none
}

// line takes a line. fresh is whether it begins outside of a statement.
func (f *headerFinder) line(line string, fresh bool) {
	text, isComment := headerLine(line)
	switch {
	case !fresh || !isComment:
		f.end()
	case !f.open:
		f.open, f.closed = line == headerStart, -1
	default:
		if line == headerEnd {
			f.closed = len(f.content)
		}
		f.content = append(f.content, text)
	}
}

// end ends the open header, which counts only if it was closed.
func (f *headerFinder) end() {
	if f.open && f.closed >= 0 {
		f.found++
		f.document = strings.Join(f.content[:f.closed], "\n") + "\n"
	}
	f.open, f.content = false, f.content[:0]
}

// headerLine returns what a comment line of a header contains.
func headerLine(line string) (text string, ok bool) {
	if line == "#" {
		return "", true
	}
	return strings.CutPrefix(line, "# ")
}

// parseHeader reads the keys before the first table, of which a header may
// have two.
func parseHeader(document string) (scriptHeader, error) {
	var h scriptHeader
	r := tomlReader{rest: document}
	for {
		r.skip(true)
		if r.rest == "" {
			return h, nil
		}
		if r.rest[0] == '[' {
			h.notes = append(h.notes, "the tool tables of the script header were ignored")
			return h, nil
		}
		key, err := r.key()
		if err != nil {
			return h, err
		}
		switch key {
		case "dependencies":
			err = h.dependencies(&r)
		case "requires-python":
			err = h.python(&r)
		default:
			err = fmt.Errorf("the key %q is not known", clip(key, 40))
		}
		if err != nil {
			return h, err
		}
		if r.skip(false); r.rest != "" && r.rest[0] != '\n' {
			return h, fmt.Errorf("something stands after the value of %s", key)
		}
	}
}

func (h *scriptHeader) dependencies(r *tomlReader) error {
	values, err := r.stringArray()
	if err != nil {
		return err
	}
	for _, v := range values {
		req, ok := parseRequirement(v)
		if !ok {
			return fmt.Errorf("the dependency %q is no package name with versions", clip(v, 60))
		}
		h.requirements = append(h.requirements, req)
	}
	return nil
}

func (h *scriptHeader) python(r *tomlReader) error {
	v, err := r.stringValue()
	if err != nil {
		return err
	}
	versions, ok := parseVersions(v)
	if !ok || len(v) > maxRequirementBytes || !isPrintable(v) {
		return fmt.Errorf("requires-python is %q", clip(v, 40))
	}
	h.requiresPython = versions
	return nil
}

// A tomlReader reads the little of TOML that a script header needs: bare and
// quoted keys, one-line strings and arrays of them, comments.
type tomlReader struct{ rest string }

// skip drops white space and comments, with breaks also line breaks.
func (r *tomlReader) skip(breaks bool) {
	for r.rest != "" {
		switch c := r.rest[0]; {
		case c == ' ' || c == '\t' || c == '\n' && breaks:
			r.rest = r.rest[1:]
		case c == '#':
			end := strings.IndexByte(r.rest, '\n')
			if end < 0 {
				end = len(r.rest)
			}
			r.rest = r.rest[end:]
		default:
			return
		}
	}
}

// key reads a key and the "=" after it.
func (r *tomlReader) key() (string, error) {
	key, line := "", firstLine(r.rest)
	if c := r.rest[0]; c == '"' || c == '\'' {
		k, err := r.stringValue()
		if err != nil {
			return "", err
		}
		key = k
	} else {
		n := 0
		for n < len(r.rest) && isNameByte(r.rest[n]) {
			n++
		}
		key, r.rest = r.rest[:n], r.rest[n:]
	}
	r.skip(false)
	rest, ok := strings.CutPrefix(r.rest, "=")
	if !ok || key == "" {
		return "", fmt.Errorf("%q is not a line of TOML that is understood here", clip(line, 40))
	}
	r.rest = rest
	r.skip(false)
	return key, nil
}

// stringArray reads ["a", 'b'].
func (r *tomlReader) stringArray() ([]string, error) {
	rest, ok := strings.CutPrefix(r.rest, "[")
	if !ok {
		return nil, errors.New("dependencies is no list of strings")
	}
	r.rest = rest
	var values []string
	for {
		r.skip(true)
		if rest, ok := strings.CutPrefix(r.rest, "]"); ok {
			r.rest = rest
			return values, nil
		}
		v, err := r.stringValue()
		if err != nil {
			return nil, err
		}
		values = append(values, v)
		r.skip(true)
		rest, comma := strings.CutPrefix(r.rest, ",")
		if !comma && !strings.HasPrefix(rest, "]") {
			return nil, errors.New("a comma or ] is missing in dependencies")
		}
		r.rest = rest
	}
}

// stringValue reads a basic or a literal string on one line.
func (r *tomlReader) stringValue() (string, error) {
	if r.rest == "" || r.rest[0] != '"' && r.rest[0] != '\'' {
		return "", errors.New("a string is missing")
	}
	quote := r.rest[0]
	if strings.HasPrefix(r.rest, tripled(quote)) {
		return "", errors.New("it has a multi-line string")
	}
	for i := 1; i < len(r.rest); i++ {
		switch c := r.rest[i]; {
		case c == '\n':
			return "", errors.New("a string is not closed")
		case c == '\\' && quote == '"':
			i++
		case c == quote:
			raw := r.rest[:i+1]
			r.rest = r.rest[i+1:]
			if quote == '\'' {
				return raw[1:i], nil
			}
			return unquoteBasic(raw)
		}
	}
	return "", errors.New("a string is not closed")
}

// unquoteBasic resolves the escapes of a basic string, which are those of Go
// that TOML has too.
func unquoteBasic(raw string) (string, error) {
	for i := 0; i+1 < len(raw); i++ {
		if raw[i] != '\\' {
			continue
		}
		if i++; strings.IndexByte(`btnfr"\uU`, raw[i]) < 0 {
			return "", fmt.Errorf(`the escape \%c is not known`, raw[i])
		}
	}
	s, err := strconv.Unquote(raw)
	if err != nil {
		return "", errors.New("a string has a wrong escape")
	}
	return s, nil
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

// clip shortens s to at most n bytes, on a character's boundary.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
