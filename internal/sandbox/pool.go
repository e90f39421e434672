package sandbox

import (
	"context"
	"time"
)

// fill keeps the pool full until ctx ends. It starts one guest at a time, and not
// while somebody has just taken one.
func (h *Host) fill(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.wake:
		}
		pause := fillPause
		for h.isShort() {
			if !wait(ctx, pause) {
				return
			}
			pause = 0
			if err := h.fillOne(ctx); err != nil {
				if ctx.Err() != nil {
					return
				}
				h.config.Log.Error("fill the pool", "error", err)
				pause = fillRetry
			}
		}
	}
}

// fillOne makes the image if there is none, and adds one guest to the pool unless that has enough.
func (h *Host) fillOne(ctx context.Context) error {
	i := h.imageOfPool()
	err := i.ensure(ctx)
	switch {
	case ctx.Err() != nil:
		return ctx.Err() //nolint:wrapcheck // only says that the host closes
	case h.config.Pool == 0:
		return err
	case err != nil:
		h.config.Log.Warn("no image for the pool; guests are started instead", "error", err)
	}
	s, err := h.start(ctx, i)
	if err != nil {
		return err
	}
	s.Stop()
	h.mu.Lock()
	wanted := !h.closed && i == h.image
	if wanted {
		h.pooled = append(h.pooled, s)
	}
	h.mu.Unlock()
	if !wanted {
		return s.Close()
	}
	return nil
}

// isShort reports whether the pool lacks a guest or, without a pool, a preload its image.
func (h *Host) isShort() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed || !h.filled:
		return false
	case h.config.Pool == 0:
		return h.image != h.plain && h.image.isMissing()
	}
	return len(h.pooled) < h.config.Pool
}

func (h *Host) wakeFiller() {
	select {
	case h.wake <- struct{}{}:
	default: // it is awake
	}
}

// wait waits for d and reports whether ctx still lasts.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}
