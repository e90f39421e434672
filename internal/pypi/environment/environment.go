// Package environment makes folders of installed packages out of unpacked wheels: farms
// of hard links, which a guest sees read-only and imports from.
//
// [Apply] brings a folder to a set of wheels, also while a guest lives that has it
// mounted: what changes is made complete in a hidden folder within, then each name of
// the first level (a package, a module, a .dist-info folder) comes, goes or is exchanged
// by one rename.
//
// # Trust
//
// Names come from package wheel, which has checked that they stay below a folder, and
// from walking trees that hold only files and folders. Guests cannot write here.
//
// # Failure
//
// An error, a full disk or a killed process leaves whole packages, old and new ones;
// the next Apply finishes, since it knows which names it was about to change.
package environment

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"runpython/internal/pypi/flock"
	"runpython/internal/pypi/wheel"
)

// Names in an environment that are ours.
const (
	stateName = wheel.StatePrefix + ".json" // what the names stand for
	stageName = wheel.StatePrefix + ".new"  // what is being made or removed
	nextName  = wheel.StatePrefix + ".next" // the state before it has its name
)

// maxState bounds the state that is read back.
const maxState = 16 << 20

// A Part is one unpacked wheel.
type Part struct {
	Content wheel.Content
	Tree    string // the folder that holds its files
}

// A state says of which wheels each name of the first level is made.
type state struct {
	Names map[string]string `json:"names"`
}

// A Change is what Apply did, in names of the first level.
type Change struct {
	Added, Replaced, Removed []string
	Copied                   bool // not linked: the environment is on another file system
}

// Apply makes the folder dir hold parts and nothing else, and says what changed. Where
// two parts have a file of the same path, that of the first one stands. It waits, until
// ctx ends, for another process that is at the same folder; once names begin to change
// it does not stop any more.
func Apply(ctx context.Context, dir string, parts []Part) (Change, error) {
	c, err := apply(ctx, dir, parts)
	if err != nil {
		return c, fmt.Errorf("environment: %w", err)
	}
	return c, nil
}

func apply(ctx context.Context, dir string, parts []Part) (c Change, err error) {
	if err := makeFolder(dir); err != nil {
		return c, err
	}
	lock, err := os.Open(dir)
	if err != nil {
		return c, err
	}
	defer lock.Close() // unlocks
	if err := flock.Wait(ctx, lock); err != nil {
		return c, err
	}
	f := farm{dir: dir, want: wanted(parts)}
	if err := f.look(); err != nil {
		return c, err
	}
	if f.plan(); len(f.come)+len(f.gone) == 0 {
		return c, f.removeLeftovers()
	}
	if err := f.clearStage(); err != nil {
		return c, err
	}
	if err := f.stage(ctx, parts); err != nil {
		return c, errors.Join(err, os.RemoveAll(f.path(stageName)))
	}
	c, err = f.swap()
	c.Copied = f.copied
	return c, errors.Join(err, os.RemoveAll(f.path(stageName)))
}

// wanted returns the state for parts.
func wanted(parts []Part) state {
	sums := map[string][]string{}
	for _, p := range parts {
		for _, top := range p.Content.Tops {
			sums[top] = append(sums[top], p.Content.Pin.SHA256)
		}
	}
	s := state{Names: make(map[string]string, len(sums))}
	for top, list := range sums {
		sum := sha256.Sum256([]byte(strings.Join(list, " ")))
		s.Names[top] = hex.EncodeToString(sum[:])
	}
	return s
}

// A farm is one environment on its way from one state to another.
type farm struct {
	dir       string
	have      state
	want      state
	there     map[string]bool // names that exist
	come      map[string]bool // names to make
	gone      []string        // names to remove
	copied    bool            // links are not possible
	leftovers bool            // of somebody who was killed
}

func (f *farm) path(name string) string { return filepath.Join(f.dir, name) }

// removeLeftovers removes what somebody who was killed left.
func (f *farm) removeLeftovers() error {
	if !f.leftovers {
		return nil
	}
	return os.RemoveAll(f.path(stageName))
}

