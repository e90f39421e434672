package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"runpython/internal/sandbox/checkpoint"
)

// An UnusableError says why a stored checkpoint cannot be used and never will be on this host, in words for
// whoever misses what was in it.
type UnusableError = checkpoint.UnusableError

// ErrNotRestored says that no guest could be made of a checkpoint that seems to be sound. If a guest can be started
// meanwhile, it is the checkpoint's fault.
var ErrNotRestored = errors.New("no guest could be restored from the checkpoint")

const (
	// restoreAttempts is how often a guest is restored from a checkpoint until it is given up.
	restoreAttempts = 2
	// restoreDeadline bounds one of them: 0.2 s on an idle machine, and 1 s for each GiB on a slow disk.
	restoreDeadline = 30 * time.Second
)

// Restore returns a guest that goes on where the one was of which the checkpoint in the folder dir was stored: its
// processes, their memory and open files, and all of its /work. Channel, output, Environment and Egress are new ones. prepare,
// if not nil, fills Environment as the guest had it, before the guest exists; it may be called twice, for two guests. note is
// that of Store. The guest is not stopped; the caller closes it.
//
// An error is an *UnusableError, ErrNotRestored or of this machine. dir is only read from: what happens to it then is the caller's affair.
func (h *Host) Restore(ctx context.Context, dir string, prepare func(s *Sandbox) error) (s *Sandbox, note []byte, err error) {
	s, err = h.taken(ctx, func(ctx context.Context) (*Sandbox, error) {
		c, of, err := h.openCheckpoint(dir)
		if err != nil {
			return nil, err
		}
		note = c.Note
		return h.restore(ctx, c, of, prepare)
	})
	if err != nil {
		return nil, nil, err
	}
	return s, note, nil
}

// openCheckpoint opens a checkpoint that is of use on this host.
func (h *Host) openCheckpoint(dir string) (*checkpoint.Checkpoint, *image, error) {
	c, err := checkpoint.Open(dir)
	if err != nil {
		return nil, nil, err //nolint:wrapcheck // says what it is
	}
	var o origin
	if err := json.Unmarshal(c.Origin, &o); err != nil || o.Binding != c.Key {
		return nil, nil, checkpoint.Unusable("another version of this program made it", err)
	}
	of, err := h.imageFor(o)
	return c, of, err
}

// restore unpacks the checkpoint and makes a guest of it.
func (h *Host) restore(ctx context.Context, c *checkpoint.Checkpoint, of *image, prepare func(s *Sandbox) error) (_ *Sandbox, err error) {
	release, err := h.awaitStart(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	unpacked, err := os.MkdirTemp(h.instance.dir, "image-")
	if err != nil {
		return nil, fmt.Errorf("folder of an image: %w", err)
	}
	defer func() {
		if removeErr := os.RemoveAll(unpacked); removeErr != nil { // it goes with the host's folder
			h.config.Log.Warn("remove an image that was restored", "error", removeErr)
		}
	}()
	if err := c.Unpack(ctx, unpacked); err != nil {
		return nil, err //nolint:wrapcheck // says what it is
	}
	begin := beginning{
		of: of, from: unpacked, base: c.Base(), rescued: c.Note == nil, ready: h.config.Program.Resume, within: restoreDeadline,
	}
	begin.prepare = func(s *Sandbox) error {
		err := checkpoint.LinkTree(c.Uploads(), s.Uploads)
		if err == nil && prepare != nil {
			err = prepare(s)
		}
		return err
	}
	var last error
	for range restoreAttempts {
		s, err := h.startOnce(ctx, begin)
		if err == nil {
			return s, nil
		}
		if ctx.Err() != nil {
			return nil, err
		}
		h.failed.Add(1)
		last = err
	}
	return nil, fmt.Errorf("%w: %w", ErrNotRestored, last)
}

// awaitStart waits for the right to start a guest, which release gives back.
func (h *Host) awaitStart(ctx context.Context) (release func(), err error) {
	h.waiting.Add(1)
	defer h.waiting.Add(-1)
	select {
	case h.starts <- struct{}{}:
		return func() { <-h.starts }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for other starts: %w", ctx.Err())
	}
}
