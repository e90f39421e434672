package environment

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"runpython/internal/pypi/flock"
)

// bytecodeDir is where Python keeps bytecode beside its source.
const bytecodeDir = "__pycache__"

// AddBytecode links the bytecode of a wheel, which was compiled after the environment
// dir was made of it, beside the sources that are still those of the wheel. Each folder
// of bytecode comes by one rename; nothing else changes. An environment that is removed
// before or meanwhile is not made again.
func AddBytecode(ctx context.Context, dir string, p Part) error {
	err := addBytecode(ctx, dir, p)
	if _, statErr := os.Lstat(dir); errors.Is(statErr, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("add bytecode to an environment: %w", err)
	}
	return nil
}

func addBytecode(ctx context.Context, dir string, p Part) error {
	lock, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer lock.Close() // unlocks
	if err := flock.Wait(ctx, lock); err != nil {
		return err
	}
	if err := flock.Named(lock, dir); err != nil {
		return err
	}
	f := farm{dir: dir}
	if err := f.clearStage(); err != nil {
		return err
	}
	err = filepath.WalkDir(p.Tree, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() || d.Name() != bytecodeDir {
			return err
		}
		return errors.Join(f.addFolder(p.Tree, name), ctx.Err())
	})
	return errors.Join(err, os.RemoveAll(f.path(stageName)))
}

// clearStage makes the hidden folder, empty, but not the environment that it is in.
func (f *farm) clearStage() error {
	if err := os.RemoveAll(f.path(stageName)); err != nil {
		return err
	}
	return os.Mkdir(f.path(stageName), 0o700)
}

// addFolder links one folder of bytecode of tree.
func (f *farm) addFolder(tree, from string) error {
	sources := filepath.Dir(from)
	place := filepath.Join(f.dir, strings.TrimPrefix(sources, tree))
	if _, err := os.Lstat(filepath.Join(place, bytecodeDir)); err == nil {
		return nil // it has some
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	stage := filepath.Join(f.path(stageName), bytecodeDir)
	if err := errors.Join(os.RemoveAll(stage), os.Mkdir(stage, 0o755), os.Chmod(stage, 0o755)); err != nil {
		return err
	}
	linked := 0
	for _, e := range entries {
		stem := strings.TrimSuffix(e.Name(), ".pyc") // "name.cpython-314"
		source := stem[:max(0, strings.LastIndexByte(stem, '.'))] + ".py"
		if !sameFile(filepath.Join(sources, source), filepath.Join(place, source)) {
			continue
		}
		if err := f.linkFile(filepath.Join(from, e.Name()), filepath.Join(stage, e.Name())); err != nil {
			return err
		}
		linked++
	}
	if linked == 0 {
		return nil
	}
	err = unix.Rename(stage, filepath.Join(place, bytecodeDir))
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EEXIST) || errors.Is(err, unix.ENOTEMPTY) {
		return nil
	}
	return err
}

// sameFile reports whether two names are of one file.
func sameFile(a, b string) bool {
	one, err := os.Lstat(a)
	if err != nil {
		return false
	}
	two, err := os.Lstat(b)
	return err == nil && os.SameFile(one, two)
}
