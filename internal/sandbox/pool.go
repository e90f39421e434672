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
		for h.short() {
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

// fillOne adds one guest to the pool, and makes the image first if there is none.
func (h *Host) fillOne(ctx context.Context) error {
	if err := h.image.ensure(ctx); ctx.Err() != nil {
		return ctx.Err() //nolint:wrapcheck // only says that the host closes
	} else if err != nil {
		h.config.Log.Warn("no image for the pool; guests are started instead", "error", err)
	}
	s, err := h.start(ctx)
	if err != nil {
		return err
	}
	s.Stop()
	h.mu.Lock()
	closed := h.closed
	if !closed {
		h.pooled = append(h.pooled, s)
	}
	h.mu.Unlock()
	if closed {
		return s.Close()
	}
	return nil
}

func (h *Host) short() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.closed && len(h.pooled) < h.config.Pool
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
