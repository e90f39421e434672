package sandbox

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// KeeperName is the first argument by which the program knows that it is to be a keeper.
const KeeperName = "runpython-keeper"

// keeperDone is what a host that ends in order says to its keeper.
const keeperDone = "done\n"

// KeeperMain is the keeper: it waits for the end of the host that started it, which it
// learns from its standard input. After an orderly end it ends too; otherwise it stops the guests,
// on which nobody holds a limit any more, waits for the rescue time and then removes what
// nobody has taken over. A stopped guest cannot end itself, so somebody has to.
func KeeperMain(args []string, in io.Reader) error {
	if len(args) != 2 {
		return errors.New("keeper: needs a folder and a time")
	}
	rescue, err := time.ParseDuration(args[1])
	if err != nil {
		return fmt.Errorf("keeper: %w", err)
	}
	if line, _ := bufio.NewReader(in).ReadString('\n'); line == keeperDone {
		return nil
	}
	dir := args[0]
	stopErr := stopGuests(dir, rescue)
	lock, err := lockFile(filepath.Join(dir, lockName), 0, unix.LOCK_EX)
	if errors.Is(err, os.ErrNotExist) { // the next host was faster, or somebody has removed the folder and not its guests
		return errors.Join(stopErr, killProcesses(dir))
	}
	if err != nil {
		return errors.Join(stopErr, fmt.Errorf("keeper: %w", err))
	}
	return errors.Join(stopErr, killProcesses(dir), removeInstance(dir), lock.Close())
}

// keeperLook is how often the keeper looks for guests whose start was under way when their host
// was killed, and whether the next host has removed them all.
const keeperLook = time.Second

// stopGuests makes the guests below dir, the folder of a killed host, stand still for the time, or
// until the folder is removed. Each is stopped once: whoever takes it over may let it go on.
func stopGuests(dir string, rescue time.Duration) error {
	var err error
	seen := make(map[int]bool)
	for end := time.Now().Add(rescue); time.Now().Before(end); {
		if _, there := os.Lstat(filepath.Join(dir, lockName)); errors.Is(there, os.ErrNotExist) {
			return nil
		}
		for _, pid := range processesNaming(sandboxName, dir+"/") {
			if seen[pid] {
				continue
			}
			seen[pid] = true
			if _, stopErr := stopFamily(pid); stopErr != nil && !errors.Is(stopErr, syscall.ESRCH) {
				err = errors.Join(err, stopErr)
			}
		}
		time.Sleep(min(keeperLook, time.Until(end))) //nolint:forbidigo // there is nothing to wait for but the time
	}
	return err
}

// keeper is the keeper as its host sees it. One that ends before its time is started again.
type keeper struct {
	command []string
	files   []*os.File
	log     *slog.Logger

	mu      sync.Mutex // guards what follows
	process *os.Process
	pipe    io.WriteCloser // its standard input

	closing chan struct{} // closed by close, which holds mu then
	ended   chan struct{} // closed when no keeper is left and none is started any more
}

const (
	// keeperStarts bounds how often a host starts a keeper again.
	keeperStarts = 10
	// keeperPause is by how much the pause before a keeper is started again grows each time.
	keeperPause = time.Second
)

// startKeeper starts the process that removes the guests below dir if this one is
// killed, and somebody who looks after it. The caller closes it.
func startKeeper(config Config, dir string) (*keeper, error) {
	k := &keeper{
		command: append(append([]string(nil), config.Keeper...), dir, config.Rescue.String()),
		files:   config.KeeperFiles, log: config.Log,
		closing: make(chan struct{}), ended: make(chan struct{}),
	}
	cmd, err := k.start()
	if err != nil {
		return nil, err
	}
	go k.watch(cmd)
	return k, nil
}

// start starts a keeper, unless the host is closing.
func (k *keeper) start() (*exec.Cmd, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.isClosing() {
		return nil, errClosing
	}
	cmd := exec.Command(k.command[0], k.command[1:]...) //nolint:noctx // it outlives this process, if need be
	cmd.Args[0] = KeeperName
	cmd.Env = []string{}
	cmd.ExtraFiles = k.files
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // a Ctrl-C at the terminal is not for it
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("keeper: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("keeper: %w", err)
	}
	k.process, k.pipe = cmd.Process, pipe
	return cmd, nil
}

// watch waits for the keeper's end and starts another as long as the host lives.
func (k *keeper) watch(first *exec.Cmd) {
	defer close(k.ended)
	err := first.Wait()
	for again := range keeperStarts {
		if k.isClosing() {
			return
		}
		k.log.Warn("the keeper of the guests has ended before its time; another is started", "error", err)
		if err = k.pause(time.Duration(again) * keeperPause); err == nil {
			err = k.run()
		}
	}
	if !k.isClosing() {
		k.log.Error("no keeper stays: should this process be killed, its guests stay until the next start", "error", err)
	}
}

// run starts a keeper and waits for its end.
func (k *keeper) run() error {
	cmd, err := k.start()
	if err != nil {
		return err
	}
	return cmd.Wait()
}

// errClosing says that no keeper is wanted any more.
var errClosing = errors.New("the host is closing")

func (k *keeper) isClosing() bool {
	select {
	case <-k.closing:
		return true
	default:
		return false
	}
}

func (k *keeper) pause(d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-k.closing:
		return errClosing
	case <-timer.C:
		return nil
	}
}

// close tells the keeper that the host ends in order and waits for its end. A keeper
// that is not there or does not hear is no failure: nothing is left for it to do.
func (k *keeper) close() {
	k.mu.Lock()
	close(k.closing)
	process, pipe := k.process, k.pipe
	k.mu.Unlock()
	_, _ = io.WriteString(pipe, keeperDone) // an error says that it is not there
	_ = pipe.Close()                        // likewise
	deadline := time.NewTimer(endDeadline)
	defer deadline.Stop()
	select {
	case <-k.ended:
	case <-deadline.C:
		err := process.Kill()
		k.log.Warn("the keeper of the guests did not end and was killed", "error", err)
		<-k.ended
	}
}
