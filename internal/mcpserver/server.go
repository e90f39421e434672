// Package mcpserver speaks the Model Context Protocol: it shows the one tool,
// chat, over streamable HTTP and over standard input and output, and hands each
// call to a [Chatter].
//
// [New] makes a [Server]. [Server.Handler] serves /mcp for both eras of the
// protocol on one URL: revisions from 2026-07-28 on, where each request stands
// alone, and the older ones, which have sessions. [Server.ServeStdio] serves one
// client over pipes. [Server.Shutdown] ends both. Calls that last become tasks, see [Tasks].
//
// # Trust
//
// Everything that a client sends is hostile: headers, body sizes, JSON, names,
// ids, the speed at which it reads. The guards in front of the SDK refuse what
// is malformed before anything is kept of it, and every map, queue, body and
// answer here has a named bound. What comes out of a chat (text, pictures, file
// names) was made by code that strangers wrote: it is bounded again, its control
// characters are shown instead of sent, and its pictures are decoded before a
// client is asked to. Who a token names is found out by a [Bearers]; what it may do is decided in access.go.
//
// # Failure
//
// A malformed call is a protocol error that says what to change. Anything that
// goes wrong in a well-formed one is a result with isError, so that a model can
// read it. What is ours goes to the log with its cause and to the client as one
// sentence without it.
package mcpserver

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/about"
	"runpython/internal/chat"
)

// A Chatter runs the turns that clients ask for. Its methods are called from
// many goroutines at once.
type Chatter interface {
	// Turn runs one turn. Code that fails, a limit and an unknown chat are replies
	// with IsError; an error is a malformed request (fault.Invalid), a bound
	// (fault.Busy), the end of ctx, or internal. It logs the cause of an error, which
	// goes no further. It returns soon after ctx ends.
	Turn(ctx context.Context, r chat.Request) (*chat.Reply, error)
	// OpenFile returns the content that a file's URI names, which the caller
	// closes. An unknown URI and one of another owner are the same fault.NotFound.
	OpenFile(ctx context.Context, owner, uri string) (chat.File, io.ReadSeekCloser, error)
	// ListFiles returns files of the chats of owner, at most the given number, those
	// that were saved last first, and whether there are more. cursor is "" or that of
	// the last file of the page before; a foreign one is fault.Invalid.
	ListFiles(ctx context.Context, owner, cursor string, most int) (files []chat.ListedFile, more bool, err error)
}

// Options say what a Server serves. Chat is required; the zero value of every
// other field is usable.
type Options struct {
	Chat    Chatter
	Version string // of the program, told to clients

	NeedsCode bool          // no model is configured: the tool asks its caller for Python
	OpenWorld bool          // the network policy lets code out of the sandbox
	Packages  bool          // packages that code imports are installed
	KeepFor   time.Duration // how long an idle chat is kept; 0 means until the server stops

	// AllowedHosts are the names that a Host header may have, without port,
	// beside those of the loopback interface.
	AllowedHosts []string
	// AllowedOrigins are the origins, such as https://chat.example.org, whose
	// pages may call, beside the server's own and loopback ones.
	AllowedOrigins []string

	// MaxSessions bounds the live sessions of the older protocol era; 0 means
	// DefaultMaxSessions.
	MaxSessions int

	// Shared says that people who do not know each other call, and that nobody can tell
	// them apart: then nothing is listed, and files are found only by who knows their URI.
	Shared bool

	// Access says who may call over HTTP; nil means everybody.
	Access *Access

	Log *slog.Logger // nil means no log
}

// A Server is the MCP face of the program. It is safe for concurrent use. The
// caller ends it with Shutdown or Close.
type Server struct {
	chat     Chatter
	log      *slog.Logger
	mcp      *mcp.Server
	calls    callTable
	tasks    *Tasks
	dialogs  dialogTable
	pictures chan struct{} // a token for each picture that is being decoded
	endpoint *Endpoint
	shared   bool
	flights  *flightCount // of the endpoint: what it takes, and what outlives it
}

