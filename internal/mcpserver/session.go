package mcpserver

import (
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// DefaultMaxSessions is how many sessions of the older protocol era live at
	// once. An idle one takes some 20 KiB.
	DefaultMaxSessions = 1000

	// sessionTimeout ends a session without a request. It is long, since several
	// clients do not survive the end of a session that they left open overnight.
	sessionTimeout = 24 * time.Hour

	// evictAfter is how long a session must have been idle before it may be
	// ended for a new one when the table is full. Its client starts anew on 404.
	evictAfter = time.Minute

	// evictNobodyAfter is the same for a session that nobody has signed in to, where people sign in: anybody may
	// begin as many as they like, which must not keep out those who have.
	evictNobodyAfter = time.Second
)

// A sessionTable bounds the live sessions: clients begin them without saying who
// they are, and many never end them.
type sessionTable struct {
	limit  int
	signIn bool // people sign in

	waiters sync.WaitGroup // one for each live session

	mu      sync.Mutex
	pending int // initialize requests under way
	live    map[string]*sessionEntry
}

type sessionEntry struct {
	session *mcp.ServerSession
	subject string // whose it is: who began it, or the first to use it whom a token names
	busy    int    // requests and streams under way
	used    time.Time
}

func newSessionTable(limit int, signIn bool) *sessionTable {
	return &sessionTable{limit: limit, signIn: signIn, live: make(map[string]*sessionEntry)}
}

// reserve makes room for one more session, if need be by ending one that has
// been idle for long. It reports false if there is no room. Each success needs a
// release when the initialize request has been answered.
func (t *sessionTable) reserve() bool {
	t.mu.Lock()
	if len(t.live)+t.pending < t.limit {
		t.pending++
		t.mu.Unlock()
		return true
	}
	id, idle := t.oldestIdle()
	if idle == nil || time.Since(idle.used) < t.patience(idle) {
		t.mu.Unlock()
		return false
	}
	delete(t.live, id)
	t.pending++
	t.mu.Unlock()
	// Nothing is in flight in it, so this does not wait; what Close could say
	// of a session that nobody uses helps nobody.
	_ = idle.session.Close()
	return true
}

// oldestIdle returns the session that is to go first, or nil: the one that has been idle for longest, of those that
// nobody has signed in to if there are such. The caller holds t.mu.
func (t *sessionTable) oldestIdle() (id string, oldest *sessionEntry) {
	for i, e := range t.live {
		if e.busy == 0 && (oldest == nil || t.before(e, oldest)) {
			id, oldest = i, e
		}
	}
	return id, oldest
}

// before reports whether a is to go before b.
func (t *sessionTable) before(a, b *sessionEntry) bool {
	if x, y := t.patience(a), t.patience(b); x != y {
		return x < y
	}
	return a.used.Before(b.used)
}

// patience is how long a session must have been idle before it may be ended for a new one.
func (t *sessionTable) patience(e *sessionEntry) time.Duration {
	if t.signIn && e.subject == "" {
		return evictNobodyAfter
	}
	return evictAfter
}

func (t *sessionTable) release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pending--
}

// opened puts a session into the table until it ends. Sessions without id, those
// of pipes and of single requests, are bounded otherwise.
func (t *sessionTable) opened(s *mcp.ServerSession, subject string) {
	id := s.ID()
	if id == "" {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.live[id] != nil {
		return
	}
	t.live[id] = &sessionEntry{session: s, subject: subject, used: time.Now()}
	t.waiters.Go(func() {
		_ = s.Wait() // how it ended makes no difference here
		t.ended(id)
	})
}

// ended takes a session out of the table.
func (t *sessionTable) ended(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.live, id)
}

// enter marks a session busy until the function that it returns is called. Both
// results are nil if there is no session of that id that is the subject's. One that was begun without a
// token becomes that of the first subject who uses it: clients may begin before they sign in.
func (t *sessionTable) enter(id, subject string) (session *mcp.ServerSession, leave func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.live[id]
	if e != nil && e.subject == "" {
		e.subject = subject
	}
	if e == nil || e.subject != subject {
		return nil, nil
	}
	e.busy++
	return e.session, func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		e.busy--
		e.used = time.Now()
	}
}

// wait returns when every session of the table has ended.
func (t *sessionTable) wait() { t.waiters.Wait() }
