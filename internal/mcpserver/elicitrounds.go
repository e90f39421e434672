package mcpserver

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"runtime/debug"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/chat"
)

// In the era without sessions a server cannot ask. It answers the call with a question and
// a state, and the client sends the call again with the answer and the state (MCP
// 2026-07-28, multi round-trip requests). The code goes on waiting in between: here a turn
// outlives the requests that drive it, which are its rounds.

const (
	// questionsByRounds is how many questions a run may ask in this era: clients,
	// those of the official SDK among them, give up on a call after ten rounds.
	questionsByRounds = 8

	// questionKey names the question in a round.
	questionKey = "input"

	// refusalShare is the part of the time of a question that is left for the refusal of
	// a task that nobody has answered: 30 s of 10 minutes. After that time the turn ends.
	refusalShare = 20
)

// errUnanswered is the cause of turns whose client did not come back with an answer.
var errUnanswered = errors.New("the client did not answer the question")

// shownClosed answers a round whose state belongs to no question.
const shownClosed = "The question that this answers is closed: it was answered already, it belongs to another call, or nobody answered it " +
	"in time (10 minutes for all questions of a run) and its run was stopped. Nothing was run now. Send the message anew to run it again."

// A dialog is a turn that can ask. While a question is open it is parked: no request is
// there that it would end with.
type dialog struct {
	table  *dialogTable
	owner  string
	call   [sha256.Size]byte // digest of the arguments, which every round repeats
	cancel context.CancelCauseFunc

	questions chan parked   // taken by the round that is there
	done      chan struct{} // closed when the turn is over
	reply     *chat.Reply   // set before that
	err       error
	panicked  bool // the turn has, and that is in the log

	mu       sync.Mutex
	progress func(chat.Progress) // of the round that is there, or nil
	abandon  func()              // tells the call that was answered with the question that it is dead
}

// A dialogTable holds the dialogs that are parked, each under a state that only its client
// knows. There are no more than the Chatter lets turns run at once, and each leaves it
// when its question is closed.
type dialogTable struct {
	mu     sync.Mutex
	parked map[string]parked
	closed bool
}

// parked is a dialog with its open question.
type parked struct {
	dialog   *dialog
	question chat.Question
	answer   chan chat.Answer // takes one
	end      time.Time        // when the question is closed; zero if nobody says
	state    string
}

// park keeps a dialog until its question is answered or dropped, under a new state, or
// reports false after close: nobody can come back then.
func (t *dialogTable) park(p parked) (parked, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return p, false
	}
	if t.parked == nil {
		t.parked = make(map[string]parked)
	}
	p.state = rand.Text()
	t.parked[p.state] = p
	return p, true
}

// take finds the dialog that the state of a request belongs to. With an answer in the request
// it forgets the state and returns the answer, for the caller to send; without one the same question
// gets a new state. A state that was made up, was used before, or belongs to another owner
// or call is not found.
func (t *dialogTable) take(params *mcp.CallToolParamsRaw, owner string, call [sha256.Size]byte) (p parked, answer *chat.Answer, found bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p, found = t.parked[params.RequestState]
	if !found || p.dialog.owner != owner || p.dialog.call != call {
		return parked{}, nil, false
	}
	delete(t.parked, p.state)
	if r, ok := params.InputResponses[questionKey].(*mcp.ElicitResult); ok && r != nil {
		a := answerOf(r)
		return p, &a, true
	}
	p.state = rand.Text()
	t.parked[p.state] = p
	return p, nil, true
}

// drop forgets the state of a dialog and reports whether it was parked.
func (t *dialogTable) drop(d *dialog) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for state, p := range t.parked {
		if p.dialog == d {
			delete(t.parked, state)
			return true
		}
	}
	return false
}

// close ends the dialogs that are parked: no client is let in any more that could come back.
func (t *dialogTable) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	for _, p := range t.parked {
		p.dialog.cancel(errStopping)
	}
}

// callDigestOf tells apart calls of the tool.
func callDigestOf(r chat.Request) [sha256.Size]byte {
	return sha256.Sum256([]byte(r.ChatID + "\x00" + r.Message))
}

