package kernel

import (
	"sync/atomic"
	"time"
)

// A metronome ticks while a chat is in use, for what must be looked at during a
// run. It goes on between the calls of a burst: a ticker of each run's own would wake
// the runtime's poller at each, which costs more than the tick.
type metronome struct {
	ticks chan struct{} // holds one tick that nobody has taken yet
	every time.Duration
	timer *time.Timer
	on    atomic.Bool
}

func newMetronome(every time.Duration) *metronome {
	m := &metronome{ticks: make(chan struct{}, 1), every: every}
	m.timer = time.AfterFunc(time.Hour, m.tick)
	m.timer.Stop()
	return m
}

// start makes it tick, until stop.
func (m *metronome) start() {
	if m.on.CompareAndSwap(false, true) {
		m.timer.Reset(m.every)
	}
}

func (m *metronome) stop() {
	m.on.Store(false)
	m.timer.Stop()
}

func (m *metronome) tick() {
	select {
	case m.ticks <- struct{}{}:
	default:
	}
	if m.on.Load() {
		m.timer.Reset(m.every)
	}
}
