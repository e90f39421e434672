package app_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"runpython/internal/app"
	"runpython/internal/config"
	"runpython/internal/extent"
	"runpython/internal/identity"
)

const password = "correct horse battery"

// A signedServer is a program with sign-in that serves on loopback.
type signedServer struct {
	t        *testing.T
	app      *app.App
	accounts *app.Accounts
	issuer   string
	url      string // of the endpoint
	admin    string
}

// serveSigned serves a program in which some people have accounts.
func serveSigned(t *testing.T, change func(*config.Config), people ...string) *signedServer {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	var settings config.Config
	a := open(t, func(c *config.Config) {
		c.Listen, c.PublicURL = address, "http://"+address
		if change != nil {
			change(c)
		}
		settings = *c
	})
	s := &signedServer{t: t, app: a, issuer: "http://" + address}
	s.accounts, err = app.OpenAccounts(t.Context(), settings, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.accounts.Close(); err != nil {
			t.Error(err)
		}
	})
	for _, name := range people {
		if _, err := s.accounts.AddUser(t.Context(), name, password, false); err != nil {
			t.Fatal(err)
		}
	}
	s.url, s.admin = serve(t, a)
	return s
}

// A walker is a person at a browser without scripts.
type walker struct {
	t      *testing.T
	client *http.Client
}

func newWalker(t *testing.T) *walker {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &walker{t, &http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

// goTo follows redirects as long as they stay on this server, and returns the page, or where the last one leads to.
func (w *walker) goTo(method, address string, form url.Values) (page, left string) {
	w.t.Helper()
	for range 10 {
		r, err := http.NewRequestWithContext(w.t.Context(), method, address, strings.NewReader(form.Encode()))
		if err != nil {
			w.t.Fatal(err)
		}
		if method == http.MethodPost {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Header.Set("Sec-Fetch-Site", "same-origin")
		}
		res, err := w.client.Do(r)
		if err != nil {
			w.t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		if err := errors.Join(err, res.Body.Close()); err != nil {
			w.t.Fatal(err)
		}
		if res.StatusCode != http.StatusSeeOther {
			return string(text), ""
		}
		to, err := r.URL.Parse(res.Header.Get("Location"))
		if err != nil {
			w.t.Fatal(err)
		}
		if to.Host != r.URL.Host {
			return "", to.String()
		}
		method, address, form = http.MethodGet, to.String(), nil
	}
	w.t.Fatal("redirects without an end")
	return "", ""
}

var (
	hidden  = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`)
	postsTo = regexp.MustCompile(`<form method="post" action="([^"]+)">`)
)

// fill fills the first form of a page and sends it.
func (w *walker) fill(issuer, page string, values map[string]string) (next, left string) {
	w.t.Helper()
	action := postsTo.FindStringSubmatchIndex(page)
	if action == nil {
		w.t.Fatalf("no form in\n%s", page)
	}
	text, _, _ := strings.Cut(page[action[0]:], "</form>")
	form := url.Values{}
	for _, field := range hidden.FindAllStringSubmatch(text, -1) {
		form.Set(field[1], html.UnescapeString(field[2]))
	}
	for name, value := range values {
		form.Set(name, value)
	}
	return w.goTo(http.MethodPost, issuer+page[action[2]:action[3]], form)
}

// allow signs in where that is asked for and lets an app do what it asks for. It returns where the app gets its answer.
func (w *walker) allow(issuer, address, name string) string {
	w.t.Helper()
	page, _ := w.goTo(http.MethodGet, address, nil)
	if strings.Contains(page, `name="password"`) {
		page, _ = w.fill(issuer, page, map[string]string{"username": name, "password": password})
	}
	if !strings.Contains(page, "Allow this app?") || !strings.Contains(page, "signed in as <strong>"+name) {
		w.t.Fatalf("no page to allow anything:\n%s", page)
	}
	_, left := w.fill(issuer, page, map[string]string{"action": "approve"})
	return left
}

// handler is the official client's way to get tokens. ask has a person go to an address, and returns where they are sent then,
// which is below back.
func (s *signedServer) handler(back string, ask func(address string) string) *auth.AuthorizationCodeHandler {
	s.t.Helper()
	h, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		RedirectURL:         back,
		RequestRefreshToken: true,
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: "An App", RedirectURIs: []string{back}, GrantTypes: []string{"authorization_code", "refresh_token"}, TokenEndpointAuthMethod: "none",
		}},
		AuthorizationCodeFetcher: func(_ context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			u, err := url.Parse(ask(args.URL))
			if err != nil {
				return nil, err
			}
			q := u.Query()
			return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
		},
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return h
}

