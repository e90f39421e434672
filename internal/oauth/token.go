package oauth

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"runpython/internal/secret"
	"runpython/internal/store"
)

// Bounds of a code verifier (RFC 7636, 4.1).
const (
	verifierLeast = 43
	verifierMost  = 128
)

// issuance is what a client gets (RFC 6749, 5.1).
type issuance struct {
	Access  string `json:"access_token"`
	Type    string `json:"token_type"`
	Expires int64  `json:"expires_in"` // seconds
	Refresh string `json:"refresh_token,omitempty"`
	Scope   string `json:"scope"`
}

// errInvalidGrant is one error for codes and tokens that are unknown, over, somebody else's or used before: they look alike.
func errInvalidGrant() *wireError {
	return refuse(codeInvalidGrant, "the code or refresh token is not good any more, or not for this client: ask for authorization again")
}

// asked reads the form of a request and finds out which client sends it; without one it has answered.
func (s *Server) asked(w http.ResponseWriter, r *http.Request) (url.Values, *Client) {
	f, bad := form(w, r)
	if bad != nil {
		s.fail(w, r, bad)
		return nil, nil
	}
	client, err := s.authenticate(w, r, f)
	if err != nil {
		s.fail(w, r, err)
		return nil, nil
	}
	return f, client
}

// token gives tokens for a code or a refresh token.
func (s *Server) token(w http.ResponseWriter, r *http.Request) {
	f, client := s.asked(w, r)
	if client == nil {
		return
	}
	if bad := s.target(f["resource"]); bad != nil {
		s.fail(w, r, bad)
		return
	}
	var answer *issuance
	var err error
	switch grant := f.Get("grant_type"); {
	case grant == grantCode:
		answer, err = s.redeem(r, client, f)
	case grant == grantRefresh && !slices.Contains(client.GrantTypes, grantRefresh):
		err = refuse(codeUnauthorizedClient, "the client has not registered for refresh_token")
	case grant == grantRefresh:
		answer, err = s.refresh(r, client, f)
	case grant == "":
		err = refuse(codeInvalidRequest, "grant_type is missing")
	default:
		err = refuse(codeUnsupportedGrant, "grant_type must be authorization_code or refresh_token")
	}
	if err != nil {
		s.fail(w, r, err)
		return
	}
	w.Header().Set("Pragma", "no-cache") // RFC 6749, 5.1
	reply(w, http.StatusOK, answer)
}

// redeem gives tokens for a code.
func (s *Server) redeem(r *http.Request, client *Client, f url.Values) (*issuance, error) {
	if f.Get("code") == "" || f.Get("code_verifier") == "" {
		return nil, refuse(codeInvalidRequest, "code and code_verifier are required")
	}
	if !secret.Looks(f.Get("code"), secret.Code) {
		return nil, errInvalidGrant()
	}
	var answer *issuance
	subject, now := "", s.Now()
	err := s.Store.RedeemCode(r.Context(), secret.Digest(f.Get("code")), now, func(c store.Code) (store.Issued, error) {
		var a Authorization
		if err := json.Unmarshal(c.Request, &a); err != nil {
			return store.Issued{}, fmt.Errorf("read a request: %w", err)
		}
		redirected := f.Get("redirect_uri") == a.Redirect || f.Get("redirect_uri") == "" && !a.Given
		if a.ClientID != client.ID || !redirected || !verifies(f.Get("code_verifier"), a.Challenge) {
			return store.Issued{}, errInvalidGrant()
		}
		subject = c.Subject
		g := store.Grant{
			ID: c.Grant, Subject: c.Subject, Client: client.ID, Name: a.Name, Host: a.Host(),
			Scopes: strings.Join(a.Scopes, " "), Resource: s.Resource, Created: now, Used: now,
		}
		var issued store.Issued
		issued, answer = issue(client, g, g.Scopes, now)
		return issued, nil
	})
	return answer, s.told(r, err, story{EventIssued, subject, client.ID})
}

