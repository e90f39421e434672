package llmtest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/extent"
	"runpython/internal/llm"
	"runpython/internal/llm/llmtest"
)

// The official SDKs read of each conversation what it says, whole and as a stream; or they see that it broke off.
func TestConversationsAreReadBySDKs(t *testing.T) {
	for _, name := range llmtest.Names(t) {
		for _, protocol := range []llmtest.Protocol{llmtest.OpenAI, llmtest.Anthropic} {
			for _, stream := range []bool{false, true} {
				script := llmtest.Conversation(t, name)
				if w := script.Exchanges[0].Want; w.Protocol != "" && w.Protocol != protocol || w.Stream != nil && *w.Stream != stream {
					continue
				}
				if name == "endless" && !stream {
					continue // no SDK gets to its end; see TestEndlessAnswersEndWithTheirReader
				}
				t.Run(fmt.Sprintf("%s/%s/stream=%v", name, protocol, stream), func(t *testing.T) {
					if strings.HasPrefix(name, "huge") {
						extent.Slow(t)
					}
					t.Parallel()
					play(t, script, protocol, stream)
				})
			}
		}
	}
}

// play asks as often as the script answers, with the result 42 for each call and each block of code.
func play(t *testing.T, script llmtest.Script, protocol llmtest.Protocol, stream bool) {
	t.Helper()
	server := llmtest.Serve(t, script)
	history := []llm.Message{{Role: llm.User, Text: "What is 6 times 7?"}}
	for i, exchange := range script.Exchanges {
		reply := exchange.Reply
		ctx, stop := context.WithCancel(t.Context())
		client := sdk{url: server.URL, stream: stream, tool: exchange.Want.Tools == nil || len(exchange.Want.Tools) > 0, piece: func() {}}
		if reply.Fill == llmtest.Endless {
			client.piece = stop
		}
		for _, gate := range []*llmtest.Gate{reply.Before, reply.Amid} {
			if gate != nil {
				go func() { <-gate.Reached(); stop() }()
			}
		}
		ask := client.openAI
		if protocol == llmtest.Anthropic {
			ask = client.anthropic
		}
		got, err := ask(ctx, history)
		stop()
		if broken(reply) {
			if err == nil && got.Stop != "" {
				t.Fatalf("exchange %d: heard %+v of an answer that is none", i+1, got)
			}
			continue
		}
		if err != nil {
			t.Fatalf("exchange %d: %v", i+1, err)
		}
		compare(t, reply, got, protocol)
		history = append(history, answered(got)...)
	}
}

// broken reports whether a client must not take the reply for an answer.
func broken(r llmtest.Reply) bool {
	gated := r.Before != nil || r.Amid != nil || r.Fill == llmtest.Endless
	gated = gated || slices.Contains(r.Quirks, llmtest.LateError) || slices.Contains(r.Quirks, llmtest.Garbage)
	return gated || r.Status > 0 || r.Cut != llmtest.CutNone
}

// answered are the messages with which the client goes on.
func answered(got *heard) []llm.Message {
	m := llm.Message{Role: llm.Assistant, Text: got.Text}
	var after []llm.Message
	for i, c := range got.Calls {
		if c.ID == "" {
			c.ID = fmt.Sprint("made-up-", i)
		}
		m.Calls = append(m.Calls, llm.Call(c))
		after = append(after, llm.Message{Role: llm.Tooling, CallID: c.ID, Text: "42\n"})
	}
	if len(m.Calls) == 0 && m.Text != "" {
		after = append(after, llm.Message{Role: llm.User, Text: "The output is 42."})
	}
	if len(after) == 0 {
		return nil
	}
	return append([]llm.Message{m}, after...)
}

var reasons = map[llmtest.Protocol]map[llm.Stop][]string{
	llmtest.OpenAI:    {llm.End: {"stop"}, llm.Called: {"tool_calls"}, llm.Length: {"length"}, llm.Refused: {"content_filter", "stop"}},
	llmtest.Anthropic: {llm.End: {"end_turn"}, llm.Called: {"tool_use"}, llm.Length: {"max_tokens"}, llm.Refused: {"refusal"}},
}

