package eval_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"runpython/internal/chat"
	"runpython/internal/eval"
	"runpython/internal/fault"
	"runpython/internal/llm"
)

// A fake program does what the prompt of a task says, and its checks believe it.
type fake struct {
	mu      sync.Mutex
	chats   int
	records map[string]string // what a check of the chat is to judge
	turns   int               // that are under way
	most    int               // turns at once
	gate    chan struct{}     // if not nil, a prompt waits for it, or for its end
}

func (f *fake) Turn(ctx context.Context, r chat.Request) (*chat.Reply, error) {
	if strings.HasPrefix(r.Message, "~~~python\n") { // the code of this package, or a check
		f.mu.Lock()
		defer f.mu.Unlock()
		reply := &chat.Reply{ChatID: r.ChatID, Runs: []chat.Run{{}}}
		if strings.Contains(r.Message, "CHECK") && strings.Contains(f.records[r.ChatID], `"answer":"no"`) {
			reply.IsError, reply.Runs[0].Error = true, "Traceback (most recent call last):\n  File \"x\", line 1\n    assert CHECK\nAssertionError: it is\nno"
		}
		return reply, nil
	}
	f.under(1)
	defer f.under(-1)
	if f.gate != nil {
		select {
		case <-f.gate:
		case <-ctx.Done():
			return nil, fault.New(fault.Canceled, ctx.Err(), "the call was stopped")
		}
	}
	use := &chat.ModelUse{End: "answered", Words: r.Message, Requests: 2, Usage: llm.Usage{Input: 10, Output: 3}, Cost: 0.5}
	switch r.Message {
	case "busy":
		return nil, fault.New(fault.Busy, errors.New("the cause"), "all interpreters are at work")
	case "away":
		use.End, use.Usage = "failed", llm.Usage{}
		return &chat.Reply{ChatID: "c", IsError: true, Text: "The model\ncannot be reached.", Model: use}, nil
	case "mumbles": // and so fails by itself
		use.End, use.Words = "failed", "no"
	case "invents":
		use.Unfounded = []string{"17"}
	}
	return &chat.Reply{ChatID: "c", Runs: make([]chat.Run, 2), Model: use}, nil
}

func (f *fake) under(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.turns += n
	f.most = max(f.most, f.turns)
}

func (f *fake) PutFile(_ context.Context, _, id, name string, r io.Reader) (string, error) {
	text, err := io.ReadAll(r)
	f.mu.Lock()
	defer f.mu.Unlock()
	if id == "" {
		f.chats++
		id = fmt.Sprint(f.chats)
	}
	if strings.HasSuffix(name, "/turns.json") {
		if f.records == nil {
			f.records = make(map[string]string)
		}
		f.records[id] = string(text)
	}
	return id, err
}

func (*fake) OpenFile(context.Context, string, string) (chat.File, io.ReadCloser, error) {
	return chat.File{}, nil, fault.New(fault.NotFound, nil, "there is no such file")
}

func (*fake) Model() llm.Model { return model(nil) }

// A model answers with its texts, one after the other.
type model []string

func (model) Name() string { return "fake/model" }

func (m model) Complete(_ context.Context, r llm.Request) (*llm.Response, error) {
	turn := len(r.Messages) / 2 // requests and answers alternate
	if turn >= len(m) {
		return nil, &llm.Error{Kind: llm.Unreachable, Message: "no connection to the model", Err: errors.New("the cause")}
	}
	return &llm.Response{Message: llm.Message{Role: llm.Assistant, Text: m[turn]}, Usage: llm.Usage{Input: 7, Output: 2}}, nil
}

// tasks makes tasks that are called like their prompts.
func tasks(prompts ...string) []eval.Task {
	all := make([]eval.Task, len(prompts))
	for i, p := range prompts {
		all[i] = eval.Task{Name: p, Turns: []eval.Turn{{Prompt: p}}, Check: "CHECK"}
	}
	return all
}

