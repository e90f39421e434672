package web_test

import (
	"html"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"runpython/internal/identity"
	"runpython/internal/passkey/passkeytest"
)

// passkeyForm returns the hidden fields of the form of a page that sends a passkey to a path, and where what to ask for is.
func passkeyForm(t *testing.T, page, path string) (v url.Values, options string) {
	t.Helper()
	form := regexp.MustCompile(`(?s)<form method="post" action="` + path + `" data-passkey="\w+" data-options="([^"]+)" hidden>(.*?)</form>`).FindStringSubmatch(page)
	if form == nil {
		t.Fatalf("no form with a passkey for %s in\n%s", path, page)
	}
	v = url.Values{}
	for _, f := range hidden.FindAllStringSubmatch(form[2], -1) {
		v.Set(f[1], html.UnescapeString(f[2]))
	}
	return v, form[1]
}

// sameOrigin is the header of what a page of this server sends.
func sameOrigin() map[string]string { return map[string]string{"Sec-Fetch-Site": "same-origin"} }

// usePasskey does what the script does with the form of a page that is sent to a path: do gives the answer to what is to be asked for.
func (b *browser) usePasskey(page, path string, changed map[string]string, do func(asked []byte) []byte) (*http.Response, string) {
	b.t.Helper()
	v, options := passkeyForm(b.t, page, path)
	for name, value := range changed {
		v.Set(name, value)
	}
	res := b.send(http.MethodPost, options, v, sameOrigin())
	text := read(b.t, res)
	if res.StatusCode != http.StatusOK {
		return res, text
	}
	if kind := res.Header.Get("Content-Type"); kind != "application/json" {
		b.t.Errorf("what to ask for is %q", kind)
	}
	v.Set("answer", string(do([]byte(text))))
	res = b.send(http.MethodPost, path, v, sameOrigin())
	return res, read(b.t, res)
}

// addPasskey adds one at a browser that is signed in.
func (b *browser) addPasskey(name string) *passkeytest.Authenticator {
	b.t.Helper()
	a := passkeytest.New(b.t, issuer)
	_, page := b.get("/account")
	res, text := b.usePasskey(page, "/account/passkeys", map[string]string{"name": name}, func(asked []byte) []byte { return a.Create(asked, nil) })
	if to := res.Header.Get("Location"); to != "/account?passkey=add" {
		b.t.Fatalf("adding a passkey = %d %q\n%s", res.StatusCode, to, text)
	}
	return a
}

// signInBy signs in with a passkey, and returns the answer.
func (b *browser) signInBy(a *passkeytest.Authenticator, next string, bend func(*passkeytest.Says)) (*http.Response, string) {
	b.t.Helper()
	_, page := b.get("/login?" + url.Values{"next": {next}}.Encode())
	return b.usePasskey(page, "/login/passkey", nil, func(asked []byte) []byte { return a.Get(asked, bend) })
}

// has fails the test unless a page has all texts.
func has(t *testing.T, page string, texts ...string) {
	t.Helper()
	for _, want := range texts {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in\n%s", want, page)
		}
	}
}