// look reads the state and the names that are there. A state that cannot be read
// counts as none: everything is made anew.
func (f *farm) look() error {
	entries, err := os.ReadDir(f.dir)
	if err != nil {
		return err
	}
	f.there = make(map[string]bool, len(entries))
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), wheel.StatePrefix) {
			f.leftovers = f.leftovers || e.Name() == stageName
			continue
		}
		f.there[e.Name()] = true
	}
	file, err := os.Open(f.path(stateName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	if err := json.NewDecoder(io.LimitReader(file, maxState)).Decode(&f.have); err != nil {
		f.have = state{}
	}
	return nil
}

// plan compares.
func (f *farm) plan() {
	f.come = map[string]bool{}
	for name, sum := range f.want.Names {
		if !f.there[name] || f.have.Names[name] != sum {
			f.come[name] = true
		}
	}
	for name := range f.there {
		if _, ok := f.want.Names[name]; !ok {
			f.gone = append(f.gone, name)
		}
	}
	slices.Sort(f.gone)
}

// stage makes the names that come.
func (f *farm) stage(ctx context.Context, parts []Part) error {
	for _, p := range parts {
		for _, top := range p.Content.Tops {
			if !f.come[top] {
				continue
			}
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := f.link(filepath.Join(p.Tree, top), filepath.Join(f.path(stageName), top)); err != nil {
				return err
			}
		}
	}
	return nil
}

// link makes the tree from appear at to, folder by folder, file by file.
func (f *farm) link(from, to string) error {
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		target := to + strings.TrimPrefix(name, from)
		switch {
		case d.IsDir():
			err = makeFolder(target)
		case d.Type().IsRegular():
			err = f.linkFile(name, target)
		default:
			err = fmt.Errorf("%s is neither a file nor a folder", d.Name())
		}
		if errors.Is(err, fs.ErrExist) || errors.Is(err, unix.ENOTDIR) {
			return nil // the file of an earlier part stands
		}
		return err
	})
}

// makeFolder makes one folder that everybody may read, whatever the mask is.
func makeFolder(dir string) error {
	err := os.Mkdir(dir, 0o755)
	if errors.Is(err, fs.ErrNotExist) {
		err = os.MkdirAll(dir, 0o755)
	}
	if errors.Is(err, fs.ErrExist) {
		info, statErr := os.Lstat(dir)
		if statErr != nil || !info.IsDir() {
			return err
		}
		return nil
	}
	if err != nil {
		return err
	}
	return os.Chmod(dir, 0o755)
}

// linkFile links a file, or copies it where there can be no link: to another file
// system, or beyond the number of links that a file may have.
func (f *farm) linkFile(from, to string) error {
	if !f.copied {
		err := os.Link(from, to)
		if !errors.Is(err, unix.EXDEV) && !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EOPNOTSUPP) && !errors.Is(err, unix.EMLINK) {
			return err
		}
		f.copied = !errors.Is(err, unix.EMLINK)
	}
	return copyFile(from, to)
}

// copyFile copies content and mode, sharing blocks where the file system can; the
// standard library asks the kernel for that itself.
func copyFile(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	info, err := source.Stat()
	if err != nil {
		return err
	}
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return err
	}
	if unix.IoctlFileClone(int(target.Fd()), int(source.Fd())) != nil {
		_, err = io.Copy(target, source)
	}
	return errors.Join(err, target.Chmod(info.Mode().Perm()), target.Close())
}

// swap gives the staged names their place. The state first forgets the names that
// change, so that whoever comes after a killed process makes them anew.
func (f *farm) swap() (c Change, err error) {
	between := state{Names: map[string]string{}}
	for name, sum := range f.have.Names {
		if f.there[name] && !f.come[name] && f.want.Names[name] == sum {
			between.Names[name] = sum
		}
	}
	if err := f.write(between); err != nil {
		return c, err
	}
	for _, name := range f.order() {
		if err := f.place(name); err != nil {
			return c, err
		}
		if f.there[name] {
			c.Replaced = append(c.Replaced, name)
		} else {
			c.Added = append(c.Added, name)
		}
	}
	for _, name := range f.gone {
		if err := os.Rename(f.path(name), filepath.Join(f.path(stageName), name)); err != nil {
			return c, err
		}
		c.Removed = append(c.Removed, name)
	}
	return c, f.write(f.want)
}

// order returns the names that come: packages first, what describes them last.
func (f *farm) order() []string {
	var names []string
	for name := range f.come {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int {
		if x, y := strings.HasSuffix(a, ".dist-info"), strings.HasSuffix(b, ".dist-info"); x != y {
			if x {
				return 1
			}
			return -1
		}
		return strings.Compare(a, b)
	})
	return names
}

// oldSuffix marks what was moved away in the stage.
const oldSuffix = ".old"

// place gives a staged name its place, at once where the file system can exchange two
// names, else with a moment between in which it is missing.
func (f *farm) place(name string) error {
	from, to := filepath.Join(f.path(stageName), name), f.path(name)
	if !f.there[name] {
		return os.Rename(from, to)
	}
	err := unix.Renameat2(unix.AT_FDCWD, from, unix.AT_FDCWD, to, unix.RENAME_EXCHANGE)
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) {
		if err = os.Rename(to, from+oldSuffix); err == nil {
			err = os.Rename(from, to)
		}
	}
	if err != nil {
		return fmt.Errorf("exchange %s: %w", name, err)
	}
	return nil
}

// write replaces the state as a whole.
func (f *farm) write(s state) error {
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := os.WriteFile(f.path(nextName), text, 0o600); err != nil {
		return err
	}
	return os.Rename(f.path(nextName), f.path(stateName))
}
