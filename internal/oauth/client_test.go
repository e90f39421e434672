package oauth_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/go-cmp/cmp"

	"runpython/internal/oauth"
	"runpython/internal/store"
	"runpython/internal/store/database"
)

func TestRegister(t *testing.T) {
	f := newFixture(t, nil)
	t.Run("OAU-16 what comes back", func(t *testing.T) {
		if a := f.post("/register", "application/json", ""); a.status != http.StatusBadRequest || a.code() != "invalid_client_metadata" {
			t.Errorf("an empty body: %d %s", a.status, a.text)
		}
		a := f.register(`{"client_name":" An\u202e  App\n","redirect_uris":["https://a.example/cb"],"grant_types":["refresh_token","authorization_code","urn:device"],"scope":"run other","logo_uri":"https://x.example/","contacts":7}`)
		if len(a.member("client_id")) < 20 {
			t.Errorf("client_id = %q", a.member("client_id"))
		}
		delete(a.body, "client_id")
		want := map[string]any{
			"client_id_issued_at": 1.8e9, "client_name": "An App", "redirect_uris": []any{"https://a.example/cb"}, "grant_types": []any{"authorization_code", "refresh_token"},
			"response_types": []any{"code"}, "token_endpoint_auth_method": "none", "scope": "run", "application_type": "web",
		}
		if diff := cmp.Diff(want, a.body); diff != "" || a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("registration %v (-want +got):\n%s", a.header, diff)
		}
	})
	t.Run("OAU-08 the scheme of an app", func(t *testing.T) {
		id := f.register(`{"redirect_uris":["cursor://anysphere.cursor-mcp/oauth/callback"],"token_endpoint_auth_method":"none"}`).member("client_id")
		a, err := f.ReadAuthorization(t.Context(), request(id, map[string]string{"redirect_uri": "cursor://anysphere.cursor-mcp/oauth/callback"}), "")
		if err != nil || a.Host() != "cursor:" || !a.OnOwnMachine() {
			t.Errorf("ReadAuthorization() = %+v, %v", a, err)
		}
		_, err = f.ReadAuthorization(t.Context(), request(id, map[string]string{"redirect_uri": "cursor://anysphere.cursor-mcp/oauth/callback2"}), "")
		if _, page := errors.AsType[*oauth.PageError](err); !page {
			t.Errorf("another path of the scheme: %v", err)
		}
		_, err = f.ReadAuthorization(t.Context(), request(id, map[string]string{"redirect_uri": "cursor://anysphere.cursor-mcp/oauth/callback", "code_challenge": ""}), "")
		if _, back := errors.AsType[*oauth.RedirectError](err); !back {
			t.Errorf("without PKCE: %v", err)
		}
	})
	t.Run("OAU-24 an app that says it is a web page", func(t *testing.T) {
		a := f.register(`{"application_type":"web","redirect_uris":["cursor://anysphere.cursor-mcp/oauth/callback"]}`)
		if a.member("application_type") != "native" {
			t.Errorf("registration = %s", a.text)
		}
	})
	t.Run("OAU-10 dangerous redirects", func(t *testing.T) {
		for _, u := range []string{"javascript:alert(1)", "data:text/html,x", "file:///x", "http://evil.example/cb", "https://ok.example/cb#frag", "", "/cb", "https://u:p@ok.example/", "vbscript:x", "app:", "https:///x", "https://a b/", "ms-msdt:/id", "MS-Settings:x", "search-ms:query=x", "shell:startup", "itms-services://?action=x"} {
			a := f.post("/register", "application/json", fmt.Sprintf(`{"redirect_uris":["https://fine.example/",%q]}`, u))
			if a.status != http.StatusBadRequest || a.code() != "invalid_redirect_uri" {
				t.Errorf("%q: %d %s", u, a.status, a.text)
			}
		}
	})
	t.Run("what is refused", func(t *testing.T) {
		for body, want := range map[string]string{
			`[]`: "invalid_client_metadata", `null`: "invalid_client_metadata", `{}`: "invalid_redirect_uri", `{"redirect_uris":"https://a.example/"}`: "invalid_client_metadata",
			`{"redirect_uris":["https://a.example/"],"grant_types":["client_credentials"]}`:                                                      "invalid_client_metadata",
			`{"redirect_uris":["https://a.example/"],"token_endpoint_auth_method":"tls_client_auth"}`:                                            "invalid_client_metadata",
			`{"redirect_uris":["https://a.example/"],"token_endpoint_auth_method":"private_key_jwt"}`:                                            "invalid_client_metadata",
			`{"redirect_uris":["https://a.example/"],"token_endpoint_auth_method":"private_key_jwt","jwks":{}}`:                                  "invalid_client_metadata",
			`{"redirect_uris":[` + strings.TrimSuffix(strings.Repeat(`"https://a.example/",`, 21), ",") + `]}`:                                   "invalid_redirect_uri",
			`{"redirect_uris":["https://a.example/"],"client_name":"` + strings.Repeat("x", 70_000) + `"}`:                                       "invalid_client_metadata",
			`{"redirect_uris":["https://a.example/"],"token_endpoint_auth_method":"private_key_jwt","jwks":{"keys":[{"kty":"oct","k":"AAAA"}]}}`: "invalid_client_metadata",
		} {
			if a := f.post("/register", "application/json", body); a.status != http.StatusBadRequest || a.code() != want {
				t.Errorf("%.100s: %d %s; want %s", body, a.status, a.text, want)
			}
		}
		if a := f.post("/register", "text/plain", `{"redirect_uris":["https://a.example/"]}`); a.status != http.StatusBadRequest {
			t.Errorf("as text: %d", a.status)
		}
	})
	t.Run("too many", func(t *testing.T) {
		f.denied[oauth.EventRegistered] = true
		defer delete(f.denied, oauth.EventRegistered)
		if a := f.post("/register", "application/json", `{"redirect_uris":["https://a.example/"]}`); a.status != http.StatusTooManyRequests || a.header.Get("Retry-After") != "8" {
			t.Errorf("register = %d %v", a.status, a.header)
		}
	})
}

