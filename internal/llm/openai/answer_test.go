package openai_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/llm"
	"runpython/internal/llm/openai"
)

// sse writes events of a stream.
func sse(data ...string) []byte {
	return []byte("data: " + strings.Join(data, "\n\ndata: ") + "\n\n")
}

// delta is an event with one piece of the message.
func delta(message string) string { return `{"choices":[{"index":0,"delta":` + message + `}]}` }

const (
	stopped = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	called  = `{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`
)

// What servers do that the protocol does not say, or says otherwise.
func TestOddAnswers(t *testing.T) {
	call := func(id, arguments string) []llm.Call {
		return []llm.Call{{ID: id, Name: "run_python", Arguments: arguments}}
	}
	for _, tt := range []struct {
		name string
		data []byte
		text string
		want []llm.Call
		stop llm.Stop
	}{
		{
			name: "id, type and name in each chunk are set, not appended",
			data: sse(
				delta(`{"role":"assistant","content":null,"function_call":null,"tool_calls":null}`),
				delta(`{"role":null,"content":null,"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"run_python","arguments":"{\"co"}}]}`),
				delta(`{"role":null,"content":null,"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"run_python","arguments":"de\":1}"}}]}`),
				called, "[DONE]"),
			want: call("c1", `{"code":1}`), stop: llm.Called,
		},
		{
			name: "nulls everywhere",
			data: sse(
				`{"id":null,"choices":null,"usage":null,"error":null}`,
				`{"choices":[{"index":null,"delta":{"role":null,"content":null,"refusal":null,"tool_calls":null,"reasoning_content":null},"finish_reason":null,"logprobs":null}]}`,
				delta(`{"content":"ok"}`), `{"choices":[{"delta":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":null}}`),
			text: "ok", stop: llm.End,
		},
		{
			name: "arguments that are an object",
			data: sse(delta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"run_python","arguments":{"code":"1"}}}]}`), called),
			want: call("c1", `{"code":"1"}`), stop: llm.Called,
		},
		{
			name: "arguments that are a string in a string are the caller's to read",
			data: sse(delta(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"run_python","arguments":"\"{\\\"code\\\": 1}\""}}]}`), called),
			want: call("c1", `"{\"code\": 1}"`), stop: llm.Called,
		},
		{
			name: "control characters in strings as they are",
			data: sse("{\"choices\":[{\"delta\":{\"content\":\"a\tb\x01\"}}]}", stopped),
			text: "a\tb\x01", stop: llm.End,
		},
		{
			name: "parallel calls with one index are told apart by their ids",
			data: sse(
				delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"run_python","arguments":"1"}}]}`),
				delta(`{"tool_calls":[{"index":0,"id":"b","function":{"name":"run_python","arguments":"2"}}]}`), stopped),
			want: append(call("a", "1"), call("b", "2")...), stop: llm.Called,
		},
		{
			name: "calls without index and id",
			data: sse(delta(`{"tool_calls":[{"function":{"name":"run_python","arguments":"1"}},{"function":{"name":"run_python","arguments":"2"}}]}`), stopped),
			want: append(call("call_1", "1"), call("call_2", "2")...), stop: llm.Called,
		},
		{
			name: "a document where a stream was asked for",
			data: []byte(`{"choices":[{"index":0,"message":{"role":"assistant","content":"hi","tool_calls":[{"id":"c1","type":"function","function":{"name":"run_python","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`),
			text: "hi", want: call("c1", "{}"), stop: llm.Called,
		},
		{
			name: "no empty line and no [DONE] at the end, CRLF, comments, other fields",
			data: []byte(": hello\r\nretry: 3\r\nevent: message\r\ndata: " + delta(`{"content":"ok"}`) + "\r\n\r\n: ping\r\n\r\ndata:" + stopped),
			text: "ok", stop: llm.End,
		},
		{
			name: "data in two lines",
			data: []byte("data: {\"choices\":\ndata: [{\"delta\":{\"content\":\"ok\"},\"finish_reason\":\"stop\"}]}\n\n"),
			text: "ok", stop: llm.End,
		},
		{
			name: "other choices are nobody's",
			data: sse(delta(`{"content":"a"}`), `{"choices":[{"index":1,"delta":{"content":"b"},"finish_reason":"length"}]}`, stopped),
			text: "a", stop: llm.End,
		},
		{
			name: "the reason of the end comes with text, and more events after it",
			data: sse(`{"choices":[{"delta":{"content":"a"},"finish_reason":"length"}]}`, `{"choices":[]}`, "[DONE]"),
			text: "a", stop: llm.Length,
		},
		{
			name: "a refusal",
			data: sse(delta(`{"refusal":"I would "}`), delta(`{"refusal":"rather not"}`), stopped),
			text: "I would rather not", stop: llm.Refused,
		},
		{
			name: "a filter", data: sse(`{"choices":[{"delta":{},"finish_reason":"content_filter"}]}`), stop: llm.Refused,
		},
		{
			name: "a list of parts with thinking",
			data: sse(
				delta(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]}]}`),
				delta(`{"content":[{"type":"text","text":"So "},{"type":"image_url"}]}`), delta(`{"content":"be it"}`), stopped),
			text: "So be it", stop: llm.End,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, streamed, err := openai.Read(tt.data, openai.NoEcho)
			if err != nil {
				t.Fatal(err)
			}
			if got.Message.Text != tt.text || got.Stop != tt.stop {
				t.Errorf("text, stop = %q, %q; want %q, %q", got.Message.Text, got.Stop, tt.text, tt.stop)
			}
			if tt.stop != llm.Refused && streamed != tt.text {
				t.Errorf("streamed %q, want %q", streamed, tt.text)
			}
			if diff := cmp.Diff(tt.want, got.Message.Calls); diff != "" {
				t.Errorf("calls (-want +got):\n%s", diff)
			}
		})
	}
}

func TestBrokenAnswers(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	for _, tt := range []struct {
		name string
		data []byte
		want llm.Kind // "" for one that is no llm.Error yet
	}{
		{"nothing", nil, llm.Cut},
		{"white space", []byte(" \r\n\n"), llm.Cut},
		{"no finish_reason", sse(delta(`{"content":"a"}`), "[DONE]"), ""},
		{"only [DONE]", sse("[DONE]"), ""},
		{"no JSON", sse("nonsense"), ""},
		{"another type", sse(`"text"`, stopped), ""},
		{"half an event", []byte("data: {\"choices\":[{\"delta\":{\"cont"), ""},
		{"a document that is cut off", []byte(`{"choices":[`), ""},
		{"a page", []byte("<html>Bad gateway</html>"), ""},
		{"an error amid", sse(delta(`{"content":"a"}`), `{"error":{"message":"Overloaded","code":529}}`), llm.Overloaded},
		{"an error amid that is a text", sse(`{"error":"maximum context length exceeded"}`), llm.TooLong},
		{"an error as the reason", sse(`{"choices":[{"delta":{},"finish_reason":"error"}]}`), llm.Overloaded},
		{"too much text", sse(delta(`{"content":"`+long+`"}`), delta(`{"content":"x"}`), stopped), llm.Oversized},
		{"too much thinking", sse(delta(`{"reasoning":"`+long+`"}`), delta(`{"reasoning":"x"}`), stopped), llm.Oversized},
		{"too long arguments", sse(delta(`{"tool_calls":[{"id":"a","function":{"arguments":"`+long+`x"}}]}`), called), llm.Oversized},
		{
			"too many calls", sse(delta(`{"tool_calls":[`+strings.TrimSuffix(strings.Repeat(`{"function":{"name":"f"}},`, llm.MaxCalls+1), ",")+`]}`), called),
			llm.Oversized,
		},
		{"a huge event", []byte("data: " + strings.Repeat("x", 5<<20)), llm.Oversized},
		{"an event of many lines", []byte(strings.Repeat("data: "+strings.Repeat("x", 1<<20)+"\n", 5)), llm.Oversized},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, _, err := openai.Read(tt.data, openai.NoEcho)
			if got != nil || err == nil || llm.KindOf(err) != tt.want {
				t.Errorf("Read = %v, %v (%q); want an error of kind %q", got, err, llm.KindOf(err), tt.want)
			}
		})
	}
}

// What a model thinks in its text is neither shown nor part of the answer, however the text is cut to pieces.
func TestThinkingInText(t *testing.T) {
	for _, tt := range []struct{ name, all, text, streamed string }{
		{name: "before the answer", all: "\n<think>\nhm\n</think>\n\nIt is 42.", text: "It is 42.", streamed: "It is 42."},
		{name: "empty", all: "<think></think>42", text: "42", streamed: "42"},
		{name: "never ended", all: "<think>for ever </thin"},
		{name: "in the middle it is text", all: "The tag <think> begins </think> it.", text: "The tag <think> begins </think> it.", streamed: "The tag <think> begins </think> it."},
		{name: "another tag", all: "<thinker> a", text: "<thinker> a", streamed: "<thinker> a"},
		{name: "a begin that is none", all: " <th", text: " <th", streamed: " <th"},
		{name: "begun in the prompt", all: "hm\n</think>\n\nIt is 42.", text: "It is 42.", streamed: "hm\n</think>\n\nIt is 42."},
		{name: "other tags in it", all: "<think>a </thought> b</think>c", text: "c", streamed: "c"},
	} {
		for _, size := range []int{1, 3, 1000} {
			t.Run(tt.name, func(t *testing.T) {
				var events []string
				for rest := tt.all; rest != ""; {
					n := min(size, len(rest))
					events = append(events, delta(`{"content":`+quoted(rest[:n])+`}`))
					rest = rest[n:]
				}
				got, streamed, err := openai.Read(sse(append(events, stopped)...), openai.NoEcho)
				if err != nil {
					t.Fatal(err)
				}
				if got.Message.Text != tt.text || streamed != tt.streamed {
					t.Errorf("in pieces of %d: text %q, streamed %q; want %q, %q", size, got.Message.Text, streamed, tt.text, tt.streamed)
				}
			})
		}
	}
}

func quoted(text string) string {
	return `"` + strings.NewReplacer("\n", `\n`, `"`, `\"`).Replace(text) + `"`
}

func TestUsage(t *testing.T) {
	for _, tt := range []struct {
		name, chunk string
		want        llm.Usage
	}{
		{
			"OpenAI", `{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":50,"prompt_tokens_details":{"cached_tokens":64},"completion_tokens_details":{"reasoning_tokens":30}}}`,
			llm.Usage{Input: 100, Cached: 64, Output: 50, Thinking: 30},
		},
		{
			"DeepSeek", `{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":50,"prompt_cache_hit_tokens":80,"prompt_cache_miss_tokens":20}}`,
			llm.Usage{Input: 100, Cached: 80, Output: 50},
		},
		{
			"claims", `{"choices":[],"usage":{"prompt_tokens":9000000000000000000,"completion_tokens":-9}}`,
			llm.Usage{Input: 1_000_000_000},
		},
		{
			"more cached than read", `{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":900}}}`,
			llm.Usage{Input: 100, Cached: 100, Output: 5},
		},
		{"none", `{"choices":[]}`, llm.Usage{Input: 25, Output: 3, Thinking: 1, Estimated: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, _, err := openai.Read(sse(delta(`{"content":"12345678","reasoning":"hm"}`), stopped, tt.chunk), openai.NoEcho)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got.Usage); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
		})
	}
}

// Recorded answers of llama.cpp's server in Python, where they are at hand.
func TestSamples(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("..", "..", "..", "..", "shared", "llm", "samples", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Skip("no recorded answers on this machine")
	}
	read := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, answer, _ := strings.Cut(string(text), "<<< HTTP ")
		head, body, found := strings.Cut(answer, "\n\n")
		if !found || !strings.HasPrefix(head, "200") || !strings.Contains(string(text), "/chat/completions") || strings.Contains(body, "…") {
			continue
		}
		read++
		t.Run(filepath.Base(file), func(t *testing.T) {
			got, _, err := openai.Read([]byte(body), openai.NoEcho)
			if strings.TrimSpace(body) == "" {
				if llm.KindOf(err) != llm.Cut {
					t.Fatalf("error = %v of an empty answer, want one of kind %q", err, llm.Cut)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range got.Message.Calls {
				if c.Name != "run_python" || !strings.HasPrefix(c.Arguments, "{") {
					t.Errorf("call = %+v", c)
				}
			}
			if got.Message.Text == "" && len(got.Message.Calls) == 0 {
				t.Error("neither text nor calls")
			}
		})
	}
	if read == 0 {
		t.Error("no sample was read")
	}
}

func FuzzAnswer(f *testing.F) {
	f.Add(sse(delta(`{"content":"<think>a</think>b"}`), stopped, "[DONE]"))
	f.Add(sse(delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":{"x":1}}}]}`), called))
	f.Add(sse(delta(`{"reasoning_details":[{"type":"reasoning.text","index":0,"text":"a"}]}`), stopped))
	f.Add([]byte(`{"choices":[{"message":{"content":"a` + "\n" + `"},"finish_reason":"stop"}]}`))
	f.Add([]byte("data: {\"choices\":[{\"delta\":{\"content\":\"\\\x01\"}}]}\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, echo := range []openai.Echo{openai.NoEcho, openai.ReasoningDetails, openai.ThoughtSignatures} {
			got, _, err := openai.Read(data, echo)
			if (got == nil) == (err == nil) {
				t.Fatalf("Read = %v, %v", got, err)
			}
			if got == nil {
				continue
			}
			if len(got.Message.Text) > llm.MaxAnswerBytes || len(got.Message.Calls) > llm.MaxCalls || got.Stop == "" {
				t.Errorf("an answer beyond its bounds: %d bytes, %d calls, stop %q", len(got.Message.Text), len(got.Message.Calls), got.Stop)
			}
			// Whatever it is, it can be sent back.
			if _, err := openai.Body(openai.Config{Dialect: openai.Dialect{Echo: echo}}, llm.Request{Messages: []llm.Message{got.Message}}); err != nil {
				t.Error(err)
			}
		}
	})
}
