package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// runsc starts gVisor's command line: this program under another name, or an
// official binary.
type runsc struct {
	path       string
	content    string // names what it is
	workBytes  int64
	processors int
	egress     bool // guests may connect to sockets of the host that are mounted for them
}

// commandDeadline bounds a command to a guest that should answer at once.
const commandDeadline = 10 * time.Second

// MemoryVariable names, for this program as runsc, the file that says how much memory the
// guest has; an official binary does not know it.
const MemoryVariable = "RUNSC_GUEST_MEMINFO"

// complaintBytes bounds what is kept of a command's error output.
const complaintBytes = 4 << 10

// launch runs `run` or `restore`, which end when the guest has been started.
// The guest's standard streams are those of p. Its processes end if launch fails.
func (r *runsc) launch(ctx context.Context, dir, id string, p *pipes, command ...string) error {
	complaint, err := os.CreateTemp(dir, "launch-")
	if err != nil {
		return fmt.Errorf("log of a guest: %w", err)
	}
	defer func() { _ = complaint.Close() }() // only read from
	flags := append(r.flags(dir), "--log="+complaint.Name())
	args := append(append(flags, command...), "--detach", "--bundle", dir, id)
	cmd := exec.CommandContext(ctx, r.path, args...)
	cmd.Args[0] = "runsc"
	cmd.Env = []string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", MemoryVariable + "=" + filepath.Join(dir, memoryName)}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.guestIn, p.guestOut, p.guestErr
	cmd.SysProcAttr = inNewNamespaces()
	cmd.WaitDelay = time.Second
	if err := r.startOnProcessors(cmd); err != nil {
		return fmt.Errorf("start runsc: %w", explainNamespaces(err))
	}
	if err := cmd.Wait(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		err = fmt.Errorf("runsc %s: %w%s", command[0], err, r.complaint(complaint, p))
		// It leads a session, in which those of its children are that it had only just made.
		return errors.Join(err, killProcesses(dir), reapSession(cmd.Process.Pid, endDeadline))
	}
	return os.Remove(complaint.Name())
}

// flags are gVisor's own, the same for each command to a guest.
func (r *runsc) flags(dir string) []string {
	flags := []string{
		"--root=" + filepath.Join(dir, "state"),
		"--network=none",
		"--ignore-cgroups",
		"--platform=systrap",
		"--overlay2=all:dir=" + dir + ",size=" + strconv.FormatInt(r.workBytes, 10),
	}
	if r.egress {
		flags = append(flags, "--host-uds=open")
	}
	return flags
}

// complaint returns what a failed command said, shortened, for the operator.
func (r *runsc) complaint(log *os.File, p *pipes) string {
	said := make([]byte, complaintBytes)
	n, _ := log.ReadAt(said, 0) // what can be read is enough
	text := strings.TrimSpace(string(said[:n]))
	if err := p.stderr.SetReadDeadline(time.Now().Add(10 * time.Millisecond)); err == nil {
		n, _ = p.stderr.Read(said)
		text = strings.TrimSpace(text + " " + string(said[:n]))
	}
	if text == "" {
		return ""
	}
	return ": " + text
}

// command runs a command to a guest of the folder dir, for as long as ctx lasts.
func (r *runsc) command(ctx context.Context, dir string, command ...string) error {
	cmd := exec.CommandContext(ctx, r.path, append(r.flags(dir), command...)...)
	cmd.Args[0] = "runsc"
	cmd.Env = []string{}
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		text := said.String()
		return fmt.Errorf("runsc %s: %w: %s", command[0], err, text[:min(len(text), complaintBytes)])
	}
	return nil
}

// inNewNamespaces gives a start of gVisor mounts of its own, so that nothing is left
// of them when it ends, and, where this process may not make them (see NeedsUserNamespace), a user
// namespace in which it is root. gVisor's own --rootless would refuse restore.
func inNewNamespaces() *syscall.SysProcAttr {
	attr := &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS, Setsid: true}
	if NeedsUserNamespace() {
		attr.Cloneflags = syscall.CLONE_NEWUSER
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	return attr
}

