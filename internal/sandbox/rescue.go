package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

const (
	// rescuesAtOnce bounds the guests that are rescued side by side.
	rescuesAtOnce = 4
	// interruptGrace is what code of a guest whose host was killed has to come to an end.
	interruptGrace = 2 * time.Second
	// goOnEvery is how often a guest that is being rescued is told to go on: the keeper may stop it meanwhile.
	goOnEvery = 100 * time.Millisecond
)

// A Stranded guest is one whose host was killed. It is of use during the call of Rescue only.
type Stranded struct {
	Label string // what Sandbox.Label was told
	Busy  bool   // code was running in it: the run is lost, and interrupted

	host    *Host
	sandbox *Sandbox // without channel and output, which have ended
	process int      // that is interrupted
}

// Rescue takes over the guests of hosts on the data folder that were killed, calls keep for each that has a label, from a few
// goroutines, and then removes them all. keep makes a checkpoint of the guest, if anybody wants it. A guest may be
// there whose host's keeper has removed others already. The error joins those of keep and of what could not be removed.
func (h *Host) Rescue(ctx context.Context, keep func(ctx context.Context, guest *Stranded) error) error {
	return eachDead(h.config.Data, func(dir string) error {
		found, err := h.stranded(dir)
		var wait sync.WaitGroup
		turns, errs := make(chan struct{}, rescuesAtOnce), make([]error, len(found))
		for i, guest := range found {
			turns <- struct{}{}
			wait.Go(func() {
				defer func() { <-turns }()
				errs[i] = keep(ctx, guest)
			})
		}
		wait.Wait()
		return errors.Join(err, errors.Join(errs...))
	})
}

// stranded returns the guests in the folder of a dead host that live and have a label.
func (h *Host) stranded(dir string) ([]*Stranded, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("guests of a killed process: %w", err)
	}
	var found []*Stranded
	for _, e := range entries {
		at := filepath.Join(dir, e.Name())
		l, busy, labelErr := readLabel(at)
		if labelErr != nil {
			if !errors.Is(labelErr, os.ErrNotExist) && !errors.Is(labelErr, syscall.ENOTDIR) {
				err = errors.Join(err, labelErr)
			}
			continue
		}
		s := &Sandbox{ID: e.Name(), host: h, dir: at}
		if s.readState() != nil || len(processesNaming(sandboxName, at+"/")) == 0 {
			continue // it was being started or has ended
		}
		found = append(found, &Stranded{Label: l.Name, Busy: busy, host: h, sandbox: s, process: l.PID})
	}
	return found, err
}

// Checkpoint stores the guest as it is, as the folder dir; see Snapshot.Store. Code that runs in it is interrupted
// before, and has two seconds to come to an end. The guest ends by it.
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
	if err = snapshot.Take(ctx, false); err == nil {
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
