package mcpserver

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	// maxMessageBytes is the largest message, or batch of them, that a client
	// may send: four times the largest message of the tool, since JSON may need
	// six bytes for one.
	maxMessageBytes = 4 << 20

	// maxBatch is how many messages a batch may have. Only the revision
	// 2025-03-26 has batches.
	maxBatch = 32

	// maxIDBytes bounds a request's id, which the answer repeats.
	maxIDBytes = 256

	// maxExactInt is the largest integer that survives JSON readers that know
	// only floating point numbers, the SDK's among them.
	maxExactInt = 1 << 53
)

// An envelope is the outside of one JSON-RPC message.
type envelope struct {
	raw    json.RawMessage // the whole message
	id     json.RawMessage // nil in a notification
	method string          // "" in a response
}

// call reports whether the message expects an answer.
func (e envelope) call() bool { return e.method != "" && e.id != nil }

// A refusal is why messages are not taken: the error, and the id of the message at
// fault if it has one.
type refusal struct {
	*jsonrpc.Error
	id json.RawMessage
}

// readEnvelopes reads the outside of the messages in data, more than one only if
// data is a batch. The SDK reads them again; what it would refuse with a text of
// its own is refused here, as an error of the protocol.
func readEnvelopes(data []byte) (messages []envelope, batch bool, bad *refusal) {
	data = bytes.Trim(data, " \t\r\n") // the SDK takes no blank after a message
	if len(data) == 0 {
		return nil, false, &refusal{Error: invalidRequest("the body is empty; send a JSON-RPC message")}
	}
	raw := []json.RawMessage{data}
	if batch = data[0] == '['; batch {
		raw = nil // or the first message would be written over data
		if err := json.Unmarshal(data, &raw); err != nil {
			return nil, batch, &refusal{Error: parseError()}
		}
		if n := len(raw); n == 0 || n > maxBatch {
			return nil, batch, &refusal{Error: invalidRequest("a batch has 1 to " + strconv.Itoa(maxBatch) + " messages")}
		}
	}
	messages = make([]envelope, len(raw))
	for i, r := range raw {
		m, err := readEnvelope(r)
		if err != nil {
			return nil, batch, &refusal{Error: err, id: m.id}
		}
		messages[i] = m
	}
	return messages, batch, nil
}

func parseError() *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "the body is not valid JSON"}
}

// readEnvelope reads one message. Member names count exactly as they are spelled,
// as they do for the SDK: reading "Method" as "method" would let a client show one
// method here and another one there.
func readEnvelope(data json.RawMessage) (envelope, *jsonrpc.Error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil || members == nil {
		if !json.Valid(data) {
			return envelope{}, parseError()
		}
		return envelope{}, invalidRequest("a message must be a JSON object, not " + jsonKind(data))
	}
	e := envelope{raw: data}
	if id, ok := members["id"]; ok {
		if !validID(id) {
			return envelope{}, invalidRequest("id must be a string of at most 256 bytes or an integer below 2^53")
		}
		e.id = id
	}
	if string(members["jsonrpc"]) != `"2.0"` {
		return e, invalidRequest(`jsonrpc must be "2.0"`)
	}
	method, ok := members["method"]
	if !ok {
		if e.id == nil || (members["result"] == nil && members["error"] == nil) {
			return e, invalidRequest("method is missing")
		}
		return e, nil
	}
	if json.Unmarshal(method, &e.method) != nil || e.method == "" {
		return e, invalidRequest("method must be a string")
	}
	return e, nil
}

func validID(id json.RawMessage) bool {
	if len(id) > maxIDBytes {
		return false
	}
	if id[0] == '"' {
		return true
	}
	n, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil && n > -maxExactInt && n < maxExactInt
}