// NeedsUserNamespace reports whether guests need a user namespace, in which this process has the
// rights that it lacks: it is an ordinary user's, or root's without CAP_SYS_ADMIN, as in most
// containers (capabilities(7)).
func NeedsUserNamespace() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var sets [2]unix.CapUserData // of 32 capabilities each
	if err := unix.Capget(&header, &sets[0]); err != nil {
		return os.Geteuid() != 0 // the kernel tells every process of itself, but a filter may not
	}
	return os.Geteuid() != 0 || sets[0].Effective&(1<<unix.CAP_SYS_ADMIN) == 0
}

// startOnProcessors starts cmd on as many processors as the guest may use:
// gVisor shows its guest those that it may run on itself.
func (r *runsc) startOnProcessors(cmd *exec.Cmd) error {
	if r.processors >= runtime.NumCPU() {
		return cmd.Start()
	}
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // the new process inherits from this thread
		var before unix.CPUSet
		err := unix.SchedGetaffinity(0, &before)
		if err == nil {
			wanted := someProcessors(&before, r.processors, rand.IntN(maxProcessors)) //nolint:gosec // only spreads the guests
			err = unix.SchedSetaffinity(0, &wanted)
		}
		if err != nil {
			started <- fmt.Errorf("processors: %w", err)
		} else {
			started <- cmd.Start()
		}
		// Otherwise the thread stays locked and ends here: nothing else of ours
		// may run on the guest's processors alone.
		if err == nil && unix.SchedSetaffinity(0, &before) == nil {
			runtime.UnlockOSThread()
		}
	}()
	return <-started
}

// someProcessors returns n of the given processors, neighbors that begin with the
// one at the place start, counted around: the numbers may be any.
func someProcessors(from *unix.CPUSet, n, start int) unix.CPUSet {
	var numbers []int
	for cpu := range maxProcessors {
		if from.IsSet(cpu) {
			numbers = append(numbers, cpu)
		}
	}
	var chosen unix.CPUSet
	for i := range min(n, len(numbers)) {
		chosen.Set(numbers[(start+i)%len(numbers)])
	}
	return chosen
}

// maxProcessors is the number of processors that a unix.CPUSet holds.
const maxProcessors = 1024

// ErrNamespaceLimit says that this user, or this container, has as many namespaces of some kind as
// /proc/sys/user/max_*_namespaces allow.
var ErrNamespaceLimit = errors.New("the limit on namespaces is reached (/proc/sys/user/max_*_namespaces)")

// TryNamespaces starts program with the arguments in the namespaces that a guest
// needs, those that gVisor makes among them. The error tells the operator what is not possible on
// this machine: to make them, which may be ErrNamespaceLimit, or to run the program in them.
func TryNamespaces(ctx context.Context, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.SysProcAttr = inNewNamespaces()
	cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWPID | syscall.CLONE_NEWNET | syscall.CLONE_NEWIPC | syscall.CLONE_NEWUTS
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return explainNamespaces(err)
	}
	if err := cmd.Wait(); err != nil {
		return fmt.Errorf("run %s in new namespaces: %w", program, err)
	}
	return nil
}

// explainNamespaces puts into words why a process could not be started with
// inNewNamespaces. The system's own words lead astray: one limit's are "no space left on device".
func explainNamespaces(err error) error {
	kinds := "mount namespaces"
	if NeedsUserNamespace() {
		kinds = "user and mount namespaces"
	}
	switch {
	case errors.Is(err, syscall.EPERM):
		return fmt.Errorf("this system does not let this process make %s: %w", kinds, err)
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EUSERS):
		// Not wrapped: who looks for a full disk must not find one.
		return fmt.Errorf("%w: %s", ErrNamespaceLimit, err.Error())
	case errors.Is(err, syscall.EINVAL), errors.Is(err, syscall.ENOSYS):
		return fmt.Errorf("the kernel of this system has no %s: %w", kinds, err)
	default:
		return err // of the program or of resources, in clear words
	}
}
