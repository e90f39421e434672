package message_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"runpython/internal/extent"
	"runpython/internal/message"
)

// pick runs the candidate that an interpreter picks, by the rule that the kernel
// has: the first that compiles and, if it must, does something.
const pick = `
import ast, json, sys
def idle(e):
    if isinstance(e, (ast.Tuple, ast.List, ast.Set)):
        return all(map(idle, e.elts))
    return isinstance(e, (ast.Name, ast.Constant))
def acts(tree):
    return any(not isinstance(s, ast.Expr) or not idle(s.value) for s in tree.body)
candidates = json.load(sys.stdin) or []
for c in candidates:
    try:
        tree = ast.parse(c["Code"])
    except SyntaxError:
        continue
    if acts(tree) or not c["MustAct"]:
        exec(compile(tree, "<message>", "exec"), {"__name__": "__main__"})
        sys.exit()
for c in candidates:
    if c["RunAnyway"]:
        compile(c["Code"], "<message>", "exec")
print("-")
`

// runPicked returns the words that the picked candidate prints, or the last line
// of its traceback.
func runPicked(t *testing.T, m message.Message) string {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3: ", err)
	}
	candidates, err := json.Marshal(m.Candidates)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), python, "-c", pick)
	cmd.Env = append(os.Environ(), "PYTHONIOENCODING=utf-8")
	cmd.Stdin = strings.NewReader(string(candidates))
	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		lines := strings.Split(strings.TrimSpace(string(exit.Stderr)), "\n")
		return lines[len(lines)-1]
	}
	if err != nil {
		t.Skip("needs a python3 that runs: ", err)
	}
	return strings.Join(strings.Fields(string(out)), " ")
}

// TestReportedFailuresRun runs what the reported messages hold.
func TestReportedFailuresRun(t *testing.T) {
	extent.Slow(t)
	for _, c := range reported {
		t.Run(c.name, func(t *testing.T) {
			if got := runPicked(t, message.Read(c.text)); got != c.out {
				t.Errorf("Read(%q) runs as %q, want %q", c.text, got, c.out)
			}
		})
	}
}

// TestErrorsArePlain has messages whose one line of error must say what is wrong;
// TestRefusedMagics has what is told beside Python's own.
func TestErrorsArePlain(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"VAL-04 shell", "!ls", "SyntaxError: invalid syntax"},
		{"TXT-08 characters", "print(“hi”)\n)", "invalid character"},
		{"MSG-01 cut string", "```python\nx = '''\n```", "triple-quoted string literal"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := runPicked(t, message.Read(tt.text)); !strings.Contains(got, tt.want) {
				t.Errorf("Read(%q) fails with %q, which lacks %q", tt.text, got, tt.want)
			}
		})
	}
}
