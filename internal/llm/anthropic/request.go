package anthropic

import (
	"encoding/base64"
	"strings"

	sdk "github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/packages/param"

	"runpython/internal/llm"
	"runpython/internal/llm/wire"
)

// defaultMaxTokens bounds an answer where the request does not: the vendor wants a number.
const defaultMaxTokens = 8192

// body returns the body of the request r. The vendor caches tools and system prompt up to the first mark, and
// the conversation up to the second one, which the next request of the same loop begins with.
func (c Config) body(r llm.Request) ([]byte, error) {
	p := sdk.MessageNewParams{Model: c.Server.Model, MaxTokens: defaultMaxTokens, Messages: c.conversation(r.Messages)}
	if r.MaxTokens > 0 {
		p.MaxTokens = int64(r.MaxTokens)
	}
	if r.System != "" {
		p.System = []sdk.TextBlockParam{{Text: r.System, CacheControl: sdk.NewCacheControlEphemeralParam()}}
	}
	for _, t := range r.Tools {
		p.Tools = append(p.Tools, toolOf(t))
	}
	if r.System == "" && len(p.Tools) > 0 {
		p.Tools[len(p.Tools)-1].OfTool.CacheControl = sdk.NewCacheControlEphemeralParam()
	}
	if n := len(p.Messages); n > 0 {
		markLast(p.Messages[n-1].Content)
	}
	return wire.Body(p, c.Extra, r.Extra, map[string]any{"stream": true})
}

func toolOf(t llm.Tool) sdk.ToolUnionParam {
	tool := sdk.ToolParam{Name: t.Name, InputSchema: sdk.ToolInputSchemaParam{ExtraFields: map[string]any{}}}
	if t.Description != "" {
		tool.Description = param.NewOpt(t.Description)
	}
	for key, v := range t.Schema {
		if key != "type" { // always an object
			tool.InputSchema.ExtraFields[key] = v
		}
	}
	return sdk.ToolUnionParam{OfTool: &tool}
}

// markLast puts the mark of the cache on the last block that can have one.
func markLast(blocks []sdk.ContentBlockParamUnion) {
	if len(blocks) == 0 {
		return
	}
	if control := blocks[len(blocks)-1].GetCacheControl(); control != nil {
		*control = sdk.NewCacheControlEphemeralParam()
	}
}

// conversation returns the messages, of which neighbours of one role are one: the results of all calls of an
// answer must stand in one message.
func (c Config) conversation(list []llm.Message) []sdk.MessageParam {
	var out []sdk.MessageParam
	for _, m := range list {
		role, blocks := sdk.MessageParamRoleUser, c.blocks(m)
		if m.Role == llm.Assistant {
			role = sdk.MessageParamRoleAssistant
		}
		if len(blocks) == 0 {
			continue // the vendor refuses messages without content
		}
		if n := len(out); n > 0 && out[n-1].Role == role {
			out[n-1].Content = append(out[n-1].Content, blocks...)
			continue
		}
		out = append(out, sdk.MessageParam{Role: role, Content: blocks})
	}
	return out
}

func (c Config) blocks(m llm.Message) []sdk.ContentBlockParamUnion {
	switch m.Role {
	case llm.Assistant:
		return assistant(m)
	case llm.Tooling:
		return []sdk.ContentBlockParamUnion{c.result(m)}
	case llm.User:
	}
	blocks := text(nil, m.Text)
	if c.Images {
		for _, i := range m.Images {
			blocks = append(blocks, imageOf(i))
		}
	}
	return blocks
}

// text adds a block of text, which may not be empty.
func text(blocks []sdk.ContentBlockParamUnion, text string) []sdk.ContentBlockParamUnion {
	if text == "" {
		return blocks
	}
	return append(blocks, sdk.NewTextBlock(text))
}

// assistant returns the blocks of an answer: where the model thought, in the order in which they came.
func assistant(m llm.Message) []sdk.ContentBlockParamUnion {
	came, _ := m.Thinking.(thinking)
	var blocks []sdk.ContentBlockParamUnion
	said, called := "", 0
	for _, b := range came {
		switch b.Type {
		case "thinking", "redacted_thinking":
			blocks = append(blocks, b.ToParam())
		case "text":
			if strings.HasPrefix(m.Text[len(said):], b.Text) { // else the caller has changed it
				blocks, said = text(blocks, b.Text), said+b.Text
			}
		case "tool_use":
			if called < len(m.Calls) && m.Calls[called].ID == b.ID {
				blocks = text(blocks, m.Text[len(said):]) // calls come last
				said = m.Text
				blocks = append(blocks, callOf(m.Calls[called]))
				called++
			}
		}
	}
	blocks = text(blocks, m.Text[len(said):])
	for _, call := range m.Calls[called:] {
		blocks = append(blocks, callOf(call))
	}
	return blocks
}

func callOf(c llm.Call) sdk.ContentBlockParamUnion {
	return sdk.NewToolUseBlock(c.ID, wire.Object(c.Arguments), c.Name)
}

func imageOf(i llm.Image) sdk.ContentBlockParamUnion {
	return sdk.NewImageBlockBase64(i.MIMEType, base64.StdEncoding.EncodeToString(i.Data))
}

func (c Config) result(m llm.Message) sdk.ContentBlockParamUnion {
	block := sdk.ToolResultBlockParam{ToolUseID: m.CallID, IsError: param.NewOpt(m.Failed)}
	if m.Text != "" {
		block.Content = append(block.Content, sdk.ToolResultBlockParamContentUnion{OfText: sdk.NewTextBlock(m.Text).OfText})
	}
	if c.Images {
		for _, i := range m.Images {
			block.Content = append(block.Content, sdk.ToolResultBlockParamContentUnion{OfImage: imageOf(i).OfImage})
		}
	}
	return sdk.ContentBlockParamUnion{OfToolResult: &block}
}