func TestPasskeys(t *testing.T) {
	s := newSite(t)
	b := s.browser()
	b.signIn("")
	_, page := b.get("/account")
	has(t, page, "You have no passkey here", `value="Passkey 1"`, "with JavaScript on")
	a := b.addPasskey("An <i>old</i> phone")
	_, page = b.get("/account?passkey=add")
	has(t, page, "The passkey is added", "<h3><bdi>An &lt;i&gt;old&lt;/i&gt; phone</bdi></h3>", "never used", `value="Passkey 2"`)
	res, page := b.usePasskey(page, "/account/passkeys", map[string]string{"name": "An <i>old</i> phone"}, func([]byte) []byte { t.Error("it is asked for"); return nil })
	if res.StatusCode != http.StatusUnprocessableEntity || res.Header.Get("Content-Type") != "text/plain; charset=utf-8" || !strings.Contains(page, "of that name already") {
		t.Errorf("the same name = %d %s", res.StatusCode, page)
	}
	_, page = b.get("/account")
	res, text := b.post(page, "/account/passkeys", map[string]string{"action": "rename", "name": "Telefon"})
	if to := res.Header.Get("Location"); to != "/account?passkey=rename" {
		t.Errorf("renaming = %d %q\n%s", res.StatusCode, to, text)
	}
	res, text = b.post(page, "/account/passkeys", map[string]string{"action": "rename", "name": "\x00"})
	if res.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("renaming to what is no name = %d", res.StatusCode)
	}
	has(t, text, `role="alert"`, "printable text", "<h3><bdi>Telefon</bdi></h3>")

	other := s.browser()
	for next, want := range map[string]string{"": "/account", "/authorize?client_id=x": "/authorize?client_id=x", "https://evil.example": "/account"} {
		res, text := other.signInBy(a, next, nil)
		if to := res.Header.Get("Location"); res.StatusCode != http.StatusSeeOther || to != want {
			t.Errorf("next %q leads to %d %q, want %q\n%s", next, res.StatusCode, to, want, text)
		}
	}
	_, page = other.get("/account")
	has(t, page, "signed in as <strong>ann</strong>", "last used 15 January 2027", "Telefon")

	res, _ = other.post(page, "/account/passkeys", map[string]string{"action": "remove"})
	_, text = other.get(res.Header.Get("Location"))
	has(t, text, "The passkey is removed", "You have no passkey here")
	res, text = other.post(page, "/account/passkeys", map[string]string{"action": "remove"})
	if res.StatusCode != http.StatusNotFound {
		t.Errorf("removing it twice = %d", res.StatusCode)
	}
	has(t, text, "This passkey is not there any more")
	res, text = s.browser().signInBy(a, "/authorize?client_id=x", nil)
	if res.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("a passkey that was removed = %d", res.StatusCode)
	}
	has(t, text, "Nobody signs in here with this passkey", `aria-describedby="problem" autofocus>Sign in with a passkey`, `name="next" value="/authorize?client_id=x"`)
	if strings.Count(text, `aria-describedby="problem"`) != 1 {
		t.Errorf("the problem is tied to the password:\n%s", text)
	}
}

// Who comes later than ten minutes after signing in adds no passkey, and is told what to do.
func TestPasskeysOfOpenBrowsers(t *testing.T) {
	s := newSite(t)
	b := s.browser()
	b.signIn("")
	_, before := b.get("/account")
	s.pass(identity.RecentTime)
	res, page := b.get("/account")
	has(t, page, `<a href="/login?next=%2Faccount">sign in again</a>`)
	if strings.Contains(page, "data-passkey") || strings.Contains(res.Header.Get("Content-Security-Policy"), "script-src") {
		t.Errorf("one may be added, under %q, by\n%s", res.Header.Get("Content-Security-Policy"), page)
	}
	res, text := b.usePasskey(before, "/account/passkeys", map[string]string{"name": "x"}, func([]byte) []byte { t.Error("it is asked for"); return nil })
	if res.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(text, "sign in again to add a passkey") {
		t.Errorf("it is answered by %d %s", res.StatusCode, text)
	}
	b.signIn("")
	b.addPasskey("x")
}

