package kernel_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/extent"
	"runpython/internal/guesttest"
	"runpython/internal/kernel"
)

// supplied runs code whose missing modules supply brings.
func supplied(ctx context.Context, t *testing.T, k *kernel.Kernel, code string, supply func(context.Context, []string) []string) *kernel.Result {
	t.Helper()
	q := kernel.Request{Candidates: []kernel.Candidate{{Code: code, RunAnyway: true}}}
	if supply != nil {
		q.Supply = func(ctx context.Context, missing []string) ([]string, error) { return supply(ctx, missing), nil }
	}
	r, err := k.Run(ctx, q)
	if err != nil {
		t.Fatalf("run %.60q: %v", code, err)
	}
	return r
}

// put writes a module into the environment of k's guest.
func put(t *testing.T, k *kernel.Kernel, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(k.Environment(), name), []byte(text), 0o644); err != nil {
		t.Error(err)
	}
}

// The packages that code imports are there when it runs, in the interpreter that lives and in
// one that follows it in the same guest; no code of theirs runs at its start.
func TestSupply(t *testing.T) {
	extent.Slow(t)
	s := guesttest.NewSetup(t)
	h := s.Open(t)
	k, other := s.Kernel(t, h, 0), s.Kernel(t, h, 0)
	const look = "import sys\ntry: import cowsay\nexcept ImportError: cowsay = None\n'/opt/env' in sys.path, cowsay"
	if got := evaluate(t, k, look); got != "(True, None)" {
		t.Fatalf("before: %s", got)
	}
	var asked []string
	supply := func(_ context.Context, missing []string) []string {
		asked = append(asked, missing...)
		put(t, k, "cowsay.py", "SAYS = 'moo'\n")
		put(t, k, "startup.pth", "import os; os.write(1, b'ran')\n")
		return nil
	}
	r := supplied(t.Context(), t, k, "import cowsay, nothing.at.all\ncowsay.SAYS", supply)
	if diff := cmp.Diff([]string{"cowsay", "nothing.at.all"}, asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	if r.Status != kernel.Failed || r.Error == nil || !strings.Contains(r.Error.Message, "nothing") {
		t.Errorf("status %s, error %+v; want one about nothing", r.Status, r.Error)
	}
	asked = nil
	if r = supplied(t.Context(), t, k, "import cowsay\ncowsay.SAYS", supply); r.Value == nil || r.Value.Text != "'moo'" || asked != nil {
		t.Errorf("the second time: %+v, %+v, asked %q", r.Value, r.Error, asked)
	}
	put(t, k, "cowsay.py", "SAYS = 'MOO'\n")
	r, err := k.Run(t.Context(), kernel.Request{
		Candidates: []kernel.Candidate{{Code: "import cowsay\ncowsay.SAYS"}}, Installed: true, Changed: []string{"cowsay"},
	})
	if err != nil || r.Value == nil || r.Value.Text != "'moo'" || len(r.Notes) != 1 || !strings.Contains(r.Notes[0], "cowsay") {
		t.Errorf("another version: %+v, %v; want the old one and a note", r, err)
	}
	evaluate(t, k, "import os; os._exit(1)")
	r = supplied(t.Context(), t, k, "import cowsay\ncowsay.SAYS", supply)
	if r.Value == nil || r.Value.Text != "'MOO'" || asked != nil || r.Stdout.Text(100) != "" {
		t.Errorf("in a new interpreter: %+v, %+v, asked %q, stdout %q", r.Value, r.Error, asked, r.Stdout.Text(100))
	}
	if got := evaluate(t, other, look); got != "(True, None)" {
		t.Errorf("another guest: %s", got)
	}
	if got := evaluate(t, k, "open('/opt/env/x', 'w')"); !strings.Contains(got, "/opt/env/x") {
		t.Errorf("a guest may write: %s", got)
	}
}

// The wait is no time of the run, and the end of the call ends it: nothing has run then.
func TestSupplyIsInterrupted(t *testing.T) {
	extent.Slow(t)
	s := guesttest.NewSetup(t)
	k := s.Kernel(t, s.Open(t), 3*time.Second)
	ctx, cancel := context.WithCancelCause(t.Context())
	r := supplied(ctx, t, k, "print('ran')\nimport nothing", func(ctx context.Context, _ []string) []string {
		cancel(errors.New("the caller has gone"))
		<-ctx.Done()
		return []string{"late"}
	})
	if r.Status != kernel.Canceled || r.Stdout.Text(100) != "" || r.Reset || r.Lost {
		t.Errorf("status %s, stdout %q, reset %v, lost %v", r.Status, r.Stdout.Text(100), r.Reset, r.Lost)
	}
	if got := evaluate(t, k, "1 + 1"); got != "2" {
		t.Errorf("after it: %s", got)
	}
}

// Code that forges the kernel's question gains nothing: it is asked once a run, before the
// code, and for names of modules only.
func TestForgedNeeds(t *testing.T) {
	extent.Slow(t)
	s := guesttest.NewSetup(t)
	k := s.Kernel(t, s.Open(t), 0)
	const forge = "import sys\nsend = sys.stdin._asking._channel.send\n"
	var asked []string
	supply := func(_ context.Context, missing []string) []string {
		asked = append(asked, missing...)
		return nil
	}
	r := supplied(t.Context(), t, k, forge+"send({'op': 'needs', 'n': 1, 'needed': ['a.b', '', 'a..b', '../x', '--pre', 'a b', 'é1', '1a', 'x' * 201, 'ok_2']})", supply)
	if diff := cmp.Diff([]string{"a.b", "é1", "ok_2"}, asked); diff != "" || r.Status != kernel.OK {
		t.Errorf("status %s, error %+v, asked (-want +got):\n%s", r.Status, r.Error, diff)
	}
	r = supplied(t.Context(), t, k, "import time\nsend({'op': 'needs', 'n': 2, 'needed': ['x'] * 501})\ntime.sleep(60)", supply)
	if !r.Lost || len(asked) != 3 {
		t.Errorf("501 modules: lost %v, asked %q", r.Lost, asked)
	}
}

// An error of who supplies ends the guest before any of the code has run.
func TestSupplyGivesUp(t *testing.T) {
	extent.Slow(t)
	s := guesttest.NewSetup(t)
	k := s.Kernel(t, s.Open(t), 0)
	gone := errors.New("another guest is needed")
	r, err := k.Run(t.Context(), kernel.Request{
		Candidates: []kernel.Candidate{{Code: "open('ran', 'w')\nimport cowsay"}},
		Supply:     func(context.Context, []string) ([]string, error) { return nil, gone },
	})
	if !errors.Is(err, gone) || r != nil || !k.Lost() {
		t.Errorf("Run = %+v, %v, lost %t; want the error and the guest lost", r, err, k.Lost())
	}
}
