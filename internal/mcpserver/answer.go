package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	// streamAfter is how long an answer may take before its headers are sent and
	// it becomes a stream of events.
	streamAfter = 250 * time.Millisecond

	// keepAliveEvery is the longest silence on a stream: proxies cut streams
	// that are silent for a minute or so.
	keepAliveEvery = 15 * time.Second

	// writeTimeout is how long a client may take to read what was sent.
	writeTimeout = 30 * time.Second
)

const (
	typeJSON   = "application/json"
	typeEvents = "text/event-stream"
)

// An answerForm is how the answer to a request may look.
type answerForm int

const (
	answerAuto   answerForm = iota // JSON if it comes at once and alone, else events
	answerJSON                     // JSON; notifications are left out
	answerArray                    // the same, as an array: the answer to a batch
	answerEvents                   // events
	answerStream                   // events, passed through as they are: the stream of a session
)

// acceptedForm reads the Accept headers of a POST. The protocol wants both types in
// it; clients that name one of them get that one, and anything else is taken for
// a client that does not care.
func acceptedForm(accept []string) answerForm {
	var asJSON, asEvents bool
	for _, value := range accept {
		for part := range strings.SplitSeq(value, ",") {
			media, _, _ := strings.Cut(part, ";")
			switch strings.ToLower(strings.TrimSpace(media)) {
			case "application/json", "application/*":
				asJSON = true
			case "text/event-stream", "text/*":
				asEvents = true
			case "*/*":
				asJSON, asEvents = true, true
			}
		}
	}
	switch {
	case asJSON && !asEvents:
		return answerJSON
	case asEvents && !asJSON:
		return answerEvents
	}
	return answerAuto
}

// forBatch is the form of the answer to a batch. As JSON it has to wait for the last
// call, so events are preferred.
func (f answerForm) forBatch() answerForm {
	switch f {
	case answerAuto:
		return answerEvents
	case answerJSON:
		return answerArray
	default:
		return f
	}
}

// waits reports whether the answer is one JSON value at the end.
func (f answerForm) waits() bool { return f == answerJSON || f == answerArray }

// An answer stands between the SDK and the client. The SDK writes every message as
// one event with one Write; the answer decides whether it leaves as JSON or as an
// event, keeps a silent stream alive, gives each write a deadline, and replaces
// what a client should not see of the SDK's errors.
type answer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	form    answerForm
	header  http.Header     // what the SDK has set; copied to w when the answer begins
	id      json.RawMessage // of the call that is answered; nil if there is none, or more than one

	mu      sync.Mutex // guards w, control and what follows
	begun   bool       // the status line has been sent
	events  bool       // begun as a stream of events
	ended   bool       // finish was called: w must not be touched
	refused int        // the status of a refusal whose words the SDK has yet to write
	late    bool       // the SDK chose an error status after the answer had begun
	held    [][]byte   // responses that wait to become one JSON value
	last    time.Time  // when something was last sent
	timer   *time.Timer
}

// newAnswer returns the answer to the request that w belongs to. The caller must
// call finish before its own handler returns.
func newAnswer(w http.ResponseWriter, form answerForm) *answer {
	a := &answer{
		w: w, control: http.NewResponseController(w),
		form: form, header: make(http.Header),
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.timer = time.AfterFunc(streamAfter, a.keepAlive)
	return a
}

// Header implements [http.ResponseWriter].
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements [http.ResponseWriter].
func (a *answer) WriteHeader(status int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.ended:
	case a.begun:
		a.late = true
	case strings.HasPrefix(a.header.Get("Content-Type"), "text/plain"):
		a.refused = status
	default:
		a.begin(status, a.header.Get("Content-Type"), a.header)
	}
}

// begin sends the status and the headers, those of the SDK among them. The caller
// holds a.mu.
func (a *answer) begin(status int, contentType string, sdk http.Header) {
	h := a.w.Header()
	for name, values := range sdk {
		if name != "Connection" && name != "Cache-Control" {
			h[name] = values
		}
	}
	a.events = contentType == typeEvents
	if a.events {
		h.Set("Cache-Control", "no-store, no-transform")
	}
	if contentType != "" {
		h.Set("Content-Type", contentType)
	}
	a.begun = true
	a.w.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (a *answer) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended {
		return 0, http.ErrHandlerTimeout
	}
	payload, isEvent := eventPayload(p)
	switch {
	case a.form == answerStream && a.header.Get("Content-Type") == typeEvents:
		return len(p), a.send(p)
	case isEvent:
		return len(p), a.message(payload)
	case a.late:
		return len(p), a.message(p)
	case a.refused != 0:
		shown := shownRefusal(string(p))
		if a.refused == http.StatusConflict {
			shown = invalidRequest("this session has an open stream already; a session has one")
		}
		a.begin(a.refused, typeJSON, nil)
		a.refused = 0
		return len(p), a.send(encodeError(a.id, shown))
	case messageKind(p) == failure:
		return len(p), a.send(shownFailure(p))
	}
	return len(p), a.send(p)
}

// errNoStream tells the SDK that a request of the server's cannot reach the client.
var errNoStream = errors.New("the client takes no events")

// message sends one JSON-RPC message in the form of the answer. The caller holds
// a.mu.
func (a *answer) message(payload []byte) error {
	kind := messageKind(payload)
	if kind == failure {
		if payload = shownFailure(payload); payload == nil {
			return nil
		}
	}
	switch {
	case a.form.waits() && kind == request:
		return errNoStream
	case a.form.waits():
		if kind != notification {
			a.held = append(a.held, bytes.Clone(payload))
		}
		return nil
	case a.form == answerAuto && !a.begun && kind >= response:
		return a.sendJSON(payload)
	case !a.begun:
		a.begin(http.StatusOK, typeEvents, a.header)
	}
	return a.send(event(payload))
}

