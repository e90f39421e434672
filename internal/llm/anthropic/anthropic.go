// Package anthropic speaks the messages of Anthropic.
//
// # Trust
//
// Answers are hostile: the bounds of package wire hold, and those of package llm for what is put together.
// Nothing of an answer is run or opened here.
//
// # Failure
//
// As [llm.Model] says. Each request is sent once: package retry sends it again.
package anthropic

import (
	"context"
	"errors"
	"net/http"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"

	"runpython/internal/llm"
	"runpython/internal/llm/wire"
)

// Config is what a Model is made of.
type Config struct {
	Server  *wire.Server // its Model is what is asked for
	BaseURL string       // that /v1/messages is put behind
	Name    string       // of the Model, see llm.Model
	HTTP    *http.Client
	Images  bool           // whether the model is shown pictures
	Extra   map[string]any // merged into the body of each request
}

// Model is an llm.Model. It is safe for concurrent use.
type Model struct {
	config   Config
	messages sdk.MessageService
}

// New returns the model of c. It sends nothing.
func New(c Config) *Model {
	// Not the SDK's client: that one takes addresses, keys and headers from the environment and from files.
	options := []option.RequestOption{
		option.WithBaseURL(c.BaseURL), option.WithHTTPClient(c.HTTP), option.WithMaxRetries(0), option.WithMiddleware(c.Server.Do),
	}
	if c.Server.Key != "" {
		options = append(options, option.WithAPIKey(c.Server.Key))
	}
	return &Model{config: c, messages: sdk.NewMessageService(options...)}
}

// Name returns the vendor and the model.
func (m *Model) Name() string { return m.config.Name }

// Complete asks for the next message; see llm.Model.
func (m *Model) Complete(ctx context.Context, r llm.Request) (*llm.Response, error) {
	server := m.config.Server
	body, err := m.config.body(r)
	if err != nil {
		return nil, &llm.Error{Kind: llm.Invalid, Message: "the request to the model cannot be written", Err: err}
	}
	s := m.messages.NewStreaming(ctx, sdk.MessageNewParams{}, option.WithRequestBody("application/json", body))
	if err := s.Err(); err != nil {
		return nil, server.Broken(ctx, err)
	}
	defer s.Close() //nolint:errcheck // only read
	a := answer{server: server, stream: r.Stream, inputs: map[int64]*strings.Builder{}}
	begun := false
	for s.Next() {
		begun = true
		if err := a.add(s.Current()); err != nil {
			return nil, server.Broken(ctx, err)
		}
	}
	switch err := s.Err(); {
	case err != nil && !a.done:
		if refusal, ok := errors.AsType[*sdk.Error](err); ok {
			return nil, server.Interrupted([]byte(refusal.RawJSON()))
		}
		return nil, server.Broken(ctx, err)
	case !begun:
		return nil, server.Empty()
	case !a.done:
		return nil, server.Broken(ctx, errUnfinished)
	}
	return a.response(), nil
}

var errUnfinished = errors.New("the stream ended before the message did")

// An answer is put together of what the server sends.
type answer struct {
	server  *wire.Server
	stream  func(string) // nil: nobody listens
	message sdk.Message
	inputs  map[int64]*strings.Builder // of calls, by the index of the block; the SDK drops what is no JSON
	events  int
	size    struct{ text, thinking, arguments int }
	done    bool // the message has ended
}

func (a *answer) add(e sdk.MessageStreamEventUnion) error {
	if a.events++; a.events > maxEvents {
		return a.server.Oversized("more pieces than an answer may have")
	}
	switch e.Type {
	case "content_block_start":
		if e.ContentBlock.Type == "tool_use" {
			a.inputs[e.Index] = new(strings.Builder)
		}
		if len(a.inputs) > llm.MaxCalls || len(a.message.Content) == maxBlocks {
			return a.server.Oversized("more parts than an answer may have")
		}
		a.size.thinking += len(e.ContentBlock.Data)
	case "content_block_delta":
		a.size.text += len(e.Delta.Text)
		a.size.thinking += len(e.Delta.Thinking) + len(e.Delta.Signature)
		a.size.arguments += len(e.Delta.PartialJSON)
		if input := a.inputs[e.Index]; input != nil {
			input.WriteString(e.Delta.PartialJSON)
		}
		if a.stream != nil && e.Delta.Type == "text_delta" && e.Delta.Text != "" {
			a.stream(e.Delta.Text)
		}
	case "message_stop":
		a.done = true
	}
	if max(a.size.text, a.size.thinking, a.size.arguments) > llm.MaxAnswerBytes {
		return a.server.Oversized("more text, thinking or arguments than an answer may have")
	}
	return a.message.Accumulate(e) //nolint:wrapcheck // Broken wraps it
}

// Bounds of the parts of an answer, and of the events that bring them.
const (
	maxBlocks = 200
	maxEvents = 200_000
)

// response returns the whole answer.
func (a *answer) response() *llm.Response {
	m := llm.Message{Role: llm.Assistant}
	for i, b := range a.message.Content {
		switch b.Type {
		case "text":
			m.Text += b.Text
		case "tool_use":
			m.Calls = append(m.Calls, a.call(int64(i), b))
		case "thinking", "redacted_thinking":
			m.Thinking = thinking(a.message.Content)
		}
	}
	u := a.message.Usage
	cached := wire.Counted(u.CacheReadInputTokens)
	return &llm.Response{Message: m, Stop: stopOf(a.message.StopReason, len(m.Calls) > 0), Usage: llm.Usage{
		Input: wire.Counted(u.InputTokens) + wire.Counted(u.CacheCreationInputTokens) + cached, Cached: cached,
		Output: wire.Counted(u.OutputTokens), Thinking: wire.Counted(u.OutputTokensDetails.ThinkingTokens),
	}}
}

func (a *answer) call(index int64, b sdk.ContentBlockUnion) llm.Call {
	c := llm.Call{ID: b.ID, Name: b.Name, Arguments: string(b.Input)}
	if input := a.inputs[index]; input != nil && input.Len() > 0 {
		c.Arguments = input.String()
	}
	return c
}

func stopOf(reason sdk.StopReason, calls bool) llm.Stop {
	switch reason {
	case sdk.StopReasonMaxTokens, sdk.StopReasonModelContextWindowExceeded:
		return llm.Length
	case sdk.StopReasonRefusal:
		return llm.Refused
	case sdk.StopReasonEndTurn, sdk.StopReasonStopSequence, sdk.StopReasonToolUse, sdk.StopReasonPauseTurn:
	}
	if calls {
		return llm.Called
	}
	return llm.End
}

// thinking is what a model thought, as the Thinking of an llm.Message: the blocks of the answer, of which those
// of thinking go back with their signatures, unchanged and in their places.
type thinking []sdk.ContentBlockUnion
