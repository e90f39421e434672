package web_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/google/go-cmp/cmp"

	"runpython/internal/browsertest"
	"runpython/internal/identity"
	"runpython/internal/oauth"
	"runpython/internal/store"
	"runpython/internal/web"
)

// surroundings are what a browser finds: a site, an app of the internet that describes itself, and a program on the person's own
// machine.
type surroundings struct {
	*site
	page     *browsertest.Page
	document string // where the app describes itself
	local    string // where the program wants people to return to
	noScript bool

	mu       sync.Mutex
	answers  []url.Values // that app and program got
	referers string       // that they were told
}

const (
	appHost    = "app.example"
	answerPage = `<!DOCTYPE html><html lang="en"><title>App</title><link rel="icon" href="data:,"><h1>Back in the app</h1></html>`
	evilPage   = `<!DOCTYPE html><html lang="en"><title>Evil</title><link rel="icon" href="data:,"><form method="post" action="` + issuer + `/account">
<input type="hidden" name="revoke" value="g1"><button>You have won</button></form></html>`
	framePage = `<!DOCTYPE html><html lang="en"><title>Evil</title><link rel="icon" href="data:,"><h1>Frame</h1><iframe src="` + issuer + `/account"></iframe></html>`
)

// answered is where people return to.
func (s *surroundings) answered(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = append(s.answers, r.URL.Query())
	s.referers += r.Referer()
	fmt.Fprint(w, answerPage)
}

// last is the last answer that an app got.
func (s *surroundings) last() url.Values {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.answers) == 0 {
		s.t.Fatal("no app got an answer")
	}
	return s.answers[len(s.answers)-1]
}

// cameFrom is what apps were told of where people come from.
func (s *surroundings) cameFrom() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.referers
}

// surround opens a browser without scripts, if it is to have none.
func surround(t *testing.T, noScript bool) *surroundings {
	t.Helper()
	s := &surroundings{noScript: noScript}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Host == appHost && r.URL.Path == "/evil":
			fmt.Fprint(w, evilPage)
		case r.Host == appHost && r.URL.Path == "/frame":
			fmt.Fprint(w, framePage)
		case r.Host == appHost:
			s.answered(w, r)
		case r.Host != strings.TrimPrefix(issuer, "https://"):
			w.Header().Set("Content-Type", "application/json")
			if err := json.NewEncoder(w).Encode(map[string]any{"client_id": s.document, "client_name": "Notebook Assistant", "redirect_uris": []string{callback}}); err != nil {
				t.Error(err)
			}
		case r.URL.Path == "/token" || r.URL.Path == "/register":
			s.oauth.Handler().ServeHTTP(w, r)
		default:
			s.handler.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	own := httptest.NewServer(http.HandlerFunc(s.answered))
	t.Cleanup(own.Close)
	s.document, s.local = server.URL+"/oauth/client.json", own.URL+"/callback"
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	s.site = siteOf(t, oauth.FetcherOptions{Reachable: netip.Addr.IsLoopback, TLS: &tls.Config{RootCAs: roots}})
	address := server.Listener.Addr().String()
	s.page = browsertest.Start(t, browsertest.Options{
		Hosts:       map[string]string{"run.example": address, appHost: address, "127.0.0.1": ""},
		Certificate: server.Certificate(), NoScript: noScript,
	})
	return s
}

// shown is what people are to find on a page.
type shown struct {
	title string
	tabs  []string // order of the focus
	tree  []string // what a screen reader is told
}

// look judges a page in all views, and compares it with what is wanted.
func (s *surroundings) look(name string, want shown) {
	s.t.Helper()
	s.page.Look(name)
	got := shown{s.page.Title(), s.page.TabOrder(), s.page.Tree()}
	want.title += " · Run Python"
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(shown{})); diff != "" {
		s.t.Errorf("%s (-want +got):\n%s", name, diff)
	}
}

// scripted returns elements of a page that it has only where scripts run.
func (s *surroundings) scripted(elements ...string) []string {
	if s.noScript {
		return nil
	}
	return elements
}

