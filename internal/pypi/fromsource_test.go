package pypi_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/extent"
	"runpython/internal/fault"
	"runpython/internal/pypi"
	"runpython/internal/pypi/build"
	"runpython/internal/pypi/indextest"
)

// workshop gives builds guests that only pretend: the archive of a source is the wheel that
// they make of it. Nothing of a package is run. Real guests are in the tests of package app.
type workshop struct {
	requires string // JSON: what the guest says that the build needs
	more     string // and what the backend adds
	failing  string // JSON: the answer in place of a wheel
	name     string // of the wheel; "" is the right one
	wait     chan struct{}

	mu    sync.Mutex
	begun int
	ended int
	had   []string // what was in the environment of the last build
}

func (w *workshop) start(_ context.Context, fill func(dir string) error) (build.Guest, error) {
	dir, err := os.MkdirTemp("", "pypi-test-guest-")
	if err != nil {
		return nil, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.begun++
	g := &pretended{workshop: w, dir: dir}
	if err := os.MkdirAll(g.Environment(), 0o755); err != nil {
		return nil, err
	}
	return g, fill(dir)
}

func (w *workshop) count() (begun, ended int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.begun, w.ended
}

type pretended struct {
	workshop *workshop
	dir      string
}

func (g *pretended) Environment() string { return filepath.Join(g.dir, "env") }

func (g *pretended) Close() error {
	g.workshop.mu.Lock()
	defer g.workshop.mu.Unlock()
	g.workshop.ended++
	return os.RemoveAll(g.dir)
}

func (g *pretended) Run(ctx context.Context, code string) (build.Outcome, error) {
	or := func(text, otherwise string) build.Outcome {
		if text == "" {
			text = otherwise
		}
		return build.Outcome{Stdout: text + "\n", Log: "log\x1b[31m of the build\n"}
	}
	switch {
	case strings.HasPrefix(code, "more("):
		return or(g.workshop.more, `{"requires": []}`), nil
	case !strings.HasPrefix(code, "wheel("):
		return or(g.workshop.requires, `{"requires": []}`), nil
	}
	if g.workshop.wait != nil {
		select {
		case <-g.workshop.wait:
		case <-ctx.Done():
			return build.Outcome{Stopped: "it was stopped"}, nil
		}
	}
	if err := g.look(); err != nil {
		return build.Outcome{}, err
	}
	if g.workshop.failing != "" {
		return or(g.workshop.failing, ""), nil
	}
	name := g.workshop.name
	if name == "" {
		made, err := os.ReadFile(g.archive())
		if err != nil {
			return build.Outcome{}, err
		}
		name = wheelName(made)
	}
	return or(fmt.Sprintf(`{"wheel": %s}`, strconv.Quote(name)), ""), nil
}

// look notes what is in the environment.
func (g *pretended) look() error {
	entries, err := os.ReadDir(g.Environment())
	g.workshop.mu.Lock()
	defer g.workshop.mu.Unlock()
	g.workshop.had = nil
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			g.workshop.had = append(g.workshop.had, e.Name())
		}
	}
	return err
}

func (g *pretended) archive() string { return filepath.Join(g.dir, "source.tar.gz") }

