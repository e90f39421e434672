package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	versionHeader = "Mcp-Protocol-Version"
	sessionHeader = "Mcp-Session-Id"
)

// An endpoint is the URL of the server: the guards, and behind them one SDK
// handler for each era of the protocol.
type endpoint struct {
	server *Server
	guard  guard
	alone  http.Handler // from modernEra on: each request stands alone
	legacy http.Handler // before: requests belong to sessions
}

func newEndpoint(s *Server, o Options) *endpoint {
	same := func(*http.Request) *mcp.Server { return s.mcp }
	return &endpoint{
		server: s,
		guard:  newGuard(o.AllowedHosts, o.AllowedOrigins),
		alone: mcp.NewStreamableHTTPHandler(same, &mcp.StreamableHTTPOptions{
			Stateless:                    true,
			PropagateRequestCancellation: true,
			DisableLocalhostProtection:   true, // the guard knows more names
			MaxRequestBodyBytes:          -1,   // the body has been read when it gets there
		}),
		legacy: mcp.NewStreamableHTTPHandler(same, &mcp.StreamableHTTPOptions{
			SessionTimeout:             sessionTimeout,
			DisableLocalhostProtection: true,
			MaxRequestBodyBytes:        -1,
		}),
	}
}

// ServeHTTP implements [http.Handler].
func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/mcp" && r.URL.Path != "/mcp/" {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Accel-Buffering", "no") // nginx would hold events back
	h.Set("Cache-Control", "no-store")
	if !e.guard.admit(w, r) {
		return
	}
	switch r.Method {
	case http.MethodPost:
		e.post(w, r)
	case http.MethodGet:
		e.get(w, r)
	case http.MethodDelete:
		e.remove(w, r)
	case http.MethodOptions:
		h.Set("Allow", corsMethods)
		h.Set("Access-Control-Allow-Methods", corsMethods)
		h.Set("Access-Control-Allow-Headers", corsHeaders)
		h.Set("Access-Control-Max-Age", corsMaxAge)
		w.WriteHeader(http.StatusNoContent)
	default:
		h.Set("Allow", corsMethods)
		refuse(w, http.StatusMethodNotAllowed, nil, invalidRequest("send messages with POST"))
	}
}

// get opens the stream of a session. Without a session there is none to open, and
// clients that look for one must see exactly 405, or they try again and again.
func (e *endpoint) get(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(sessionHeader)
	if modern(r.Header.Get(versionHeader)) || id == "" {
		w.Header().Set("Allow", "POST, OPTIONS")
		refuse(w, http.StatusMethodNotAllowed, nil,
			invalidRequest("this is an MCP endpoint: add its URL to an MCP client, which sends messages with POST"))
		return
	}
	if _, leave := e.server.sessions.enter(id); leave != nil {
		defer leave()
	} else {
		noSession(w)
		return
	}
	r.Header.Set("Accept", "text/event-stream")
	a := newAnswer(w, answerStream)
	defer a.finish()
	e.legacy.ServeHTTP(a, r)
}

// remove ends a session and what runs in it.
func (e *endpoint) remove(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(sessionHeader)
	if modern(r.Header.Get(versionHeader)) || id == "" {
		w.Header().Set("Allow", "POST, OPTIONS")
		refuse(w, http.StatusMethodNotAllowed, nil, invalidRequest("DELETE ends a session: send its id in the header "+sessionHeader))
		return
	}
	session, leave := e.server.sessions.enter(id)
	if leave == nil {
		noSession(w)
		return
	}
	defer leave()
	e.server.calls.cancelSession(session, errSessionEnded)
	e.legacy.ServeHTTP(w, r)
	e.server.sessions.ended(id) // before the client hears of it
}

// noSession answers a request for a session that does not exist. The status makes
// clients begin a new one.
func noSession(w http.ResponseWriter) {
	refuse(w, http.StatusNotFound, nil, invalidRequest("no such session, it may have ended: send initialize to begin a new one"))
}

// post takes messages.
func (e *endpoint) post(w http.ResponseWriter, r *http.Request) {
	if !jsonBody(w, r) {
		return
	}
	body, ok := readBody(w, r)
	if !ok {
		return
	}
	messages, batch, bad := readEnvelopes(body)
	if bad != nil {
		refuse(w, http.StatusBadRequest, bad.id, bad.Error)
		return
	}
	if !e.server.flights.begin() {
		w.Header().Set("Retry-After", "5")
		refuse(w, http.StatusServiceUnavailable, nil, invalidRequest("the server is stopping; try again in a moment"))
		return
	}
	defer e.server.flights.end()
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	form := acceptedForm(r.Header.Values("Accept"))
	r.Header.Set("Accept", "application/json, text/event-stream")
	if modern(r.Header.Get(versionHeader)) {
		e.postAlone(w, r, messages, form)
		return
	}
	if batch {
		form = form.forBatch()
	}
	e.postLegacy(w, r, messages, form)
}

// postAlone serves messages of the era without sessions. That era has no batches.
func (e *endpoint) postAlone(w http.ResponseWriter, r *http.Request, messages []envelope, form answerForm) {
	if notTaken(w, messages, http.StatusNotFound) {
		return
	}
	a := newAnswer(w, form)
	defer a.finish()
	e.alone.ServeHTTP(a, r)
}