// account is what people find on the page of their account: some apps, and what the head says of what they have done.
func (s *surroundings) account(said string, apps ...string) shown {
	tree := []string{"heading Your account"}
	if said != "" {
		tree = append(tree, "status "+said)
	}
	tree = append(tree, "heading Connected apps")
	var tabs []string
	for _, app := range apps {
		tabs = append(tabs, "Disconnect "+app)
		tree = append(tree, "heading "+app, "button Disconnect "+app)
	}
	tabs = append(tabs, s.scripted("Name of a new passkey", "Add a passkey")...)
	tree = append(append(tree, "heading Passkeys"), s.scripted(
		"textbox Name of a new passkey (For you, to tell them apart: the device that keeps it, for example.) required=true", "button Add a passkey")...)
	return shown{"Your account", append(tabs, "Sign out"), append(tree, "button Sign out")}
}

// add adds a user and signs the browser in.
func (s *surroundings) signIn(name string, admin bool) {
	s.t.Helper()
	var err error
	if s.user, err = s.accounts.AddUser(s.t.Context(), name, password, admin); err != nil {
		s.t.Fatal(err)
	}
	s.page.Open(issuer + "/account")
	s.page.Fill("#username", name)
	s.page.Fill("#password", password)
	if status := s.page.Follow("button.main"); status != http.StatusOK || s.page.URL() != issuer+"/account" {
		s.t.Fatalf("signing in = %d, %s", status, s.page.URL())
	}
}

// register registers an app, as one does that has never been here (RFC 7591), and returns its id.
func (s *surroundings) register(name, redirect string) string {
	s.t.Helper()
	body, err := json.Marshal(map[string]any{"client_name": name, "redirect_uris": []string{redirect}})
	if err != nil {
		s.t.Fatal(err)
	}
	return s.answer("/register", "application/json", string(body), http.StatusCreated)["client_id"].(string)
}

// redeem gets tokens for the code that an app has got, half a minute later.
func (s *surroundings) redeem(client, redirect string) {
	s.t.Helper()
	s.pass(30 * time.Second)
	got := s.answer("/token", "application/x-www-form-urlencoded", url.Values{
		"grant_type": {"authorization_code"}, "code": {s.last().Get("code")}, "client_id": {client}, "redirect_uri": {redirect}, "code_verifier": {strings.Repeat("v", 43)},
	}.Encode(), http.StatusOK)
	if got["access_token"] == nil || got["refresh_token"] == nil {
		s.t.Errorf("tokens = %v", got)
	}
}

// answer is what the authorization server answers an app.
func (s *surroundings) answer(path, kind, body string, status int) map[string]any {
	s.t.Helper()
	r := httptest.NewRequestWithContext(s.t.Context(), http.MethodPost, issuer+path, strings.NewReader(body))
	r.Header.Set("Content-Type", kind)
	w := httptest.NewRecorder()
	s.oauth.Handler().ServeHTTP(w, r)
	var got map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != status {
		s.t.Fatalf("%s = %d %s, %v", path, w.Code, w.Body, err)
	}
	return got
}

// walk plays a test with scripts and without.
func walk(t *testing.T, play func(*testing.T, *surroundings)) {
	t.Helper()
	for name, noScript := range map[string]bool{"scripts": false, "no scripts": true} {
		t.Run(name, func(t *testing.T) {
			play(t, surround(t, noScript))
		})
	}
}

