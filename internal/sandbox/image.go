package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// image is a checkpoint of a ready guest that nobody has used, from which the others
// are restored. It is bound to all that it depends on by its name: gVisor,
// interpreter, program, limits, mounts, kernel, processor, and what is preloaded.
type image struct {
	host    *Host
	preload Preload
	dir     string // its folder; complete when it exists

	mu       sync.Mutex // guards failures
	failures int        // in a row, of making or using it; at imageChances guests are started instead
}

// imageChances is how often in a row the image may fail before it is given up: once
// may be a moment in which the machine lacked something.
const imageChances = 2

func newImage(h *Host, p Preload) *image {
	return &image{host: h, preload: p, dir: filepath.Join(h.config.Data, "images", imageKey(h, p))}
}

func imageKey(h *Host, p Preload) string {
	digest := sha256.New()
	var system unix.Utsname
	_ = unix.Uname(&system) // only makes the name less exact
	cpu, _ := os.ReadFile("/proc/cpuinfo")
	fmt.Fprintf(digest, "%s %s %x\n", runtime.GOARCH, system.Release, processorFeatures(cpu))
	if info, err := os.Stat(h.runsc.path); err == nil {
		fmt.Fprintf(digest, "%s %d %d\n", h.runsc.path, info.Size(), info.ModTime().UnixNano())
	}
	specification, _ := json.Marshal(h.spec("/guest", p)) // of plain strings and numbers: cannot fail
	fmt.Fprintf(digest, "%s %s\n%v %d\n", h.config.Program.Key, specification, h.runsc.flags("/guest"), h.runsc.processors)
	for _, module := range p.Modules {
		fmt.Fprintf(digest, "%s\n", module)
	}
	return hex.EncodeToString(digest.Sum(nil))[:24]
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
// does not start, or a disk without a folder, is the machine's affair, and may be over soon.
func (i *image) make(ctx context.Context) error {
	parent := filepath.Dir(i.dir)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return fmt.Errorf("folder of images: %w", err)
	}
	draft, err := os.MkdirTemp(parent, draftPrefix)
	if err != nil {
		return fmt.Errorf("folder of images: %w", err)
	}
	s, err := i.host.startOnce(ctx, i.preload, "")
	if err != nil {
		return errors.Join(err, os.RemoveAll(draft))
	}
	if err = i.load(ctx, s); err == nil {
		limited, cancel := context.WithTimeout(ctx, startDeadline)
		err = s.Checkpoint(limited, draft)
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
	if ctx.Err() == nil {
		i.failed(err)
	}
	return fmt.Errorf("image of the pool: %w", err)
}
