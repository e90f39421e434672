package mcpserver

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/excerpt"
)

// From modernEra on, headers repeat what the body says, so that proxies can decide by
// them (revision 2026-07-28, Streamable HTTP, Request Metadata). The SDK compares them;
// what it leaves out is here.

func headerMismatch(format string, a ...any) *jsonrpc.Error {
	return &jsonrpc.Error{Code: mcp.CodeHeaderMismatch, Message: "header mismatch: " + fmt.Sprintf(format, a...)}
}

// versionMismatch returns the error for a message that says in its body that it stands
// alone, while its header says something else or nothing.
func versionMismatch(h http.Header, m envelope) *jsonrpc.Error {
	var version string
	if modern(h.Get(versionHeader)) || m.method == "initialize" ||
		!readMember(m, &version, "params", "_meta", mcp.MetaKeyProtocolVersion) || !modern(version) {
		return nil
	}
	return headerMismatch("%s must be %q, as in _meta", versionHeader, excerpt.Begin(version, maxExcerpt))
}

// How a value that is not plain ASCII is spelled in a header.
const (
	encodedHead = "=?base64?"
	encodedTail = "?="
)

// plainHeaders makes the headers of a message that stands alone what the SDK compares:
// single, and not encoded.
func plainHeaders(h http.Header) *jsonrpc.Error {
	for _, name := range []string{versionHeader, methodHeader, nameHeader} {
		if len(h.Values(name)) > 1 {
			return headerMismatch("%s is there more than once", name)
		}
	}
	encoded, ok := strings.CutPrefix(h.Get(nameHeader), encodedHead)
	if !ok {
		return nil
	}
	if encoded, ok = strings.CutSuffix(encoded, encodedTail); !ok {
		return nil
	}
	name, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		return headerMismatch("%s is not valid base64", nameHeader)
	}
	h.Set(nameHeader, string(name))
	return nil
}