// New returns a Server that is ready to serve. It panics if o.Chat is nil.
func New(o Options) *Server {
	if o.Chat == nil {
		panic("mcpserver: Options.Chat is nil")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	s := &Server{
		chat:     o.Chat,
		log:      o.Log,
		shared:   o.Shared,
		pictures: make(chan struct{}, maxDecoding),
		tasks:    NewTasks(TasksOptions{Owner: ownerOf, After: taskAfter, Log: o.Log}),
	}
	s.mcp = mcp.NewServer(&mcp.Implementation{
		Name:    about.Name,
		Title:   about.Title,
		Version: o.Version,
	}, &mcp.ServerOptions{
		Instructions: instructions(o),
		// What is offered never changes while the program runs, so nobody
		// needs to listen for changes.
		Capabilities: &mcp.ServerCapabilities{
			Tools:     &mcp.ToolCapabilities{},
			Resources: &mcp.ResourceCapabilities{},
			// An empty object: the extension has no settings.
			Extensions: map[string]any{TasksExtension: map[string]any{}},
		},
		SetCacheable:              cacheable(o.Access != nil && o.Access.Private),
		SupportedProtocolVersions: about.ProtocolVersions(),
	})
	s.mcp.AddTool(toolDefinition(o), s.callChat)
	for _, t := range resourceTemplates() {
		s.mcp.AddResourceTemplate(t, s.resource)
	}
	s.tasks.Attach(s.mcp)
	s.mcp.AddReceivingMiddleware(s.receive)
	s.endpoint = NewEndpoint(EndpointOptions{
		Server: s.mcp, Offered: offered,
		Ending:       func(session *mcp.ServerSession) { s.calls.cancelSession(session, errSessionEnded) },
		AllowedHosts: o.AllowedHosts, AllowedOrigins: o.AllowedOrigins, MaxSessions: o.MaxSessions, Access: o.Access, Log: o.Log,
	})
	s.flights = s.endpoint.flights
	return s
}

// Handler serves MCP at /mcp and at /mcp/, without a redirect between them, and
// answers 404 elsewhere. The http.Server around it must have no WriteTimeout: a
// call lasts as long as its run, and each write has its own deadline here.
func (s *Server) Handler() http.Handler { return s.endpoint }

// Pages serves pages beside /mcp under the Hosts that /mcp is served under, and to pages of any
// Origin: local to whoever came by a name or address of loopback, public to others.
func (s *Server) Pages(local, public http.Handler) http.Handler {
	return s.endpoint.guard.byHost(local, public)
}

// stopGrace is how long calls that were told to end may take for it.
const stopGrace = 5 * time.Second

// Shutdown refuses new calls, waits for those in flight until ctx ends, then
// cancels them, and closes every session and with it every open stream. What those calls need
// is taken meanwhile (answers of people, cancellations, requests for tasks), so call it
// before http.Server.Shutdown, which also waits for streams that only this ends.
//
// When it returns nil, no goroutine of the Server is left. An error means that a
// call did not end within a few seconds of being cancelled.
func (s *Server) Shutdown(ctx context.Context) error {
	var err error
	s.flights.close()
	s.tasks.stopping()
	if s.flights.wait(ctx) == nil {
		s.tasks.linger(ctx)
	}
	s.flights.seal()
	s.dialogs.close()
	s.calls.cancelAll(errStopping)
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
	defer cancel()
	if s.flights.wait(grace) != nil || s.tasks.Close(grace) != nil {
		// Closing the sessions of such calls would wait for them.
		return errors.New("end the calls in flight: some did not return when they were cancelled")
	}
	for session := range s.mcp.Sessions() {
		err = errors.Join(err, session.Close())
	}
	s.endpoint.sessions.wait()
	return err
}

// Close is Shutdown without patience: calls in flight are cancelled at once.
func (s *Server) Close() error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return s.Shutdown(ctx)
}

// receive stands before every method of the protocol, on each transport: it
// refuses what is not offered, reads resources, and keeps a panic from ending
// more than its own request.
func (s *Server) receive(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		ctx = calledFrom(traced(ctx, req), req)
		defer recovered(ctx, s.log, method, &res, &err)
		if !offered(method) {
			return nil, notOffered(method)
		}
		switch r := req.(type) {
		case *mcp.CallToolRequest:
			if r.Params.Name != toolName {
				return nil, unknownTool(r.Params.Name)
			}
			res, err := next(ctx, method, req)
			if result, ok := res.(*mcp.CallToolResult); ok && err == nil {
				res = asKnownTo(r.ProtocolVersion(), result)
			}
			return res, err
		case *mcp.ReadResourceRequest:
			// The SDK would look the handler up by compiling each template
			// into a regular expression, under the lock that every call needs.
			return s.readResource(ctx, r)
		case *mcp.ListResourcesRequest:
			// The SDK lists what was registered, the same for everybody.
			return s.listResources(ctx, r)
		}
		return next(ctx, method, req)
	}
}

// recovered, deferred, makes a panic the error of its request alone.
func recovered(ctx context.Context, log *slog.Logger, method string, res *mcp.Result, err *error) {
	if p := recover(); p != nil {
		log.ErrorContext(ctx, "panic in an MCP request", "method", method, "panic", p, "stack", string(debug.Stack()))
		*res, *err = nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: shownInternal}
	}
}

// listFresh is how long clients may reuse the lists: what is offered is the same
// for everybody and changes with the program only.
const listFresh = 5 * time.Minute

// cacheable says so; private, that only who has asked may keep them.
func cacheable(private bool) func(context.Context, mcp.Request, *mcp.Cacheable) {
	scope := "public"
	if private {
		scope = "private"
	}
	return func(_ context.Context, _ mcp.Request, c *mcp.Cacheable) {
		c.TTLMs, c.CacheScope = int(listFresh.Milliseconds()), scope
	}
}
