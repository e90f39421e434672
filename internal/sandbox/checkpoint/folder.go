package checkpoint

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// LinkTree makes the folder to with hard links to the files below from, and copies of those that cannot have one
// more. It makes the folders anew and takes nothing but folders and regular files. to may be an empty folder.
func LinkTree(from, to string) error {
	err := filepath.WalkDir(from, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		target := filepath.Join(to, below)
		switch {
		case entry.IsDir():
			return makeLike(target, entry)
		case entry.Type().IsRegular():
			err := os.Link(name, target) //nolint:gosec // nobody but the server writes in these folders
			if errors.Is(err, syscall.EMLINK) || errors.Is(err, syscall.EXDEV) || errors.Is(err, syscall.EPERM) {
				return copyFile(name, target)
			}
			return err
		default:
			return fmt.Errorf("%s is neither a file nor a folder", below)
		}
	})
	if err != nil {
		return fmt.Errorf("link a folder: %w", err)
	}
	return nil
}

// makeLike makes a folder with the mode of another, whatever the umask is.
func makeLike(dir string, like fs.DirEntry) error {
	info, err := like.Info()
	if err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	return os.Chmod(dir, info.Mode().Perm())
}

// LinkImage makes the folder to with hard links to the files of the image from: it lives on as long as they do.
func LinkImage(from, to string) error {
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	for _, name := range Files() {
		if err := os.Link(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
			return err
		}
	}
	return nil
}

// OpenImage opens the files of the image dir. The caller closes them.
func OpenImage(dir string) ([]*os.File, error) {
	var files []*os.File
	for _, name := range Files() {
		f, err := os.Open(filepath.Join(dir, name))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("open an image: %w", err), closeFiles(files))
		}
		files = append(files, f)
	}
	return files, nil
}

func closeFiles(files []*os.File) error {
	var err error
	for _, f := range files {
		err = errors.Join(err, f.Close())
	}
	return err
}

func copyFile(from, to string) error {
	source, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = source.Close() }() // only read from
	info, err := source.Stat()
	if err != nil {
		return err
	}
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Chmod(info.Mode().Perm()), target.Close(), os.Chtimes(to, info.ModTime(), info.ModTime()))
}

// writeDurable makes a file and has the disk keep it.
func writeDurable(name string, write func(f *os.File) error) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err = write(f); err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// replace gives the folder draft the name dir; what had that name before is removed.
func replace(draft, dir string) error {
	err := unix.Renameat2(unix.AT_FDCWD, draft, unix.AT_FDCWD, dir, unix.RENAME_EXCHANGE)
	old := draft
	switch {
	case errors.Is(err, unix.ENOENT): // nothing was there
		err, old = os.Rename(draft, dir), ""
	case errors.Is(err, unix.EINVAL), errors.Is(err, unix.ENOSYS): // this file system cannot: for a moment none is there
		old = draft + ".old"
		if err = os.Rename(dir, old); err == nil {
			err = os.Rename(draft, dir)
		}
	}
	if err != nil {
		return fmt.Errorf("rename: %w", err)
	}
	err = syncFolder(filepath.Dir(dir))
	if old != "" {
		err = errors.Join(err, os.RemoveAll(old))
	}
	return err
}
