package chat_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/agent"
	"runpython/internal/chat"
	"runpython/internal/fault"
	"runpython/internal/llm"
	"runpython/internal/message"
)

// agentFunc is an agent of a test.
type agentFunc func(ctx context.Context, t agent.Task) (*agent.Answer, error)

func (f agentFunc) Answer(ctx context.Context, t agent.Task) (*agent.Answer, error) { return f(ctx, t) }

func (agentFunc) Model() string { return "test/model" }

// runWords runs each word as code of the model and returns what it is told.
func runWords(ctx context.Context, t agent.Task, words ...string) ([]*agent.Outcome, error) {
	var all []*agent.Outcome
	for _, w := range words {
		code := do(w)
		o, err := t.Run(ctx, agent.Code{Source: code, Readings: []message.Candidate{{Code: code, RunAnyway: true}}})
		if err != nil {
			return nil, err
		}
		all = append(all, o)
	}
	return all, nil
}

func withAgent(f agentFunc) func(*chat.Options) {
	return func(o *chat.Options) { o.Agent = f }
}

// plain is a message that no reading takes for code.
const plain = "What is the mean of these numbers?"

// MSG-14: a question in plain language is answered by the model and the code that it writes; the
// reply has the words, the last code and what came of it.
func TestModelAnswers(t *testing.T) {
	s, _ := newService(t, withAgent(func(ctx context.Context, task agent.Task) (*agent.Answer, error) {
		if task.Message != plain || len(task.History) != 0 {
			t.Errorf("task %q with %d exchanges; want the message alone", task.Message, len(task.History))
		}
		task.Progress("writing code")
		all, err := runWords(ctx, task, "get x", "file out.csv a,b", "set x", "get x")
		if err != nil {
			return nil, err
		}
		if all[0].Error != "NameError" || all[3].Error != "" || !strings.Contains(all[3].Text, "x") {
			t.Errorf("outcomes %+v and %+v; want a NameError, then the value", all[0], all[3])
		}
		return &agent.Answer{End: agent.Answered, Words: "The mean is **2**.", Requests: 3, Usage: llm.Usage{Input: 1200, Output: 80}}, nil
	}))
	var steps []string
	reply, err := s.Turn(t.Context(), chat.Request{Message: plain, Progress: func(p chat.Progress) { steps = append(steps, p.Step) }})
	if err != nil {
		t.Fatal(err)
	}
	if reply.IsError || reply.State != chat.New || len(reply.Runs) != 4 || len(reply.Files) != 1 {
		t.Errorf("reply %+v; want four runs, one file, no error", reply)
	}
	for _, want := range []string{"The mean is **2**.", "```python\ndo('get x')", "Value:\n```text\nx\n", "out.csv", "`test/model`: 4 runs, 3 requests, 1,200 tokens in and 80 tokens out"} {
		if !strings.Contains(reply.Text, want) {
			t.Errorf("no %q in the text:\n%s", want, reply.Text)
		}
	}
	if !strings.Contains(strings.Join(steps, ","), "writing code") {
		t.Errorf("progress %v does not tell what the agent does", steps)
	}
	if next := ask(t, s, reply.ChatID, "get x"); next.State != chat.Kept || next.IsError {
		t.Errorf("after it: %+v; want the variable, kept", next)
	}
}

// Code runs without the model, text that is none reaches it, and it is told of both kinds of turns.
func TestWhatIsForTheModel(t *testing.T) {
	var tasks []agent.Task
	s, _ := newService(t, withAgent(func(_ context.Context, task agent.Task) (*agent.Answer, error) {
		tasks = append(tasks, task)
		return &agent.Answer{End: agent.Answered, Words: "well", Exchange: agent.Exchange{Message: task.Message, Answer: "well"}}, nil
	}))
	first := ask(t, s, "", "set x")
	for _, m := range []string{plain, "x", "notcode late", "Explain this:\n```python\n" + do("set x") + "\n```", "fibonacci(10)", "get or forget"} {
		before := len(tasks)
		if m == "fibonacci(10)" {
			m = "get y" // the fake's NameError
		}
		if m == "notcode late" {
			m = do(m)
		}
		reply, err := s.Turn(t.Context(), chat.Request{ChatID: first.ChatID, Message: m})
		if err != nil {
			t.Fatal(err)
		}
		if len(tasks) != before+1 || !strings.Contains(reply.Text, "well") || reply.State != chat.Kept {
			t.Errorf("%q: the model was asked %d times, state %q:\n%s", m, len(tasks)-before, reply.State, reply.Text)
		}
		if reply.IsError || len(reply.Problems) > 0 || strings.Contains(reply.Text, "NameError") {
			t.Errorf("%q was answered in words, and yet: error %v, problems %q:\n%s", m, reply.IsError, reply.Problems, reply.Text)
		}
	}
	history := tasks[len(tasks)-1].History
	if len(history) != 6 || history[0].Steps[0].Code != do("set x") || history[1].Answer != "well" {
		t.Errorf("history %+v; want the run of the person, then the answers", history)
	}
}

