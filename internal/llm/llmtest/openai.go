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
		message[r.thinkingField()] = r.Thinking
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

// streamOpenAI sends an answer as a stream.
func streamOpenAI(w *writer, q *Request, r *Reply) {
	usage := q.wantUsage && !r.has(NoUsage)
	chunk := func(delta object, reason any) {
		out := openAIBody("chat.completion.chunk", object{"index": 0, "delta": delta, "logprobs": nil, "finish_reason": reason})
		if usage || r.has(Nulls) {
			out["usage"] = nil
		}
		if r.has(Nulls) {
			nulls(delta, "role", "content", "refusal", "function_call", "tool_calls")
		}
		if r.has(Comments) {
			w.send(": PROCESSING\n\n")
		}
		w.event("", out)
	}
	chunk(object{"role": "assistant", "content": "", "refusal": nil}, nil)
	parts := r.parts()
	if len(parts) == 0 && !r.amidOpenAI(w) {
		return
	}
	for i, p := range parts {
		last := i == len(parts)-1
		first := true
		if p.kind == call && !r.has(Repeated) {
			chunk(r.delta(p, "", true), nil)
		}
		for piece := range r.pieces(p, last) {
			chunk(r.delta(p, piece, r.has(Repeated)), nil)
			if last && first && !r.amidOpenAI(w) {
				return
			}
			first = false
		}
	}
	if r.Cut != CutFinish {
		chunk(object{}, r.openAIReason())
		if usage {
			out := openAIBody("chat.completion.chunk")
			out["usage"] = r.openAIUsage(q)
			w.event("", out)
		}
	}
	if r.Cut == CutNone {
		w.send("data: [DONE]\n\n")
	}
}

// amidOpenAI does what is to happen in the middle of a stream, and reports whether it goes on.
func (r *Reply) amidOpenAI(w *writer) bool {
	w.amid(r)
	if r.has(Garbage) {
		w.send("data: {\"id\": \"chatcmpl-1\", \"choices\": [\n\n")
	}
	if r.has(LateError) {
		w.event("", object{"error": object{"message": "The server had an error while processing your request", "type": "server_error", "param": nil, "code": nil}})
		return false
	}
	return true
}

// delta is what a piece adds to the message; named is whether it says which call it is of.
func (r *Reply) delta(p part, piece string, named bool) object {
	switch p.kind {
	case thinking:
		return object{r.thinkingField(): piece}
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

func (r *Reply) thinkingField() string {
	if r.has(Reasoning) {
		return "reasoning"
	}
	return "reasoning_content"
}

// nulls sets what is absent to null.
func nulls(o object, names ...string) {
	for _, name := range names {
		if _, ok := o[name]; !ok {
			o[name] = nil
		}
	}
}
