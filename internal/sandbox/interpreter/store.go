package interpreter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Names in the folder of a store, besides the complete folders.
const (
	lockName  = "lock"  // locked by the process that unpacks or removes
	newPrefix = ".new-" // being unpacked; of a killed process when lockName is free
	oldPrefix = ".old-" // being removed
)

// keyDigits is how much of the key stands in a folder's name.
const keyDigits = 16

// complete matches the names of complete folders: version, key, number.
var complete = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+-[0-9a-f]{16}\.[0-9]{1,9}$`)

// lockPoll is how often a process that waits for another one looks again.
const lockPoll = 20 * time.Millisecond

// errGone says that a folder was removed between being seen and being held.
var errGone = errors.New("it was removed by another process")

// A store is the folder in which interpreters are unpacked side by side.
type store struct {
	dir  string
	want *content
}

// name returns the name of the folder numbered n.
func (s store) name(n int) string {
	return fmt.Sprintf("%s-%s.%d", s.want.version, s.want.key[:keyDigits], n)
}

// numbers returns the numbers of the folders of the wanted content, newest first.
func (s store) numbers() ([]int, error) {
	entries, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	prefix := strings.TrimSuffix(s.name(0), "0")
	var numbers []int
	for _, e := range entries {
		digits, ok := strings.CutPrefix(e.Name(), prefix)
		if !ok || !complete.MatchString(e.Name()) {
			continue
		}
		n, err := strconv.Atoi(digits)
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, n)
	}
	slices.SortFunc(numbers, func(a, b int) int { return cmp.Compare(b, a) })
	return numbers, nil
}

// find returns the newest intact folder, held, or nil; damage says what is
// wrong with newer ones.
func (s store) find() (in *Interpreter, damage error) {
	numbers, err := s.numbers()
	if err != nil {
		return nil, err
	}
	for _, n := range numbers {
		root := filepath.Join(s.dir, s.name(n))
		m, err := s.holdIntact(root)
		if err == nil {
			return s.opened(root, m), damage
		}
		if !errors.Is(err, errGone) {
			damage = errors.Join(damage, fmt.Errorf("%s: %w", filepath.Base(root), err))
		}
	}
	return nil, damage
}

func (s store) opened(root string, marker *os.File) *Interpreter {
	return &Interpreter{
		Home: filepath.Join(root, pythonDir), Programs: filepath.Join(root, programsDir),
		Version: s.want.version, Key: s.want.key,
		root: root, want: s.want, marker: marker,
	}
}

// holdIntact returns the marker of root, locked, when nothing in it was
// changed since it was unpacked.
func (s store) holdIntact(root string) (marker *os.File, err error) {
	f, err := hold(root, os.O_RDONLY, unix.LOCK_SH)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close())
		}
	}()
	m, err := parseMarker(f)
	if err != nil {
		return nil, err
	}
	if m.key != s.want.key {
		return nil, errors.New("it holds another version than its name says")
	}
	got, err := stamp(root)
	if err != nil {
		return nil, err
	}
	if got != m.stamp {
		return nil, errors.New("files were changed, removed or added")
	}
	return f, nil
}

// hold opens the marker of root and locks it without waiting. It makes sure that
// the locked file is still the one that the name stands for.
func hold(root string, flag, how int) (marker *os.File, err error) {
	name := filepath.Join(root, markerName)
	f, err := os.OpenFile(name, flag|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	if err = unix.Flock(int(f.Fd()), how|unix.LOCK_NB); err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) && how == unix.LOCK_SH {
			err = errGone // only who removes it locks it against readers
		}
		return nil, errors.Join(err, f.Close())
	}
	locked, err := f.Stat()
	if err == nil {
		var named fs.FileInfo
		if named, err = os.Lstat(name); err != nil || !os.SameFile(locked, named) {
			err = errGone
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// lock waits until no other process unpacks or removes, or ctx ends. Closing
// the file unlocks, once the processes that inherited it have ended too.
func (s store) lock(ctx context.Context) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(s.dir, lockName), os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(lockPoll)
	defer tick.Stop()
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) && !errors.Is(err, unix.EINTR) {
			return nil, errors.Join(err, f.Close())
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, errors.Join(fmt.Errorf("wait for another process that unpacks Python: %w", ctx.Err()), f.Close())
		}
	}
}

// sweep removes what no process uses: folders other than keep, and what killed
// processes left. It does nothing while another process unpacks, nor in a
// folder that it may not write.
func (s store) sweep(ctx context.Context, keep string) []error {
	names, err := s.spare(filepath.Base(keep))
	if err != nil || len(names) == 0 {
		return nonNil(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	cancel() // never wait
	lock, err := s.lock(ctx)
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, fs.ErrPermission), errors.Is(err, unix.EROFS):
		return nil
	case err != nil:
		return []error{fmt.Errorf("remove old interpreters: %w", err)}
	}
	problems := s.removeAll(names)
	return append(problems, nonNil(lock.Close())...)
}

// spare returns the names of all that is ours in the folder but keep.
func (s store) spare(keep string) ([]string, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		n := e.Name()
		if n != keep && (complete.MatchString(n) || strings.HasPrefix(n, newPrefix) || strings.HasPrefix(n, oldPrefix)) {
			names = append(names, n)
		}
	}
	return names, nil
}

// removeAll removes those of the named folders that nobody holds. The caller
// has the lock.
func (s store) removeAll(names []string) (problems []error) {
	for _, name := range names {
		if err := s.remove(name); err != nil {
			problems = append(problems, fmt.Errorf("remove old interpreter: %w", err))
		}
	}
	return problems
}

func (s store) remove(name string) error {
	path := filepath.Join(s.dir, name)
	if !complete.MatchString(name) {
		return os.RemoveAll(path) // of a killed process: ours would not have the lock twice
	}
	marker, err := hold(path, os.O_RDWR, unix.LOCK_EX)
	switch {
	case errors.Is(err, unix.EWOULDBLOCK), errors.Is(err, errGone):
		return nil // in use
	case err == nil:
		defer marker.Close()
	case !errors.Is(err, fs.ErrNotExist): // without a marker nobody can hold it
		return err
	}
	// Renamed first, so that nobody takes what is half removed for complete.
	old := filepath.Join(s.dir, oldPrefix+name)
	if err := os.RemoveAll(old); err != nil {
		return err
	}
	if err := os.Rename(path, old); err != nil {
		return err
	}
	return os.RemoveAll(old)
}

func nonNil(err error) []error {
	if err == nil {
		return nil
	}
	return []error{err}
}
