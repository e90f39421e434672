package task

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"
)

// A Status says how far a task is, in the words of the tasks extension of MCP (SEP-2663).
type Status string

// The statuses. The last three are final: a task that has one of them does not change any
// more.
const (
	Working       Status = "working"
	InputRequired Status = "input_required" // questions wait for the client
	Completed     Status = "completed"
	Cancelled     Status = "cancelled"
	Failed        Status = "failed"
)

// final reports whether a task with this status has ended.
func (s Status) final() bool { return s == Completed || s == Cancelled || s == Failed }

// A State is what a task looked like at one moment.
type State struct {
	ID      string
	Status  Status
	Message string // what it is doing, or why it ended; "" when there is nothing to say
	Created time.Time
	Updated time.Time // when the status last changed

	// KeptFor is how long from Created on the task is kept. It grows as long as the task
	// has not ended, and never shrinks.
	KeptFor time.Duration

	Dropped bool // it has ended, and its outcome is no longer kept, only its key

	Questions map[string]json.RawMessage // those that wait for an answer; only with InputRequired
	Result    json.RawMessage            // only with Completed
	Error     json.RawMessage            // only with Failed
}

var (
	// ErrEnded says that a task ended while something was asked of its client.
	ErrEnded = errors.New("the task has ended")
	// ErrTooMany says that more questions were asked than a task may ask.
	ErrTooMany = fmt.Errorf("a task may ask at most %d questions, %d at once", MaxAsked, MaxQuestions)
)

// A Task is one piece of work whose outcome may be fetched later. It is safe for
// concurrent use.
type Task struct {
	store *Store
	spec  Spec
	id    string
	done  chan struct{} // closed when the status is final

	// Guarded by store.mu.
	state    State
	shown    bool            // somebody knows the id
	gone     bool            // not in the store any more
	bytes    int             // that it holds of the store's room
	asked    map[string]bool // keys of all questions so far
	waiting  map[string]*question
	removing *time.Timer // set when the status becomes final
}

// A question waits for an answer.
type question struct {
	request json.RawMessage
	answer  json.RawMessage // nil until there is one
	settled chan struct{}   // closed when answer is set
}

// Done returns a channel that is closed when the task has ended.
func (t *Task) Done() <-chan struct{} { return t.done }

// State returns what the task looks like now. What it holds must not be changed.
func (t *Task) State() State {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	return t.look()
}

// look returns the state. The caller holds store.mu.
func (t *Task) look() State {
	s := t.state
	lasted := time.Since(s.Created)
	if s.Status.final() {
		lasted = s.Updated.Sub(s.Created)
	}
	s.KeptFor = lasted + KeepFor
	if s.Status == InputRequired {
		s.Questions = make(map[string]json.RawMessage, len(t.waiting))
		for key, q := range t.waiting {
			s.Questions[key] = q.request
		}
	}
	return s
}

// Show makes the task one that its owner can find by its id, and returns its state. It
// reports false, and does nothing, when the task has ended: there is an outcome to hand
// out instead.
func (t *Task) Show() (State, bool) {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	if t.gone || t.state.Status.final() {
		return State{}, false
	}
	t.shown = true
	return t.look(), true
}

// ForgetKey makes the same call, sent again with the same key, begin anew.
func (t *Task) ForgetKey() {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	t.store.forgetKey(t)
}

// Drop forgets the outcome of a task that has ended and was not shown, and keeps its key: to
// the same call, sent again, it has ended without one. It does nothing to other tasks.
func (t *Task) Drop() {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	if !t.gone && !t.shown && t.state.Status.final() {
		t.store.drop(t)
	}
}

// Note sets the message that tells what the task is doing, cut to MaxNoteBytes. Nothing
// happens when the task has ended.
func (t *Task) Note(message string) {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	if !t.state.Status.final() {
		t.state.Message = cut(message)
	}
}

// Complete ends the task with a result, a JSON object of at most MaxResultBytes. It
// reports false, and does nothing, when the task had ended.
func (t *Task) Complete(result json.RawMessage) bool {
	return t.end(func(s *State) bool {
		s.Status, s.Result = Completed, result
		return true
	})
}

// CompleteUnshown is Complete for a task that nobody was shown. It reports false, and does
// nothing, for one that was.
func (t *Task) CompleteUnshown(result json.RawMessage) bool {
	return t.end(func(s *State) bool {
		if t.shown {
			return false
		}
		s.Status, s.Result = Completed, result
		return true
	})
}

// Fail ends the task with an error of the protocol, a JSON object of at most
// MaxResultBytes. It reports false, and does nothing, when the task had ended.
func (t *Task) Fail(message string, failure json.RawMessage) bool {
	return t.end(func(s *State) bool {
		s.Status, s.Message, s.Error = Failed, cut(message), failure
		return true
	})
}

