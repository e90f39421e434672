package agent_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/agent"
)

func TestRemember(t *testing.T) {
	var history []agent.Exchange
	for i := range 60 {
		before := len(history)
		longer := agent.Remember(history, agent.Exchange{Message: fmt.Sprint(i)})
		if len(history) != before {
			t.Fatal("the history was changed")
		}
		history = longer
	}
	if len(history) != agent.MaxExchanges || history[len(history)-1].Message != "59" {
		t.Errorf("%d exchanges, the last %q", len(history), history[len(history)-1].Message)
	}
	text, err := json.Marshal(history[0])
	if err != nil || string(text) != `{"message":"10"}` {
		t.Errorf("as JSON %s, %v", text, err)
	}
}

func TestRememberIsBounded(t *testing.T) {
	huge := strings.Repeat("x", 1<<20)
	var steps []agent.Step
	for i := range 40 {
		steps = append(steps, agent.Step{Said: huge, Code: fmt.Sprintf("# %d\n%s", i, huge), Result: huge, Failed: i == 39})
	}
	e := agent.Exchange{Message: huge, Steps: steps, Answer: huge}
	var history []agent.Exchange
	for range 40 {
		history = agent.Remember(history, e)
	}
	total := 0
	for _, e := range history {
		size := len(e.Message) + len(e.Answer)
		for _, s := range e.Steps {
			size += len(s.Said) + len(s.Code) + len(s.Result)
		}
		if size > agent.MaxExchangeBytes {
			t.Errorf("an exchange has %d bytes", size)
		}
		total += size
	}
	if total > agent.MaxHistoryBytes || len(history) < 2 {
		t.Errorf("%d exchanges with %d bytes", len(history), total)
	}
	last := history[len(history)-1].Steps
	if n := len(last); n == 0 || !last[n-1].Failed || !strings.HasPrefix(last[n-1].Code, "# 39") {
		t.Errorf("the last step is not kept: %d steps", n)
	}
	if d := cmp.Diff(40, len(e.Steps)); d != "" || len(e.Message) != len(huge) {
		t.Error("the exchange itself was changed")
	}
}

// TestNoMoreHistoryThanItsBound gives a task what no chat keeps.
func TestNoMoreHistoryThanItsBound(t *testing.T) {
	var history []agent.Exchange
	for i := range 200 {
		history = append(history, agent.Exchange{Message: fmt.Sprintf("Question %d?", i), Answer: "yes"})
	}
	m := &model{replies: []reply{says("yes")}}
	answer(t, agent.Options{Protocol: agent.Tools}, m, agent.Task{Message: "?", History: history})
	if got := textOf(m.requests[0]); strings.Contains(got, "Question 149?") || !strings.Contains(got, "Question 150?") {
		t.Errorf("the request does not begin with the last %d exchanges", agent.MaxExchanges)
	}
}
