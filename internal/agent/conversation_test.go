package agent_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/agent"
	"runpython/internal/llm"
)

// withoutExample returns the messages of a request after those of the example.
func withoutExample(r llm.Request) []llm.Message {
	if strings.HasPrefix(r.Messages[0].Text, "What is the sum of the squares") {
		return r.Messages[2:]
	}
	return r.Messages
}

// shape writes the messages of a request in one line each, without the example and the keys of marks.
func shape(r llm.Request) []string {
	var all []string
	for _, m := range withoutExample(r) {
		line := string(m.Role) + ": " + strings.ReplaceAll(m.Text, "\n", "/")
		for _, key := range keysIn(m.Text) {
			line = strings.ReplaceAll(line, key, "KEY")
		}
		for _, c := range m.Calls {
			line += " call " + c.Arguments
		}
		all = append(all, line)
	}
	return all
}

// keysIn returns the keys of the marks in text, in the order of their ends.
func keysIn(text string) []string {
	var keys []string
	for _, rest := range strings.Split(text, "--- end of output ")[1:] {
		key, _, _ := strings.Cut(rest, " ---")
		keys = append(keys, key)
	}
	return keys
}

func TestConversation(t *testing.T) {
	history := []agent.Exchange{
		{Message: "What is 8 × 11?", Steps: []agent.Step{{Said: "Let me see.", Code: "print(8 * 11)", Result: "88"}}, Answer: "88"},
		{Message: "x = 5\nprint(x)", Steps: []agent.Step{{Code: "x = 5\nprint(x)", Result: "5"}}},
		{Message: "And times 2?"},
	}
	t.Run("tools", func(t *testing.T) {
		m := &model{replies: []reply{runs("print(391)"), says("391")}}
		answer(t, agent.Options{Protocol: agent.Tools}, m, agent.Task{Message: "Times 3?", History: history, Run: (&python{}).run})
		want := []string{
			"user: What is 8 × 11?",
			`assistant: Let me see. call {"code":"print(8 * 11)"}`,
			"tool: --- output KEY ---/88/--- end of output KEY ---",
			"assistant: 88",
			"user: x = 5/print(x)//This code was run.//--- output KEY ---/5/--- end of output KEY ---//And times 2?",
			"assistant: (This was not answered.)",
			"user: Times 3?",
			`assistant:  call {"code":"print(391)"}`,
			"tool: --- output KEY ---/Output:/391/--- end of output KEY ---",
		}
		if d := cmp.Diff(want, shape(m.requests[1])); d != "" {
			t.Errorf("the second request (-want +got):\n%s", d)
		}
		if got := m.requests[1].Messages[7].Thinking; got != "thought" {
			t.Errorf("thinking %v is not sent back", got)
		}
		if len(m.requests[0].Tools) != 1 || m.requests[0].Tools[0].Name != "run_python" {
			t.Errorf("tools %+v", m.requests[0].Tools)
		}
	})
	t.Run("fenced", func(t *testing.T) {
		m := &model{replies: []reply{says("Sure:\n```python\nbad\n```\nThis prints 3."), fences("print(391)"), says("391")}}
		answer(t, agent.Options{Protocol: agent.Fenced}, m, agent.Task{Message: "Times 3?", History: history, Run: (&python{prints: failing()}).run})
		want := []string{
			"user: What is 8 × 11?",
			"assistant: Let me see.//```python/print(8 * 11)/```",
			"user: --- output KEY ---/88/--- end of output KEY ---",
			"assistant: 88",
			"user: x = 5/print(x)//This code was run.//--- output KEY ---/5/--- end of output KEY ---//And times 2?",
			"assistant: (This was not answered.)",
			"user: Times 3?",
			"assistant: Sure://```python/bad/```",
			"user: --- output KEY ---/KeyError: 'a'/--- end of output KEY ---//The code failed. Send the whole corrected code in one ```python block.",
			"assistant: ```python/print(391)/```",
		}
		got := shape(m.requests[2])
		if d := cmp.Diff(want, got[:len(got)-1]); d != "" {
			t.Errorf("the third request (-want +got):\n%s", d)
		}
		if l := got[len(got)-1]; !strings.Contains(l, "391") || !strings.Contains(l, "Answer the request in one short sentence") {
			t.Errorf("after a result the model is told %q", l)
		}
		if m.requests[0].Tools != nil {
			t.Errorf("tools %+v in the fenced protocol", m.requests[0].Tools)
		}
	})
}

