package oauth

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"runpython/internal/fault"
	"runpython/internal/secret"
	"runpython/internal/store"
)

const (
	maxStateBytes = 4096
	// challengeLetters is the length of a SHA-256 in base64 without padding (RFC 7636, 4.2).
	challengeLetters = 43
)

// An Authorization is what a client asks a person to allow. Everything in it was checked.
type Authorization struct {
	ClientID string   `json:"client"`
	Name     string   `json:"name"`     // of the client, for people; the client chose it
	Redirect string   `json:"redirect"` // where the code goes
	Given    bool     `json:"given"`    // the client has named Redirect, and must do so again (OAuth 2.1, 4.1.3)
	Scopes   []string `json:"scopes"`
	State    string   `json:"state"`
	HasState bool     `json:"has_state"`

	Challenge string `json:"challenge"` // S256
	Document  bool   `json:"document"`  // the name is from the document at ClientID
	Manual    bool   `json:"manual"`    // the operator has registered the client
}

// Host is where the code goes, for people: a host, or the scheme of an app and a colon.
func (a *Authorization) Host() string { return hostOf(a.Redirect) }

// OnOwnMachine reports whether the code goes to a program on the person's own machine, where any program can pass for
// another one.
func (a *Authorization) OnOwnMachine() bool { return onOwnMachine(a.Redirect) }

// A PageError is what is wrong with a request, for the person: the client cannot be told, since nothing says that the request
// is its. Continue, when it is not "", is where an error would be told to the client; nobody is sent there without
// a click, since anybody can register such a client.
type PageError struct {
	Status   int // of HTTP
	Message  string
	Continue string
}

// Error implements error.
func (e *PageError) Error() string { return e.Message }

// A RedirectError is what is wrong with a request of a known client, as the URL that tells it.
type RedirectError struct{ URL string }

// Error implements error.
func (e *RedirectError) Error() string { return "the client is told that its request is wrong" }

// ReadAuthorization reads the parameters of a request for authorization. What is wrong with it is a [PageError] or
// a [RedirectError]. address is that of who asks.
func (s *Server) ReadAuthorization(ctx context.Context, q url.Values, address string) (*Authorization, error) {
	client, a, err := s.origin(ctx, q, address)
	if err != nil {
		return nil, err
	}
	bad := s.request(q, a)
	if bad == nil {
		return a, nil
	}
	back := s.back(a, url.Values{"error": {bad.Code}, "error_description": {bad.Description}})
	if client.Manual || a.OnOwnMachine() {
		return nil, &RedirectError{URL: back}
	}
	return nil, &PageError{Status: http.StatusBadRequest, Message: "The request of " + a.Name + " is wrong (" + bad.Code + "): " + bad.Description + ".", Continue: back}
}

// origin finds the client and where it may be answered.
func (s *Server) origin(ctx context.Context, q url.Values, address string) (*Client, *Authorization, error) {
	if len(q["client_id"]) > 1 || len(q["redirect_uri"]) > 1 {
		return nil, nil, &PageError{Status: http.StatusBadRequest, Message: "The request is wrong (invalid_request): it names its client or where to return to more than once."}
	}
	client, err := s.client(ctx, q.Get("client_id"), address)
	bad := (*wireError)(nil)
	switch {
	case errors.Is(err, errUnknownClient):
		return nil, nil, &PageError{Status: http.StatusBadRequest, Message: "The app that sent you here is not known (invalid_client). Remove this server in the app and add it again."}
	case errors.As(err, &bad):
		return nil, nil, &PageError{Status: max(bad.status, http.StatusBadRequest), Message: "The app that sent you here cannot be used (" + bad.Code + "): " + bad.Description + "."}
	case err != nil:
		return nil, nil, err
	}
	a := &Authorization{ClientID: client.ID, Name: client.shown(), Redirect: q.Get("redirect_uri"), Given: q.Get("redirect_uri") != "", Document: client.Document, Manual: client.Manual}
	switch {
	case !a.Given && len(client.RedirectURIs) == 1:
		a.Redirect = client.RedirectURIs[0]
	case !a.Given, checkRedirect(a.Redirect) != "", !client.allows(a.Redirect):
		return nil, nil, &PageError{Status: http.StatusBadRequest, Message: "The app that sent you here wants you to be returned to an address that it has not registered (invalid_redirect_uri)."}
	}
	return client, a, nil
}

