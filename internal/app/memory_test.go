package app_test

import (
	"errors"
	"math"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/app"
	"runpython/internal/chat"
	"runpython/internal/config"
	"runpython/internal/extent"
	"runpython/internal/fault"
	"runpython/internal/sandbox"
)

func TestLivingKernelsFitIntoTheMachine(t *testing.T) {
	for _, c := range []struct {
		memory, files int64
		want          int
	}{
		{1 << 30, 1 << 20, 24},          // memory is scarce
		{64 << 30, 1024, 96},            // descriptors are
		{64 << 30, 4096, 384},           //
		{1 << 40, math.MaxInt64, 1000},  // nothing is
		{1 << 20, 1 << 20, 4},           // at least some live
		{math.MaxInt64, 20, 4},          //
		{64 << 30, math.MaxInt64, 1000}, //
	} {
		if got := app.KernelsFor(c.memory, c.files); got != c.want {
			t.Errorf("KernelsFor(%d, %d) = %d, want %d", c.memory, c.files, got, c.want)
		}
	}
}

// A living chat takes no more descriptors than its share, of which the number of chats is made.
func TestDescriptorsOfAChat(t *testing.T) {
	extent.Long(t)
	a := open(t, func(c *config.Config) { c.Pool, c.Packages = 0, config.PackagesAuto })
	run := func() {
		if r, err := a.Turn(t.Context(), chat.Request{Message: "import os"}); err != nil || r.IsError {
			t.Fatalf("turn: %+v, %v", r, err)
		}
	}
	count := func() int {
		all, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(all)
	}
	run() // what the first one opens for all
	before := count()
	const chats = 4
	for range chats {
		run()
	}
	if took := count() - before; took > chats*app.FilesPerKernel || took < chats*5 {
		t.Errorf("%d chats take %d descriptors, reckoned are 5 to %d for each", chats, took, app.FilesPerKernel)
	}
}

// What the sandbox takes for its own is what the command line gives it.
func TestDefaultLimitsAgree(t *testing.T) {
	c := unset()
	if diff := cmp.Diff(app.LimitsOf(c), sandbox.DefaultLimits()); diff != "" {
		t.Errorf("config.Default and sandbox.DefaultLimits differ (-config +sandbox):\n%s", diff)
	}
}

// The heap has less than the machine, so that guests have the rest.
func TestHeapIsBounded(t *testing.T) {
	if got := app.HeapBytes(); got < 64<<20 || got >= math.MaxInt64/4 {
		t.Errorf("HeapBytes() = %d on %s", got, runtime.GOOS)
	}
}

// The doctor has no log to point to.
func TestRemediesOfTheInterpreter(t *testing.T) {
	for _, err := range []error{errors.New("mkdir: read-only file system"), fault.New(fault.Unsupported, nil, "free 200 MiB")} {
		if got := app.UnpackRemedy(err, "/data"); got == "" || strings.Contains(got, "log") || strings.Contains(got, "internal error") {
			t.Errorf("UnpackRemedy(%v) = %q, want what to do", err, got)
		}
	}
	if got := app.UnpackRemedy(fault.New(fault.Unsupported, nil, "free 200 MiB"), "/data"); got != "free 200 MiB" {
		t.Errorf("a remedy that is known becomes %q", got)
	}
}