// sendJSON sends the only value of an answer. The caller holds a.mu.
func (a *answer) sendJSON(value []byte) error {
	if !a.begun {
		a.w.Header().Set("Content-Length", strconv.Itoa(len(value)))
		status := http.StatusOK
		if wait := refusedFor(value); wait > 0 {
			a.w.Header().Set("Retry-After", strconv.Itoa(wait))
			status = http.StatusTooManyRequests
		}
		a.begin(status, typeJSON, a.header)
	}
	return a.send(value)
}

// send writes p with a deadline. The caller holds a.mu.
func (a *answer) send(p []byte) error {
	if !a.begun {
		a.begin(http.StatusOK, a.header.Get("Content-Type"), a.header)
	}
	a.last = time.Now()
	// A writer without deadlines, as in tests, does not block for long either.
	_ = a.control.SetWriteDeadline(a.last.Add(writeTimeout))
	_, err := a.w.Write(p)
	return err
}

// FlushError sends what has been written, for [http.ResponseController]. An
// answer that is not a stream is sent by finish.
func (a *answer) FlushError() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended || !a.begun || !a.events {
		return nil
	}
	return a.control.Flush()
}

// keepAlive sends headers and a sign of life when nothing else has been sent for
// long. A POST that has not been answered by then hangs in the SDK, which answers
// it by events only. The headers that the SDK has set cannot be read here, since
// nothing orders this goroutine after it.
func (a *answer) keepAlive() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ended {
		return
	}
	wait := keepAliveEvery
	switch idle := time.Since(a.last); {
	case !a.begun && a.form.waits():
		a.begin(http.StatusOK, typeJSON, nil)
		a.sign("\n") // white space before a JSON value means nothing
	case !a.begun:
		a.begin(http.StatusOK, typeEvents, nil)
		a.sign(": working\n\n")
	case idle < keepAliveEvery:
		wait = keepAliveEvery - idle
	case a.events:
		a.sign(": keep-alive\n\n")
	case a.form.waits():
		a.sign("\n")
	}
	a.timer.Reset(wait)
}

// sign sends a sign of life. The caller holds a.mu.
func (a *answer) sign(text string) {
	if a.send([]byte(text)) == nil {
		_ = a.control.Flush() // what fails here fails for the next message too
	}
}

// finish completes the answer. After it, w is not touched any more.
func (a *answer) finish() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.timer.Stop()
	a.ended = true
	switch {
	case len(a.held) > 0:
		_ = a.sendJSON(a.value()) // the client may be gone
	case !a.begun && a.header.Get("Content-Type") == typeEvents:
		// A call that was cancelled: no message was sent, and none will be.
		a.begin(http.StatusOK, typeEvents, a.header)
	}
	if a.begun && !a.last.IsZero() {
		_ = a.control.Flush()
		// The deadline must not reach the connection's next request.
		_ = a.control.SetWriteDeadline(time.Time{})
	}
}

// value is the JSON value that the held responses make. The caller holds a.mu.
func (a *answer) value() []byte {
	if a.form == answerJSON {
		return a.held[0]
	}
	array := append([]byte{'['}, bytes.Join(a.held, []byte{','})...)
	return append(array, ']')
}

// An event as the SDK writes it.
const (
	eventHead = "event: message\ndata: "
	eventTail = "\n\n"
)

// eventPayload returns the message in an event.
func eventPayload(p []byte) ([]byte, bool) {
	payload, ok := bytes.CutPrefix(p, []byte(eventHead))
	if !ok {
		return nil, false
	}
	return bytes.CutSuffix(payload, []byte(eventTail))
}

func event(payload []byte) []byte {
	e := make([]byte, 0, len(eventHead)+len(payload)+len(eventTail))
	e = append(e, eventHead...)
	e = append(e, payload...)
	return append(e, eventTail...)
}

// The kinds of message that the SDK writes.
type kind int

const (
	notification kind = iota
	request           // of the server
	response
	failure // a response that carries an error
)

// messageKind tells what a message is by its beginning, which the SDK always
// writes in the same order: version, id, then result or error.
func messageKind(payload []byte) kind {
	rest, ok := bytes.CutPrefix(payload, []byte(`{"jsonrpc":"2.0","id":`))
	if !ok {
		if bytes.HasPrefix(payload, []byte(`{"jsonrpc":"2.0","error":`)) {
			return failure
		}
		return notification
	}
	rest = rest[idLen(rest):]
	switch {
	case bytes.HasPrefix(rest, []byte(`,"error":`)):
		return failure
	case bytes.HasPrefix(rest, []byte(`,"result":`)):
		return response
	}
	return request
}

// idLen is the length of the JSON string or number at the beginning of p.
func idLen(p []byte) int {
	if len(p) == 0 || p[0] != '"' {
		if end := bytes.IndexByte(p, ','); end >= 0 {
			return end
		}
		return len(p)
	}
	for i := 1; i < len(p); i++ {
		switch p[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(p)
}

// shownFailure returns what a client may see of an error response, or nil if it
// gets none.
func shownFailure(payload []byte) []byte {
	var m struct {
		ID    json.RawMessage `json:"id"`
		Error *jsonrpc.Error  `json:"error"`
	}
	if err := json.Unmarshal(payload, &m); err != nil || m.Error == nil {
		return encodeError(nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: shownInternal})
	}
	shown := shownError(m.Error)
	switch shown {
	case nil:
		return nil
	case m.Error:
		return payload
	}
	return encodeError(m.ID, shown)
}
