package llmtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"runpython/internal/llm"
)

// A Request is what a client has sent, the same for both protocols.
type Request struct {
	Protocol Protocol
	Header   http.Header
	Body     []byte
	Stream   bool
	System   string
	Messages []llm.Message // without the system's; of images only their number, of Thinking nothing
	Tools    []string      // names

	null      bool // the content of a message of the assistant is null
	wantUsage bool // a stream of OpenAI ends with a count
}

// Last returns the last message, the zero one if there is none.
func (r *Request) Last() llm.Message {
	if len(r.Messages) == 0 {
		return llm.Message{}
	}
	return r.Messages[len(r.Messages)-1]
}

// Text returns all that the request tells the model: texts, calls, results.
func (r *Request) Text() string {
	var b strings.Builder
	b.WriteString(r.System)
	for _, m := range r.Messages {
		b.WriteString("\n" + m.Text)
		for _, c := range m.Calls {
			b.WriteString("\n" + c.Name + "\n" + c.Arguments)
		}
	}
	return b.String()
}

// Key returns the key that came with the request, "" without one.
func (r *Request) Key() string {
	if key := r.Header.Get("X-Api-Key"); key != "" {
		return key
	}
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
}

// misfits returns what of w is not true of r.
func (w Want) misfits(r *Request) []string {
	var all []string
	bad := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	if w.Protocol != "" && w.Protocol != r.Protocol {
		bad("protocol %s, want %s", r.Protocol, w.Protocol)
	}
	if w.Stream != nil && *w.Stream != r.Stream {
		bad("stream %v, want %v", r.Stream, *w.Stream)
	}
	if w.Messages != 0 && w.Messages != len(r.Messages) {
		bad("%d messages, want %d", len(r.Messages), w.Messages)
	}
	if w.Tools != nil && !slices.Equal(w.Tools, r.Tools) {
		bad("tools %q, want %q", r.Tools, w.Tools)
	}
	if w.Key != "" && w.Key != r.Key() {
		bad("key %q, want %q", r.Key(), w.Key)
	}
	if last := r.Last(); w.Result != "" && (last.Role != llm.Tooling || !strings.Contains(last.Text, w.Result)) {
		bad("the last message is of %q: %.500q, want a result with %q", last.Role, last.Text, w.Result)
	}
	return append(all, w.wrongParts(r)...)
}

// wrongParts is misfits of texts.
func (w Want) wrongParts(r *Request) []string {
	var all []string
	text := r.Text()
	for _, part := range w.Has {
		if !strings.Contains(text, part) {
			all = append(all, fmt.Sprintf("no %q", part))
		}
	}
	for _, part := range w.Lacks {
		if strings.Contains(text, part) {
			all = append(all, fmt.Sprintf("there is %q", part))
		}
	}
	for _, part := range w.Body {
		if !strings.Contains(string(r.Body), part) {
			all = append(all, fmt.Sprintf("no %q in the body", part))
		}
	}
	return all
}

