package mcpserver

import (
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/about"
)

// agree makes parameters of initialize that ask for a revision of the era without sessions ask
// for what the answer will name instead (MCP 2025-11-25, lifecycle, version negotiation). The SDK
// keeps them as those of the session and goes by them: what it was asked for would make answers
// take a form that the client, having read what was agreed on, does not know.
//
// What is older than all that is served stays: such clients go on as they are whatever they
// read, and asKnownTo answers them accordingly.
func agree(p *mcp.InitializeParams) {
	if p == nil || !modern(p.ProtocolVersion) {
		return
	}
	versions := about.ProtocolVersions()
	if i := slices.IndexFunc(versions, func(v string) bool { return !modern(v) }); i >= 0 {
		p.ProtocolVersion = versions[i] // they are sorted, the newest is first
	}
}

// holdToSession makes a request of a session that was begun by initialize one of the revision that
// was agreed on, also when it names another one in _meta.
func holdToSession(req mcp.Request) {
	session, ok := req.GetSession().(*mcp.ServerSession)
	if !ok || session == nil {
		return
	}
	agreed := session.InitializeParams()
	spoken, ok := req.(interface{ ProtocolVersion() string })
	if !ok || agreed == nil || modern(agreed.ProtocolVersion) || spoken.ProtocolVersion() == agreed.ProtocolVersion {
		return
	}
	delete(req.GetParams().GetMeta(), mcp.MetaKeyProtocolVersion) // only that can make them differ
}
