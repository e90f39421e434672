package message

import (
	"fmt"
	"strconv"
	"strings"
)

// A cell is one block of code after the habits of notebooks are taken out. It
// has as many lines as the block had.
type cell struct {
	code         string
	foreign      string // not "": the block is a %%cell of this kind, and code is empty
	requirements []string
	notes        []string
	touched      bool   // a line was taken out
	refused      int    // not 0: the line that cannot be honoured and stays as it is, counted from 1
	refusal      string // … what to write instead
}

// isNotebookLine reports whether line, at the begin of a statement, is no
// Python but something that notebooks understand: !command, %magic, %%magic, or
// a plain "pip install x". No statement of Python begins with ! or %.
func isNotebookLine(line string) bool {
	line = strings.TrimLeft(line, " \t")
	if line == "" {
		return false
	}
	switch line[0] {
	case '!':
		command := strings.TrimLeft(strings.TrimPrefix(line[1:], "!"), " ")
		return command != "" && (isLetter(command[0]) || strings.IndexByte("./~${_", command[0]) >= 0)
	case '%':
		name := strings.TrimPrefix(line[1:], "%")
		return name != "" && isLetter(name[0])
	}
	return isPlainInstall(line)
}

// isSureNotebook reports whether a notebook line cannot well be prose: a command
// right after its !, a magic that is known, a request for packages.
func isSureNotebook(line string) bool {
	if line[0] == '!' {
		_, install := parseInstall(line)
		return install || line[1] != ' '
	}
	name, _, _ := strings.Cut(strings.TrimLeft(line, "%"), " ")
	return line[0] != '%' || isHarmlessMagic(name) || isHarmlessCell(name) || isPythonCell(name) || magicAdvice(name) != anyMagic
}

// readCell takes notebook lines out of code. Lines that ask for packages become
// requirements, harmless ones are commented out. The others stay, so that Python
// refuses them where they stand, and the first of them is told. help is whether "name?" is such a line, which in bare text it is not.
func readCell(code string, help bool) cell {
	var c cell
	if name := foreignCell(code); name != "" {
		return cell{foreign: name}
	}
	if name, args, ok := cellMagic(code); ok && isPythonCell(name) {
		code = strings.Replace(code, "%%"+name+args, "", 1)
	}
	if !strings.ContainsAny(code, "!%?") && !strings.Contains(code, "install ") && !strings.Contains(code, "add ") {
		c.code = code
		return c
	}
	var (
		l   lexer
		out strings.Builder
	)
	lines := strings.SplitAfter(code, "\n")
	for i := 0; i < len(lines); i++ {
		fresh := l.fresh()
		text := strings.TrimSuffix(lines[i], "\n")
		tokens := l.line(text)
		if len(tokens) > 0 && tokens[0].kind == notebook {
			end := i + 1
			for ; l.shell && end < len(lines); end++ {
				l.line(strings.TrimSuffix(lines[end], "\n"))
			}
			c.touched = true
			c.notebookLine(&out, lines[i:end], i+1)
			i = end - 1
			continue
		}
		if fresh && c.refused == 0 {
			if advice := notebookExpression(tokens, help); advice != "" {
				c.refuse(i+1, text, advice)
			}
		}
		out.WriteString(lines[i])
	}
	c.code = out.String()
	return c
}

// cellMagic returns the name of the %%cell magic that code begins with and the
// rest of its line.
func cellMagic(code string) (name, args string, ok bool) {
	rest, ok := strings.CutPrefix(strings.TrimLeft(code, " \t\n"), "%%")
	if !ok {
		return "", "", false
	}
	line := firstLine(rest)
	name, _, _ = strings.Cut(line, " ")
	return name, line[len(name):], true
}

// foreignCell returns the name of the %%cell magic that makes code another
// language, "" if there is none.
func foreignCell(code string) string {
	name, _, ok := cellMagic(code)
	if !ok || isHarmlessCell(name) || isPythonCell(name) {
		return ""
	}
	return "%%" + printable(clip(name, maxLanguageBytes))
}

func isHarmlessCell(name string) bool {
	switch name {
	case "time", "timeit", "capture":
		return true
	}
	return false
}

func isPythonCell(name string) bool {
	return name == "python" || name == "python3" || name == "py"
}

func (c *cell) refuse(line int, text, advice string) {
	if c.refused == 0 {
		c.refused = line
		c.refusal = fmt.Sprintf("%q is notebook syntax that does not run here; %s", clip(strings.TrimSpace(text), 80), advice)
	}
}

