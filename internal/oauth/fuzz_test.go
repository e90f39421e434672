package oauth_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"runpython/internal/oauth"
)

// What is taken as a redirect URI never runs anything, never leaves this machine over http, and is where it says.
func FuzzRedirect(f *testing.F) {
	for _, u := range []string{"https://a.example/cb", "http://127.0.0.1:1/", "http://localhost", "cursor://x/y", "javascript:alert(1)", "JAVASCRIPT://%0aalert(1)", "https://a.example\\@b.example/", "http://[::1%25x]:1/", "//x", "com.x:/cb", "http://127.0.0.1.evil/"} {
		f.Add(u, "http://127.0.0.1:9/")
	}
	f.Fuzz(func(t *testing.T, registered, given string) {
		if oauth.CheckRedirect(registered) == "" {
			u, err := url.Parse(registered)
			if err != nil || u.Fragment != "" || u.User != nil || strings.EqualFold(u.Scheme, "javascript") || strings.EqualFold(u.Scheme, "data") {
				t.Fatalf("%q is taken", registered)
			}
			if h := u.Hostname(); u.Scheme == "http" && h != "127.0.0.1" && !strings.EqualFold(h, "localhost") && !strings.HasPrefix(h, "127.") && !strings.Contains(h, ":") {
				t.Fatalf("%q is taken", registered)
			}
			if !oauth.MatchRedirect(registered, registered) {
				t.Fatalf("%q is not itself", registered)
			}
		}
		if oauth.MatchRedirect(registered, given) && registered != given {
			r, rErr := url.Parse(registered)
			g, gErr := url.Parse(given)
			if rErr != nil || gErr != nil || !strings.EqualFold(r.Hostname(), g.Hostname()) || g.Scheme != "http" || g.User != nil {
				t.Fatalf("%q passes for %q", given, registered)
			}
		}
	})
}

// A registration is taken whole and harmless, or not at all.
func FuzzRegistration(f *testing.F) {
	for _, text := range []string{`{"redirect_uris":["https://a.example/"]}`, `{"redirect_uris":["app://x"],"client_name":"\u202e","grant_types":null}`, `[]`, `{"redirect_uris":[1]}`, `{"jwks":{"keys":[{}]},"token_endpoint_auth_method":"private_key_jwt","redirect_uris":["https://a/"]}`} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		m, ok := oauth.ParseRegistration([]byte(text))
		if !ok {
			return
		}
		if len(m.RedirectURIs) == 0 || m.AuthMethod == "" || len(m.GrantTypes) == 0 || !utf8.ValidString(m.Name) || strings.ContainsAny(m.Name, "\n\r\x00\u202e") {
			t.Fatalf("taken: %+v", m)
		}
		for _, u := range m.RedirectURIs {
			if oauth.CheckRedirect(u) != "" {
				t.Fatalf("taken with %q", u)
			}
		}
		again, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := oauth.ParseRegistration(again); !ok {
			t.Fatalf("what was kept is not taken: %s", again)
		}
	})
}

// A client's document speaks for its own URL only, and of no secret.
func FuzzDocument(f *testing.F) {
	const id = "https://a.example/c.json"
	for _, text := range []string{
		`{"client_id":"https://a.example/c.json","client_name":"x","redirect_uris":["https://a.example/"]}`, `{"client_id":"https://b.example/c.json"}`,
		`{"client_id":"https://a.example/c.json","client_name":"x","redirect_uris":["https://a.example/"],"client_secret":null}`, `{"Client_ID":1}`, `{`,
	} {
		f.Add(text, id)
	}
	f.Fuzz(func(t *testing.T, text, url string) {
		c, ok := oauth.ReadDocument(url, []byte(text))
		if ok && (c.ID != url || c.Name == "" || len(c.Secret) > 0 || c.AuthMethod != "none" && c.AuthMethod != "private_key_jwt") {
			t.Fatalf("taken: %+v", c)
		}
		if oauth.CheckDocumentURL(url) == "" && !strings.HasPrefix(url, "https://") && !strings.HasPrefix(strings.ToLower(url), "https://") {
			t.Fatalf("%q is taken for the URL of a document", url)
		}
	})
}

// No request for tokens gives any without a code, and none makes the server fail.
func FuzzToken(f *testing.F) {
	x := newFixture(f, nil)
	for _, body := range []string{"", "grant_type=authorization_code&client_id=x&code=rp_ac_&code_verifier=x", "grant_type=refresh_token&client_id=https://a/b", "client_assertion=a.b.c&client_assertion_type=urn:ietf:params:oauth:client-assertion-type:jwt-bearer", "%zz", "a=b;c=d", "grant_type=authorization_code&grant_type=x"} {
		f.Add(body, "Basic eDp5")
	}
	f.Fuzz(func(t *testing.T, body, authorization string) {
		for _, path := range []string{"/token", "/revoke"} {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, issuer+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Header.Set("Authorization", authorization)
			w := httptest.NewRecorder()
			x.handler.ServeHTTP(w, r)
			var refused struct{ Error string }
			if err := json.Unmarshal(w.Body.Bytes(), &refused); err != nil || refused.Error == "" || w.Code != http.StatusBadRequest && w.Code != http.StatusUnauthorized {
				t.Fatalf("%s %q = %d %s", path, body, w.Code, w.Body)
			}
		}
	})
}

// Whatever is asked for, nobody is sent anywhere but where the client has said, nor linked there.
func FuzzAuthorization(f *testing.F) {
	x := newFixture(f, nil)
	const registered = "http://127.0.0.1:7777/cb"
	client, err := json.Marshal(map[string]any{"redirect_uris": []string{registered}})
	if err != nil {
		f.Fatal(err)
	}
	id := x.post("/register", "application/json", string(client)).member("client_id")
	if id == "" {
		f.Fatal("the client is not registered")
	}
	good := request("", map[string]string{"redirect_uri": registered}).Encode()
	for _, query := range []string{
		good, "", strings.Replace(good, "7777", "1", 1), good + "&redirect_uri=https://evil.example/", strings.Replace(good, "%2Fcb", "%2Fcb%40evil.example%2F", 1),
		good + "&state=x", good + "&prompt=none", good + "&resource=https://other.example", "redirect_uri=javascript:alert(1)", "redirect_uri=http://127.0.0.1:7777\\@evil.example/cb",
	} {
		f.Add(query)
	}
	f.Fuzz(func(t *testing.T, query string) {
		q, err := url.ParseQuery(query)
		if err != nil {
			return
		}
		q.Set("client_id", id)
		a, err := x.ReadAuthorization(t.Context(), q, "192.0.2.1")
		var to string
		page, isPage := errors.AsType[*oauth.PageError](err)
		back, isBack := errors.AsType[*oauth.RedirectError](err)
		switch {
		case err == nil:
			if a.Challenge == "" || len(a.Scopes) == 0 {
				t.Fatalf("%q is taken: %+v", query, a)
			}
			to = a.Redirect
		case isPage:
			to = page.Continue
		case isBack:
			to = back.URL
		default:
			t.Fatalf("%q: %v", query, err)
		}
		if to == "" {
			return
		}
		u, err := url.Parse(to)
		if err != nil || u.Scheme != "http" || u.Hostname() != "127.0.0.1" || u.Path != "/cb" || u.User != nil || u.Fragment != "" {
			t.Fatalf("%q leads to %q", query, to)
		}
	})
}
