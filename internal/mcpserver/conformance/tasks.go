package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// addTaskTools adds the tools of the scenarios tasks-*.
func (f *fixture) addTaskTools() {
	f.tool("greet", "Is never a task.", `{"type":"object","properties":{"name":{"type":"string"}}}`,
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			var in struct{ Name string }
			if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
				return nil, invalid("arguments: " + err.Error())
			}
			return result(text("Hello, %s!", in.Name))
		})
	f.tool("slow_compute", "Takes its time.",
		`{"type":"object","properties":{"seconds":{"type":"number"},"label":{"type":"string"}}}`, f.computeSlowly)
	f.tool("failing_job", "Fails, as a task only.", noArguments, f.onlyTask(
		func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			if err := pause(ctx); err != nil {
				return nil, err
			}
			return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{text("the job failed")}}, nil
		}))
	f.tool("protocol_error_job", "Breaks.", noArguments, f.task(
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return nil, errors.New("the job broke")
		}))
	f.tool("confirm_delete", "Asks before it deletes nothing.",
		`{"type":"object","properties":{"filename":{"type":"string"}}}`,
		f.task(f.asking(mcp.InputRequestMap{"confirm": form("Delete it?", "confirm", "boolean")}, "",
			func(a mcp.InputResponseMap) (string, bool) {
				confirmed, ok := filled(a, "confirm", "confirm")
				return fmt.Sprintf("confirmed: %v", confirmed), ok
			})))
	f.tool("multi_input", "Asks two things at once.", noArguments,
		f.task(f.asking(mcp.InputRequestMap{"first": form("Who?", "name", "string"), "second": form("And who else?", "name", "string")}, "",
			func(a mcp.InputResponseMap) (string, bool) {
				first, ok := filled(a, "first", "name")
				second, both := filled(a, "second", "name")
				return fmt.Sprintf("%v and %v", first, second), ok && both
			})))
	f.tool("test_tool_with_task", "Asks first, then is a task.", noArguments, f.askThenTask)
}

// task returns the handler of a tool whose calls are tasks for clients that take tasks.
func (f *fixture) task(h mcp.ToolHandler) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		_ = f.tasks.Detach(req) // other clients wait for the result
		return h(ctx, req)
	}
}

// onlyTask returns the handler of a tool that other clients cannot call.
func (f *fixture) onlyTask(h mcp.ToolHandler) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if err := f.tasks.Detach(req); err != nil {
			return nil, err //nolint:wrapcheck // it is for the client
		}
		return h(ctx, req)
	}
}

// computeSlowly is a task unless it is done at once.
func (f *fixture) computeSlowly(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	var in struct {
		Seconds float64
		Label   string
	}
	if err := json.Unmarshal(req.Params.Arguments, &in); err != nil {
		return nil, invalid("arguments: " + err.Error())
	}
	compute := func(ctx context.Context, _ *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		select {
		case <-time.After(time.Duration(in.Seconds * float64(time.Second))):
			return result(text("%s: computed for %v s", in.Label, in.Seconds))
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if in.Seconds <= 0 {
		return compute(ctx, req)
	}
	return f.task(compute)(ctx, req)
}

// askThenTask asks for a name by an answer of its own, and becomes a task when it has it.
func (f *fixture) askThenTask(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	name, ok := filled(req.Params.InputResponses, "user_name", "name")
	if !ok {
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{"user_name": form("What is your name?", "name", "string")}}, nil
	}
	return f.onlyTask(answers(text("Hello, %v!", name)))(ctx, req)
}