// converse is one round of a call whose client takes questions as results.
func (s *Server) converse(ctx context.Context, req *mcp.CallToolRequest, r chat.Request) (*mcp.CallToolResult, error) {
	if req.Params.RequestState == "" {
		d, begin := s.newDialog(ctx, req, r)
		return s.round(ctx, req, d, begin)
	}
	p, answer, found := s.dialogs.take(req.Params, r.Owner, callDigestOf(r))
	switch {
	case !found:
		return errorResult(shownClosed), nil
	case answer == nil:
		return p.result(), nil
	}
	return s.round(ctx, req, p.dialog, func() { p.answer <- *answer })
}

// newDialog returns a turn that goes on without its request while a question is open, and
// what begins it, which must be called.
func (s *Server) newDialog(ctx context.Context, req *mcp.CallToolRequest, r chat.Request) (d *dialog, begin func()) {
	ctx, end := s.calls.begin(context.WithoutCancel(ctx), req.Session)
	ctx, cancel := context.WithCancelCause(ctx)
	d = &dialog{
		table: &s.dialogs, owner: r.Owner, call: callDigestOf(r), cancel: cancel,
		questions: make(chan parked), done: make(chan struct{}),
	}
	r.Ask, r.Questions, r.Progress = d.ask, questionsByRounds, d.report
	s.flights.join()
	return d, func() {
		go func() {
			defer s.flights.end()
			defer end()
			defer cancel(nil)
			defer close(d.done)
			defer func() {
				if p := recover(); p != nil {
					s.log.ErrorContext(ctx, "panic in a turn", "panic", p, "stack", string(debug.Stack()))
					d.panicked = true
				}
			}()
			d.reply, d.err = s.turn(ctx, r, func() {})
		}()
	}
}

// round waits for what the turn comes to, its end or a question, once goOn has made it go
// on. It listens before: what the turn reports first would be lost otherwise.
func (s *Server) round(ctx context.Context, req *mcp.CallToolRequest, d *dialog, goOn func()) (*mcp.CallToolResult, error) {
	var shown chat.Request
	stop := s.follow(ctx, req, &shown)
	defer stop()
	d.follow(shown.Progress, s.tasks.abandoner(req))
	defer d.unfollow()
	goOn()
	select {
	case p := <-d.questions:
		if !p.end.IsZero() {
			s.tasks.waitUntil(req, p.end.Add(-time.Until(p.end)/refusalShare))
		}
		return p.result(), nil
	case <-ctx.Done():
		d.cancel(context.Cause(ctx))
		<-d.done
	case <-d.done:
	}
	if d.panicked {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: shownInternal}
	}
	return s.answered(ctx, req, d.reply, d.err)
}

// result asks the client.
func (p parked) result() *mcp.CallToolResult {
	return &mcp.CallToolResult{
		Content:       []mcp.Content{}, // or it would be null
		InputRequests: mcp.InputRequestMap{questionKey: form(p.question)},
		RequestState:  p.state,
	}
}

// ask hands a question to the round that is there, and waits for another one that brings
// the answer. A turn whose client does not come back is ended with the question.
func (d *dialog) ask(ctx context.Context, q chat.Question) chat.Answer {
	end, _ := ctx.Deadline()
	p, ok := d.table.park(parked{dialog: d, question: q, answer: make(chan chat.Answer, 1), end: end})
	if !ok {
		return chat.Answer{Outcome: chat.Unasked}
	}
	select {
	case d.questions <- p:
	case <-ctx.Done():
	}
	select {
	case a := <-p.answer:
		return a
	case <-ctx.Done():
	}
	if d.table.drop(d) {
		d.cancel(errUnanswered)
		d.mu.Lock()
		defer d.mu.Unlock()
		d.abandon()
	}
	return chat.Answer{Outcome: chat.Unasked}
}

// follow makes report get the progress from now on, and abandon be called if the next
// question is.
func (d *dialog) follow(report func(chat.Progress), abandon func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.progress, d.abandon = report, abandon
}

// unfollow ends the progress. When it returns, nobody gets any.
func (d *dialog) unfollow() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.progress = nil
}

// report tells the round that is there, if one is.
func (d *dialog) report(p chat.Progress) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.progress != nil {
		d.progress(p)
	}
}
