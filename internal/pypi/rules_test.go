package pypi_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"runpython/internal/extent"
	"runpython/internal/fault"
	"runpython/internal/pypi"
	"runpython/internal/pypi/indextest"
)

// The operator's rules, each with its refusal.
func TestRules(t *testing.T) {
	extent.Slow(t)
	x := shop(t)
	big := indextest.Wheel{Name: "big", Version: "1.0", Files: map[string]string{"big/data": strings.Repeat("x", 200_000)}}
	x.AddFile("big", indextest.File{Name: big.File(), Bytes: big.Bytes(t), HideSize: true})
	noise := indextest.Wheel{Name: "noise", Version: "1.0", Files: map[string]string{"noise/data": random(50_000)}}
	x.AddFile("noise", indextest.File{Name: noise.File(), Bytes: noise.Bytes(t), HideSize: true})
	x.Add(t, indextest.Wheel{Name: "announced", Version: "1.0", Files: map[string]string{"announced/data": random(50_000)}})
	many := make([]string, 101)
	for i := range many {
		many[i] = fmt.Sprintf("p%d", i)
	}
	for name, test := range map[string]struct {
		change func(c *pypi.Config)
		ask    []string
		want   string
	}{
		"off":                   {func(c *pypi.Config) { c.Mode = "off" }, []string{"top"}, "(--packages off)"},
		"not listed":            {func(c *pypi.Config) { c.Mode, c.Allow = "listed", []string{"leaf"} }, []string{"top"}, "--allow-package top"},
		"denied dependency":     {func(c *pypi.Config) { c.Deny = []string{"leaf"} }, []string{"top"}, "leaf is refused: it is on this server's list of denied packages (--deny-package)"},
		"large as announced":    {func(c *pypi.Config) { c.WheelBytes = 10_000 }, []string{"announced"}, "announced 1.0 is refused: its wheel is larger than 10 kB (--package-size)"},
		"large, not announced":  {func(c *pypi.Config) { c.WheelBytes = 10_000 }, []string{"noise"}, "noise 1.0 is refused: its wheel is larger than 10 kB (--package-size)"},
		"files too large":       {func(c *pypi.Config) { c.EnvironmentBytes = 100_000 }, []string{"big"}, "(--environment-size)"},
		"together too large":    {func(c *pypi.Config) { c.EnvironmentBytes = 800 }, []string{"top"}, "(--environment-size)"},
		"too many requirements": {func(*pypi.Config) {}, many, "101 packages are asked for in this chat, at most 100 can be"},
	} {
		t.Run(name, func(t *testing.T) {
			b := open(t, func(c *pypi.Config) { c.IndexURL = x.URL(); test.change(c) })
			if got := b.refused(t, test.ask...); !strings.Contains(got, test.want) {
				t.Errorf("message %q, want %q", got, test.want)
			}
			if entries, err := os.ReadDir(b.env("refused")); err == nil && len(entries) > 0 {
				t.Errorf("the environment has %v", entries)
			}
		})
	}
	listed := open(t, func(c *pypi.Config) { c.IndexURL, c.Mode, c.Allow = x.URL(), "listed", []string{"Top"} })
	if got := listed.install(t, "a", pypi.Lock{}, "top").Lock.String(); got != "leaf 2.0, top 1.0" {
		t.Errorf("what a listed package needs: %q", got)
	}
}

// random returns n bytes that cannot be compressed, always the same.
func random(n int) string {
	var b strings.Builder
	for i, seed := 0, uint32(1); i < n; i++ {
		seed = seed*1664525 + 1013904223
		b.WriteByte(byte(seed >> 24))
	}
	return b.String()
}

func TestLookAlikeIsWarnedAbout(t *testing.T) {
	x := shop(t)
	x.Add(t, indextest.Wheel{Name: "reqeusts", Version: "1.0"})
	b := open(t, from(x))
	r := b.install(t, "a", pypi.Lock{}, "reqeusts")
	if len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "looks like requests") {
		t.Errorf("warnings %q", r.Warnings)
	}
}

// Packages younger than allowed are installed where the operator says so.
func TestAgeOff(t *testing.T) {
	extent.Slow(t)
	x := oddities(t)
	b := open(t, func(c *pypi.Config) { c.IndexURL, c.Age = x.URL(), -1 })
	if got := b.install(t, "a", pypi.Lock{}, "today").Lock.String(); got != "today 1.0" {
		t.Errorf("installed %q", got)
	}
	week := open(t, func(c *pypi.Config) { c.IndexURL, c.Age = x.URL(), 7*24*time.Hour })
	if got := week.refused(t, "today"); !strings.Contains(got, "--exclude-newer") {
		t.Errorf("message %q", got)
	}
}

// A lock of another Python is resolved anew; one that is none is refused.
func TestStoredLocks(t *testing.T) {
	b := open(t, from(shop(t)))
	r := b.install(t, "a", pypi.Lock{}, "top", "leaf<2")
	other := r.Lock
	other.Target = "3.9 vax"
	again := b.install(t, "b", other)
	if diff := cmp.Diff(r.Lock, again.Lock); diff != "" || len(again.Changed) > 0 {
		t.Errorf("for another Python: %s, changed %v", diff, again.Changed)
	}
	damaged := r.Lock
	damaged.Packages = append([]pypi.Package(nil), damaged.Packages...)
	damaged.Packages[0].SHA256 = "../../../etc"
	if _, err := b.Install(t.Context(), pypi.Request{Folder: b.env("c"), Installed: damaged}); err == nil {
		t.Error("a damaged lock was installed")
	} else if _, message := fault.Shown(err); !strings.Contains(message, "damaged") {
		t.Errorf("message %q", message)
	}
}

// A full disk is told as such, and nothing half done is left.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=700k"); err != nil {
		t.Skipf("no small file system: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	x := shop(t)
	x.Add(t, indextest.Wheel{Name: "large", Version: "1.0", Files: map[string]string{"large/data": random(600_000)}})
	b := open(t, func(c *pypi.Config) { c.IndexURL, c.Dir = x.URL(), filepath.Join(dir, "packages") })
	b.install(t, "a", pypi.Lock{}, "leaf")
	if got := b.refused(t, "large"); !strings.Contains(got, "disk of the server's data folder is full") {
		t.Errorf("message %q", got)
	}
	if err := b.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	b.install(t, "a", pypi.Lock{}, "leaf")
	b.Close() // what is compiled in the background has a folder there
	left, err := os.ReadDir(filepath.Join(cacheDir(t, filepath.Join(dir, "packages")), "new"))
	if err != nil || len(left) > 0 {
		t.Errorf("left over: %v, %v", left, err)
	}
}
