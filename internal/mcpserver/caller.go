package mcpserver

import (
	"context"
	"net/http"
	"net/netip"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/caller"
)

// callerHeader carries the address of a request's caller through the SDK, whose context is that of the session: of
// whoever began it. What a client sends under this name is replaced.
const callerHeader = "Runpython-Caller"

// tellCaller puts the address of a request's caller where calledFrom finds it.
func tellCaller(r *http.Request) {
	r.Header.Set(callerHeader, caller.FromContext(r.Context()).String())
}

// byHTTP reports whether a request came by HTTP, and not over pipes.
func byHTTP(req mcp.Request) bool { return req.GetExtra() != nil && req.GetExtra().Header != nil }

// calledFrom returns ctx with the origin of a request; one over pipes has none.
func calledFrom(ctx context.Context, req mcp.Request) context.Context {
	var o caller.Origin
	if byHTTP(req) {
		if a, err := netip.ParseAddr(req.GetExtra().Header.Get(callerHeader)); err == nil {
			o.Address = a
		}
	}
	return caller.NewContext(ctx, o)
}
