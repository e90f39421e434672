package web_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"html"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"runpython/internal/identity"
	"runpython/internal/oauth"
	"runpython/internal/passkey"
	"runpython/internal/store"
	"runpython/internal/store/database"
	"runpython/internal/store/sqlite"
	"runpython/internal/store/storetest"
	"runpython/internal/web"
)

const (
	issuer   = "https://run.example"
	password = "correct horse battery"
	callback = "https://app.example/cb?x=1"
)

// site is the pages of a server on a database of their own, with a clock that only the test moves.
type site struct {
	t        *testing.T
	store    *database.Store
	accounts *identity.Service
	oauth    *oauth.Server
	handler  http.Handler
	user     store.User

	mu  sync.Mutex
	now time.Time
}

func (s *site) Record(context.Context, string, string, string, string) {}

func (s *site) Allow(string, string) (time.Duration, bool) { return 0, true }

func (s *site) clock() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.now
}

func (s *site) pass(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now = s.now.Add(d)
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := siteOf(t, oauth.FetcherOptions{Reachable: func(netip.Addr) bool { return false }})
	var err error
	if s.user, err = s.accounts.AddUser(t.Context(), "ann", password, false); err != nil {
		t.Fatal(err)
	}
	return s
}

// siteOf is a site without accounts.
func siteOf(t *testing.T, documents oauth.FetcherOptions) *site {
	t.Helper()
	db := storetest.Lasting[*database.Store](t)(sqlite.OpenMemory(t.Context()))
	s := &site{t: t, store: db, now: time.Unix(1_800_000_000, 0)}
	address := func(*http.Request) string { return "192.0.2.1" }
	s.accounts = identity.New(identity.Options{Store: db, Resource: issuer + "/mcp", Record: s, Limit: s, Party: passkey.New(issuer), Now: s.clock})
	s.oauth = oauth.New(oauth.Options{
		Issuer: issuer, Resource: issuer + "/mcp", Store: db, Registration: oauth.RegistrationOpen, Record: s, Limit: s, Address: address, Now: s.clock,
		Fetcher: oauth.NewFetcher(documents),
	})
	s.handler = web.New(web.Options{Issuer: issuer, Accounts: s.accounts, OAuth: s.oauth, Consents: db, Chats: db, Limits: []web.Limit{{Name: "calls", Value: "600 & more"}}, Address: address, Now: s.clock}).Handler()
	return s
}

// client registers an app and returns its id.
func (s *site) client(name, redirect string) string {
	s.t.Helper()
	made, err := oauth.AddManual(s.t.Context(), unmanual{s.store}, oauth.Metadata{Name: name, RedirectURIs: []string{redirect}}, s.clock())
	if err != nil {
		s.t.Fatal(err)
	}
	return made.ID
}

// unmanual makes clients of the operator ones that have registered themselves.
type unmanual struct{ *database.Store }

func (u unmanual) AddClient(ctx context.Context, c store.Client, most int) error {
	c.Manual = false
	return u.Store.AddClient(ctx, c, most)
}

// ask returns the path with which an app asks.
func ask(client, redirect string) string {
	sum := sha256.Sum256([]byte(strings.Repeat("v", 43)))
	return "/authorize?" + url.Values{
		"response_type": {"code"}, "client_id": {client}, "redirect_uri": {redirect}, "state": {"s&<"}, "scope": {"run admin offline_access"},
		"code_challenge": {base64.RawURLEncoding.EncodeToString(sum[:])}, "code_challenge_method": {"S256"},
	}.Encode()
}

// browser is one, with its cookies.
type browser struct {
	*site
	cookies map[string]*http.Cookie
}

func (s *site) browser() *browser { return &browser{s, map[string]*http.Cookie{}} }

func (b *browser) send(method, path string, form url.Values, header map[string]string) *http.Response {
	b.t.Helper()
	r := httptest.NewRequestWithContext(b.t.Context(), method, issuer+path, strings.NewReader(form.Encode()))
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, value := range header {
		r.Header.Set(name, value)
	}
	for _, c := range b.cookies {
		r.AddCookie(c)
	}
	w := httptest.NewRecorder()
	b.handler.ServeHTTP(w, r)
	res := w.Result()
	for _, c := range res.Cookies() {
		if !strings.HasPrefix(c.Name, "__Host-") || !c.Secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" {
			b.t.Errorf("the cookie is %v", c)
		}
		b.cookies[c.Name] = c
		if c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		}
	}
	return res
}

