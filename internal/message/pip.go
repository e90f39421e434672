package message

import "strings"

// An installLine is a line that asks for packages, as in a notebook or a terminal.
type installLine struct {
	requirements []string
	ignored      []string // options and words that were left out
	unknown      string   // an option for which the whole line was
}

// maxWords bounds the words of a line that asks for packages.
const maxWords = 256

// parseInstall reads "pip install …" in the forms that people write: with !, %
// or $ before it or nothing, by python -m or uv. ok is false when the line is
// something else. An option that is not known may take the next word as its
// value, so nothing is taken from a line that has one.
func parseInstall(line string) (in installLine, ok bool) {
	args, ok := installArguments(splitWords(line))
	if !ok {
		return installLine{}, false
	}
	for i := 0; i < len(args); i++ {
		word := args[i]
		if isRedirection(word) {
			in.ignored = append(in.ignored, strings.Join(args[i:], " "))
			return in, true
		}
		if !strings.HasPrefix(word, "-") {
			if r, ok := parseRequirement(word); ok {
				in.requirements = append(in.requirements, r)
			} else {
				in.ignored = append(in.ignored, word)
			}
			continue
		}
		switch option, _, attached := strings.Cut(word, "="); {
		case attached || isFlag(word):
			in.ignored = append(in.ignored, word)
		case takesValue(option) && i+1 < len(args):
			in.ignored = append(in.ignored, word+" "+args[i+1])
			i++
		default:
			return installLine{unknown: option}, true
		}
	}
	return in, true
}

// isPlainInstall reports whether a line without ! or % asks for packages and
// cannot be a sentence: "pip install x" is one, "pip install x and run it" is not.
func isPlainInstall(line string) bool {
	switch word, _, _ := strings.Cut(strings.TrimLeft(line, " \t$"), " "); word {
	case "pip", "pip3", "python", "python3", "py", "uv":
	default:
		return false
	}
	if len(line) > maxRequirementBytes*4 {
		return false
	}
	in, ok := parseInstall(line)
	if !ok || len(in.requirements) == 0 {
		return false
	}
	for _, word := range in.ignored {
		if !strings.HasPrefix(word, "-") {
			return false
		}
	}
	for _, r := range in.requirements {
		switch strings.ToLower(r) {
		case "a", "after", "and", "as", "before", "first", "for", "from", "if", "in", "into", "it", "on",
			"or", "please", "that", "the", "then", "this", "to", "using", "via", "when", "with":
			return false
		}
	}
	return true
}

// installArguments returns what stands after "install".
func installArguments(words []string) (args []string, ok bool) {
	if len(words) > 0 && strings.Trim(words[0], "!%$") == "" {
		words = words[1:]
	}
	if len(words) > 1 && strings.TrimLeft(words[0], "!%") == "uv" && words[1] == "add" {
		return words[2:], true
	}
	words, ok = afterInstaller(words)
	if !ok {
		return nil, false
	}
	for len(words) > 0 && isFlag(words[0]) {
		words = words[1:]
	}
	if len(words) == 0 || words[0] != "install" {
		return nil, false
	}
	return words[1:], true
}

// afterInstaller returns what stands after "pip", "uv pip" or "python -m pip".
func afterInstaller(words []string) (rest []string, ok bool) {
	if len(words) == 0 {
		return nil, false
	}
	first := strings.TrimLeft(words[0], "!%")
	words = words[1:]
	switch {
	case isPip(first):
		return words, true
	case first == "uv" && len(words) > 0 && words[0] == "pip":
		return words[1:], true
	case isPython(first) && len(words) > 1 && words[0] == "-m" && words[1] == "pip":
		return words[2:], true
	}
	return nil, false
}

func isPip(s string) bool {
	rest, ok := strings.CutPrefix(s, "pip")
	return ok && strings.Trim(rest, "0123456789.") == ""
}

func isPython(s string) bool {
	if s == "{sys.executable}" || s == "py" {
		return true
	}
	rest, ok := strings.CutPrefix(s, "python")
	return ok && strings.Trim(rest, "0123456789.") == ""
}

// splitWords splits a line as a shell does, with quotes and a comment but
// without any expansion.
func splitWords(s string) []string {
	var (
		words []string
		word  strings.Builder
		open  bool // a word has begun
		quote rune
	)
	for _, r := range s + "\n" {
		switch {
		case r == quote:
			quote = 0
		case quote != 0 && r != '\n':
			word.WriteRune(r)
		case r == '"' || r == '\'':
			quote, open = r, true
		case r == '#' && !open || len(words) == maxWords:
			return words
		case strings.ContainsRune(";&|", r) && word.Len() > 0 && !isRedirection(word.String()): // "six; touch x": a shell's other command
			words = append(words, word.String())
			word.Reset()
			word.WriteRune(r)
		case !strings.ContainsRune(" \t\n\\", r):
			word.WriteRune(r)
			open = true
		case open:
			words = append(words, word.String())
			word.Reset()
			open = false
		}
	}
	return words
}

// isRedirection reports whether a word begins what a shell would not pass on.
func isRedirection(word string) bool {
	word = strings.TrimLeft(word, "0123456789")
	return word != "" && strings.IndexByte("|&;<>", word[0]) >= 0
}

// isFlag reports whether word is an option of pip or uv that takes no value.
func isFlag(word string) bool {
	if len(word) > 1 && word[0] == '-' && strings.Trim(word[1:], "qvUIy") == "" {
		return true
	}
	switch word {
	case "--quiet", "--verbose", "--upgrade", "--user", "--no-cache-dir", "--no-cache", "--pre", "--no-deps",
		"--force-reinstall", "--ignore-installed", "--no-build-isolation", "--disable-pip-version-check",
		"--no-input", "--break-system-packages", "--no-warn-script-location", "--no-warn-conflicts", "--system",
		"--no-color", "--prefer-binary", "--require-hashes", "--no-index", "--dry-run", "--yes", "--dev",
		"--isolated", "--compile", "--no-compile", "--no-clean", "--use-pep517", "--ignore-requires-python",
		"--reinstall", "--exact", "--strict", "--offline", "--debug":
		return true
	}
	return false
}

// takesValue reports whether option is one of pip or uv whose value is the next word.
func takesValue(option string) bool {
	switch option {
	case "-i", "--index-url", "--extra-index-url", "-f", "--find-links", "-r", "--requirement", "--requirements",
		"-c", "--constraint", "--constraints", "-e", "--editable", "-t", "--target", "--prefix", "--root", "--src",
		"--platform", "--python-version", "--implementation", "--abi", "--timeout", "--retries", "--trusted-host",
		"--cert", "--client-cert", "--proxy", "--cache-dir", "--log", "-p", "--python", "-C", "--config-settings",
		"--global-option", "--report", "--index", "--default-index", "--index-strategy", "--exclude-newer",
		"--upgrade-strategy", "--root-user-action", "--exists-action", "--no-binary", "--only-binary",
		"--progress-bar", "--upgrade-package", "-P", "--extra", "--group", "--keyring-provider":
		return true
	}
	return false
}
