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
	"time"

	"golang.org/x/sys/unix"
)

// image is a checkpoint of a ready guest that nobody has used, from which the others
// are restored. It is bound to all that it depends on by its name: gVisor,
// interpreter, program, limits, mounts, kernel and processor.
type image struct {
	host *Host
	dir  string // its folder; complete when it exists

	mu   sync.Mutex // guards what follows
	bad  bool       // it could not be made or used: start guests instead
	done bool       // it is known to be there
}

// imageKept is how long an image of another configuration is kept unused.
const imageKept = 7 * 24 * time.Hour

func newImage(h *Host) *image {
	return &image{host: h, dir: filepath.Join(h.config.Data, "images", imageKey(h))}
}

func imageKey(h *Host) string {
	digest := sha256.New()
	var system unix.Utsname
	_ = unix.Uname(&system) // only makes the name less exact
	cpu, _ := os.ReadFile("/proc/cpuinfo")
	fmt.Fprintf(digest, "%s %s %x\n", runtime.GOARCH, system.Release, processorFeatures(cpu))
	if info, err := os.Stat(h.runsc.path); err == nil {
		fmt.Fprintf(digest, "%s %d %d\n", h.runsc.path, info.Size(), info.ModTime().UnixNano())
	}
	specification, _ := json.Marshal(h.spec("/guest")) // of plain strings and numbers: cannot fail
	fmt.Fprintf(digest, "%s %s\n%v %d\n", h.config.Program.Key, specification, h.runsc.flags("/guest"), h.runsc.processors)
	return hex.EncodeToString(digest.Sum(nil))[:24]
}

// use returns the folder of the image, "" when there is none (yet).
func (i *image) use() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.bad {
		return ""
	}
	if !i.done {
		if _, err := os.Stat(i.dir); err != nil {
			return ""
		}
		i.done = true
		now := time.Now()
		_ = os.Chtimes(i.dir, now, now) // only for the clean-up of unused images
	}
	return i.dir
}

// discard gives the image up after a failed restore; guests are started from then on.
func (i *image) discard(cause error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.bad {
		return
	}
	i.bad = true
	i.host.config.Log.Warn("the image of the pool is not used any more", "error", cause)
	if err := os.RemoveAll(i.dir); err != nil {
		i.host.config.Log.Warn("remove the image of the pool", "error", err)
	}
}

// ensure makes the image if it is not there.
func (i *image) ensure(ctx context.Context) error {
	if i.use() != "" {
		return nil
	}
	i.mu.Lock()
	bad := i.bad
	i.mu.Unlock()
	if bad {
		return nil
	}
	if err := i.make(ctx); err != nil {
		if ctx.Err() == nil {
			i.mu.Lock()
			i.bad = true
			i.mu.Unlock()
		}
		return err
	}
	return i.removeUnused()
}

func (i *image) make(ctx context.Context) error {
	parent := filepath.Dir(i.dir)
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return fmt.Errorf("folder of images: %w", err)
	}
	draft, err := os.MkdirTemp(parent, ".draft-")
	if err != nil {
		return fmt.Errorf("folder of images: %w", err)
	}
	s, err := i.host.startOnce(ctx, false)
	if err != nil {
		return errors.Join(err, os.RemoveAll(draft))
	}
	ctx, cancel := context.WithTimeout(ctx, startDeadline)
	defer cancel()
	err = errors.Join(s.Checkpoint(ctx, draft, false), s.Close())
	if err == nil {
		err = os.Rename(draft, i.dir)
	}
	if err != nil {
		err = errors.Join(err, os.RemoveAll(draft))
		if _, there := os.Stat(i.dir); there == nil {
			return nil // another process was faster
		}
		return fmt.Errorf("image of the pool: %w", err)
	}
	return nil
}

// removeUnused removes images and drafts that nobody has used for long.
func (i *image) removeUnused() error {
	entries, err := os.ReadDir(filepath.Dir(i.dir))
	if err != nil {
		return fmt.Errorf("folder of images: %w", err)
	}
	for _, e := range entries {
		info, statErr := e.Info()
		if statErr != nil || e.Name() == filepath.Base(i.dir) || time.Since(info.ModTime()) < imageKept {
			continue
		}
		err = errors.Join(err, os.RemoveAll(filepath.Join(filepath.Dir(i.dir), e.Name())))
	}
	return err
}