// compare compares what was heard with what was said.
func compare(t *testing.T, r llmtest.Reply, got *heard, p llmtest.Protocol) {
	t.Helper()
	if r.Fill > 0 {
		size := len(got.Text)
		for _, c := range got.Calls {
			size += len(c.Arguments)
		}
		if int64(size) < r.Fill && p == llmtest.OpenAI { // Anthropic's SDK drops arguments that are no JSON
			t.Errorf("heard %d bytes, want %d", size, r.Fill)
		}
		return
	}
	want := heard{Thinking: r.Thinking, Text: r.Text, Refusal: r.Refusal, Stop: got.Stop, Usage: got.Usage}
	if p == llmtest.Anthropic {
		want.Text, want.Refusal = r.Text+r.Refusal, ""
	}
	for i, c := range r.Calls {
		if i < len(got.Calls) && !json.Valid([]byte(c.Arguments)) && p == llmtest.Anthropic {
			c.Arguments = got.Calls[i].Arguments
		}
		if stuttered := strings.Repeat(c.Name, 2); slices.Contains(r.Quirks, llmtest.Repeated) && i < len(got.Calls) &&
			strings.HasPrefix(got.Calls[i].Name, stuttered) {
			c.Name = got.Calls[i].Name // what OpenAI's SDK makes of it
		}
		if c.ID == "-" {
			c.ID = ""
		}
		want.Calls = append(want.Calls, c)
	}
	for _, calls := range [][]llmtest.Call{want.Calls, got.Calls} { // an object is written without spaces
		for i := range calls {
			calls[i].Arguments = compact(calls[i].Arguments)
		}
	}
	if r.Usage.Input > 0 {
		want.Usage = r.Usage
		if p == llmtest.Anthropic {
			want.Usage.Thinking = 0 // which it does not tell apart
		}
	}
	if diff := cmp.Diff(&want, got); diff != "" {
		t.Errorf("said and heard (-said +heard):\n%s", diff)
	}
	stop := r.Stop
	if stop == "" {
		stop = map[bool]llm.Stop{true: llm.Called, false: llm.End}[len(r.Calls) > 0]
	}
	if r.Refusal != "" {
		stop = llm.Refused
	}
	if !slices.Contains(reasons[p][stop], got.Stop) {
		t.Errorf("stop %q, want one of %q", got.Stop, reasons[p][stop])
	}
}

func compact(text string) string {
	var b bytes.Buffer
	if err := json.Compact(&b, []byte(text)); err != nil {
		return text
	}
	return b.String()
}

// A fake is a test that is looked at, instead of failing.
type fake struct {
	testing.TB
	clean  []func()
	errors []string
}

func (f *fake) Helper()                   {}
func (f *fake) Cleanup(g func())          { f.clean = append(f.clean, g) }
func (f *fake) Failed() bool              { return len(f.errors) > 0 }
func (f *fake) Errorf(s string, a ...any) { f.errors = append(f.errors, fmt.Sprintf(s, a...)) }

