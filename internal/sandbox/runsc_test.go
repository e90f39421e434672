package sandbox

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

func TestSomeProcessors(t *testing.T) {
	upper := make([]int, 0, 32) // as in a container that has the second half of a machine
	for cpu := 32; cpu < 64; cpu++ {
		upper = append(upper, cpu)
	}
	for _, test := range []struct {
		from     []int
		n, start int
		want     []int
	}{
		{[]int{0, 1, 2, 3}, 1, 2, []int{2}},
		{[]int{0, 1, 2, 3}, 2, 3, []int{0, 3}},
		{[]int{0, 1, 2, 3}, 2, 1023, []int{0, 3}},
		{upper, 1, 5, []int{37}},
		{upper, 2, 31, []int{32, 63}},
		{[]int{1, 9, 1023}, 2, 1, []int{9, 1023}},
		{[]int{7}, 4, 3, []int{7}},
	} {
		var from unix.CPUSet
		for _, cpu := range test.from {
			from.Set(cpu)
		}
		chosen := someProcessors(&from, test.n, test.start)
		var got []int
		for cpu := range maxProcessors {
			if chosen.IsSet(cpu) {
				got = append(got, cpu)
			}
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("someProcessors(%v, %d, %d) (-want +got):\n%s", test.from, test.n, test.start, diff)
		}
	}
}

func TestNamespacesAreExplained(t *testing.T) {
	for errno, want := range map[syscall.Errno]string{
		syscall.EPERM:  "does not let this process make",
		syscall.ENOSPC: "the limit on",
		syscall.EINVAL: "the kernel of this system has no",
		syscall.ENOENT: "no such file",
	} {
		cause := &os.PathError{Op: "fork/exec", Path: "/bin/x", Err: errno}
		err := explainNamespaces(cause)
		if !strings.Contains(err.Error(), want) || errors.Is(err, syscall.ENOSPC) {
			t.Errorf("explainNamespaces(%v) = %v; want it with %q, and not taken for a full disk", cause, err, want)
		}
	}
	if err := TryNamespaces(t.Context(), "/does/not/exist"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("TryNamespaces of no program = %v; want that it does not exist", err)
	}
}
