package mcpserver

import (
	"context"
	"errors"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// errStopping is the cause of calls that end because the server does.
var errStopping = errors.New("the server is stopping")

// errSessionEnded is the cause of calls whose session the client has deleted.
var errSessionEnded = errors.New("the client ended the session")

// A callTable knows how to cancel the calls of the tool that are in flight. The
// Chatter bounds those that last: turns above its number at once it refuses at once.
type callTable struct {
	mu    sync.Mutex
	calls map[*runningCall]struct{}
}

type runningCall struct {
	session *mcp.ServerSession
	cancel  context.CancelCauseFunc
}

// begin returns the context of a call and the function that ends it.
func (t *callTable) begin(ctx context.Context, session *mcp.ServerSession) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	c := &runningCall{session: session, cancel: cancel}
	t.mu.Lock()
	if t.calls == nil {
		t.calls = make(map[*runningCall]struct{})
	}
	t.calls[c] = struct{}{}
	t.mu.Unlock()
	return ctx, func() {
		t.mu.Lock()
		delete(t.calls, c)
		t.mu.Unlock()
		cancel(nil)
	}
}

// cancelSession cancels the calls of one session.
func (t *callTable) cancelSession(session *mcp.ServerSession, cause error) {
	t.cancelIf(func(c *runningCall) bool { return c.session == session }, cause)
}

func (t *callTable) cancelAll(cause error) {
	t.cancelIf(func(*runningCall) bool { return true }, cause)
}

func (t *callTable) cancelIf(match func(*runningCall) bool, cause error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for c := range t.calls {
		if match(c) {
			c.cancel(cause)
		}
	}
}

// A flightCount counts requests from their arrival until their answer has been
// written, which is later than the end of their call: a session that is closed
// in between loses the answer.
type flightCount struct {
	mu     sync.Mutex
	n      int
	closed bool          // nothing new is let in
	sealed bool          // nor what belongs to something that is counted
	idle   chan struct{} // closed when n reaches 0; nil while nobody waits for that
}

// begin counts one more, or reports false after close.
func (f *flightCount) begin() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return false
	}
	f.n++
	return true
}

// rejoin counts one more that belongs to what has been let in before, as an answer does to a
// question, or reports false after seal.
func (f *flightCount) rejoin() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sealed {
		return false
	}
	f.n++
	return true
}

// join counts one more also after close: what belongs to a request that has been
// let in, and may last longer than it.
func (f *flightCount) join() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n++
}

func (f *flightCount) end() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.n--
	if f.n == 0 && f.idle != nil {
		close(f.idle)
		f.idle = nil
	}
}

// close makes begin refuse from now on.
func (f *flightCount) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
}

// seal makes rejoin refuse too.
func (f *flightCount) seal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed, f.sealed = true, true
}

// wait returns nil as soon as nothing is counted, at once if that is so already, or the
// error of ctx.
func (f *flightCount) wait(ctx context.Context) error {
	f.mu.Lock()
	if f.n == 0 {
		f.mu.Unlock()
		return nil
	}
	if f.idle == nil {
		f.idle = make(chan struct{})
	}
	idle := f.idle
	f.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
