package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/task"
)

const (
	// taskAfter is how long a call of a client that takes tasks may last before it is
	// answered by a task. Clients give up on calls after a minute or so.
	taskAfter = 10 * time.Second

	// pollEvery is how often clients are asked to look at a task.
	pollEvery = time.Second

	// fetchWithin is how long a server that stops keeps the last outcomes for clients that
	// look at their tasks as often as they are asked to.
	fetchWithin = 3 * pollEvery

	// answerWithin is how long the questions of a task wait for answers, unless its tool
	// has said less, see [Tasks.waitUntil].
	answerWithin = 10 * time.Minute
)

// TasksOptions say how a Tasks works. The zero value is usable.
type TasksOptions struct {
	// Owner tells who asks; nil means that everybody is the same.
	Owner func(mcp.Request) string
	// After is how long a call lasts before it becomes a task. 0 means that only
	// Detach and the client's own wish make it one.
	After time.Duration

	Log *slog.Logger // nil means no log
}

// A Tasks adds the tasks extension to an [mcp.Server]: calls of tools that last long are
// answered with a task, which runs on without its connection, and whose outcome is kept
// for task.KeepFor. It also keeps calls that carry an idempotency key from running twice.
// It is safe for concurrent use. The caller ends it with Close.
type Tasks struct {
	owner func(mcp.Request) string
	after time.Duration
	log   *slog.Logger
	store task.Store
	works flightCount // goroutines of runs

	mu       sync.Mutex
	runs     map[*mcp.CallToolRequest]*taskRun
	leaving  map[string]struct{} // tasks that have ended since the server stops and were not fetched; nil before
	outcomes flightCount         // what is in leaving
}

// NewTasks returns a Tasks that adds nothing to any server until Attach.
func NewTasks(o TasksOptions) *Tasks {
	if o.Owner == nil {
		o.Owner = func(mcp.Request) string { return "" }
	}
	if o.After <= 0 {
		o.After = -1
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Tasks{owner: o.Owner, after: o.After, log: o.Log, runs: make(map[*mcp.CallToolRequest]*taskRun)}
}

// Attach adds the methods of the extension to a server, which must not serve yet. Its
// capabilities must declare [TasksExtension].
func (t *Tasks) Attach(server *mcp.Server) {
	for _, method := range []string{methodGetTask, methodUpdateTask, methodCancelTask} {
		err := mcp.AddReceivingCustomMethod(server, method,
			func(context.Context, *mcp.ServerSession, *taskParams) (*taskAnswer, error) {
				return nil, errors.New("the middleware answers these methods, since only it sees whose request it is")
			})
		if err != nil {
			panic("mcpserver: " + err.Error()) // the SDK has got a method of that name
		}
	}
	server.AddReceivingMiddleware(t.receive)
}

// Close cancels the runs that go on, drops all outcomes, and waits for the runs until ctx
// ends. Its error says that some go on.
func (t *Tasks) Close(ctx context.Context) error {
	t.works.close()
	t.store.Close()
	if t.works.wait(ctx) != nil {
		return errors.New("end the tasks: some did not return when they were cancelled")
	}
	return nil
}

// stopping makes outcomes from now on be waited for by linger.
func (t *Tasks) stopping() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.leaving == nil {
		t.leaving = make(map[string]struct{})
	}
}

// linger waits for the runs, and then a while for clients to fetch the outcomes of tasks that have
// ended since stopping; no longer than until ctx ends.
func (t *Tasks) linger(ctx context.Context) {
	if t.works.wait(ctx) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, fetchWithin)
	defer cancel()
	_ = t.outcomes.wait(ctx) // a client that does not come has had its chance
}

// ended notes that a run has an outcome, which its client has yet to fetch if it is a task
// that was not cancelled.
func (t *Tasks) ended(run *taskRun) {
	run.mu.Lock()
	shown := run.handle
	run.mu.Unlock()
	t.mu.Lock()
	defer t.mu.Unlock()
	if shown != nil && t.leaving != nil && run.task.State().Status != task.Cancelled {
		t.leaving[shown.ID] = struct{}{}
		t.outcomes.join()
	}
}

// fetched notes that a client knows what has become of a task.
func (t *Tasks) fetched(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.leaving[id]; ok {
		delete(t.leaving, id)
		t.outcomes.end()
	}
}

func (t *Tasks) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		switch r := req.(type) {
		case *mcp.CallToolRequest:
			return t.call(ctx, r, next)
		case *mcp.ServerRequest[*taskParams]:
			return t.serve(method, r)
		}
		result, err := next(ctx, method, req)
		if r, ok := result.(*mcp.InitializeResult); ok && r != nil {
			delete(r.Capabilities.Extensions, TasksExtension) // of a later era than that method
		}
		return result, err
	}
}

// serve answers the methods of the extension.
func (t *Tasks) serve(method string, r *mcp.ServerRequest[*taskParams]) (mcp.Result, error) {
	switch {
	case !modern(r.ProtocolVersion()):
		return nil, notOffered(method)
	case r.Params == nil:
		return nil, invalidParams("taskId is missing")
	case !declaresTasks(r.ProtocolVersion(), r.Params.Meta):
		return nil, tasksRequired()
	}
	found, ok := t.store.Find(t.owner(r), r.Params.TaskID)
	if !ok {
		return nil, invalidParams("no such task: the taskId is wrong, the task ended more than an hour ago, or the server was started anew")
	}
	switch method {
	case methodGetTask:
		state := found.State()
		if state.Status != task.Working && state.Status != task.InputRequired {
			t.fetched(state.ID)
		}
		return taskDetails(state), nil
	case methodUpdateTask:
		if err := checkAnswers(found.State(), r.Params.InputResponses); err != nil {
			return nil, err
		}
		found.Answer(r.Params.InputResponses)
	case methodCancelTask:
		found.Cancel("cancelled by the client")
	}
	return &taskAnswer{ResultType: resultComplete}, nil
}