func (g *pretended) Get(_ context.Context, _ string, w io.Writer, _ int64) (string, error) {
	f, err := os.Open(g.archive())
	if err != nil {
		return "", err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return "", err
}

// wheelName returns the name of a wheel of indextest by what is in it.
func wheelName(archive []byte) string {
	i := bytes.Index(archive, []byte(".dist-info/"))
	start := i
	for start > 0 && archive[start-1] > ' ' && archive[start-1] < 0x7f {
		start--
	}
	return string(archive[max(0, start):max(0, i)]) + "-py3-none-any.whl"
}

// source puts a source distribution on an index, of which this wheel is to be made.
func source(t *testing.T, x *indextest.Index, w indextest.Wheel, f indextest.File) {
	t.Helper()
	f.Name, f.Bytes = strings.ReplaceAll(w.Name, "-", "_")+"-"+w.Version+".tar.gz", w.Bytes(t)
	x.AddFile(w.Name, f)
}

// sources is an index with packages that have no wheels.
func sources(t *testing.T) *indextest.Index {
	x := shop(t)
	source(t, x, indextest.Wheel{Name: "raw", Version: "1.0"}, indextest.File{})
	source(t, x, indextest.Wheel{Name: "raw", Version: "2.0", Requires: []string{"leaf", "deep-er"}}, indextest.File{})
	source(t, x, indextest.Wheel{Name: "raw", Version: "3.0"}, indextest.File{Yanked: "no"})
	source(t, x, indextest.Wheel{Name: "raw", Version: "4.0"}, indextest.File{RequiresPython: ">=3.99"})
	source(t, x, indextest.Wheel{Name: "raw", Version: "5.0"}, indextest.File{Uploaded: time.Now().UTC().Format(time.RFC3339)})
	source(t, x, indextest.Wheel{Name: "raw", Version: "6.0"}, indextest.File{SHA256: "none"})
	source(t, x, indextest.Wheel{Name: "raw", Version: "7.0rc1"}, indextest.File{})
	source(t, x, indextest.Wheel{Name: "deep-er", Version: "1.0"}, indextest.File{})
	x.Add(t, indextest.Wheel{Name: "on-top", Version: "1.0", Requires: []string{"raw<2"}})
	source(t, x, indextest.Wheel{Name: "picky", Version: "1.0", Requires: []string{"leaf<2"}}, indextest.File{})
	source(t, x, indextest.Wheel{Name: "picky", Version: "2.0", Requires: []string{"leaf<1"}}, indextest.File{})
	x.Add(t, indextest.Wheel{Name: "half", Version: "1.0"})
	x.Add(t, indextest.Wheel{Name: "half", Version: "2.0", Tag: "cp38-cp38-win_amd64"})
	source(t, x, indextest.Wheel{Name: "half", Version: "1.0"}, indextest.File{})
	source(t, x, indextest.Wheel{Name: "half", Version: "2.0"}, indextest.File{})
	source(t, x, indextest.Wheel{Name: "forged", Version: "1.0"}, indextest.File{SHA256: strings.Repeat("0", 64)})
	source(t, x, indextest.Wheel{Name: "large", Version: "1.0", Files: map[string]string{"large/data": random(100_000)}}, indextest.File{HideSize: true})
	return x
}

// built opens an Installer that builds in a workshop.
func built(t *testing.T, w *workshop, change func(c *pypi.Config)) bench {
	t.Helper()
	return open(t, func(c *pypi.Config) { c.Guests = w.start; change(c) })
}

// PKG-12: what has no wheel is built, whoever needs it, in the version that fits.
func TestPKG12Built(t *testing.T) {
	extent.Long(t)
	for _, test := range []struct {
		name, ask string
		want      string
		builds    int
	}{
		{"newest that may be, with what it needs", "raw", "deep-er 1.0, leaf 2.0, raw 2.0", 2},
		{"older", "raw<2", "raw 1.0", 1},
		{"exact", "raw==1.0", "raw 1.0", 1},
		{"before its time", "raw>2,<8", "raw 7.0rc1", 1},
		{"needed by a wheel", "on-top", "on-top 1.0, raw 1.0", 1},
		{"its needs decide about its version", "picky", "leaf 1.0, picky 1.0", 2},
		{"a wheel that fits is better", "half", "half 1.0", 0},
		{"wheels for others only", "half==2.0", "half 2.0", 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := &workshop{}
			b := built(t, w, from(sources(t)))
			r := b.install(t, "a", pypi.Lock{}, test.ask)
			if begun, ended := w.count(); r.Lock.String() != test.want || begun != test.builds || ended != begun {
				t.Errorf("installed %q with %d builds, %d ended; want %q with %d", r.Lock, begun, ended, test.want, test.builds)
			}
			noted := 0
			for _, line := range r.Warnings {
				if strings.HasSuffix(line, "was built from its source in a sandbox of its own") {
					noted++
				}
			}
			if noted == 0 && test.builds > 0 {
				t.Errorf("warnings %q", r.Warnings)
			}
			again := b.install(t, "b", pypi.Lock{}, test.ask)
			if begun, _ := w.count(); begun != test.builds || again.Resolved || !cmp.Equal(r.Lock, again.Lock) {
				t.Errorf("again: %d builds, resolved %v, %s", begun, again.Resolved, again.Lock)
			}
		})
	}
}

