package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/task"
)

// A taskRun is one request on its way to a task: the one that runs it, or a later copy
// that waits for its outcome.
type taskRun struct {
	task     *task.Task
	outlives bool // the end of its request does not end it: a copy with its key may come
	declared bool // its client takes tasks
	began    bool // it runs; not a copy

	mu       sync.Mutex
	handle   *task.State   // what the client was shown, once it is a task
	detached chan struct{} // closed when handle is set
	attached []func()      // to be called before the client gets the handle

	// What the tool has returned, set before task.Done is closed.
	result   mcp.Result
	err      error
	answerBy time.Time // until when its question waits; zero if it does not say
}

// detach makes a run that has not ended a task. It does nothing if it is one already.
func (r *taskRun) detach() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.handle != nil {
		return
	}
	shown, ok := r.task.Show()
	if !ok {
		return
	}
	for _, stop := range r.attached {
		stop()
	}
	r.handle = &shown
	close(r.detached)
}

// whenDetached calls stop before the client gets the handle, at once if it has it: from
// then on nothing may be sent with the request.
func (r *taskRun) whenDetached(stop func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.handle != nil {
		stop()
		return
	}
	r.attached = append(r.attached, stop)
}

// await returns the answer to the request: the outcome, or a handle when the run takes
// longer than after (less than 0: never) or has been detached. A request that ends before
// takes its run with it, unless that outlives it.
func (r *taskRun) await(ctx context.Context, after time.Duration) (mcp.Result, error) {
	var passed <-chan time.Time
	if after >= 0 {
		timer := time.NewTimer(after)
		defer timer.Stop()
		passed = timer.C
	}
	for {
		select {
		case <-r.detached:
			return taskHandle(*r.handle), nil
		case <-passed:
			r.detach()
		case <-r.task.Done():
			select {
			case <-r.detached:
				return taskHandle(*r.handle), nil
			default:
				return r.outcome()
			}
		case <-ctx.Done():
			if !r.outlives {
				r.task.Cancel("its client went away, or has cancelled it")
			}
			return nil, errCancelled()
		}
	}
}

// shownDropped answers a copy of a call whose outcome is gone.
const shownDropped = "This call has run already, or was stopped since nobody answered its question; its outcome is no longer kept. " +
	"Nothing was run now. To run it again, send it with a new idempotency key."

// outcome returns what has become of a run that has ended.
func (r *taskRun) outcome() (mcp.Result, error) {
	s := r.task.State()
	switch {
	case s.Status == task.Cancelled:
		return errorResult("This call was cancelled. To run it again, send it with a new idempotency key."), nil
	case r.began:
		return r.result, r.err
	case s.Dropped:
		return errorResult(shownDropped), nil
	case s.Status == task.Completed:
		result := new(mcp.CallToolResult)
		if err := json.Unmarshal(s.Result, result); err != nil {
			return nil, fmt.Errorf("read the result of a task: %w", err)
		}
		return result, nil
	case s.Status == task.Failed:
		failure := new(jsonrpc.Error)
		if err := json.Unmarshal(s.Error, failure); err != nil {
			return nil, fmt.Errorf("read the error of a task: %w", err)
		}
		return nil, failure
	}
	return nil, errors.New("a task that is done has not ended")
}

// work runs the tool until it has an outcome. A tool that wants input gets it from the
// client: if that has a handle, by questions of the task, otherwise by calling again with
// the answers, which is another run.
func (t *Tasks) work(ctx context.Context, run *taskRun, req *mcp.CallToolRequest, next mcp.MethodHandler) {
	for {
		ended := ctx.Err() != nil
		result, err := t.once(ctx, run, req, next)
		wanted := inputRequests(result)
		if err != nil || len(wanted) == 0 {
			t.finish(ctx, run, result, err)
			return
		}
		run.result = result
		encoded, err := json.Marshal(result)
		switch {
		case err != nil:
			t.finish(ctx, run, nil, fmt.Errorf("encode a question: %w", err))
			return
		case ended, run.task.CompleteUnshown(encoded):
			return
		}
		answers, err := ask(ctx, run, wanted)
		if err != nil {
			t.finish(ctx, run, nil, err)
			return
		}
		params := *req.Params
		params.InputResponses, params.RequestState = answers, result.(*mcp.CallToolResult).RequestState
		req = &mcp.CallToolRequest{Session: req.Session, Params: &params, Extra: req.Extra}
	}
}