// TestSmallModelsAreAskedForWordsOnly sees to it that a model which would write code for ever is not invited to.
func TestSmallModelsAreAskedForWordsOnly(t *testing.T) {
	for window, want := range map[int]string{4_096: "Answer the request in one short sentence.", 100_000: "send the next block of code instead."} {
		m := &model{replies: []reply{fences("print(391)"), says("391")}}
		answer(t, agent.Options{Protocol: agent.Fenced, Window: window}, m, agent.Task{Message: "Times 3?", Run: (&python{}).run})
		if example := len(withoutExample(m.requests[1])) < len(m.requests[1].Messages); example != (window > 8_192) {
			t.Errorf("with a window of %d the example is there: %v", window, example)
		}
		if got := last(m.requests[1]); !strings.HasSuffix(got, want) {
			t.Errorf("with a window of %d the model is told %q, want %q in the end", window, got, want)
		}
	}
}

// TestConversationKeepsItsBeginning is what a vendor's cache lives of: what was sent is sent again in the same way.
func TestConversationKeepsItsBeginning(t *testing.T) {
	m := &model{replies: []reply{runs("bad"), runs("print(391)"), says("391"), says("again")}}
	a := agent.New(agent.Options{Model: m, Protocol: agent.Tools, Log: discard()})
	m.t = t
	task := agent.Task{Message: "?", Run: (&python{prints: failing()}).run}
	if _, err := a.Answer(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		before, after := m.requests[i].Messages, m.requests[i+1].Messages
		if d := cmp.Diff(before, after[:len(before)]); d != "" {
			t.Errorf("request %d does not go on from the one before:\n%s", i+1, d)
		}
	}
}

func TestFit(t *testing.T) {
	long := strings.Repeat("one line of output\n", 400)
	var history []agent.Exchange
	for i := range 12 {
		history = append(history, agent.Exchange{
			Message: fmt.Sprintf("Question %d?", i), Steps: []agent.Step{{Code: fmt.Sprintf("print(%d)", i), Result: long}}, Answer: fmt.Sprintf("Answer %d.", i),
		})
	}
	outcomes := map[string]agent.Outcome{"big": {Text: "FIRST " + long + " LAST"}}
	tests := []struct {
		name    string
		window  int
		history []agent.Exchange
		has     []string
		hasNot  []string
	}{
		{"all fits", 200_000, history[:4], []string{"Question 0?", "Question 3?", "FIRST", "LAST"}, []string{"left out"}},
		{"old outputs shrink", 16_000, history, []string{"Question 0?", "Answer 0.", "Question 11?", "FIRST", "LAST", "bytes left out"}, []string{"earlier requests"}},
		{"old turns go", 3_400, history, []string{"earlier requests of this chat are left out", "Question 11?", "The request.", "FIRST", "LAST"}, []string{"Question 0?"}},
		{"what stays is bounded", 520, history, []string{"12 earlier requests", "The request.", "FIRST", "LAST"}, []string{"Question 11?"}},
	}
	for _, tt := range tests {
		for _, p := range []agent.Protocol{agent.Tools, agent.Fenced} {
			t.Run(tt.name+", "+string(p), func(t *testing.T) {
				first := runs("print(1), big")
				if p == agent.Fenced {
					first = fences("print(1), big")
				}
				m := &model{replies: []reply{first, says("done")}}
				answer(t, agent.Options{Protocol: p, Window: tt.window}, m, agent.Task{Message: "The request.", History: tt.history, Run: (&python{prints: outcomes}).run})
				got := textOf(m.requests[1])
				for _, s := range tt.has {
					if !strings.Contains(got, s) {
						t.Errorf("%q is not there", s)
					}
				}
				for _, s := range tt.hasNot {
					if strings.Contains(got, s) {
						t.Errorf("%q is there", s)
					}
				}
				if most := tt.window * 10; len(got) > most { // at the usual rate a token is some three bytes
					t.Errorf("%d bytes in a window of %d tokens", len(got), tt.window)
				}
				if !strings.HasPrefix(got, m.requests[0].System) || m.requests[0].System == "" {
					t.Error("the system prompt is not there")
				}
			})
		}
	}
}

func TestStepsOfTheTaskGo(t *testing.T) {
	var replies []reply
	for i := range 7 {
		replies = append(replies, runs(fmt.Sprintf("x%d = 'big'", i)))
	}
	m := &model{replies: append(replies, says("done"))}
	outcomes := map[string]agent.Outcome{"big": {Text: strings.Repeat("a line\n", 300)}}
	answer(t, agent.Options{Protocol: agent.Tools, Window: 2_600}, m, agent.Task{Message: "The request.", Run: (&python{prints: outcomes}).run})
	got := textOf(m.requests[7])
	for _, s := range []string{"The request.", "earlier steps on this request are left out", "x6 = 'big'", "x5 = 'big'"} {
		if !strings.Contains(got, s) {
			t.Errorf("%q is not there:\n%s", s, got)
		}
	}
	if strings.Contains(got, "x0 = ") {
		t.Error("the first step is still there")
	}
}