// Cancel ends the task and calls the Cancel of its Spec, which ends the work. It reports
// false, and does nothing, when the task had ended.
func (t *Task) Cancel(message string) bool {
	var stop func()
	ended := t.end(func(s *State) bool {
		s.Status, s.Message = Cancelled, cut(message)
		stop = t.spec.Cancel
		return true
	})
	if ended {
		stop()
	}
	return ended
}

// end changes a task that has not ended into one that has, if change says so.
func (t *Task) end(change func(*State) bool) bool {
	s := t.store
	s.mu.Lock()
	defer s.mu.Unlock()
	ended := t.state
	ended.Message, ended.Updated = "", time.Now()
	if t.gone || t.state.Status.final() || !change(&ended) {
		return false
	}
	t.state = ended
	// What is kept for its time holds on to nothing but the outcome.
	t.waiting, t.asked, t.spec.Cancel = nil, nil, nil
	s.resize(t, overheadBytes+len(t.state.Result)+len(t.state.Error))
	close(t.done)
	if !t.shown && t.spec.Key == (Digest{}) {
		s.remove(t) // nobody can ask for it
		return true
	}
	t.removing = time.AfterFunc(KeepFor, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.remove(t)
	})
	return true
}

// Ask puts questions to the client and waits for all answers, whose keys are those of
// the questions. The error is that of ctx, ErrEnded or ErrTooMany; no question waits then.
// The client sees keys that no other question of the task has or had: a number is added
// to those that came before.
func (t *Task) Ask(ctx context.Context, questions map[string]json.RawMessage) (map[string]json.RawMessage, error) {
	asked, err := t.put(questions)
	if err != nil {
		return nil, err
	}
	for _, q := range asked {
		if err = t.await(ctx, q); err != nil {
			break
		}
	}
	answers, answered := t.takeBack(asked)
	if answered { // also in the moment of that error: its client was told that they are taken
		return answers, nil
	}
	return nil, err
}

// await waits for the answer to a question.
func (t *Task) await(ctx context.Context, q *question) error {
	select {
	case <-q.settled:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-t.done:
		return ErrEnded
	}
}

// put makes questions visible.
func (t *Task) put(questions map[string]json.RawMessage) (map[string]*question, error) {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	switch {
	case t.gone || t.state.Status.final():
		return nil, ErrEnded
	case len(t.waiting)+len(questions) > MaxQuestions, len(t.asked)+len(questions) > MaxAsked:
		return nil, ErrTooMany
	}
	asked := make(map[string]*question, len(questions))
	for key, request := range questions {
		q := &question{request: request, settled: make(chan struct{})}
		asked[key] = q
		shown := key
		for n := 2; t.asked[shown]; n++ {
			shown = fmt.Sprintf("%s-%d", key, n)
		}
		t.asked[shown], t.waiting[shown] = true, q
	}
	t.settle()
	return asked, nil
}

// takeBack removes questions that nobody waits for any more. It returns the answers, and
// whether they are all there.
func (t *Task) takeBack(asked map[string]*question) (answers map[string]json.RawMessage, answered bool) {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	answers, answered = make(map[string]json.RawMessage, len(asked)), true
	for key, q := range asked {
		select {
		case <-q.settled:
			answers[key] = q.answer
		default:
			answered = false
		}
	}
	maps.DeleteFunc(t.waiting, func(_ string, waiting *question) bool {
		for _, q := range asked {
			if q == waiting {
				return true
			}
		}
		return false
	})
	t.settle()
	return answers, answered
}

// Answer hands answers to the questions with the same keys. Others are ignored, as the
// extension wants it: they are late, or nobody asked.
func (t *Task) Answer(answers map[string]json.RawMessage) {
	t.store.mu.Lock()
	defer t.store.mu.Unlock()
	for key, answer := range answers {
		if q := t.waiting[key]; q != nil {
			q.answer = answer
			close(q.settled)
			delete(t.waiting, key)
		}
	}
	t.settle()
}

// settle makes the status fit the questions that wait. The caller holds store.mu.
func (t *Task) settle() {
	status := Working
	if len(t.waiting) > 0 {
		status = InputRequired
	}
	if !t.state.Status.final() && t.state.Status != status {
		t.state.Status, t.state.Updated = status, time.Now()
	}
}

// cut returns the beginning of a message, at most MaxNoteBytes.
func cut(message string) string {
	if len(message) <= MaxNoteBytes {
		return message
	}
	return strings.ToValidUTF8(message[:MaxNoteBytes-len("…")], "") + "…"
}
