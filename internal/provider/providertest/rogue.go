// Package providertest has OpenID providers for tests: one that does what a test wants, and a real one. Only tests import it.
//
// # Trust
//
// Tests trust it.
//
// # Failure
//
// Where there is no real provider, the test is skipped and says how to get it; anything else that goes wrong fails the test.
package providertest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"runpython/internal/provider"
)

// What a Rogue knows its client by, and gives to it.
const (
	ClientID     = "runpython"
	ClientSecret = "the-secret-of-the-client-which-is-long-enough"
	AccessToken  = "the-access-token"
)

// Wishes are what a Rogue does otherwise than an honest provider.
type Wishes struct {
	Discovery map[string]any              // over what it says of itself
	Claims    map[string]any              // over those of the ID token; nil takes one away
	Sign      func(payload []byte) string // the ID token; nil as it should be
	Userinfo  map[string]any
	Answers   map[string]http.HandlerFunc // in place of its own, by path
	Key       *ecdsa.PrivateKey           // in place of its own; nil for that
}

// A Rogue is a provider that does what a test wants. Without wishes it signs in ann, whose address is Ann@Example.org, who is in
// the groups staff and all, and whose subject is s-1.
type Rogue struct {
	t      testing.TB
	server *httptest.Server
	key    *ecdsa.PrivateKey
	now    func() time.Time

	mu        sync.Mutex
	wishes    Wishes
	asked     map[string]int
	challenge string
	nonce     string
	redirect  string
	basic     bool
}

// NewRogue returns one on loopback, whose clock is now; the test ends it.
func NewRogue(t testing.TB, now func() time.Time) *Rogue {
	t.Helper()
	r := &Rogue{t: t, key: NewKey(t), now: now, asked: map[string]int{}}
	r.server = httptest.NewServer(r)
	t.Cleanup(r.server.Close)
	return r
}

// NewKey returns a key for ES256.
func NewKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// URL is its issuer.
func (r *Rogue) URL() string { return r.server.URL }

// Stop ends it before the test does.
func (r *Rogue) Stop() { r.server.Close() }

// Wish changes what it does from now on.
func (r *Rogue) Wish(w Wishes) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.wishes = w
}

// Asked returns how often a path was asked for.
func (r *Rogue) Asked(path string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked[path]
}

// Basic reports whether its client has last shown the secret in the header.
func (r *Rogue) Basic() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.basic
}

// Options are those of its client, which returns to a URL and admits everybody.
func (r *Rogue) Options(redirect string) provider.Options {
	return provider.Options{
		Issuer: r.URL(), Name: "Our Login", ClientID: ClientID, Secret: ClientSecret, Scopes: []string{"openid", "email"}, Redirect: redirect,
		Admit: provider.Admission{Everybody: true, GroupsClaim: "groups"}, Now: r.now,
	}
}

// Arrive is a browser that was sent to it: it signs the person in and returns the parameters with which the browser goes back.
func (r *Rogue) Arrive(address string) url.Values {
	r.t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		r.t.Fatal(err)
	}
	q := u.Query()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.challenge, r.nonce, r.redirect = q.Get("code_challenge"), q.Get("nonce"), q.Get("redirect_uri")
	return url.Values{"code": {"good"}, "state": {q.Get("state")}}
}

