package oauth

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-jose/go-jose/v4"

	"runpython/internal/store"
)

// How a client proves who it is (RFC 7591, 2).
const (
	authNone       = "none"
	authBasic      = "client_secret_basic"
	authPost       = "client_secret_post"
	authAssertion  = "private_key_jwt"
	grantCode      = "authorization_code"
	grantRefresh   = "refresh_token"
	challengeS256  = "S256"
	responseCode   = "code"
	maxRedirects   = 20
	maxClientKeys  = 20
	maxNameLetters = 80
)

func authMethods() []string { return []string{authNone, authBasic, authPost, authAssertion} }

// Metadata is what a client says of itself (RFC 7591, 2). What is not known here is left out.
type Metadata struct {
	Name          string          `json:"client_name,omitempty"`
	RedirectURIs  []string        `json:"redirect_uris"`
	GrantTypes    []string        `json:"grant_types"`
	ResponseTypes []string        `json:"response_types"`
	AuthMethod    string          `json:"token_endpoint_auth_method"`
	Scope         string          `json:"scope,omitempty"`
	Application   string          `json:"application_type,omitempty"`
	Keys          json.RawMessage `json:"jwks,omitempty"`
	KeysURI       string          `json:"jwks_uri,omitempty"`
}

// A Client is a program that acts for a person.
type Client struct {
	Metadata
	ID       string
	Secret   store.Digest // empty for none
	Document bool         // its id is the URL of its metadata
	Manual   bool         // the operator has registered it
}

// complete checks what a client says of itself, and fills in what it does not say.
func (m *Metadata) complete() *wireError {
	m.Name = shownName(m.Name)
	if len(m.RedirectURIs) == 0 || len(m.RedirectURIs) > maxRedirects {
		return refuse(codeInvalidRedirect, fmt.Sprintf("redirect_uris has 1 to %d URIs", maxRedirects))
	}
	native := false
	for _, u := range m.RedirectURIs {
		if wrong := checkRedirect(u); wrong != "" {
			return refuse(codeInvalidRedirect, wrong)
		}
		native = native || onOwnMachine(u)
	}
	if m.Application = "web"; native { // whatever it says: some apps say web
		m.Application = "native"
	}
	if len(m.GrantTypes) == 0 {
		m.GrantTypes = []string{grantCode, grantRefresh}
	}
	m.GrantTypes = slices.DeleteFunc(m.GrantTypes, func(g string) bool { return g != grantCode && g != grantRefresh })
	if !slices.Contains(m.GrantTypes, grantCode) {
		return refuse(codeInvalidMetadata, "grant_types must have authorization_code")
	}
	slices.Sort(m.GrantTypes)
	m.GrantTypes = slices.Compact(m.GrantTypes)
	m.ResponseTypes = []string{responseCode}
	if m.Scope != "" {
		m.Scope = strings.Join(readScopes(m.Scope), " ")
	}
	if m.AuthMethod == "" {
		m.AuthMethod = authNone
	}
	if !slices.Contains(authMethods(), m.AuthMethod) {
		return refuse(codeInvalidMetadata, "token_endpoint_auth_method must be one of: "+strings.Join(authMethods(), ", "))
	}
	return m.checkKeys()
}

// checkKeys checks the keys of a client that proves itself by them; others need none.
func (m *Metadata) checkKeys() *wireError {
	if m.AuthMethod != authAssertion {
		m.Keys, m.KeysURI = nil, ""
		return nil
	}
	switch {
	case (len(m.Keys) > 0) == (m.KeysURI != ""):
		return refuse(codeInvalidMetadata, "private_key_jwt needs either jwks or jwks_uri")
	case m.KeysURI != "":
		if u, err := url.Parse(m.KeysURI); err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || len(m.KeysURI) > maxRedirectBytes {
			return refuse(codeInvalidMetadata, "jwks_uri must be an https URL")
		}
	default:
		if _, err := readKeys(m.Keys); err != nil {
			return refuse(codeInvalidMetadata, "jwks must be a JSON Web Key Set with public keys")
		}
	}
	return nil
}

// readKeys reads a set of public keys.
func readKeys(text []byte) (*jose.JSONWebKeySet, error) {
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(text, &set); err != nil {
		return nil, fmt.Errorf("read a key set: %w", err)
	}
	public := func(k jose.JSONWebKey) bool { return k.Valid() && k.IsPublic() }
	if len(set.Keys) == 0 || len(set.Keys) > maxClientKeys || slices.ContainsFunc(set.Keys, func(k jose.JSONWebKey) bool { return !public(k) }) {
		return nil, errors.New("read a key set: it has no keys, too many, or others than public ones")
	}
	return &set, nil
}

// onOwnMachine reports whether a redirect URI leads to a program on the person's own machine.
func onOwnMachine(redirect string) bool {
	u, err := url.Parse(redirect)
	return err == nil && (u.Scheme != "https" || isLoopback(u))
}

// shownName makes a name that a client gives itself one that people can be shown: one line, not endless, no letters that
// are invisible or turn the text round.
func shownName(text string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r), r == utf8.RuneError:
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	letters := []rune(strings.Join(strings.Fields(clean), " "))
	if len(letters) > maxNameLetters {
		letters = append(letters[:maxNameLetters-1], '…')
	}
	return string(letters)
}