func TestBrowserSignIn(t *testing.T) {
	walk(t, func(t *testing.T, s *surroundings) {
		p := s.page
		if _, err := s.accounts.AddUser(t.Context(), "ann", password, false); err != nil {
			t.Fatal(err)
		}
		if p.Open(issuer + "/account"); p.URL() != issuer+"/login?next=%2Faccount" {
			t.Errorf("whoever is not signed in gets to %s", p.URL())
		}
		tabs := append([]string{"Name", "Password", "Sign in"}, s.scripted("Sign in with a passkey")...)
		s.look("sign in", shown{"Sign in", tabs, append([]string{
			"heading Sign in", "textbox Name required=true", "textbox Password required=true", "button Sign in",
		}, s.scripted("button Sign in with a passkey")...)})

		// With the keyboard alone.
		p.Press(kb.Tab)
		p.Press("ann")
		p.Press(kb.Tab)
		p.Press("wrong horse battery")
		p.ExpectStatus(http.StatusUnprocessableEntity)
		if status := p.FollowKey(kb.Enter); status != http.StatusUnprocessableEntity {
			t.Errorf("a wrong password = %d", status)
		}
		p.Wait("#password:focus")
		s.look("sign in refused", shown{"Error: Sign in", tabs, append([]string{
			"heading Sign in", "alert The name or the password is wrong.",
			"textbox Name (The name or the password is wrong.) required=true", "textbox Password (The name or the password is wrong.) required=true", "button Sign in",
		}, s.scripted("button Sign in with a passkey")...)})
		p.Fill("#password", password)
		if status := p.FollowKey(kb.Enter); status != http.StatusOK || p.URL() != issuer+"/account" {
			t.Fatalf("the right password = %d, %s", status, p.URL())
		}
		s.look("account", s.account(""))

		p.Follow(".leave button")
		if p.URL() != issuer+"/signed-out" {
			t.Errorf("signing out leads to %s", p.URL())
		}
		s.look("signed out", shown{"Signed out", []string{"Sign in again"}, []string{"heading Signed out", "link Sign in again"}})
		if p.Follow("a"); p.Title() != "Sign in · Run Python" {
			t.Errorf("after signing out the link leads to %s", p.Title())
		}
	})
}

// consent is the page on which somebody decides about an app.
func consent(where, host string, more ...string) shown {
	tree := append([]string{"heading Allow this app?", "heading If you allow it, it may", "term " + where, "definition " + host}, more...)
	return shown{"Allow this app?", []string{"Allow", "Do not allow", "Sign out"}, append(tree, "button Allow", "button Do not allow", "button Sign out")}
}

func TestBrowserConsent(t *testing.T) {
	walk(t, func(t *testing.T, s *surroundings) {
		p := s.page
		s.signIn("ann", false)
		const note = "note The app has chosen its name itself. Go on only if you know app.example, and have just started this there."

		registered := s.register("Data Explorer", callback)
		p.Open(issuer + ask(registered, callback))
		s.look("consent registered", consent("You return to", appHost, note))
		if text := p.Text("main"); !strings.Contains(text, "Data Explorer") || !strings.Contains(text, "run Python code in your chats, and read their files") || strings.Contains(text, "administrator") {
			t.Errorf("the page says\n%s", text)
		}
		if p.Follow("button[value=deny]"); s.last().Get("error") != "access_denied" || s.last().Has("code") {
			t.Errorf("a no = %v", s.last())
		}

		p.Open(issuer + ask(s.document, callback))
		s.look("consent document", consent("You return to", appHost, "term The app describes itself at", "definition "+s.document, note))
		p.Press(kb.Tab)
		if p.Focused() != "Allow" {
			t.Fatalf("the first Tab leads to %q", p.Focused())
		}
		p.FollowKey(kb.Enter)
		s.redeem(s.document, callback)

		local := s.register("Terminal Helper", "http://127.0.0.1/callback")
		p.Open(issuer + ask(local, s.local))
		s.look("consent own machine", consent("You return to a program on your own computer", strings.TrimSuffix(strings.TrimPrefix(s.local, "http://"), "/callback"),
			"note Any program there can say that it is this app. Go on only if you have just started this in an app that you trust."))
		p.Follow("button[value=approve]")
		s.redeem(local, s.local)
		if from := s.cameFrom(); from != "" {
			t.Errorf("an app was told that people come from %s", from)
		}

		s.pass(time.Minute)
		token := identity.NewToken{Name: "backup job", User: "ann", Scopes: "run", Expires: 90 * 24 * time.Hour}
		if _, err := s.accounts.CreateToken(t.Context(), token); err != nil {
			t.Fatal(err)
		}
		p.Open(issuer + "/account")
		s.look("account with apps", s.account("", "Notebook Assistant", "Terminal Helper", "backup job"))
		p.Follow(`[aria-label="Disconnect Terminal Helper"]`)
		p.Wait("[role=status]:focus")
		s.look("account with less apps", s.account("Disconnected. It can do nothing here any more, until it is allowed again.", "Notebook Assistant", "backup job"))
	})
}

