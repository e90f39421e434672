package web_test

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"runpython/internal/provider"
	"runpython/internal/provider/providertest"
	"runpython/internal/web"
)

// withProvider lets people sign in at a provider too.
func withProvider(t *testing.T, s *site) *providertest.Rogue {
	t.Helper()
	r := providertest.NewRogue(t, s.clock)
	o := r.Options(web.ReturnURL(issuer))
	o.Name = "Our <Login>"
	s.accounts.Provider = provider.New(o)
	t.Cleanup(s.accounts.Provider.Client.CloseIdleConnections)
	return r
}

// leave presses the button, and returns where the browser has to go.
func (b *browser) leave(next string) string {
	b.t.Helper()
	_, page := b.get("/login?" + url.Values{"next": {next}}.Encode())
	res, _ := b.post(page, "/login/provider", nil)
	if res.StatusCode != http.StatusSeeOther {
		b.t.Fatalf("the button = %d", res.StatusCode)
	}
	return res.Header.Get("Location")
}

func TestSignInAtAProvider(t *testing.T) {
	s := newSite(t)
	r := withProvider(t, s)
	b := s.browser()
	res, page := b.get("/login?next=/account")
	if !strings.Contains(page, "Sign in with Our &lt;Login&gt;") || !strings.Contains(page, `name="password"`) {
		t.Errorf("the page to sign in:\n%s", page)
	}
	if csp := res.Header.Get("Content-Security-Policy"); !strings.Contains(csp, "form-action 'self' http:;") { // as the issuer is
		t.Errorf("the form may not lead to the provider: %q", csp)
	}
	path := ask(s.client("App", callback), callback)
	to := b.leave(path)
	if !strings.HasPrefix(to, r.URL()+"/auth?") {
		t.Fatalf("the button leads to %q", to)
	}
	res = b.send(http.MethodGet, "/login/callback?"+r.Arrive(to).Encode(), nil, map[string]string{"Sec-Fetch-Site": "cross-site"})
	if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != path {
		t.Fatalf("coming back = %d, %q", res.StatusCode, res.Header.Get("Location"))
	}
	if _, page := b.get(path); !strings.Contains(page, "Allow this app?") || !strings.Contains(page, "signed in as <strong>ann@example.org</strong>") {
		t.Errorf("then:\n%s", page)
	}
	s.accounts.ProviderOnly = true
	_, page = s.browser().get("/login")
	if strings.Contains(page, `name="password"`) || !strings.Contains(page, "Sign in with") {
		t.Errorf("without passwords:\n%s", page)
	}
}

// Nobody is made to sign in, or signed in as somebody else, by links and forms of others.
func TestProviderForgeries(t *testing.T) {
	s := newSite(t)
	r := withProvider(t, s)
	mallory, ann := s.browser(), s.browser()
	q := r.Arrive(mallory.leave("/account"))
	ann.get("/login")
	for name, b := range map[string]*browser{"a browser that was here": ann, "one that was not": s.browser()} {
		res := b.send(http.MethodGet, "/login/callback?"+q.Encode(), nil, nil)
		page := read(t, res)
		if res.StatusCode != http.StatusNotFound || !strings.Contains(page, "begin again") || b.cookies["__Host-runpython_session"] != nil {
			t.Errorf("Mallory's answer at %s = %d\n%s", name, res.StatusCode, page)
		}
	}
	if res := mallory.send(http.MethodGet, "/login/callback?"+q.Encode(), nil, nil); res.StatusCode != http.StatusSeeOther {
		t.Errorf("at Mallory's own = %d", res.StatusCode)
	}
	if res := mallory.send(http.MethodGet, "/login/callback?"+q.Encode(), nil, nil); res.StatusCode != http.StatusNotFound {
		t.Errorf("a second time = %d", res.StatusCode)
	}
	_, page := ann.get("/login")
	form := fields(t, page, "/login/provider")
	for name, header := range map[string]map[string]string{"another site": {"Sec-Fetch-Site": "cross-site"}, "no secret": nil} {
		v := maps.Clone(form)
		if header == nil {
			v.Del("csrf")
		}
		if res := ann.send(http.MethodPost, "/login/provider", v, header); res.StatusCode != http.StatusForbidden || res.Header.Get("Location") != "" {
			t.Errorf("the button, pressed by %s = %d", name, res.StatusCode)
		}
	}
	if to := ann.leave("https://evil.example/"); to == "" {
		t.Error("no way to the provider")
	} else if res := ann.send(http.MethodGet, "/login/callback?"+r.Arrive(to).Encode(), nil, nil); res.Header.Get("Location") != "/account" {
		t.Errorf("leads to %q", res.Header.Get("Location"))
	}
}