func TestRedirects(t *testing.T) {
	for name, test := range map[string]struct {
		registered, given string
		want              bool
	}{
		"OAU-11 another port":         {"http://127.0.0.1:33418/", "http://127.0.0.1:59656/", true},
		"OAU-13 a lone slash":         {"http://127.0.0.1:33418", "http://127.0.0.1:33418/", true},
		"no port, a port":             {"http://localhost/cb", "http://localhost:1/cb", true},
		"IPv6":                        {"http://[::1]:1/cb", "http://[::1]:2/cb", true},
		"another name of the machine": {"http://127.0.0.1:1/cb", "http://localhost:1/cb", false},
		"another path":                {"http://127.0.0.1:1/cb", "http://127.0.0.1:1/cb/", false},
		"another query":               {"http://127.0.0.1:1/cb?a", "http://127.0.0.1:1/cb?b", false},
		"another scheme":              {"http://127.0.0.1:1/cb", "https://127.0.0.1:1/cb", false},
		"a user name":                 {"http://127.0.0.1:1/cb", "http://x@127.0.0.1:2/cb", false},
		"a name that begins like it":  {"http://127.0.0.1:1/cb", "http://127.0.0.1.evil.example/cb", false},
		"a port elsewhere":            {"https://a.example/cb", "https://a.example:444/cb", false},
		"the same":                    {"https://a.example/cb", "https://a.example/cb", true},
		"a slash elsewhere":           {"https://a.example", "https://a.example/", false},
		"case":                        {"https://a.example/cb", "https://A.example/cb", false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := oauth.MatchRedirect(test.registered, test.given); got != test.want {
				t.Errorf("MatchRedirect(%q, %q) = %v, want %v", test.registered, test.given, got, test.want)
			}
		})
	}
}