func (b *browser) get(path string) (*http.Response, string) {
	b.t.Helper()
	res := b.send(http.MethodGet, path, nil, nil)
	return res, read(b.t, res)
}

func read(t *testing.T, res *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var hidden = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)">`)

// fields returns the hidden fields of the form of a page that posts to a path.
func fields(t *testing.T, page, path string) url.Values {
	t.Helper()
	_, form, found := strings.Cut(page, `<form method="post" action="`+path+`">`)
	if !found {
		t.Fatalf("no form for %s in\n%s", path, page)
	}
	form, _, _ = strings.Cut(form, "</form>")
	v := url.Values{}
	for _, f := range hidden.FindAllStringSubmatch(form, -1) {
		v.Set(f[1], html.UnescapeString(f[2]))
	}
	return v
}

// post sends the form of a page, with some fields changed.
func (b *browser) post(page, path string, changed map[string]string) (*http.Response, string) {
	b.t.Helper()
	v := fields(b.t, page, path)
	for name, value := range changed {
		v.Set(name, value)
	}
	res := b.send(http.MethodPost, path, v, map[string]string{"Sec-Fetch-Site": "same-origin"})
	return res, read(b.t, res)
}

// signIn signs in and returns where that leads.
func (b *browser) signIn(next string) string {
	b.t.Helper()
	_, page := b.get("/login?" + url.Values{"next": {next}}.Encode())
	res, text := b.post(page, "/login", map[string]string{"username": "Ann", "password": password})
	if res.StatusCode != http.StatusSeeOther {
		b.t.Fatalf("sign in = %d\n%s", res.StatusCode, text)
	}
	return res.Header.Get("Location")
}

func TestConsent(t *testing.T) {
	s := newSite(t)
	b := s.browser()
	path := ask(s.client("An <b>App</b>", callback), callback)
	res, _ := b.get(path)
	login := res.Header.Get("Location")
	if res.StatusCode != http.StatusSeeOther || !strings.HasPrefix(login, "/login?next=") {
		t.Fatalf("without signing in: %d %q", res.StatusCode, login)
	}
	_, page := b.get(login)
	for _, want := range []string{`<label for="username">`, `<input id="username" name="username"`, `<label for="password">`, `name="password" type="password"`, `<html lang="en">`, "<main>", "<h1>Sign in</h1>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page to sign in has no %s:\n%s", want, page)
		}
	}
	res, _ = b.post(page, "/login", map[string]string{"username": "ann", "password": password})
	if to := res.Header.Get("Location"); to != path {
		t.Fatalf("signing in leads to %q, want %q", to, path)
	}
	res, page = b.get(path)
	for _, want := range []string{"An &lt;b&gt;App&lt;/b&gt;", "app.example", "signed in as <strong>ann</strong>", `name="action" value="approve"`, `name="action" value="deny"`, "run Python code in your chats", "stay connected", "chosen its name itself"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page to allow an app has no %s:\n%s", want, page)
		}
	}
	if strings.Contains(page, "administrator") {
		t.Error("a user who is no administrator is asked for admin")
	}
	if csp := res.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "form-action 'self' https:;") {
		t.Errorf("policy = %q", csp)
	}

	res, _ = b.post(page, "/authorize", map[string]string{"action": "approve"})
	to, err := url.Parse(res.Header.Get("Location"))
	if err != nil || res.StatusCode != http.StatusSeeOther {
		t.Fatalf("approve = %d, %v", res.StatusCode, err)
	}
	q := to.Query()
	if to.Host != "app.example" || q.Get("x") != "1" || q.Get("state") != "s&<" || q.Get("iss") != issuer || q.Get("code") == "" {
		t.Errorf("the app gets %s", to)
	}
	if res, _ := b.post(page, "/authorize", map[string]string{"action": "approve"}); res.StatusCode != http.StatusGone {
		t.Errorf("the same again = %d", res.StatusCode)
	}

	for _, action := range []string{"deny", "", "Approve"} {
		_, page = b.get(path)
		res, _ = b.post(page, "/authorize", map[string]string{"action": action})
		to, err = url.Parse(res.Header.Get("Location"))
		if err != nil || to.Query().Get("error") != "access_denied" || to.Query().Get("code") != "" || to.Query().Get("iss") != issuer {
			t.Errorf("action %q = %v, %v", action, to, err)
		}
	}
	_, page = b.get(path)
	s.pass(10 * time.Minute)
	if res, _ := b.post(page, "/authorize", map[string]string{"action": "approve"}); res.StatusCode != http.StatusGone {
		t.Errorf("after ten minutes = %d", res.StatusCode)
	}
}

