package llmtest

import (
	"encoding/json"
	"fmt"

	"runpython/internal/llm"
)

// Signature stands under all thinking, and must come back with it where the script wants it to.
const Signature = "c2NyaXB0ZWQtc2lnbmF0dXJl"

// wholeAnthropic is the body of an answer that is no stream.
func wholeAnthropic(q *Request, r *Reply) object {
	content := []object{}
	for _, p := range r.parts() {
		block := r.block(p)
		switch p.kind {
		case thinking:
			block["thinking"], block["signature"] = p.text, Signature
		case call:
			block["input"] = p.text // of no JSON a server makes a string
			if json.Valid([]byte(p.text)) {
				block["input"] = json.RawMessage(p.text)
			}
		default:
			block["text"] = p.text
		}
		content = append(content, block)
	}
	out := r.anthropicMessage(q, content, r.usage(q).Output)
	out["stop_reason"] = r.anthropicReason()
	return out
}

// streamAnthropic sends an answer as a stream.
func streamAnthropic(w *writer, q *Request, r *Reply) {
	event := func(name string, fields object) {
		fields["type"] = name
		if r.has(Comments) {
			w.event("ping", object{"type": "ping"})
		}
		w.event(name, fields)
	}
	event("message_start", object{"message": r.anthropicMessage(q, []object{}, 1)})
	parts := r.parts()
	if len(parts) == 0 && !r.amidAnthropic(w) {
		return
	}
	for i, p := range parts {
		last := i == len(parts)-1
		first := true
		event("content_block_start", object{"index": i, "content_block": r.block(p)})
		if i == 0 {
			w.event("ping", object{"type": "ping"})
		}
		for piece := range r.pieces(p, last) {
			event("content_block_delta", object{"index": i, "delta": anthropicDelta(p.kind, piece)})
			if last && first && !r.amidAnthropic(w) {
				return
			}
			first = false
		}
		if p.kind == thinking {
			event("content_block_delta", object{"index": i, "delta": object{"type": "signature_delta", "signature": Signature}})
		}
		event("content_block_stop", object{"index": i})
	}
	if r.Cut != CutFinish {
		out := object{"delta": object{"stop_reason": r.anthropicReason(), "stop_sequence": nil}}
		if !r.has(NoUsage) {
			out["usage"] = object{"output_tokens": r.usage(q).Output}
		}
		event("message_delta", out)
	}
	if r.Cut == CutNone {
		event("message_stop", object{})
	}
}

// amidAnthropic does what is to happen in the middle of a stream, and reports whether it goes on.
func (r *Reply) amidAnthropic(w *writer) bool {
	w.amid(r)
	if r.has(Garbage) {
		w.send("event: content_block_delta\ndata: {\"type\": \"content_block_delta\", \"index\":\n\n")
	}
	if r.has(LateError) {
		w.event("error", object{"type": "error", "error": object{"type": "overloaded_error", "message": "Overloaded"}})
		return false
	}
	return true
}

// block is a part as it begins.
func (r *Reply) block(p part) object {
	switch p.kind {
	case thinking:
		return object{"type": "thinking", "thinking": "", "signature": ""}
	case call:
		c := r.Calls[p.call]
		return object{"type": "tool_use", "id": c.ID, "name": c.Name, "input": object{}}
	default:
		return object{"type": "text", "text": ""}
	}
}

func anthropicDelta(k kind, piece string) object {
	switch k {
	case thinking:
		return object{"type": "thinking_delta", "thinking": piece}
	case call:
		return object{"type": "input_json_delta", "partial_json": piece}
	default:
		return object{"type": "text_delta", "text": piece}
	}
}

func (r *Reply) anthropicMessage(q *Request, content []object, output int) object {
	out := object{
		"id": "msg_scripted1", "type": "message", "role": "assistant", "model": model,
		"content": content, "stop_reason": nil, "stop_sequence": nil,
	}
	if !r.has(NoUsage) {
		u := r.usage(q)
		out["usage"] = object{
			"input_tokens": u.Input - u.Cached, "cache_creation_input_tokens": 0,
			"cache_read_input_tokens": u.Cached, "output_tokens": output,
		}
	}
	return out
}

func (r *Reply) anthropicReason() string {
	reasons := map[llm.Stop]string{llm.End: "end_turn", llm.Called: "tool_use", llm.Length: "max_tokens", llm.Refused: "refusal"}
	reason, ok := reasons[r.stop()]
	if !ok {
		panic(fmt.Sprintf("an answer does not end with %q", r.stop()))
	}
	return reason
}
