package mcpserver

import (
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// linksSince is the revision that brought links to resources. Clients of older ones
// refuse a whole result for one of them.
const linksSince = "2025-06-18"

// asKnownTo gives a result to a client of a revision: one that knows no links gets them as
// text, at the end.
func asKnownTo(version string, r *mcp.CallToolResult) *mcp.CallToolResult {
	if version >= linksSince {
		return r
	}
	content := make([]mcp.Content, 0, len(r.Content))
	var lines strings.Builder
	for _, c := range r.Content {
		link, ok := c.(*mcp.ResourceLink)
		if !ok {
			content = append(content, c)
			continue
		}
		fmt.Fprintf(&lines, "file %q: %s\n", link.Name, link.URI)
	}
	if lines.Len() == 0 {
		return r
	}
	known := *r
	known.Content = append(content, &mcp.TextContent{Text: strings.TrimSuffix(lines.String(), "\n")})
	return &known
}
