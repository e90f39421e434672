package web_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"runpython/internal/identity"
	"runpython/internal/store"
)

// administrator is a browser where olga, an administrator, is signed in.
func (s *site) administrator() (*browser, store.User) {
	s.t.Helper()
	root, err := s.accounts.AddUser(s.t.Context(), "olga", password, true)
	if err != nil {
		s.t.Fatal(err)
	}
	b := s.browser()
	_, page := b.get("/login?next=/admin")
	if res, _ := b.post(page, "/login", map[string]string{"username": "olga", "password": password}); res.Header.Get("Location") != "/admin" {
		s.t.Fatalf("signing in leads to %q", res.Header.Get("Location"))
	}
	return b, root
}

func (s *site) token(user, scope string) string {
	s.t.Helper()
	token, err := s.accounts.CreateToken(s.t.Context(), identity.NewToken{Name: "job <" + scope + ">", User: user, Scopes: scope, Expires: time.Hour})
	if err != nil {
		s.t.Fatal(err)
	}
	return token
}

// Administrators see who is there and what acts for whom, and end it.
func TestAdministration(t *testing.T) {
	s := newSite(t)
	b, root := s.administrator()
	token := s.token("ann", "run")
	if _, err := s.store.Begin(t.Context(), store.Chat{ID: "c", Owner: s.user.ID}); err != nil {
		t.Fatal(err)
	}
	_, page := b.get("/account")
	if !strings.Contains(page, `href="/admin"`) {
		t.Errorf("no way to the pages for administrators:\n%s", page)
	}
	_, page = b.get("/admin")
	for _, want := range []string{"Chats of all: 1", "ann</a>", "olga</a>", "An administrator.", "600 &amp; more", `/admin/person?id=` + s.user.ID} {
		if !strings.Contains(page, want) {
			t.Errorf("no %s in\n%s", want, page)
		}
	}
	path := "/admin/person?id=" + s.user.ID
	_, page = b.get(path)
	if !strings.Contains(page, "job &lt;run&gt;") || !strings.Contains(page, "May: run.") || !strings.Contains(page, "Chats: 1") {
		t.Errorf("ann:\n%s", page)
	}
	u, err := s.accounts.Grants(t.Context(), s.user)
	if err != nil || len(u) != 1 {
		t.Fatalf("grants = %v, %v", u, err)
	}
	res, _ := b.post(page, "/admin/person", map[string]string{"revoke": u[0].ID})
	_, page = b.get(res.Header.Get("Location"))
	if !strings.Contains(page, `role="status"`) || strings.Contains(page, "job") {
		t.Errorf("after revoking:\n%s", page)
	}
	if who, err := s.accounts.Bearer(t.Context(), []string{"Bearer " + token}); err == nil {
		t.Errorf("the token is still %+v's", who)
	}
	b.post(page, "/admin/person", map[string]string{"disable": "true"})
	_, page = b.get(path)
	if !strings.Contains(page, "Disabled.") || s.browser().mayEnter("ann") {
		t.Errorf("after disabling:\n%s", page)
	}
	b.post(page, "/admin/person", map[string]string{"disable": "false"})
	if !s.browser().mayEnter("ann") {
		t.Error("who was enabled cannot sign in")
	}
	_, page = b.get("/admin/person?id=" + root.ID)
	if strings.Contains(page, `name="disable"`) {
		t.Errorf("one's own account can be disabled:\n%s", page)
	}
	_, page = b.get(path)
	if res, _ := b.post(page, "/admin/person", map[string]string{"disable": "true", "id": root.ID}); res.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("disabling oneself = %d", res.StatusCode)
	}
	for what, changed := range map[string]map[string]string{"nobody": {"disable": "true", "id": "x"}, "another's token": {"revoke": "x"}} {
		if res, _ := b.post(page, "/admin/person", changed); res.StatusCode != http.StatusNotFound {
			t.Errorf("%s = %d", what, res.StatusCode)
		}
	}
	if res, _ := b.post(page, "/admin/person", nil); res.StatusCode != http.StatusUnprocessableEntity {
		t.Errorf("a form without a word = %d", res.StatusCode)
	}
	if res, _ := b.get("/admin/person?id=x"); res.StatusCode != http.StatusNotFound {
		t.Errorf("nobody's page = %d", res.StatusCode)
	}
}

// mayEnter reports whether somebody signs in with the password.
func (b *browser) mayEnter(name string) bool {
	b.t.Helper()
	_, page := b.get("/login")
	res, _ := b.post(page, "/login", map[string]string{"username": name, "password": password})
	return res.StatusCode == http.StatusSeeOther
}

