package llmtest

import (
	"encoding/json"
	"fmt"

	"runpython/internal/llm"
)

// wholeOpenAI is the body of an answer that is no stream.
func wholeOpenAI(q *Request, r *Reply) object {
	message := object{"role": "assistant", "content": r.Text, "refusal": nil}
	if r.Text == "" && len(r.Calls)+len(r.Refusal) > 0 {
		message["content"] = nil
	}
	if r.Refusal != "" {
		message["refusal"] = r.Refusal
	}
	if r.Thinking != "" {
		message["reasoning_content"] = r.Thinking
	}
	var calls []object
	for i, c := range r.Calls {
		one := r.openAICall(i, c.Arguments, true)
		delete(one, "index")
		calls = append(calls, one)
	}
	if calls != nil {
		message["tool_calls"] = calls
	}
	if r.has(Nulls) {
		nulls(message, "tool_calls", "function_call", "audio", "annotations")
	}
	out := openAIBody("chat.completion", object{"index": 0, "message": message, "logprobs": nil, "finish_reason": r.openAIReason()})
	if !r.has(NoUsage) {
		out["usage"] = r.openAIUsage(q)
	}
	return out
}

// An openAIStream says an answer in chunks of a chat completion.
type openAIStream struct {
	*writer
	q *Request
	r *Reply
}

func (s openAIStream) counted() bool { return s.q.wantUsage && !s.r.has(NoUsage) }

func (s openAIStream) chunk(delta object, reason any) {
	out := openAIBody("chat.completion.chunk", object{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": reason})
	if s.counted() || s.r.has(Nulls) {
		out["usage"] = nil
	}
	if s.r.has(Nulls) {
		nulls(delta, "role", "content", "refusal", "function_call", "tool_calls")
	}
	if s.r.has(Comments) {
		s.send(": PROCESSING\n\n")
	}
	s.event("", out)
}

func (s openAIStream) begin() {
	s.chunk(object{"role": "assistant", "content": "", "refusal": nil}, nil)
}

func (s openAIStream) open(_ int, p part) {
	if p.kind == call && !s.r.has(Repeated) {
		s.chunk(s.r.delta(p, "", true), nil)
	}
}

func (s openAIStream) piece(_ int, p part, text string) {
	s.chunk(s.r.delta(p, text, s.r.has(Repeated)), nil)
}

func (s openAIStream) shut(int, part) {}

func (s openAIStream) finish() {
	s.chunk(object{}, s.r.openAIReason())
	if s.counted() {
		out := openAIBody("chat.completion.chunk")
		out["usage"] = s.r.openAIUsage(s.q)
		s.event("", out)
	}
}

func (s openAIStream) done() { s.send("data: [DONE]\n\n") }

func (s openAIStream) garble() { s.send("data: {\"id\": \"chatcmpl-1\", \"choices\": [\n\n") }

func (s openAIStream) fail() {
	s.event("", object{"error": object{"message": "The server had an error while processing your request", "type": "server_error", "param": nil, "code": nil}})
}

// delta is what a piece adds to the message; named is whether it says which call it is of.
func (r *Reply) delta(p part, piece string, named bool) object {
	switch p.kind {
	case thinking:
		return object{"reasoning_content": piece}
	case refusal:
		return object{"refusal": piece}
	case call:
		return object{"tool_calls": []object{r.openAICall(p.call, piece, named)}}
	default:
		return object{"content": piece}
	}
}

func (r *Reply) openAICall(i int, arguments string, named bool) object {
	function := object{"arguments": arguments}
	if r.has(Object) && arguments != "" {
		function["arguments"] = json.RawMessage(arguments)
	}
	out := object{"index": i, "function": function}
	if named {
		c := r.Calls[i]
		function["name"], out["type"] = c.Name, "function"
		if !r.has(NoID) {
			out["id"] = c.ID
		}
	}
	return out
}

func openAIBody(kind string, choices ...object) object {
	if choices == nil {
		choices = []object{}
	}
	return object{
		"id": "chatcmpl-scripted1", "object": kind, "created": created, "model": model,
		"service_tier": "default", "system_fingerprint": "fp_scripted", "choices": choices,
	}
}

func (r *Reply) openAIUsage(q *Request) object {
	u := r.usage(q)
	return object{
		"prompt_tokens": u.Input, "completion_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"prompt_tokens_details":     object{"cached_tokens": u.Cached, "audio_tokens": 0},
		"completion_tokens_details": object{"reasoning_tokens": u.Thinking, "audio_tokens": 0},
	}
}

func (r *Reply) openAIReason() string {
	switch stop := r.stop(); stop {
	case llm.End:
		return "stop"
	case llm.Called:
		return "tool_calls"
	case llm.Length:
		return "length"
	case llm.Refused:
		if r.Refusal != "" {
			return "stop"
		}
		return "content_filter"
	default:
		panic(fmt.Sprintf("an answer does not end with %q", stop))
	}
}

// nulls sets what is absent to null.
func nulls(o object, names ...string) {
	for _, name := range names {
		if _, ok := o[name]; !ok {
			o[name] = nil
		}
	}
}
