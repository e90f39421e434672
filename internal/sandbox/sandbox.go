package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"
)

// A Sandbox is one guest: a program of ours inside gVisor with its own
// processes, memory and files. It serves one chat and is never used again.
//
// The host speaks with the guest over Channel, a Unix socket that keeps the
// bounds of messages, and reads what its processes print from Stdout and Stderr.
// All three are non-blocking and work with the runtime's poller.
type Sandbox struct {
	ID      string
	Channel *os.File // SOCK_SEQPACKET: one Read is one packet of at most 64 KiB
	Stdout  *os.File // pipe, read end
	Stderr  *os.File // pipe, read end
	// Uploads is the folder of the host below the guest's /work. A file that is
	// put there before the guest first looks is seen by it; the guest never writes there.
	Uploads string
	// Environment is the folder of the host, the guest's own, that it sees read-only as
	// GuestPackages: its Python imports from it, also what is put there while it lives. ""
	// when Config.Environment is set.
	Environment string
	// Egress is the folder of the host, the guest's own, in which its way out is looked for as the
	// socket named "socket", open to its owner alone; "" when Config.Egress is not set.
	Egress string
	// Preloaded says that the guest has the packages of Host.Preload, and mostly their modules loaded.
	Preloaded bool
	// Rescued says that the guest was restored from a checkpoint of a Stranded one: what it has told last, its host may
	// not have kept.
	Rescued bool
	// Greeting is what the program's Ready has learned of this guest, for whoever takes it.
	Greeting any

	host    *Host
	dir     string
	control string // path of gVisor's control socket

	mu      sync.Mutex // guards what follows
	meter   meter
	pid     int   // gVisor's process of this guest, 0 once it is gone
	gofer   int   // its file helper, likewise
	stopped []int // what Stop has stopped, in the order of stopping
	closed  bool
	label   *os.File // what Label and Busy write; nil before
}

// Stop makes all of the guest's processes stand still until Continue: they use no
// processor time, not even in code that makes no system call.
func (s *Sandbox) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.stopped != nil {
		return
	}
	stopped, err := stopFamily(s.pid)
	if err != nil {
		s.host.config.Log.Warn("a guest cannot be stopped", "guest", s.ID, "error", err)
	}
	s.stopped = stopped
}

// Continue undoes Stop. It is cheap when the guest is not stopped.
func (s *Sandbox) Continue() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	for _, pid := range slices.Backward(s.stopped) {
		_ = syscall.Kill(pid, syscall.SIGCONT) // it may have ended meanwhile
	}
	s.stopped = nil
}

// MemoryBytes returns what the guest holds: its memory file (the memory of its
// processes and its tmpfs) and gVisor's own anonymous memory. It takes some
// microseconds. It is 0 when the guest has ended, and only then: a guest whose
// memory cannot be measured is not given out.
func (s *Sandbox) MemoryBytes() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.meter.bytes()
}

// OutOfMemory reports whether the system has ended a process of the guest because it took memory faster than
// whoever watches it could see. It is false where the guest has no control group, and after Close.
func (s *Sandbox) OutOfMemory() bool { return s.host.groups.outOfMemory(s.ID) }

// measure makes MemoryBytes work. A guest that has ended meanwhile holds nothing.
func (s *Sandbox) measure() error {
	s.mu.Lock()
	err := s.meter.find(s.pid)
	s.mu.Unlock()
	if err != nil && s.alive() {
		return fmt.Errorf("%w: %w", errUnmeasured, err)
	}
	return nil
}

// Kill ends the guest at once. The files that are open in the host stay open until Close.
func (s *Sandbox) Kill() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.kill()
	}
}

// kill is for whoever holds mu and knows that the numbers still are the guest's.
func (s *Sandbox) kill() {
	for _, pid := range []int{s.pid, s.gofer} {
		if pid > 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
		}
	}
	s.meter.release()
}

// Close ends the guest and removes it. When it returns without an error, no
// process, mount or file of the guest is left. A second Close does nothing.
func (s *Sandbox) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true // from now on no other method uses the processes' numbers
	s.kill()
	pid, gofer, label := s.pid, s.gofer, s.label
	s.pid, s.gofer, s.stopped, s.label = 0, 0, nil, nil
	s.mu.Unlock()
	err := errors.Join(closeAll(label), awaitEnd(pid, endDeadline), awaitEnd(gofer, endDeadline), reapSession(pid, endDeadline), s.host.forget(s))
	for _, f := range []*os.File{s.Channel, s.Stdout, s.Stderr} {
		err = errors.Join(err, f.Close())
	}
	return errors.Join(err, removeGuest(s.dir))
}

// endDeadline bounds the wait for a killed process to be gone.
const endDeadline = 5 * time.Second

// pipes are the guest's three standard streams; ours and the guest's ends.
type pipes struct {
	channel, stdout, stderr     *os.File
	guestIn, guestOut, guestErr *os.File
}

func newPipes() (*pipes, error) {
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("channel of a guest: %w", err)
	}
	p := &pipes{guestIn: os.NewFile(uintptr(pair[1]), "guest channel")}
	if err := syscall.SetNonblock(pair[0], true); err != nil {
		return nil, errors.Join(fmt.Errorf("channel of a guest: %w", err), syscall.Close(pair[0]), p.close())
	}
	p.channel = os.NewFile(uintptr(pair[0]), "channel")
	if p.stdout, p.guestOut, err = os.Pipe(); err != nil {
		return nil, errors.Join(fmt.Errorf("standard output of a guest: %w", err), p.close())
	}
	if p.stderr, p.guestErr, err = os.Pipe(); err != nil {
		return nil, errors.Join(fmt.Errorf("standard error of a guest: %w", err), p.close())
	}
	// Code opens its output by name too (/dev/stdout), and the guest's user is nobody on the host.
	if err := errors.Join(p.guestOut.Chmod(0o666), p.guestErr.Chmod(0o666)); err != nil {
		return nil, errors.Join(fmt.Errorf("output of a guest: %w", err), p.close())
	}
	return p, nil
}

// closeGuest closes the guest's ends in this process.
func (p *pipes) closeGuest() error {
	return closeAll(p.guestIn, p.guestOut, p.guestErr)
}

func (p *pipes) close() error {
	return errors.Join(p.closeGuest(), closeAll(p.channel, p.stdout, p.stderr))
}

func closeAll(files ...*os.File) error {
	var err error
	for _, f := range files {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	return err
}

// stateFile is what we read of the record that runsc keeps of a container.
type stateFile struct {
	GoferPid int `json:"goferPid"`
	Sandbox  struct {
		Pid     int    `json:"pid"`
		Control string `json:"controlSocketPath"`
	} `json:"sandbox"`
}

// readState finds the processes and the control socket of a guest that has started.
func (s *Sandbox) readState() error {
	var state stateFile
	name := filepath.Join(s.dir, "state", s.ID+"_sandbox:"+s.ID+".state")
	err := readJSON(name, &state)
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s has said that guest %s runs and started none: it is no runsc, or one of another version", s.host.runsc.path, s.ID)
	}
	if err != nil {
		return fmt.Errorf("state of guest %s: %w", s.ID, err)
	}
	if state.Sandbox.Pid <= 0 {
		return fmt.Errorf("state of guest %s: no process", s.ID)
	}
	s.pid, s.gofer, s.control = state.Sandbox.Pid, state.GoferPid, state.Sandbox.Control
	return nil
}

// alive reports whether gVisor's process of the guest is there.
func (s *Sandbox) alive() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.closed && syscall.Kill(s.pid, 0) == nil && !isZombie(s.pid)
}