func TestTooLongHalvesTheConversation(t *testing.T) {
	long := strings.Repeat("a word ", 6_000)
	m := &model{replies: []reply{fails(llm.TooLong), fails(llm.TooLong), says("done")}}
	history := []agent.Exchange{{Message: long, Answer: "1"}, {Message: long, Answer: "2"}, {Message: long, Answer: "3"}}
	answer(t, agent.Options{Protocol: agent.Tools, Window: 60_000}, m, agent.Task{Message: "The request.", History: history})
	sizes := []int{len(textOf(m.requests[0])), len(textOf(m.requests[1])), len(textOf(m.requests[2]))}
	if sizes[1] >= sizes[0] || sizes[2] >= sizes[1] || !strings.Contains(textOf(m.requests[2]), "The request.") {
		t.Errorf("sizes %v, want each smaller than the one before", sizes)
	}
}

// TestRateIsLearned sends text of which a token is a byte and a half to a server that counts.
func TestRateIsLearned(t *testing.T) {
	counts := func(_ context.Context, r llm.Request) (*llm.Response, error) {
		return &llm.Response{Message: llm.Message{Text: "ok"}, Usage: llm.Usage{Input: len(textOf(r)) * 2 / 3}}, nil
	}
	m := &model{t: t, replies: []reply{counts}, again: true}
	a := agent.New(agent.Options{Model: m, Protocol: agent.Fenced, Window: 8_000, Log: discard()})
	history := []agent.Exchange{{Message: strings.Repeat("話", 2_000), Answer: "1"}, {Message: strings.Repeat("話", 2_000), Answer: "2"}}
	for range 8 {
		if _, err := a.Answer(t.Context(), agent.Task{Message: "?", History: history}); err != nil {
			t.Fatal(err)
		}
	}
	first, eighth := len(textOf(m.requests[0])), len(textOf(m.requests[7]))
	if eighth >= first || eighth*2/3 > 8_000 {
		t.Errorf("%d bytes at first, %d when the rate is known; want fewer, and to fit", first, eighth)
	}
}

func TestImages(t *testing.T) {
	picture := llm.Image{MIMEType: "image/png", Data: []byte("png")}
	run := func(context.Context, agent.Code) (*agent.Outcome, error) {
		return &agent.Outcome{Text: "a picture", Images: []llm.Image{{Data: make([]byte, agent.MaxImageBytes+1)}, picture, picture, picture, picture, picture}}, nil
	}
	for _, on := range []bool{false, true} {
		m := &model{replies: []reply{runs("plot(1)"), runs("plot(2)"), says("done")}}
		answer(t, agent.Options{Protocol: agent.Tools, Images: on}, m, agent.Task{Message: "Draw.", Run: run})
		var counts []int
		for _, msg := range m.requests[2].Messages {
			counts = append(counts, len(msg.Images))
		}
		want := []int{0, 0, 0, 0, 0}
		if on {
			want[4] = agent.MaxImages // those of the last run
		}
		if d := cmp.Diff(want, counts); d != "" {
			t.Errorf("images %v: pictures of the messages (-want +got):\n%s", on, d)
		}
	}
}

func TestExtra(t *testing.T) {
	extra := map[string]any{"grammar": "root ::= x", "seed": 42}
	before := maps.Clone(extra)
	m := &model{replies: []reply{fences("bad"), fences("print(391)"), says("391")}}
	answer(t, agent.Options{Protocol: agent.Fenced, Extra: extra}, m, agent.Task{Message: "?", Run: (&python{prints: failing()}).run})
	want := []map[string]any{before, before, {"grammar": nil, "seed": 42}}
	var got []map[string]any
	for _, r := range m.requests {
		got = append(got, r.Extra)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("extra of the requests (-want +got):\n%s", d)
	}
	if d := cmp.Diff(before, extra); d != "" {
		t.Errorf("the options were changed:\n%s", d)
	}
}

func TestReplyTokens(t *testing.T) {
	tests := []struct {
		name    string
		options agent.Options
		want    int
	}{
		{"a vendor's own bound", agent.Options{Window: 200_000}, 0},
		{"a local server", agent.Options{Local: true, Window: 4_096}, 1_024},
		{"what is left of a budget", agent.Options{MaxTokens: 3_000}, 3_000},
		{"a large budget", agent.Options{MaxTokens: 300_000}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m := &model{replies: []reply{says("hello")}}
			tt.options.Protocol = agent.Tools
			answer(t, tt.options, m, agent.Task{Message: "?"})
			if got := m.requests[0].MaxTokens; got != tt.want {
				t.Errorf("MaxTokens = %d, want %d", got, tt.want)
			}
		})
	}
}