// What was built is a package like others: it can be imported, verified, and made again of a
// lock, also by a server that builds nothing as long as it is in the cache.
func TestBuiltIsKept(t *testing.T) {
	extent.Long(t)
	w, x := &workshop{}, sources(t)
	b := built(t, w, from(x))
	r := b.install(t, "a", pypi.Lock{}, "raw")
	if got := b.run(t, "a", "import raw, leaf, importlib.metadata as m; print(raw.__version__, m.version('deep-er'))"); got != "2.0 1.0" {
		t.Errorf("imported %q", got)
	}
	p, _ := installed(r.Lock, "raw")
	if p.File != "raw-2.0.tar.gz" || !p.IsSource() || strings.Join(p.Imports, " ") != "raw" || !strings.HasSuffix(p.URL, "/files/raw/raw-2.0.tar.gz") {
		t.Errorf("locked %+v", p)
	}
	if err := b.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	if err := b.Compile(t.Context(), r.Lock); err != nil {
		t.Error(err)
	}
	b.Close()
	off := open(t, func(c *pypi.Config) { c.IndexURL, c.Dir = x.URL(), filepath.Join(b.dir, "packages") })
	if again := off.install(t, "a", r.Lock); !cmp.Equal(r.Lock, again.Lock) {
		t.Errorf("out of the cache: %s", again.Lock)
	}
	if got := off.refused(t, "raw"); !strings.HasSuffix(got, "comes as source only, and only wheels are installed here (--source-builds)") {
		t.Errorf("resolved without builds: %q", got)
	}
	forget(t, filepath.Join(b.dir, "packages"), off.env("a"))
	if got := off.fails(t, pypi.Request{Folder: off.env("a"), Installed: r.Lock}); !strings.Contains(got, "(--source-builds)") {
		t.Errorf("not in the cache, and no builds: %q", got)
	}
	off.Close()
	on := built(t, w, func(c *pypi.Config) { c.IndexURL, c.Dir = x.URL(), filepath.Join(b.dir, "packages") })
	if again := on.install(t, "a", r.Lock); !cmp.Equal(r.Lock, again.Lock) || again.Resolved {
		t.Errorf("built again: %s", again.Lock)
	}
	if begun, _ := w.count(); begun != 4 {
		t.Errorf("%d builds", begun)
	}
}

// Wherever sources come from.
func TestWhereSourcesAre(t *testing.T) {
	extent.Long(t)
	private := sources(t)
	private.User, private.Password = "user", "p4ssword"
	page := sources(t)
	page.HTML = true
	folder := t.TempDir()
	w := indextest.Wheel{Name: "raw", Version: "9.0"}
	if err := os.WriteFile(filepath.Join(folder, "raw-9.0.tar.gz"), w.Bytes(t), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		change func(c *pypi.Config)
		want   string
	}{
		"credentials": {from(private), "deep-er 1.0, leaf 2.0, raw 2.0"},
		"HTML":        {func(c *pypi.Config) { c.IndexURL, c.Age = page.URL(), -1 }, "raw 5.0"},
		"folder":      {func(c *pypi.Config) { c.NoIndex, c.FindLinks = true, []string{folder} }, "raw 9.0"},
		"two indexes": {func(c *pypi.Config) { c.IndexURL, c.ExtraIndexURLs = shop(t).URL(), []string{private.URL()} }, "deep-er 1.0, leaf 2.0, raw 2.0"},
	} {
		t.Run(name, func(t *testing.T) {
			b := built(t, &workshop{}, test.change)
			r := b.install(t, "a", pypi.Lock{}, "raw")
			if r.Lock.String() != test.want {
				t.Errorf("installed %q, want %q", r.Lock, test.want)
			}
			for _, p := range r.Lock.Packages {
				if strings.Contains(p.URL, "p4ss") {
					t.Errorf("the lock has the password: %s", p.URL)
				}
			}
			if strings.Contains(b.log.String(), "p4ss") {
				t.Errorf("the log has the password: %s", b.log)
			}
		})
	}
}

