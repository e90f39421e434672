package message

import "strings"

// maxRequirementBytes bounds one requirement.
const maxRequirementBytes = 256

// parseRequirement reads "name[extra] >=1,<2; marker" as PEP 508 has it and
// returns it in one plain form. It takes no direct reference ("name @ url"), no
// path and no option: what is returned begins with a letter or digit.
func parseRequirement(s string) (string, bool) {
	s = strings.TrimSpace(s)
	if len(s) > maxRequirementBytes || !isPrintable(s) {
		return "", false
	}
	s, marker, marked := strings.Cut(s, ";")
	end := 0
	for end < len(s) && isNameByte(s[end]) {
		end++
	}
	name, rest := s[:end], strings.TrimSpace(s[end:])
	if !isPackageName(name) {
		return "", false
	}
	var out strings.Builder
	out.WriteString(name)
	if strings.HasPrefix(rest, "[") {
		extras, after, ok := strings.Cut(rest[1:], "]")
		if !ok || !writeExtras(&out, extras) {
			return "", false
		}
		rest = strings.TrimSpace(after)
	}
	if strings.HasPrefix(rest, "(") && strings.HasSuffix(rest, ")") {
		rest = strings.TrimSpace(rest[1 : len(rest)-1])
	}
	versions, ok := parseVersions(rest)
	if !ok {
		return "", false
	}
	out.WriteString(versions)
	if marked {
		marker = strings.TrimSpace(marker)
		if !isMarker(marker) {
			return "", false
		}
		out.WriteString("; " + marker)
	}
	return out.String(), true
}

func isPrintable(s string) bool {
	for _, c := range []byte(s) {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

func isNameByte(c byte) bool {
	return isDigit(c) || isLetter(c) || c == '.' || c == '_' || c == '-'
}

// isPackageName reports whether s is a name of a distribution or an extra.
func isPackageName(s string) bool {
	if s == "" {
		return false
	}
	first, last := s[0], s[len(s)-1]
	return (isDigit(first) || isLetter(first)) && (isDigit(last) || isLetter(last))
}

func writeExtras(out *strings.Builder, extras string) bool {
	out.WriteByte('[')
	for i, e := range strings.Split(extras, ",") {
		e = strings.TrimSpace(e)
		if !isPackageName(e) || strings.IndexFunc(e, func(r rune) bool { return !isNameByte(byte(r)) }) >= 0 {
			return false
		}
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString(e)
	}
	out.WriteByte(']')
	return true
}

// parseVersions reads ">=1, <2" and returns it without white space.
func parseVersions(s string) (string, bool) {
	s = strings.TrimSpace(s)
	if s == "" {
		return "", true
	}
	var out []string
	for clause := range strings.SplitSeq(s, ",") {
		clause = strings.TrimSpace(clause)
		op := clauseOperator(clause)
		version := strings.TrimSpace(clause[len(op):])
		if op == "" || !isVersion(version) {
			return "", false
		}
		out = append(out, op+version)
	}
	return strings.Join(out, ","), true
}

func clauseOperator(clause string) string {
	for _, op := range []string{"===", "==", ">=", "<=", "!=", "~=", ">", "<"} {
		if strings.HasPrefix(clause, op) {
			return op
		}
	}
	return ""
}

func isVersion(s string) bool {
	for _, c := range []byte(s) {
		if !isNameByte(c) && c != '*' && c != '+' && c != '!' {
			return false
		}
	}
	return s != "" && (isDigit(s[0]) || isLetter(s[0]))
}

// isMarker reports whether s has only what environment markers are made of.
func isMarker(s string) bool {
	for _, c := range []byte(s) {
		if !isNameByte(c) && strings.IndexByte(` <>=!~'"()+*,`, c) < 0 {
			return false
		}
	}
	return s != "" && (isLetter(s[0]) || s[0] == '(' || s[0] == '\'' || s[0] == '"')
}
