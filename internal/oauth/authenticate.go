package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"runpython/internal/secret"
	"runpython/internal/store"
)

const (
	assertionType = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer"
	// assertionTime is how far the end of an assertion may be away, assertionLeeway how wrong a client's clock may be.
	assertionTime   = 10 * time.Minute
	assertionLeeway = 30 * time.Second
	// maxAssertions bounds the assertions that are remembered, so that none is used twice.
	maxAssertions     = 10_000
	maxAssertionBytes = 8 << 10
)

// algorithms are those with which a client may sign: with a private key each.
func algorithms() []jose.SignatureAlgorithm {
	return []jose.SignatureAlgorithm{jose.ES256, jose.ES384, jose.ES512, jose.EdDSA, jose.PS256, jose.PS384, jose.PS512, jose.RS256, jose.RS384, jose.RS512}
}

func algorithmNames() []string {
	var names []string
	for _, a := range algorithms() {
		names = append(names, string(a))
	}
	return names
}

// proof is what a client shows of who it is.
type proof struct {
	id        string
	secret    string
	assertion string
	basic     bool
}

// readProof reads it from where clients put it (RFC 6749, 2.3.1; RFC 7521, 4.2). There must be one way only.
func readProof(r *http.Request, f url.Values) (p proof, bad *wireError) {
	p = proof{id: f.Get("client_id"), secret: f.Get("client_secret"), assertion: f.Get("client_assertion")}
	ways := 0
	if p.secret != "" {
		ways++
	}
	if p.assertion != "" || f.Get("client_assertion_type") != "" {
		ways++
		bad = p.readAssertion(f.Get("client_assertion_type"))
	}
	if r.Header.Get("Authorization") != "" && bad == nil {
		ways++
		bad = p.readBasic(r)
	}
	if bad != nil {
		return p, bad
	}
	if ways > 1 {
		return p, refuse(codeInvalidRequest, "the client proves who it is in more than one way")
	}
	if p.id == "" {
		return p, refuse(codeInvalidRequest, "client_id is missing")
	}
	return p, nil
}

// readAssertion takes the client's name from its assertion, which is not proved yet.
func (p *proof) readAssertion(kind string) *wireError {
	if kind != assertionType {
		return refuse(codeInvalidRequest, "client_assertion_type must be "+assertionType)
	}
	issuer, err := assertedBy(p.assertion)
	if err != nil || p.id != "" && p.id != issuer {
		return refuse(codeInvalidRequest, "client_assertion must be a signed JWT of the client")
	}
	p.id = issuer
	return nil
}

// readBasic takes name and secret from the header, where both are encoded as in forms (RFC 6749, 2.3.1).
func (p *proof) readBasic(r *http.Request) *wireError {
	id, password, ok := r.BasicAuth()
	if !ok {
		return refuse(codeInvalidRequest, "the Authorization header must be Basic, or absent")
	}
	id, idErr := url.QueryUnescape(id)
	password, passwordErr := url.QueryUnescape(password)
	if idErr != nil || passwordErr != nil || p.id != "" && p.id != id {
		return refuse(codeInvalidRequest, "the Authorization header must name the client_id and its secret, both form-encoded")
	}
	p.id, p.secret, p.basic = id, password, true
	return nil
}

// authenticate returns the client that sends a request. One that is not known, or does not prove what it has to, is
// invalid_client with 401: clients then register anew.
func (s *Server) authenticate(w http.ResponseWriter, r *http.Request, f url.Values) (*Client, error) {
	p, bad := readProof(r, f)
	if bad != nil {
		return nil, bad
	}
	unauthorized := func(why string) *wireError {
		if p.basic {
			w.Header().Set("WWW-Authenticate", `Basic realm="runpython"`)
		}
		return &wireError{Code: codeInvalidClient, Description: why, status: http.StatusUnauthorized}
	}
	client, err := s.client(r.Context(), p.id, s.Address(r))
	if errors.Is(err, errUnknownClient) {
		return nil, unauthorized("the client is not known: register it anew")
	}
	if errors.As(err, &bad) {
		if bad.Code == codeInvalidClient {
			return nil, unauthorized(bad.Description)
		}
		return nil, bad
	}
	if err != nil {
		return nil, err
	}
	switch client.AuthMethod {
	case authNone:
		if p.secret != "" || p.assertion != "" {
			return nil, unauthorized("the client is a public one, and has no secret")
		}
	case authBasic, authPost: // clients mix the two up, and neither is weaker
		if !secret.Matches(p.secret, client.Secret) {
			return nil, unauthorized("the secret of the client is wrong or missing")
		}
	case authAssertion:
		why, err := s.assert(r.Context(), client, p.assertion, s.Address(r))
		if err != nil {
			return nil, err
		}
		if why != "" {
			return nil, unauthorized(why)
		}
	}
	return client, nil
}

