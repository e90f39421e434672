package requirement

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// maxDepth bounds the parentheses of a marker.
const maxDepth = 16

// variables are the names that a marker may compare (PEP 508, PEP 685).
var variables = []string{
	"extra", "implementation_name", "implementation_version", "os_name", "platform_machine",
	"platform_python_implementation", "platform_release", "platform_system", "platform_version",
	"python_full_version", "python_version", "sys_platform",
}

// parseMarker reads an environment marker and returns it in one form.
func parseMarker(s string) (string, error) {
	p := markerParser{rest: s}
	if err := p.or(0); err != nil {
		return "", err
	}
	if p.space(); p.rest != "" {
		return "", fmt.Errorf("its condition goes on with %q", p.rest)
	}
	return p.out.String(), nil
}

// A markerParser goes down the grammar of PEP 508 and writes what it has read.
type markerParser struct {
	rest string
	out  strings.Builder
}

func (p *markerParser) space() { p.rest = strings.TrimLeft(p.rest, " \t") }

// word takes w if it comes next, as a word of its own.
func (p *markerParser) word(w string) bool {
	p.space()
	after, ok := strings.CutPrefix(p.rest, w)
	if !ok || after != "" && (isWord(after[0]) && after[0] != '-') {
		return false
	}
	p.rest = after
	return true
}

func (p *markerParser) or(depth int) error {
	err := p.and(depth)
	for err == nil && p.word("or") {
		p.out.WriteString(" or ")
		err = p.and(depth)
	}
	return err
}

func (p *markerParser) and(depth int) error {
	err := p.term(depth)
	for err == nil && p.word("and") {
		p.out.WriteString(" and ")
		err = p.term(depth)
	}
	return err
}

// term reads a comparison or a marker in parentheses.
func (p *markerParser) term(depth int) error {
	p.space()
	if !strings.HasPrefix(p.rest, "(") {
		return p.comparison()
	}
	if depth == maxDepth {
		return fmt.Errorf("its condition has more than %d parentheses in each other", maxDepth)
	}
	p.rest = p.rest[1:]
	p.out.WriteByte('(')
	if err := p.or(depth + 1); err != nil {
		return err
	}
	p.space()
	if !strings.HasPrefix(p.rest, ")") {
		return errors.New("a parenthesis of its condition is not closed")
	}
	p.rest = p.rest[1:]
	p.out.WriteByte(')')
	return nil
}

func (p *markerParser) comparison() error {
	if err := p.value(); err != nil {
		return err
	}
	op, err := p.operator()
	if err != nil {
		return err
	}
	p.out.WriteString(" " + op + " ")
	return p.value()
}

func (p *markerParser) operator() (string, error) {
	p.space()
	for _, op := range []string{"===", "==", "~=", "!=", "<=", ">=", "<", ">"} {
		if after, ok := strings.CutPrefix(p.rest, op); ok {
			p.rest = after
			return op, nil
		}
	}
	if p.word("in") {
		return "in", nil
	}
	if p.word("not") && p.word("in") {
		return "not in", nil
	}
	return "", fmt.Errorf("its condition has no comparison before %q", p.rest)
}

// value reads a variable or a quoted text.
func (p *markerParser) value() error {
	p.space()
	if p.rest == "" {
		return errors.New("its condition ends early")
	}
	if quote := p.rest[:1]; quote == "'" || quote == `"` {
		text, after, closed := strings.Cut(p.rest[1:], quote)
		if !closed {
			return errors.New("a quoted text of its condition is not closed")
		}
		p.out.WriteString(quote + text + quote)
		p.rest = after
		return nil
	}
	end := strings.IndexFunc(p.rest, func(c rune) bool { return c != '_' && (c < 'a' || c > 'z') })
	if end < 0 {
		end = len(p.rest)
	}
	name := p.rest[:end]
	if !slices.Contains(variables, name) {
		return fmt.Errorf("its condition compares %q, which is none of %s", p.rest, strings.Join(variables, ", "))
	}
	p.out.WriteString(name)
	p.rest = p.rest[end:]
	return nil
}