// The first account, an administrator's, who is then asked for more.
func TestBrowserSetup(t *testing.T) {
	walk(t, func(t *testing.T, s *surroundings) {
		p := s.page
		link, err := s.accounts.BeginSetup(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p.Open(web.SetupURL(issuer, link))
		tabs := []string{"Name", "Password", "Make the account"}
		s.look("first account", shown{"Make the first account", tabs, []string{
			"heading Make the first account", "textbox Name required=true", "textbox Password (10 to 256 characters.) required=true", "button Make the account",
		}})
		p.ExpectStatus(http.StatusUnprocessableEntity)
		refuse := func(name, password, field string) {
			p.Fill("#username", name)
			p.Fill("#password", password)
			if status := p.Follow("button.main"); status != http.StatusUnprocessableEntity {
				t.Errorf("the name %q with the password %q = %d", name, password, status)
			}
			p.Wait(field + ":focus")
		}
		refuse("boss", "aaaaaaaaaa", "#password")
		const badPassword = "The password must not be the name, nor one letter again and again."
		s.look("first account bad password", shown{"Error: Make the first account", tabs, []string{"heading Make the first account", "alert " + badPassword,
			"textbox Name required=true", "textbox Password (" + badPassword + " 10 to 256 characters.) invalid=true required=true", "button Make the account",
		}})
		refuse("the boss", password, "#username")
		const badName = "The name must have 1 to 64 letters a-z, digits and, between them, . _ @ + -."
		s.look("first account bad name", shown{"Error: Make the first account", tabs, []string{"heading Make the first account", "alert " + badName,
			"textbox Name (" + badName + ") invalid=true required=true", "textbox Password (10 to 256 characters.) required=true", "button Make the account",
		}})
		p.Fill("#username", "boss")
		p.Fill("#password", password)
		if p.Follow("button.main"); p.URL() != issuer+"/account" {
			t.Errorf("the first account leads to %s", p.URL())
		}
		p.Open(issuer + ask(s.register("Dashboard", callback), callback))
		if text := p.Text("main"); !strings.Contains(text, "which is for administrators") {
			t.Errorf("an administrator is asked\n%s", text)
		}
		p.ExpectStatus(http.StatusNotFound)
		p.Open(web.SetupURL(issuer, link))
		s.look("first account again", shown{"Error: That did not work", nil, []string{"heading That did not work",
			"alert This link is not good any more: it is good once, for an hour after the start of the server. Start the server anew, or add a user with `runpython user add NAME`."}})
	})
}

// What went wrong is said on a page that people can read and leave.
func TestBrowserProblems(t *testing.T) {
	walk(t, func(t *testing.T, s *surroundings) {
		p := s.page
		p.ExpectStatus(http.StatusBadRequest)
		p.Open(issuer + ask("nobody", callback))
		s.look("unknown app", shown{"Error: That did not work", nil, []string{"heading That did not work",
			"alert The app that sent you here is not known (invalid_client). Remove this server in the app and add it again."}})
		p.Open(issuer + strings.Replace(ask(s.register("Old App", callback), callback), "S256", "plain", 1))
		s.look("wrong request", shown{"Error: That did not work", []string{"go back to the app"}, []string{"heading That did not work",
			"alert The request of Old App is wrong (invalid_request): code_challenge_method must be S256.", "link go back to the app"}})
		if p.Follow("a"); s.last().Get("error") != "invalid_request" {
			t.Errorf("the app is told %v", s.last())
		}

		s.signIn("ann", false)
		p.Open(issuer + ask(s.register("Slow App", callback), callback))
		s.pass(11 * time.Minute)
		p.ExpectStatus(http.StatusGone)
		p.Follow("button[value=approve]")
		s.look("too late", shown{"Error: That did not work", nil, []string{"heading That did not work",
			"alert This was decided already, or you took more than ten minutes. Begin again in the app."}})

		p.Open(issuer + "/account")
		if _, err := chromedp.Call(p.Context(), network.ClearBrowserCookies, cdp.Empty{}); err != nil {
			t.Fatal(err)
		}
		p.ExpectStatus(http.StatusForbidden)
		p.Follow(".leave button")
		s.look("signed out elsewhere", shown{"Error: That did not work", nil, []string{"heading That did not work",
			"alert You are not signed in any more. Begin again in the app."}})

		p.Open(issuer + "/login")
		p.ExpectStatus(http.StatusUnprocessableEntity)
		p.ExpectStatus(http.StatusTooManyRequests)
		status := 0
		for range 10 {
			p.Fill("#username", "ann")
			p.Fill("#password", "guess")
			if status = p.Follow("button.main"); status == http.StatusTooManyRequests {
				break
			}
		}
		if said := p.Text("#problem"); status != http.StatusTooManyRequests || !strings.Contains(said, "Too many attempts to sign in") {
			t.Errorf("guessing ends with %d, %q", status, said)
		}
		p.Look("too many passwords")
	})
}

// What an app says of itself neither hides nor breaks what it is asked for.
func TestBrowserHostileNames(t *testing.T) {
	s := surround(t, false)
	s.signIn("boss", true)
	for name, app := range map[string]struct{ name, redirect string }{
		"long":    {strings.Repeat("W", 200), "https://" + strings.Repeat("a", 63) + "." + strings.Repeat("b", 63) + ".example/cb"},
		"markup":  {`<h1 style="color:red">Allow</h1><script>alert(1)</script>`, "https://xn--80ak6aa92e.example/cb"},
		"turned":  {"\u202etpircS\u202c Data", "https://app.example.evil.example/cb"},
		"scheme":  {"Editor", "editor-of-mine:/callback"},
		"writing": {"数据助手 مساعد البيانات", callback},
	} {
		s.page.Open(issuer + ask(s.register(app.name, app.redirect), app.redirect))
		s.page.Look("consent " + name)
		if n := s.page.Count("h1, script, main [style]"); n != 1 {
			t.Errorf("%s: there are %d elements of which the heading should be the only one", name, n)
		}
		if text := s.page.Text("main"); strings.ContainsRune(text, 0x202e) {
			t.Errorf("%s: the page says\n%s", name, text)
		}
	}
}

// An app on the person's own machine gets its answer through the scheme of its links.
func TestBrowserScheme(t *testing.T) {
	s := surround(t, false)
	s.signIn("ann", false)
	const redirect = "editor-of-mine://callback"
	s.page.Open(issuer + ask(s.register("Editor", redirect), redirect))
	s.page.Expect("a request to " + redirect + "?code=")
	s.page.Click("button[value=approve]")
	s.page.WaitSeen("a request to " + redirect + "?code=")
}

// Pages of others cannot do anything here, nor show these pages as theirs.
func TestBrowserOtherSites(t *testing.T) {
	s := surround(t, false)
	s.signIn("ann", false)
	p := s.page
	grant := store.Grant{ID: "g1", Subject: s.user.ID, Client: "c", Name: "App", Host: appHost, Scopes: "run", Created: s.clock(), Used: s.clock(), Expires: s.clock().Add(time.Hour)}
	if err := s.store.AddGrant(t.Context(), store.Issued{Grant: grant}); err != nil {
		t.Fatal(err)
	}
	p.ExpectStatus(http.StatusForbidden)
	p.Open("https://" + appHost + "/evil")
	if status := p.Follow("button"); status != http.StatusForbidden || p.URL() != issuer+"/account" {
		t.Errorf("a form of another site = %d at %s", status, p.URL())
	}
	s.look("form of another site", shown{"Error: That did not work", nil, []string{"heading That did not work", "alert This form came from a page of another site."}})
	if p.Open(issuer + "/account"); p.Count("li.app") != 1 {
		t.Error("the form of another site has disconnected an app")
	}
	p.Expect("Framing 'https://run.example/' violates")
	p.Open("https://" + appHost + "/frame")
	p.Wait("h1")
}
