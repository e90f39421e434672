package probe

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// Revisions of MCP, newest first. Those before stateless begin with initialize.
const (
	stateless        = "2026-07-28"
	newestInitialize = "2025-11-25"
	withHeader       = "2025-06-18" // from it on each request names its revision in a header
)

// Revisions returns those that are known, newest first.
func Revisions() []string {
	return []string{stateless, newestInitialize, withHeader, "2025-03-26", "2024-11-05"}
}

const (
	clientName    = "runpython-check"
	clientVersion = "1"

	headerRevision = "Mcp-Protocol-Version"
	headerSession  = "Mcp-Session-Id"
	headerMethod   = "Mcp-Method"
	headerName     = "Mcp-Name"

	typeJSON   = "application/json"
	typeEvents = "text/event-stream"

	maxSessionBytes = 1024 // of an id that is sent back
)

// An RPCError is the error of a JSON-RPC answer.
type RPCError struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

// A reply is what came of one call.
type reply struct {
	status int
	header http.Header
	events bool // it came as a stream of events
	result json.RawMessage
	err    *RPCError
	// problem is why there is neither result nor err, although something came.
	problem string
}

// answered reports whether the server spoke JSON-RPC.
func (r *reply) answered() bool { return r.result != nil || r.err != nil }

// locked reports whether the server wants credentials, or does not take those that it got.
func (r *reply) locked() bool {
	return !r.answered() && needsToken(r.status)
}

// says tells in a few words what came.
func (r *reply) says() string {
	switch {
	case r.err != nil:
		return fmt.Sprintf("error %d: %s", r.err.Code, r.err.Message)
	case r.result != nil:
		return "answered"
	}
	return fmt.Sprintf("HTTP %d, %s", r.status, r.problem)
}

func protocolHeaders(revision string) http.Header {
	h := http.Header{"Content-Type": {typeJSON}, "Accept": {typeJSON + ", " + typeEvents}}
	if revision >= withHeader {
		h.Set(headerRevision, revision)
	}
	return h
}

// A call is one JSON-RPC request or, with id 0, a notification.
type call struct {
	id       int
	method   string
	params   map[string]any
	revision string // for the header; "" before it is agreed
	session  string
	secrets  bool
}

// body returns the request as JSON.
func (q call) body() string {
	params := q.params
	if q.revision == stateless {
		params = map[string]any{"_meta": map[string]any{
			"io.modelcontextprotocol/protocolVersion":    stateless,
			"io.modelcontextprotocol/clientInfo":         map[string]any{"name": clientName, "version": clientVersion},
			"io.modelcontextprotocol/clientCapabilities": map[string]any{},
		}}
		maps.Copy(params, q.params)
	}
	m := map[string]any{"jsonrpc": "2.0", "method": q.method}
	if q.id != 0 {
		m["id"] = q.id
	}
	if params != nil {
		m["params"] = params
	}
	text, err := json.Marshal(m)
	if err != nil {
		panic(err) // maps of strings and numbers
	}
	return string(text)
}

func initializeCall(revision string) call {
	return call{id: 1, method: "initialize", params: map[string]any{
		"protocolVersion": revision, "capabilities": map[string]any{},
		"clientInfo": map[string]any{"name": clientName, "version": clientVersion},
	}}
}

func initializeBody(revision string) string { return initializeCall(revision).body() }

// rpc makes a call to the target. An error means that nothing came.
func (c *client) rpc(ctx context.Context, q call) (*reply, error) {
	header := protocolHeaders(q.revision)
	if q.session != "" {
		header.Set(headerSession, q.session)
	}
	if q.revision == stateless {
		header.Set(headerMethod, q.method)
		if name, ok := q.params["name"].(string); ok {
			header.Set(headerName, name)
		}
	}
	var r *reply
	ask := request{method: http.MethodPost, url: c.target.url.String(), header: header, body: q.body(), secrets: q.secrets}
	err := c.exchange(ctx, ask, func(_ string, resp *http.Response) error {
		r = &reply{status: resp.StatusCode, header: resp.Header}
		if q.id == 0 {
			return nil
		}
		return r.read(c.limited(resp.Body, maxBodyBytes+1), q.id)
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// read reads the answer to the call with this id.
func (r *reply) read(body io.Reader, id int) error {
	kind, _, err := mime.ParseMediaType(r.header.Get("Content-Type"))
	if err != nil {
		kind = ""
	}
	if kind == typeEvents {
		r.events = true
		return r.readEvents(body, id)
	}
	text, err := io.ReadAll(body)
	switch {
	case err != nil:
		return fmt.Errorf("read the answer: %w", err)
	case len(text) > maxBodyBytes:
		r.problem = fmt.Sprintf("more than %d bytes", maxBodyBytes)
	case len(text) == 0:
		r.problem = "no body"
	case !r.take(text, id):
		r.problem = "no JSON-RPC answer to the request"
		if kind != "" && kind != typeJSON {
			r.problem += ", but " + kind
		}
	}
	return nil
}

// readEvents reads a stream until the answer is in it (WHATWG HTML, 9.2.6).
func (r *reply) readEvents(body io.Reader, id int) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxBodyBytes+1)
	var data bytes.Buffer
	for lines.Scan() {
		line := lines.Bytes()
		if text, ok := bytes.CutPrefix(line, []byte("data:")); ok {
			data.Write(bytes.TrimPrefix(text, []byte(" ")))
			data.WriteByte('\n')
		}
		if len(line) > 0 {
			continue
		}
		if r.take(data.Bytes(), id) {
			return nil
		}
		data.Reset()
	}
	r.problem = "a stream of events that ends without the answer"
	if err := lines.Err(); err != nil && !errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("read the stream: %w", err)
	}
	return nil
}

// take keeps text if it is the answer to the call with this id. An error without an id answers whatever was asked.
func (r *reply) take(text []byte, id int) bool {
	var m struct {
		ID     json.RawMessage `json:"id"`
		Method *string         `json:"method"`
		Result json.RawMessage `json:"result"`
		Error  *RPCError       `json:"error"`
	}
	if json.Unmarshal(text, &m) != nil || m.Method != nil || (m.Result == nil) == (m.Error == nil) {
		return false
	}
	mine := string(m.ID) == strconv.Itoa(id)
	if !mine && (m.Error == nil || m.ID != nil && string(m.ID) != "null") {
		return false
	}
	r.result, r.err = m.Result, m.Error
	return true
}

// sessionOf returns the session that an answer begins, "" when it begins none that can be named.
func sessionOf(h http.Header) string {
	id := h.Get(headerSession)
	if len(id) > maxSessionBytes || strings.ContainsFunc(id, func(r rune) bool { return r < 0x21 || r > 0x7e }) {
		return ""
	}
	return id
}