// What does not fit the script, or breaks the rules of the protocol, is refused and fails the test.
func TestMisfitsFailTheTest(t *testing.T) {
	const tool = `"tools":[{"type":"function","function":{"name":"run_python","parameters":{"type":"object"}}}]`
	call := `{"role":"assistant","content":"","tool_calls":[{"id":"a","type":"function","function":{"name":"run_python","arguments":"{}"}}]}`
	yes := true
	for _, tt := range []struct {
		name, path, body, want string
		script                 llmtest.Want
	}{
		{"fits", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hello"}]}`, "", llmtest.Want{Has: []string{"hello"}}},
		{"has", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hello"}]}`, `no "bye"`, llmtest.Want{Has: []string{"bye"}}},
		{"lacks", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hello"}]}`, `there is "hell"`, llmtest.Want{Lacks: []string{"hell"}}},
		{"body", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hello"}]}`, "in the body", llmtest.Want{Body: []string{"grammar"}}},
		{"protocol", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hello"}]}`, "want anthropic", llmtest.Want{Protocol: llmtest.Anthropic}},
		{"stream", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hello"}]}`, "want true", llmtest.Want{Stream: &yes}},
		{"messages", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hello"}]}`, "1 messages, want 2", llmtest.Want{Messages: 2}},
		{"key", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hello"}]}`, `want "k"`, llmtest.Want{Key: "k"}},
		{"result", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hello"}]}`, `a result with "42"`, llmtest.Want{Result: "42"}},
		{"tools", "/v1/chat/completions", `{"model":"m","messages":[{"role":"user","content":"hello"}],` + tool + `}`, "want []", llmtest.Want{Tools: []string{}}},
		{"no model", "/v1/chat/completions", `{"messages":[{"role":"user","content":"hello"}]}`, "no model", llmtest.Want{}},
		{"no JSON", "/v1/chat/completions", `{`, "the body", llmtest.Want{}},
		{"role", "/v1/chat/completions", `{"model":"m","messages":[{"role":"alien","content":"hello"}]}`, `role "alien"`, llmtest.Want{}},
		{"no result", "/v1/chat/completions", `{"model":"m","messages":[` + call + `,{"role":"user","content":"hello"}]}`, "no result of the calls", llmtest.Want{}},
		{"no call", "/v1/chat/completions", `{"model":"m","messages":[{"role":"tool","tool_call_id":"a","content":"hello"}]}`, "no open call", llmtest.Want{}},
		{"no max_tokens", "/v1/messages", `{"model":"m","messages":[{"role":"user","content":"hello"}]}`, "no max_tokens", llmtest.Want{}},
		{"empty block", "/v1/messages", `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":""}]}]}`, "must not be empty", llmtest.Want{}},
		{"first role", "/v1/messages", `{"model":"m","max_tokens":9,"messages":[{"role":"assistant","content":"hello"}]}`, `role "assistant"`, llmtest.Want{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := &fake{TB: t}
			server := llmtest.Serve(f, llmtest.Script{Exchanges: []llmtest.Exchange{{Want: tt.script}}})
			status := post(t, server.URL+tt.path, tt.body)
			for _, clean := range f.clean {
				clean()
			}
			errors := strings.Join(f.errors, "\n")
			if bad := tt.want != ""; bad != (status == http.StatusBadRequest) || bad != (errors != "") || !strings.Contains(errors, tt.want) {
				t.Errorf("status %d, errors %q; want %q", status, errors, tt.want)
			}
		})
	}
}

func post(t *testing.T, url, body string) int {
	t.Helper()
	answer := open(t, url, body)
	_ = answer.Body.Close()
	return answer.StatusCode
}

func open(t *testing.T, url, body string) *http.Response {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Anthropic-Version", "2023-06-01")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return answer
}

func TestEndlessAnswersEndWithTheirReader(t *testing.T) {
	for path, body := range map[string]string{
		"/v1/chat/completions": `{"model":"m","messages":[{"role":"user","content":"hello"}]}`,
		"/v1/messages":         `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hello"}]}`,
	} {
		server := llmtest.Serve(t, llmtest.Conversation(t, "endless"))
		answer := open(t, server.URL+path, body)
		if n, err := io.CopyN(io.Discard, answer.Body, 16<<20); err != nil {
			t.Errorf("%s: read %d bytes: %v", path, n, err)
		}
		_ = answer.Body.Close()
	}
}

// A conversation that is not played to its end fails the test, and so does a request after it.
func TestScriptsArePlayedToTheirEnd(t *testing.T) {
	const body = `{"model":"m","messages":[{"role":"user","content":"hello"}]}`
	for requests, want := range []string{"0 of its 1 exchanges", "", "at its end"} {
		f := &fake{TB: t}
		server := llmtest.Serve(f, llmtest.Script{Exchanges: make([]llmtest.Exchange, 1)})
		for range requests {
			post(t, server.URL+"/v1/chat/completions", body)
		}
		for _, clean := range f.clean {
			clean()
		}
		if errors := strings.Join(f.errors, "\n"); (errors == "") != (want == "") || !strings.Contains(errors, want) {
			t.Errorf("%d requests: errors %q, want %q", requests, errors, want)
		}
	}
}

// A model may be a function of what it is told; what it was told can be looked at afterwards.
func TestOtherwiseAnswersAsItLikes(t *testing.T) {
	server := llmtest.Serve(t, llmtest.Script{Otherwise: func(r *llmtest.Request) llmtest.Reply {
		return llmtest.Reply{Text: "You said: " + r.Last().Text}
	}})
	for _, said := range []string{"one", "two"} {
		got, err := sdk{url: server.URL}.openAI(t.Context(), []llm.Message{{Role: llm.User, Text: said}})
		if err != nil || got.Text != "You said: "+said {
			t.Errorf("heard %+v, %v", got, err)
		}
	}
	if requests := server.Requests(); len(requests) != 2 || requests[1].Last().Text != "two" || requests[1].Key() != "k" {
		t.Errorf("%d requests, the last %+v", len(requests), requests[len(requests)-1])
	}
}

func TestParseRefusesWhatItDoesNotKnow(t *testing.T) {
	for _, archive := range []string{
		"", "-- text --\nhello\n", "-- request --\nhazz: x\n", "-- request --\nhas x\n", "-- request --\n-- tekst --\nx\n",
		"-- request --\n-- reply --\nquirk: quark\n", "-- request --\n-- reply --\ncut: deep\n", "-- request --\n-- reply --\nhold: fast\n",
		"-- request --\n-- reply --\nusage: input\n", "-- request --\n-- error abc x --\n", "-- request --\nmessages: some\n",
	} {
		if s, err := llmtest.Parse("x", []byte(archive)); err == nil {
			t.Errorf("Parse(%q) = %+v", archive, s)
		}
	}
}
