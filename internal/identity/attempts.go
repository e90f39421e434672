package identity

import (
	"net/netip"
	"sync"
	"time"

	"runpython/internal/limit"
)

const (
	// freeAttempts is how many wrong passwords in a row an address may send for one account before it has to wait; the wait doubles with
	// each further one, from waitLeast to waitMost.
	freeAttempts = 5
	// freeOfAddress is the same for all accounts together: many people may share an address. Loopback has no such bound: behind a
	// proxy that the operator has not named everybody has that address, and one stranger would keep all people out.
	freeOfAddress = 50
	waitLeast     = 5 * time.Second
	waitMost      = 15 * time.Minute
	// forgetAfter is how long after the last wrong password everything is forgotten.
	forgetAfter = time.Hour
	// maxAttempts bounds what is remembered; what was counted longest ago is forgotten first.
	maxAttempts = 20_000
)

// attempts remember wrong passwords, of an account from an address, and of an address. An account alone has no bound: it would
// let anybody keep its owner out. It is safe for concurrent use.
type attempts struct {
	mu         sync.Mutex
	young, old map[attempt]failures // half of maxAttempts each: when young is full it becomes old, and what was old is forgotten
}

// An attempt is to sign in to an account from an address; account "" is all of them.
type attempt struct{ account, address string }

// noAccount stands for whatever cannot be the name of an account, which it cannot be either.
const noAccount = "?"

type failures struct {
	count int
	last  time.Time
}

func newAttempts() *attempts { return &attempts{young: make(map[attempt]failures)} }

// network is what counts as one address.
func network(address string) string {
	a, err := netip.ParseAddr(address)
	if err != nil {
		return address
	}
	return limit.Network(a)
}

// begin counts an attempt as a wrong one until forgive, and returns how long to wait instead when there were too many. That it is
// counted before the password is looked at keeps many at once from being free.
func (a *attempts) begin(account, address string, now time.Time) time.Duration {
	ip, err := netip.ParseAddr(address)
	everybodys := err == nil && ip.IsLoopback()
	address = network(address)
	a.mu.Lock()
	defer a.mu.Unlock()
	one, all := attempt{account, address}, attempt{"", address}
	wait := a.wait(one, freeAttempts, now)
	if !everybodys {
		wait = max(wait, a.wait(all, freeOfAddress, now))
	}
	if wait > 0 {
		return wait
	}
	a.count(one, now)
	a.count(all, now)
	return 0
}

// forgive forgets the attempts of an account from an address, since the last one was right. Of those of the address for all accounts it
// takes back that one alone: who has an account must not guess at others for free.
func (a *attempts) forgive(account, address string) {
	address = network(address)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.put(attempt{account, address}, failures{})
	a.less(attempt{"", address})
}

// takeBack takes back one attempt of an account from an address, since nobody has looked at what it showed.
func (a *attempts) takeBack(account, address string) {
	address = network(address)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.less(attempt{account, address})
	a.less(attempt{"", address})
}

// less takes back one attempt. The caller holds a.mu.
func (a *attempts) less(k attempt) {
	f := a.get(k)
	f.count--
	a.put(k, f)
}

// wait returns how long an attempt has to wait. The caller holds a.mu.
func (a *attempts) wait(k attempt, free int, now time.Time) time.Duration {
	f := a.get(k)
	if f.count < free || now.Sub(f.last) >= forgetAfter {
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
	f := a.get(k)
	if now.Sub(f.last) >= forgetAfter {
		f.count = 0
	}
	a.put(k, failures{f.count + 1, now})
}

// get returns what is remembered of an attempt. The caller holds a.mu.
func (a *attempts) get(k attempt) failures {
	if f, ok := a.young[k]; ok {
		return f
	}
	return a.old[k]
}

// put remembers it; no failures are forgotten. The caller holds a.mu.
func (a *attempts) put(k attempt, f failures) {
	delete(a.old, k)
	if f.count <= 0 {
		delete(a.young, k)
		return
	}
	if _, there := a.young[k]; !there && len(a.young) >= maxAttempts/2 {
		a.old, a.young = a.young, make(map[attempt]failures)
	}
	a.young[k] = f
}