// basic sends a request for tokens with the header that RFC 6749, 2.3.1, describes.
func (f *fixture) basic(v url.Values, id, password string) answer {
	r := httptest.NewRequestWithContext(f.t.Context(), http.MethodPost, issuer+"/token", strings.NewReader(v.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.SetBasicAuth(url.QueryEscape(id), url.QueryEscape(password))
	return f.do(r)
}

func TestClientsWithSecrets(t *testing.T) {
	f := newFixture(t, nil)
	for _, method := range []string{"client_secret_basic", "client_secret_post"} {
		t.Run(method, func(t *testing.T) {
			made := f.register(`{"redirect_uris":["` + callback + `"],"token_endpoint_auth_method":"` + method + `"}`)
			id, password := made.member("client_id"), made.member("client_secret")
			if password == "" || made.body["client_secret_expires_at"] != 0.0 {
				t.Fatalf("registration = %s", made.text)
			}
			fresh := func(changed map[string]string) url.Values {
				return redemption(id, f.authorize(request(id, nil)), changed)
			}
			for name, test := range map[string]struct {
				answer answer
				status int
				code   string
			}{
				"in the header":     {f.basic(fresh(map[string]string{"client_id": ""}), id, password), 200, ""},
				"in the body":       {f.form("/token", fresh(map[string]string{"client_secret": password})), 200, ""},
				"wrong in the body": {f.form("/token", fresh(map[string]string{"client_secret": password + "x"})), 401, "invalid_client"},
				"wrong in header":   {f.basic(fresh(nil), id, "x"), 401, "invalid_client"},
				"none":              {f.form("/token", fresh(nil)), 401, "invalid_client"},
				"both":              {f.basic(fresh(map[string]string{"client_secret": password}), id, password), 400, "invalid_request"},
				"two clients":       {f.basic(fresh(nil), "other", password), 400, "invalid_request"},
			} {
				if test.answer.status != test.status || test.answer.code() != test.code {
					t.Errorf("%s: %d %s; want %d %s", name, test.answer.status, test.answer.text, test.status, test.code)
				}
			}
			if a := f.basic(fresh(nil), id, "x"); !strings.HasPrefix(a.header.Get("WWW-Authenticate"), "Basic ") {
				t.Errorf("WWW-Authenticate = %q", a.header.Get("WWW-Authenticate"))
			}
		})
	}
}

// signer is a client's key.
type signer struct {
	t   *testing.T
	key *ecdsa.PrivateKey
}

func newSigner(t *testing.T) signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return signer{t, key}
}

func (s signer) keys() string {
	text, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: s.key.Public(), KeyID: "k1", Algorithm: "ES256", Use: "sig"}}})
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

func (s signer) sign(claims any) string {
	s.t.Helper()
	made, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: s.key, KeyID: "k1"}}, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	text, err := jwt.Signed(made).Claims(claims).Serialize()
	if err != nil {
		s.t.Fatal(err)
	}
	return text
}

func TestClientsWithKeys(t *testing.T) {
	f := newFixture(t, nil)
	own, foreign := newSigner(t), newSigner(t)
	id := f.register(`{"redirect_uris":["` + callback + `"],"token_endpoint_auth_method":"private_key_jwt","jwks":` + own.keys() + `}`).member("client_id")
	jti := 0
	claims := func(changed map[string]any) map[string]any {
		jti++
		all := map[string]any{"iss": id, "sub": id, "aud": issuer + "/token", "exp": f.clock().Add(time.Minute).Unix(), "iat": f.clock().Unix(), "jti": fmt.Sprint(jti)}
		maps.Copy(all, changed)
		for name, v := range all {
			if v == nil {
				delete(all, name)
			}
		}
		return all
	}
	send := func(assertion string) answer {
		return f.form("/token", redemption(id, f.authorize(request(id, nil)), map[string]string{
			"client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer", "client_assertion": assertion,
		}))
	}
	good := own.sign(claims(nil))
	if a := send(good); a.status != http.StatusOK {
		t.Errorf("a good assertion: %s", a.text)
	}
	if a := send(own.sign(claims(map[string]any{"aud": []string{issuer}}))); a.status != http.StatusOK {
		t.Errorf("for the issuer: %s", a.text)
	}
	hmac, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: []byte(strings.Repeat("k", 32))}, nil)
	if err != nil {
		t.Fatal(err)
	}
	symmetric, err := jwt.Signed(hmac).Claims(claims(nil)).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ assertion, want string }{
		"again":            {good, "invalid_client"},
		"another key":      {foreign.sign(claims(nil)), "invalid_client"},
		"another audience": {own.sign(claims(map[string]any{"aud": "https://other.example"})), "invalid_client"},
		"another subject":  {own.sign(claims(map[string]any{"sub": "other"})), "invalid_client"},
		"over":             {own.sign(claims(map[string]any{"exp": f.clock().Add(-time.Minute).Unix()})), "invalid_client"},
		"endless":          {own.sign(claims(map[string]any{"exp": f.clock().Add(time.Hour).Unix()})), "invalid_client"},
		"without end":      {own.sign(claims(map[string]any{"exp": nil})), "invalid_client"},
		"without jti":      {own.sign(claims(map[string]any{"jti": nil})), "invalid_client"},
		"another issuer":   {own.sign(claims(map[string]any{"iss": "other"})), "invalid_request"},
		"symmetric":        {symmetric, "invalid_request"},
		"unsigned":         {"eyJhbGciOiJub25lIn0.e30.", "invalid_request"},
		"garbage":          {"x", "invalid_request"},
	} {
		if a := send(test.assertion); a.code() != test.want {
			t.Errorf("%s: %d %s; want %s", name, a.status, a.text, test.want)
		}
	}
	if a := f.form("/token", redemption(id, f.authorize(request(id, nil)), nil)); a.code() != "invalid_client" {
		t.Errorf("no assertion: %s", a.text)
	}
	other := fixtureOn(t, f.store, nil) // another process
	again := redemption(id, f.authorize(request(id, nil)), map[string]string{
		"client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer", "client_assertion": good,
	})
	if a := other.form("/token", again); a.code() != "invalid_client" || !strings.Contains(a.text, "used before") {
		t.Errorf("again, at another process: %s", a.text)
	}
	crowded := fixtureOn(t, f.store, func(o *oauth.Options) { o.Store = full{f.store} })
	again.Set("client_assertion", own.sign(claims(nil)))
	if a := crowded.form("/token", again); a.status != http.StatusServiceUnavailable || a.code() != "temporarily_unavailable" || a.header.Get("Retry-After") == "" {
		t.Errorf("beside too many others: %d %v %s", a.status, a.header, a.text)
	}
}