// A private index that does not answer is not replaced by a public one.
func TestSourcesOfAnotherIndex(t *testing.T) {
	private := sources(t)
	b := built(t, &workshop{}, func(c *pypi.Config) { c.IndexURL, c.ExtraIndexURLs = sources(t).URL(), []string{private.URL()} })
	lists := 0
	private.Before = func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/simple/raw/" {
			lists++
		}
		if lists < 2 { // the first is uv's
			return false
		}
		http.Error(w, "no", http.StatusServiceUnavailable)
		return true
	}
	if got := b.refused(t, "raw"); got != "the sources of raw cannot be listed: the package index answers 503" {
		t.Errorf("message %q", got)
	}
}

// What the build needs is installed by the same rules, and is in no other environment.
func TestWhatBuildsNeed(t *testing.T) {
	extent.Long(t)
	w := &workshop{requires: `{"requires": ["top"]}`, more: `{"requires": ["tool ; python_version > '3'"]}`}
	b := built(t, w, from(sources(t)))
	if r := b.install(t, "a", pypi.Lock{}, "raw<2"); r.Lock.String() != "raw 1.0" {
		t.Errorf("installed %q", r.Lock)
	}
	want := []string{"bin", "leaf", "leaf-2.0.dist-info", "tool", "tool-1.0.dist-info", "top", "top-1.0.dist-info"}
	if diff := cmp.Diff(want, w.had); diff != "" {
		t.Errorf("the build had (-want +got):\n%s", diff)
	}
	if got := names(t, b.env("a")); !cmp.Equal(got, []string{"raw", "raw-1.0.dist-info"}) {
		t.Errorf("the environment has %v", got)
	}
	for _, test := range []struct {
		name, requires string
		change         func(c *pypi.Config)
		want           string
	}{
		{"denied", `{"requires": ["leaf"]}`, func(c *pypi.Config) { c.Deny = []string{"leaf"} }, "raw 1.0 cannot be built from its source, because of what its build needs: leaf is refused: it is on this server's list of denied packages (--deny-package)"},
		{"source", `{"requires": ["deep-er"]}`, func(*pypi.Config) {}, "because of what its build needs: deep-er 1.0 comes as source only, and only wheels are installed here"},
		{"unknown", `{"requires": ["no-such-thing"]}`, func(*pypi.Config) {}, `because of what its build needs: the package index has no package named "no-such-thing"`},
		{"option", `{"requires": ["--index-url=x"]}`, func(*pypi.Config) {}, `because of what its build needs: "--index-url=x" is not a package that can be installed`},
		{"many", `{"requires": [` + strings.Repeat(`"leaf",`, 100) + `"leaf"]}`, func(*pypi.Config) {}, "its build needs more than 100 packages"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := &workshop{requires: test.requires}
			b := built(t, w, func(c *pypi.Config) { from(sources(t))(c); test.change(c) })
			if got := b.refused(t, "raw<2"); !strings.Contains(got, test.want) {
				t.Errorf("message %q, want %q", got, test.want)
			}
			if begun, ended := w.count(); begun != 1 || ended != 1 {
				t.Errorf("%d builds begun, %d ended", begun, ended)
			}
		})
	}
}