// A message begins with a capital, in whatever letters the operator has named the provider.
func TestProviderOfAnyName(t *testing.T) {
	s := newSite(t)
	withProvider(t, s)
	s.accounts.Provider.Name = "éditions"
	b := s.browser()
	state, err := url.Parse(b.leave("/account"))
	if err != nil {
		t.Fatal(err)
	}
	answer := url.Values{"state": {state.Query().Get("state")}, "error": {"access_denied"}}
	if page := read(t, b.send(http.MethodGet, "/login/callback?"+answer.Encode(), nil, nil)); !strings.Contains(page, ">Éditions has not signed you in") {
		t.Errorf("the page:\n%s", page)
	}
}

// What the provider says of a failure is shown to nobody, and the person can go on in another way.
func TestProviderIsAway(t *testing.T) {
	s := newSite(t)
	r := withProvider(t, s)
	b := s.browser()
	path := ask(s.client("App", callback), callback)
	to := b.leave(path)
	state, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	answer := url.Values{"state": {state.Query().Get("state")}, "error": {"<script>alert(1)</script>"}, "error_description": {"<b>evil</b>"}}
	res := b.send(http.MethodGet, "/login/callback?"+answer.Encode(), nil, nil)
	page := read(t, res)
	if res.StatusCode != http.StatusUnprocessableEntity || strings.Contains(page, "alert(1)") || strings.Contains(page, "evil") || !strings.Contains(page, `role="alert"`) {
		t.Errorf("an error = %d\n%s", res.StatusCode, page)
	}
	if next := fields(t, page, "/login/provider").Get("next"); next != path {
		t.Errorf("after an error the person goes to %q", next)
	}
	r.Stop()
	s.accounts.Provider = provider.New(r.Options(web.ReturnURL(issuer))) // which knows nothing of it yet
	res, page = b.post(page, "/login/provider", nil)
	if res.StatusCode != http.StatusServiceUnavailable || res.Header.Get("Retry-After") == "" || !strings.Contains(page, "Our Login does not answer at the moment: try again in a minute.") {
		t.Errorf("away = %d\n%s", res.StatusCode, page)
	}
	res, _ = b.post(page, "/login", map[string]string{"username": "ann", "password": password})
	if res.StatusCode != http.StatusSeeOther || res.Header.Get("Location") != path {
		t.Errorf("a password meanwhile = %d, %q", res.StatusCode, res.Header.Get("Location"))
	}
}

// Without a provider nothing of one is there.
func TestNoProvider(t *testing.T) {
	b := newSite(t).browser()
	_, page := b.get("/login")
	if strings.Contains(page, "/login/provider") {
		t.Errorf("a button without a provider:\n%s", page)
	}
	v := fields(t, page, "/login")
	if res := b.send(http.MethodPost, "/login/provider", v, map[string]string{"Sec-Fetch-Site": "same-origin"}); res.StatusCode != http.StatusNotFound {
		t.Errorf("the button = %d", res.StatusCode)
	}
	if res, _ := b.get("/login/callback?state=x&code=y"); res.StatusCode != http.StatusNotFound {
		t.Errorf("coming back = %d", res.StatusCode)
	}
}