// A chat in which nothing has run yet has lost nothing.
func TestWordsAlone(t *testing.T) {
	s, w := newService(t, withAgent(func(context.Context, agent.Task) (*agent.Answer, error) {
		return &agent.Answer{End: agent.Answered, Words: "Hello."}, nil
	}))
	reply, err := s.Turn(t.Context(), chat.Request{Message: "Hello, who are you?"})
	if err != nil || reply.State != chat.New || len(reply.ChatID) != 26 {
		t.Fatalf("reply %+v, %v; want a chat that begins", reply, err)
	}
	if w.started != 0 {
		t.Errorf("%d interpreters were started for words", w.started)
	}
	if next := ask(t, s, reply.ChatID, "set x"); next.State != chat.Kept {
		t.Errorf("first run: state %q, %q; want kept", next.State, next.StateReason)
	}
}

// Ends that are no answer are errors that say why, beside what there is.
func TestModelStops(t *testing.T) {
	s, _ := newService(t, withAgent(func(ctx context.Context, task agent.Task) (*agent.Answer, error) {
		_, err := runWords(ctx, task, "set x", "get y")
		return &agent.Answer{End: agent.Repeated, Why: "The same code failed twice.", Unfounded: []string{"17", "3.5"}, Words: "It is 17 or 3.5."}, err
	}))
	reply, err := s.Turn(t.Context(), chat.Request{Message: plain})
	if err != nil || !reply.IsError || reply.Model.End != "repeated" {
		t.Fatalf("reply %+v, %v; want an error", reply, err)
	}
	for _, want := range []string{"The same code failed twice.", "The numbers `17`, `3.5` in this answer are the model's own word", "NameError"} {
		if !strings.Contains(reply.Text, want) {
			t.Errorf("no %q in the text:\n%s", want, reply.Text)
		}
	}
}

// A caller that leaves, and an agent that fails, leave the chat as it was.
func TestModelIsStopped(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	s, _ := newService(t, withAgent(func(ctx context.Context, task agent.Task) (*agent.Answer, error) {
		if task.Message != plain {
			return nil, errors.New("broken")
		}
		if _, err := runWords(ctx, task, "set y"); err != nil {
			return nil, err
		}
		leave()
		<-ctx.Done()
		return nil, ctx.Err()
	}))
	id := ask(t, s, "", "set x").ChatID
	_, err := s.Turn(ctx, chat.Request{ChatID: id, Message: plain})
	if kind, _ := fault.Shown(err); kind != fault.Canceled {
		t.Errorf("after the caller has left: %v; want canceled", err)
	}
	if _, err := s.Turn(t.Context(), chat.Request{ChatID: id, Message: "Why is that so?"}); err == nil {
		t.Error("an agent that fails is no error")
	}
	for _, name := range []string{"x", "y"} {
		if reply := ask(t, s, id, "get "+name); reply.IsError || reply.State != chat.Kept {
			t.Errorf("%s afterwards: %+v; want it, kept", name, reply)
		}
	}
}

// What a run of the model lacks is named, and what it asks for is installed as a message's is.
func TestModelMissesAPackage(t *testing.T) {
	index := newShelf()
	s, w := newService(t, func(o *chat.Options) {
		o.Packages = index
		o.Agent = agentFunc(func(ctx context.Context, task agent.Task) (*agent.Answer, error) {
			code := agent.Code{Source: do("dynamic sklearn"), Readings: []message.Candidate{{Code: do("dynamic sklearn")}}}
			first, err := task.Run(ctx, code)
			if err != nil {
				return nil, err
			}
			code.Packages = []string{first.Missing}
			second, err := task.Run(ctx, code)
			if err != nil {
				return nil, err
			}
			code.Packages = []string{"nowhere"}
			third, err := task.Run(ctx, code)
			if err != nil {
				return nil, err
			}
			type told struct{ Error, Missing string }
			wanted := []told{{"ModuleNotFoundError: No module named 'sklearn'", "scikit-learn"}, {}, {"nothing was run", ""}}
			got := []told{{first.Error, first.Missing}, {second.Error, second.Missing}, {third.Error, third.Missing}}
			if diff := cmp.Diff(wanted, got); diff != "" {
				t.Errorf("outcomes (-want +got):\n%s", diff)
			}
			return &agent.Answer{End: agent.Answered, Words: "done"}, nil
		})
	})
	w.packages = true
	reply, err := s.Turn(t.Context(), chat.Request{Message: plain})
	if err != nil {
		t.Fatal(err)
	}
	want(t, reply, true, []chat.Package{{Name: "scikit-learn", Version: "1"}}, "Installed scikit-learn 1.", `has no package named "nowhere"`)
}
