package agent_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"runpython/internal/agent"
	"runpython/internal/llm"
)

// A reply is what a scripted model does on a request.
type reply func(ctx context.Context, r llm.Request) (*llm.Response, error)

// says is a reply in words.
func says(text string) reply { return stops(text, llm.End) }

func stops(text string, stop llm.Stop) reply {
	return func(context.Context, llm.Request) (*llm.Response, error) {
		return &llm.Response{
			Message: llm.Message{Role: llm.Assistant, Text: text}, Stop: stop, Usage: llm.Usage{Input: 100, Output: 10, Estimated: true},
		}, nil
	}
}

// calls is a reply with calls, given as their names and arguments in turn.
func calls(namesAndArguments ...string) reply {
	return func(context.Context, llm.Request) (*llm.Response, error) {
		m := llm.Message{Role: llm.Assistant, Thinking: "thought"}
		for i := 0; i < len(namesAndArguments); i += 2 {
			m.Calls = append(m.Calls, llm.Call{ID: fmt.Sprintf("c%d", i/2), Name: namesAndArguments[i], Arguments: namesAndArguments[i+1]})
		}
		return &llm.Response{Message: m, Stop: llm.Called, Usage: llm.Usage{Input: 100, Output: 10, Estimated: true}}, nil
	}
}

// runs is a reply that calls the tool with code.
func runs(code string) reply { return calls("run_python", fmt.Sprintf(`{"code": %q}`, code)) }

// fences is a reply with a block of code.
func fences(code string) reply { return says("```python\n" + code + "\n```") }

func fails(kind llm.Kind) reply {
	return func(context.Context, llm.Request) (*llm.Response, error) {
		return nil, &llm.Error{Kind: kind, Message: "the model says no"}
	}
}

// A model plays its replies in turn, and notes what it was asked. It is safe for concurrent use.
type model struct {
	t       *testing.T
	replies []reply
	again   bool // the last reply is played again and again

	mu       sync.Mutex
	requests []llm.Request
}

func (m *model) Name() string { return "test/scripted" }

func (m *model) Complete(ctx context.Context, r llm.Request) (*llm.Response, error) {
	m.mu.Lock()
	n := len(m.requests)
	m.requests = append(m.requests, r)
	m.mu.Unlock()
	checkRequest(m.t, r)
	if m.again {
		n = min(n, len(m.replies)-1)
	}
	if n >= len(m.replies) {
		m.t.Errorf("request %d, the script has %d replies:\n%s", n+1, len(m.replies), textOf(r))
		return nil, &llm.Error{Kind: llm.Invalid, Message: "no more replies"}
	}
	return m.replies[n](ctx, r)
}

// checkRequest holds what every server wants of a conversation.
func checkRequest(t *testing.T, r llm.Request) {
	t.Helper()
	open := map[string]bool{} // calls that nothing answers yet
	for i, m := range r.Messages {
		if m.Role == llm.Tooling {
			if !open[m.CallID] {
				t.Errorf("message %d answers a call %q that is not open", i, m.CallID)
			}
			delete(open, m.CallID)
			continue
		}
		if len(open) > 0 {
			t.Errorf("message %d comes before the results of %v", i, open)
		}
		if i > 0 && r.Messages[i-1].Role == m.Role {
			t.Errorf("messages %d and %d are both of the %s", i-1, i, m.Role)
		}
		if m.Text == "" && len(m.Calls) == 0 {
			t.Errorf("message %d is empty", i)
		}
		for _, c := range m.Calls {
			open[c.ID] = true
		}
	}
	if n := len(r.Messages); n == 0 || len(open) > 0 || r.Messages[n-1].Role == llm.Assistant || r.Messages[0].Role != llm.User {
		t.Errorf("the conversation does not begin with the person, or ends with the model:\n%s", textOf(r))
	}
}

// textOf is all text of a request.
func textOf(r llm.Request) string {
	var b strings.Builder
	b.WriteString(r.System + "\n")
	for _, m := range r.Messages {
		fmt.Fprintf(&b, "[%s] %s\n", m.Role, m.Text)
		for _, c := range m.Calls {
			fmt.Fprintf(&b, "  call %s %s %s\n", c.ID, c.Name, c.Arguments)
		}
	}
	return b.String()
}

// last is the text of the last message of a request.
func last(r llm.Request) string { return r.Messages[len(r.Messages)-1].Text }

// A python is an interpreter that knows what a few programs print, by a word in them.
type python struct {
	prints map[string]agent.Outcome
	ran    []agent.Code
}

func (p *python) run(_ context.Context, c agent.Code) (*agent.Outcome, error) {
	p.ran = append(p.ran, c)
	for word, o := range p.prints {
		if strings.Contains(c.Source, word) {
			if o.Missing != "" && len(c.Packages) > 0 {
				return &agent.Outcome{Text: "installed"}, nil
			}
			return &o, nil
		}
	}
	return &agent.Outcome{Text: "Output:\n391"}, nil
}

// failing is what code with the word "bad" gives.
func failing() map[string]agent.Outcome {
	return map[string]agent.Outcome{"bad": {Text: "KeyError: 'a'", Error: "KeyError: 'a'"}}
}

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// answer has a scripted model carry out a task.
func answer(t *testing.T, o agent.Options, m *model, task agent.Task) *agent.Answer {
	t.Helper()
	m.t, o.Model, o.Log = t, m, discard()
	got, err := agent.New(o).Answer(t.Context(), task)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(m.requests); !m.again && n != len(m.replies) {
		t.Errorf("%d requests, the script has %d replies", n, len(m.replies))
	}
	return got
}