// post sends a message of the newer era with a token and returns status, challenge and body.
func (s *signedServer) post(token, method, params string) (status int, challenge, body string) {
	s.t.Helper()
	message := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}},%s}}`, method, params)
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url, strings.NewReader(message))
	if err != nil {
		s.t.Fatal(err)
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": nameIn(params)} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := new(http.Client).Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	text, err := io.ReadAll(res.Body)
	if err := errors.Join(err, res.Body.Close()); err != nil {
		s.t.Fatal(err)
	}
	return res.StatusCode, res.Header.Get("WWW-Authenticate"), string(text)
}

// nameIn returns what the header Mcp-Name has to repeat of parameters.
func nameIn(params string) string {
	var p struct{ Name, URI, TaskID string }
	if json.Unmarshal([]byte("{"+params+"}"), &p) != nil {
		return ""
	}
	return p.Name + p.URI + p.TaskID
}

// form sends a form to an endpoint of the authorization server.
func (s *signedServer) form(path string, v url.Values) (status int, body map[string]any) {
	s.t.Helper()
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.issuer+path, strings.NewReader(v.Encode()))
	if err != nil {
		s.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := new(http.Client).Do(r)
	if err != nil {
		s.t.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(&body); err != nil && !errors.Is(err, io.EOF) {
		s.t.Fatal(err)
	}
	return res.StatusCode, body
}

const callParams = `"name":"chat","arguments":{"message":"1+1"}`

// The official client finds out by itself how to sign in, the person says yes, and code runs for that person.
func TestOfficialClientSignsIn(t *testing.T) {
	extent.Slow(t)
	s := serveSigned(t, nil, "ann")
	w := newWalker(t)
	h := s.handler("http://127.0.0.1:1/callback", func(address string) string { return w.allow(s.issuer, address, "ann") })
	session := connect(t, &mcp.StreamableClientTransport{Endpoint: s.url, OAuthHandler: h})
	tools, err := session.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != 1 {
		t.Fatalf("ListTools() = %v, %v", tools, err)
	}
	if source, err := h.TokenSource(t.Context()); err != nil || source != nil {
		t.Fatalf("it has signed in to list tools: %v, %v", source, err)
	}
	if status, challenge, _ := s.post("", "tools/call", callParams); status != http.StatusUnauthorized || !strings.Contains(challenge, `resource_metadata="`+s.issuer) {
		t.Errorf("a call without a token: %d, %q", status, challenge)
	}
	result, text, _ := call(t, session, "", "1+1")
	if result.IsError || !strings.Contains(text, "2") {
		t.Fatalf("call = %s", text)
	}

	source, err := h.TokenSource(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	token, err := source.Token()
	if err != nil || token.RefreshToken == "" {
		t.Fatalf("Token() = %+v, %v", token, err)
	}
	page, _ := w.goTo(http.MethodGet, s.issuer+"/account", nil)
	if !strings.Contains(page, "An App") || !strings.Contains(page, "127.0.0.1:1") {
		t.Errorf("connected apps:\n%s", page)
	}
	if status, _ := s.form("/token", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token.RefreshToken}, "client_id": {"other"}}); status != http.StatusUnauthorized {
		t.Errorf("refresh of an unknown client: %d", status)
	}
	client := clientOf(t, s)
	status, fresh := s.form("/token", url.Values{"grant_type": {"refresh_token"}, "refresh_token": {token.RefreshToken}, "client_id": {client}, "resource": {s.url}})
	access, _ := fresh["access_token"].(string)
	if status, _, body := s.post(access, "tools/call", callParams); status != http.StatusOK {
		t.Errorf("a call with a fresh token: %d %s", status, body)
	}
	refresh, _ := fresh["refresh_token"].(string)
	if status != http.StatusOK || refresh == "" {
		t.Fatalf("refresh = %d %v", status, fresh)
	}
	if status, _ := s.form("/revoke", url.Values{"token": {refresh}, "client_id": {client}}); status != http.StatusOK {
		t.Errorf("revoke = %d", status)
	}
	for name, token := range map[string]string{"the first token": token.AccessToken, "the fresh one": access} {
		if status, challenge, _ := s.post(token, "tools/call", callParams); status != http.StatusUnauthorized || !strings.Contains(challenge, `error="invalid_token"`) {
			t.Errorf("%s is %d, %q after it was revoked", name, status, challenge)
		}
	}
	page, _ = w.goTo(http.MethodGet, s.issuer+"/account", nil)
	if strings.Contains(page, "An App") {
		t.Error("an app that was revoked is still connected")
	}
}

