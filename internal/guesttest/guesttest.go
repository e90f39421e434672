// Package guesttest gives tests real guests: the static program, the unpacked
// interpreter, a host, a kernel. Only tests import it.
//
// # Trust
//
// Tests trust it; guests are as hostile as the test makes them.
//
// # Failure
//
// Where the machine cannot run guests, the test is skipped with the reason;
// anything else that goes wrong ends the test.
package guesttest

import (
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"runpython/internal/kernel"
	"runpython/internal/kernel/guest"
	"runpython/internal/sandbox"
	"runpython/internal/sandbox/interpreter"
)

// BinaryVariable names a program to use instead of one that is built.
const BinaryVariable = "RUNPYTHON_TEST_BINARY"

// WheelsVariable names a folder into which the packages of .ci/wheels.txt were installed.
const WheelsVariable = "RUNPYTHON_TEST_WHEELS"

// Wheels returns the folder that WheelsVariable names; without one it skips the test.
func Wheels(t testing.TB) string {
	t.Helper()
	folder := os.Getenv(WheelsVariable)
	if folder == "" {
		t.Skipf("%s is not set: .ci/wheels installs what this needs and prints the folder", WheelsVariable)
	}
	return folder
}

// Binary returns the path of the static program. It is built once for all
// packages and runs: a race-enabled test binary is dynamic and cannot be gVisor.
func Binary(t testing.TB) string {
	t.Helper()
	Guests(t)
	path, err := binary()
	if err != nil {
		t.Fatalf("the program for guests: %v", err)
	}
	return path
}

var binary = sync.OnceValues(func() (string, error) {
	if path := os.Getenv(BinaryVariable); path != "" {
		_, err := os.Stat(path) // so "go test" knows that what passed with another one has not passed with this
		return path, err        //nolint:wrapcheck // it names the file
	}
	dir, err := cacheDir()
	if err != nil {
		return "", err
	}
	lock, err := lockFile(filepath.Join(dir, "build.lock"))
	if err != nil {
		return "", err
	}
	defer func() { _ = lock.Close() }() // unlocks
	path := filepath.Join(dir, "runpython")
	build := exec.Command("go", "build", "-trimpath", "-o", path, "runpython/cmd/runpython")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", errors.New(strings.TrimSpace(string(out)) + ": " + err.Error())
	}
	return path, nil
})

// cacheDir is of this checkout alone: others may be at another commit.
func cacheDir() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		base = os.TempDir()
	}
	_, file, _, _ := runtime.Caller(0)
	dir := filepath.Join(base, "runpython-test", strings.ReplaceAll(filepath.Dir(file), "/", "-"))
	return dir, os.MkdirAll(dir, 0o700)
}

func lockFile(name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return f, unix.Flock(int(f.Fd()), unix.LOCK_EX)
}

// Guests skips the test where guests cannot run. Who starts one in a subtest calls it before, or the rest of the test
// goes on without.
func Guests(t testing.TB) {
	t.Helper()
	if testing.Short() {
		t.Skip("guests are left out of -short tests")
	}
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skipf("guests run on Linux amd64 and arm64, not on %s %s", runtime.GOOS, runtime.GOARCH)
	}
	if !sandbox.NeedsUserNamespace() {
		return
	}
	try := exec.Command("true")
	try.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER}
	if err := try.Run(); err != nil {
		t.Skipf("without CAP_SYS_ADMIN guests need user namespaces, and this system does not allow them: %v", err)
	}
}

// Data returns a data folder of the test's own, in which the interpreter that all tests share stands
// unpacked: to do that anew would take each test seconds.
func Data(t testing.TB) string {
	t.Helper()
	data := t.TempDir()
	if err := os.Symlink(sharedInterpreter(t), filepath.Join(data, "interpreter")); err != nil {
		t.Fatalf("data folder: %v", err)
	}
	return data
}

