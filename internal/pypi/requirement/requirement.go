// Package requirement reads what somebody wants to have installed: "pandas",
// "requests[socks]>=2,<3; python_version >= '3.9'" (PEP 508, PEP 440).
//
// # Trust
//
// The text is hostile: it comes from messages, from code, from a model. What
// [Parse] returns is built anew from its parts, is one line, begins with a letter
// or digit and names a distribution of an index. It can be no option, no path and
// no URL of the program that it is handed to.
//
// # Failure
//
// Text that is no such requirement is a fault of kind Invalid, whose message quotes
// it, shortened, and says what is wrong with it.
package requirement

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"runpython/internal/fault"
	"runpython/internal/pattern"
)

// Bounds of one requirement.
const (
	maxBytes   = 1024
	maxExtras  = 32
	maxClauses = 32
	maxQuoted  = 80 // of the text that a message repeats
)

// A Requirement is one distribution with the versions of it that will do.
type Requirement struct {
	Name   string   // normalised, see Normalize
	Extras []string // normalised, sorted, without repetition
	Clause []string // ">=1.15", in the order of the text
	Marker string   // "python_version >= '3.8'", or ""
}

// identifier is the form of a distribution's name and of an extra (PEP 508).
var identifier = pattern.New(`^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?$`)

// separators are what Normalize replaces.
var separators = pattern.New(`[-_.]+`)

// Normalize returns the one form of a distribution's name (PEP 503): lower case,
// runs of ".", "-" and "_" as one "-".
func Normalize(name string) string {
	return strings.ToLower(separators().ReplaceAllString(name, "-"))
}

// IsName reports whether name can be the name of a distribution.
func IsName(name string) bool { return len(name) <= maxBytes && identifier().MatchString(name) }

// Parse reads one requirement. Direct references ("name @ https://…"), paths and
// options are refused: what is installed comes from the operator's indexes.
func Parse(text string) (Requirement, error) {
	var r Requirement
	s := strings.Trim(text, " \t")
	if reason := refused(s); reason != "" {
		return r, invalid(text, reason)
	}
	spec, marker, marked := strings.Cut(s, ";")
	rest, err := r.parseName(strings.TrimSpace(spec))
	if err == nil {
		err = r.parseClauses(rest)
	}
	if err == nil && marked {
		r.Marker, err = parseMarker(marker)
	}
	if err != nil {
		return Requirement{}, invalid(text, err.Error())
	}
	return r, nil
}

// refused tells what is not even tried, with the reason.
func refused(s string) string {
	switch {
	case s == "":
		return "it is empty"
	case len(s) > maxBytes:
		return fmt.Sprintf("it is longer than %d bytes", maxBytes)
	case strings.ContainsFunc(s, func(c rune) bool { return c < ' ' && c != '\t' || c > '~' }):
		return "it has characters that no name or version has"
	case s[0] == '-':
		return "options are not taken, only names with versions"
	case strings.Contains(s, "@"), strings.Contains(s, "://"):
		return "URLs are not installed, only names that the package index has"
	case strings.ContainsAny(s[:1], "./~"), strings.Contains(s, "/"), strings.HasSuffix(s, ".whl"), strings.HasSuffix(s, ".tar.gz"):
		return "paths and files are not installed, only names that the package index has"
	}
	return ""
}

func invalid(text, reason string) error {
	return fault.New(fault.Invalid, nil, quoted(text)+" is not a package that can be installed: "+reason)
}

// quoted returns text as a message repeats it.
func quoted(text string) string {
	if len(text) > maxQuoted {
		text = text[:maxQuoted] + "…"
	}
	return strconv.Quote(text)
}

// parseName reads name and extras and returns what follows.
func (r *Requirement) parseName(s string) (rest string, err error) {
	end := strings.IndexFunc(s, func(c rune) bool { return !isWord(byte(c)) })
	if end < 0 {
		end = len(s)
	}
	name, rest := s[:end], strings.TrimSpace(s[end:])
	if !identifier().MatchString(name) {
		return "", fmt.Errorf("%q is not a name", name)
	}
	r.Name = Normalize(name)
	if !strings.HasPrefix(rest, "[") {
		return rest, nil
	}
	list, rest, closed := strings.Cut(rest[1:], "]")
	if !closed {
		return "", fmt.Errorf("the bracket of its extras is not closed")
	}
	if list = strings.TrimSpace(list); list == "" {
		return strings.TrimSpace(rest), nil
	}
	for extra := range strings.SplitSeq(list, ",") {
		if extra = strings.TrimSpace(extra); !identifier().MatchString(extra) {
			return "", fmt.Errorf("%q is not an extra", extra)
		}
		r.Extras = append(r.Extras, Normalize(extra))
	}
	slices.Sort(r.Extras)
	if r.Extras = slices.Compact(r.Extras); len(r.Extras) > maxExtras {
		return "", fmt.Errorf("it has more than %d extras", maxExtras)
	}
	return strings.TrimSpace(rest), nil
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-'
}

// version is one of PEP 440, in any spelling that the standard has for it; the second
// form, with a wildcard, is for == and != only.
const version = `v?(?:[0-9]+!)?[0-9]+(?:\.[0-9]+)*(?:[-_.]?(?:alpha|beta|preview|pre|post|rev|dev|rc|a|b|c|r)[-_.]?[0-9]*|-[0-9]+){0,3}(?:\+[a-z0-9]+(?:[-_.][a-z0-9]+)*)?`

var clauses = pattern.New(`(?i)^(?:(~=|==|!=|<=|>=|<|>)\s*(` + version + `)|(==|!=)\s*(` + version + `\.\*)|(===)\s*([a-z0-9._+!-]+))$`)

// parseClauses reads ">=1, <2", in parentheses or not.
func (r *Requirement) parseClauses(s string) error {
	if inner, ok := strings.CutPrefix(s, "("); ok {
		if inner, ok = strings.CutSuffix(inner, ")"); !ok {
			return fmt.Errorf("the parenthesis of its versions is not closed")
		}
		s = strings.TrimSpace(inner)
	}
	if s == "" {
		return nil
	}
	for clause := range strings.SplitSeq(s, ",") {
		m := clauses().FindStringSubmatch(strings.TrimSpace(clause))
		if m == nil {
			return fmt.Errorf("%q is not a condition on its version, as \">=1.2\" is", strings.TrimSpace(clause))
		}
		r.Clause = append(r.Clause, strings.Join(m[1:], ""))
	}
	if len(r.Clause) > maxClauses {
		return fmt.Errorf("it has more than %d conditions on its version", maxClauses)
	}
	return nil
}

// String returns r in the one form that PEP 508 recommends. Parse reads it back to
// the same Requirement.
func (r Requirement) String() string {
	var b strings.Builder
	b.WriteString(r.Name)
	if len(r.Extras) > 0 {
		b.WriteString("[" + strings.Join(r.Extras, ",") + "]")
	}
	b.WriteString(strings.Join(r.Clause, ","))
	if r.Marker != "" {
		b.WriteString(" ; " + r.Marker)
	}
	return b.String()
}

// IsBare reports whether any version of the distribution will do and nothing else is
// asked for.
func (r Requirement) IsBare() bool {
	return len(r.Extras) == 0 && len(r.Clause) == 0 && r.Marker == ""
}