// checkAnswers refuses answers to open questions that have no shape that the protocol knows.
// Answers to other questions are nobody's business.
func checkAnswers(s task.State, answers map[string]json.RawMessage) error {
	for key := range s.Questions {
		answer, ok := answers[key]
		if !ok {
			continue
		}
		if _, err := inputResponses(map[string]json.RawMessage{key: answer}); err != nil {
			return invalidParams("inputResponses: the answer to " + key + " is not a result of the method that was asked for")
		}
	}
	return nil
}

// Detach makes a call that is running a task at once, as its tool may wish: the caller gets
// the handle, and the outcome later. The error, for the caller, says that it does not take
// tasks. Detach is called by the tool's handler.
func (t *Tasks) Detach(req *mcp.CallToolRequest) error {
	run := t.of(req)
	if run == nil || !run.declared {
		return tasksRequired()
	}
	run.detach()
	return nil
}

// notRun says that a call was refused before anything ran, so that the same call, sent
// again with its key, is not answered with that.
func (t *Tasks) notRun(req *mcp.CallToolRequest) {
	if run := t.of(req); run != nil {
		run.task.ForgetKey()
	}
}

// waitUntil says how long the question that a call is answered with may wait for its
// answer, if the call is a task: later the tool takes none.
func (t *Tasks) waitUntil(req *mcp.CallToolRequest, end time.Time) {
	if run := t.of(req); run != nil {
		run.answerBy = end
	}
}

// abandoner returns what makes a question that a call was answered with one that the
// same call, sent again with its key, is not answered with any more, nor run again for.
func (t *Tasks) abandoner(req *mcp.CallToolRequest) func() {
	run := t.of(req)
	if run == nil {
		return func() {}
	}
	return run.task.Drop
}

// of returns the run that a request belongs to, or nil if it is a plain call.
func (t *Tasks) of(req *mcp.CallToolRequest) *taskRun {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.runs[req]
}

// enter makes a run known by a request, until the function that it returns is called.
func (t *Tasks) enter(req *mcp.CallToolRequest, run *taskRun) (leave func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.runs[req] = run
	return func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.runs, req)
	}
}

// call answers tools/call: plainly, or with a task if the client takes tasks and the call
// lasts.
func (t *Tasks) call(ctx context.Context, r *mcp.CallToolRequest, next mcp.MethodHandler) (mcp.Result, error) {
	declared := declaresTasks(r.ProtocolVersion(), r.Params.Meta)
	key, bad := callKey(r.Params)
	if bad != nil {
		return nil, bad
	}
	keyed := key != (task.Digest{})
	if !declared && !keyed {
		return next(ctx, methodCallTool, r)
	}
	after, bad := taskAfterOf(r.Params.Meta, t.after)
	if bad != nil {
		return nil, bad
	}
	if !declared {
		after = -1
	}
	// The run does not end with its request, so that it can become a task; await ends it
	// when it has not become one.
	work, cancel := context.WithCancel(context.WithoutCancel(ctx))
	kept, began, err := t.store.Begin(task.Spec{Owner: t.owner(r), Key: key, Call: callDigest(r.Params), Cancel: cancel})
	if err != nil {
		cancel()
		return t.unkept(ctx, r, next, keyed, err)
	}
	run := &taskRun{
		task: kept, declared: declared, began: began, detached: make(chan struct{}),
		outlives: keyed && cutOff(r),
	}
	if !began {
		cancel()
		return run.await(ctx, after)
	}
	if !t.works.begin() {
		kept.Cancel("the server is stopping")
		return errorResult(shownClosing), nil
	}
	if after == 0 {
		run.detach()
	}
	go func() {
		defer t.works.end()
		defer cancel()
		t.work(work, run, r, next)
		t.ended(run)
	}()
	return run.await(ctx, after)
}

// shownClosing answers a call that comes too late.
const shownClosing = "The server is stopping. Nothing was run; try again in a moment, in a new chat."

// cutOff reports whether a request that ends early has lost its connection. In the era
// without sessions HTTP has no other end. In the other one, where a client cancels by a
// message, a request that has a key does not end with its connection, see
// [Endpoint.abandon]; over pipes both ends mean that nobody wants the outcome.
func cutOff(r *mcp.CallToolRequest) bool {
	return modern(r.ProtocolVersion()) && byHTTP(r)
}

// unkept answers a call that cannot have a task.
func (t *Tasks) unkept(ctx context.Context, r *mcp.CallToolRequest, next mcp.MethodHandler, keyed bool, why error) (mcp.Result, error) {
	switch {
	case errors.Is(why, task.ErrClosed):
		return errorResult(shownClosing), nil
	case errors.Is(why, task.ErrOtherCall):
		return nil, invalidParams("this idempotency key came with another call before; use a new one for each new call")
	case keyed: // it could run twice
		return errorResult("Too many outcomes of calls with idempotency keys are kept. Nothing was run; try again later, or without a key."), nil
	}
	return next(ctx, methodCallTool, r) // as for a client that takes no tasks
}
