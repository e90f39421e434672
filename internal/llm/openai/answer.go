package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	sdk "github.com/openai/openai-go/v3"

	"runpython/internal/llm"
	"runpython/internal/llm/wire"
)

// An answer is put together of what a server sends.
type answer struct {
	server *wire.Server
	stream func(string) // nil: nobody listens

	text      strings.Builder
	refusal   strings.Builder
	reasoning strings.Builder // reasoning_content
	sieve     sieve
	thinking  thinking
	calls     []*call
	size      struct{ thoughts, details, arguments int } // bytes of all that was thought, of reasoning_details, of calls
	finish    string                                     // finish_reason
	usage     sdk.CompletionUsage
}

// call is a tool call in the making.
type call struct {
	index     int64
	id, name  string
	arguments strings.Builder
	extra     json.RawMessage
}

// read reads an answer, which is a stream, or one document from servers that do not stream.
func (a *answer) read(r io.Reader) error {
	buffered := bufio.NewReader(r)
	first, err := firstByte(buffered)
	switch {
	case errors.Is(err, io.EOF):
		return a.server.Empty()
	case err != nil:
		return err
	case first == '{':
		return a.readWhole(buffered)
	}
	for data, err := range events(buffered) {
		if errors.Is(err, errEventSize) {
			return a.server.Oversized("an event that is too large")
		}
		if err != nil && a.finish != "" {
			break // all has been said
		}
		if err != nil {
			return err
		}
		if bytes.HasPrefix(data, []byte("[DONE]")) {
			break
		}
		chunk, err := decode(data)
		if err != nil {
			return err
		}
		if err := a.add(chunk); err != nil {
			return err
		}
	}
	return a.end()
}

func (a *answer) readWhole(r io.Reader) error {
	data, err := io.ReadAll(r)
	if err != nil {
		return fmt.Errorf("read the answer: %w", err)
	}
	chunk, err := whole(data)
	if err != nil {
		return err
	}
	if err := a.add(chunk); err != nil {
		return err
	}
	return a.end()
}

// firstByte returns the first byte of r that is not white space, without reading it.
func firstByte(r *bufio.Reader) (byte, error) {
	for {
		b, err := r.ReadByte()
		if err != nil {
			return 0, err
		}
		if !strings.ContainsRune(" \t\r\n", rune(b)) {
			return b, r.UnreadByte()
		}
	}
}

func (a *answer) add(c sdk.ChatCompletionChunk) error {
	if e := c.JSON.ExtraFields["error"].Raw(); e != "" && e != "null" {
		return a.server.Interrupted([]byte(e))
	}
	if c.Usage.PromptTokens > 0 || c.Usage.CompletionTokens > 0 {
		a.usage = c.Usage
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue // of further answers, which nobody asked for
		}
		if choice.FinishReason != "" {
			a.finish = choice.FinishReason
		}
		if err := a.addDelta(choice.Delta); err != nil {
			return err
		}
	}
	return nil
}

func (a *answer) addDelta(d sdk.ChatCompletionChunkChoiceDelta) error {
	text, thought := contentOf(d)
	said, hidden := a.sieve.add(text)
	a.say(said)
	a.refusal.WriteString(d.Refusal)
	a.size.thoughts += len(thought) + len(hidden)
	if err := a.addThinking(d); err != nil {
		return err
	}
	for i, t := range d.ToolCalls {
		index := t.Index
		if !t.JSON.Index.Valid() {
			index = int64(i)
		}
		if err := a.addCall(index, t); err != nil {
			return err
		}
	}
	switch {
	case a.text.Len()+a.refusal.Len() > llm.MaxAnswerBytes:
		return a.server.Oversized("more text than an answer may have")
	case max(a.size.thoughts, a.size.details) > llm.MaxAnswerBytes:
		return a.server.Oversized("more thinking than an answer may have")
	}
	return nil
}

func (a *answer) say(text string) {
	if text == "" {
		return
	}
	a.text.WriteString(text)
	if a.stream != nil {
		a.stream(text)
	}
}

// contentOf returns the text of a piece, and what is thought in it: Mistral's models that think have a
// list of parts in place of text.
func contentOf(d sdk.ChatCompletionChunkChoiceDelta) (text, thought string) {
	if raw := d.JSON.Content.Raw(); !strings.HasPrefix(raw, "[") {
		return d.Content, ""
	}
	var parts []struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		Thinking []struct {
			Text string `json:"text"`
		} `json:"thinking"`
	}
	if err := json.Unmarshal([]byte(d.JSON.Content.Raw()), &parts); err != nil {
		return "", "" // nothing that is known
	}
	for _, p := range parts {
		if p.Type == "text" {
			text += p.Text
		}
		for _, t := range p.Thinking {
			thought += t.Text
		}
	}
	return text, thought
}