func TestConsentWarnings(t *testing.T) {
	s := newSite(t)
	b := s.browser()
	b.signIn("")
	for redirect, policy := range map[string]string{"http://127.0.0.1:7/cb": "form-action 'self' http:;", "cursor://x/cb": "form-action 'self' cursor:;"} {
		res, page := b.get(ask(s.client("App", redirect), redirect))
		if !strings.Contains(page, "a program on your own computer") || !strings.Contains(res.Header.Get("Content-Security-Policy"), policy) {
			t.Errorf("%s: %q\n%s", redirect, res.Header.Get("Content-Security-Policy"), page)
		}
		res, _ = b.post(page, "/authorize", map[string]string{"action": "approve"})
		if to := res.Header.Get("Location"); !strings.HasPrefix(to, redirect+"?") {
			t.Errorf("%s: leads to %q", redirect, to)
		}
	}
	made, err := oauth.AddManual(t.Context(), s.store, oauth.Metadata{Name: "Own", RedirectURIs: []string{callback}}, s.clock())
	if err != nil {
		t.Fatal(err)
	}
	if _, page := b.get(ask(made.ID, callback)); strings.Contains(page, "chosen its name itself") || !strings.Contains(page, "Own") {
		t.Errorf("an app of the operator:\n%s", page)
	}
}

// What is wrong with a request is told before anybody types a password, and leads nowhere by itself.
func TestWrongRequests(t *testing.T) {
	s := newSite(t)
	for name, b := range map[string]*browser{"signed out": s.browser(), "signed in": s.browser()} {
		if name == "signed in" {
			b.signIn("")
		}
		res, page := b.get(ask("nobody", callback))
		if res.StatusCode != http.StatusBadRequest || res.Header.Get("Location") != "" || strings.Contains(page, "app.example") || !strings.Contains(page, `role="alert"`) {
			t.Errorf("%s, an unknown client: %d\n%s", name, res.StatusCode, page)
		}
		id := s.client("App", callback)
		res, page = b.get(strings.Replace(ask(id, callback), "S256", "plain", 1))
		if res.StatusCode != http.StatusBadRequest || res.Header.Get("Location") != "" || !strings.Contains(page, `href="https://app.example/cb?x=1&amp;error=invalid_request`) {
			t.Errorf("%s, without PKCE: %d\n%s", name, res.StatusCode, page)
		}
		loop := s.client("App", "http://localhost/cb")
		res, _ = b.get(strings.Replace(ask(loop, "http://localhost:1234/cb"), "S256", "plain", 1))
		if to := res.Header.Get("Location"); !strings.HasPrefix(to, "http://localhost:1234/cb?") || !strings.Contains(to, "error=invalid_request") || !strings.Contains(to, "iss=") {
			t.Errorf("%s, on the own machine: %d %q", name, res.StatusCode, to)
		}
	}
}

