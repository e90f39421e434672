package chat_test

import (
	"strings"
	"testing"

	"runpython/internal/chat"
	"runpython/internal/pypi"
	"runpython/internal/pypi/wheel"
)

// preloaded returns a service whose interpreters have six 1 ahead.
func preloaded(t *testing.T) (*chat.Service, *world) {
	t.Helper()
	shelf := newShelf()
	shelf.needs = map[string]string{"needy": "six==2"}
	lock := pypi.Lock{Packages: []pypi.Package{{Pin: wheel.Pin{Name: "six", Version: "1"}, Imports: []string{"six"}}}}
	s, w := newService(t, func(o *chat.Options) {
		o.Packages, o.Preload = shelf, func() pypi.Lock { return lock }
	})
	w.packages, w.ahead = true, []string{"six"}
	return s, w
}

// What is preloaded is there, and nothing is installed for it.
func TestPreloadedPackagesAreThere(t *testing.T) {
	s, w := preloaded(t)
	if r := ask(t, s, "", "import six"); r.IsError || strings.Contains(r.Text, "nstalled") || w.started != 1 {
		t.Errorf("%d interpreters, text:\n%s", w.started, r.Text)
	}
	if r := send(t, s, "", "!pip install six\n"+do("import six")); r.IsError || !strings.Contains(r.Text, "There already: six.") {
		t.Errorf("asked for by name:\n%s", r.Text)
	}
}

// A chat that wants another version of something preloaded, before any of its code has run, gets an
// interpreter that has not loaded it.
func TestOtherVersionOfThePreloaded(t *testing.T) {
	for name, message := range map[string]string{
		"asked for by name":   "!pip install six==2\n" + do("import six"),
		"needed by an import": do("import needy six"),
	} {
		s, w := preloaded(t)
		r := send(t, s, "", message)
		if r.IsError || r.State != chat.New || w.started != 2 || !strings.Contains(r.Text, "six 2") || strings.Contains(r.Text, "it was") {
			t.Errorf("%s: state %s, %d interpreters, text:\n%s", name, r.State, w.started, r.Text)
		}
		if got := r.Runs[0].Value; got != "told of " {
			t.Errorf("%s: the run was %q, want nothing loaded that has changed", name, got)
		}
		// The next interpreter of this chat is one without the preloaded from the beginning.
		ask(t, s, r.ChatID, "lose")
		if r = ask(t, s, r.ChatID, "import six"); r.IsError || r.State != chat.Reset || w.started != 3 {
			t.Errorf("%s: later: state %s, %d interpreters, text:\n%s", name, r.State, w.started, r.Text)
		}
	}
}

// An interpreter that has run code is kept, and the code is told what has changed under it.
func TestOtherVersionOfThePreloadedLater(t *testing.T) {
	s, w := preloaded(t)
	id := ask(t, s, "", "set x").ChatID
	r := send(t, s, id, "!pip install six==2\n"+do("import six"))
	if r.IsError || r.State != chat.Kept || w.started != 1 || r.Runs[0].Value != "told of six" || !strings.Contains(r.Text, "six 2 (it was 1)") {
		t.Errorf("state %s, %d interpreters, value %s, text:\n%s", r.State, w.started, r.Runs[0].Value, r.Text)
	}
	if r := ask(t, s, id, "get x"); r.IsError {
		t.Errorf("the variable is lost:\n%s", r.Text)
	}
}