// refresh gives tokens for a refresh token.
func (s *Server) refresh(r *http.Request, client *Client, f url.Values) (*issuance, error) {
	token := f.Get("refresh_token")
	if token == "" {
		return nil, refuse(codeInvalidRequest, "refresh_token is missing")
	}
	if !secret.Looks(token, secret.Refresh) {
		return nil, errInvalidGrant()
	}
	var answer *issuance
	subject, now := "", s.Now()
	err := s.Store.Rotate(r.Context(), secret.Digest(token), now, repeats, func(g store.Grant, old store.Token) (store.Issued, error) {
		if g.Client != client.ID || g.Resource != s.Resource {
			return store.Issued{}, errInvalidGrant()
		}
		scopes, bad := narrowed(g.Scopes, f.Get("scope"))
		if bad != nil {
			return store.Issued{}, bad
		}
		subject = g.Subject
		var issued store.Issued
		issued, answer = issue(client, g, scopes, now)
		return issued, nil
	})
	return answer, s.told(r, err, story{EventRefreshed, subject, client.ID})
}

// A story is what is recorded when all went well.
type story struct{ event, subject, client string }

// told makes of what the store says what the client is told, and records it.
func (s *Server) told(r *http.Request, err error, done story) error {
	bad, spent := (*wireError)(nil), (*store.SpentError)(nil)
	switch {
	case err == nil:
		s.record(r, done.event, done.subject, done.client)
		return nil
	case errors.As(err, &spent):
		s.record(r, EventReplayed, spent.Subject, done.client)
		return errInvalidGrant()
	case errors.Is(err, store.ErrNotFound):
		return errInvalidGrant()
	case errors.As(err, &bad):
		return bad
	}
	return err
}

// issue makes tokens of a grant, which lasts as long as its refresh token. The refresh token keeps all scopes of the
// grant, whatever those of the access token (RFC 6749, 6).
func issue(client *Client, g store.Grant, scopes string, now time.Time) (store.Issued, *issuance) {
	last := g.Created.Add(grantTime)
	answer := &issuance{Access: secret.New(secret.Access), Type: "Bearer", Expires: int64(accessTime / time.Second), Scope: scopes}
	tokens := []store.Token{{Hash: secret.Digest(answer.Access), Kind: store.AccessToken, Scopes: scopes, Created: now, Expires: now.Add(accessTime)}}
	g.Expires = now.Add(accessTime)
	if slices.Contains(client.GrantTypes, grantRefresh) {
		answer.Refresh = secret.New(secret.Refresh)
		g.Expires = earlier(now.Add(refreshTime), last)
		tokens = append(tokens, store.Token{Hash: secret.Digest(answer.Refresh), Kind: store.RefreshToken, Scopes: g.Scopes, Created: now, Expires: g.Expires})
	}
	return store.Issued{Grant: g, Tokens: tokens}, answer
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// verifies reports whether a verifier is that of a challenge (RFC 7636, 4.6).
func verifies(verifier, challenge string) bool {
	if len(verifier) < verifierLeast || len(verifier) > verifierMost {
		return false
	}
	sum := sha256.Sum256([]byte(verifier))
	return subtle.ConstantTimeCompare([]byte(base64.RawURLEncoding.EncodeToString(sum[:])), []byte(challenge)) == 1
}

// revoke ends a token, and with a refresh token all that came of the same consent (RFC 7009). Unknown tokens are no error.
func (s *Server) revoke(w http.ResponseWriter, r *http.Request) {
	f, client := s.asked(w, r)
	if client == nil {
		return
	}
	token := f.Get("token")
	if token == "" {
		s.fail(w, r, refuse(codeInvalidRequest, "token is missing"))
		return
	}
	subject, err := s.Store.RemoveToken(r.Context(), secret.Digest(token), client.ID)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if subject != "" {
		s.record(r, EventRevoked, subject, client.ID)
	}
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusOK)
}
