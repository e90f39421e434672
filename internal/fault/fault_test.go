package fault_test

import (
	"fmt"
	"io/fs"
	"testing"

	"runpython/internal/fault"
)

func TestShownHidesCause(t *testing.T) {
	cause := &fs.PathError{Op: "open", Path: "/var/lib/guest/41", Err: fs.ErrPermission}
	err := fmt.Errorf("chat turn: %w", fault.New(fault.Busy, cause, "no sandbox is free"))
	if kind, got := fault.Shown(err); kind != fault.Busy || got != "no sandbox is free" {
		t.Errorf("Shown(%v) = %v, %q; want busy, no sandbox is free", err, kind, got)
	}
}

func TestShownOfForeignErrorTellsNothing(t *testing.T) {
	err := &fs.PathError{Op: "open", Path: "/secret", Err: fs.ErrNotExist}
	want := "internal error; the operator's log has the details"
	if kind, got := fault.Shown(err); kind != fault.Internal || got != want {
		t.Errorf("Shown(%v) = %v, %q; want internal, %q", err, kind, got, want)
	}
}
