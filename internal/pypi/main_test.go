package pypi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"runpython/internal/pypi"
)

// childVariable makes the test binary install something instead of testing.
const childVariable = "PYPI_TEST_CHILD"

// An order is what a child does.
type order struct {
	Config  pypi.Config
	Request pypi.Request
	Builds  bool // in guests whose builds never end
}

func TestMain(m *testing.M) {
	if text := os.Getenv(childVariable); text != "" {
		os.Exit(child(text))
	}
	goleak.VerifyTestMain(m)
}

// child installs and prints the lines of progress, then the lock.
func child(text string) int {
	var o order
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		fmt.Println(err)
		return 2
	}
	o.Config.Log = slog.New(slog.DiscardHandler)
	if o.Builds {
		o.Config.Guests = (&workshop{wait: make(chan struct{})}).start
	}
	o.Request.Progress = func(line string) { fmt.Println(line) }
	in, err := pypi.Open(context.Background(), o.Config)
	if err != nil {
		fmt.Println(err)
		return 2
	}
	defer in.Close()
	r, err := in.Install(context.Background(), o.Request)
	if err == nil {
		err = in.Compile(context.Background(), r.Lock)
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println(r.Lock)
	return 0
}

// spawn returns a child that has not begun. What it prints is for out, unless the caller
// reads it.
func spawn(t *testing.T, c pypi.Config, r pypi.Request) (*exec.Cmd, *strings.Builder) {
	t.Helper()
	c.Log = nil
	text, err := json.Marshal(order{Config: c, Request: r, Builds: c.Guests != nil})
	if err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	return cmd, &strings.Builder{}
}
