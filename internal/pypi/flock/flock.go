// Package flock locks files between processes, and between goroutines that have opened
// them each for itself.
//
// A lock is an open file: closing it unlocks, and so does the end of a process, however
// it ends.
//
// # Trust
//
// The files are in the folders of this program; other users cannot open them.
//
// # Failure
//
// What cannot be locked is an error of the file system, or of a context that ended
// while another one had the lock.
package flock

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// poll is how often a waiting one looks whether the lock is free; the system call that
// waits cannot be told to stop.
const poll = 10 * time.Millisecond

// ErrBusy says that somebody else has the lock.
var ErrBusy = errors.New("locked by another one")

// Open opens the file name, which is made if needed, and waits until nobody else has
// it locked, or ctx ends. The caller closes it.
func Open(ctx context.Context, name string) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := Wait(ctx, f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Wait locks f against all others, once it is free, or returns the cause of ctx's end.
func Wait(ctx context.Context, f *os.File) error {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		err := Try(f)
		if !errors.Is(err, ErrBusy) {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// Try locks f against all others, or returns ErrBusy.
func Try(f *os.File) error { return lock(f, unix.LOCK_EX) }

// Share locks f against those who want it alone, or returns ErrBusy.
func Share(f *os.File) error { return lock(f, unix.LOCK_SH) }

func lock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return ErrBusy
		default:
			return err
		}
	}
}

// Named returns fs.ErrNotExist unless name still stands for f: whoever waited for a lock
// may have got that of a file or folder that was removed meanwhile.
func Named(f *os.File, name string) error {
	opened, err := f.Stat()
	if err != nil {
		return err
	}
	named, err := os.Lstat(name)
	if err != nil {
		return err
	}
	if !os.SameFile(opened, named) {
		return fs.ErrNotExist
	}
	return nil
}