// Forms count only from pages of this server, with the secret that goes with the cookie.
func TestForgedForms(t *testing.T) {
	s := newSite(t)
	b := s.browser()
	b.signIn("")
	path := ask(s.client("App", callback), callback)
	_, page := b.get(path)
	form := fields(t, page, "/authorize")
	form.Set("action", "approve")
	forged := func(name string, v url.Values, header map[string]string, cookies map[string]*http.Cookie) {
		t.Helper()
		other := &browser{s, maps.Clone(cookies)}
		res := other.send(http.MethodPost, "/authorize", v, header)
		if text := read(t, res); res.StatusCode != http.StatusForbidden || res.Header.Get("Location") != "" {
			t.Errorf("%s = %d %s\n%s", name, res.StatusCode, res.Header.Get("Location"), text)
		}
	}
	without := url.Values{"request": form["request"], "action": {"approve"}}
	forged("no secret", without, nil, b.cookies)
	forged("another site, by Sec-Fetch-Site", form, map[string]string{"Sec-Fetch-Site": "cross-site"}, b.cookies)
	forged("a site beside it", form, map[string]string{"Sec-Fetch-Site": "same-site"}, b.cookies)
	forged("another site, by Origin", form, map[string]string{"Origin": "https://evil.example"}, b.cookies)
	forged("a page without origin", form, map[string]string{"Origin": "null"}, b.cookies)
	forged("nobody's browser", form, nil, nil)
	mallory := s.browser()
	if _, err := s.accounts.AddUser(t.Context(), "mallory", password, false); err != nil {
		t.Fatal(err)
	}
	_, login := mallory.get("/login")
	mallory.post(login, "/login", map[string]string{"username": "mallory", "password": password})
	forged("somebody else's browser, with Ann's secret", form, nil, mallory.cookies)
	_, own := mallory.get("/account")
	stolen := url.Values{"request": form["request"], "action": {"approve"}, "csrf": fields(t, own, "/logout")["csrf"]}
	if res := mallory.send(http.MethodPost, "/authorize", stolen, nil); res.StatusCode != http.StatusGone {
		t.Errorf("a request of Ann's at Mallory's browser = %d", res.StatusCode)
	}
	if res, _ := b.post(page, "/authorize", map[string]string{"action": "approve"}); res.StatusCode != http.StatusSeeOther {
		t.Errorf("Ann's own form after all that = %d", res.StatusCode)
	}
	if res := s.browser().send(http.MethodPost, "/login", url.Values{"username": {"ann"}, "password": {password}}, nil); res.StatusCode != http.StatusForbidden || len(res.Cookies()) != 0 {
		t.Errorf("signing in by a form without its secret = %d", res.StatusCode)
	}
}

func TestSignIn(t *testing.T) {
	s := newSite(t)
	for next, want := range map[string]string{
		"": "/account", "/account": "/account", "https://evil.example/": "/account", "//evil.example/authorize": "/account", "/\\evil.example": "/account",
		"/authorize\\@evil.example": "/account", "javascript:alert(1)": "/account", "/authorize/../x": "/account", "authorize": "/account", "/logout": "/account", "/authorize?client_id=x": "/authorize?client_id=x",
	} {
		if to := s.browser().signIn(next); to != want {
			t.Errorf("next %q leads to %q, want %q", next, to, want)
		}
	}
	b := s.browser()
	_, page := b.get("/login")
	res, page := b.post(page, "/login", map[string]string{"username": `"><script>`, "password": "wrong"})
	if res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(page, `role="alert"`) || strings.Contains(page, "<script>") || !strings.Contains(page, `aria-describedby="problem"`) {
		t.Errorf("a wrong password = %d\n%s", res.StatusCode, page)
	}
	for range 6 {
		res, page = b.post(page, "/login", map[string]string{"username": "ann", "password": "wrong"})
	}
	if res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") == "" {
		t.Errorf("too many wrong passwords = %d %v", res.StatusCode, res.Header)
	}
}

