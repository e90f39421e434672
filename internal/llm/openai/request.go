package openai

import (
	"encoding/base64"
	"hash/fnv"
	"strings"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"

	"runpython/internal/llm"
	"runpython/internal/llm/wire"
)

// body returns the body of the request r.
func (c Config) body(model string, r llm.Request) ([]byte, error) {
	p := sdk.ChatCompletionNewParams{Model: model}
	if r.System != "" {
		p.Messages = append(p.Messages, sdk.SystemMessage(r.System))
	}
	p.Messages = append(p.Messages, c.messages(r.Messages)...)
	for _, t := range r.Tools {
		f := sdk.FunctionDefinitionParam{Name: t.Name, Parameters: t.Schema}
		if t.Description != "" {
			f.Description = param.NewOpt(t.Description)
		}
		p.Tools = append(p.Tools, sdk.ChatCompletionFunctionTool(f))
	}
	switch {
	case r.MaxTokens > 0 && c.Dialect.CompletionTokens:
		p.MaxCompletionTokens = param.NewOpt(int64(r.MaxTokens))
	case r.MaxTokens > 0:
		p.MaxTokens = param.NewOpt(int64(r.MaxTokens))
	}
	if c.Dialect.AskUsage {
		p.StreamOptions.IncludeUsage = param.NewOpt(true)
	}
	return wire.Body(p, c.Extra, r.Extra, map[string]any{"stream": true})
}

func (c Config) messages(list []llm.Message) []sdk.ChatCompletionMessageParamUnion {
	var out []sdk.ChatCompletionMessageParamUnion
	var shown []llm.Image // by the results of calls, which may not have any themselves
	flush := func() {
		if len(shown) > 0 {
			out = append(out, c.user("What the code has shown:", shown))
			shown = nil
		}
	}
	for _, m := range list {
		switch m.Role {
		case llm.Tooling:
			out = append(out, sdk.ToolMessage(m.Text, c.id(m.CallID)))
			if c.Images {
				shown = append(shown, m.Images...)
			}
		case llm.Assistant:
			flush()
			out = append(out, c.assistant(m))
		case llm.User:
			flush()
			out = append(out, c.user(m.Text, m.Images))
		}
	}
	flush()
	return out
}

// user is a message of the person. Its content is plain text where that is enough: not every server takes
// a list of parts.
func (c Config) user(text string, images []llm.Image) sdk.ChatCompletionMessageParamUnion {
	if !c.Images || len(images) == 0 {
		return sdk.UserMessage(text)
	}
	parts := []sdk.ChatCompletionContentPartUnionParam{sdk.TextContentPart(text)}
	for _, i := range images {
		parts = append(parts, sdk.ImageContentPart(sdk.ChatCompletionContentPartImageImageURLParam{
			URL: "data:" + i.MIMEType + ";base64," + base64.StdEncoding.EncodeToString(i.Data),
		}))
	}
	return sdk.UserMessage(parts)
}

func (c Config) assistant(m llm.Message) sdk.ChatCompletionMessageParamUnion {
	thought, _ := m.Thinking.(*thinking)
	if thought == nil || thought.echo != c.Dialect.Echo {
		thought = &thinking{echo: c.Dialect.Echo}
	}
	var p sdk.ChatCompletionAssistantMessageParam
	// Text, even when there is none: null beside calls is an error for some.
	p.Content.OfString = param.NewOpt(m.Text)
	for i, call := range m.Calls {
		f := sdk.ChatCompletionMessageFunctionToolCallParam{
			ID:       c.id(call.ID),
			Function: sdk.ChatCompletionMessageFunctionToolCallFunctionParam{Name: call.Name, Arguments: string(wire.Object(call.Arguments))},
		}
		if extra := thought.ofCall(call.ID, i); extra != nil {
			f.SetExtraFields(map[string]any{"extra_content": extra})
		}
		p.ToolCalls = append(p.ToolCalls, sdk.ChatCompletionMessageToolCallUnionParam{OfFunction: &f})
	}
	if fields := thought.ofMessage(len(m.Calls) > 0); len(fields) > 0 {
		p.SetExtraFields(fields)
	}
	return sdk.ChatCompletionMessageParamUnion{OfAssistant: &p}
}

// shortID is how long Mistral's ids of calls are, exactly.
const shortID = 9

// id returns the id of a call as the server takes it.
func (c Config) id(id string) string {
	if !c.Dialect.ShortIDs || isShort(id) {
		return id
	}
	const letters = "0123456789abcdefghijklmnopqrstuvwxyz"
	h := fnv.New64a()
	h.Write([]byte(id)) // never an error
	n := h.Sum64()
	var b strings.Builder
	for range shortID {
		b.WriteByte(letters[n%uint64(len(letters))])
		n /= uint64(len(letters))
	}
	return b.String()
}

func isShort(id string) bool {
	return len(id) == shortID && !strings.ContainsFunc(id, func(r rune) bool {
		return !(r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	})
}
