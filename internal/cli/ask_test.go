package cli_test

import (
	"strings"
	"testing"
)

// Code that asks gets what the person types at the terminal, in a dialogue and in one run.
func TestAskAtTheTerminal(t *testing.T) {
	p := sit(t, t.TempDir(), "chat")
	p.asks("ask name? ")
	p.sees("\\x1b[2Jso far\r\nname?")
	p.types("Ada \x1b[A\r") // Up brings no message here
	p.sees("typed \"Ada \"\r\n")
	p.asks("ask")
	p.sees("? ")
	p.types("\r")
	p.sees("typed \"\"")
	p.asks("ask again? ")
	p.sees("so far\r\nagain?")
	p.types("\x04")
	p.sees("declined \"\"")
	p.asks("ask stop? ")
	p.sees("so far\r\nstop?")
	p.types("never\x03")
	p.sees("Stopped, because the caller stopped the call.")
	p.asks("get")
	p.sees(">>> ")
	p.types("\x04")
	if code := p.leaves(); code != 0 || strings.Contains(p.all, "\x1b[2J") || strings.Contains(p.all, `"never"`) {
		t.Errorf("exit code = %d, screen %q", code, p.all)
	}
}

func TestAskInOneRun(t *testing.T) {
	p := sit(t, t.TempDir(), "chat", "ask name? ")
	p.sees("name?")
	p.types("Ada\r")
	p.sees("typed \"Ada\"")
	if code := p.leaves(); code != 0 {
		t.Errorf("exit code = %d, screen %q", code, p.all)
	}
	p = sit(t, t.TempDir(), "chat", "ask name? ")
	p.sees("name?")
	p.types("\x03")
	p.sees("Stopped, because the caller stopped the call.")
	if code := p.leaves(); code != 130 {
		t.Errorf("interrupted: exit code = %d, screen %q", code, p.all)
	}
}
