package notebook

import (
	"fmt"
	"io"
	"strings"

	"runpython/internal/chat"
)

// helper runs a cell that a script cannot have as it is: one whose value is shown, that awaits, or that fails. It
// leaves no name but _cell in the script.
const helper = `
def _cell(source, *, fails=False):
    """Run a cell as the chat did: show its value, await what it awaits, and go on after an error if it failed there."""
    import ast, asyncio, inspect, linecache, sys, traceback

    def shown(value):
        pandas = sys.modules.get("pandas")
        if pandas and isinstance(value, pandas.DataFrame | pandas.Series):
            how = {"show_dimensions": True, "max_cols": 20} if isinstance(value, pandas.DataFrame) else {"length": True, "dtype": True, "name": True}
            with pandas.option_context("display.max_colwidth", 1000):
                return value.to_string(max_rows=60, **how)
        return repr(value)

    self = _cell
    self.number = getattr(self, "number", 0) + 1
    self.loop = getattr(self, "loop", None) or asyncio.new_event_loop()
    file = f"<cell {self.number}>"
    linecache.cache[file] = len(source), None, source.splitlines(True), file
    try:
        body = ast.parse(source, file)
        last = body.body.pop() if body.body and isinstance(body.body[-1], ast.Expr) else None
        for tree, mode in (body, "exec"), (last and ast.Expression(last.value), "eval"):
            if tree is None:
                continue
            code = compile(tree, file, mode, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
            value = eval(code, globals())
            if code.co_flags & inspect.CO_COROUTINE:
                value = self.loop.run_until_complete(value)
            if mode == "eval" and value is not None and not source.rstrip().endswith(";"):
                print(shown(value))
    except BaseException:
        if not fails:
            raise
        traceback.print_exc()

`

// WriteScript writes a script that executes the runs of a chat one after the other, in which PEP 723 names the Python and
// the packages that the chat had. Messages and answers are comments. A value that the chat has shown is printed; a run that
// has failed in the chat fails again, and the script goes on. A run that a limit has ended is a comment.
func WriteScript(w io.Writer, s Source) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# /// script\n# requires-python = %s\n# dependencies = [\n", quoted("=="+series(s.Python)+".*"))
	for _, r := range s.Chat.Requirements {
		fmt.Fprintf(&b, "#     %s,\n", quoted(r))
	}
	fmt.Fprintf(&b, "# ]\n# ///\n# Chat %s, begun %s. Files that were put into the chat are not in it.\n", s.Chat.ID, s.Chat.Begun.UTC().Format("2006-01-02 15:04 MST"))
	if needsHelper(s.Chat) {
		b.WriteString(helper)
	}
	for _, t := range s.Chat.Turns {
		fmt.Fprintf(&b, "\n# %%%% turn %d\n", t.Number)
		if !t.OnlyCode {
			comment(&b, t.Message)
		}
		for _, r := range t.Runs {
			b.WriteString("\n")
			writeRun(&b, r)
		}
		if t.Words != "" {
			b.WriteString("\n")
			comment(&b, t.Words)
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write a script: %w", err)
	}
	return nil
}

// series returns "3.14" of "3.14.6".
func series(version string) string {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	return major + "." + minor
}

// How a run is written.
type form int

const (
	plain   form = iota // its code
	literal             // a call of the helper
	told                // a comment
)

// formOf chooses the form of a run. What may not be a part of a longer file goes to the helper: more than must.
func formOf(r chat.RecordedRun) form {
	switch {
	case r.Cut, r.Error != "" && !isTraceback(r.Error):
		return told
	case r.Error != "", r.Value != "", strings.Contains(r.Code, "await"), strings.Contains(r.Code, "async"), strings.Contains(r.Code, "__future__"),
		strings.Contains(r.Code, "# ///"), strings.ContainsFunc(r.Code, unprintable):
		return literal
	}
	return plain
}

func needsHelper(c *chat.Transcript) bool {
	for _, t := range c.Turns {
		for _, r := range t.Runs {
			if formOf(r) == literal {
				return true
			}
		}
	}
	return false
}

func writeRun(b *strings.Builder, r chat.RecordedRun) {
	switch formOf(r) {
	case plain:
		b.WriteString(strings.Trim(r.Code, "\n") + "\n")
	case told:
		why := r.Error
		if r.Cut {
			why = "It is too long to be kept as a whole."
		}
		comment(b, "This run is left out. "+why)
		comment(b, r.Code)
	case literal:
		fails := ""
		if r.Error != "" {
			fails = ", fails=True"
		}
		fmt.Fprintf(b, "_cell(\"\"\"\\\n%s\"\"\"%s)\n", escape(strings.Trim(r.Code, "\n")+"\n"), fails)
	}
}

// comment writes lines that neither Python nor PEP 723 reads.
func comment(b *strings.Builder, text string) {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.TrimRight(text, "\r\n"))
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.Map(func(r rune) rune {
			if unprintable(r) {
				return '\uFFFD'
			}
			return r
		}, line)
		b.WriteString(strings.TrimRight("# | "+line, " ") + "\n")
	}
}

// unprintable reports whether a character is to be written in another way: those that do something to a terminal or that
// readers of lines take for an end of one.
func unprintable(r rune) bool {
	return r < ' ' && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// escape writes code as the inside of a string literal in three double quotes, lines as lines.
func escape(code string) string {
	var b strings.Builder
	for line := range strings.Lines(code) {
		if strings.HasPrefix(line, "# ///") { // PEP 723 does not know of literals
			line = line[1:]
			b.WriteString(`\x23`)
		}
		for _, r := range line {
			switch {
			case r == '\\':
				b.WriteString(`\\`)
			case unprintable(r):
				fmt.Fprintf(&b, `\u%04x`, r)
			default:
				b.WriteRune(r)
			}
		}
	}
	return strings.ReplaceAll(b.String(), `"""`, `\"\"\"`)
}

// quoted writes a string of TOML.
func quoted(text string) string {
	var b strings.Builder
	for _, r := range text {
		if r == '"' || r == '\\' || unprintable(r) || r == '\n' || r == '\t' {
			fmt.Fprintf(&b, `\u%04x`, r)
			continue
		}
		b.WriteRune(r)
	}
	return `"` + b.String() + `"`
}