// ServeHTTP implements http.Handler.
func (r *Rogue) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	r.mu.Lock()
	r.asked[req.URL.Path]++
	wishes := r.wishes
	r.mu.Unlock()
	key := r.key
	if wishes.Key != nil {
		key = wishes.Key
	}
	switch answer := wishes.Answers[req.URL.Path]; {
	case answer != nil:
		answer(w, req)
	case req.URL.Path == "/.well-known/openid-configuration":
		document := map[string]any{
			"issuer": r.URL(), "authorization_endpoint": r.URL() + "/auth", "token_endpoint": r.URL() + "/token", "jwks_uri": r.URL() + "/keys",
			"userinfo_endpoint": r.URL() + "/userinfo", "id_token_signing_alg_values_supported": []string{"ES256", "HS256", "none"},
		}
		maps.Copy(document, wishes.Discovery)
		Say(w, document)
	case req.URL.Path == "/keys":
		Say(w, jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: key.Public(), KeyID: "k", Algorithm: "ES256", Use: "sig"}}})
	case req.URL.Path == "/token":
		r.token(w, req, wishes, key)
	case req.URL.Path == "/userinfo" && req.Header.Get("Authorization") == "Bearer "+AccessToken:
		Say(w, wishes.Userinfo)
	default:
		http.NotFound(w, req)
	}
}

// Say answers in JSON.
func Say(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}

// token redeems the code "good", for the client and the verifier only.
func (r *Rogue) token(w http.ResponseWriter, req *http.Request, wishes Wishes, key *ecdsa.PrivateKey) {
	id, secret, basic := req.BasicAuth()
	if !basic {
		id, secret = req.FormValue("client_id"), req.FormValue("client_secret")
	}
	sum := sha256.Sum256([]byte(req.FormValue("code_verifier")))
	r.mu.Lock()
	r.basic = basic
	good := id == ClientID && secret == ClientSecret && req.FormValue("code") == "good" && req.FormValue("redirect_uri") == r.redirect &&
		base64.RawURLEncoding.EncodeToString(sum[:]) == r.challenge
	r.mu.Unlock()
	if !good {
		w.WriteHeader(http.StatusBadRequest)
		Say(w, map[string]any{"error": "invalid_grant", "error_description": "<script>alert(1)</script>"})
		return
	}
	Say(w, map[string]any{"access_token": AccessToken, "token_type": "Bearer", "expires_in": 60, "id_token": r.idToken(wishes, key)})
}

func (r *Rogue) idToken(wishes Wishes, key *ecdsa.PrivateKey) string {
	half := sha256.Sum256([]byte(AccessToken))
	r.mu.Lock()
	nonce := r.nonce
	r.mu.Unlock()
	c := map[string]any{
		"iss": r.URL(), "aud": ClientID, "sub": "s-1", "exp": r.now().Add(time.Minute).Unix(), "iat": r.now().Unix(), "nonce": nonce,
		"email": "Ann@Example.org", "email_verified": true, "preferred_username": "ann", "groups": []string{"staff", "all"},
		"at_hash": base64.RawURLEncoding.EncodeToString(half[:16]),
	}
	for name, value := range wishes.Claims {
		if c[name] = value; value == nil {
			delete(c, name)
		}
	}
	payload, err := json.Marshal(c)
	if err != nil {
		r.t.Error(err)
	}
	if wishes.Sign != nil {
		return wishes.Sign(payload)
	}
	return Signed(r.t, jose.ES256, jose.JSONWebKey{Key: key, KeyID: "k"}, payload)
}

// SignedBy returns a token of its own key.
func (r *Rogue) SignedBy(payload []byte) string {
	return Signed(r.t, jose.ES256, jose.JSONWebKey{Key: r.key, KeyID: "k"}, payload)
}

// PublicKey returns the bytes of its public key.
func (r *Rogue) PublicKey() []byte {
	text, err := r.key.PublicKey.Bytes()
	if err != nil {
		r.t.Error(err)
	}
	return text
}

// Signed returns a token. It may be called by handlers.
func Signed(t testing.TB, by jose.SignatureAlgorithm, key any, payload []byte) string {
	s, err := jose.NewSigner(jose.SigningKey{Algorithm: by, Key: key}, nil)
	if err != nil {
		t.Error(err)
		return ""
	}
	object, err := s.Sign(payload)
	if err != nil {
		t.Error(err)
		return ""
	}
	text, err := object.CompactSerialize()
	if err != nil {
		t.Error(err)
	}
	return text
}