// A wireMessage is a message of either protocol.
type wireMessage struct {
	Role       string          `json:"role"`
	Content    json.RawMessage `json:"content"`
	ToolCallID string          `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string  `json:"name"`
			Arguments *string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

// A wireBlock is a part of a message's content, in either protocol.
type wireBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
	IsError   bool            `json:"is_error"`
}

// A wireBody has the fields of both protocols that matter here.
type wireBody struct {
	Model     string          `json:"model"`
	Stream    bool            `json:"stream"`
	MaxTokens int             `json:"max_tokens"`
	System    json.RawMessage `json:"system"`
	Messages  []wireMessage   `json:"messages"`
	Tools     []struct {
		Name     string `json:"name"`
		Function struct {
			Name       string         `json:"name"`
			Parameters map[string]any `json:"parameters"`
		} `json:"function"`
		InputSchema map[string]any `json:"input_schema"`
	} `json:"tools"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

// read reads the body into r. Its errors are what the vendor would refuse.
func (r *Request) read() error {
	var w wireBody
	if err := json.Unmarshal(r.Body, &w); err != nil {
		return fmt.Errorf("the body: %w", err)
	}
	r.Stream, r.wantUsage = w.Stream, w.StreamOptions.IncludeUsage
	for _, t := range w.Tools {
		r.Tools = append(r.Tools, t.Name+t.Function.Name)
		if schema := len(t.InputSchema) + len(t.Function.Parameters); t.Name+t.Function.Name == "" || schema == 0 {
			return errors.New("a tool without name or schema")
		}
	}
	if w.Model == "" || len(w.Messages) == 0 {
		return errors.New("no model, or no messages")
	}
	message := r.openAI
	if r.Protocol == Anthropic {
		if r.Header.Get("Anthropic-Version") == "" || w.MaxTokens < 1 {
			return errors.New("no anthropic-version, or no max_tokens")
		}
		system, err := texts(w.System)
		if err != nil {
			return err
		}
		r.System, message = system, r.anthropic
	}
	for i, m := range w.Messages {
		if err := message(m); err != nil {
			return fmt.Errorf("messages[%d]: %w", i, err)
		}
	}
	return r.paired()
}

// texts joins the texts of a content: a string, null, or blocks.
func texts(content json.RawMessage) (string, error) {
	blocks, err := blocksOf(content)
	var all []string
	for _, b := range blocks {
		all = append(all, b.Text)
	}
	return strings.Join(all, "\n"), err
}

func blocksOf(content json.RawMessage) ([]wireBlock, error) {
	var text string
	if len(content) == 0 || string(content) == "null" {
		return nil, nil
	}
	if err := json.Unmarshal(content, &text); err == nil {
		return []wireBlock{{Type: "text", Text: text}}, nil
	}
	var blocks []wireBlock
	if err := json.Unmarshal(content, &blocks); err != nil {
		return nil, fmt.Errorf("content: %w", err)
	}
	return blocks, nil
}

// openAI adds a message of the chat completions.
func (r *Request) openAI(m wireMessage) error {
	text, err := texts(m.Content)
	if err != nil {
		return err
	}
	out := llm.Message{Role: llm.Role(m.Role), Text: text, CallID: m.ToolCallID}
	switch m.Role {
	case "system", "developer":
		r.System += text
		return nil
	case "assistant":
		if string(m.Content) == "null" {
			r.null = true
		}
	case "user", "tool":
		blocks, _ := blocksOf(m.Content) // texts has read them
		if len(blocks) == 0 {
			return errors.New("no content")
		}
		for _, b := range blocks {
			if b.Type == "image_url" {
				out.Images = append(out.Images, llm.Image{})
			}
		}
	default:
		return fmt.Errorf("role %q", m.Role)
	}
	for _, c := range m.ToolCalls {
		if c.ID == "" || c.Type != "function" || c.Function.Name == "" || c.Function.Arguments == nil {
			return errors.New("a tool call without id, type, name or arguments")
		}
		out.Calls = append(out.Calls, llm.Call{ID: c.ID, Name: c.Function.Name, Arguments: *c.Function.Arguments})
	}
	r.Messages = append(r.Messages, out)
	return nil
}

// anthropic adds a message of the messages API; each result of a call becomes a message of its own.
func (r *Request) anthropic(m wireMessage) error {
	if m.Role != "user" && m.Role != "assistant" || m.Role != "user" && len(r.Messages) == 0 {
		return fmt.Errorf("role %q", m.Role)
	}
	blocks, err := blocksOf(m.Content)
	if err != nil || len(blocks) == 0 {
		return errors.Join(err, errors.New("content must not be empty"))
	}
	out := llm.Message{Role: llm.Role(m.Role)}
	for _, b := range blocks {
		if b.Type == "tool_result" {
			err = r.result(b, out.Text != "")
		} else {
			err = block(&out, b)
		}
		if err != nil {
			return err
		}
	}
	if out.Text != "" || len(out.Calls) > 0 || len(out.Images) > 0 {
		r.Messages = append(r.Messages, out)
	}
	return nil
}

// block adds a block of Anthropic's to the message.
func block(m *llm.Message, b wireBlock) error {
	switch b.Type {
	case "text":
		if b.Text == "" {
			return errors.New("text blocks must not be empty")
		}
		m.Text += b.Text
	case "image":
		m.Images = append(m.Images, llm.Image{})
	case "thinking", "redacted_thinking": // Want.Body looks for what is in them
	case "tool_use":
		var input map[string]any
		if err := json.Unmarshal(b.Input, &input); err != nil || input == nil || b.ID == "" || b.Name == "" {
			return errors.New("tool_use without id, name or an object as input")
		}
		m.Calls = append(m.Calls, llm.Call{ID: b.ID, Name: b.Name, Arguments: string(b.Input)})
	default:
		return fmt.Errorf("block of type %q", b.Type)
	}
	return nil
}

// result adds the message of a tool_result.
func (r *Request) result(b wireBlock, late bool) error {
	if late {
		return errors.New("tool_result blocks must come first")
	}
	blocks, err := blocksOf(b.Content)
	m := llm.Message{Role: llm.Tooling, CallID: b.ToolUseID, Failed: b.IsError}
	for _, part := range blocks {
		m.Text += part.Text
		if part.Type == "image" {
			m.Images = append(m.Images, llm.Image{})
		}
	}
	r.Messages = append(r.Messages, m)
	return err
}

// paired checks that each call has its result, right behind it, and each result its call.
func (r *Request) paired() error {
	var open []string
	for i, m := range r.Messages {
		if m.Role == llm.Tooling {
			at := slices.Index(open, m.CallID)
			if at < 0 {
				return fmt.Errorf("message %d is the result of %q, which is no open call", i, m.CallID)
			}
			open = slices.Delete(open, at, at+1)
			continue
		}
		if len(open) > 0 {
			return fmt.Errorf("no result of the calls %q before message %d", open, i)
		}
		for _, c := range m.Calls {
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("no result of the calls %q", open)
	}
	return nil
}
