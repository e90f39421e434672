// Package retry sends the requests of a model again when that may help, and bounds how many are under way.
//
// # Trust
//
// Servers say how long they want nothing to be sent; what is longer than the caller has time is refused.
//
// # Failure
//
// The last error of the model, with a word on when it may be asked again where there was no time for it; the
// error of the context when that has ended. The cause of each failure is logged here, as callers tell
// people the message alone.
package retry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"runpython/internal/llm"
)

// Waits between requests that failed.
const (
	firstWait = 500 * time.Millisecond // doubled each time
	mostWait  = 8 * time.Second
	// mostAsked bounds what a server may ask for where the caller has no deadline.
	mostAsked = 2 * time.Minute
)

// Config is what a Model is made of.
type Config struct {
	Requests int  // that are under way at once; at least 1
	Local    bool // a server of the operator's: many answer each bad request like an overload, so it is asked only twice
	Log      *slog.Logger
}

// Model is an llm.Model before another. It is safe for concurrent use.
type Model struct {
	llm.Model

	config Config
	slots  chan struct{}
}

// New returns model with c before it.
func New(model llm.Model, c Config) *Model {
	return &Model{Model: model, config: c, slots: make(chan struct{}, max(1, c.Requests))}
}

// attempts returns how often a request that fails so is sent in all.
func (m *Model) attempts(k llm.Kind) int {
	switch k {
	case llm.Limited:
		return 5
	case llm.Overloaded:
		if m.config.Local {
			return 2
		}
		return 4
	case llm.Unreachable, llm.Cut:
		return 3
	case llm.Unauthorized, llm.NoModel, llm.Invalid, llm.TooLong, llm.NoTools, llm.Oversized:
	}
	return 1
}

// Complete asks the model, again where that may help; see llm.Model.
func (m *Model) Complete(ctx context.Context, r llm.Request) (*llm.Response, error) {
	for attempt := 1; ; attempt++ {
		answer, err := m.once(ctx, r)
		e, ok := errors.AsType[*llm.Error](err)
		if !ok || ctx.Err() != nil {
			return answer, err
		}
		m.config.Log.Warn("a request to the model has failed", "model", m.Name(), "failure", e.Kind, "attempt", attempt, "cause", e.Err)
		if attempt >= m.attempts(e.Kind) {
			return nil, err
		}
		wait := max(e.RetryAfter, backoff(attempt))
		if tooLate(ctx, wait) {
			return nil, later(e, wait)
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, ctx.Err() //nolint:wrapcheck // documented
		}
	}
}

// once sends a request when its turn has come.
func (m *Model) once(ctx context.Context, r llm.Request) (*llm.Response, error) {
	select {
	case m.slots <- struct{}{}:
		defer func() { <-m.slots }()
	case <-ctx.Done():
		return nil, ctx.Err() //nolint:wrapcheck // documented
	}
	return m.Model.Complete(ctx, r) //nolint:wrapcheck // the same contract
}

// backoff returns a wait between half of and the whole time for an attempt, so that clients that failed
// together do not come back together.
func backoff(attempt int) time.Duration {
	whole := mostWait
	if shift := attempt - 1; shift < 8 {
		whole = min(mostWait, firstWait<<shift)
	}
	return whole/2 + rand.N(whole/2) //nolint:gosec // no secret
}

// tooLate tells whether ctx ends before a wait does.
func tooLate(ctx context.Context, wait time.Duration) bool {
	deadline, ok := ctx.Deadline()
	if !ok {
		return wait > mostAsked
	}
	return time.Until(deadline) <= wait
}

// later is e for a caller that has no time to wait.
func later(e *llm.Error, wait time.Duration) error {
	told := *e
	told.Message = fmt.Sprintf("%s; it may be asked again in %s", e.Message, max(time.Second, wait.Round(time.Second)))
	return &told
}
