package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// prompt adds a prompt whose messages are always the same.
func (f *fixture) prompt(p *mcp.Prompt, content ...mcp.Content) {
	f.server.AddPrompt(p, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return messages(content...), nil
	})
}

func messages(content ...mcp.Content) *mcp.GetPromptResult {
	r := &mcp.GetPromptResult{}
	for _, c := range content {
		r.Messages = append(r.Messages, &mcp.PromptMessage{Role: "user", Content: c})
	}
	return r
}

func (f *fixture) addPrompts() {
	f.prompt(&mcp.Prompt{Name: "test_simple_prompt", Description: "Has no arguments."}, text("This is a simple prompt for testing."))
	f.prompt(&mcp.Prompt{Name: "test_prompt_with_image", Description: "Has a picture."},
		&mcp.ImageContent{Data: f.png, MIMEType: "image/png"}, text("Please analyze the image above."))
	f.server.AddPrompt(&mcp.Prompt{
		Name: "test_prompt_with_arguments", Description: "Repeats its arguments.",
		Arguments: []*mcp.PromptArgument{
			{Name: "arg1", Description: "the first", Required: true},
			{Name: "arg2", Description: "the second", Required: true},
		},
	}, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		a := req.Params.Arguments
		return messages(text("Prompt with arguments: arg1='%s', arg2='%s'", a["arg1"], a["arg2"])), nil
	})
	f.server.AddPrompt(&mcp.Prompt{
		Name: "test_prompt_with_embedded_resource", Description: "Has a resource.",
		Arguments: []*mcp.PromptArgument{{Name: "resourceUri", Description: "of the resource", Required: true}},
	}, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return messages(embedded(req.Params.Arguments["resourceUri"], "text/plain", "Embedded resource content for testing."),
			text("Please process the embedded resource above.")), nil
	})
	f.server.AddPrompt(&mcp.Prompt{Name: "test_input_required_result_prompt", Description: "Asks before it answers."},
		func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			if given, ok := filled(req.Params.InputResponses, "user_context", "context"); ok {
				return messages(text("Context: %v", given)), nil
			}
			return &mcp.GetPromptResult{InputRequests: mcp.InputRequestMap{
				"user_context": form("What context should the prompt use?", "context", "string"),
			}}, nil
		})
}

func (f *fixture) addResources() {
	one := func(name, uri, mediaType string, contents mcp.ResourceContents) {
		contents.URI, contents.MIMEType = uri, mediaType
		f.server.AddResource(&mcp.Resource{Name: name, URI: uri, MIMEType: mediaType},
			func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{&contents}}, nil
			})
	}
	one("static-text", "test://static-text", "text/plain", mcp.ResourceContents{Text: "This is the content of the static text resource."})
	one("static-binary", "test://static-binary", "image/png", mcp.ResourceContents{Blob: f.png})
	one("watched", "test://watched-resource", "text/plain", mcp.ResourceContents{Text: "watched"})
	f.server.AddResourceTemplate(&mcp.ResourceTemplate{Name: "template", URITemplate: "test://template/{id}/data", MIMEType: "application/json"},
		func(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
			id := strings.TrimSuffix(strings.TrimPrefix(req.Params.URI, "test://template/"), "/data")
			return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{
				URI: req.Params.URI, MIMEType: "application/json",
				Text: fmt.Sprintf(`{"id":%q,"templateTest":true,"data":%q}`, id, "Data for ID: "+id),
			}}}, nil
		})
}

// complete offers the values that begin with what has been typed.
func complete(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	values := []string{}
	for _, v := range []string{"paris", "park", "party"} {
		if strings.HasPrefix(v, req.Params.Argument.Value) {
			values = append(values, v)
		}
	}
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: values, Total: len(values)}}, nil
}