// errUnknownClient means that nothing is known of a client id.
var errUnknownClient = errors.New("the client is not known")

// client returns the client with an id. One that nothing is known of is errUnknownClient; what is wrong with the metadata
// of one is a wireError. address is that of who asks.
func (s *Server) client(ctx context.Context, id, address string) (*Client, error) {
	if strings.HasPrefix(id, "https://") {
		return s.documented(ctx, id, address)
	}
	if id == "" || len(id) > maxClientIDBytes {
		return nil, errUnknownClient
	}
	record, err := s.Store.Client(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return nil, errUnknownClient
	}
	if err != nil {
		return nil, fmt.Errorf("find a client: %w", err)
	}
	return readClient(record)
}

// readClient reads a client as it was registered.
func readClient(record store.Client) (*Client, error) {
	c := &Client{ID: record.ID, Secret: record.Secret, Manual: record.Manual}
	if err := json.Unmarshal(record.Metadata, &c.Metadata); err != nil {
		return nil, fmt.Errorf("read a client: %w", err)
	}
	return c, nil
}

// maxClientIDBytes bounds the id of a client.
const maxClientIDBytes = 2048

// documented returns the client whose metadata is at its id (draft-ietf-oauth-client-id-metadata-document).
func (s *Server) documented(ctx context.Context, id, address string) (*Client, error) {
	if s.Registration == RegistrationManual {
		return nil, errUnknownClient
	}
	if wrong := checkDocumentURL(id); wrong != "" {
		return nil, refuse(codeInvalidClient, wrong)
	}
	text, err := s.fetched(ctx, id, documentBytes, address)
	if err != nil {
		return nil, err
	}
	c, bad := readDocument(id, text)
	if bad != nil {
		return nil, bad
	}
	return c, nil
}

// awayWait is when a client may try again whose document or keys are not there now.
const awayWait = 30 * time.Second

// fetched returns a document of a client, from the cache or from where it is. One that is not there now is no reason for the
// client to forget its tokens, which invalid_client is.
func (s *Server) fetched(ctx context.Context, url string, most int64, address string) ([]byte, error) {
	if text, ok := s.Fetcher.cached(url); ok {
		return text, nil
	}
	if wait, ok := s.Limit.Allow(EventDocument, address); !ok {
		return nil, &wireError{Code: codeTooMany, Description: "too many clients are looked up from here: try again later", status: http.StatusTooManyRequests, wait: wait}
	}
	text, err := s.Fetcher.fetch(ctx, url, most)
	if err != nil {
		s.Log.InfoContext(ctx, "a document of a client is not there", "error", err)
		if errors.Is(err, errAway) {
			return nil, &wireError{Code: codeTooMany, Description: "the client's document cannot be fetched at the moment: try again later", status: http.StatusServiceUnavailable, wait: awayWait}
		}
		return nil, refuse(codeInvalidClient, "the client's document cannot be fetched: it must be JSON of some KiB at a public https address, without a redirect")
	}
	return text, nil
}

// checkDocumentURL says what is wrong with an id that is a URL, "" for nothing.
func checkDocumentURL(id string) string {
	u, err := url.Parse(id)
	switch {
	case err != nil || len(id) > maxClientIDBytes || u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "":
		return "the client id is not a URL with https"
	case u.User != nil || strings.Contains(id, "#"):
		return "the client id is a URL with a user name or a fragment"
	case strings.Trim(u.Path, "/") == "":
		return "the client id is a URL without a path"
	}
	for part := range strings.SplitSeq(u.Path, "/") {
		if part == "." || part == ".." {
			return "the client id is a URL with . or .. in its path"
		}
	}
	return ""
}

// readDocument reads the metadata of the client whose id is a URL.
func readDocument(id string, text []byte) (*Client, *wireError) {
	var doc struct {
		Metadata
		ID            string          `json:"client_id"`
		Secret        json.RawMessage `json:"client_secret"`
		SecretExpires json.RawMessage `json:"client_secret_expires_at"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, refuse(codeInvalidClient, "the client's document is no JSON object with the types of RFC 7591")
	}
	switch {
	case doc.ID != id:
		return nil, refuse(codeInvalidClient, "client_id in the client's document is not its URL")
	case shownName(doc.Name) == "":
		return nil, refuse(codeInvalidClient, "the client's document has no client_name")
	case doc.Secret != nil || doc.SecretExpires != nil || doc.AuthMethod == authBasic || doc.AuthMethod == authPost:
		return nil, refuse(codeInvalidClient, "the client's document must not speak of a secret, since everybody can read it")
	}
	if bad := doc.complete(); bad != nil {
		return nil, refuse(codeInvalidClient, "the client's document: "+bad.Description)
	}
	return &Client{Metadata: doc.Metadata, ID: id, Document: true}, nil
}

// allows reports whether a redirect URI is one of the client's.
func (c *Client) allows(redirect string) bool {
	return slices.ContainsFunc(c.RedirectURIs, func(registered string) bool { return matchRedirect(registered, redirect) })
}

// shown is what people are told that the client is called.
func (c *Client) shown() string {
	if c.Name != "" {
		return c.Name
	}
	return hostOf(c.RedirectURIs[0])
}
