package identity

import (
	"net/netip"
	"sync"
	"time"
)

const (
	// freeAttempts is how many wrong passwords in a row an address may send for one account before it has to wait; the wait doubles with
	// each further one, from waitLeast to waitMost.
	freeAttempts = 5
	// freeOfAddress is the same for all accounts together: many people may share an address.
	freeOfAddress = 50
	waitLeast     = 5 * time.Second
	waitMost      = 15 * time.Minute
	// forgetAfter is how long after the last wrong password everything is forgotten.
	forgetAfter = time.Hour
	// maxAttempts bounds what is remembered; what is oldest is forgotten first.
	maxAttempts = 20_000
)

// attempts remember wrong passwords, of an account from an address, and of an address. An account alone has no bound: it would
// let anybody keep its owner out. It is safe for concurrent use.
type attempts struct {
	mu    sync.Mutex
	wrong map[attempt]*failures
}

// An attempt is to sign in to an account from an address; account "" is all of them.
type attempt struct{ account, address string }

type failures struct {
	count int
	last  time.Time
}

func newAttempts() *attempts { return &attempts{wrong: make(map[attempt]*failures)} }

// network is what counts as one address: the whole network of a customer, for IPv6 (RFC 6177).
func network(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	a = a.Unmap().WithZone("")
	if a.Is4() {
		return a.String()
	}
	p, err := a.Prefix(64)
	if err != nil {
		return a.String()
	}
	return p.String()
}

// begin counts an attempt as a wrong one until forgive, and returns how long to wait instead when there were too many. That it is
// counted before the password is looked at keeps many at once from being free.
func (a *attempts) begin(account, address string, now time.Time) time.Duration {
	address = network(address)
	a.mu.Lock()
	defer a.mu.Unlock()
	one, all := attempt{account, address}, attempt{"", address}
	if wait := max(a.wait(one, freeAttempts, now), a.wait(all, freeOfAddress, now)); wait > 0 {
		return wait
	}
	a.count(one, now)
	a.count(all, now)
	return 0
}

// forgive takes back the attempts of an account from an address, since the last one was right.
func (a *attempts) forgive(account, address string) {
	address = network(address)
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.wrong, attempt{account, address})
	if all := a.wrong[attempt{"", address}]; all != nil {
		all.count--
	}
}

// wait returns how long an attempt has to wait. The caller holds a.mu.
func (a *attempts) wait(k attempt, free int, now time.Time) time.Duration {
	f := a.wrong[k]
	if f == nil || f.count < free {
		return 0
	}
	if now.Sub(f.last) >= forgetAfter {
		delete(a.wrong, k)
		return 0
	}
	wait := waitMost
	if doublings := f.count - free; doublings < 8 {
		wait = min(waitLeast<<doublings, waitMost)
	}
	return max(f.last.Add(wait).Sub(now), 0)
}

// count adds an attempt. The caller holds a.mu.
func (a *attempts) count(k attempt, now time.Time) {
	f := a.wrong[k]
	if f == nil {
		if len(a.wrong) >= maxAttempts {
			a.makeRoom(now)
		}
		f = new(failures)
		a.wrong[k] = f
	}
	f.count++
	f.last = now
}

// makeRoom forgets what is over, or else the oldest. The caller holds a.mu.
func (a *attempts) makeRoom(now time.Time) {
	var oldest attempt
	var when time.Time
	for k, f := range a.wrong {
		if now.Sub(f.last) >= forgetAfter {
			delete(a.wrong, k)
		} else if when.IsZero() || f.last.Before(when) {
			oldest, when = k, f.last
		}
	}
	if len(a.wrong) >= maxAttempts {
		delete(a.wrong, oldest)
	}
}