// Passkeys are used by pages of this server only, at the browser that was asked.
func TestForgedPasskeys(t *testing.T) {
	s := newSite(t)
	b := s.browser()
	b.signIn("")
	a := b.addPasskey("Phone")
	_, account := b.get("/account")
	mallory := s.browser()
	_, login := mallory.get("/login")
	v, options := passkeyForm(t, login, "/login/passkey")
	refused := func(name string, from *browser, path string, form url.Values, header map[string]string) {
		t.Helper()
		res := from.send(http.MethodPost, path, form, header)
		if text := read(t, res); res.StatusCode != http.StatusForbidden || strings.Contains(text, "challenge") {
			t.Errorf("%s = %d\n%s", name, res.StatusCode, text)
		}
	}
	crossSite := map[string]string{"Sec-Fetch-Site": "cross-site"}
	refused("another site asks", mallory, options, v, crossSite)
	refused("another site answers", mallory, "/login/passkey", v, crossSite)
	refused("nobody's browser asks", s.browser(), options, v, sameOrigin())
	refused("no secret", mallory, options, nil, sameOrigin())
	refused("no secret of a new one", b, "/account/passkeys/options", url.Values{"name": {"x"}}, sameOrigin())
	refused("no secret of a removal", b, "/account/passkeys", url.Values{"action": {"remove"}}, sameOrigin())
	refused("who is not signed in asks for a new one", mallory, "/account/passkeys/options", url.Values{"csrf": v["csrf"]}, sameOrigin())
	form, _ := passkeyForm(t, account, "/account/passkeys")
	form.Set("action", "steal")
	if res := b.send(http.MethodPost, "/account/passkeys", form, sameOrigin()); res.StatusCode != http.StatusBadRequest {
		t.Errorf("an unknown action = %d", res.StatusCode)
	}

	// What Ann's browser was asked answers at hers, not at Mallory's.
	res := s.browser()
	_, login = res.get("/login")
	anns, options := passkeyForm(t, login, "/login/passkey")
	answer := a.Get([]byte(read(t, res.send(http.MethodPost, options, anns, sameOrigin()))), nil)
	if r := read(t, mallory.send(http.MethodPost, options, v, sameOrigin())); !strings.Contains(r, "challenge") {
		t.Fatal(r)
	}
	v.Set("answer", string(answer))
	got := mallory.send(http.MethodPost, "/login/passkey", v, sameOrigin())
	if text := read(t, got); got.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(text, "another question") {
		t.Errorf("Ann's answer at Mallory's browser = %d\n%s", got.StatusCode, text)
	}
	saved := &browser{s, maps.Clone(res.cookies)}
	anns.Set("answer", string(answer))
	if r := res.send(http.MethodPost, "/login/passkey", anns, sameOrigin()); r.StatusCode != http.StatusSeeOther {
		t.Errorf("at hers = %d", r.StatusCode)
	}
	got = saved.send(http.MethodPost, "/login/passkey", anns, sameOrigin())
	if text := read(t, got); got.StatusCode != http.StatusUnprocessableEntity || !strings.Contains(text, "This was done already") {
		t.Errorf("a second time, with her old cookie = %d\n%s", got.StatusCode, text)
	}

	a.Forge = true
	for range 5 {
		res, text := mallory.signInBy(a, "", nil)
		if res.StatusCode != http.StatusUnprocessableEntity {
			t.Errorf("a forged signature = %d\n%s", res.StatusCode, text)
		}
	}
	late, text := mallory.signInBy(a, "", nil)
	if late.StatusCode != http.StatusTooManyRequests || late.Header.Get("Retry-After") == "" || !strings.Contains(text, "Too many attempts") {
		t.Errorf("too many of them = %d\n%s", late.StatusCode, text)
	}
}

func TestPasskeyScript(t *testing.T) {
	res, text := newSite(t).browser().get("/passkey.js")
	if h := res.Header; res.StatusCode != http.StatusOK || h.Get("Content-Type") != "text/javascript; charset=utf-8" || h.Get("X-Content-Type-Options") != "nosniff" {
		t.Errorf("the script is %d %v", res.StatusCode, h)
	}
	for _, never := range []string{"innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "Function("} {
		if strings.Contains(text, never) {
			t.Errorf("the script has %s", never)
		}
	}
}

// Where browsers have no passkeys, nothing is said of them.
func TestNoPasskeysAtAddresses(t *testing.T) {
	s := newSite(t)
	s.accounts.Party = nil
	b := s.browser()
	res, page := b.get("/login")
	b.signIn("")
	_, account := b.get("/account")
	if text := page + account + res.Header.Get("Content-Security-Policy"); strings.Contains(strings.ToLower(text), "passkey") || strings.Contains(text, "script") {
		t.Errorf("there are passkeys, or scripts:\n%s", text)
	}
	other := s.browser()
	_, page = other.get("/login")
	asked := other.send(http.MethodPost, "/login/passkey/options", fields(t, page, "/login"), sameOrigin())
	if text := read(t, asked); asked.StatusCode != http.StatusNotFound || !strings.Contains(text, "sign in with your password") {
		t.Errorf("asking all the same = %d %s", asked.StatusCode, text)
	}
}