// Nobody else sees or changes anything there.
func TestAdministrationIsForAdministrators(t *testing.T) {
	s := newSite(t)
	b, _ := s.administrator()
	_, page := b.get("/admin/person?id=" + s.user.ID)
	form := fields(t, page, "/admin/person")
	ann, nobody := s.browser(), s.browser()
	ann.signIn("")
	_, own := ann.get("/account")
	if strings.Contains(own, "/admin") {
		t.Errorf("ann is shown the way:\n%s", own)
	}
	for _, path := range []string{"/admin", "/admin/person?id=" + s.user.ID} {
		if res, page := ann.get(path); res.StatusCode != http.StatusForbidden || strings.Contains(page, "olga") {
			t.Errorf("%s for ann = %d\n%s", path, res.StatusCode, page)
		}
		if res, _ := nobody.get(path); res.StatusCode != http.StatusSeeOther || !strings.HasPrefix(res.Header.Get("Location"), "/login?next=%2Fadmin") {
			t.Errorf("%s for nobody = %d %s", path, res.StatusCode, res.Header.Get("Location"))
		}
	}
	forged := url.Values{"id": {s.user.ID}, "disable": {"true"}}
	form.Set("disable", "true")
	for name, send := range map[string]func() *http.Response{
		"by ann, with her own secret": func() *http.Response {
			forged.Set("csrf", fields(t, own, "/logout").Get("csrf"))
			return ann.send(http.MethodPost, "/admin/person", forged, map[string]string{"Sec-Fetch-Site": "same-origin"})
		},
		"without a secret": func() *http.Response {
			forged.Del("csrf")
			return b.send(http.MethodPost, "/admin/person", forged, map[string]string{"Sec-Fetch-Site": "same-origin"})
		},
		"from another site": func() *http.Response {
			return b.send(http.MethodPost, "/admin/person", form, map[string]string{"Sec-Fetch-Site": "cross-site"})
		},
		"by a token": func() *http.Response {
			return nobody.send(http.MethodPost, "/admin/person", form, map[string]string{"Authorization": "Bearer " + s.token("olga", "admin")})
		},
	} {
		if res := send(); res.StatusCode != http.StatusForbidden {
			t.Errorf("%s = %d", name, res.StatusCode)
		}
	}
	if !s.browser().mayEnter("ann") {
		t.Error("ann was disabled")
	}
}

// A token with the scope admin reads the pages, without forms; others are told what they need.
func TestAdministrationByToken(t *testing.T) {
	s := newSite(t)
	_, root := s.administrator()
	get := func(token, path string) (*http.Response, string) {
		t.Helper()
		res := s.browser().send(http.MethodGet, path, nil, map[string]string{"Authorization": "Bearer " + token})
		return res, read(t, res)
	}
	admin := s.token("olga", "admin")
	for _, path := range []string{"/admin", "/admin/person?id=" + root.ID, "/admin/person?id=" + s.user.ID} {
		res, page := get(admin, path)
		if res.StatusCode != http.StatusOK || strings.Contains(page, "<form") || !strings.Contains(page, "olga") && !strings.Contains(page, "ann") || res.Header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s = %d\n%s", path, res.StatusCode, page)
		}
	}
	const metadata = `, scope="admin", resource_metadata="https://run.example/.well-known/oauth-protected-resource/mcp"`
	for token, want := range map[string]struct {
		status    int
		challenge string
	}{
		s.token("olga", "run"): {http.StatusForbidden, `Bearer realm="runpython", error="insufficient_scope", error_description="the token does not have the scope admin"` + metadata},
		"rp_mt_x":              {http.StatusUnauthorized, `Bearer realm="runpython", error="invalid_token", error_description="the token is expired, revoked, or not for this server"` + metadata},
	} {
		res, page := get(token, "/admin")
		if res.StatusCode != want.status || res.Header.Get("WWW-Authenticate") != want.challenge || strings.Contains(page, "olga") {
			t.Errorf("with %.6s = %d %q\n%s", token, res.StatusCode, res.Header.Get("WWW-Authenticate"), page)
		}
	}
}

// Of many people a page has some, and the next one the rest.
func TestManyPeople(t *testing.T) {
	s := newSite(t)
	b, _ := s.administrator()
	for i := range 60 {
		u := store.User{ID: fmt.Sprint("u", i), Name: fmt.Sprintf("many-%02d", i), Created: s.clock()}
		if err := s.store.AddUser(t.Context(), u, 100); err != nil {
			t.Fatal(err)
		}
	}
	seen := 0
	for path := "/admin"; path != ""; {
		_, page := b.get(path)
		seen += strings.Count(page, "/admin/person?id=")
		_, next, _ := strings.Cut(page, `<a href="/admin?`)
		next, _, more := strings.Cut(next, `"`)
		if path = ""; more && next != "" {
			path = "/admin?" + next
		}
	}
	if seen != 62 {
		t.Errorf("%d people are shown, want 62", seen)
	}
}
