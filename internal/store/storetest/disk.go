package storetest

import (
	"fmt"
	"testing"

	"golang.org/x/sys/unix"
)

// SmallDisk mounts a disk of so many bytes for the time of the test, and returns its folder. The test skips where nothing can be
// mounted.
func SmallDisk(t *testing.T, bytes int64) string {
	t.Helper()
	dir := t.TempDir()
	mount(t, "tmpfs", dir, 0, fmt.Sprintf("size=%d", bytes))
	return dir
}

// ReadOnly makes a folder one of a disk that takes no changes, until it is undone. Files that are open already can be written
// still.
func ReadOnly(t *testing.T, dir string) (undo func()) {
	t.Helper()
	unmount := mount(t, dir, dir, unix.MS_BIND, "")
	if err := unix.Mount("", dir, "", unix.MS_BIND|unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	return unmount
}

// mount mounts something until the returned function is called, or the test ends.
func mount(t *testing.T, source, dir string, flags uintptr, data string) (unmount func()) {
	t.Helper()
	if err := unix.Mount(source, dir, "tmpfs", flags, data); err != nil {
		t.Skipf("no file system can be mounted here: %v", err)
	}
	over := false
	unmount = func() {
		if over {
			return
		}
		over = true
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(unmount)
	return unmount
}
