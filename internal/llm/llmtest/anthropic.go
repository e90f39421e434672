package llmtest

import (
	"encoding/json"
	"fmt"

	"runpython/internal/llm"
)

// signature stands under all thinking, and must come back with it where the script wants it to.
const signature = "c2NyaXB0ZWQtc2lnbmF0dXJl"

// wholeAnthropic is the body of an answer that is no stream.
func wholeAnthropic(q *Request, r *Reply) object {
	content := []object{}
	for _, p := range r.parts() {
		block := r.block(p)
		switch p.kind {
		case thinking:
			block["thinking"], block["signature"] = p.text, signature
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

// An anthropicStream says an answer in events of the messages API.
type anthropicStream struct {
	*writer
	q *Request
	r *Reply
}

func (s anthropicStream) say(name string, fields object) {
	fields["type"] = name
	if s.r.has(Comments) {
		s.event("ping", object{"type": "ping"})
	}
	s.event(name, fields)
}

func (s anthropicStream) begin() {
	s.say("message_start", object{"message": s.r.anthropicMessage(s.q, []object{}, 1)})
}

func (s anthropicStream) open(i int, p part) {
	s.say("content_block_start", object{"index": i, "content_block": s.r.block(p)})
	if i == 0 {
		s.event("ping", object{"type": "ping"})
	}
}

func (s anthropicStream) piece(i int, p part, text string) {
	s.say("content_block_delta", object{"index": i, "delta": anthropicDelta(p.kind, text)})
}

func (s anthropicStream) shut(i int, p part) {
	if p.kind == thinking {
		s.say("content_block_delta", object{"index": i, "delta": object{"type": "signature_delta", "signature": signature}})
	}
	s.say("content_block_stop", object{"index": i})
}

func (s anthropicStream) finish() {
	out := object{"delta": object{"stop_reason": s.r.anthropicReason(), "stop_sequence": nil}}
	if !s.r.has(NoUsage) {
		out["usage"] = object{"output_tokens": s.r.usage(s.q).Output}
	}
	s.say("message_delta", out)
}

func (s anthropicStream) done() { s.say("message_stop", object{}) }

func (s anthropicStream) garble() {
	s.send("event: content_block_delta\ndata: {\"type\": \"content_block_delta\", \"index\":\n\n")
}

func (s anthropicStream) fail() {
	s.event("error", object{"type": "error", "error": object{"type": "overloaded_error", "message": "Overloaded"}})
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
