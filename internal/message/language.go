package message

import "strings"

// A language is what the info string of a fence says of its block.
type language struct {
	python    bool
	untagged  bool   // no language is named
	word      bool   // the info string is one word that can be a language
	name      string // for a note; "" when untagged
	firstLine string // the info string is code that belongs before the block
}

// maxLanguageBytes bounds the name of a language in a note.
const maxLanguageBytes = 24

// languageOf reads an info string: "python", "Python3 title=x", "py3",
// "{.python .numberLines}", "{code-cell} ipython3", "pycon", "python,ignore".
func languageOf(info string) language {
	info = strings.TrimSpace(info)
	if info == "" {
		return language{untagged: true}
	}
	words := strings.FieldsFunc(info, func(r rune) bool { return strings.ContainsRune(" \t{},;:", r) })
	if len(words) == 0 {
		return language{untagged: true}
	}
	if strings.HasPrefix(info, "{") {
		for _, w := range words {
			if isPythonWord(strings.TrimPrefix(w, ".")) {
				return language{python: true, name: "python"}
			}
		}
	}
	if isPythonWord(words[0]) {
		return language{python: true, name: "python"}
	}
	if isCodeInfo(info) {
		return language{untagged: true, firstLine: info + "\n"}
	}
	return language{name: printable(clip(words[0], maxLanguageBytes)), word: isLanguageWord(info)}
}

// isLanguageWord reports whether s can be the name of a language.
func isLanguageWord(s string) bool {
	return strings.IndexFunc(s, func(r rune) bool {
		return r > '~' || !isNameByte(byte(r)) && r != '+' && r != '#'
	}) < 0
}

func isPythonWord(s string) bool {
	s = strings.ToLower(s)
	switch s {
	case "ipython", "ipython3", "pycon", "pycon3", "python-repl", "python-console", "py-console":
		return true
	}
	rest, ok := strings.CutPrefix(s, "python")
	if !ok {
		rest, ok = strings.CutPrefix(s, "py")
	}
	return ok && strings.Trim(rest, "0123456789.") == ""
}

// isCodeInfo reports whether the code begins on the line of the fence, as in
// "```print(1)": an import or a call, which no info string is.
func isCodeInfo(info string) bool {
	var l lexer
	t := l.line(info)
	return signOf(t, false) == statement && t[0].kind != notebook && (has(t, reserved, "import") || isCall(t))
}

// printable replaces what does not belong into one line of a note.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '"' || replacementIsInvisible(r) {
			return -1
		}
		return r
	}, s)
}

func replacementIsInvisible(r rune) bool {
	_, what := replacement(r)
	return what == invisible || '\u202a' <= r && r <= '\u202e' || '\u2066' <= r && r <= '\u2069'
}
