package egress

import (
	"sync"
	"time"
)

// A ledger bounds what one guest can write into the log of the operator. The zero value is empty.
type ledger struct {
	mu    sync.Mutex // guards what follows
	since time.Time
	count int
}

// isFull counts one record, and reports whether there were recordsPerMinute within a minute before.
func (l *ledger) isFull() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); now.Sub(l.since) >= time.Minute {
		l.since, l.count = now, 0
	}
	l.count++
	return l.count > recordsPerMinute
}