// A build that fails, or whose wheel is not what it should be, is told in one line, and not
// tried again at once.
func TestFailedBuilds(t *testing.T) {
	extent.Long(t)
	for _, test := range []struct {
		name   string
		w      *workshop
		ask    string
		want   string
		builds int
		log    string
	}{
		{"failed", &workshop{failing: `{"failed": "hook"}`}, "raw<2", "raw 1.0 has no wheel and cannot be built from its source: its build failed", 1, "log[31m of the build"},
		{"no JSON", &workshop{failing: "{"}, "raw<2", "its build failed", 1, "log[31m of the build"},
		{"unknown word", &workshop{failing: `{"failed": "<b>"}`}, "raw<2", "cannot be built from its source: its build failed", 1, "log[31m of the build"},
		{"path", &workshop{name: "../raw-1.0-py3-none-any.whl"}, "raw<2", "what its build made of its source is not as a wheel of it must be", 1, ""},
		{"another package", &workshop{name: "leaf-1.0-py3-none-any.whl"}, "raw<2", "what its build made of its source is not as a wheel of it must be", 1, ""},
		{"another Python", &workshop{name: "raw-1.0-cp38-cp38-linux_x86_64.whl"}, "raw<2", "what its build made of its source is not as a wheel of it must be", 1, ""},
		{"forged source", &workshop{}, "forged", "forged 1.0 is not installed: what came is not what the package index announced", 0, ""},
		{"large source", &workshop{}, "large", "large 1.0 is refused: its source is larger than 50 kB (--package-size)", 0, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := built(t, test.w, func(c *pypi.Config) { from(sources(t))(c); c.WheelBytes = 50_000 })
			for range 2 {
				_, err := b.Install(t.Context(), pypi.Request{Folder: b.env("a"), Requirements: []string{test.ask}})
				if kind, got := fault.Shown(err); kind == fault.Internal || !strings.Contains(got, test.want) || strings.Contains(got, "\n") {
					t.Fatalf("%v %q, want %q", kind, got, test.want)
				}
				if got := pypi.BuildLog(err); got != test.log {
					t.Errorf("log %q, want %q", got, test.log)
				}
			}
			if begun, ended := test.w.count(); begun != test.builds || ended != begun {
				t.Errorf("%d builds begun, %d ended; want %d", begun, ended, test.builds)
			}
			left, err := filepath.Glob(filepath.Join(b.dir, "packages", "builds", "[^.]*"))
			if err != nil || len(left) > 0 {
				t.Errorf("left %v, %v", left, err)
			}
		})
	}
}

// What has sources that must not be built is not said to lack builds.
func TestSourcesThatAreNotBuilt(t *testing.T) {
	extent.Long(t)
	w := &workshop{}
	b := built(t, w, from(sources(t)))
	for _, ask := range []string{"raw==3.0", "raw==6.0"} {
		if got := b.refused(t, ask); !strings.HasPrefix(got, "nothing that fits of raw can be installed: it has no wheel, and its sources were withdrawn, have no digest,") {
			t.Errorf("%s: message %q", ask, got)
		}
	}
	if begun, _ := w.count(); begun != 0 {
		t.Errorf("%d builds", begun)
	}
}

// Many chats that need one source, of two programs: one build.
func TestOneBuildForAll(t *testing.T) {
	extent.Long(t)
	w, x, dir := &workshop{}, sources(t), t.TempDir()
	var all sync.WaitGroup
	for i := range 2 {
		b := built(t, w, func(c *pypi.Config) { c.IndexURL, c.Dir = x.URL(), filepath.Join(dir, "packages") })
		for k := range 3 {
			all.Go(func() {
				folder := filepath.Join(dir, fmt.Sprintf("env%d-%d", i, k))
				if r, err := b.Install(t.Context(), pypi.Request{Folder: folder, Requirements: []string{"raw<2"}}); err != nil || r.Lock.String() != "raw 1.0" {
					t.Errorf("installed %q, %v", r.Lock, err)
				}
			})
		}
	}
	all.Wait()
	if begun, ended := w.count(); begun != 1 || ended != 1 {
		t.Errorf("%d builds begun, %d ended", begun, ended)
	}
}

// A build ends with the install that wants it.
func TestStoppedBuild(t *testing.T) {
	extent.Slow(t)
	w := &workshop{wait: make(chan struct{})}
	b := built(t, w, from(sources(t)))
	ctx, cancel := context.WithCancel(t.Context())
	_, err := b.Install(ctx, pypi.Request{Folder: b.env("a"), Requirements: []string{"raw<2"}, Progress: func(line string) {
		if strings.HasPrefix(line, "building ") {
			cancel()
		}
	}})
	if kind, _ := fault.Shown(err); kind != fault.Canceled {
		t.Errorf("stopped: %v", err)
	}
	close(w.wait)
	if r := b.install(t, "a", pypi.Lock{}, "raw<2"); r.Lock.String() != "raw 1.0" {
		t.Errorf("afterwards: %s", r.Lock)
	}
	if begun, ended := w.count(); begun != 2 || ended != 2 {
		t.Errorf("%d builds begun, %d ended", begun, ended)
	}
}

