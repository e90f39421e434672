package process_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"runpython/internal/check/process"
	"runpython/internal/fault"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func lookup(name string) (string, bool) {
	v, ok := map[string]string{"PATH": os.Getenv("PATH"), "SECRET": "leaks", "HOME": "/home/of-a-person"}[name]
	return v, ok
}

// A program gets its own variables and those that it takes to run, and no other.
func TestEnvironment(t *testing.T) {
	s, err := process.Start(t.Context(), process.Command{Name: "env", Env: map[string]string{"KEY": "value", "HOME": "/home/of-a-server"}}, lookup)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(s)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	for line, want := range map[string]bool{"KEY=value": true, "PATH=" + os.Getenv("PATH"): true, "HOME=/home/of-a-server": true, "HOME=/home/of-a-person": false, "SECRET=leaks": false} {
		if got := strings.Contains("\n"+string(text), "\n"+line+"\n"); got != want {
			t.Errorf("the environment has %s: %v, want %v", line, got, want)
		}
	}
}

// Close ends a program that does not want to end, and what it has started: all of them hold a pipe, which ends when nobody does any more.
func TestCloseEndsEverything(t *testing.T) {
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	script := `trap "" TERM HUP; exec 9>"$0"; sleep 1000 & while :; do sleep 1000; done`
	s, err := process.Start(t.Context(), process.Command{Name: "sh", Args: []string{"-c", script, fifo}}, lookup)
	if err != nil {
		t.Fatal(err)
	}
	held, err := os.Open(fifo) // once the program has it open too
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if text, err := io.ReadAll(held); err != nil || len(text) > 0 {
		t.Errorf("read %q, %v", text, err)
	}
}

// What is not there is no server to judge, and the end of a context ends no program, which Close does.
func TestStart(t *testing.T) {
	_, err := process.Start(t.Context(), process.Command{Name: "no-such-program"}, lookup)
	if kind, text := fault.Shown(err); kind != fault.NotFound || !strings.Contains(text, "installed and on PATH") {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	s, err := process.Start(ctx, process.Command{Name: "cat"}, lookup)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := io.WriteString(s, "still there\n"); err != nil {
		t.Error(err)
	}
	if line, err := bufio.NewReader(s).ReadString('\n'); line != "still there\n" {
		t.Errorf("read %q, %v", line, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
