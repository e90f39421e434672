package llmtest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/llm"
)

// Key is the key that the models of Play must have, and must not tell.
const Key = "sk-secret"

// Tool returns the tool that Play offers.
func Tool() llm.Tool {
	return llm.Tool{Name: "run_python", Description: "runs", Schema: map[string]any{
		"type": "object", "properties": map[string]any{"code": map[string]any{"type": "string"}}, "required": []any{"code"},
	}}
}

// failures are what the conversations that begin with one must be understood as.
var failures = map[string]llm.Kind{
	"cut-before": llm.Unreachable, "cut-body": llm.Cut, "cut-connection": llm.Cut, "cut-finish": llm.Cut, "garbage": llm.Cut,
	"detail": llm.Invalid, "failing": llm.Overloaded, "overloaded": llm.Overloaded, "overloaded-late": llm.Overloaded,
	"invalid": llm.Invalid, "no-credit": llm.Unauthorized, "unauthorized": llm.Unauthorized, "no-model": llm.NoModel,
	"no-tools": llm.NoTools, "rate-limited": llm.Limited, "too-long": llm.TooLong, "endless": llm.Oversized,
	"huge": llm.Oversized, "huge-arguments": llm.Oversized,
}

// Play tests an llm.Model that speaks the protocol p, in streams: each conversation is understood, or fails as
// what it is. The model that is made of the URL of a server sends each request once.
func Play(t *testing.T, p Protocol, model func(t *testing.T, url string) llm.Model) {
	t.Helper()
	for _, name := range Names(t) {
		script := Conversation(t, name)
		if w := script.Exchanges[0].Want; w.Protocol != "" && w.Protocol != p || w.Stream != nil && !*w.Stream {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			play(t, p, script, model(t, Serve(t, script).URL))
		})
	}
}

func play(t *testing.T, p Protocol, script Script, m llm.Model) {
	t.Helper()
	history := []llm.Message{{Role: llm.User, Text: "What is 6 times 7?"}}
	want, failed := failures[script.Name], false
	for i, exchange := range script.Exchanges {
		said := exchange.Reply
		got, streamed, err := ask(t, m, exchange, history)
		switch {
		case said.Before != nil || said.Amid != nil:
			if !errors.Is(err, context.Canceled) {
				t.Fatalf("exchange %d: error = %v, want that of the context", i+1, err)
			}
		case err != nil:
			if want == "" || llm.KindOf(err) != want || strings.Contains(err.Error(), Key) {
				t.Fatalf("exchange %d: error = %v (%q), want one of kind %q without the key", i+1, err, llm.KindOf(err), want)
			}
			failed = true
		default:
			compare(t, p, said, got)
			if spoken := spokenBy(p, said); streamed != spoken {
				t.Errorf("streamed %q, want %q", streamed, spoken)
			}
			history = append(history, after(got)...)
		}
	}
	if want != "" && !failed {
		t.Error("nothing failed")
	}
}

// ask asks the model, and leaves when the reply has come to a gate.
func ask(t *testing.T, m llm.Model, e Exchange, history []llm.Message) (got *llm.Response, streamed string, err error) {
	t.Helper()
	r := llm.Request{System: "be brief", Messages: history, Stream: func(text string) { streamed += text }}
	if e.Want.Tools == nil || len(e.Want.Tools) > 0 {
		r.Tools = []llm.Tool{Tool()}
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for _, gate := range []*Gate{e.Reply.Before, e.Reply.Amid} {
		if gate != nil {
			go func() { <-gate.Reached(); stop() }()
		}
	}
	got, err = m.Complete(ctx, r)
	return got, streamed, err
}

// spokenBy returns what of a reply is text of the message: OpenAI has a field of its own for refusals.
func spokenBy(p Protocol, said Reply) string {
	if p == OpenAI {
		return said.Text
	}
	return said.Text + said.Refusal
}

// after are the messages that go on: the answer, and 42 for each call.
func after(r *llm.Response) []llm.Message {
	list := []llm.Message{r.Message}
	for _, c := range r.Message.Calls {
		list = append(list, llm.Message{Role: llm.Tooling, CallID: c.ID, Text: "42\n"})
	}
	if len(list) == 1 {
		list = append(list, llm.Message{Role: llm.User, Text: "The output is 42."})
	}
	return list
}

// compare compares what was understood with what was said.
func compare(t *testing.T, p Protocol, said Reply, got *llm.Response) {
	t.Helper()
	if want := said.Text + said.Refusal; got.Message.Text != want {
		t.Errorf("text = %q, want %q", got.Message.Text, want)
	}
	want, calls := slices.Clone(said.Calls), []Call(nil)
	for i, c := range got.Message.Calls {
		if strings.TrimSpace(c.ID) == "" {
			t.Error("a call has no id")
		}
		if i < len(want) && said.has(NoID) {
			want[i].ID = c.ID
		}
		calls = append(calls, Call(c))
	}
	if said.has(Object) { // an object is written without spaces
		for i := range want {
			want[i].Arguments = strings.ReplaceAll(want[i].Arguments, ": ", ":")
		}
	}
	if diff := cmp.Diff(want, calls); diff != "" {
		t.Errorf("calls (-said +heard):\n%s", diff)
	}
	usage := said.Usage
	if p == Anthropic {
		usage.Thinking = 0 // which it does not tell apart
	}
	if usage.Input > 0 {
		if diff := cmp.Diff(usage, got.Usage); diff != "" {
			t.Errorf("usage (-said +heard):\n%s", diff)
		}
	}
	if estimated := p == OpenAI && said.has(NoUsage); estimated != got.Usage.Estimated {
		t.Errorf("Estimated = %v, want %v", got.Usage.Estimated, estimated)
	}
}
