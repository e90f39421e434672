package mcpserver

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/task"
)

// TasksExtension is the identifier under which servers and clients declare that they
// speak the tasks extension (SEP-2663). It exists from the revision 2026-07-28 on; the
// experimental tasks of 2025-11-25 are another thing with the same name.
const TasksExtension = "io.modelcontextprotocol/tasks"

const (
	methodGetTask    = "tasks/get"
	methodUpdateTask = "tasks/update"
	methodCancelTask = "tasks/cancel"
	methodCallTool   = "tools/call"
	methodListen     = "subscriptions/listen"
	methodCancelled  = "notifications/cancelled"
)

// What a caller may put into the _meta of tools/call, beside what the protocol gives it.
// The extension has neither: it knows no idempotency key, and leaves it to the server
// when a call becomes a task.
const (
	// metaKey holds a string of at most maxKeyBytes. The same call with the same key, sent
	// again within an hour, is not run again, also when its outcome is no longer kept.
	metaKey = "runpython/idempotencyKey"
	// metaTaskAfter holds the milliseconds after which the call is to become a task; 0
	// means at once.
	metaTaskAfter = "runpython/taskAfterMs"
)

// maxKeyBytes bounds an idempotency key.
const maxKeyBytes = 256

const (
	resultTask     = "task"
	resultComplete = "complete"
)

// A taskParams holds the parameters of the methods of the extension.
type taskParams struct {
	mcp.ParamsBase
	TaskID         string                     `json:"taskId"`
	InputResponses map[string]json.RawMessage `json:"inputResponses,omitempty"`
}

// A taskAnswer acknowledges tasks/update and tasks/cancel.
type taskAnswer struct {
	mcp.ResultBase
	ResultType string `json:"resultType"`
}

// A taskState is a task as the extension shows it: a handle without the last three, or
// the answer to tasks/get.
type taskState struct {
	taskAnswer
	TaskID       string                     `json:"taskId"`
	Status       task.Status                `json:"status"`
	Message      string                     `json:"statusMessage,omitempty"`
	Created      string                     `json:"createdAt"`
	Updated      string                     `json:"lastUpdatedAt"`
	KeptForMS    int64                      `json:"ttlMs"`
	PollAfterMS  int64                      `json:"pollIntervalMs"`
	InputRequest map[string]json.RawMessage `json:"inputRequests,omitempty"`
	Result       json.RawMessage            `json:"result,omitempty"`
	Error        json.RawMessage            `json:"error,omitempty"`
}

// taskHandle is what tools/call answers instead of a result.
func taskHandle(s task.State) *taskState {
	const milliseconds = "2006-01-02T15:04:05.000Z07:00"
	h := &taskState{
		TaskID: s.ID, Status: s.Status, Message: s.Message,
		Created: s.Created.UTC().Format(milliseconds), Updated: s.Updated.UTC().Format(milliseconds),
		KeptForMS: s.KeptFor.Milliseconds(), PollAfterMS: pollEvery.Milliseconds(),
	}
	h.ResultType = resultTask
	return h
}

// taskDetails is the answer to tasks/get.
func taskDetails(s task.State) *taskState {
	d := taskHandle(s)
	d.ResultType = resultComplete
	d.InputRequest, d.Result, d.Error = s.Questions, s.Result, s.Error
	return d
}

// declaresTasks reports whether a request says that its client speaks the extension. Only
// the request itself counts, not what its client has said before.
func declaresTasks(version string, meta map[string]any) bool {
	capabilities, _ := meta[mcp.MetaKeyClientCapabilities].(map[string]any)
	extensions, _ := capabilities["extensions"].(map[string]any)
	_, declared := extensions[TasksExtension].(map[string]any) // its settings; false, say, is no declaration
	return declared && modern(version)
}

// tasksRequired is the error for a client that would have to declare the extension.
func tasksRequired() *jsonrpc.Error {
	return &jsonrpc.Error{
		Code:    mcp.CodeMissingRequiredClientCapabilities,
		Message: "declare the extension " + TasksExtension + " among the client's capabilities in _meta of this request",
		Data:    json.RawMessage(`{"requiredCapabilities":{"extensions":{"` + TasksExtension + `":{}}}}`),
	}
}

