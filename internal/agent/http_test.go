package agent_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"runpython/internal/agent"
	"runpython/internal/llm"
	"runpython/internal/llm/anthropic"
	"runpython/internal/llm/llmtest"
	"runpython/internal/llm/openai"
	"runpython/internal/llm/wire"
)

// clientOf returns the client for a scripted server.
func clientOf(p llmtest.Protocol, s *llmtest.Server) llm.Model {
	server := &wire.Server{Name: "the scripted server", Model: "scripted", Key: "KEY-OF-THE-SERVER"}
	if p == llmtest.Anthropic {
		return anthropic.New(anthropic.Config{Server: server, BaseURL: s.URL, Name: "anthropic/scripted", HTTP: http.DefaultClient})
	}
	return openai.New(openai.Config{Server: server, BaseURL: s.URL + "/v1", Name: "openai/scripted", HTTP: http.DefaultClient})
}

// TestConversationsOverHTTP plays recorded conversations with the real clients. The script fails the test
// when a request is not what it must be.
func TestConversationsOverHTTP(t *testing.T) {
	both := []llmtest.Protocol{llmtest.OpenAI, llmtest.Anthropic}
	tests := []struct {
		name      string
		agent     agent.Protocol
		protocols []llmtest.Protocol
		runs      int
		end       agent.End
	}{
		{"answer", agent.Tools, both, 0, agent.Answered},
		{"one-run", agent.Tools, both, 1, agent.Answered},
		{"two-calls", agent.Tools, both, 2, agent.Answered},
		{"pieces", agent.Tools, both, 1, agent.Answered},
		{"thinking", agent.Tools, both, 1, agent.Answered},
		{"string-in-string", agent.Tools, both[:1], 2, agent.Answered},
		{"object-arguments", agent.Tools, both[:1], 1, agent.Answered},
		{"control-characters", agent.Tools, both[:1], 1, agent.Answered},
		{"malformed-arguments", agent.Tools, both[:1], 1, agent.Answered},
		{"repeated-names", agent.Tools, both[:1], 1, agent.Answered},
		{"unknown-tool", agent.Tools, both, 2, agent.Answered},
		{"no-tools", agent.Auto, both[:1], 0, agent.Answered},
		{"fenced", agent.Fenced, both, 1, agent.Answered},
		{"refusal", agent.Tools, both, 0, agent.Refused},
		{"unauthorized", agent.Tools, both, 0, agent.Failed},
	}
	for _, tt := range tests {
		for _, p := range tt.protocols {
			t.Run(tt.name+", "+string(p), func(t *testing.T) {
				s := llmtest.Serve(t, llmtest.Conversation(t, tt.name))
				a := agent.New(agent.Options{Model: clientOf(p, s), Protocol: tt.agent, GoodAtTools: true, Log: discard()})
				got, err := a.Answer(t.Context(), agent.Task{Message: "What is 6 times 7?", Run: sixTimesSeven})
				if err != nil {
					t.Fatal(err)
				}
				if got.End != tt.end || got.Runs != tt.runs {
					t.Errorf("end %q after %d runs, why %q; want %q after %d", got.End, got.Runs, got.Why, tt.end, tt.runs)
				}
				if tt.end == agent.Answered && !strings.Contains(got.Words, "42") && !strings.Contains(got.Words, "ran") {
					t.Errorf("words %q", got.Words)
				}
				for _, r := range s.Requests() {
					if strings.Contains(string(r.Body), "KEY-OF-THE-SERVER") {
						t.Error("the key is in the body of a request")
					}
				}
			})
		}
	}
}

func sixTimesSeven(_ context.Context, c agent.Code) (*agent.Outcome, error) {
	if strings.Contains(c.Source, "6 * 7") || strings.Contains(c.Source, "x * 7") {
		return &agent.Outcome{Text: "Output:\n42"}, nil
	}
	return &agent.Outcome{Text: "Output:\n" + c.Source + " 42"}, nil
}
