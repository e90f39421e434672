package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/mcpserver"
)

// A fixture is the server that the suite expects to meet: tools, prompts and resources
// whose names and behaviour it prescribes scenario by scenario.
type fixture struct {
	server *mcp.Server
	tasks  *mcpserver.Tasks
	sealer sealer
	png    []byte // a picture of one pixel
	wav    []byte // a sound of one sample
}

// newFixture returns the server of all scenarios, whose tasks the caller closes.
func newFixture() (*mcp.Server, *mcpserver.Tasks, error) {
	sealer, err := newSealer()
	if err != nil {
		return nil, nil, err
	}
	dot, err := onePixel()
	if err != nil {
		return nil, nil, err
	}
	f := &fixture{
		sealer: sealer, png: dot, wav: oneSample(),
		tasks: mcpserver.NewTasks(mcpserver.TasksOptions{}),
		server: mcp.NewServer(&mcp.Implementation{Name: "conformance-fixture", Version: "1"}, &mcp.ServerOptions{
			Capabilities: &mcp.ServerCapabilities{
				Logging:    &mcp.LoggingCapabilities{},
				Extensions: map[string]any{mcpserver.TasksExtension: map[string]any{}},
			},
			CompletionHandler:  complete,
			SubscribeHandler:   func(context.Context, *mcp.SubscribeRequest) error { return nil },
			UnsubscribeHandler: func(context.Context, *mcp.UnsubscribeRequest) error { return nil },
			SetCacheable: func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) {
				c.TTLMs, c.CacheScope = int(time.Second.Milliseconds()), "private"
			},
		}),
	}
	f.addContentTools()
	f.addReportingTools()
	f.addAskingTools()
	f.addStatelessTools()
	f.addRoundTools()
	f.addTaskTools()
	f.tasks.Attach(f.server)
	f.addPrompts()
	f.addResources()
	return f.server, f.tasks, nil
}

// onePixel returns a PNG picture.
func onePixel() ([]byte, error) {
	dot := image.NewNRGBA(image.Rect(0, 0, 1, 1))
	dot.Set(0, 0, color.NRGBA{R: 255, A: 255})
	var b bytes.Buffer
	if err := png.Encode(&b, dot); err != nil {
		return nil, fmt.Errorf("draw a pixel: %w", err)
	}
	return b.Bytes(), nil
}

// oneSample returns a WAV file: mono, 8 kHz, 8 bits.
func oneSample() []byte {
	const rate, bits = 8000, 8
	b := []byte("RIFF\x25\x00\x00\x00WAVEfmt \x10\x00\x00\x00\x01\x00\x01\x00")
	b = binary.LittleEndian.AppendUint32(b, rate)
	b = binary.LittleEndian.AppendUint32(b, rate*bits/8)
	b = binary.LittleEndian.AppendUint16(b, bits/8)
	b = binary.LittleEndian.AppendUint16(b, bits)
	return append(b, "data\x01\x00\x00\x00\x80"...)
}

const noArguments = `{"type":"object"}`

// tool adds a tool that takes what schema says.
func (f *fixture) tool(name, description, schema string, h mcp.ToolHandler) {
	f.server.AddTool(&mcp.Tool{Name: name, Description: description, InputSchema: json.RawMessage(schema)}, h)
}

func text(format string, a ...any) *mcp.TextContent {
	return &mcp.TextContent{Text: fmt.Sprintf(format, a...)}
}

func result(content ...mcp.Content) (*mcp.CallToolResult, error) {
	return &mcp.CallToolResult{Content: content}, nil
}

// answers returns a handler whose result is always the same.
func answers(content ...mcp.Content) mcp.ToolHandler {
	return func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) { return result(content...) }
}

// pause waits as long as the suite wants between two notifications.
func pause(ctx context.Context) error {
	select {
	case <-time.After(50 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func embedded(uri, mediaType, content string) *mcp.EmbeddedResource {
	return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: uri, MIMEType: mediaType, Text: content}}
}

// addContentTools adds a tool for each kind of content, and one that fails.
func (f *fixture) addContentTools() {
	picture := &mcp.ImageContent{Data: f.png, MIMEType: "image/png"}
	f.tool("test_simple_text", "Answers with text.", noArguments,
		answers(text("This is a simple text response for testing.")))
	f.tool("test_image_content", "Answers with a picture.", noArguments, answers(picture))
	f.tool("test_audio_content", "Answers with a sound.", noArguments,
		answers(&mcp.AudioContent{Data: f.wav, MIMEType: "audio/wav"}))
	f.tool("test_embedded_resource", "Answers with a resource.", noArguments,
		answers(embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")))
	f.tool("test_multiple_content_types", "Answers with text, a picture and a resource.", noArguments,
		answers(text("Multiple content types test:"), picture,
			embedded("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`)))
	f.tool("test_error_handling", "Always fails.", noArguments,
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{text("This tool intentionally returns an error for testing")}}, nil
		})
	f.tool("json_schema_2020_12_tool", "Has a schema with words of JSON Schema 2020-12.", schema202012, answers(text("taken")))
}

// schema202012 uses the words that scenario json-schema-2020-12 looks for in tools/list.
const schema202012 = `{
	"$schema": "https://json-schema.org/draft/2020-12/schema",
	"type": "object",
	"$defs": {"address": {
		"$anchor": "addressDef",
		"type": "object",
		"properties": {"street": {"type": "string"}, "city": {"type": "string"}}
	}},
	"properties": {
		"name": {"type": "string"},
		"address": {"$ref": "#/$defs/address"},
		"contactMethod": {"type": "string", "enum": ["phone", "email"]},
		"phone": {"type": "string"},
		"email": {"type": "string"}
	},
	"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
	"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
	"then": {"required": ["phone"]},
	"else": {"required": ["email"]},
	"additionalProperties": false
}`

// addReportingTools adds the tools that report while they run.
func (f *fixture) addReportingTools() {
	f.tool("test_tool_with_logging", "Logs three messages.", noArguments,
		func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			for _, message := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
				if err := req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: message}); err != nil {
					return nil, fmt.Errorf("log: %w", err)
				}
				if err := pause(ctx); err != nil {
					return nil, err
				}
			}
			return result(text("logged"))
		})
	f.tool("test_tool_with_progress", "Reports progress: 0, 50 and 100 of 100.", noArguments,
		func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			token := req.Params.GetProgressToken()
			for _, done := range []float64{0, 50, 100} {
				if token != nil {
					err := req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: done, Total: 100})
					if err != nil {
						return nil, fmt.Errorf("report progress: %w", err)
					}
				}
				if err := pause(ctx); err != nil {
					return nil, err
				}
			}
			return result(text("done"))
		})
}
