package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// blockBytes is the unit in which the system counts what a file takes (stat(2)).
const blockBytes = 512

// CheckpointBytes returns what the checkpoint in dir takes on the disk, without the image from which it differs.
// What the host had put into /work counts, although others may still have the same files.
func CheckpointBytes(dir string) (int64, error) {
	return diskBytes(map[fileID]bool{}, dir, filepath.Join(dir, baseName))
}

// ImageBytes returns what the images of the data folder take on the disk, together with those that are kept by nothing but
// the checkpoints in a folder of them. Each counts once, however many refer to it. It looks at three files of each checkpoint:
// some 10 ms for 1,000.
func ImageBytes(data, checkpoints string) (int64, error) {
	bases, err := filepath.Glob(filepath.Join(checkpoints, "*", baseName))
	if err != nil {
		return 0, fmt.Errorf("size of images: %w", err)
	}
	seen := make(map[fileID]bool)
	sum, err := diskBytes(seen, filepath.Join(data, "images"), "")
	for _, dir := range bases {
		more, moreErr := diskBytes(seen, dir, "")
		sum, err = sum+more, errors.Join(err, moreErr)
	}
	return sum, err
}

// A fileID is what the links to one file have in common.
type fileID struct{ device, number uint64 }

// diskBytes returns what is below dir and not below except, without what was seen before. What is not
// there, or goes meanwhile, takes nothing.
func diskBytes(seen map[fileID]bool, dir, except string) (sum int64, err error) {
	err = filepath.WalkDir(dir, func(name string, entry fs.DirEntry, err error) error {
		if name == except {
			return fs.SkipDir
		}
		var info fs.FileInfo
		if err == nil {
			info, err = entry.Info()
		}
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		stat, ok := info.Sys().(*syscall.Stat_t)
		if !ok {
			return errors.New("no system that has inodes")
		}
		if id := (fileID{stat.Dev, stat.Ino}); !seen[id] {
			seen[id] = true
			sum += stat.Blocks * blockBytes
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("size of a folder: %w", err)
	}
	return sum, nil
}
