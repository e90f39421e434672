package message

import "strings"

const (
	primaryPrompt   = ">>>"
	secondaryPrompt = "..."
)

// untranscribe takes the prompts and the outputs out of an interactive
// transcript, leaving an empty line for each output. ok is false when src does
// not begin with a prompt of python or IPython.
func untranscribe(src string) (code string, ok bool) {
	first := strings.TrimLeft(src, " \t\n")
	if _, ok := afterPrompt(firstLine(first)); !ok {
		return src, false
	}
	var out strings.Builder
	input := false // the line before was input
	for line := range strings.Lines(src) {
		text := strings.TrimSuffix(line, "\n")
		in, prompted := afterPrompt(text)
		if !prompted && input {
			in, prompted = afterContinuation(text)
		}
		if prompted {
			out.WriteString(in)
		}
		if len(text) < len(line) {
			out.WriteByte('\n')
		}
		input = prompted
	}
	return out.String(), true
}

// afterPrompt returns what follows ">>> " or "In [1]: ".
func afterPrompt(line string) (string, bool) {
	if rest, ok := strings.CutPrefix(line, primaryPrompt); ok {
		return strings.TrimPrefix(rest, " "), !strings.HasPrefix(rest, ">")
	}
	rest, ok := strings.CutPrefix(line, "In [")
	if !ok {
		return "", false
	}
	rest = strings.TrimLeft(rest, "0123456789 ")
	rest, ok = strings.CutPrefix(rest, "]:")
	return strings.TrimPrefix(rest, " "), ok
}

// afterContinuation returns what follows "... " or "   ...: ".
func afterContinuation(line string) (string, bool) {
	rest, ok := strings.CutPrefix(strings.TrimLeft(line, " "), secondaryPrompt)
	if !ok {
		return "", false
	}
	rest = strings.TrimPrefix(rest, ":")
	return strings.TrimPrefix(rest, " "), true
}
