// Package oauth is the authorization server of the program: a client learns where it is, says who it is, is allowed to act for a person,
// and gets tokens for this server's MCP endpoint.
//
// It is OAuth 2.1 as MCP wants it (revision 2026-07-28, Authorization): authorization code with PKCE (S256 only), resource
// indicators (RFC 8707), issuer identification (RFC 9207), metadata (RFC 8414, RFC 9728), revocation (RFC 7009); clients are
// known by a metadata document at their id, by registration (RFC 7591), or from the operator. Tokens mean nothing to
// whoever reads them, and the database has only their SHA-256. Pages for people are package web's: here is what they
// decide about ([Server.ReadAuthorization], [Server.Approve], [Server.Deny]).
//
// # Trust
//
// All requests are hostile, and so are metadata documents, keys and redirect URIs of clients: they are bounded, fetched from
// public addresses only, and never followed. Nobody is sent to a redirect URI that is not exactly one of the client's. Who a
// person is was found out by the caller of Approve.
//
// # Failure
//
// Clients get the errors of the RFCs, as JSON or by redirect. What is wrong with client or redirect URI is a [PageError]
// for the person. What fails inside is server_error, and its cause is in the log only.
package oauth

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"runpython/internal/store"
)

// Lifetimes. An access token is short-lived since it is checked but never renewed; a refresh token lasts as long as a client is
// used now and then.
const (
	codeTime    = time.Minute // RFC 6749, 4.1.2, has ten at most
	accessTime  = 30 * time.Minute
	refreshTime = 30 * 24 * time.Hour
	grantTime   = 365 * 24 * time.Hour // then the person is asked again
)

// repeats is when a refresh token may be used again, since the answer to its first use was lost or several requests of a client have
// refreshed at once.
var repeats = store.Repeats{Within: 20 * time.Second, Most: 8}

// UnusedTime is how long a client that has registered itself is kept without being used.
const UnusedTime = 7 * 24 * time.Hour

// maxClients bounds the clients that are registered; beyond, those go that were never used.
const maxClients = 10_000

// The ways in which clients may become known, each with those before it.
const (
	RegistrationManual    = "manual"    // by the operator
	RegistrationDocuments = "documents" // by a metadata document at their id
	RegistrationOpen      = "open"      // by registering themselves
)

// A Store keeps what the Server must not forget; package database is one. Its methods and errors are described there.
type Store interface {
	ClientStore
	Client(ctx context.Context, id string) (store.Client, error)
	AddCode(ctx context.Context, c store.Code) error
	RedeemCode(ctx context.Context, hash store.Digest, now time.Time, issue func(store.Code) (store.Issued, error)) error
	Rotate(ctx context.Context, hash store.Digest, now time.Time, repeats store.Repeats, issue func(store.Grant, store.Token) (store.Issued, error)) error
	RemoveToken(ctx context.Context, hash store.Digest, client string) (subject string, err error)
	KeepAssertion(ctx context.Context, hash store.Digest, expires, now time.Time, most int) error
}

// A ClientStore keeps clients.
type ClientStore interface {
	AddClient(ctx context.Context, c store.Client, most int) error
}

// A Recorder is told what an operator may want to look up later. It must return soon.
type Recorder interface {
	// Record notes an event such as EventRegistered: whose it is, from which address it came, what it is about; each may be "".
	Record(ctx context.Context, event, subject, address, about string)
}

// A Limiter says who may do something that costs, or could be tried too often.
type Limiter interface {
	// Allow reports whether an address may do what an event names once more, and otherwise when to try again.
	Allow(event, address string) (wait time.Duration, ok bool)
}

// Events of a Recorder and a Limiter.
const (
	EventRegistered = "client_registered" // also asked for
	EventRemoved    = "client_removed"
	EventApproved   = "client_allowed"
	EventDenied     = "client_denied"
	EventIssued     = "token_issued"
	EventRefreshed  = "token_refreshed"
	EventReplayed   = "grant_replayed" // a code or a refresh token came again, and all that it gave is revoked
	EventRevoked    = "token_revoked"
	EventDocument   = "client_fetched" // asked for only
)

// Options say what a Server is. Issuer, Resource, Store, Fetcher, Record, Limit and Address are required.
type Options struct {
	Issuer       string // URL without a path and a slash at the end
	Resource     string // URL of the MCP endpoint, as clients use it
	Store        Store
	Fetcher      *Fetcher
	Registration string // RegistrationManual, …
	Record       Recorder
	Limit        Limiter
	Address      func(*http.Request) string // of the caller
	Now          func() time.Time           // nil means time.Now
	Log          *slog.Logger               // nil means no log
}

// A Server is the authorization server. It is safe for concurrent use, and has nothing to close.
type Server struct {
	Options
}

// New returns a Server.
func New(o Options) *Server {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Server{Options: o}
}

// Paths of the endpoints. The first is a page, which package web serves.
const (
	AuthorizePath = "/authorize"
	tokenPath     = "/token"
	registerPath  = "/register"
	revokePath    = "/revoke"
)

// Handler serves everything but pages for people: [Server.Patterns] are its paths.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle(tokenPath, shared(http.MethodPost, s.token))
	mux.Handle(revokePath, shared(http.MethodPost, s.revoke))
	mux.Handle(registerPath, shared(http.MethodPost, s.register))
	for _, p := range metadataPaths("oauth-authorization-server", "openid-configuration") {
		mux.Handle(p, shared(http.MethodGet, s.document(s.serverMetadata())))
	}
	for _, p := range metadataPaths("oauth-protected-resource") {
		mux.Handle(p, shared(http.MethodGet, s.document(s.resourceMetadata())))
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusNotFound, &wireError{Code: "not_found", Description: "there is nothing at this path"})
	})
	return mux
}

// Patterns are the paths that Handler serves, those that end with a slash with all below.
func (s *Server) Patterns() []string {
	return []string{tokenPath, revokePath, registerPath, wellKnown, "/mcp" + wellKnown}
}

// record notes an event with the address that caused it.
func (s *Server) record(r *http.Request, event, subject, about string) {
	s.Record.Record(r.Context(), event, subject, s.Address(r), about)
}
