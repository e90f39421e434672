package pypi_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/extent"
	"runpython/internal/fault"
	"runpython/internal/pypi"
)

func share(t *testing.T, b bench, requirements ...string) *pypi.Shared {
	t.Helper()
	s, err := b.Share(t.Context(), requirements)
	if err != nil {
		t.Fatalf("Share(%q): %v", requirements, err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// What is shared is chosen once: the second time needs no index and gives the same folder.
func TestShare(t *testing.T) {
	x := shop(t)
	b := open(t, from(x))
	first := share(t, b, "top", "leaf<2")
	if got, want := first.Lock.String(), "leaf 1.0, top 1.0"; got != want {
		t.Errorf("Share has %q, want %q", got, want)
	}
	if diff := cmp.Diff([]string{"leaf", "top"}, first.Modules); diff != "" {
		t.Errorf("modules (-want +got):\n%s", diff)
	}
	if got := names(t, first.Folder); !cmp.Equal(got, []string{"leaf", "leaf-1.0.dist-info", "top", "top-1.0.dist-info"}) {
		t.Errorf("the folder has %v", got)
	}
	x.Server.Close()
	second := share(t, b, "leaf<2", "top")
	if second.Folder != first.Folder || !cmp.Equal(second.Lock, first.Lock) {
		t.Errorf("the second time: %s with %s, want %s with %s", second.Folder, second.Lock, first.Folder, first.Lock)
	}
	if err := os.RemoveAll(filepath.Join(first.Folder, "leaf")); err != nil {
		t.Fatal(err)
	}
	if third := share(t, b, "leaf<2", "top"); !cmp.Equal(names(t, third.Folder), []string{"leaf", "leaf-1.0.dist-info", "top", "top-1.0.dist-info"}) {
		t.Errorf("what was lost is not made again: %v", names(t, third.Folder))
	}
}

// The operator's rules are applied to what was chosen before, too.
func TestShareIsRefused(t *testing.T) {
	x := shop(t)
	b := open(t, from(x))
	share(t, b, "top")
	strict := open(t, func(c *pypi.Config) { from(x)(c); c.Dir = filepath.Join(b.dir, "packages"); c.Deny = []string{"leaf"} })
	listed := open(t, func(c *pypi.Config) { from(x)(c); c.Dir = filepath.Join(b.dir, "packages"); c.Mode = "listed" })
	for name, in := range map[string]bench{"denied": strict, "not listed": listed} {
		_, err := in.Share(t.Context(), []string{"top"})
		if kind, _ := fault.Shown(err); kind != fault.Invalid {
			t.Errorf("%s: %v, want a refusal", name, err)
		}
	}
	for _, wrong := range []string{"no-such-thing-anywhere", "../top", "top>>1"} {
		_, err := b.Share(t.Context(), []string{wrong})
		if kind, _ := fault.Shown(err); kind != fault.Invalid {
			t.Errorf("Share(%q): %v, want a refusal", wrong, err)
		}
	}
}

// What nobody has used for a week goes, unless somebody has it still.
func TestUnusedSharesAreRemoved(t *testing.T) {
	b := open(t, from(shop(t)))
	held := share(t, b, "top")
	left, err := b.Share(t.Context(), []string{"leaf<2"})
	if err == nil {
		err = left.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	long := time.Now().AddDate(0, 0, -8)
	for _, s := range []*pypi.Shared{held, left} {
		if err := os.Chtimes(filepath.Dir(s.Folder), long, long); err != nil {
			t.Fatal(err)
		}
	}
	share(t, b, "leaf")
	if _, err := os.Stat(held.Folder); err != nil {
		t.Errorf("what is held: %v", err)
	}
	if _, err := os.Stat(left.Folder); !os.IsNotExist(err) {
		t.Errorf("what nobody holds: %v, want it gone", err)
	}
}

// What is shared counts as installed and is not put into an environment, unless another version of it is, or a
// part of the same package.
func TestInstallBesideShared(t *testing.T) {
	extent.Slow(t)
	b := open(t, from(shop(t)))
	s := share(t, b, "leaf<2")
	install := func(env string, lock pypi.Lock, requirements ...string) pypi.Report {
		t.Helper()
		r, err := b.Install(t.Context(), pypi.Request{Folder: b.env(env), Requirements: requirements, Installed: lock, Shared: s.Lock})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	r := install("a", pypi.Lock{}, "leaf")
	if len(r.Added) != 0 || len(r.Present) != 1 || len(names(t, b.env("a"))) != 0 {
		t.Errorf("what is there: %+v, folder %v", r, names(t, b.env("a")))
	}
	r = install("a", r.Lock, "old-friend")
	if got, want := r.Lock.String(), "leaf 1.0, old-friend 1.0"; got != want || len(r.Added) != 1 || len(r.Changed) != 0 {
		t.Errorf("beside it: %q, added %v, changed %v; want %q", got, r.Added, r.Changed, want)
	}
	if got := names(t, b.env("a")); !cmp.Equal(got, []string{"old_friend", "old_friend-1.0.dist-info"}) {
		t.Errorf("the folder has %v", got)
	}
	r = install("b", pypi.Lock{}, "leaf>=2")
	if len(r.Changed) != 1 || r.Changed[0].From != "1.0" || !cmp.Equal(names(t, b.env("b")), []string{"leaf", "leaf-2.0.dist-info"}) {
		t.Errorf("another version: %+v, folder %v", r, names(t, b.env("b")))
	}
	// The chat's lock alone makes the environment of an interpreter that shares nothing.
	if r, err := b.Install(t.Context(), pypi.Request{Folder: b.env("c"), Installed: r.Lock}); err != nil || r.Lock.String() != "leaf 2.0" {
		t.Errorf("without sharing: %v, %v", r.Lock, err)
	}
}
