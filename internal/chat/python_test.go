package chat_test

import (
	"strings"
	"testing"

	"runpython/internal/chat"
)

// A script for another Python is not run and the person told; one for this Python is, also where what it asks is not understood.
func TestScriptForAnotherPython(t *testing.T) {
	s, _ := newService(t, func(o *chat.Options) { o.Python = "3.14.6" })
	script := func(asked string) *chat.Reply {
		return send(t, s, "", "# /// script\n# requires-python = \""+asked+"\"\n# ///\n"+do("ran"))
	}
	if r := script("<3.13"); !r.IsError || len(r.Runs) != 0 || !strings.Contains(r.Text, "asks for Python \\<3.13, and this server has 3.14.6") {
		t.Errorf("for an older one: %d runs, error %v, text %s", len(r.Runs), r.IsError, r.Text)
	}
	for asked, note := range map[string]string{">=3.12": "", ">=3.*": "requires-python of the script header was ignored"} {
		if r := script(asked); r.IsError || len(r.Runs) != 1 || !strings.Contains(r.Text, note) {
			t.Errorf("for %q: %d runs, error %v, text %s", asked, len(r.Runs), r.IsError, r.Text)
		}
	}
}
