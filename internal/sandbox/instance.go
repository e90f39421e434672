package sandbox

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// instance is one host's folder, DATA/run/NAME. Its file "lock" is locked as
// long as the host lives, so another process can tell a dead host's folder.
type instance struct {
	name string
	dir  string
	lock *os.File

	keeper     *exec.Cmd
	keeperPipe io.WriteCloser
}

// newInstance makes the folder and locks it before others can see its name.
func newInstance(data string) (*instance, error) {
	parent := filepath.Join(data, "run")
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return nil, fmt.Errorf("folder of guests: %w", err)
	}
	name := randomName()
	draft, dir := filepath.Join(parent, ".new-"+name), filepath.Join(parent, name)
	if err := os.Mkdir(draft, 0o700); err != nil {
		return nil, fmt.Errorf("folder of guests: %w", err)
	}
	lock, err := lockFile(filepath.Join(draft, "lock"), unix.LOCK_NB)
	if err == nil {
		err = os.Rename(draft, dir)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("folder of guests: %w", err), closeAll(lock), os.RemoveAll(draft))
	}
	return &instance{name: name, dir: dir, lock: lock}, nil
}

// lockFile opens a file and locks it for us alone.
func lockFile(name string, how int) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|how); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// startKeeper starts the process that removes the guests if this one is killed.
func (i *instance) startKeeper(config Config) error {
	if len(config.Keeper) == 0 {
		return nil
	}
	keeper := exec.Command(config.Keeper[0], append(config.Keeper[1:], i.dir, config.Rescue.String())...)
	keeper.Args[0] = KeeperName
	keeper.Env = []string{}
	keeper.ExtraFiles = config.KeeperFiles
	keeper.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a Ctrl-C at the terminal is not for it
	pipe, err := keeper.StdinPipe()
	if err != nil {
		return fmt.Errorf("keeper: %w", err)
	}
	if err := keeper.Start(); err != nil {
		return fmt.Errorf("keeper: %w", err)
	}
	i.keeper, i.keeperPipe = keeper, pipe
	return nil
}

// close removes the folder and ends the keeper.
func (i *instance) close() error {
	err := errors.Join(removeInstance(i.dir), i.lock.Close())
	if i.keeper == nil {
		return err
	}
	_, sayErr := io.WriteString(i.keeperPipe, keeperDone)
	err = errors.Join(err, sayErr, i.keeperPipe.Close())
	return errors.Join(err, i.keeper.Wait())
}

// RemoveDead removes the guests and folders of hosts on the data folder that were killed,
// never those of a living one. Open does it too.
func RemoveDead(data string) error {
	entries, err := os.ReadDir(filepath.Join(data, "run"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		dir := filepath.Join(data, "run", e.Name())
		if info, statErr := e.Info(); strings.HasPrefix(e.Name(), ".new-") && (statErr != nil || time.Since(info.ModTime()) < time.Minute) {
			continue // being made
		}
		lock, lockErr := lockFile(filepath.Join(dir, "lock"), unix.LOCK_NB)
		if lockErr != nil {
			continue // its host lives, or another process removes it
		}
		err = errors.Join(err, killProcesses(dir), removeInstance(dir), lock.Close())
	}
	return err
}

// removeInstance removes the folder of a host whose guests have ended, and what gVisor and
// we have put elsewhere for them.
func removeInstance(dir string) error {
	err := removeGroups(filepath.Base(dir))
	entries, readErr := os.ReadDir(dir)
	if readErr != nil && !errors.Is(readErr, os.ErrNotExist) {
		err = errors.Join(err, readErr)
	}
	for _, e := range entries {
		if e.IsDir() {
			err = errors.Join(err, removeGuest(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(err, os.RemoveAll(dir))
}

// removeGuest removes the folder of a guest that has ended, and its control
// socket, which gVisor puts elsewhere when the path is too long for a socket.
func removeGuest(dir string) error {
	for _, place := range []string{"/var/run", "/run", "/tmp"} {
		_ = os.Remove(filepath.Join(place, "runsc-"+filepath.Base(dir)+".sock")) // mostly not there
	}
	return os.RemoveAll(dir)
}

// KeeperName is the first argument by which the program knows that it is to be a keeper.
const KeeperName = "runpython-keeper"

// keeperDone is what a host that ends in order says to its keeper.
const keeperDone = "done\n"

// KeeperMain is the keeper: it waits for the end of the host that started it, which it
// learns from its standard input. After an orderly end it ends too; otherwise it waits for the
// rescue time and then removes what nobody has taken over. A stopped guest
// cannot end itself, so somebody has to.
func KeeperMain(args []string, in io.Reader) error {
	if len(args) != 2 {
		return errors.New("keeper: needs a folder and a time")
	}
	rescue, err := time.ParseDuration(args[1])
	if err != nil {
		return fmt.Errorf("keeper: %w", err)
	}
	if line, _ := bufio.NewReader(in).ReadString('\n'); bytes.Equal([]byte(line), []byte(keeperDone)) {
		return nil
	}
	time.Sleep(rescue) //nolint:forbidigo // there is nothing to wait for but the time
	if _, err := os.Stat(args[0]); errors.Is(err, os.ErrNotExist) {
		return nil // the next host was faster
	}
	lock, err := lockFile(filepath.Join(args[0], "lock"), 0)
	if err != nil {
		return fmt.Errorf("keeper: %w", err)
	}
	return errors.Join(killProcesses(args[0]), removeInstance(args[0]), lock.Close())
}

// becomeSubreaper makes guests our children once runsc, which starts them, has
// ended, so that their end can be waited for and no zombie stays.
func becomeSubreaper() {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) // without it the system's first process reaps them
}
