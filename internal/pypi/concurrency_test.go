package pypi_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"runpython/internal/extent"
	"runpython/internal/fault"
	"runpython/internal/pypi"
	"runpython/internal/pypi/indextest"
)

// warehouse is an index whose package "all" needs several with many files.
func warehouse(t *testing.T) *indextest.Index {
	x := indextest.New(t)
	all := indextest.Wheel{Name: "all", Version: "1.0"}
	for i := range 8 {
		w := indextest.Wheel{Name: fmt.Sprintf("part%d", i), Version: "1.0", Files: map[string]string{}}
		for j := range 60 {
			w.Files[fmt.Sprintf("part%d/m%d/f%d.py", i, j%7, j)] = strings.Repeat(fmt.Sprintf("x%d = %d\n", j, i), 40)
			w.Files[fmt.Sprintf("shared/p%d/f%d.py", i, j)] = "y = 1\n"
		}
		x.Add(t, w)
		all.Requires = append(all.Requires, w.Name)
	}
	x.Add(t, all)
	return x
}

const allParts = "all 1.0, part0 1.0, part1 1.0, part2 1.0, part3 1.0, part4 1.0, part5 1.0, part6 1.0, part7 1.0"

const importAll = "import all\nfor i in range(8): __import__(f'part{i}.m0.f0'); __import__(f'shared.p{i}.f5')\nprint('ok')"

// Whenever an install is killed, nothing half done is seen, and the next one succeeds.
//
// PKG-25.
func TestPKG25KilledAtAnyPoint(t *testing.T) {
	extent.Long(t)
	x := warehouse(t)
	b := open(t, from(x))
	c := config(t, b.dir, nil)
	c.IndexURL = x.URL()
	request := pypi.Request{Folder: b.env("a"), Requirements: []string{"all"}}

	rng := rand.New(rand.NewPCG(25, 25))
	var victim atomic.Pointer[os.Process]
	var after atomic.Int64 // requests for files until the kill
	x.Before = func(_ http.ResponseWriter, r *http.Request) bool {
		if p := victim.Load(); p != nil && strings.HasPrefix(r.URL.Path, "/files/") && after.Add(-1) == 0 {
			_ = p.Kill() // it may have ended
		}
		return false
	}
	killed := 0
	for i := range 16 {
		cmd, out := spawn(t, c, request)
		lines, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		after.Store(1 + rng.Int64N(12))
		if i%2 == 1 {
			after.Store(-1) // while it links
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		victim.Store(cmd.Process)
		for scan := bufio.NewScanner(lines); scan.Scan(); {
			out.WriteString(scan.Text() + "\n")
			if strings.HasPrefix(scan.Text(), "installing") && after.Load() < 0 {
				time.AfterFunc(time.Duration(rng.Int64N(int64(40*time.Millisecond))), func() { _ = cmd.Process.Kill() })
			}
		}
		err = cmd.Wait()
		victim.Store(nil)
		if strings.Contains(out.String(), "could not") {
			t.Fatalf("a child failed by itself: %s", out)
		}
		if err != nil {
			killed++
		}
		if err := b.Verify(t.Context()); err != nil {
			t.Fatalf("after a kill: %v", err)
		}
		checkWhole(t, b.env("a"))
		if i%4 == 3 { // begin anew, so that there is something to do
			forget(t, c.Dir, b.env("a"))
		}
	}
	if killed == 0 {
		t.Error("none was killed")
	}
	r := b.install(t, "a", pypi.Lock{}, "all")
	if r.Lock.String() != allParts {
		t.Errorf("installed %q", r.Lock)
	}
	if got := b.run(t, "a", importAll); got != "ok" {
		t.Errorf("import: %q", got)
	}
	entries, err := os.ReadDir(b.env("a"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".") && e.Name() != ".runpython.json" {
			t.Errorf("left over: %s", e.Name())
		}
	}
	b.Close()                                     // compiles no more
	in, err := pypi.Open(t.Context(), withLog(c)) // sweeps
	if err != nil {
		t.Fatal(err)
	}
	in.Close()
	left, err := os.ReadDir(filepath.Join(cacheDir(t, c.Dir), "new"))
	if err != nil || len(left) != 0 {
		t.Errorf("left over in the cache: %v, %v", left, err)
	}
}

// cacheDir returns the folder of the wheels.
func cacheDir(t *testing.T, dir string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "python-*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("caches %v, %v", found, err)
	}
	return found[0]
}

// forget removes the wheels and an environment.
func forget(t *testing.T, dir, env string) {
	t.Helper()
	wheels := filepath.Join(cacheDir(t, dir), "wheels")
	if err := errors.Join(os.RemoveAll(env), os.RemoveAll(wheels), os.Mkdir(wheels, 0o700)); err != nil {
		t.Fatal(err)
	}
}

// checkWhole fails if a package of an environment lacks files.
func checkWhole(t *testing.T, dir string) {
	t.Helper()
	for i := range 8 {
		part := filepath.Join(dir, fmt.Sprintf("part%d", i))
		files := 0
		err := filepath.WalkDir(part, func(name string, d fs.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(name, ".py") {
				files++
			}
			return err
		})
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil || files != 61 {
			t.Errorf("part%d has %d files, %v; want 61 or none", i, files, err)
		}
	}
}

func withLog(c pypi.Config) pypi.Config {
	c.Log = discard()
	return c
}

