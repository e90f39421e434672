package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	versionHeader = "Mcp-Protocol-Version"
	sessionHeader = "Mcp-Session-Id"
	methodHeader  = "Mcp-Method"
	nameHeader    = "Mcp-Name"
)

// EndpointOptions say what an Endpoint serves. Server is required; the zero value of
// every other field is usable.
type EndpointOptions struct {
	// Server answers the messages. It belongs to one Endpoint only, which adds a
	// middleware to it.
	Server *mcp.Server
	// Offered reports whether messages with a method are taken; nil takes all of them.
	Offered func(method string) bool
	// Ending is called before a session ends because its client wants so. It cancels
	// what runs there, which the end waits for. nil means that nothing lasts.
	Ending func(*mcp.ServerSession)

	// AllowedHosts, AllowedOrigins and MaxSessions are those of [Options].
	AllowedHosts   []string
	AllowedOrigins []string
	MaxSessions    int

	// Access says who may call; nil means everybody.
	Access *Access

	Log *slog.Logger // nil means no log
}

// An Endpoint is the URL of a server: the guards, and behind them one SDK handler for
// each era of the protocol. It is safe for concurrent use. Sessions and streams that are
// open end with the sessions of its mcp.Server; a [Server] does that to its own Endpoint.
type Endpoint struct {
	offered  func(method string) bool
	ending   func(*mcp.ServerSession)
	log      *slog.Logger
	guard    guard
	access   *Access
	sessions *sessionTable
	flights  *flightCount
	alone    http.Handler // from modernEra on: each request stands alone
	legacy   http.Handler // before: requests belong to sessions
}

