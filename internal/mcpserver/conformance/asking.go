package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// addAskingTools adds the tools of the revisions with sessions that ask their client
// while the call waits.
func (f *fixture) addAskingTools() {
	f.tool("test_sampling", "Asks the client's model.",
		`{"type":"object","properties":{"prompt":{"type":"string"}},"required":["prompt"]}`, askModel)
	f.tool("test_elicitation", "Asks the person.",
		`{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}`,
		func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var in struct{ Message string }
			if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
				return nil, invalid("arguments: " + err.Error())
			}
			return askPerson(ctx, req, in.Message, `{"type":"object","properties":{
				"username":{"type":"string","description":"User's response"},
				"email":{"type":"string","description":"User's email address"}
			},"required":["username","email"]}`)
		})
	f.tool("test_elicitation_sep1034_defaults", "Asks the person with a default for each type.", noArguments,
		func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return askPerson(ctx, req, "Please review and update the form", schemaDefaults)
		})
	f.tool("test_elicitation_sep1330_enums", "Asks the person to choose in each form that an enumeration may have.", noArguments,
		func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return askPerson(ctx, req, "Please select options", schemaEnums)
		})
}

// schemaDefaults is prescribed by scenario elicitation-sep1034-defaults.
const schemaDefaults = `{"type":"object","properties":{
	"name": {"type":"string","default":"John Doe"},
	"age": {"type":"integer","default":30},
	"score": {"type":"number","default":95.5},
	"status": {"type":"string","enum":["active","inactive","pending"],"default":"active"},
	"verified": {"type":"boolean","default":true}
}}`

// schemaEnums is prescribed by scenario elicitation-sep1330-enums.
const schemaEnums = `{"type":"object","properties":{
	"untitledSingle": {"type":"string","enum":["option1","option2","option3"]},
	"titledSingle": {"type":"string","oneOf":[
		{"const":"value1","title":"First Option"},
		{"const":"value2","title":"Second Option"},
		{"const":"value3","title":"Third Option"}]},
	"legacyEnum": {"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
	"untitledMulti": {"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},
	"titledMulti": {"type":"array","items":{"anyOf":[
		{"const":"value1","title":"First Choice"},
		{"const":"value2","title":"Second Choice"},
		{"const":"value3","title":"Third Choice"}]}}
}}`

func askModel(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in struct{ Prompt string }
	if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
		return nil, invalid("arguments: " + err.Error())
	}
	answer, err := req.Session.CreateMessage(ctx, &mcp.CreateMessageParams{
		Messages:  []*mcp.SamplingMessage{{Role: "user", Content: text("%s", in.Prompt)}},
		MaxTokens: 100,
	})
	if err != nil {
		return nil, fmt.Errorf("ask the model: %w", err)
	}
	said, ok := answer.Content.(*mcp.TextContent)
	if !ok {
		return nil, invalid("the model's answer is not text")
	}
	return result(text("LLM response: %s", said.Text))
}

func askPerson(ctx context.Context, req *mcp.CallToolRequest, message, schema string) (*mcp.CallToolResult, error) {
	answer, err := req.Session.Elicit(ctx, &mcp.ElicitParams{Message: message, RequestedSchema: json.RawMessage(schema)})
	if err != nil {
		return nil, fmt.Errorf("ask the person: %w", err)
	}
	content, err := json.Marshal(answer.Content)
	if err != nil {
		return nil, fmt.Errorf("read the person's answer: %w", err)
	}
	return result(text("Elicitation completed: action=%s, content=%s", answer.Action, content))
}

func invalid(message string) error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: message}
}

// addStatelessTools adds the tools with which scenario server-stateless looks at the
// revision in which each request stands alone.
func (f *fixture) addStatelessTools() {
	f.tool("test_missing_capability", "Needs a client that can sample.", noArguments,
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if c := req.ClientCapabilities(); c != nil && c.Sampling != nil {
				return result(text("the client can sample"))
			}
			return nil, &jsonrpc.Error{
				Code: mcp.CodeMissingRequiredClientCapabilities, Message: "this tool needs the capability sampling",
				Data: json.RawMessage(`{"requiredCapabilities":{"sampling":{}}}`),
			}
		})
	f.tool("test_streaming_elicitation", "Reports progress and asks nobody.", noArguments,
		func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if token := req.Params.GetProgressToken(); token != nil {
				if err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: 1}); err != nil {
					return nil, fmt.Errorf("report progress: %w", err)
				}
			}
			return result(text("streamed"))
		})
	f.tool("test_logging_tool", "Logs, which a client that did not ask for it must not see.", noArguments,
		func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if err := req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: "logged"}); err != nil {
				return nil, fmt.Errorf("log: %w", err)
			}
			return result(text("logged"))
		})
	f.tool("test_x_mcp_header", "Has an argument that is sent as a header too.",
		`{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},"level":{"type":"integer"}}}`,
		answers(text("taken")))
	f.tool("test_trigger_tool_change", "Changes the list of tools.", noArguments,
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			f.tool("test_added_tool", "Was added by test_trigger_tool_change.", noArguments, answers(text("new")))
			return result(text("changed"))
		})
	f.tool("test_trigger_prompt_change", "Changes the list of prompts.", noArguments,
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			f.prompt(&mcp.Prompt{Name: "test_added_prompt", Description: "Was added by test_trigger_prompt_change."}, text("new"))
			return result(text("changed"))
		})
}
