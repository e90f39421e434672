package interpreter

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/kluctl/go-embed-python/python"
	"golang.org/x/sys/unix"

	"runpython/internal/fault"
)

// roomBytes is what must be free to begin: 149 MB while CPython is unpacked, of
// which 53 MB stay, bytecode included; the rest is a margin.
const roomBytes = 192 << 20

// install unpacks a new folder, or waits for another process that does and takes
// its folder. damage is what is wrong with folders that are there.
func (s store) install(ctx context.Context, damage error) (in *Interpreter, err error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("unpack Python %s: %w", s.want.version, errors.Join(err, damage))
	}
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, s.unwritable(err, damage)
	}
	lock, err := s.lock(ctx)
	if err != nil {
		return nil, s.unwritable(err, damage)
	}
	defer func() {
		err = errors.Join(err, lock.Close())
		if err != nil && in != nil {
			err, in = errors.Join(err, in.Close()), nil
		}
	}()
	if in, _ := s.find(); in != nil {
		return in, nil
	}
	warnings, err := s.makeRoom()
	if err != nil {
		return nil, err
	}
	tmp, err := os.MkdirTemp(s.dir, newPrefix)
	if err != nil {
		return nil, s.unwritable(err, damage)
	}
	in, err = s.place(ctx, tmp, lock)
	if err != nil {
		err = fmt.Errorf("unpack Python %s into %s: %w", s.want.version, s.dir, s.explain(err))
		return nil, errors.Join(err, os.RemoveAll(tmp))
	}
	in.Warnings = warnings
	return in, nil
}

// place builds a folder at tmp and gives it its name.
func (s store) place(ctx context.Context, tmp string, lock *os.File) (in *Interpreter, err error) {
	if err := s.build(ctx, tmp, lock); err != nil {
		return nil, err
	}
	marker, err := hold(tmp, os.O_RDONLY, unix.LOCK_SH) // before anybody can see it
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, marker.Close())
		}
	}()
	numbers, err := s.numbers()
	if err != nil {
		return nil, err
	}
	next := 1
	if len(numbers) > 0 {
		next = numbers[0] + 1
	}
	root := filepath.Join(s.dir, s.name(next))
	if err := os.Rename(tmp, root); err != nil {
		return nil, err
	}
	if err := flush(s.dir, unix.Fsync); err != nil {
		return nil, err
	}
	return s.opened(root, marker), nil
}

// build fills tmp: CPython and programs, checked; bytecode; list; marker.
func (s store) build(ctx context.Context, tmp string, lock *os.File) error {
	if err := unpackPython(tmp, s.want.python); err != nil {
		return err
	}
	if err := s.copyPrograms(tmp); err != nil {
		return err
	}
	if err := compile(ctx, tmp, lock); err != nil {
		return err
	}
	files, err := seal(tmp, s.want.byPath())
	if err != nil {
		return err
	}
	m := marker{key: s.want.key}
	if m.list, err = writeSealed(tmp, s.want.version, files); err != nil {
		return err
	}
	if m.stamp, err = stamp(tmp); err != nil {
		return err
	}
	// All else is on disk before the marker that vouches for it.
	if err := flush(tmp, unix.Syncfs); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(tmp, markerName), []byte(m.text()), 0o644); err != nil {
		return err
	}
	return flush(tmp, unix.Syncfs)
}

