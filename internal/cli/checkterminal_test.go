package cli_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"runpython/internal/check/checktest"
)

// On a terminal the report has colours, unless nobody wants them, and in either case no line of it is wider than 80 characters; what is
// shown while it works is gone at the end.
func TestCheckOnTerminal(t *testing.T) {
	site := checktest.Serve(t, checktest.Site{Revisions: []string{"2025-06-18"}, Tools: []string{`{"name":"look","description":"` + strings.Repeat("Looks. ", 40) + `","inputSchema":{"type":"object"}}`}})
	for name, c := range map[string]struct {
		environment []string
		colours     bool
	}{
		"as it is": {nil, true},
		"NO_COLOR": {[]string{"NO_COLOR=1"}, false},
		"dumb":     {[]string{"TERM=dumb"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			program := exec.CommandContext(t.Context(), "runpython", "check", site.Endpoint())
			program.Env = append(append(os.Environ(), "GORACE=atexit_sleep_ms=0", "TERM=xterm", "NO_COLOR=", "RUNPYTHON_RUNSC=/bin/true", "RUNPYTHON_DATA="+t.TempDir()), c.environment...)
			p := start(t, program)
			p.sees("Tools (")
			if code := p.leaves(); code != 0 {
				t.Errorf("exit code %d", code)
			}
			_, report, found := strings.Cut(p.all, site.Endpoint())
			if coloured := strings.Contains(report, "\x1b[31mFAIL"); coloured != c.colours || !found {
				t.Errorf("colours: %v, want %v; screen %q", coloured, c.colours, p.all)
			}
			plain := regexp.MustCompile("\x1b\\[[0-9;]*m").ReplaceAllString(report, "")
			if strings.Contains(plain, "\x1b") {
				t.Errorf("the report moves the cursor: %q", plain)
			}
			for line := range strings.Lines(plain) {
				if n := utf8.RuneCountInString(strings.TrimRight(line, "\r\n")); n > 80 {
					t.Errorf("a line has %d characters: %q", n, line)
				}
			}
		})
	}
}
