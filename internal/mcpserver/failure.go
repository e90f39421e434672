package mcpserver

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/excerpt"
	"runpython/internal/fault"
)

const (
	// codeCancelled marks the answer to a call that was cancelled. It never
	// leaves: the protocol wants no answer to such a call.
	codeCancelled = -32800

	// codeResourceNotFound is what the revisions before modernEra prescribe;
	// later ones say "invalid params".
	codeResourceNotFound = -32002

	// codeTooManyCalls is of the codes that the protocol leaves to servers (-32000 to -32019).
	codeTooManyCalls = -32010

	shownInternal  = "internal error; the operator's log has the details"
	shownBadParams = "invalid params: they do not have the shape that the protocol gives them"
)

func invalidParams(message string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: message}
}

func invalidRequest(message string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: message}
}

func notOffered(method string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("method %q is not offered", excerpt.Begin(method, maxExcerpt))}
}

func unknownTool(name string) *jsonrpc.Error {
	return invalidParams(fmt.Sprintf("unknown tool %q; the only tool is %q", excerpt.Begin(name, maxExcerpt), toolName))
}

// tooManyCalls refuses a call for now; an answer makes status 429 of it.
func tooManyCalls(wait time.Duration, message string) *jsonrpc.Error {
	e := &jsonrpc.Error{Code: codeTooManyCalls, Message: message}
	if data, err := json.Marshal(callsAgain{fault.Seconds(wait)}); err == nil {
		e.Data = data
	}
	return e
}

// callsAgain is the data of such an error.
type callsAgain struct {
	RetryAfter int `json:"retryAfter"` // seconds
}

// refusedFor is for how many seconds a response refuses a call, 0 for any other response.
func refusedFor(response []byte) int {
	var m struct {
		Error struct {
			Code int64      `json:"code"`
			Data callsAgain `json:"data"`
		} `json:"error"`
	}
	if messageKind(response) != failure || json.Unmarshal(response, &m) != nil || m.Error.Code != codeTooManyCalls {
		return 0
	}
	return m.Error.Data.RetryAfter
}

func errCancelled() *jsonrpc.Error {
	return &jsonrpc.Error{Code: codeCancelled, Message: "cancelled"}
}

// offered reports whether the server takes messages with a method. The SDK knows
// more of them than this server declares, and refuses notifications that it does
// not know.
func offered(method string) bool {
	switch method {
	case "initialize", "ping", "server/discover", methodListen,
		"tools/list", methodCallTool,
		"resources/list", "resources/templates/list", "resources/read",
		methodGetTask, methodUpdateTask, methodCancelTask,
		"notifications/initialized", "notifications/cancelled",
		"notifications/progress", "notifications/roots/list_changed":
		return true
	}
	return false
}

// shownError returns what a client may see of an error that the SDK is about to
// send, or nil if nothing is to be sent. The errors of this package have their
// final form already. The SDK's own may repeat the whole request and name Go
// types, and some have no code.
func shownError(e *jsonrpc.Error) *jsonrpc.Error {
	decoding := strings.Contains(e.Message, "unmarshaling")
	switch {
	case e.Code == codeCancelled, e.Code == 0 && e.Message == "context canceled":
		return nil
	case decoding && (e.Code == jsonrpc.CodeInvalidParams || e.Code == 0):
		return invalidParams(shownBadParams)
	case e.Code == jsonrpc.CodeInternalError:
		return &jsonrpc.Error{Code: e.Code, Message: shownInternal}
	case e.Code == 0 && (strings.HasPrefix(e.Message, `method "`) || strings.HasPrefix(e.Message, `duplicate "`)):
		return invalidRequest(excerpt.Begin(e.Message, maxExcerpt))
	case e.Code == 0:
		return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: shownInternal}
	}
	return e
}

// shownRefusal returns what a client may see of a refusal that the SDK has put in
// plain words.
func shownRefusal(text string) *jsonrpc.Error {
	const maxRefusal = 200
	text = strings.TrimSpace(text)
	if strings.Contains(text, "unmarshaling") || len(text) > maxRefusal {
		text = "the request does not have the shape that the protocol gives it"
	}
	return invalidRequest(visible(text))
}

// encodeError returns an error as a JSON-RPC response. The id is that of the
// request, or nil if it is not known.
func encodeError(id json.RawMessage, e *jsonrpc.Error) []byte {
	if id == nil {
		id = json.RawMessage("null")
	}
	data, err := json.Marshal(struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Error   *jsonrpc.Error  `json:"error"`
	}{"2.0", id, e})
	if err != nil { // the id and the data are valid JSON, so this cannot be
		return []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"internal error"}}`)
	}
	return data
}

// modern reports whether a request speaks a revision in which each request
// stands alone.
func modern(version string) bool { return version >= modernEra }

// modernEra is the first revision without sessions.
const modernEra = "2026-07-28"

// maxEchoedURI is the longest URI that an error repeats.
const maxEchoedURI = 1 << 10

func resourceNotFound(req *mcp.ReadResourceRequest) *jsonrpc.Error {
	e := &jsonrpc.Error{Code: codeResourceNotFound, Message: "resource not found"}
	if modern(req.ProtocolVersion()) {
		e.Code = jsonrpc.CodeInvalidParams
	}
	if len(req.Params.URI) <= maxEchoedURI {
		if data, err := json.Marshal(map[string]string{"uri": req.Params.URI}); err == nil {
			e.Data = data
		}
	}
	return e
}