// full has no room for assertions.
type full struct{ *database.Store }

func (full) KeepAssertion(context.Context, store.Digest, time.Time, time.Time, int) error {
	return store.ErrFull
}

func TestDocuments(t *testing.T) {
	var mu sync.Mutex
	content, header, status, keysStatus := "", http.Header{"Content-Type": {"application/json"}}, http.StatusOK, http.StatusOK
	var asked atomic.Int64
	own := newSigner(t)
	f, s := documents(t, func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		mu.Lock()
		defer mu.Unlock()
		for _, name := range []string{"Cookie", "Authorization", "Referer"} {
			if r.Header.Get(name) != "" {
				t.Errorf("%s is asked for with %s: %s", r.URL, name, r.Header.Get(name))
			}
		}
		w.Header().Set("Set-Cookie", "seen=before; Path=/")
		maps.Copy(w.Header(), header)
		switch r.URL.Path {
		case "/keys":
			w.Header().Set("Content-Type", "application/jwk-set+json")
			w.WriteHeader(keysStatus)
			_, _ = w.Write([]byte(own.keys()))
			return
		case "/moved": // what a redirect leads to is the document
		default:
			w.WriteHeader(status)
		}
		_, _ = w.Write([]byte(content))
	})
	next := 0
	fresh := func(format string) string { // with a URL that was not used before
		next++
		id := fmt.Sprintf("%s/client-%d.json", s.URL, next)
		mu.Lock()
		defer mu.Unlock()
		content = strings.ReplaceAll(format, "ID", id)
		return id
	}
	const plain = `{"client_id":"ID","client_name":"An App","redirect_uris":["` + callback + `"],"grant_types":["authorization_code","refresh_token","urn:ietf:params:oauth:grant-type:device_code"]}`
	t.Run("OAU-17 a client with a document", func(t *testing.T) {
		id := fresh(plain)
		a, err := f.ReadAuthorization(t.Context(), request(id, nil), "")
		if err != nil || a.Name != "An App" || !a.Document || a.ClientID != id {
			t.Fatalf("ReadAuthorization() = %+v, %v", a, err)
		}
		if a := f.tokens(id); a.member("refresh_token") == "" {
			t.Errorf("tokens = %s", a.text)
		}
	})
	keyed := `{"client_id":"ID","client_name":"An App","redirect_uris":["` + callback + `"],"token_endpoint_auth_method":"private_key_jwt","jwks_uri":"` + s.URL + `/keys"}`
	redeemed := func(id string) answer {
		assertion := own.sign(map[string]any{"iss": id, "sub": id, "aud": issuer, "exp": f.clock().Add(time.Minute).Unix(), "jti": fmt.Sprint(asked.Load())})
		return f.form("/token", redemption(id, f.authorize(request(id, nil)), map[string]string{
			"client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer", "client_assertion": assertion,
		}))
	}
	t.Run("by a key of another document", func(t *testing.T) {
		if a := redeemed(fresh(keyed)); a.status != http.StatusOK {
			t.Errorf("token = %s", a.text)
		}
	})
	refused := func(t *testing.T, id string) {
		t.Helper()
		_, err := f.ReadAuthorization(t.Context(), request(id, nil), "")
		if page, ok := errors.AsType[*oauth.PageError](err); !ok || !strings.Contains(page.Message, "invalid_client") {
			t.Errorf("%s: %v; want a page with invalid_client", id, err)
		}
	}
	t.Run("documents that are wrong", func(t *testing.T) {
		for name, text := range map[string]string{
			"another id":      strings.ReplaceAll(plain, "ID", "https://other.example/c.json"),
			"no name":         `{"client_id":"ID","redirect_uris":["` + callback + `"]}`,
			"no redirect":     `{"client_id":"ID","client_name":"x"}`,
			"a secret":        `{"client_id":"ID","client_name":"x","redirect_uris":["` + callback + `"],"client_secret":"x"}`,
			"a shared secret": `{"client_id":"ID","client_name":"x","redirect_uris":["` + callback + `"],"token_endpoint_auth_method":"client_secret_post"}`,
			"a bad redirect":  `{"client_id":"ID","client_name":"x","redirect_uris":["http://a.example/"]}`,
			"no JSON":         `hello`,
			"too large":       `{"client_id":"ID","client_name":"` + strings.Repeat("x", oauth.DocumentBytes) + `","redirect_uris":["` + callback + `"]}`,
		} {
			t.Run(name, func(t *testing.T) { refused(t, fresh(text)) })
		}
	})
	t.Run("answers that are wrong", func(t *testing.T) {
		for name, change := range map[string]func(){
			"a redirect":     func() { status, header["Location"] = http.StatusFound, []string{s.URL + "/moved"} },
			"another status": func() { status = http.StatusAccepted },
			"not found":      func() { status = http.StatusNotFound },
			"HTML":           func() { header["Content-Type"] = []string{"text/html"} },
		} {
			t.Run(name, func(t *testing.T) {
				id := fresh(plain)
				mu.Lock()
				change()
				mu.Unlock()
				refused(t, id)
				mu.Lock()
				header, status = http.Header{"Content-Type": {"application/json"}}, http.StatusOK
				mu.Unlock()
				if _, err := f.ReadAuthorization(t.Context(), request(id, nil), ""); err != nil {
					t.Errorf("the failure is kept: %v", err)
				}
			})
		}
	})
	t.Run("what is away costs no tokens", func(t *testing.T) {
		id := fresh(plain)
		token := f.tokens(id).member("refresh_token")
		f.pass(5 * time.Minute)
		away := func(which *int, to int) {
			mu.Lock()
			defer mu.Unlock()
			*which = to
		}
		for _, code := range []int{http.StatusBadGateway, http.StatusTooManyRequests} {
			away(&status, code)
			if a := f.refresh(id, token, nil); a.status != http.StatusServiceUnavailable || a.code() != "temporarily_unavailable" || a.header.Get("Retry-After") == "" {
				t.Errorf("refresh when the document answers %d = %d %v %s", code, a.status, a.header, a.text)
			}
			_, err := f.ReadAuthorization(t.Context(), request(id, nil), "")
			if page, ok := errors.AsType[*oauth.PageError](err); !ok || page.Status != http.StatusServiceUnavailable {
				t.Errorf("ReadAuthorization() = %v", err)
			}
		}
		away(&status, http.StatusOK)
		if a := f.refresh(id, token, nil); a.status != http.StatusOK {
			t.Errorf("refresh when it is back: %d %s", a.status, a.text)
		}

		id = fresh(keyed)
		for code, want := range map[int]int{http.StatusBadGateway: http.StatusServiceUnavailable, http.StatusNotFound: http.StatusUnauthorized, http.StatusOK: http.StatusOK} {
			f.pass(5 * time.Minute)
			away(&keysStatus, code)
			if a := redeemed(id); a.status != want {
				t.Errorf("token when the keys answer %d = %d %s, want %d", code, a.status, a.text, want)
			}
		}
		away(&keysStatus, http.StatusOK)
	})
	t.Run("kept as long as the headers say", func(t *testing.T) {
		for cacheControl, want := range map[string]time.Duration{
			"": 5 * time.Minute, "max-age=1": 5 * time.Minute, "public, max-age=3600": time.Hour, "max-age=99999999": 24 * time.Hour, "no-store, max-age=3600": 5 * time.Minute, "max-age=x": 5 * time.Minute,
		} {
			id := fresh(plain)
			mu.Lock()
			header["Cache-Control"] = []string{cacheControl}
			mu.Unlock()
			look := func() int64 {
				before := asked.Load()
				if _, err := f.ReadAuthorization(t.Context(), request(id, nil), ""); err != nil {
					t.Error(err)
				}
				return asked.Load() - before
			}
			first := look()
			f.pass(want - time.Second)
			second := look()
			f.pass(time.Second)
			if third := look(); first != 1 || second != 0 || third != 1 {
				t.Errorf("%q: asked %d, %d, %d times; want 1, 0, 1 with %v between", cacheControl, first, second, third, want)
			}
		}
	})
	t.Run("an address asks for few", func(t *testing.T) {
		f.denied[oauth.EventDocument] = true
		defer delete(f.denied, oauth.EventDocument)
		_, err := f.ReadAuthorization(t.Context(), request(fresh(plain), nil), "")
		if page, ok := errors.AsType[*oauth.PageError](err); !ok || page.Status != http.StatusTooManyRequests {
			t.Errorf("ReadAuthorization() = %v", err)
		}
	})
	t.Run("addresses that are not public", func(t *testing.T) {
		f := newFixture(t, nil) // its fetcher reaches nothing
		before := asked.Load()
		_, err := f.ReadAuthorization(t.Context(), request(fresh(plain), nil), "")
		if _, ok := errors.AsType[*oauth.PageError](err); !ok || asked.Load() != before {
			t.Errorf("ReadAuthorization() = %v, and %d requests", err, asked.Load()-before)
		}
	})
	t.Run("hosts that the operator names", func(t *testing.T) {
		host := strings.TrimPrefix(s.URL, "https://")
		for named, want := range map[string]bool{host: true, "127.0.0.1:1": false, "127.0.0.1": false, "localhost" + host[strings.Index(host, ":"):]: false} {
			f := newFixture(t, func(o *oauth.Options) {
				o.Fetcher = oauth.NewFetcher(oauth.FetcherOptions{
					Reachable: func(netip.Addr) bool { return false }, Hosts: []string{named}, TLS: s.Client().Transport.(*http.Transport).TLSClientConfig,
				})
			})
			if _, err := f.ReadAuthorization(t.Context(), request(fresh(plain), nil), ""); (err == nil) != want {
				t.Errorf("%s with %s named = %v, want it fetched: %v", host, named, err, want)
			}
		}
	})
	t.Run("ids that are no documents", func(t *testing.T) {
		before := asked.Load()
		for _, id := range []string{s.URL, s.URL + "/", s.URL + "/a/../b", s.URL + "/./b", s.URL + "/a#b", strings.Replace(s.URL, "https://", "https://u@", 1) + "/a", "http://127.0.0.1/a", "https://", s.URL + "/" + strings.Repeat("a", 3000)} {
			if _, err := f.ReadAuthorization(t.Context(), request(id, nil), ""); err == nil {
				t.Errorf("%.60q is a client", id)
			}
		}
		if asked.Load() != before {
			t.Error("one of them was asked for")
		}
	})
	t.Run("many at once ask once", func(t *testing.T) {
		id, before := fresh(plain), asked.Load()
		var all sync.WaitGroup
		for range 16 {
			all.Go(func() {
				if _, err := f.ReadAuthorization(t.Context(), request(id, nil), ""); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := asked.Load() - before; n != 1 {
			t.Errorf("%d requests, want 1", n)
		}
	})
}
