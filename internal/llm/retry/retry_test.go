package retry_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"runpython/internal/llm"
	"runpython/internal/llm/retry"
)

// A fake fails as it is told, then answers.
type fake struct {
	failures []llm.Error
	asked    atomic.Int32
	most     atomic.Int32 // under way at once
	now      atomic.Int32
	takes    time.Duration
}

func (f *fake) Name() string { return "vendor/m" }

func (f *fake) Complete(ctx context.Context, _ llm.Request) (*llm.Response, error) {
	n := int(f.asked.Add(1))
	f.most.Store(max(f.most.Load(), f.now.Add(1)))
	defer f.now.Add(-1)
	if f.takes > 0 {
		select {
		case <-time.After(f.takes):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if n <= len(f.failures) {
		e := f.failures[n-1]
		return nil, &e
	}
	return &llm.Response{Stop: llm.End}, nil
}

func again(n int, e llm.Error) []llm.Error {
	list := make([]llm.Error, n)
	for i := range list {
		list[i] = e
	}
	return list
}

func TestAttempts(t *testing.T) {
	for _, tt := range []struct {
		name     string
		failures []llm.Error
		local    bool
		asked    int32
		want     llm.Kind
	}{
		{"answers", nil, false, 1, ""},
		{"passes", again(2, llm.Error{Kind: llm.Overloaded}), false, 3, ""},
		{"limited for long", again(9, llm.Error{Kind: llm.Limited}), false, 5, llm.Limited},
		{"overloaded for long", again(9, llm.Error{Kind: llm.Overloaded}), false, 4, llm.Overloaded},
		{"a local server that fails", again(9, llm.Error{Kind: llm.Overloaded}), true, 2, llm.Overloaded},
		{"unreachable", again(9, llm.Error{Kind: llm.Unreachable}), false, 3, llm.Unreachable},
		{"cut", again(9, llm.Error{Kind: llm.Cut}), false, 3, llm.Cut},
		{"another kind of failure afterwards", []llm.Error{{Kind: llm.Limited}, {Kind: llm.Invalid}}, false, 2, llm.Invalid},
		{"unauthorized", again(9, llm.Error{Kind: llm.Unauthorized}), false, 1, llm.Unauthorized},
		{"too long", again(9, llm.Error{Kind: llm.TooLong}), false, 1, llm.TooLong},
		{"oversized", again(9, llm.Error{Kind: llm.Oversized}), false, 1, llm.Oversized},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{failures: tt.failures}
				m := retry.New(f, retry.Config{Requests: 1, Local: tt.local, Log: slog.New(slog.DiscardHandler)})
				got, err := m.Complete(t.Context(), llm.Request{})
				if llm.KindOf(err) != tt.want || (got == nil) == (err == nil) || f.asked.Load() != tt.asked {
					t.Errorf("Complete = %v, %v after %d requests; want kind %q after %d", got, err, f.asked.Load(), tt.want, tt.asked)
				}
			})
		})
	}
}

// What the server asks for is respected, and no one waits who has no time for it.
func TestRetryAfter(t *testing.T) {
	for _, tt := range []struct {
		name     string
		after    time.Duration
		deadline time.Duration // 0: none
		waits    time.Duration
		asked    int32
		say      string
	}{
		{"as long as it says", 7 * time.Second, time.Minute, 7 * time.Second, 2, ""},
		{"longer than the caller has", 70 * time.Second, time.Minute, 0, 1, "no more requests; it may be asked again in 1m10s"},
		{"longer than anybody waits", time.Hour, 0, 0, 1, "it may be asked again in 1h0m0s"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx := t.Context()
				if tt.deadline > 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, tt.deadline)
					defer cancel()
				}
				f := &fake{failures: []llm.Error{{Kind: llm.Limited, Message: "no more requests", RetryAfter: tt.after}}}
				begun := time.Now()
				_, err := retry.New(f, retry.Config{Log: slog.New(slog.DiscardHandler)}).Complete(ctx, llm.Request{})
				if time.Since(begun) != tt.waits || f.asked.Load() != tt.asked {
					t.Errorf("%d requests within %s, want %d within %s", f.asked.Load(), time.Since(begun), tt.asked, tt.waits)
				}
				if tt.say == "" && err != nil || tt.say != "" && (err == nil || !strings.Contains(err.Error(), tt.say) || llm.KindOf(err) != llm.Limited) {
					t.Errorf("error = %v, want %q", err, tt.say)
				}
			})
		})
	}
}

// The operator learns why, which the person is not told.
func TestCausesAreLogged(t *testing.T) {
	var log bytes.Buffer
	f := &fake{failures: []llm.Error{{Kind: llm.Invalid, Message: "no", Err: errors.New("status 400: temperature is too high")}}}
	_, err := retry.New(f, retry.Config{Log: slog.New(slog.NewTextHandler(&log, nil))}).Complete(t.Context(), llm.Request{})
	if err == nil || err.Error() != "no" || !strings.Contains(log.String(), "temperature is too high") {
		t.Errorf("error = %v, logged %s", err, log.String())
	}
}

func TestCallerLeavesWhileItWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		f := &fake{failures: again(9, llm.Error{Kind: llm.Limited, RetryAfter: time.Minute})}
		time.AfterFunc(time.Second, cancel)
		_, err := retry.New(f, retry.Config{Log: slog.New(slog.DiscardHandler)}).Complete(ctx, llm.Request{})
		if !errors.Is(err, context.Canceled) || f.asked.Load() != 1 {
			t.Errorf("error = %v after %d requests, want that of the context after 1", err, f.asked.Load())
		}
	})
}

func TestRequestsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{takes: time.Second}
		m := retry.New(f, retry.Config{Requests: 2, Log: slog.New(slog.DiscardHandler)})
		done := make(chan error, 6)
		for range cap(done) {
			go func() {
				_, err := m.Complete(t.Context(), llm.Request{})
				done <- err
			}()
		}
		for range cap(done) {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
		if f.most.Load() != 2 {
			t.Errorf("%d requests at once, want 2", f.most.Load())
		}
		f.takes = time.Hour
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		for range 2 {
			go func() { _, _ = m.Complete(ctx, llm.Request{}) }()
		}
		synctest.Wait()
		if _, err := m.Complete(ctx, llm.Request{}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error of who waits for its turn = %v, want that of the context", err)
		}
		synctest.Wait()
	})
}