// notTaken answers a message with a method that is not offered, with the status
// that the era wants for it, and reports whether it was one. Notifications of
// that kind are ignored.
func notTaken(w http.ResponseWriter, messages []envelope, status int) bool {
	m := messages[0]
	switch {
	case len(messages) > 1, m.method == "", offered(m.method):
		return false
	case m.call():
		refuse(w, status, m.id, notOffered(m.method))
	default:
		w.WriteHeader(http.StatusAccepted)
	}
	return true
}

// postLegacy serves messages of the era with sessions.
func (e *endpoint) postLegacy(w http.ResponseWriter, r *http.Request, messages []envelope, form answerForm) {
	first := messages[0]
	id := r.Header.Get(sessionHeader)
	switch {
	case first.method == "initialize":
		e.initialize(w, r, messages, form)
		return
	case id == "":
		refuse(w, http.StatusBadRequest, first.id, invalidRequest(
			"no session: send initialize first and its "+sessionHeader+" with each message, or speak revision "+modernEra))
		return
	}
	_, leave := e.server.sessions.enter(id)
	if leave == nil {
		noSession(w)
		return
	}
	defer leave()
	if notTaken(w, messages, http.StatusOK) {
		return
	}
	a := newAnswer(w, form)
	e.legacy.ServeHTTP(a, r)
	a.finish()
	if r.Context().Err() != nil {
		e.abandon(r, messages)
	}
}

// initialize begins a session.
func (e *endpoint) initialize(w http.ResponseWriter, r *http.Request, messages []envelope, form answerForm) {
	if len(messages) > 1 {
		refuse(w, http.StatusBadRequest, messages[0].id, invalidRequest("initialize must not be part of a batch"))
		return
	}
	if !e.server.sessions.reserve() {
		w.Header().Set("Retry-After", "30")
		refuse(w, http.StatusServiceUnavailable, nil, invalidRequest("too many sessions are open; try again later"))
		return
	}
	defer e.server.sessions.release()
	// A client that begins anew may still send the id of a session that is gone.
	r.Header.Del(sessionHeader)
	a := newAnswer(w, form)
	defer a.finish()
	e.legacy.ServeHTTP(a, r)
}

// abandon cancels the calls of a request whose client is gone. The SDK leaves them
// running in this era, so that the client could resume the stream, but streams
// cannot be resumed here. Calls that have been answered are not affected.
func (e *endpoint) abandon(r *http.Request, messages []envelope) {
	ctx := context.WithoutCancel(r.Context())
	for _, m := range messages {
		if !m.call() {
			continue
		}
		body := append([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`), m.id...)
		body = append(body, "}}"...)
		cancel, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL.String(), bytes.NewReader(body))
		if err != nil {
			e.server.log.ErrorContext(ctx, "cancel an abandoned call", "error", err)
			continue
		}
		cancel.Header, cancel.Host = r.Header, r.Host
		e.legacy.ServeHTTP(discard{}, cancel)
	}
}

// discard is the answer to a request that came from here.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}

// jsonBody reports whether the body is said to be JSON. Pages of other origins
// cannot say that without asking first. If it reports false, it has answered.
func jsonBody(w http.ResponseWriter, r *http.Request) bool {
	kind, encoding := r.Header.Get("Content-Type"), r.Header.Get("Content-Encoding")
	if kind != "application/json" {
		if media, _, err := mime.ParseMediaType(kind); err != nil || media != "application/json" {
			refuse(w, http.StatusUnsupportedMediaType, nil, invalidRequest("Content-Type must be application/json"))
			return false
		}
		r.Header.Set("Content-Type", "application/json")
	}
	if encoding != "" && !strings.EqualFold(encoding, "identity") {
		refuse(w, http.StatusUnsupportedMediaType, nil, invalidRequest("the body must not be compressed"))
		return false
	}
	return true
}

const (
	// trustedLength is how much memory a Content-Length alone may claim.
	trustedLength = 64 << 10

	// readTimeout is how long a client may take to send a message.
	readTimeout = 2 * time.Minute
)

// readBody reads at most maxMessageBytes. If it reports false, it has answered.
func readBody(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	tooLarge := func() ([]byte, bool) {
		w.Header().Set("Connection", "close") // the rest of the body is not read
		refuse(w, http.StatusRequestEntityTooLarge, nil, invalidRequest("the body is larger than 4 MiB, the largest message that is taken"))
		return nil, false
	}
	if r.ContentLength > maxMessageBytes {
		return tooLarge()
	}
	control := http.NewResponseController(w)
	// A connection without deadlines, as in tests, does not block for long either.
	_ = control.SetReadDeadline(time.Now().Add(readTimeout))
	var b bytes.Buffer
	b.Grow(int(min(max(r.ContentLength, 0), trustedLength)) + bytes.MinRead)
	if _, err := b.ReadFrom(http.MaxBytesReader(w, r.Body, maxMessageBytes)); err != nil {
		if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
			return tooLarge()
		}
		refuse(w, http.StatusBadRequest, nil, invalidRequest("the body ended early"))
		return nil, false
	}
	// From here on a read only waits for the client to go away.
	_ = control.SetReadDeadline(time.Time{})
	return b.Bytes(), true
}

// refuse answers a request with an error of the protocol.
func refuse(w http.ResponseWriter, status int, id json.RawMessage, e *jsonrpc.Error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encodeError(id, e)) // the client may be gone
}