// request reads what is asked for.
func (s *Server) request(q url.Values, a *Authorization) *wireError {
	a.State, a.HasState = q.Get("state"), q.Has("state")
	if len(a.State) > maxStateBytes {
		a.State, a.HasState = "", false
		return refuse(codeInvalidRequest, "state has more than 4096 bytes")
	}
	if name := repeated(q); name != "" {
		return refuse(codeInvalidRequest, "the parameter "+name+" is there more than once")
	}
	switch {
	case q.Has("request"):
		return refuse("request_not_supported", "send the parameters themselves, not a request object")
	case q.Has("request_uri"):
		return refuse("request_uri_not_supported", "send the parameters themselves, not a request object")
	case q.Get("response_type") == "":
		return refuse(codeInvalidRequest, "response_type is missing: it must be code")
	case q.Get("response_type") != responseCode:
		return refuse(codeUnsupportedReponse, "response_type must be code")
	case q.Get("response_mode") != "" && q.Get("response_mode") != "query":
		return refuse(codeInvalidRequest, "response_mode must be query")
	case q.Get("code_challenge") == "":
		return refuse(codeInvalidRequest, "code_challenge is missing: PKCE with S256 is required")
	case q.Get("code_challenge_method") != challengeS256:
		return refuse(codeInvalidRequest, "code_challenge_method must be S256")
	case !isChallenge(q.Get("code_challenge")):
		return refuse(codeInvalidRequest, "code_challenge must be a SHA-256 in base64url without padding")
	case slices.Contains(strings.Fields(q.Get("prompt")), "none"):
		return refuse("interaction_required", "the person is always asked here")
	}
	a.Challenge, a.Scopes = q.Get("code_challenge"), readScopes(q.Get("scope"))
	return s.target(q["resource"])
}

// isChallenge reports whether a text may be a code challenge of S256.
func isChallenge(text string) bool {
	return len(text) == challengeLetters && !strings.ContainsFunc(text, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_')
	})
}

// back returns the URL that answers a client. Each answer says whose it is (RFC 9207).
func (s *Server) back(a *Authorization, answer url.Values) string {
	if a.HasState {
		answer.Set("state", a.State)
	}
	answer.Set("iss", s.Issuer)
	return withParameters(a.Redirect, answer)
}

// Narrow takes out of a request what a user may not allow.
func (a *Authorization) Narrow(admin bool) {
	if !admin {
		a.Scopes = readScopes(strings.Join(slices.DeleteFunc(slices.Clone(a.Scopes), func(scope string) bool { return scope == ScopeAdmin }), " "))
	}
}

// Approve returns the URL that tells a client that a person allows what it asks for. address is that of the person.
func (s *Server) Approve(ctx context.Context, a *Authorization, user store.User, address string) (string, error) {
	a.Narrow(user.Admin)
	text, err := json.Marshal(a)
	if err != nil {
		return "", fmt.Errorf("write a request: %w", err)
	}
	code := secret.New(secret.Code)
	err = s.Store.AddCode(ctx, store.Code{
		Hash: secret.Digest(code), Subject: user.ID, Request: text, Grant: strings.ToLower(rand.Text()), Expires: s.Now().Add(codeTime),
	})
	if err != nil {
		return "", fault.New(fault.Busy, err, "what you have allowed cannot be kept at the moment: begin again in the app")
	}
	s.Record.Record(ctx, EventApproved, user.ID, address, a.ClientID)
	return s.back(a, url.Values{"code": {code}}), nil
}

// Deny returns the URL that tells a client that a person does not allow what it asks for.
func (s *Server) Deny(ctx context.Context, a *Authorization, user store.User, address string) string {
	s.Record.Record(ctx, EventDenied, user.ID, address, a.ClientID)
	return s.back(a, url.Values{"error": {codeAccessDenied}, "error_description": {"the person has said no"}})
}