// notebookLine writes what takes the place of a notebook line, which goes over
// several physical lines when they end in backslashes.
func (c *cell) notebookLine(out *strings.Builder, lines []string, nr int) {
	joined := strings.TrimSpace(strings.Join(lines, ""))
	body := strings.TrimLeft(lines[0], " \t")
	indent := lines[0][:len(lines[0])-len(body)]
	if in, ok := parseInstall(joined); ok {
		c.requirements = append(c.requirements, in.requirements...)
		if in.unknown != "" {
			c.notes = append(c.notes, fmt.Sprintf("no packages were taken from %q, whose option %s is not known here",
				clip(joined, 80), printable(clip(in.unknown, 40))))
		}
		for _, word := range in.ignored {
			c.notes = append(c.notes, fmt.Sprintf("%q was left out of the packages", clip(word, 60)))
		}
		commentOut(out, indent, lines)
		return
	}
	name, args, _ := strings.Cut(strings.TrimLeft(joined, "%"), " ")
	refuse := func(advice string) {
		c.refuse(nr, joined, advice)
		out.WriteString(strings.Join(lines, ""))
	}
	switch {
	case joined[0] == '!':
		refuse(shellAdvice(strings.TrimLeft(joined, "! ")))
		return
	case name == "time" || name == "timeit":
		c.notes = append(c.notes, "%"+name+" was ignored: what follows it ran once")
		if statement := timedStatement(args); statement != "" && len(lines) == 1 {
			out.WriteString(indent + statement + lineBreak(lines[0]))
			return
		}
	case isHarmlessMagic(name):
		c.notes = append(c.notes, "%"+name+" was ignored")
	default:
		refuse(magicAdvice(name))
		return
	}
	commentOut(out, indent, lines)
}

// commentOut writes lines as comments. An indented one may be all that its
// block has, so it becomes a statement.
func commentOut(out *strings.Builder, indent string, lines []string) {
	if indent != "" {
		out.WriteString(indent + "pass  ")
	}
	for i, line := range lines {
		if i == 0 {
			line = line[len(indent):]
		}
		out.WriteString("# " + line)
	}
}

func lineBreak(line string) string {
	if strings.HasSuffix(line, "\n") {
		return "\n"
	}
	return ""
}

// timedStatement drops the options of %timeit.
func timedStatement(args string) string {
	for {
		args = strings.TrimLeft(args, " \t")
		if len(args) < 2 || args[0] != '-' || !isLetter(args[1]) {
			return args
		}
		option, rest, _ := strings.Cut(args, " ")
		switch option {
		case "-n", "-r", "-p":
			_, rest, _ = strings.Cut(strings.TrimLeft(rest, " "), " ")
		case "-q", "-o", "-t", "-c", "-v":
		default:
			if strings.Trim(option[2:], "0123456789") != "" || len(option) == 2 {
				return args
			}
		}
		args = rest
	}
}

// notebookExpression returns what to write instead of "x = !command",
// "x = %magic" and, with help, "name?".
func notebookExpression(t []token, help bool) string {
	if len(t) < 2 {
		return ""
	}
	if last := t[len(t)-1]; help && (last.is(stray, "?") || t[0].is(stray, "?")) {
		return "use help(name)"
	}
	for i := 1; i+1 < len(t) && i < maxTargetTokens; i++ {
		if !t[i].is(operator, "=") {
			continue
		}
		switch {
		case t[i+1].is(stray, "!"):
			return "use subprocess.run(command, shell=True, capture_output=True, text=True).stdout"
		case t[i+1].is(operator, "%"):
			return anyMagic
		}
	}
	return ""
}

// maxTargetTokens is how far into a line the "=" of "x = !command" is looked for.
const maxTargetTokens = 64

func isHarmlessMagic(name string) bool {
	switch name {
	case "matplotlib", "load_ext", "reload_ext", "unload_ext", "autoreload", "config", "precision", "colors",
		"xmode", "pprint", "capture", "autosave", "automagic", "autocall", "notebook", "gui", "aimport":
		return true
	}
	return false
}

// shellAdvice says what to write instead of !command.
func shellAdvice(command string) string {
	name, rest, _ := strings.Cut(command, " ")
	if name == "cd" && strings.ContainsAny(rest, "&|;<>$`") { // more than a folder
		name = ""
	}
	switch name {
	case "cd":
		return "use os.chdir(" + strconv.QuoteToASCII(clip(strings.TrimSpace(rest), 60)) + ")"
	case "pip", "pip3", "uv", "conda", "mamba", "apt", "apt-get", "brew":
		return "ask for packages of PyPI with !pip install NAME"
	}
	return "use subprocess.run(" + strconv.QuoteToASCII(clip(command, 80)) + ", shell=True)"
}

// magicAdvice says what to write instead of %name.
func magicAdvice(name string) string {
	switch name {
	case "cd":
		return "use os.chdir(...)"
	case "pwd":
		return "use os.getcwd()"
	case "ls", "ll":
		return "use os.listdir()"
	case "env", "set_env":
		return `use os.environ["NAME"] = "value"`
	case "run":
		return "use runpy.run_path(...)"
	case "who", "whos":
		return "use dir() or globals()"
	case "reset":
		return "begin a new chat for a fresh interpreter"
	case "pylab":
		return "use import numpy as np and import matplotlib.pyplot as plt"
	case "conda", "mamba", "pip", "uv":
		return "ask for packages of PyPI with !pip install NAME"
	case "writefile", "file":
		return `use open("name", "w").write(...)`
	case "sx", "system", "bash", "sh", "script", "!":
		return "use subprocess.run(command, shell=True)"
	}
	return anyMagic
}

// anyMagic is the advice for a magic that is not known.
const anyMagic = "write the Python that it stands for"