// NewEndpoint returns an Endpoint that is ready to serve. It panics if o.Server is nil.
func NewEndpoint(o EndpointOptions) *Endpoint {
	if o.Server == nil {
		panic("mcpserver: EndpointOptions.Server is nil")
	}
	if o.Offered == nil {
		o.Offered = func(string) bool { return true }
	}
	if o.Ending == nil {
		o.Ending = func(*mcp.ServerSession) {}
	}
	if o.MaxSessions <= 0 {
		o.MaxSessions = DefaultMaxSessions
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	same := func(*http.Request) *mcp.Server { return o.Server }
	e := &Endpoint{
		offered: o.Offered, ending: o.Ending, log: o.Log,
		guard:    newGuard(o.AllowedHosts, o.AllowedOrigins),
		access:   o.Access,
		sessions: newSessionTable(o.MaxSessions, o.Access != nil),
		flights:  new(flightCount),
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
	o.Server.AddReceivingMiddleware(e.register)
	return e
}

// register puts every session that begins into the table, and holds it to what it agrees on.
func (e *Endpoint) register(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if r, ok := req.(*mcp.ServerRequest[*mcp.InitializeParams]); ok {
			e.sessions.opened(r.Session, ownerOf(req))
			agree(r.Params)
		} else {
			holdToSession(req)
		}
		return next(ctx, method, req)
	}
}

// ServeHTTP implements [http.Handler].
func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/mcp" && r.URL.Path != "/mcp/" {
		http.Error(w, "not found: the MCP endpoint is /mcp", http.StatusNotFound)
		return
	}
	tellCaller(r)
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Accel-Buffering", "no") // nginx would hold events back
	h.Set("Cache-Control", "no-store")
	if !e.guard.admit(w, r) {
		return
	}
	if r.Method != http.MethodOptions { // which browsers send without a token
		if r = e.authenticate(w, r); r == nil {
			return
		}
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
func (e *Endpoint) get(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(sessionHeader)
	if modern(r.Header.Get(versionHeader)) || id == "" {
		w.Header().Set("Allow", "POST, OPTIONS")
		refuse(w, http.StatusMethodNotAllowed, nil,
			invalidRequest("this is an MCP endpoint: add its URL to an MCP client, which sends messages with POST"))
		return
	}
	if _, leave := e.sessions.enter(id, subjectOf(r.Context())); leave != nil {
		defer leave()
	} else {
		noSession(w)
		return
	}
	if e.lacksToken(r) {
		// Clients open this stream as soon as they have connected. With 401 they would send people to sign in who only
		// look, and twice if a call comes at the same time.
		w.Header().Set("Allow", "POST, DELETE, OPTIONS")
		refuse(w, http.StatusMethodNotAllowed, nil, invalidRequest("nothing comes by this stream without a bearer token"))
		return
	}
	r.Header.Set("Accept", "text/event-stream")
	a := newAnswer(w, answerStream)
	defer a.finish()
	e.legacy.ServeHTTP(a, r)
}

// remove ends a session and what runs in it.
func (e *Endpoint) remove(w http.ResponseWriter, r *http.Request) {
	id := r.Header.Get(sessionHeader)
	if modern(r.Header.Get(versionHeader)) || id == "" {
		w.Header().Set("Allow", "POST, OPTIONS")
		refuse(w, http.StatusMethodNotAllowed, nil, invalidRequest("DELETE ends a session: send its id in the header "+sessionHeader))
		return
	}
	session, leave := e.sessions.enter(id, subjectOf(r.Context()))
	if leave == nil {
		noSession(w)
		return
	}
	defer leave()
	e.ending(session)
	e.legacy.ServeHTTP(w, r)
	e.sessions.ended(id) // before the client hears of it
}

// noSession answers a request for a session that does not exist. The status makes
// clients begin a new one.
func noSession(w http.ResponseWriter) {
	refuse(w, http.StatusNotFound, nil, invalidRequest("no such session, it may have ended: send initialize to begin a new one"))
}

// post takes messages.
func (e *Endpoint) post(w http.ResponseWriter, r *http.Request) {
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
	if !e.mayAll(w, r, messages) {
		return
	}
	for _, m := range messages {
		if mismatch := versionMismatch(r.Header, m); mismatch != nil {
			refuse(w, http.StatusBadRequest, m.id, mismatch)
			return
		}
	}
	if !e.flights.begin() && !(continues(messages, modern(r.Header.Get(versionHeader))) && e.flights.rejoin()) {
		w.Header().Set("Retry-After", "5")
		refuse(w, http.StatusServiceUnavailable, nil, invalidRequest("the server is stopping; try again in a moment"))
		return
	}
	defer e.flights.end()
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

// continues reports whether calls in flight may need messages, which are taken while these are
// waited for although the server takes no new calls: answers and, in the era that has them, new
// rounds; cancellations; the way to a task.
func continues(messages []envelope, rounds bool) bool {
	for _, m := range messages {
		switch m.method {
		case "ping", methodGetTask, methodUpdateTask, methodCancelTask:
			continue
		case methodCallTool:
			var state string
			if !rounds || !readMember(m, &state, "params", "requestState") || state == "" {
				return false
			}
		default:
			if m.call() {
				return false
			}
		}
	}
	return true
}

// postAlone serves messages of the era without sessions. That era has no batches.
func (e *Endpoint) postAlone(w http.ResponseWriter, r *http.Request, messages []envelope, form answerForm) {
	if e.notTaken(w, messages, http.StatusNotFound) {
		return
	}
	mismatch := plainHeaders(r.Header)
	if mismatch == nil {
		mismatch = taskRefusal(r.Header, messages[0])
	}
	if mismatch == nil {
		mismatch = paramsRefusal(messages[0])
	}
	if mismatch != nil {
		refuse(w, http.StatusBadRequest, messages[0].id, mismatch)
		return
	}
	a := newAnswer(w, form)
	a.id = messages[0].id
	defer a.finish()
	e.alone.ServeHTTP(a, r)
}

// notTaken answers a message with a method that is not offered, with the status
// that the era wants for it, and reports whether it was one. Notifications of
// that kind are ignored.
func (e *Endpoint) notTaken(w http.ResponseWriter, messages []envelope, status int) bool {
	m := messages[0]
	switch {
	case len(messages) > 1, m.method == "", e.offered(m.method):
		return false
	case m.call():
		refuse(w, status, m.id, notOffered(m.method))
	default:
		w.WriteHeader(http.StatusAccepted)
	}
	return true
}

// postLegacy serves messages of the era with sessions.
func (e *Endpoint) postLegacy(w http.ResponseWriter, r *http.Request, messages []envelope, form answerForm) {
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
	_, leave := e.sessions.enter(id, subjectOf(r.Context()))
	if leave == nil {
		noSession(w)
		return
	}
	defer leave()
	if e.notTaken(w, messages, http.StatusOK) {
		return
	}
	var answers json.RawMessage
	if len(messages) > 1 {
		if !e.leaveOut(r, messages) {
			w.WriteHeader(http.StatusAccepted)
			return
		}
	} else if malformed := paramsRefusal(first); malformed != nil {
		refuse(w, http.StatusOK, first.id, malformed)
		return
	} else {
		answers = first.id
	}
	a := newAnswer(w, form)
	a.id = answers
	e.legacy.ServeHTTP(a, r)
	a.finish()
	if r.Context().Err() != nil {
		e.abandon(r, messages)
	}
}

// leaveOut takes notifications that are not offered out of a batch, for which the SDK would refuse
// the whole, and reports whether anything is left.
func (e *Endpoint) leaveOut(r *http.Request, messages []envelope) bool {
	kept := make([]json.RawMessage, 0, len(messages))
	for _, m := range messages {
		if m.method == "" || m.call() || e.offered(m.method) {
			kept = append(kept, m.raw)
		}
	}
	if len(kept) == len(messages) {
		return true
	}
	body, err := json.Marshal(kept)
	if err != nil || len(kept) == 0 { // the messages have been read as JSON, so there is no error
		return false
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return true
}

// initialize begins a session.
func (e *Endpoint) initialize(w http.ResponseWriter, r *http.Request, messages []envelope, form answerForm) {
	if len(messages) > 1 {
		refuse(w, http.StatusBadRequest, messages[0].id, invalidRequest("initialize must not be part of a batch"))
		return
	}
	if !e.sessions.reserve() {
		w.Header().Set("Retry-After", "30")
		refuse(w, http.StatusServiceUnavailable, nil, invalidRequest("too many sessions are open; try again later"))
		return
	}
	defer e.sessions.release()
	// A client that begins anew may still send the id of a session that is gone.
	r.Header.Del(sessionHeader)
	a := newAnswer(w, form)
	defer a.finish()
	e.legacy.ServeHTTP(a, r)
}

// abandon cancels the calls of a request whose client is gone. The SDK leaves them
// running in this era, so that the client could resume the stream, but streams
// cannot be resumed here. Calls that have been answered are not affected. Those with an
// idempotency key go on, since a copy is expected: they end by the client's own message.
func (e *Endpoint) abandon(r *http.Request, messages []envelope) {
	ctx := context.WithoutCancel(r.Context())
	for _, m := range messages {
		var key string
		if !m.call() || readMember(m, &key, "params", "_meta", metaKey) && key != "" {
			continue
		}
		body := append([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":`), m.id...)
		body = append(body, "}}"...)
		cancel, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL.String(), bytes.NewReader(body))
		if err != nil {
			e.log.ErrorContext(ctx, "cancel an abandoned call", "error", err)
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

// refuse answers a request with an error of the protocol.
func refuse(w http.ResponseWriter, status int, id json.RawMessage, e *jsonrpc.Error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(encodeError(id, e)) // the client may be gone
}