// once calls the tool.
func (t *Tasks) once(ctx context.Context, run *taskRun, req *mcp.CallToolRequest, next mcp.MethodHandler) (result mcp.Result, err error) {
	run.answerBy = time.Time{}
	defer t.enter(req, run)()
	defer recovered(ctx, t.log, methodCallTool, &result, &err)
	return next(ctx, methodCallTool, req)
}

// finish ends the task of a run with what its tool has returned.
func (t *Tasks) finish(ctx context.Context, run *taskRun, result mcp.Result, err error) {
	run.result, run.err = result, err
	var encoded []byte
	if err == nil {
		encoded, err = json.Marshal(result)
		if err == nil && len(encoded) > task.MaxResultBytes {
			err = errors.New("the result is larger than a task may keep")
		}
		if err == nil {
			run.task.Complete(encoded)
			return
		}
		t.log.ErrorContext(ctx, "keep the outcome of a call", "error", err)
		run.err = err
	}
	shown := wireError(err)
	if shown == nil {
		run.task.Cancel("cancelled")
		return
	}
	if shown.Code == jsonrpc.CodeInvalidParams {
		run.task.ForgetKey() // nothing was run
	}
	if encoded, err = json.Marshal(shown); err != nil {
		encoded = []byte(`{"code":-32603,"message":"` + shownInternal + `"}`)
	}
	run.task.Fail(shown.Message, encoded)
}

// inputRequests returns what a tool wants to know from the client before it has a result.
func inputRequests(result mcp.Result) mcp.InputRequestMap {
	if r, ok := result.(*mcp.CallToolResult); ok && r != nil {
		return r.InputRequests
	}
	return nil
}

// ask puts the questions of a tool to the client of a task, and returns the answers. If
// there will be none, since nobody answers for long or the task is cancelled, the tool is
// told so, as if the person had refused, and can let go of what waits for them.
func ask(ctx context.Context, run *taskRun, wanted mcp.InputRequestMap) (mcp.InputResponseMap, error) {
	encoded, err := json.Marshal(wanted)
	if err != nil {
		return nil, fmt.Errorf("encode the questions of a task: %w", err)
	}
	var questions map[string]json.RawMessage
	if err := json.Unmarshal(encoded, &questions); err != nil {
		return nil, fmt.Errorf("encode the questions of a task: %w", err)
	}
	end := run.answerBy
	if end.IsZero() {
		end = time.Now().Add(answerWithin)
	}
	wait, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	answers, err := run.task.Ask(wait, questions)
	if errors.Is(err, task.ErrTooMany) {
		return nil, err
	}
	if err == nil {
		return inputResponses(answers)
	}
	refused := make(mcp.InputResponseMap, len(wanted))
	for key, request := range wanted {
		if _, ok := request.(*mcp.ElicitParams); ok {
			refused[key] = &mcp.ElicitResult{Action: "cancel"}
		}
	}
	return refused, nil
}

// inputResponses reads what a client has answered.
func inputResponses(answers map[string]json.RawMessage) (mcp.InputResponseMap, error) {
	encoded, err := json.Marshal(answers)
	if err != nil {
		return nil, fmt.Errorf("read the answers of a client: %w", err)
	}
	var responses mcp.InputResponseMap
	if err := json.Unmarshal(encoded, &responses); err != nil {
		return nil, fmt.Errorf("read the answers of a client: %w", err)
	}
	return responses, nil
}