// addThinking keeps what goes back, and counts the rest.
func (a *answer) addThinking(d sdk.ChatCompletionChunkChoiceDelta) error {
	fields := d.JSON.ExtraFields
	for _, name := range []string{"reasoning_content", "reasoning"} { // one or the other
		var text string
		if json.Unmarshal([]byte(fields[name].Raw()), &text) == nil && text != "" {
			a.size.thoughts += len(text)
			if name == "reasoning_content" {
				a.reasoning.WriteString(text)
			}
			break
		}
	}
	if raw := fields["reasoning_details"].Raw(); a.thinking.echo == ReasoningDetails && raw != "" {
		size, err := a.thinking.addDetails(a.server, raw)
		if err != nil {
			return err
		}
		a.size.details += size
	}
	if raw := fields["extra_content"].Raw(); a.thinking.echo == ThoughtSignatures && strings.HasPrefix(raw, "{") {
		a.thinking.extra = json.RawMessage(raw)
	}
	return nil
}

// addCall adds a piece of a call. Some servers repeat id and name in each piece, and some number all
// calls alike and tell them apart by their ids.
func (a *answer) addCall(index int64, t sdk.ChatCompletionChunkChoiceDeltaToolCall) error {
	c := a.callAt(index, t.ID)
	if c == nil {
		if len(a.calls) == llm.MaxCalls {
			return a.server.Oversized(fmt.Sprintf("more than %d calls", llm.MaxCalls))
		}
		c = &call{index: index}
		a.calls = append(a.calls, c)
	}
	if t.ID != "" {
		c.id = t.ID
	}
	if t.Function.Name != "" {
		c.name = t.Function.Name
	}
	if a.size.arguments += len(t.Function.Arguments); a.size.arguments > llm.MaxAnswerBytes {
		return a.server.Oversized("calls with more arguments than they may have")
	}
	c.arguments.WriteString(t.Function.Arguments)
	if raw := t.JSON.ExtraFields["extra_content"].Raw(); strings.HasPrefix(raw, "{") {
		c.extra = json.RawMessage(raw)
	}
	return nil
}

// callAt returns the call that a piece belongs to, nil for a new one.
func (a *answer) callAt(index int64, id string) *call {
	for _, c := range slices.Backward(a.calls) {
		if c.index == index && (id == "" || c.id == "" || c.id == id) {
			return c
		}
	}
	return nil
}

var errUnfinished = errors.New("the stream ended without a finish_reason")

// end checks that nothing is missing.
func (a *answer) end() error {
	text, thought := a.sieve.end()
	a.say(text)
	a.size.thoughts += len(thought)
	switch a.finish {
	case "":
		return errUnfinished
	case "error": // of whoever is behind OpenRouter
		return a.server.Interrupted(nil)
	}
	return nil
}

// response returns the answer to a request of that many bytes.
func (a *answer) response(asked int) *llm.Response {
	text, thought := closed(a.text.String())
	a.size.thoughts += len(thought)
	m := llm.Message{Role: llm.Assistant, Text: text}
	a.thinking.content = a.reasoning.String()
	for i, c := range a.calls {
		id := c.id
		if id == "" {
			id = fmt.Sprintf("call_%d", i+1)
		}
		m.Calls = append(m.Calls, llm.Call{ID: id, Name: c.name, Arguments: c.arguments.String()})
		if c.extra != nil && a.thinking.echo == ThoughtSignatures {
			if a.thinking.calls == nil {
				a.thinking.calls = map[string]json.RawMessage{}
			}
			a.thinking.calls[id] = c.extra
		}
	}
	m.Thinking = thoughtOf(&a.thinking)
	r := &llm.Response{Message: m, Stop: a.stop(), Usage: a.tokens(asked)}
	if r.Stop == llm.Refused && r.Message.Text == "" {
		r.Message.Text = a.refusal.String()
	}
	return r
}

func (a *answer) stop() llm.Stop {
	switch {
	case a.finish == "content_filter", a.refusal.Len() > 0 && a.text.Len() == 0 && len(a.calls) == 0:
		return llm.Refused
	case a.finish == "length", a.finish == "max_tokens", a.finish == "model_length":
		return llm.Length
	case len(a.calls) > 0:
		return llm.Called
	}
	return llm.End
}

func (a *answer) tokens(asked int) llm.Usage {
	u := a.usage
	if u.PromptTokens <= 0 && u.CompletionTokens <= 0 {
		thinking := wire.Estimate(a.size.thoughts)
		return llm.Usage{
			Input: wire.Estimate(asked), Output: wire.Estimate(a.text.Len()+a.size.arguments) + thinking, Thinking: thinking, Estimated: true,
		}
	}
	input, cached := wire.Counted(u.PromptTokens), wire.Counted(max(u.PromptTokensDetails.CachedTokens, cacheHits(u)))
	return llm.Usage{
		Input: input, Cached: min(input, cached),
		Output: wire.Counted(u.CompletionTokens), Thinking: wire.Counted(u.CompletionTokensDetails.ReasoningTokens),
	}
}

// cacheHits are the cached tokens as DeepSeek counts them.
func cacheHits(u sdk.CompletionUsage) int64 {
	var n int64
	if err := json.Unmarshal([]byte(u.JSON.ExtraFields["prompt_cache_hit_tokens"].Raw()), &n); err != nil {
		return 0
	}
	return n
}
