package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"runpython/internal/fault"
)

// image is a checkpoint of a ready guest that nobody has used, from which the others
// are restored. Its name binds it to all that it depends on, see bindingOf.
type image struct {
	host    *Host
	preload Preload
	key     string // its name
	dir     string // its folder; complete when it exists

	mu       sync.Mutex // guards failures
	failures int        // in a row, of making or using it; at imageChances guests are started instead
}

// imageChances is how often in a row the image may fail before it is given up: once
// may be a moment in which the machine lacked something.
const imageChances = 2

func newImage(h *Host, p Preload) *image {
	key := bindingOf(h, p)
	return &image{host: h, preload: p, key: key, dir: filepath.Join(h.config.Data, "images", key)}
}

// use returns the folder of the image, "" when there is none (yet) or it is given up.
func (i *image) use() string {
	if i.isGivenUp() {
		return ""
	}
	if _, err := os.Stat(i.dir); err != nil {
		return "" // never made, or removed by a process that saw it unused for long
	}
	noteUse(i.dir)
	return i.dir
}

func (i *image) isGivenUp() bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.failures >= imageChances
}

// isMissing reports whether the image has to be made before it can be used.
func (i *image) isMissing() bool { return !i.isGivenUp() && i.use() == "" }

// tried is told that there is a guest now: one from the image, or else from nothing, after the image
// has failed with imageErr unless that is nil. The machine is well then, it was the image.
func (i *image) tried(fromImage bool, imageErr error) {
	switch {
	case fromImage:
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.failures < imageChances {
			i.failures = 0
		}
	case imageErr != nil:
		i.failed(imageErr)
	}
}

// failed is told when a guest that had started could not be made the image, or when no guest came
// from it where a start worked. The last chance gives it up and removes it.
func (i *image) failed(cause error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.failures++; i.failures != imageChances {
		return
	}
	i.host.config.Log.Warn("the image of the pool is not used any more", "error", cause)
	if err := removeWhole(i.dir); err != nil {
		i.host.config.Log.Warn("remove the image of the pool", "error", err)
	}
}

// ensure makes the image if it is not there.
func (i *image) ensure(ctx context.Context) error {
	if !i.isMissing() {
		return nil
	}
	if err := i.make(ctx); err != nil {
		return err
	}
	if err := removeUnused(filepath.Dir(i.dir), filepath.Base(i.dir)); err != nil {
		i.host.config.Log.Warn("remove unused images", "error", err)
	}
	return nil
}

// make makes the image. Only what the image itself does wrong counts against it: a guest that
// does not start, or a disk without a folder or without room, is the machine's affair, and may be over soon.
func (i *image) make(ctx context.Context) error {
	parent := filepath.Dir(i.dir)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return fmt.Errorf("folder of images: %w", err)
	}
	draft, err := os.MkdirTemp(parent, draftPrefix)
	if err != nil {
		return fmt.Errorf("folder of images: %w", err)
	}
	s, err := i.host.startOnce(ctx, beginning{of: i, ready: i.host.config.Program.Ready})
	if err != nil {
		return errors.Join(err, os.RemoveAll(draft))
	}
	if err = i.load(ctx, s); err == nil {
		limited, cancel := context.WithTimeout(ctx, startDeadline)
		err = s.writeImage(limited, draft, false)
		cancel()
	}
	if closeErr := s.Close(); closeErr != nil { // Close of the host removes what is left
		i.host.config.Log.Warn("remove the guest of which the image was made", "guest", s.ID, "error", closeErr)
	}
	if err == nil {
		err = os.Rename(draft, i.dir)
	}
	if err == nil {
		return nil
	}
	err = errors.Join(err, os.RemoveAll(draft))
	if _, there := os.Stat(i.dir); there == nil {
		return nil // another process was faster
	}
	if ctx.Err() == nil && fault.DiskTrouble(err) == "" {
		i.failed(err)
	}
	return fmt.Errorf("image of the pool: %w", err)
}