// assertedBy returns whom an assertion names, which is not proved yet.
func assertedBy(assertion string) (string, error) {
	if len(assertion) > maxAssertionBytes {
		return "", errors.New("the assertion is too large")
	}
	token, err := jwt.ParseSigned(assertion, algorithms())
	if err != nil {
		return "", err //nolint:wrapcheck // nobody sees it
	}
	var claims jwt.Claims
	if err := token.UnsafeClaimsWithoutVerification(&claims); err != nil {
		return "", err //nolint:wrapcheck // nobody sees it
	}
	return claims.Issuer, nil
}

// assert checks the assertion of a client (RFC 7523, 3) and returns what is wrong with it, "" for nothing.
func (s *Server) assert(ctx context.Context, c *Client, assertion, address string) (wrong string, err error) {
	claims, wrong := s.asserted(ctx, c, assertion, address)
	if wrong != "" {
		return wrong, nil
	}
	now := s.Now()
	expected := jwt.Expected{Issuer: c.ID, Subject: c.ID, AnyAudience: jwt.Audience{s.Issuer, s.Issuer + tokenPath, s.Issuer + revokePath}, Time: now}
	switch {
	case claims.ValidateWithLeeway(expected, assertionLeeway) != nil:
		return "client_assertion must have the client as iss and sub, this issuer as aud, and be in its time", nil //nolint:nilerr // what is wrong is the answer
	case claims.Expiry == nil || claims.Expiry.Time().After(now.Add(assertionTime)):
		return "client_assertion must have an exp that is not more than ten minutes away", nil
	case claims.ID == "":
		return "client_assertion must have a jti", nil
	}
	// All processes on one database remember the same.
	err = s.Store.KeepAssertion(ctx, secret.Digest(c.ID+"\x00"+claims.ID), claims.Expiry.Time().Add(assertionLeeway), now, maxAssertions)
	switch {
	case errors.Is(err, store.ErrExists):
		return "client_assertion was used before", nil
	case errors.Is(err, store.ErrFull):
		return "too many clients prove who they are by assertions now: try again in ten minutes", nil
	case err != nil:
		return "", fmt.Errorf("remember an assertion: %w", err)
	}
	return "", nil
}

// asserted returns what an assertion says that is signed with a key of the client, or what is wrong with it.
func (s *Server) asserted(ctx context.Context, c *Client, assertion, address string) (claims jwt.Claims, wrong string) {
	if assertion == "" {
		return claims, "the client must prove who it is with client_assertion"
	}
	token, err := jwt.ParseSigned(assertion, algorithms())
	if err != nil {
		return claims, "client_assertion is no JWT that is signed with a private key"
	}
	text := []byte(c.Keys)
	if c.KeysURI != "" {
		if text, err = s.fetched(ctx, c.KeysURI, keysBytes, address); err != nil {
			return claims, "the keys of the client cannot be fetched"
		}
	}
	keys, err := readKeys(text)
	if err != nil {
		return claims, "the keys of the client cannot be read"
	}
	claims, signed := signedBy(token, keys)
	if !signed {
		return claims, "client_assertion is not signed with a key of the client"
	}
	return claims, ""
}

// signedBy returns what an assertion says, if one of the keys has signed it.
func signedBy(token *jwt.JSONWebToken, keys *jose.JSONWebKeySet) (claims jwt.Claims, signed bool) {
	for _, k := range keys.Keys {
		if id := token.Headers[0].KeyID; id != "" && k.KeyID != "" && id != k.KeyID {
			continue
		}
		claims = jwt.Claims{}
		if token.Claims(k.Key, &claims) == nil {
			return claims, true
		}
	}
	return jwt.Claims{}, false
}