// clientOf returns the client that has a grant, which the official client does not tell.
func clientOf(t *testing.T, s *signedServer) string {
	t.Helper()
	u, err := s.accounts.Named(t.Context(), "ann")
	if err != nil {
		t.Fatal(err)
	}
	grants, err := s.accounts.Grants(t.Context(), u)
	if err != nil || len(grants) != 1 {
		t.Fatalf("grants = %v, %v", grants, err)
	}
	return grants[0].Client
}

// The first account is made by a link that is good once.
func TestFirstAccount(t *testing.T) {
	extent.Long(t)
	s := serveSigned(t, nil)
	link, err := s.app.SetupLink(t.Context())
	if err != nil || !strings.HasPrefix(link, s.issuer+"/setup?link=") {
		t.Fatalf("SetupLink() = %q, %v", link, err)
	}
	w := newWalker(t)
	page, _ := w.goTo(http.MethodGet, link, nil)
	page, _ = w.fill(s.issuer, page, map[string]string{"username": "root", "password": "short"})
	if !strings.Contains(page, "10 to 256 characters") || !strings.Contains(page, `role="alert"`) {
		t.Fatalf("a short password:\n%s", page)
	}
	page, _ = w.fill(s.issuer, page, map[string]string{"username": "root", "password": password})
	if !strings.Contains(page, "Your account") || !strings.Contains(page, "signed in as <strong>root") {
		t.Fatalf("the first account:\n%s", page)
	}
	if again, _ := newWalker(t).goTo(http.MethodGet, link, nil); !strings.Contains(again, "not good any more") {
		t.Errorf("the link again:\n%s", again)
	}
	if link, err := s.app.SetupLink(t.Context()); link != "" || err != nil {
		t.Errorf("SetupLink() = %q, %v when there is an account", link, err)
	}
}

// On an admin address that others reach, and on that for callers, the numbers need a token with the scope admin.
func TestNumbersAreForAdministrators(t *testing.T) {
	extent.Long(t)
	s := serveSigned(t, func(c *config.Config) { c.AdminListen = "0.0.0.0:0" }, "ann")
	ask := func(address, token string) (status int, challenge, page string) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"/metrics", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		res, err := new(http.Client).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		if err := errors.Join(err, res.Body.Close()); err != nil {
			t.Error(err)
		}
		return res.StatusCode, res.Header.Get("WWW-Authenticate"), string(text)
	}
	type answer struct {
		status int
		code   string // in the challenge
	}
	want := map[string]answer{"": {http.StatusUnauthorized, ""}, "wrong": {http.StatusUnauthorized, "invalid_token"}}
	for scope, a := range map[string]answer{"run": {http.StatusForbidden, "insufficient_scope"}, "admin": {http.StatusOK, ""}} {
		token, err := s.accounts.CreateToken(t.Context(), identity.NewToken{Name: scope, User: "ann", Scopes: scope, Expires: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		want[token] = a
		if status, _, body := s.post(token, "tools/list", `"cursor":""`); status != http.StatusOK {
			t.Errorf("scope %s: tools/list = %d %s", scope, status, body)
		}
	}
	for _, address := range []string{strings.Replace(s.admin, "0.0.0.0", "127.0.0.1", 1), s.issuer} {
		for token, w := range want {
			status, challenge, page := ask(address, token)
			shown := strings.Contains(page, "runpython_build_info")
			if status != w.status || shown != (status == http.StatusOK) {
				t.Errorf("%s/metrics with %.6q = %d, want %d; the numbers are shown: %v", address, token, status, w.status, shown)
			}
			asks := strings.Contains(challenge, `scope="admin"`) && strings.Contains(challenge, `resource_metadata="`+s.issuer)
			if asks != (status != http.StatusOK) || strings.Contains(challenge, "error=") != (w.code != "") || !strings.Contains(challenge, w.code) {
				t.Errorf("%s/metrics with %.6q: the challenge is %q, want %q in it", address, token, challenge, w.code)
			}
		}
	}
}
