// Package limit bounds how much each caller may do: how often in a time ([Table]), and how much at once ([Places]).
// A caller is a key: the name of an account, or [Network] of an address.
//
// # Trust
//
// Keys are strangers' and as many as they like. What is remembered of them is bounded: the one not seen longest is
// forgotten first, so that somebody with very many addresses has a fresh quota with each, as before, and nobody else's
// is touched.
//
// # Failure
//
// There is none: a key that is not known has all of its quota.
package limit

import (
	"container/list"
	"net/netip"
	"sync"
	"time"
)

// A Rate is how often something may happen in a time. All of it may happen at once; after that it comes back evenly. The zero
// value, and any other with no events or no time, allows everything.
type Rate struct {
	Events int
	Per    time.Duration
}

// none reports whether r bounds nothing.
func (r Rate) none() bool { return r.Events <= 0 || r.Per <= 0 }

// MaxKeys bounds how many callers a Table remembers: some 15 MB.
const MaxKeys = 1 << 16

// A Table is a Rate for each key. It is safe for concurrent use. The clock may be set meanwhile: only time that passes counts.
type Table struct {
	rate Rate
	keys int

	mu     sync.Mutex // guards what follows
	quotas map[string]*list.Element
	order  *list.List // of *quota, the one seen last in front
}

// A quota is what a key has used: it is all there again at full.
type quota struct {
	key  string
	full time.Time
}

// NewTable returns a Table that remembers at most so many keys, MaxKeys if 0.
func NewTable(r Rate, keys int) *Table {
	if keys <= 0 {
		keys = MaxKeys
	}
	return &Table{rate: r, keys: keys, quotas: make(map[string]*list.Element), order: list.New()}
}

// Rate returns what the Table allows each key.
func (t *Table) Rate() Rate { return t.rate }

// Take takes one event from the quota of key and returns 0, or how long to wait for one, without taking any.
func (t *Table) Take(key string) time.Duration {
	if t.rate.none() {
		return 0
	}
	now, each := time.Now(), t.rate.Per/time.Duration(t.rate.Events)
	t.mu.Lock()
	defer t.mu.Unlock()
	q := t.of(key, now)
	if q.full.Before(now) {
		q.full = now
	}
	next := q.full.Add(each)
	if wait := next.Sub(now) - t.rate.Per; wait > 0 {
		return wait
	}
	q.full = next
	return 0
}

// of returns the quota of key; the caller holds mu.
func (t *Table) of(key string, now time.Time) *quota {
	if e := t.quotas[key]; e != nil {
		t.order.MoveToFront(e)
		return e.Value.(*quota) //nolint:forcetypeassert // nothing else is put in
	}
	if t.order.Len() >= t.keys {
		oldest := t.order.Back()
		delete(t.quotas, t.order.Remove(oldest).(*quota).key) //nolint:forcetypeassert // as above
	}
	q := &quota{key: key, full: now}
	t.quotas[key] = t.order.PushFront(q)
	return q
}

// Known returns how many keys are remembered.
func (t *Table) Known() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.order.Len()
}

// Places are what a key may do at once. They are safe for concurrent use, and remember only keys that are doing something.
type Places struct {
	most int

	mu    sync.Mutex // guards taken
	taken map[string]int
}

// NewPlaces returns Places, at most so many for each key; 0 for no bound.
func NewPlaces(most int) *Places { return &Places{most: most, taken: make(map[string]int)} }

// Most returns how many places a key has, 0 for no bound.
func (p *Places) Most() int { return p.most }

// Enter takes a place, which the caller gives back by leave, once. leave is nil if there is none.
func (p *Places) Enter(key string) (leave func()) {
	if p.most <= 0 {
		return func() {}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.taken[key] >= p.most {
		return nil
	}
	p.taken[key]++
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.taken[key]--; p.taken[key] == 0 {
			delete(p.taken, key)
		}
	}
}

// networkBits is how much of an IPv6 address names a customer's network (RFC 6177): the rest is theirs to choose.
const networkBits = 64

// Network is what of an address is one caller: an IPv4 address, or the /64 of an IPv6 address. It is "" for one that
// is not valid.
func Network(a netip.Addr) string {
	a = a.Unmap().WithZone("")
	switch {
	case !a.IsValid():
		return ""
	case a.Is4():
		return a.String()
	}
	p, err := a.Prefix(networkBits)
	if err != nil { // of a valid address there is one
		return a.String()
	}
	return p.String()
}
