package cli

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of the names under which files are saved, so that a number can be added
// and every file system takes them.
const (
	maxNameBytes = 120
	maxExtBytes  = 16
	maxFolders   = 8
)

// safePath makes a relative path of a name that comes from a guest: no folder above,
// no hidden file, no option, nothing that a terminal obeys or that means something else to a
// shell or to another system. Different names may become the same one.
func safePath(name string) string {
	var parts []string
	for part := range strings.SplitSeq(strings.ToValidUTF8(name, "_"), "/") {
		if part != "" && part != "." && part != ".." {
			parts = append(parts, safeName(part))
		}
	}
	if len(parts) == 0 {
		return "_"
	}
	if len(parts) > maxFolders+1 { // the last ones say most
		parts = parts[len(parts)-maxFolders-1:]
	}
	return strings.Join(parts, "/")
}

// safeName makes one part of a path safe.
func safeName(name string) string {
	name = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || strings.ContainsRune(`/\:*?"<>|~$`+"`", r) {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(name, "_"))
	name = strings.TrimRight(name, " .") // some file systems drop them
	if name == "" {
		return "_"
	}
	if strings.ContainsAny(name[:1], ".- ") { // hidden, an option, easily overlooked
		name = "_" + name[1:]
	}
	ext := path.Ext(name)
	if len(ext) > maxExtBytes {
		ext = ""
	}
	stem := strings.TrimSuffix(name, ext)
	return cutBytes(stem, maxNameBytes-len(ext)) + ext
}

// cutBytes cuts text to at most n bytes, between characters.
func cutBytes(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