// sharedInterpreter returns the folder in which interpreter.Open finds or unpacks what all tests share.
func sharedInterpreter(t testing.TB) string {
	t.Helper()
	dir, err := cacheDir()
	if err != nil {
		t.Fatalf("folder for the interpreter: %v", err)
	}
	dir = filepath.Join(dir, "interpreter")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatalf("folder for the interpreter: %v", err)
	}
	return dir
}

// Python returns the unpacked interpreter that all tests share.
func Python(t testing.TB) *interpreter.Interpreter {
	t.Helper()
	python, err := interpreter.Open(t.Context(), sharedInterpreter(t), guest.Files())
	if err != nil {
		t.Fatalf("unpack the interpreter: %v", err)
	}
	t.Cleanup(func() {
		if err := python.Close(); err != nil {
			t.Errorf("close the interpreter: %v", err)
		}
	})
	return python
}

// Limits are small, so that tests reach them soon.
func Limits() sandbox.Limits {
	l := sandbox.DefaultLimits()
	l.MemoryBytes, l.WorkBytes, l.OpenFiles = 512<<20, 64<<20, 256
	return l
}

// Setup is what a Host of a test is made of; change it before Open.
type Setup struct {
	Config sandbox.Config
	Key    string // of the program, for kernel.New
}

// NewSetup returns a Setup with a data folder of the test's own, no pool and no keeper.
func NewSetup(t testing.TB) *Setup {
	t.Helper()
	python := Python(t)
	limits := Limits()
	s := &Setup{Key: python.Key}
	s.Config = sandbox.Config{
		Data: t.TempDir(), Runsc: Binary(t), Interpreter: python.Home,
		Program: kernel.Program(python.Programs, python.Key, limits), Limits: limits, HostTools: true, Log: Log(t),
	}
	return s
}

// Open opens the host, which ends with the test.
func (s *Setup) Open(t testing.TB) *sandbox.Host {
	t.Helper()
	h, err := sandbox.Open(t.Context(), s.Config)
	if err != nil {
		t.Fatalf("open a host: %v", err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Errorf("close the host: %v", err)
		}
	})
	return h
}

// Kernel starts a kernel, which ends with the test. A timeout of 0 is a minute.
func (s *Setup) Kernel(t testing.TB, h *sandbox.Host, timeout time.Duration) *kernel.Kernel {
	t.Helper()
	if timeout == 0 {
		timeout = time.Minute
	}
	return s.Begin(t, h, kernel.Config{RunTimeout: timeout})
}

// Begin starts a kernel with settings of its own, which ends with the test. Limits and log are those of s.
func (s *Setup) Begin(t testing.TB, h *sandbox.Host, c kernel.Config) *kernel.Kernel {
	t.Helper()
	c.Limits, c.Log = s.Config.Limits, s.Config.Log
	guest, err := h.Take(t.Context())
	if err != nil {
		t.Fatalf("take a guest: %v", err)
	}
	k, err := kernel.New(t.Context(), guest, c, s.Key)
	if err != nil {
		t.Fatalf("begin a kernel: %v", err)
	}
	closeLater(t, k)
	return k
}

// Resume restores a kernel from the checkpoint in the folder dir; it ends with the test.
func (s *Setup) Resume(t testing.TB, h *sandbox.Host, dir string) *kernel.Kernel {
	t.Helper()
	guest, note, err := h.Restore(t.Context(), dir, nil)
	if err != nil {
		t.Fatalf("restore: %v", err)
	}
	k, err := kernel.Resume(guest, note, kernel.Config{RunTimeout: time.Minute, Limits: s.Config.Limits, Log: s.Config.Log}, s.Key)
	if err != nil {
		t.Fatalf("resume: %v", err)
	}
	closeLater(t, k)
	return k
}

func closeLater(t testing.TB, k *kernel.Kernel) {
	t.Cleanup(func() {
		if err := k.Close(); err != nil {
			t.Errorf("close the kernel: %v", err)
		}
	})
}

// Log returns a logger that writes warnings and errors to the test's log.
func Log(t testing.TB) *slog.Logger {
	return slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

type testWriter struct{ t testing.TB }

// Write logs one line.
func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}
