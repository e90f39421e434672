package mcpserver

import (
	"context"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/trace"
)

// traced returns ctx with the trace context of a request: that of its _meta, where
// revision 2026-07-28 has it (SEP-414) and a proxy does not replace it, else that of
// the HTTP request which brought it. What is malformed counts as absent.
func traced(ctx context.Context, req mcp.Request) context.Context {
	parent, state := metaTrace(req)
	c, ok := trace.Parse(parent, state)
	if !ok {
		parent, state = headerTrace(req)
		c, ok = trace.Parse(parent, state)
	}
	if !ok {
		return ctx
	}
	return trace.NewContext(ctx, c)
}

// The names of the values, in _meta and, in any case of letters, as headers.
const (
	traceParent = "traceparent"
	traceState  = "tracestate"
)

func metaTrace(req mcp.Request) (parent, state string) {
	meta := metaOf(req)
	parent, _ = meta[traceParent].(string)
	state, _ = meta[traceState].(string)
	return parent, state
}

// metaOf returns the _meta of a request, nil when it has none.
func metaOf(req mcp.Request) map[string]any {
	// Of a method whose parameters may be left out they may be nil pointers.
	switch r := req.(type) {
	case *mcp.CallToolRequest:
		return r.Params.Meta
	case *mcp.ReadResourceRequest:
		return r.Params.Meta
	case *mcp.ListResourcesRequest:
		if r.Params != nil {
			return r.Params.Meta
		}
	}
	return nil
}

// headerTrace returns what the headers say. More than one parent is none; the states
// of several headers are one list.
func headerTrace(req mcp.Request) (parent, state string) {
	extra := req.GetExtra()
	if extra == nil {
		return "", ""
	}
	if parents := extra.Header.Values(traceParent); len(parents) == 1 {
		parent = parents[0]
	}
	return parent, strings.Join(extra.Header.Values(traceState), ",")
}
