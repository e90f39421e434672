package cli_test

import (
	"strings"
	"testing"
)

// Whoever deletes at a terminal is asked, and nothing but a clear yes deletes; names of chats do nothing to the terminal.
func TestDeleteAsks(t *testing.T) {
	for name, c := range map[string]struct {
		keys  string
		ids   []string
		asked string
		said  string
		code  int
	}{
		"yes":           {"y\r", []string{fakeID}, "Delete chat " + fakeID + " with all files and variables? [y/N]", "deleted: " + fakeID, 0},
		"in full":       {" YES \r", []string{fakeID}, "[y/N]", "deleted: " + fakeID, 0},
		"no":            {"n\r", []string{fakeID}, "[y/N]", "nothing was deleted", 1},
		"nothing":       {"\r", []string{fakeID}, "[y/N]", "nothing was deleted", 1},
		"something":     {"yesterday\r", []string{fakeID}, "[y/N]", "nothing was deleted", 1},
		"end of input":  {"\x04", []string{fakeID}, "[y/N]", "nothing was deleted", 1},
		"several":       {"y\r", []string{fakeID, "none"}, "Delete 2 chats with", "there is no chat \"none\"", 1},
		"hostile names": {"n\r", []string{"\x1b[2J"}, "Delete chat ", "nothing was deleted", 1},
	} {
		t.Run(name, func(t *testing.T) {
			p := sit(t, t.TempDir(), append([]string{"chats", "delete"}, c.ids...)...)
			p.sees(c.asked)
			p.types(c.keys)
			p.sees(c.said)
			if code := p.leaves(); code != c.code || strings.Contains(p.all, "\x1b[2J") || c.code == 1 && len(c.ids) == 1 && strings.Contains(p.all, "deleted: ") {
				t.Errorf("exit code = %d, want %d, screen %q", code, c.code, p.all)
			}
		})
	}
}

// Ctrl-C at the question deletes nothing.
func TestDeleteIsInterrupted(t *testing.T) {
	p := sit(t, t.TempDir(), "chats", "delete", fakeID)
	p.sees("[y/N]")
	p.types("\x03")
	if code := p.leaves(); code == 0 || strings.Contains(p.all, "deleted: ") {
		t.Errorf("exit code = %d, screen %q", code, p.all)
	}
}
