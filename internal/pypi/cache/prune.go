package cache

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"runpython/internal/pypi/flock"
)

// removedPrefix begins the names of wheels that are being removed.
const removedPrefix = "."

// A kept is a wheel as prune sees it.
type kept struct {
	name  string
	bytes int64
	used  time.Time
}

// Prune removes the wheels that were not used longest, until the rest is within the
// limit. Wheels that an environment links stay, whatever the limit: they would take
// their room all the same. It returns how many bytes it removed.
func (k *Cache) Prune(ctx context.Context) (removed int64, err error) {
	all, total, err := k.list()
	if err != nil {
		return 0, err
	}
	slices.SortFunc(all, func(a, b kept) int { return a.used.Compare(b.used) })
	for _, w := range all {
		if total <= k.config.Bytes || ctx.Err() != nil {
			break
		}
		gone, rmErr := k.remove(w.name)
		if err = errors.Join(err, rmErr); gone {
			total -= w.bytes
			removed += w.bytes
		}
	}
	return removed, err
}

// list returns the wheels and their bytes in all. What a killed process has not
// removed wholly counts as old and empty.
func (k *Cache) list() (all []kept, total int64, err error) {
	entries, err := os.ReadDir(filepath.Join(k.config.Dir, wheelsDir))
	if err != nil {
		return nil, 0, err
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), removedPrefix) {
			if rmErr := os.RemoveAll(k.path(e.Name())); rmErr != nil {
				err = errors.Join(err, rmErr)
			}
			continue
		}
		info, statErr := e.Info()
		text, readErr := os.ReadFile(filepath.Join(k.path(e.Name()), sizeName))
		if cmp.Or(statErr, readErr) != nil {
			continue // removed by another process
		}
		n, parseErr := strconv.ParseInt(string(text), 10, 64)
		if parseErr != nil {
			err = errors.Join(err, fmt.Errorf("size of wheel %s: %w", e.Name(), parseErr))
		}
		all = append(all, kept{name: e.Name(), bytes: n, used: info.ModTime()})
		total += n
	}
	return all, total, err
}

// remove removes a wheel that nobody holds and no environment links.
func (k *Cache) remove(sum string) (gone bool, err error) {
	dir := k.path(sum)
	lock, err := os.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer lock.Close()
	if err := flock.Try(lock); err != nil {
		if errors.Is(err, flock.ErrBusy) {
			return false, nil // somebody holds it
		}
		return false, err
	}
	linked, err := isLinked(dir)
	if err != nil || linked || flock.Named(lock, dir) != nil {
		return false, err
	}
	// Renamed first, so that nobody takes what is half removed for complete.
	away := k.path(removedPrefix + sum)
	if err := os.Rename(dir, away); err != nil {
		return false, err
	}
	return true, os.RemoveAll(away)
}

// isLinked reports whether a file of the wheel has another name: in an environment.
func isLinked(dir string) (bool, error) {
	content, err := readContent(dir)
	if err != nil || len(content.Files) == 0 {
		return false, err
	}
	// Environments link all files; those that two wheels have, or that reached the
	// highest number of links, may be missing.
	for _, f := range content.Files {
		var stat unix.Stat_t
		if err := unix.Lstat(filepath.Join(dir, treeDir, f.Path), &stat); err != nil {
			return false, err
		}
		if stat.Nlink > 1 {
			return true, nil
		}
	}
	return false, nil
}

// Size returns the bytes of all wheels, bytecode included.
func (k *Cache) Size() (int64, error) {
	_, total, err := k.list()
	return total, err
}