// unpackPython writes the embedded CPython to root and leaves in it the files in
// want, each checked. The embedding module's own call cannot leave anything out and
// writes a symbolic link as a copy of its target; both are put right here.
func unpackPython(root string, want []file) error {
	home := filepath.Join(root, pythonDir)
	if _, err := python.NewEmbeddedPythonWithTmpDir(home, false); err != nil {
		return err
	}
	if err := os.Remove(home + ".lock"); err != nil { // the module's, not needed inside a folder of our own
		return err
	}
	listed := make(map[string]file, len(want))
	for _, f := range want {
		listed[f.path] = f
	}
	err := walk(root, func(f found) error {
		w, ok := listed[f.path]
		if !ok || w.target != "" {
			return os.Remove(f.host)
		}
		delete(listed, f.path)
		if err := f.matches(w); err != nil {
			return fmt.Errorf("embedded file %s: %w", f.path, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for name, w := range listed {
		if w.target == "" {
			return fmt.Errorf("embedded file %s is missing", name)
		}
		if err := os.Symlink(w.target, filepath.Join(root, filepath.FromSlash(name))); err != nil {
			return err
		}
	}
	return removeEmptyDirs(home)
}

// removeEmptyDirs removes the folders of what was left out.
func removeEmptyDirs(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		child := filepath.Join(dir, e.Name())
		if err := removeEmptyDirs(child); err != nil {
			return err
		}
		if err := os.Remove(child); err != nil && !errors.Is(err, unix.ENOTEMPTY) {
			return err
		}
	}
	return nil
}

// copyPrograms writes the guest programs to root.
func (s store) copyPrograms(root string) error {
	if err := os.Mkdir(filepath.Join(root, programsDir), 0o755); err != nil {
		return err
	}
	for _, f := range s.want.programs {
		rel, err := filepath.Rel(programsDir, filepath.FromSlash(f.path))
		if err != nil {
			return err
		}
		text, err := fs.ReadFile(s.want.source, filepath.ToSlash(rel))
		if err != nil {
			return err
		}
		if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != f.sum {
			return fmt.Errorf("guest program %s changed while it was copied", f.path)
		}
		name := filepath.Join(root, filepath.FromSlash(f.path))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, text, f.mode); err != nil {
			return err
		}
	}
	return nil
}

// writeSealed writes the list of all files and returns its digest.
func writeSealed(root, version string, files []file) (sum string, err error) {
	text := fmt.Appendf(nil, "version %s\n", version)
	for _, f := range files {
		text = append(text, f.line()...)
	}
	name := filepath.Join(root, sealedName)
	if err := os.WriteFile(name, text, 0o444); err != nil {
		return "", err
	}
	digest := sha256.Sum256(text)
	return hex.EncodeToString(digest[:]), settle(name, 0o444)
}

// flush calls sync, which is fsync or syncfs, on dir.
func flush(dir string, sync func(int) error) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := sync(int(f.Fd())); err != nil {
		return fmt.Errorf("flush %s to disk: %w", dir, err)
	}
	return nil
}

// makeRoom removes what nobody uses and makes sure that there is room for more.
// The caller has the lock.
func (s store) makeRoom() (warnings []error, err error) {
	names, err := s.spare("")
	if err != nil {
		return nil, err
	}
	warnings = s.removeAll(names)
	free, err := s.free()
	if err != nil {
		return nil, err
	}
	if free < roomBytes {
		return nil, fault.New(fault.Unsupported, fmt.Errorf("%s: %w", s.dir, unix.ENOSPC),
			fmt.Sprintf("the disk of the data directory has %d MiB free, Python needs %d MiB to be unpacked: "+
				"free some, or choose another disk with --data", free>>20, roomBytes>>20))
	}
	return warnings, nil
}

// free returns the bytes that this user may still write in the folder.
func (s store) free() (uint64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(s.dir, &st); err != nil {
		return 0, fmt.Errorf("free space of %s: %w", s.dir, err)
	}
	return st.Bavail * uint64(st.Bsize), nil
}

// explain gives the failures that are the machine's the words that help.
func (s store) explain(err error) error {
	free, statErr := s.free()
	switch {
	case fault.IsDiskFull(err), statErr == nil && free < 1<<20:
		return fault.New(fault.Unsupported, err, fmt.Sprintf("the disk of the data directory became full while "+
			"Python was unpacked, which needs %d MiB: free some, or choose another disk with --data", roomBytes>>20))
	case errors.Is(err, errNotExecutable):
		return fault.New(fault.Unsupported, err, "Python does not start from the data directory: it needs a file "+
			"system that is not mounted noexec (choose another one with --data) and the GNU C library")
	}
	return err
}

// unwritable explains why there is nothing to use and nothing could be unpacked.
func (s store) unwritable(err, damage error) error {
	if !errors.Is(err, fs.ErrPermission) && !errors.Is(err, unix.EROFS) {
		return fmt.Errorf("unpack Python %s into %s: %w", s.want.version, s.dir, errors.Join(err, damage))
	}
	return fault.New(fault.Unsupported, errors.Join(err, damage),
		"the data directory cannot be written and holds no usable copy of Python: choose another one with --data")
}
