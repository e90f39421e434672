package cli_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"runpython/internal/check/checktest"
	"runpython/internal/cli"
	"runpython/internal/extent"
)

// checked fails tests that leave goroutines behind.
type checked struct{ *testing.M }

func (m checked) Run() int {
	code := m.M.Run()
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func TestMain(m *testing.M) {
	testscript.Main(checked{m}, map[string]func(){
		"mcp-stdio": stdioServer,
		"runpython": func() {
			os.Exit(cli.Main(context.Background(), fakeProgram(), os.Args[1:], cli.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
		},
	})
}

// Every scenario is a file of testdata/script, headed by its reason.
func TestScript(t *testing.T) {
	// An endpoint that check can scan, with a tool that tries to write on the terminal.
	site := checktest.Serve(t, checktest.Site{
		Revisions: []string{"2025-06-18"}, Auth: checktest.Calls,
		Tools: []string{`{"name":"look","description":"Looks \u001b[2J\u202eat things.","inputSchema":{"type":"object"}}`},
	})
	page := checktest.Serve(t, checktest.Site{Handler: http.NotFoundHandler()})
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			// A test binary that needs the race detector is built with cgo, and then an
			// official runsc has to stand in, here any program.
			e.Setenv("RUNPYTHON_RUNSC", "/bin/true")
			e.Setenv("GORACE", "atexit_sleep_ms=0") // else every program takes a second to end
			e.Setenv("TERM", "xterm")
			e.Setenv("ID", fakeID)
			e.Setenv("SITE", site.Endpoint())
			e.Setenv("SITE_CA", filepath.Join(e.WorkDir, "site.pem"))
			e.Setenv("PAGE", page.Endpoint())
			if err := os.WriteFile(filepath.Join(e.WorkDir, "site.pem"), site.PEM, 0o600); err != nil {
				return fmt.Errorf("the certificate of the endpoint: %w", err)
			}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"passkey": addPasskey},
		Condition: func(name string) (bool, error) {
			switch name {
			case "cgo-build":
				return withCgo, nil
			case "slow":
				return extent.PlaysSlow(), nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
	})
}
