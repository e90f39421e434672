package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// rescuesAtOnce bounds the guests that are rescued side by side.
	rescuesAtOnce = 4
	// interruptGrace is what code of a guest whose host was killed has to come to an end.
	interruptGrace = 2 * time.Second
	// goOnEvery is how often a guest that is being rescued is told to go on: the keeper may stop it meanwhile.
	goOnEvery = 100 * time.Millisecond
	// claimPatience is how long another process may be about a guest that somebody waits for, and claimEvery how often
	// it is looked whether it still is.
	claimPatience = 10 * time.Second
	claimEvery    = 50 * time.Millisecond
)

// A Stranded guest is one whose host was killed. It is of use during the call of Rescue or RescueOf only.
type Stranded struct {
	Label string // what Sandbox.Label was told
	Busy  bool   // code was running in it: the run is lost, and interrupted

	host    *Host
	sandbox *Sandbox // without channel and output, which have ended
	process int      // that is interrupted
}

// A Keep does with a guest that is rescued what somebody wants of it, which is a checkpoint, if anything. The guest is
// removed then, also after an error, unless it is to be left for another process, or for a later call.
type Keep func(ctx context.Context, guest *Stranded) (leave bool, err error)

// Rescue takes over the guests of hosts on the data folder that were killed, calls keep for each that has a label, from a few
// goroutines, and then removes what is left of those hosts, if no guest is left for others. A guest may be
// there whose host's keeper has removed others already. The error joins those of keep and of what could not be removed.
func (h *Host) Rescue(ctx context.Context, keep Keep) error {
	return eachDead(h.config.Data, func(dir string) (leave bool, err error) {
		labels, err := labelsIn(dir)
		var wait sync.WaitGroup
		turns, errs, left := make(chan struct{}, rescuesAtOnce), make([]error, len(labels)), make([]bool, len(labels))
		for i, guest := range labels {
			turns <- struct{}{}
			wait.Go(func() {
				defer func() { <-turns }()
				left[i], errs[i] = h.rescueOne(ctx, guest, keep)
				if errors.Is(errs[i], unix.EWOULDBLOCK) { // another process is about it
					left[i], errs[i] = true, nil
				}
			})
		}
		wait.Wait()
		return slices.Contains(left, true), errors.Join(err, errors.Join(errs...))
	})
}

// RescueOf is Rescue for the guests whose label is wanted, and removes nothing but those. It waits for a process that is about
// one of them at the same time, within ctx and 10 s.
func (h *Host) RescueOf(ctx context.Context, wanted func(label string) bool, keep Keep) error {
	return eachDead(h.config.Data, func(dir string) (leave bool, err error) {
		labels, err := labelsIn(dir)
		for _, guest := range labels {
			l, _, labelErr := readLabel(guest)
			if labelErr != nil || !wanted(l.Name) { // it was removed meanwhile, or is another's
				continue
			}
			err = errors.Join(err, h.rescuePatiently(ctx, guest, keep))
		}
		return true, err
	})
}

// rescuePatiently is rescueOne that waits for another process which has the guest.
func (h *Host) rescuePatiently(ctx context.Context, dir string, keep Keep) error {
	patient, cancel := context.WithTimeout(ctx, claimPatience)
	defer cancel()
	for {
		_, err := h.rescueOne(ctx, dir, keep)
		if !errors.Is(err, unix.EWOULDBLOCK) || !wait(patient, claimEvery) {
			return err
		}
	}
}

// rescueOne lets keep have the guest in the folder dir, if it lives, and removes it. While another process has it, that
// is EWOULDBLOCK.
func (h *Host) rescueOne(ctx context.Context, dir string, keep Keep) (leave bool, err error) {
	claim, err := lockFile(filepath.Join(dir, labelName), 0, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil // somebody was faster
	}
	if err != nil {
		return false, err //nolint:wrapcheck // names the file
	}
	defer func() { err = errors.Join(err, claim.Close()) }()
	guest, err := h.stranded(dir)
	if err == nil && guest != nil {
		leave, err = keep(ctx, guest)
	}
	if leave {
		return true, err
	}
	return false, errors.Join(err, killProcesses(dir), removeGuest(dir))
}

// labelsIn returns the folders of those guests in the folder of a dead host that have a label.
func labelsIn(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("guests of a killed process: %w", err)
	}
	var found []string
	for _, e := range entries {
		at := filepath.Join(dir, e.Name())
		if _, err := os.Lstat(filepath.Join(at, labelName)); err == nil {
			found = append(found, at)
		}
	}
	return found, nil
}

// stranded returns the guest in a folder of a dead host, nil if it was being started or has ended.
func (h *Host) stranded(dir string) (*Stranded, error) {
	l, busy, err := readLabel(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil //nolint:nilnil // it was removed
	}
	if err != nil {
		return nil, err
	}
	s := &Sandbox{ID: filepath.Base(dir), host: h, dir: dir}
	if lives := s.readState() == nil && len(processesNaming(sandboxName, dir+"/")) > 0; !lives {
		return nil, nil //nolint:nilnil // nothing can be had of it
	}
	return &Stranded{Label: l.Name, Busy: busy, host: h, sandbox: s, process: l.PID}, nil
}

// Checkpoint stores the guest as it is, as the folder dir; see Snapshot.Store. Code that runs in it is interrupted
// before, and has two seconds to come to an end. The guest goes on: whoever is killed before the
// checkpoint has its record leaves it to the next one.
func (g *Stranded) Checkpoint(ctx context.Context, dir string) error {
	if err := g.check(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, imageDeadline)
	defer cancel()
	defer g.goOn(ctx, cancel)()
	if g.Busy {
		if err := g.sandbox.Signal(ctx, g.process, syscall.SIGINT); err != nil {
			return fmt.Errorf("interrupt a guest of a killed process: %w", err)
		}
		if !wait(ctx, interruptGrace) {
			return ctx.Err() //nolint:wrapcheck // only says that it was given up
		}
	}
	snapshot, err := g.sandbox.NewSnapshot()
	if err != nil {
		return err
	}
	if err = snapshot.Take(ctx, true); err == nil {
		err = snapshot.Store(ctx, dir, nil)
	}
	return errors.Join(err, snapshot.Close())
}

// check sees that a checkpoint would be of use on this host, before anybody waits for it.
func (g *Stranded) check() error {
	_, o, err := readOrigin(g.sandbox.dir)
	if err == nil {
		_, err = g.host.imageFor(o)
	}
	return err
}

// goOn lets the guest go on, again and again until the function that it returns is called.
func (g *Stranded) goOn(ctx context.Context, cancel func()) (end func()) {
	var done sync.WaitGroup
	proceed := func() {
		for _, pid := range append(descendants(g.sandbox.pid), g.sandbox.pid) {
			_ = syscall.Kill(pid, syscall.SIGCONT) // it may have ended
		}
	}
	proceed()
	done.Go(func() {
		for wait(ctx, goOnEvery) {
			proceed()
		}
	})
	return func() {
		cancel()
		done.Wait()
	}
}