// callKey returns the digest of the idempotency key of a call, the zero one without a key.
// What answers a question has the key of the call that has led to it, and is another call.
func callKey(p *mcp.CallToolParamsRaw) (task.Digest, *jsonrpc.Error) {
	value, ok := p.Meta[metaKey]
	if !ok || value == nil {
		return task.Digest{}, nil
	}
	key, ok := value.(string)
	if !ok || key == "" || len(key) > maxKeyBytes {
		return task.Digest{}, invalidParams(fmt.Sprintf("_meta %q must be a string of 1 to %d bytes, a new one for each new call", metaKey, maxKeyBytes))
	}
	return sha256.Sum256([]byte(p.RequestState + "\x00" + key)), nil
}

// taskAfterOf returns when a call is to become a task: what it asks for, or usual. Less
// than 0 means never.
func taskAfterOf(meta map[string]any, usual time.Duration) (time.Duration, *jsonrpc.Error) {
	value, ok := meta[metaTaskAfter]
	if !ok || value == nil {
		return usual, nil
	}
	ms, ok := value.(float64)
	if !ok || ms < 0 {
		return 0, invalidParams(fmt.Sprintf("_meta %q must be a number of milliseconds, 0 or more", metaTaskAfter))
	}
	return time.Duration(min(ms, float64(task.KeepFor.Milliseconds())) * float64(time.Millisecond)), nil
}

// callDigest is the same for calls that ask for the same: same tool, and arguments that
// differ at most in spaces, in the order of members, and in how a chat_id is left out.
func callDigest(p *mcp.CallToolParamsRaw) task.Digest {
	var arguments any
	d := json.NewDecoder(bytes.NewReader(p.Arguments))
	d.UseNumber()
	canonical := []byte(p.Arguments)
	if d.Decode(&arguments) == nil {
		if members, ok := arguments.(map[string]any); ok && (members["chat_id"] == nil || members["chat_id"] == "") {
			delete(members, "chat_id")
		}
		if encoded, err := json.Marshal(arguments); err == nil {
			canonical = encoded
		}
	}
	return sha256.Sum256(append([]byte(p.Name+"\x00"), canonical...))
}

// wireError brings the error of a method into the form that a client may see, or returns
// nil for one that was cancelled.
func wireError(err error) *jsonrpc.Error {
	e, ok := errors.AsType[*jsonrpc.Error](err)
	if !ok || e.Message != err.Error() {
		e = &jsonrpc.Error{Code: codeOf(e), Message: err.Error()}
	}
	return shownError(e)
}

func codeOf(e *jsonrpc.Error) int64 {
	if e == nil {
		return 0
	}
	return e.Code
}

// taskRefusal returns the error for a message of the newer era that the SDK would let
// through, or nil: its header does not name the task that it is about, as intermediaries
// need it to route by, or it wants to hear of tasks without taking any. Nobody hears of
// tasks otherwise: clients poll.
func taskRefusal(h http.Header, m envelope) *jsonrpc.Error {
	switch m.method {
	case methodGetTask, methodUpdateTask, methodCancelTask:
		var id string
		if readMember(m, &id, "params", "taskId") && id != "" && strings.TrimSpace(h.Get(nameHeader)) != id {
			return headerMismatch("%s must be the taskId of the message", nameHeader)
		}
	}
	return listenRefusal(m)
}

// listenRefusal is that for subscriptions/listen, on every transport.
func listenRefusal(m envelope) *jsonrpc.Error {
	var wanted []json.RawMessage
	if m.method != methodListen || !readMember(m, &wanted, "params", "notifications", "taskIds") || len(wanted) == 0 {
		return nil
	}
	var meta map[string]any
	if readMember(m, &meta, "params", "_meta") {
		version, _ := meta[mcp.MetaKeyProtocolVersion].(string)
		if declaresTasks(version, meta) {
			return nil
		}
	}
	return tasksRequired()
}

// readMember reads what stands at the end of a path of member names, which count as they
// are spelled (see readEnvelope), and reports whether something of that type does. A message
// of another shape is refused by its method.
func readMember(m envelope, value any, path ...string) bool {
	at := m.raw
	for _, name := range path {
		var members map[string]json.RawMessage
		if err := json.Unmarshal(at, &members); err != nil {
			return false
		}
		at = members[name]
	}
	return json.Unmarshal(at, value) == nil
}
