package kernel

import (
	"context"
	"runtime/debug"
	"time"
)

// A pause is a time in which the code waits for something outside: an answer of the
// person, packages. The guest stands still meanwhile, so that the wait neither counts as
// time of the run nor can be used to compute.
type pause struct {
	begun  time.Time
	cancel context.CancelFunc
	asks   bool // it counts as a wait for the person
	// outcome gets what tells the guest how it went.
	outcome chan func() error
	// refuse tells the guest why it waits in vain. It wakes code that an interrupt has just missed.
	refuse func(why string) error
}

// Why code waits in vain.
const (
	stopped = "the run is being stopped"
	unable  = "the person could not be asked"
)

// standBy begins a pause, in which work is done by a goroutine; its context ends with the
// pause, and after limit, unless that is 0. What work returns is called when the guest goes on;
// if it panics, the guest is refused.
func (r *run) standBy(ctx context.Context, limit time.Duration, refuse func(why string) error, work func(ctx context.Context) (tell func() error)) {
	r.next.Stop()
	r.kernel.watch.stop()
	r.kernel.guest.Stop()
	p := &pause{begun: time.Now(), asks: limit > 0, refuse: refuse, outcome: make(chan func() error, 1)}
	if limit > 0 {
		ctx, p.cancel = context.WithTimeout(ctx, limit)
	} else {
		ctx, p.cancel = context.WithCancel(ctx)
	}
	r.pause = p
	r.outside.Store(true)
	r.awaiting.Go(func() {
		tell := func() error { return refuse(unable) }
		defer func() {
			if v := recover(); v != nil {
				r.kernel.config.Log.ErrorContext(ctx, "panic while code waits for the host", "panic", v, "stack", string(debug.Stack()))
			}
			r.outside.Store(false)
			p.outcome <- tell
		}()
		tell = work(ctx)
	})
}

// outcome gives what tells the guest of the end of the pause; nil while there is none.
func (r *run) outcome() <-chan func() error {
	if r.pause == nil {
		return nil
	}
	return r.pause.outcome
}

// resume ends the pause with what it has brought, unless the call has ended at the same time: that is
// first, so that no code runs then.
func (r *run) resume(ctx context.Context, tell func() error) error {
	select {
	case <-ctx.Done():
		r.stop(ctx, Canceled)
		return nil
	default:
		r.goOn()
		return tell()
	}
}

// goOn ends the pause, if there is one, and lets the guest go on.
func (r *run) goOn() {
	p := r.pause
	if p == nil {
		return
	}
	r.pause = nil
	p.cancel()
	waited := time.Since(p.begun)
	r.waited += waited
	if p.asks {
		r.answering += waited
	}
	r.kernel.guest.Continue()
	r.kernel.watch.start()
	r.next.Reset(r.left())
}

// left is what the run has until its time limit.
func (r *run) left() time.Duration { return max(0, r.limit-r.duration()) }

// duration is how long the run has lasted, without the pauses.
func (r *run) duration() time.Duration { return time.Since(r.begun) - r.waited }