func TestRun(t *testing.T) {
	var told []string
	report, err := eval.Run(t.Context(), &fake{}, tasks("yes", "no", "busy", "mumbles", "away", "invents"), eval.Options{
		Repeat: 1, Parallel: 1, Done: func(r eval.TaskReport) { told = append(told, r.Name) },
	})
	if err != nil {
		t.Fatal(err)
	}
	use := eval.Use{Runs: 2, Requests: 2, Tokens: llm.Usage{Input: 10, Output: 3}, Cost: 0.5}
	invents := use
	invents.Unfounded = 1
	want := &eval.Report{Model: "fake/model", Tasks: []eval.TaskReport{
		{Name: "yes", Attempts: []eval.Attempt{{Passed: true, Use: use}}},
		{Name: "no", Attempts: []eval.Attempt{{Why: "it is no", Use: use}}},
		{Name: "busy", Attempts: []eval.Attempt{{Broken: true, Why: "all interpreters are at work"}}},
		{Name: "mumbles", Attempts: []eval.Attempt{{Why: "it is no", Use: use}}},
		{Name: "away", Attempts: []eval.Attempt{{Broken: true, Why: "The model cannot be reached."}}},
		{Name: "invents", Attempts: []eval.Attempt{{Passed: true, Use: invents}}},
	}}
	if diff := cmp.Diff(want, report, cmpopts.IgnoreFields(eval.Attempt{}, "Duration")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"yes", "no", "busy", "mumbles", "away", "invents"}, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	sum := report.Total()
	if sum.Attempts != 4 || sum.Passed != 2 || sum.Broken != 2 || sum.Rate() != 0.5 || sum.Runs != 8 || sum.Unfounded != 1 {
		t.Errorf("in all: %+v, rate %g", sum, sum.Rate())
	}
}

// Attempts are played beside each other, and told of in the order of the tasks.
func TestParallel(t *testing.T) {
	p := &fake{gate: make(chan struct{})}
	var begun, told []string
	report, err := eval.Run(t.Context(), p, tasks("yes", "no", "perhaps"), eval.Options{
		Repeat: 2, Parallel: 4,
		Begun: func(task string) {
			if begun = append(begun, task); len(begun) == 4 {
				close(p.gate)
			}
		},
		Done: func(r eval.TaskReport) {
			told = append(told, fmt.Sprint(r.Name, " ", r.Passed(), "/", len(r.Attempts)))
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"yes 2/2", "no 0/2", "perhaps 2/2"}, told); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	if p.most > 4 || len(begun) != 6 || report.Total().Attempts != 6 {
		t.Errorf("%d turns at once, %d begun, in all %+v", p.most, len(begun), report.Total())
	}
}

// A model that is away is not asked for ever.
func TestRunGivesUp(t *testing.T) {
	report, err := eval.Run(t.Context(), &fake{}, tasks("away", "away", "yes", "away", "away", "away", "yes"), eval.Options{Repeat: 1, Parallel: 1})
	if err == nil || !strings.Contains(err.Error(), "3 attempts in a row could not be played, the last one because of this: The model cannot be reached.") {
		t.Errorf("Run ends with %v", err)
	}
	if sum := report.Total(); sum.Broken != 5 || sum.Attempts != 1 || len(report.Tasks) != 7 {
		t.Errorf("in all %+v of %d tasks", sum, len(report.Tasks))
	}
}

// What was played before the end of the context is reported, what was under way is not.
func TestRunEnds(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	p := &fake{gate: make(chan struct{}, 1)}
	p.gate <- struct{}{}
	enough := errors.New("enough")
	n := 0
	report, err := eval.Run(ctx, p, tasks("yes", "no", "perhaps"), eval.Options{Repeat: 1, Parallel: 1, Begun: func(string) {
		if n++; n == 2 {
			stop(enough)
		}
	}})
	if !errors.Is(err, enough) {
		t.Errorf("Run ends with %v, want %v", err, enough)
	}
	if sum := report.Total(); sum.Attempts != 1 || sum.Broken != 0 {
		t.Errorf("in all %+v, want one attempt", sum)
	}
}