// A build that takes too long is a matter of its package, which is not waited for a second time.
func TestBuildBeyondTheTimeLimit(t *testing.T) {
	extent.Long(t)
	x, w := sources(t), &workshop{wait: make(chan struct{})}
	b := built(t, w, func(c *pypi.Config) {
		from(x)(c)
		c.Time = 5 * time.Second
	})
	for range 2 {
		_, err := b.Install(t.Context(), pypi.Request{Folder: b.env("a"), Requirements: []string{"raw<2"}})
		if kind, text := fault.Shown(err); kind != fault.Invalid || !strings.Contains(text, "building it from its source was stopped after 5 s") {
			t.Errorf("%v: %s", kind, text)
		}
	}
	if begun, ended := w.count(); begun != 1 || ended != 1 {
		t.Errorf("%d builds begun, %d ended", begun, ended)
	}
}

// When a server is killed while it builds, nothing half done is taken for a package, and the
// next one builds anew.
func TestKilledWhileItBuilds(t *testing.T) {
	extent.Long(t)
	w, x := &workshop{}, sources(t)
	b := built(t, w, from(x))
	c := config(t, b.dir, nil)
	c.IndexURL, c.Guests = x.URL(), w.start
	cmd, _ := spawn(t, c, pypi.Request{Folder: b.env("a"), Requirements: []string{"raw<2"}})
	cmd.Env = append(cmd.Env, "TMPDIR="+t.TempDir())
	lines, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	reached := false
	for scan := bufio.NewScanner(lines); scan.Scan(); {
		if strings.HasPrefix(scan.Text(), "building raw 1.0") {
			reached = true
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil || !reached {
		t.Fatalf("it was not killed while it built: %v", err)
	}
	left, err := filepath.Glob(filepath.Join(b.dir, "packages", "builds", "[^.]*"))
	if err != nil || len(left) != 2 { // an offer and a build
		t.Errorf("left %v, %v", left, err)
	}
	if r := b.install(t, "a", pypi.Lock{}, "raw<2"); r.Lock.String() != "raw 1.0" {
		t.Errorf("installed %q", r.Lock)
	}
	if begun, _ := w.count(); begun != 1 {
		t.Errorf("%d builds", begun)
	}
	if err := b.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	old := time.Now().Add(-24 * time.Hour)
	for _, name := range left {
		if err := os.Chtimes(name, old, old); err != nil {
			t.Fatal(err)
		}
	}
	open(t, func(c *pypi.Config) { c.Dir = filepath.Join(b.dir, "packages") }) // sweeps
	if left, err = filepath.Glob(filepath.Join(b.dir, "packages", "builds", "[^.]*")); err != nil || len(left) > 0 {
		t.Errorf("left after a while: %v, %v", left, err)
	}
}

// uv, which runs on the host, is not told of any source, so it builds none: the code of a
// package that would leave a mark runs nowhere, not even to tell what it needs.
func TestPKG10NothingIsBuiltOnTheHost(t *testing.T) {
	extent.Slow(t)
	x := sources(t)
	x.AddFile("source", indextest.File{Name: "source-1.0.tar.gz", Bytes: sdist(t, "source")})
	x.Add(t, indextest.Wheel{Name: "needs-source", Version: "1.0", Requires: []string{"source"}})
	w := &workshop{name: "source-1.0-py3-none-any.whl"} // its archive is no wheel
	b := built(t, w, from(x))
	for _, name := range []string{"source", "needs-source", "source==1.0"} {
		if got := b.refused(t, name); got != "source 1.0 is not installed: what its build made of its source is not as a wheel of it must be" {
			t.Errorf("message %q", got)
		}
	}
	if begun, _ := w.count(); begun != 1 {
		t.Errorf("%d builds", begun)
	}
	if _, err := os.Lstat(mark(t)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the build of a source distribution ran on the host: %v", err)
	}
	built, err := filepath.Glob(filepath.Join(b.dir, "packages", "uv", "cache", "*dists*", "[^.]*"))
	if err != nil || len(built) > 0 {
		t.Errorf("uv has source distributions: %v, %v", built, err)
	}
}