// A scope that implies another one is not shown as less than it is.
// Two apps that were added at once have each opened a page to sign in: after one of them the other needs no password any more.
func TestSignInInTwoTabs(t *testing.T) {
	s := newSite(t)
	b := s.browser()
	_, first := b.get("/login?next=%2Faccount")
	_, second := b.get("/login?next=%2Fauthorize%3Fclient_id%3Dx")
	const here, there = "/account", "/authorize?client_id=x"
	if res, page := b.post(first, "/login", map[string]string{"username": "ann", "password": password}); res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != here {
		t.Fatalf("the first tab = %d %s\n%s", res.StatusCode, res.Header.Get("Location"), page)
	}
	before := b.cookies["__Host-runpython_session"].Value
	if res, page := b.post(second, "/login", map[string]string{"username": "ann", "password": ""}); res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != there {
		t.Errorf("the second tab = %d %s\n%s", res.StatusCode, res.Header.Get("Location"), page)
	}
	if after := b.cookies["__Host-runpython_session"].Value; after != before {
		t.Error("the second tab has changed who is signed in")
	}
	if res, _ := b.post(second, "/login", map[string]string{"next": "https://evil.example/"}); res.Header.Get("Location") != here {
		t.Errorf("the second tab leads to %q", res.Header.Get("Location"))
	}
	b.cookies["__Host-runpython_session"].Value += "x" // not signed in any more
	if res, _ := b.post(second, "/login", map[string]string{"username": "ann", "password": password}); res.StatusCode != http.StatusForbidden {
		t.Errorf("a form without its cookie, of somebody who is not signed in = %d", res.StatusCode)
	}
}

func TestImpliedRightsAreShown(t *testing.T) {
	s := newSite(t)
	if _, err := s.accounts.AddUser(t.Context(), "root", password, true); err != nil {
		t.Fatal(err)
	}
	b := s.browser()
	path := strings.Replace(ask(s.client("An App", callback), callback), "scope=run+admin+offline_access", "scope=admin", 1)
	_, page := b.get("/login?" + url.Values{"next": {path}}.Encode())
	b.post(page, "/login", map[string]string{"username": "root", "password": password})
	_, page = b.get(path)
	for _, want := range []string{"run Python code in your chats", "which is for administrators"} {
		if !strings.Contains(page, want) {
			t.Errorf("an app that asks for admin alone is not said to %s:\n%s", want, page)
		}
	}
	root, err := s.accounts.Named(t.Context(), "root")
	if err != nil {
		t.Fatal(err)
	}
	grant := store.Grant{ID: "g1", Subject: root.ID, Client: "c", Name: "An App", Scopes: "admin", Created: s.clock(), Used: s.clock(), Expires: s.clock().Add(time.Hour)}
	if err := s.store.AddGrant(t.Context(), store.Issued{Grant: grant}); err != nil {
		t.Fatal(err)
	}
	if _, page = b.get("/account"); !strings.Contains(page, "run Python code in your chats") {
		t.Errorf("nor is a connected one:\n%s", page)
	}
}

// Whoever only asks for the headers of a page is sent to sign in as well.
func TestHeadsOfPages(t *testing.T) {
	s := newSite(t)
	if res := s.browser().send(http.MethodHead, "/account", nil, nil); res.StatusCode != http.StatusSeeOther {
		t.Errorf("HEAD of a page for those who are signed in = %d", res.StatusCode)
	}
}

func TestConnectedApps(t *testing.T) {
	s := newSite(t)
	b := s.browser()
	b.signIn("")
	grant := store.Grant{ID: "g1", Subject: s.user.ID, Client: "c", Name: "An <App>", Host: "app.example", Scopes: "run", Created: s.clock(), Used: s.clock(), Expires: s.clock().Add(time.Hour)}
	machine := grant
	machine.ID, machine.Client, machine.Name, machine.Host = "g2", "", "job", ""
	foreign := grant
	if _, err := s.accounts.AddUser(t.Context(), "bob", password, false); err != nil {
		t.Fatal(err)
	}
	bob, err := s.accounts.Named(t.Context(), "bob")
	if err != nil {
		t.Fatal(err)
	}
	foreign.ID, foreign.Subject, foreign.Name = "g3", bob.ID, "Bob's"
	for _, g := range []store.Grant{grant, machine, foreign} {
		if err := s.store.AddGrant(t.Context(), store.Issued{Grant: g}); err != nil {
			t.Fatal(err)
		}
	}
	_, page := b.get("/account")
	for _, want := range []string{"An &lt;App&gt;", "app.example", "job", "A token that the operator has made", `aria-label="Disconnect An &lt;App&gt;"`} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in\n%s", want, page)
		}
	}
	if strings.Contains(page, "Bob") {
		t.Error("somebody else's app is shown")
	}
	if res, _ := b.post(page, "/account", map[string]string{"revoke": "g3"}); res.StatusCode != http.StatusNotFound {
		t.Errorf("disconnecting somebody else's app = %d", res.StatusCode)
	}
	res, _ := b.post(page, "/account", map[string]string{"revoke": "g1"})
	_, page = b.get(res.Header.Get("Location"))
	if !strings.Contains(page, `role="status"`) || strings.Contains(page, "An &lt;App&gt;") || !strings.Contains(page, "job") {
		t.Errorf("after disconnecting:\n%s", page)
	}
	cookies := maps.Clone(b.cookies)
	res, _ = b.post(page, "/logout", nil)
	if res.Header.Get("Location") != "/signed-out" || len(b.cookies) != 0 {
		t.Errorf("signing out = %q, %v", res.Header.Get("Location"), b.cookies)
	}
	again := &browser{s, cookies}
	if res, _ := again.get("/account"); res.StatusCode != http.StatusSeeOther {
		t.Errorf("the old cookie after signing out = %d", res.StatusCode)
	}
}

