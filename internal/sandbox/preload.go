package sandbox

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// A Preload is what guests have ahead of chats, beside the standard library. The zero Preload is nothing.
type Preload struct {
	// Dir is a folder of the host with packages, which guests see read-only at GuestShared. What is under
	// this name never changes, apart from bytecode that is added, and stays as long as the host lives.
	Dir string
	// Modules are imported, as dotted names, in the guest of which the image is made. A guest that is
	// started, because there is no image yet or any more, has the packages but has imported nothing.
	Modules []string
}

// preloadDeadline bounds the imports of a Preload, in a guest that is as fast as those of chats.
const preloadDeadline = 2 * time.Minute

// Preload gives the guests of Take what p says from now on; those in the pool are replaced, those that
// were taken are left alone. The image is made in the background, once, also where there is no pool.
func (h *Host) Preload(p Preload) {
	i := h.plain
	if p.Dir != "" {
		i = newImage(h, p)
	}
	h.mu.Lock()
	var outdated []*Sandbox
	if i != h.image {
		outdated, h.pooled = h.pooled, nil
	}
	h.image, h.filled = i, true
	h.mu.Unlock()
	for _, s := range outdated {
		if err := s.Close(); err != nil { // Close of the host removes what is left
			h.config.Log.Warn("remove a guest without the preloaded packages", "guest", s.ID, "error", err)
		}
	}
	h.wakeFiller()
}

// imageOfPool returns the image of the guests of Take.
func (h *Host) imageOfPool() *image {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.image
}

// load lets the guest of which the image is made import what is to be preloaded. A module that cannot be
// imported is told of and left out; a guest that has not come through it is the image's fault.
func (i *image) load(ctx context.Context, s *Sandbox) error {
	if len(i.preload.Modules) == 0 {
		return nil
	}
	begun := time.Now()
	limited, cancel := context.WithTimeout(ctx, preloadDeadline)
	defer cancel()
	problems, err := i.host.config.Program.Preload(limited, s, i.preload.Modules)
	if err != nil {
		return fmt.Errorf("preload: %w", err)
	}
	for _, p := range problems {
		i.host.config.Log.Warn("not preloaded", "reason", p)
	}
	i.host.config.Log.Info("preloaded", "modules", strings.Join(i.preload.Modules, " "), "problems", len(problems),
		"memory", s.MemoryBytes(), "time", time.Since(begun))
	return nil
}
