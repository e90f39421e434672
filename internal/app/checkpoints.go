package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"runpython/internal/chat"
	"runpython/internal/fault"
	"runpython/internal/kernel"
	"runpython/internal/sandbox"
)

// checkpoints are those of chats, in a folder of the data folder.
type checkpoints struct {
	app *App
	dir string
	key string // of the interpreter and the programs of guests
}

func (a *App) openCheckpoints(key string) (*checkpoints, error) {
	c := &checkpoints{app: a, dir: filepath.Join(a.config.Data, "checkpoints"), key: key}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return nil, fmt.Errorf("folder of checkpoints: %w", err)
	}
	return c, nil
}

// Dir is the folder of all of them.
func (c *checkpoints) Dir() string { return c.dir }

// Bound names the interpreter. What else a checkpoint depends on it says itself.
func (c *checkpoints) Bound() string { return c.key }

// Remove removes one; see chat.Checkpoints.
func (c *checkpoints) Remove(dir string) error { return sandbox.RemoveCheckpoint(dir) } //nolint:wrapcheck // says what it is

// Copy copies one; see chat.Checkpoints.
func (c *checkpoints) Copy(from, to string) error { return sandbox.CopyCheckpoint(from, to) } //nolint:wrapcheck // says what it is

// Size is what one takes on the disk alone.
func (c *checkpoints) Size(dir string) (int64, error) { return sandbox.CheckpointBytes(dir) } //nolint:wrapcheck // says what it is

// Shared is what the images take of which checkpoints are differences, and guests of the pool are made.
func (c *checkpoints) Shared() (int64, error) {
	return sandbox.ImageBytes(c.app.config.Data, c.dir) //nolint:wrapcheck // says what it is
}

// Resume makes an interpreter of one; see chat.Checkpoints.
func (c *checkpoints) Resume(ctx context.Context, start chat.Start, dir string, prepare func(string, bool) error) (chat.Interpreter, error) {
	guest, note, err := c.app.host.Restore(ctx, dir, func(s *sandbox.Sandbox) error { return prepare(s.Environment, s.Preloaded) })
	unusable, isUnusable := errors.AsType[*sandbox.UnusableError](err)
	switch {
	case err == nil:
	case isUnusable:
		return nil, fault.New(fault.Unsupported, err, "its checkpoint cannot be used: "+unusable.Reason)
	default:
		return nil, ofDisk(fmt.Errorf("restore a sandbox: %w", err), noRestore)
	}
	i, err := c.app.kernelOf(guest, start, func(config kernel.Config) (*kernel.Kernel, error) { //nolint:contextcheck // a way out lives longer than the call
		return kernel.Resume(guest, note, config, c.key)
	})
	return i, ofDisk(err, noRestore)
}

// Rescue takes over those of one chat; see chat.Checkpoints.
func (c *checkpoints) Rescue(ctx context.Context, wanted func(label string) bool, keep func(context.Context, chat.Stranded) (bool, error)) error {
	if c.app.host == nil { // of Records, which run nothing
		return nil
	}
	return c.app.host.RescueOf(ctx, wanted, c.app.rescuer(keep)) //nolint:wrapcheck // says what it is
}

// rescuer hands guests to keep as package chat knows them.
func (a *App) rescuer(keep func(context.Context, chat.Stranded) (bool, error)) sandbox.Keep {
	return func(ctx context.Context, g *sandbox.Stranded) (leave bool, err error) {
		leave, err = keep(ctx, chat.Stranded{Label: g.Label, Busy: g.Busy, Store: g.Checkpoint})
		a.log.InfoContext(ctx, "took over a guest of a process that was killed", "label", g.Label, "interrupted", g.Busy, "left", leave)
		return leave, err
	}
}

// rescue takes over the guests of processes that were killed, with the variables of their chats. What cannot be rescued is lost,
// which its chat will say.
func (a *App) rescue(ctx context.Context) {
	if err := a.host.Rescue(ctx, a.rescuer(a.chats.Rescue)); err != nil {
		a.log.ErrorContext(ctx, "take over guests of processes that were killed", "error", err)
	}
}
