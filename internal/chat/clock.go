package chat

import (
	"sync/atomic"
	"time"
)

// since is how long ago a time in Unix nanoseconds of the clock of this process was.
func (s *Service) since(at *atomic.Int64) time.Duration {
	return s.options.Now().Sub(time.Unix(0, at.Load()))
}

// leaveTurn is conversation.leave at the end of a turn or an upload.
func (s *Service) leaveTurn(c *conversation) {
	c.rested.Store(s.options.Now().UnixNano())
	c.leave()
}

// steady returns a clock that shows the time of the machine as of now, and that setting that does not move: no chat
// is old at once, and none that is idle seems to be in use for hours.
func steady() func() time.Time {
	begun := time.Now()
	return func() time.Time { return begun.Add(time.Since(begun)) }
}