// Twenty chats at once want the same; one is stopped half-way.
//
// PKG-25.
func TestPKG25ManyAtOnce(t *testing.T) {
	extent.Long(t)
	x := warehouse(t)
	b := open(t, from(x))
	var wait sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	for i := range 20 {
		wait.Go(func() {
			r := pypi.Request{Folder: b.env(fmt.Sprint(i)), Requirements: []string{"all"}}
			if i == 7 {
				r.Progress = func(string) { stop() }
				if _, err := b.Install(ctx, r); err == nil {
					t.Error("the stopped one succeeded")
				}
				return
			}
			report, err := b.Install(t.Context(), r)
			if err != nil || report.Lock.String() != allParts {
				t.Errorf("chat %d: %q, %v", i, report.Lock, err)
			}
		})
	}
	wait.Wait()
	stop()
	fetched := map[string]int{}
	for _, p := range x.Asked() {
		if strings.HasPrefix(p, "/files/") {
			fetched[p]++
		}
	}
	for p, n := range fetched {
		// uv reads what needs what out of the wheel, in some pieces, and we fetch it; both once more if it was
		// the one that was stopped. Were nothing shared, it would be twenty times as often.
		if n > 12 {
			t.Errorf("%s was fetched %d times", p, n)
		}
	}
	if got := b.run(t, "3", importAll); got != "ok" {
		t.Errorf("import: %q", got)
	}
	if err := b.Verify(t.Context()); err != nil {
		t.Error(err)
	}
}

// Several processes share a cache that is empty.
func TestProcessesShareTheCache(t *testing.T) {
	extent.Long(t)
	x := warehouse(t)
	c := config(t, t.TempDir(), nil)
	c.IndexURL = x.URL()
	var wait sync.WaitGroup
	for i := range 4 {
		cmd, out := spawn(t, c, pypi.Request{Folder: filepath.Join(t.TempDir(), fmt.Sprint(i)), Requirements: []string{"all"}})
		cmd.Stdout = out
		wait.Go(func() {
			if err := cmd.Run(); err != nil || !strings.Contains(out.String(), allParts) {
				t.Errorf("process %d: %v: %s", i, err, out)
			}
		})
	}
	wait.Wait()
}

// An index that stops in the middle of a file costs that install, not the next one.
func TestDownloadBreaksOff(t *testing.T) {
	x := shop(t)
	var broken atomic.Bool
	broken.Store(true)
	x.Before = func(w http.ResponseWriter, r *http.Request) bool {
		if !broken.Load() || !strings.HasSuffix(r.URL.Path, ".whl") || r.Header.Get("User-Agent") != "runpython" {
			return false
		}
		w.Header().Set("Content-Length", "600")
		_, _ = w.Write([]byte("PK"))
		panic(http.ErrAbortHandler)
	}
	b := open(t, from(x))
	if got := b.refused(t, "leaf"); !strings.Contains(got, "broke off") {
		t.Errorf("message %q", got)
	}
	broken.Store(false)
	b.install(t, "a", pypi.Lock{}, "leaf")
}

// An index that never ends an answer is left at the time limit of an install.
func TestTimeLimit(t *testing.T) {
	extent.Slow(t)
	x := shop(t)
	end := make(chan struct{})
	x.Before = func(_ http.ResponseWriter, r *http.Request) bool {
		select {
		case <-end:
		case <-r.Context().Done():
		}
		return true
	}
	defer close(end)
	b := open(t, func(c *pypi.Config) { c.IndexURL, c.Time = x.URL(), 1500*time.Millisecond })
	if got := b.refused(t, "leaf"); !strings.Contains(got, "stopped after 1.5 s") {
		t.Errorf("message %q", got)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	_, err := b.Install(ctx, pypi.Request{Folder: b.env("a"), Requirements: []string{"leaf"}})
	if kind, _ := fault.Shown(err); kind != fault.Canceled {
		t.Errorf("a canceled install: %v", err)
	}
}

// The environment is on another file system than the cache.
//
// PKG-27.
func TestPKG27OtherFileSystem(t *testing.T) {
	extent.Long(t)
	dir, err := os.MkdirTemp("/dev/shm", "pypi") //nolint:usetesting // another file system is the point
	if err != nil {
		t.Skipf("no second file system: %v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	b := open(t, from(warehouse(t)))
	var here, there unix.Stat_t
	if err := errors.Join(unix.Stat(b.dir, &here), unix.Stat(dir, &there)); err != nil || here.Dev == there.Dev {
		t.Skipf("no second file system: %v", err)
	}
	env := filepath.Join(dir, "env")
	r, err := b.Install(t.Context(), pypi.Request{Folder: env, Requirements: []string{"all"}})
	if err != nil || r.Lock.String() != allParts || len(r.Warnings) != 0 {
		t.Fatalf("installed %q with %q, %v", r.Lock, r.Warnings, err)
	}
	checkWhole(t, env)
	text, err := os.ReadFile(filepath.Join(env, "part0/__init__.py"))
	info, statErr := os.Stat(filepath.Join(env, "part0/__init__.py"))
	if err != nil || statErr != nil || !bytes.Contains(text, []byte("1.0")) || info.Mode().Perm() != 0o444 {
		t.Errorf("copied %q, %v, mode %v", text, err, info.Mode())
	}
}
