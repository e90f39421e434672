package interpreter_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"runpython/internal/extent"
	"runpython/internal/fault"
	"runpython/internal/sandbox/interpreter"
)

// scenarioVariable names the scenario that a child process of these tests runs
// instead of tests; its arguments follow the "--" of the command line.
const scenarioVariable = "INTERPRETER_TEST_SCENARIO"

func TestMain(m *testing.M) {
	name := os.Getenv(scenarioVariable)
	if name == "" {
		code := m.Run()
		if os.RemoveAll(templateDir) != nil { // nothing where no test needed it
			code = 1
		}
		os.Exit(code)
	}
	if err := scenarios()[name](os.Args[len(os.Args)-1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// scenarios are what a child process may do with a folder.
func scenarios() map[string]func(dir string) error {
	return map[string]func(string) error{
		"open":      func(dir string) error { return openAndTell(dir, programs("1")) },
		"stop":      func(dir string) error { return openAndTell(dir, &pausing{FS: programs("1"), pause: tellAndWait}) },
		"hold":      holdUntilTold,
		"umask":     func(dir string) error { syscall.Umask(0o077); return openAndTell(dir, programs("1")) },
		"small":     func(dir string) error { return onTmpfs(dir, "size=100m", 0) },
		"fills":     func(dir string) error { return onTmpfs(dir, "size=220m", 0) },
		"noexec":    func(dir string) error { return onTmpfs(dir, "size=400m", unix.MS_NOEXEC) },
		"read-only": openReadOnly,
	}
}

// pausing is a file system that calls pause when a file is read for the second
// time: by then CPython is unpacked, the programs are not, nothing is complete.
type pausing struct {
	fs.FS
	pause func()
	mu    sync.Mutex
	seen  map[string]bool
}

func (p *pausing) Open(name string) (fs.File, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.seen[name] && name == "init.py" {
		p.pause()
	}
	if p.seen == nil {
		p.seen = map[string]bool{}
	}
	p.seen[name] = true
	return p.FS.Open(name)
}

func openAndTell(dir string, programs fs.FS) error {
	in, err := interpreter.Open(context.Background(), dir, programs)
	if err != nil {
		return err
	}
	fmt.Println(in.Home)
	return in.Close()
}

func tellAndWait() {
	fmt.Println("half way")
	if _, err := io.ReadAll(os.Stdin); err != nil {
		panic(err)
	}
}

func holdUntilTold(dir string) error {
	in, err := interpreter.Open(context.Background(), dir, programs("1"))
	if err != nil {
		return err
	}
	fmt.Println(in.Home)
	_, err = io.ReadAll(os.Stdin)
	return err
}

// onTmpfs unpacks into a small file system. If it is large enough to begin, it is
// filled half way. It prints the error's kind and text and what was left.
func onTmpfs(dir, options string, flags uintptr) error {
	if err := unix.Mount("tmpfs", dir, "tmpfs", flags, options); err != nil {
		return err
	}
	filler := filepath.Join(dir, "filler")
	fsys := &pausing{FS: programs("1"), pause: func() { fill(filler) }}
	if strings.Contains(options, "400m") {
		fsys.pause = func() {}
	}
	_, err := interpreter.Open(context.Background(), dir, fsys)
	entries, readErr := os.ReadDir(dir)
	if readErr != nil {
		return readErr
	}
	kind, message := fault.Shown(err)
	fmt.Printf("%s: %s\n", kind, message)
	for _, e := range entries {
		fmt.Println(e.Name())
	}
	return nil
}

// fill writes until the disk is full.
func fill(name string) {
	f, err := os.Create(name)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	if !errors.Is(err, unix.ENOSPC) {
		panic(err)
	}
}

// openReadOnly opens what is in dir while dir cannot be written, and a folder
// that is empty.
func openReadOnly(dir string) error {
	for _, d := range []string{dir, filepath.Join(dir, "empty")} {
		if err := unix.Mount(d, d, "", unix.MS_BIND, ""); err != nil {
			return err
		}
		if err := unix.Mount("", d, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o600); !errors.Is(err, unix.EROFS) {
		return errors.Join(errors.New("the folder is not read-only"), err)
	}
	in, err := interpreter.Open(context.Background(), dir, programs("1"))
	if err != nil {
		return err
	}
	fmt.Println(len(in.Warnings), in.Verify(context.Background()))
	_, err = interpreter.Open(context.Background(), filepath.Join(dir, "empty"), programs("1"))
	kind, message := fault.Shown(err)
	fmt.Printf("%s: %s\n", kind, message)
	return nil
}

// A child is a process that runs a scenario.
type child struct {
	*exec.Cmd
	stdin  io.WriteCloser
	stdout *bufio.Reader
	stderr *strings.Builder
}

// spawn starts a child, which ends on its own or with the tests.
func spawn(scenario, dir string, attr *syscall.SysProcAttr) (*child, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &child{Cmd: exec.Command(exe, "--", dir), stderr: new(strings.Builder)}
	c.Env = append(os.Environ(), scenarioVariable+"="+scenario)
	c.Stderr = c.stderr
	c.SysProcAttr = attr
	if c.stdin, err = c.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := c.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.stdout = bufio.NewReader(out)
	return c, c.Start()
}

// end returns the lines that a child printed, once it has ended.
func (c *child) end() ([]string, error) {
	out, err := io.ReadAll(c.stdout)
	if err := errors.Join(err, c.Wait()); err != nil {
		return nil, fmt.Errorf("child: %w: %s", err, c.stderr)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n"), nil
}

func start(t *testing.T, scenario, dir string, attr *syscall.SysProcAttr) *child {
	t.Helper()
	c, err := spawn(scenario, dir, attr)
	if err != nil && attr != nil {
		t.Skipf("this machine does not let its users make namespaces (user and mount): %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = c.Process.Kill() // of one that a failed test has not waited for
		_ = c.Wait()
	})
	return c
}

func (c *child) line(t *testing.T) string {
	t.Helper()
	s, err := c.stdout.ReadString('\n')
	if err != nil {
		t.Fatalf("child: %v: %s", err, c.stderr)
	}
	return strings.TrimSpace(s)
}

func (c *child) finish(t *testing.T) []string {
	t.Helper()
	lines, err := c.end()
	if err != nil {
		t.Fatal(err)
	}
	return lines
}

// ownMounts puts a child into namespaces in which it may mount.
func ownMounts() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{
		Cloneflags:  unix.CLONE_NEWUSER | unix.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{HostID: os.Getgid(), Size: 1}},
	}
}

// TestKilledHalfWay kills a process while another one waits for it, and a third
// has no more patience.
func TestKilledHalfWay(t *testing.T) {
	extent.Long(t)
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "made", "by", "Open")
	killed := start(t, "stop", dir, nil)
	if got := killed.line(t); got != "half way" {
		t.Fatalf("child says %q", got)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err := interpreter.Open(ctx, dir, programs("1"))
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "wait for another process") {
		t.Errorf("Open = %v, want that it waited for another process until its deadline", err)
	}
	waiting := start(t, "open", dir, nil)
	if got := names(t, dir); len(got) != 2 || !strings.HasPrefix(got[0], ".new-") {
		t.Errorf("while one unpacks the folder holds %v, want the lock and what is half done", got)
	}
	if err := killed.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	home := waiting.finish(t)[0]
	in := open(t, dir, programs("1"))
	if err := in.Verify(t.Context()); err != nil || in.Home != home {
		t.Errorf("Verify = %v of %s, want it intact and what the waiting process has made, %s", err, in.Home, home)
	}
	if got, want := names(t, dir), []string{filepath.Base(filepath.Dir(home)), "lock"}; !cmp.Equal(got, want) {
		t.Errorf("folder holds %v, want %v", got, want)
	}
}

func TestOtherProcessKeepsItsVersion(t *testing.T) {
	extent.Long(t)
	t.Parallel()
	dir := unpacked(t)
	c := start(t, "hold", dir, nil)
	home := c.line(t)
	open(t, dir, programs("2"))
	if _, err := os.Stat(home); err != nil {
		t.Errorf("a folder that another process uses: %v", err)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(); err == nil {
		t.Error("the killed child ended well")
	}
	open(t, dir, programs("2"))
	if _, err := os.Stat(home); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a folder of a killed process: %v, want it removed", err)
	}
}

func TestDiskFull(t *testing.T) {
	extent.Slow(t)
	t.Parallel()
	for name, want := range map[string][]string{
		"small": {"unsupported: the disk of the data directory has 100 MiB free, Python needs 192 MiB to be unpacked: " +
			"free some, or choose another disk with --data", "lock"},
		"fills": {"unsupported: the disk of the data directory became full while Python was unpacked, which needs 192 MiB: " +
			"free some, or choose another disk with --data", "filler", "lock"},
	} {
		t.Run(name, func(t *testing.T) {
			got := start(t, name, t.TempDir(), ownMounts()).finish(t)
			if d := cmp.Diff(want, got); d != "" {
				t.Errorf("what Open says and leaves (-want +got):\n%s", d)
			}
		})
	}
}

func TestNoexec(t *testing.T) {
	extent.Long(t)
	t.Parallel()
	got := start(t, "noexec", t.TempDir(), ownMounts()).finish(t)
	want := []string{"unsupported: Python does not start from the data directory: it needs a file system that is not " +
		"mounted noexec (choose another one with --data) and the GNU C library", "lock"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("what Open says and leaves (-want +got):\n%s", d)
	}
}

func TestReadOnly(t *testing.T) {
	extent.Slow(t)
	t.Parallel()
	dir := unpacked(t)
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	got := start(t, "read-only", dir, ownMounts()).finish(t)
	want := []string{"0 <nil>", "unsupported: the data directory cannot be written and holds no usable copy of Python: " +
		"choose another one with --data"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("what Open says (-want +got):\n%s", d)
	}
}

// TestListsAreFresh makes the lists again from the module that go.mod names.
func TestListsAreFresh(t *testing.T) {
	extent.Long(t)
	t.Parallel()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command on this machine")
	}
	dir := t.TempDir()
	if out, err := exec.Command("go", "run", "./mklist", dir).CombinedOutput(); err != nil {
		t.Fatalf("mklist: %v: %s", err, out)
	}
	for _, name := range []string{"linux-amd64.txt", "linux-arm64.txt"} {
		want, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("lists", name))
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != string(want) {
			t.Errorf("lists/%s is not what mklist writes; run: go generate ./internal/sandbox/interpreter", name)
		}
	}
}