// Whatever page it is: nothing but it is loaded, nobody keeps or frames it.
func TestHeaders(t *testing.T) {
	s := newSite(t)
	in := s.browser()
	in.signIn("")
	root, _ := s.administrator()
	style := regexp.MustCompile(`(?s)<style>(.*)</style>`)
	for name, res := range map[string]*http.Response{
		"sign in": s.browser().send(http.MethodGet, "/login", nil, nil), "signed out": s.browser().send(http.MethodGet, "/signed-out", nil, nil),
		"account": in.send(http.MethodGet, "/account", nil, nil), "a problem": in.send(http.MethodGet, "/authorize", nil, nil),
		"consent": in.send(http.MethodGet, ask(s.client("App", callback), callback), nil, nil), "set-up": s.browser().send(http.MethodGet, "/setup?link=x", nil, nil),
		"people": root.send(http.MethodGet, "/admin", nil, nil), "a person": root.send(http.MethodGet, "/admin/person?id="+s.user.ID, nil, nil),
		"forged": in.send(http.MethodPost, "/account", nil, map[string]string{"Sec-Fetch-Site": "cross-site"}),
	} {
		page := read(t, res)
		h := res.Header
		csp := h.Get("Content-Security-Policy")
		if h.Get("Cache-Control") != "no-store" || h.Get("X-Content-Type-Options") != "nosniff" || h.Get("X-Frame-Options") != "DENY" || h.Get("Referrer-Policy") != "same-origin" ||
			!strings.HasPrefix(csp, "default-src 'none'; ") || !strings.Contains(csp, "frame-ancestors 'none'") || !strings.Contains(csp, "base-uri 'none'") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: %v", name, h)
		}
		text := style.FindStringSubmatch(page)
		if text == nil {
			t.Errorf("%s has no style:\n%s", name, page)
			continue
		}
		sum := sha256.Sum256([]byte(text[1]))
		if !strings.Contains(csp, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'") {
			t.Errorf("%s: its style is not that of its policy %q", name, csp)
		}
		// One script of ours, where there are passkeys, and none elsewhere.
		with := name == "sign in" || name == "account"
		scripts := map[bool]int{true: 1}[with]
		if strings.Count(page, "<script") != scripts || strings.Count(page, "src=") != scripts || strings.Count(page, `<script src="/passkey.js" defer></script>`) != scripts ||
			strings.Contains(csp, "; script-src 'self'; connect-src 'self'; ") != with || strings.Contains(csp, "script-src") != with {
			t.Errorf("%s, under %q:\n%s", name, csp, page)
		}
		for _, never := range []string{"http-equiv", "onclick", " style="} {
			if strings.Contains(page, never) {
				t.Errorf("%s has %s:\n%s", name, never, page)
			}
		}
		if !strings.Contains(page, `<meta name="viewport" content="width=device-width, initial-scale=1">`) || strings.Count(page, "<h1>") != 1 || strings.Count(page, "<main>") != 1 {
			t.Errorf("%s:\n%s", name, page)
		}
	}
}
