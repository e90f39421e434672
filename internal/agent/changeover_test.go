package agent_test

import (
	"context"
	"testing"

	"runpython/internal/agent"
	"runpython/internal/llm"
)

// TestChangeover has one agent carry out several tasks: what it has learned on one counts for the next.
func TestChangeover(t *testing.T) {
	astray := fences("print(391)") // a block where a call belongs
	tests := []struct {
		name        string
		protocol    agent.Protocol
		goodAtTools bool
		tasks       [][]reply
		want        []agent.Protocol // that each task begins with
	}{
		{"begins with tools", agent.Auto, true, [][]reply{{says("hi")}}, []agent.Protocol{agent.Tools}},
		{"begins with blocks", agent.Auto, false, [][]reply{{says("hi")}}, []agent.Protocol{agent.Fenced}},
		{"empty is auto", "", false, [][]reply{{says("hi")}}, []agent.Protocol{agent.Fenced}},
		{"the server takes no tools", agent.Auto, true,
			[][]reply{{fails(llm.NoTools), says("hi")}, {says("hi")}}, []agent.Protocol{agent.Tools, agent.Fenced}},
		{"a server that has taken tools refuses them in one task", agent.Auto, true,
			[][]reply{{runs("print(391)"), says("391")}, {fails(llm.NoTools), says("hi")}, {says("hi")}},
			[]agent.Protocol{agent.Tools, agent.Tools, agent.Tools}},
		{"one block does not count", agent.Auto, true,
			[][]reply{{astray, says("391")}, {says("hi")}}, []agent.Protocol{agent.Tools, agent.Tools}},
		{"blocks in two tasks", agent.Auto, true,
			[][]reply{{astray, says("391")}, {astray, says("391")}, {says("hi")}}, []agent.Protocol{agent.Tools, agent.Tools, agent.Fenced}},
		{"a call in between", agent.Auto, true,
			[][]reply{{astray, runs("print(391)"), says("391")}, {astray, says("391")}, {says("hi")}}, []agent.Protocol{agent.Tools, agent.Tools, agent.Tools}},
		{"a model that has made calls goes astray in its task only", agent.Auto, true,
			[][]reply{{runs("print(391)"), says("391")}, {calls("run_python", "{}"), calls("run_python", "{}"), says("hi")}, {says("hi")}},
			[]agent.Protocol{agent.Tools, agent.Tools, agent.Tools}},
		{"tools were asked for", agent.Tools, false,
			[][]reply{{astray, says("391")}, {astray, says("391")}, {says("hi")}}, []agent.Protocol{agent.Tools, agent.Tools, agent.Tools}},
		{"blocks were asked for", agent.Fenced, true, [][]reply{{runs("print(391)"), says("391")}, {says("hi")}}, []agent.Protocol{agent.Fenced, agent.Fenced}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := &model{t: t}
			a := agent.New(agent.Options{Model: m, Protocol: tt.protocol, GoodAtTools: tt.goodAtTools, Log: discard()})
			for i, script := range tt.tasks {
				m.replies, m.requests = script, nil
				got, err := a.Answer(t.Context(), agent.Task{Message: "How much is 17 × 23?", Run: (&python{}).run})
				if err != nil || got.End != agent.Answered {
					t.Fatalf("task %d: %+v, %v", i, got, err)
				}
				began := agent.Fenced
				if m.requests[0].Tools != nil {
					began = agent.Tools
				}
				if began != tt.want[i] {
					t.Errorf("task %d begins with %s, want %s", i, began, tt.want[i])
				}
			}
		})
	}
}

// TestChangeoverForgetsCalls sees to it that nothing of the calls that went wrong is shown in the other protocol,
// and that what ran is.
func TestChangeoverForgetsCalls(t *testing.T) {
	m := &model{replies: []reply{runs("print(391)"), calls("run_python", "{}"), calls("run_python", "{}"), says("391")}}
	answer(t, agent.Options{GoodAtTools: true}, m, agent.Task{Message: "?", Run: (&python{}).run})
	want := []string{"user: ?", "assistant: ```python/print(391)/```", "user: --- output KEY ---/Output:/391/--- end of output KEY ---"}
	got := shape(m.requests[3])
	if len(got) != len(want) || got[1] != want[1] || got[2] != want[2] || m.requests[3].Tools != nil {
		t.Errorf("the conversation after the changeover is %q, want %q", got, want)
	}
}

// TestAgentIsForManyAtOnce is of use with the race detector.
func TestAgentIsForManyAtOnce(t *testing.T) {
	m := &model{t: t, again: true, replies: []reply{func(ctx context.Context, r llm.Request) (*llm.Response, error) {
		if len(r.Messages) == 1 {
			return runs("print(391)")(ctx, r)
		}
		return says("391")(ctx, r)
	}}}
	a := agent.New(agent.Options{Model: m, GoodAtTools: true, Log: discard()})
	done := make(chan error)
	const tasks = 8
	for range tasks {
		go func() {
			got, err := a.Answer(t.Context(), agent.Task{Message: "?", Run: (&python{}).run})
			if err == nil && got.Words != "391" {
				t.Errorf("words %q", got.Words)
			}
			done <- err
		}()
	}
	for range tasks {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}
