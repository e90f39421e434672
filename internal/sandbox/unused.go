package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// unusedKept is how long a root or an image of another configuration is kept
// after its last use.
const unusedKept = 7 * 24 * time.Hour

// draftPrefix begins the names of folders that are being made or removed.
const draftPrefix = ".draft-"

// holdFolder locks a folder together with others who use it, and notes the use. No
// removeUnused removes it until the file is closed. A folder that
// is not there, or is just being removed, is os.ErrNotExist.
func holdFolder(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_SH); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", dir, err), f.Close())
	}
	locked, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	if there, err := os.Stat(dir); err != nil || !os.SameFile(locked, there) {
		return nil, errors.Join(os.ErrNotExist, err, f.Close())
	}
	noteUse(dir)
	return f, nil
}

// noteUse puts off the removal of a folder. Where that is not possible, it is made
// anew when it is missed.
func noteUse(dir string) {
	now := time.Now()
	_ = os.Chtimes(dir, now, now)
}

// removeUnused removes the folders in parent, drafts among them, that nobody has
// used for long and nobody holds; never the one named keep.
func removeUnused(parent, keep string) error {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return fmt.Errorf("unused folders: %w", err)
	}
	for _, e := range entries {
		info, statErr := e.Info()
		if statErr != nil || e.Name() == keep || time.Since(info.ModTime()) < unusedKept {
			continue
		}
		err = errors.Join(err, removeUnheld(filepath.Join(parent, e.Name())))
	}
	return err
}

// removeUnheld removes a folder unless somebody holds it. It takes it away by a new
// name first, since half of a folder must not look like a whole one.
func removeUnheld(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return nil // another process removes it
	}
	defer func() { _ = f.Close() }() // unlocks
	if unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) != nil {
		return nil // in use
	}
	return removeWhole(dir)
}

// removeWhole removes a folder that others look for by its name.
func removeWhole(dir string) error {
	away := dir
	if !strings.HasPrefix(filepath.Base(dir), draftPrefix) {
		away = filepath.Join(filepath.Dir(dir), draftPrefix+"old-"+randomName())
		if err := os.Rename(dir, away); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("unused folder: %w", err)
		}
	}
	return os.RemoveAll(away)
}
