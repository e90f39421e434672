package llmtest_test

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"

	"runpython/internal/llm"
	"runpython/internal/llm/llmtest"
)

// A heard is what a client of an official SDK has understood.
type heard struct {
	Thinking, Text, Refusal string
	Calls                   []llmtest.Call
	Stop                    string // in the word of the vendor
	Usage                   llm.Usage
}

// A sdk asks with an official SDK. With tool the tool run_python is offered; piece is called for each
// event of a stream.
type sdk struct {
	url    string
	stream bool
	tool   bool
	piece  func()
}

var schema = map[string]any{"code": map[string]any{"type": "string"}}

func (s sdk) openAI(ctx context.Context, history []llm.Message) (*heard, error) {
	client := openai.NewClient(option.WithBaseURL(s.url+"/v1"), option.WithAPIKey("k"), option.WithMaxRetries(0))
	body := openai.ChatCompletionNewParams{Model: "any"}
	for _, m := range history {
		switch m.Role {
		case llm.Tooling:
			body.Messages = append(body.Messages, openai.ToolMessage(m.Text, m.CallID))
		case llm.Assistant:
			out := openai.AssistantMessage(m.Text)
			for _, c := range m.Calls {
				out.OfAssistant.ToolCalls = append(out.OfAssistant.ToolCalls, openai.ChatCompletionMessageToolCallUnionParam{
					OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
						ID: c.ID, Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: c.Name, Arguments: c.Arguments},
					},
				})
			}
			body.Messages = append(body.Messages, out)
		default:
			body.Messages = append(body.Messages, openai.UserMessage(m.Text))
		}
	}
	if s.tool {
		body.Tools = append(body.Tools, openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: "run_python", Parameters: map[string]any{"type": "object", "properties": schema},
		}))
	}
	if s.stream {
		body.StreamOptions.IncludeUsage = openai.Bool(true)
		return s.openAIStream(ctx, &client, body)
	}
	answer, err := client.Chat.Completions.New(ctx, body)
	if err != nil {
		return nil, err
	}
	return fromOpenAI(answer)
}

func (s sdk) openAIStream(ctx context.Context, client *openai.Client, body openai.ChatCompletionNewParams) (*heard, error) {
	stream := client.Chat.Completions.NewStreaming(ctx, body)
	var all openai.ChatCompletionAccumulator
	thinking := ""
	for stream.Next() {
		chunk := stream.Current()
		if !all.AddChunk(chunk) {
			return nil, errors.New("a chunk does not fit to the others")
		}
		for _, c := range chunk.Choices {
			thinking += textField(c.Delta.RawJSON(), "reasoning_content")
		}
		s.piece()
	}
	if err := stream.Err(); err != nil {
		return nil, err
	}
	out, err := fromOpenAI(&all.ChatCompletion)
	if err == nil {
		out.Thinking = thinking
	}
	return out, err
}

func fromOpenAI(answer *openai.ChatCompletion) (*heard, error) {
	if len(answer.Choices) == 0 {
		return nil, errors.New("no choice")
	}
	choice, u := answer.Choices[0], answer.Usage
	out := &heard{
		Text: choice.Message.Content, Refusal: choice.Message.Refusal, Stop: choice.FinishReason,
		Thinking: textField(choice.Message.RawJSON(), "reasoning_content"),
		Usage: llm.Usage{
			Input: int(u.PromptTokens), Cached: int(u.PromptTokensDetails.CachedTokens),
			Output: int(u.CompletionTokens), Thinking: int(u.CompletionTokensDetails.ReasoningTokens),
		},
	}
	for _, c := range choice.Message.ToolCalls {
		out.Calls = append(out.Calls, llmtest.Call{ID: c.ID, Name: c.Function.Name, Arguments: c.Function.Arguments})
	}
	return out, nil
}

// textField reads a field that the vendor's own protocol does not have.
func textField(raw, name string) string {
	var fields map[string]any
	if err := json.Unmarshal([]byte(raw), &fields); err != nil {
		return ""
	}
	text, _ := fields[name].(string)
	return text
}

func (s sdk) anthropic(ctx context.Context, history []llm.Message) (*heard, error) {
	client := anthropic.NewClient(anthropicoption.WithBaseURL(s.url), anthropicoption.WithAPIKey("k"), anthropicoption.WithMaxRetries(0))
	body := anthropic.MessageNewParams{Model: "any", MaxTokens: 1024}
	for _, m := range history {
		switch m.Role {
		case llm.Tooling:
			body.Messages = append(body.Messages, anthropic.NewUserMessage(anthropic.NewToolResultBlock(m.CallID, m.Text, false)))
		case llm.Assistant:
			var blocks []anthropic.ContentBlockParamUnion
			if m.Text != "" {
				blocks = append(blocks, anthropic.NewTextBlock(m.Text))
			}
			for _, c := range m.Calls {
				var input map[string]any
				if err := json.Unmarshal([]byte(c.Arguments), &input); err != nil {
					input = map[string]any{}
				}
				blocks = append(blocks, anthropic.NewToolUseBlock(c.ID, input, c.Name))
			}
			body.Messages = append(body.Messages, anthropic.NewAssistantMessage(blocks...))
		default:
			body.Messages = append(body.Messages, anthropic.NewUserMessage(anthropic.NewTextBlock(m.Text)))
		}
	}
	if s.tool {
		body.Tools = append(body.Tools, anthropic.ToolUnionParamOfTool(anthropic.ToolInputSchemaParam{Properties: schema}, "run_python"))
	}
	if !s.stream {
		answer, err := client.Messages.New(ctx, body)
		if err != nil {
			return nil, err
		}
		return fromAnthropic(answer), nil
	}
	stream := client.Messages.NewStreaming(ctx, body)
	var all anthropic.Message
	for stream.Next() {
		if err := all.Accumulate(stream.Current()); err != nil {
			return nil, err
		}
		s.piece()
	}
	return fromAnthropic(&all), stream.Err()
}

func fromAnthropic(answer *anthropic.Message) *heard {
	u := answer.Usage
	out := &heard{Stop: string(answer.StopReason), Usage: llm.Usage{
		Input: int(u.InputTokens + u.CacheReadInputTokens), Cached: int(u.CacheReadInputTokens), Output: int(u.OutputTokens),
	}}
	for _, b := range answer.Content {
		switch b.Type {
		case "text":
			out.Text += b.Text
		case "thinking":
			out.Thinking += b.Thinking
		case "tool_use":
			out.Calls = append(out.Calls, llmtest.Call{ID: b.ID, Name: b.Name, Arguments: string(b.Input)})
		}
	}
	return out
}
