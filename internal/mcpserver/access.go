package mcpserver

import (
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/identity"
)

// A Bearers knows whom bearer tokens name.
type Bearers interface {
	// Bearer returns who the Authorization headers of a request name, nil without headers. What is not one good token is
	// identity.ErrToken; any other error is ours.
	Bearer(ctx context.Context, headers []string) (*identity.Principal, error)
}

// An Access says who may call (MCP 2026-07-28, Authorization). Each request shows its own token, in a session as well; only what
// tells what there is may be asked without one, unless Private.
type Access struct {
	Bearers  Bearers
	Metadata string // URL of the metadata of the endpoint (RFC 9728)
	Scope    string // that a token must have
	Has      func(scopes []string, wanted string) bool
	Private  bool
}

// authenticate finds out who sends a request, and returns it with that; or it has answered, and returns nil. The token is
// looked at before the body is. GET and DELETE need one, but for those in a session: whether it is nobody's, its session says.
func (e *Endpoint) authenticate(w http.ResponseWriter, r *http.Request) *http.Request {
	if e.access == nil {
		return r
	}
	p, err := e.access.Bearers.Bearer(r.Context(), r.Header.Values("Authorization"))
	switch {
	case errors.Is(err, identity.ErrToken):
		e.challenge(w, http.StatusUnauthorized, "invalid_token", "the token is expired, revoked, or not for this server: refresh it, or sign in again")
		return nil
	case err != nil:
		e.log.ErrorContext(r.Context(), "check a bearer token", "error", err)
		refuse(w, http.StatusServiceUnavailable, nil, invalidRequest(shownInternal))
		return nil
	case p == nil && r.Method != http.MethodPost && (e.access.Private || r.Header.Get(sessionHeader) == ""):
		e.challenge(w, http.StatusUnauthorized, "", "sign in first: this needs a bearer token")
		return nil
	case p == nil:
		return r
	case !e.access.Has(p.Scopes, e.access.Scope):
		e.challenge(w, http.StatusForbidden, "insufficient_scope", "the token does not have the scope "+e.access.Scope)
		return nil
	}
	return named(r, p)
}

// lacksToken reports whether a request shows no token where people sign in.
func (e *Endpoint) lacksToken(r *http.Request) bool {
	return e.access != nil && subjectOf(r.Context()) == ""
}

// mayAll reports whether messages may come from whom the request names. If not, it has answered: before anybody looks
// whether there is such a tool or resource.
func (e *Endpoint) mayAll(w http.ResponseWriter, r *http.Request, messages []envelope) bool {
	if !e.lacksToken(r) {
		return true
	}
	for _, m := range messages {
		if e.access.Private || !public(m.method) {
			e.challenge(w, http.StatusUnauthorized, "", "sign in first: this needs a bearer token")
			return false
		}
	}
	return true
}

// public reports whether a method only tells what there is, the same for everybody.
func public(method string) bool {
	switch method {
	case "initialize", "notifications/initialized", "server/discover", "tools/list":
		return true
	}
	return false
}

// challenge refuses a request and says where tokens come from. Without a token there is no code.
func (e *Endpoint) challenge(w http.ResponseWriter, status int, code, why string) {
	w.Header().Set("WWW-Authenticate", identity.Challenge(e.access.Scope, e.access.Metadata, code, why))
	refuse(w, status, nil, invalidRequest(why))
}

// named returns a request that carries whom its token names to the SDK, which gives it to each message
// (mcp.RequestExtra.TokenInfo). The SDK has only its own middleware for that.
func named(r *http.Request, p *identity.Principal) *http.Request {
	know := func(context.Context, string, *http.Request) (*auth.TokenInfo, error) {
		return &auth.TokenInfo{UserID: p.Subject, Scopes: p.Scopes, Expiration: p.Expires}, nil
	}
	// It was good a moment ago; when it has just ended, it still is for this request.
	options := &auth.RequireBearerTokenOptions{ClockSkew: time.Minute}
	var carried *http.Request
	carry := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { carried = r })
	auth.RequireBearerToken(know, options)(carry).ServeHTTP(discard{}, r)
	return carried
}

// subjectOf returns whom the token of a request names, "" without one.
func subjectOf(ctx context.Context) string {
	if t := auth.TokenInfoFromContext(ctx); t != nil {
		return t.UserID
	}
	return ""
}

// ownerOf tells whose chats a request may reach: "" is the local user, or everybody where there is no sign-in. The token of a
// session's request is in its extra, that of its context is as old as the session.
func ownerOf(req mcp.Request) string {
	if x := req.GetExtra(); x != nil && x.TokenInfo != nil {
		return x.TokenInfo.UserID
	}
	return ""
}
