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

// instance is one host's folder, DATA/run/NAME. Its file "lock" is locked as
// long as the host lives, so another process can tell a dead host's folder.
type instance struct {
	name   string
	dir    string
	lock   *os.File
	keeper *keeper // nil for none
}

// The names of what a host's folder holds beside its guests.
const (
	lockName   = "lock"
	groupsName = "groups" // the folders of the host's control groups, one a line
)

// newInstance makes the folder, locks it before others can see its name, and starts
// the keeper.
func newInstance(config Config) (*instance, error) {
	i, err := makeInstance(config.Data)
	if err != nil || len(config.Keeper) == 0 {
		return i, err
	}
	if i.keeper, err = startKeeper(config, i.dir); err != nil {
		return nil, errors.Join(err, i.close())
	}
	return i, nil
}

func makeInstance(data string) (*instance, error) {
	parent := filepath.Join(data, "run")
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return nil, fmt.Errorf("folder of guests: %w", err)
	}
	name := randomName()
	draft, dir := filepath.Join(parent, ".new-"+name), filepath.Join(parent, name)
	if err := os.Mkdir(draft, 0o700); err != nil {
		return nil, fmt.Errorf("folder of guests: %w", err)
	}
	lock, err := lockFile(filepath.Join(draft, lockName), os.O_CREATE, unix.LOCK_EX|unix.LOCK_NB)
	if err == nil {
		groups := strings.Join(groupFolders(name), "\n") + "\n"
		err = os.WriteFile(filepath.Join(draft, groupsName), []byte(groups), 0o600)
	}
	if err == nil {
		err = os.Rename(draft, dir)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("folder of guests: %w", err), closeAll(lock), os.RemoveAll(draft))
	}
	return &instance{name: name, dir: dir, lock: lock}, nil
}

// lockFile opens a file, with the flags besides, and locks it as how says (flock(2)).
func lockFile(name string, flags, how int) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|flags, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), how); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// close removes the folder and ends the keeper.
func (i *instance) close() error {
	err := errors.Join(removeInstance(i.dir), i.lock.Close())
	if i.keeper != nil {
		i.keeper.close()
	}
	return err
}

// RemoveDead removes the guests and folders of hosts on the data folder that were killed,
// never those of a living one. Open does it too, unless Config.AwaitRescue is set.
func RemoveDead(data string) error {
	return eachDead(data, func(string) (bool, error) { return false, nil })
}

// eachDead takes the folders of hosts that were killed, one after the other, and calls rescue with each. Unless that leaves
// something to others, or another one is about it at the same time, the folder is removed with its guests, also after an error.
func eachDead(data string, rescue func(dir string) (leave bool, err error)) error {
	entries, err := os.ReadDir(filepath.Join(data, "run"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		dir := filepath.Join(data, "run", e.Name())
		if info, statErr := e.Info(); strings.HasPrefix(e.Name(), ".new-") && (statErr != nil || time.Since(info.ModTime()) < time.Minute) {
			continue // being made
		}
		lock, lockErr := lockDead(dir)
		if errors.Is(lockErr, os.ErrNotExist) {
			_ = os.Remove(dir) // empty: whoever made or removed it was killed in the middle
		}
		if lockErr != nil {
			continue // its host lives, or another process removes it
		}
		leave, rescueErr := rescue(dir)
		err = errors.Join(err, rescueErr)
		if !leave && unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil {
			err = errors.Join(err, killProcesses(dir), removeInstance(dir))
		}
		err = errors.Join(err, lock.Close())
	}
	return err
}

// lockDead locks the folder of a dead host as something that others may look into, but nobody may remove meanwhile. It
// fails while the host lives or somebody removes the folder.
func lockDead(dir string) (*os.File, error) {
	return lockFile(filepath.Join(dir, lockName), 0, unix.LOCK_SH|unix.LOCK_NB)
}

// removeInstance removes the folder of a host whose guests have ended, and what gVisor and
// we have put elsewhere for them. The lock goes last: a folder without one is empty.
func removeInstance(dir string) error {
	err := removeGroups(dir)
	entries, readErr := os.ReadDir(dir)
	if readErr != nil && !errors.Is(readErr, os.ErrNotExist) {
		err = errors.Join(err, readErr)
	}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		switch {
		case e.IsDir():
			err = errors.Join(err, removeGuest(name))
		case e.Name() != lockName:
			err = errors.Join(err, os.RemoveAll(name))
		}
	}
	if err != nil {
		return err // the next host tries again
	}
	return os.RemoveAll(dir)
}

// removeGuest removes the folder of a guest that has ended, and its control
// socket, which gVisor puts elsewhere when the path is too long for a socket. Whoever
// still adds packages to it by its name finds it gone, and makes nothing in what is removed.
func removeGuest(dir string) error {
	for _, place := range []string{"/var/run", "/run", "/tmp"} {
		_ = os.Remove(filepath.Join(place, "runsc-"+filepath.Base(dir)+".sock")) // mostly not there
	}
	return removeWhole(dir)
}

// becomeSubreaper makes guests our children once runsc, which starts them, has
// ended, so that their end can be waited for and no zombie stays.
func becomeSubreaper() {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // without it the system's first process reaps them
}
