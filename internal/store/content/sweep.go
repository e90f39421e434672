package content

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// Unreferenced returns those of some contents that no record of the database refers to.
type Unreferenced func(ctx context.Context, names []string) ([]string, error)

// removedAtOnce is how many contents are looked at while others wait.
const removedAtOnce = 100

// Remove removes those of some contents that nobody holds and no record refers to. What a guest still
// has as a file stays until Sweep.
func (s *Store) Remove(ctx context.Context, names []string, ask Unreferenced) error {
	for len(names) > 0 {
		n := min(len(names), removedAtOnce)
		if err := s.alone(ctx, func() error { return s.removeSome(ctx, names[:n], ask) }); err != nil {
			return fmt.Errorf("remove kept files: %w", err)
		}
		names = names[n:]
	}
	return nil
}

// removeSome looks for links before it asks the database: whoever gave up a hold since had its record written before
// that, and while the caller is alone nobody gets a hold.
func (s *Store) removeSome(ctx context.Context, names []string, ask Unreferenced) error {
	var alone []string
	for _, name := range names {
		info, err := os.Lstat(s.path(name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return err
		case links(info) == 1:
			alone = append(alone, name)
		}
	}
	if len(alone) == 0 {
		return nil
	}
	free, err := ask(ctx, alone)
	for _, name := range free {
		err = errors.Join(err, os.Remove(s.path(name)))
	}
	return err
}

// links is how many names a file has.
func links(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink) //nolint:unconvert // it has another type on other machines
	}
	return 1
}

// Sweep removes all contents that nobody holds and no record refers to, and what killed processes have left.
func (s *Store) Sweep(ctx context.Context, ask Unreferenced) error {
	if err := s.alone(ctx, s.endDead); err != nil {
		return fmt.Errorf("sweep kept files: %w", err)
	}
	folders, err := os.ReadDir(s.dir)
	if err != nil {
		return fmt.Errorf("sweep kept files: %w", err)
	}
	for _, folder := range folders {
		if !isHex(folder.Name(), 2) {
			continue
		}
		files, err := os.ReadDir(filepath.Join(s.dir, folder.Name()))
		if err != nil {
			return fmt.Errorf("sweep kept files: %w", err)
		}
		var names []string
		for _, f := range files {
			if isHex(f.Name(), 62) {
				names = append(names, folder.Name()+f.Name())
			}
		}
		if err := s.Remove(ctx, names, ask); err != nil {
			return err
		}
	}
	return nil
}

// isHex reports whether text is so many hex digits.
func isHex(text string, digits int) bool {
	return len(text) == digits && strings.Trim(text, "0123456789abcdef") == ""
}

// syncAll writes the file system of the folder to the disk.
func (s *Store) syncAll() error {
	f, err := os.Open(s.dir)
	if err != nil {
		return fmt.Errorf("write kept files to the disk: %w", err)
	}
	defer func() { _ = f.Close() }() // only synchronized
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return fmt.Errorf("write kept files to the disk: %w", err)
	}
	return nil
}
