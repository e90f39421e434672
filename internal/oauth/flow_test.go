package oauth_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/fault"
	"runpython/internal/oauth"
	"runpython/internal/store"
	"runpython/internal/store/sqlite"
)

// locked is a store whose database another program keeps for itself.
type locked struct{ oauth.Store }

func errLocked() error {
	return fmt.Errorf("write: %w", fault.New(fault.Busy, errors.New("SQLITE_BUSY at /srv/chats.db"), "another program keeps the database locked"))
}

func (locked) AddClient(context.Context, store.Client, int) error { return errLocked() }

func (locked) AddCode(context.Context, store.Code) error { return errLocked() }

func (locked) RedeemCode(context.Context, store.Digest, time.Time, func(store.Code) (store.Issued, error)) error {
	return errLocked()
}

func (locked) Rotate(context.Context, store.Digest, time.Time, store.Repeats, func(store.Grant, store.Token) (store.Issued, error)) error {
	return errLocked()
}

func (locked) RemoveToken(context.Context, store.Digest, string) (string, error) {
	return "", errLocked()
}

// A client is told to come again when nothing is wrong with its request, and loses neither code nor tokens.
func TestBusyDatabase(t *testing.T) {
	f := newFixture(t, nil)
	client := f.client(callback)
	code := f.authorize(request(client, nil))
	refresh := f.tokens(client).member("refresh_token")
	busy := fixtureOn(t, f.store, func(o *oauth.Options) { o.Store = locked{o.Store} })
	for name, a := range map[string]answer{
		"register": busy.post("/register", "application/json", `{"redirect_uris":["https://app.example/cb"]}`),
		"redeem":   busy.form("/token", redemption(client, code, nil)),
		"refresh":  busy.refresh(client, refresh, nil),
		"revoke":   busy.form("/revoke", url.Values{"client_id": {client}, "token": {refresh}}),
	} {
		if a.status != http.StatusServiceUnavailable || a.code() != "temporarily_unavailable" || a.header.Get("Retry-After") == "" || strings.Contains(a.text, "srv") {
			t.Errorf("%s = %d, Retry-After %q, %s; want to be told to come again", name, a.status, a.header.Get("Retry-After"), a.text)
		}
	}
	if a := f.form("/token", redemption(client, code, nil)); a.status != http.StatusOK {
		t.Errorf("the code afterwards = %d %s", a.status, a.text)
	}
	if a := f.refresh(client, refresh, nil); a.status != http.StatusOK {
		t.Errorf("the refresh token afterwards = %d %s", a.status, a.text)
	}
	asked, err := busy.ReadAuthorization(t.Context(), request(client, nil), "192.0.2.1")
	if err != nil {
		t.Fatal(err)
	}
	_, err = busy.Approve(t.Context(), asked, f.user, "192.0.2.1")
	if kind, message := fault.Shown(err); kind != fault.Busy || !strings.Contains(message, "begin again in the app") {
		t.Errorf("Approve() = %v, %q; its request is used up, so it cannot be sent again", kind, message)
	}
}

func TestMetadata(t *testing.T) {
	f := newFixture(t, nil)
	t.Run("OAU-01 clients can get an id", func(t *testing.T) {
		m := f.get("/.well-known/oauth-authorization-server").body
		want := map[string]any{
			"issuer": issuer, "authorization_endpoint": issuer + "/authorize", "token_endpoint": issuer + "/token", "registration_endpoint": issuer + "/register",
			"revocation_endpoint": issuer + "/revoke", "authorization_response_iss_parameter_supported": true, "client_id_metadata_document_supported": true,
			"scopes_supported": []any{"run", "admin", "offline_access"}, "response_types_supported": []any{"code"}, "response_modes_supported": []any{"query"},
			"grant_types_supported": []any{"authorization_code", "refresh_token"}, "code_challenge_methods_supported": []any{"S256"},
			"token_endpoint_auth_methods_supported":      []any{"none", "client_secret_basic", "client_secret_post", "private_key_jwt"},
			"revocation_endpoint_auth_methods_supported": []any{"none", "client_secret_basic", "client_secret_post", "private_key_jwt"},
		}
		for name := range m {
			if strings.HasSuffix(name, "_alg_values_supported") {
				delete(m, name)
			}
		}
		if diff := cmp.Diff(want, m); diff != "" {
			t.Errorf("metadata (-want +got):\n%s", diff)
		}
	})
	t.Run("OAU-02 the resource is the URL of the endpoint", func(t *testing.T) {
		want := map[string]any{"resource": resource, "authorization_servers": []any{issuer}, "scopes_supported": []any{"run"}, "bearer_methods_supported": []any{"header"}, "resource_name": "Run Python"}
		if diff := cmp.Diff(want, f.get(oauth.ResourceMetadataPath).body); diff != "" {
			t.Errorf("metadata (-want +got):\n%s", diff)
		}
	})
	t.Run("OAU-03 every form of the path", func(t *testing.T) {
		for _, name := range []string{"oauth-protected-resource", "oauth-authorization-server", "openid-configuration"} {
			first := f.get("/.well-known/" + name)
			for _, path := range []string{"/.well-known/" + name, "/.well-known/" + name + "/mcp", "/.well-known/" + name + "/mcp/", "/mcp/.well-known/" + name} {
				a := f.get(path)
				if a.status != http.StatusOK || a.text != first.text || a.header.Get("Access-Control-Allow-Origin") != "*" {
					t.Errorf("%s = %d %v %s", path, a.status, a.header, a.text)
				}
			}
		}
		for _, path := range []string{"/.well-known/oauth-authorization-server/other", "/.well-known/unknown", "/mcp/.well-known/unknown"} {
			if a := f.get(path); a.status != http.StatusNotFound || a.code() == "" {
				t.Errorf("%s = %d %s; want 404 with JSON", path, a.status, a.text)
			}
		}
	})
	t.Run("OAU-06 OAU-07 the public URL, whatever is forwarded", func(t *testing.T) {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "http://other.example/.well-known/oauth-authorization-server", http.NoBody)
		r.Header.Set("X-Forwarded-Host", "evil.example")
		r.Header.Set("X-Forwarded-Proto", "http")
		if a := f.do(r); a.member("issuer") != issuer || strings.Contains(a.text, "evil") {
			t.Errorf("metadata = %s", a.text)
		}
	})
	t.Run("other methods", func(t *testing.T) {
		for method, want := range map[string]int{http.MethodHead: 200, http.MethodOptions: 204, http.MethodPost: 405} {
			if a := f.do(httptest.NewRequestWithContext(t.Context(), method, issuer+oauth.ResourceMetadataPath, http.NoBody)); a.status != want {
				t.Errorf("%s = %d, want %d", method, a.status, want)
			}
		}
		for _, path := range []string{"/token", "/register", "/revoke"} {
			a := f.do(httptest.NewRequestWithContext(t.Context(), http.MethodOptions, issuer+path, http.NoBody))
			if a.status != http.StatusNoContent || a.header.Get("Access-Control-Allow-Origin") != "*" || a.header.Get("Access-Control-Allow-Credentials") != "" {
				t.Errorf("OPTIONS %s = %d %v", path, a.status, a.header)
			}
			if a := f.get(path); a.status != http.StatusMethodNotAllowed {
				t.Errorf("GET %s = %d", path, a.status)
			}
		}
	})
	t.Run("ways that are off are not offered", func(t *testing.T) {
		f := newFixture(t, func(o *oauth.Options) { o.Registration = oauth.RegistrationManual })
		m := f.get("/.well-known/oauth-authorization-server").body
		if _, there := m["registration_endpoint"]; there || m["client_id_metadata_document_supported"] != false {
			t.Errorf("metadata = %v", m)
		}
		if a := f.post("/register", "application/json", `{"redirect_uris":["https://a.example/"]}`); a.status != http.StatusForbidden {
			t.Errorf("register = %d %s", a.status, a.text)
		}
	})
}

func TestCodeIsForWhoAskedForIt(t *testing.T) {
	f := newFixture(t, nil)
	client, other := f.client(callback), f.client(callback)
	good := f.tokens(client)
	if !f.good(good.member("access_token")) || good.member("token_type") != "Bearer" || good.body["expires_in"] != 1800.0 || good.member("scope") != "run" ||
		good.header.Get("Cache-Control") != "no-store" {
		t.Errorf("tokens = %s %v", good.text, good.header)
	}
	for name, test := range map[string]struct {
		changed map[string]string
		want    string
	}{
		"OAU-27 a wrong verifier":     {map[string]string{"code_verifier": verifier + "x"}, "invalid_grant"},
		"a verifier that is short":    {map[string]string{"code_verifier": "short"}, "invalid_grant"},
		"OAU-27 no verifier":          {map[string]string{"code_verifier": ""}, "invalid_request"},
		"OAU-27 another redirect":     {map[string]string{"redirect_uri": "https://app.example/other"}, "invalid_grant"},
		"no redirect":                 {map[string]string{"redirect_uri": ""}, "invalid_grant"},
		"another client":              {map[string]string{"client_id": other}, "invalid_grant"},
		"another resource":            {map[string]string{"resource": "https://other.example/mcp"}, "invalid_target"},
		"another grant":               {map[string]string{"grant_type": "password"}, "unsupported_grant_type"},
		"no grant":                    {map[string]string{"grant_type": ""}, "invalid_request"},
		"no client":                   {map[string]string{"client_id": ""}, "invalid_request"},
		"an unknown code":             {map[string]string{"code": "rp_ac_" + strings.Repeat("a", 43)}, "invalid_grant"},
		"what is no code":             {map[string]string{"code": "x"}, "invalid_grant"},
		"a secret of a public client": {map[string]string{"client_secret": "x"}, "invalid_client"},
	} {
		t.Run(name, func(t *testing.T) {
			a := f.form("/token", redemption(client, f.authorize(request(client, nil)), test.changed))
			if a.code() != test.want || a.member("access_token") != "" || a.header.Get("Cache-Control") != "no-store" {
				t.Errorf("token = %d %s; want %s", a.status, a.text, test.want)
			}
		})
	}
	t.Run("OAU-27 a code comes again", func(t *testing.T) {
		code := f.authorize(request(client, nil))
		first := f.form("/token", redemption(client, code, nil))
		if first.status != http.StatusOK || f.form("/token", redemption(client, code, nil)).code() != "invalid_grant" {
			t.Fatal("a code was redeemed twice")
		}
		if f.good(first.member("access_token")) || f.refresh(client, first.member("refresh_token"), nil).code() != "invalid_grant" || !f.has(oauth.EventReplayed) {
			t.Error("what the code gave is good although the code came again")
		}
	})
	t.Run("a code is good for a minute", func(t *testing.T) {
		code := f.authorize(request(client, nil))
		f.pass(time.Minute)
		if a := f.form("/token", redemption(client, code, nil)); a.code() != "invalid_grant" {
			t.Errorf("token = %s", a.text)
		}
	})
	t.Run("a client that is gone registers anew", func(t *testing.T) {
		if a := f.form("/token", redemption("gone", "x", nil)); a.status != http.StatusUnauthorized || a.code() != "invalid_client" {
			t.Errorf("token = %d %s", a.status, a.text)
		}
	})
	t.Run("malformed requests", func(t *testing.T) {
		for name, a := range map[string]answer{
			"JSON":         f.post("/token", "application/json", `{"grant_type":"authorization_code"}`),
			"twice":        f.post("/token", "application/x-www-form-urlencoded", "client_id=a&client_id=b"),
			"large":        f.post("/token", "application/x-www-form-urlencoded", "code="+strings.Repeat("a", 70_000)),
			"bad escape":   f.post("/token", "application/x-www-form-urlencoded", "code=%zz"),
			"in the query": f.post("/token?"+redemption(client, f.authorize(request(client, nil)), nil).Encode(), "application/x-www-form-urlencoded", ""),
		} {
			if a.status != http.StatusBadRequest || a.code() != "invalid_request" {
				t.Errorf("%s: %d %s", name, a.status, a.text)
			}
		}
	})
}

func TestOneOfManyRedeems(t *testing.T) {
	f := newFixture(t, nil)
	client := f.client(callback)
	v := redemption(client, f.authorize(request(client, nil)), nil)
	var mu sync.Mutex
	var all sync.WaitGroup
	statuses := map[int]int{}
	for range 64 {
		all.Go(func() {
			a := f.form("/token", v)
			mu.Lock()
			defer mu.Unlock()
			statuses[a.status]++
		})
	}
	all.Wait()
	if diff := cmp.Diff(map[int]int{http.StatusOK: 1, http.StatusBadRequest: 63}, statuses); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
}

func TestRefresh(t *testing.T) {
	f := newFixture(t, nil)
	client := f.client(callback)
	t.Run("rotation", func(t *testing.T) {
		first := f.tokens(client)
		second := f.refresh(client, first.member("refresh_token"), map[string]string{"resource": resource + "/"})
		if second.status != http.StatusOK || second.member("refresh_token") == first.member("refresh_token") || !f.good(second.member("access_token")) {
			t.Fatalf("refresh = %d %s", second.status, second.text)
		}
		f.pass(21 * time.Second)
		if a := f.refresh(client, first.member("refresh_token"), nil); a.code() != "invalid_grant" {
			t.Errorf("the first refresh token again: %s", a.text)
		}
		if f.good(second.member("access_token")) || f.refresh(client, second.member("refresh_token"), nil).code() != "invalid_grant" {
			t.Error("its family is good although it came again")
		}
	})
	t.Run("OAU-19 several at once", func(t *testing.T) {
		first := f.tokens(client)
		answers := make([]answer, 5)
		var all sync.WaitGroup
		for i := range answers {
			all.Go(func() { answers[i] = f.refresh(client, first.member("refresh_token"), nil) })
		}
		all.Wait()
		for _, a := range answers {
			if a.status != http.StatusOK || !f.good(a.member("access_token")) {
				t.Errorf("refresh = %d %s", a.status, a.text)
			}
			if again := f.refresh(client, a.member("refresh_token"), nil); again.status != http.StatusOK {
				t.Errorf("its refresh token: %s", again.text)
			}
		}
	})
	t.Run("access tokens end", func(t *testing.T) {
		first := f.tokens(client)
		f.pass(30 * time.Minute)
		if f.good(first.member("access_token")) {
			t.Error("an access token is good after half an hour")
		}
		if a := f.refresh(client, first.member("refresh_token"), nil); a.status != http.StatusOK {
			t.Errorf("refresh = %s", a.text)
		}
	})
	t.Run("somebody else's", func(t *testing.T) {
		first := f.tokens(client)
		if a := f.refresh(f.client(callback), first.member("refresh_token"), nil); a.code() != "invalid_grant" {
			t.Errorf("of another client: %s", a.text)
		}
		if a := f.refresh(client, first.member("access_token"), nil); a.code() != "invalid_grant" {
			t.Errorf("an access token: %s", a.text)
		}
		if a := f.refresh(client, first.member("refresh_token"), nil); a.status != http.StatusOK {
			t.Errorf("its own client, after that: %s", a.text)
		}
	})
	t.Run("scopes only narrow", func(t *testing.T) {
		f.user.Admin = true
		defer func() { f.user.Admin = false }()
		code := f.authorize(request(client, map[string]string{"scope": "run admin offline_access"}))
		first := f.form("/token", redemption(client, code, nil))
		if first.member("scope") != "run admin offline_access" {
			t.Errorf("scope = %q", first.member("scope"))
		}
		second := f.refresh(client, first.member("refresh_token"), map[string]string{"scope": "run"})
		third := f.refresh(client, second.member("refresh_token"), nil)
		if second.member("scope") != "run" || third.member("scope") != "run admin offline_access" {
			t.Errorf("scopes = %q, then %q", second.member("scope"), third.member("scope"))
		}
		plain := f.tokens(client)
		if a := f.refresh(client, plain.member("refresh_token"), map[string]string{"scope": "admin"}); a.code() != "invalid_scope" {
			t.Errorf("a scope that was not granted: %s", a.text)
		}
	})
	t.Run("only for clients that want it", func(t *testing.T) {
		id := f.register(`{"redirect_uris":["` + callback + `"],"grant_types":["authorization_code"]}`).member("client_id")
		if a := f.tokens(id); a.member("refresh_token") != "" {
			t.Errorf("tokens = %s", a.text)
		}
		if a := f.refresh(id, "x", nil); a.code() != "unauthorized_client" {
			t.Errorf("refresh = %s", a.text)
		}
	})
	t.Run("a grant ends after a year", func(t *testing.T) {
		token := f.tokens(client).member("refresh_token")
		for range 13 {
			f.pass(29 * 24 * time.Hour)
			a := f.refresh(client, token, nil)
			if token = a.member("refresh_token"); a.status != http.StatusOK {
				return
			}
		}
		t.Error("it was refreshed for more than a year")
	})
}

func TestRevoke(t *testing.T) {
	f := newFixture(t, nil)
	client := f.client(callback)
	revoke := func(client, token string) int {
		return f.form("/revoke", url.Values{"client_id": {client}, "token": {token}}).status
	}
	first := f.tokens(client)
	if status := revoke(f.client(callback), first.member("access_token")); status != http.StatusOK || !f.good(first.member("access_token")) {
		t.Errorf("another client revokes: %d", status)
	}
	if status := revoke(client, first.member("access_token")); status != http.StatusOK || f.good(first.member("access_token")) {
		t.Errorf("revoke an access token: %d", status)
	}
	second := f.refresh(client, first.member("refresh_token"), nil)
	if status := revoke(client, second.member("refresh_token")); status != http.StatusOK || f.good(second.member("access_token")) {
		t.Errorf("revoke a refresh token: %d; the access token is good: %v", status, f.good(second.member("access_token")))
	}
	for token, want := range map[string]int{"unknown": http.StatusOK, "": http.StatusBadRequest} {
		if status := revoke(client, token); status != want {
			t.Errorf("revoke %q: %d, want %d", token, status, want)
		}
	}
}

func TestAuthorizationRequests(t *testing.T) {
	f := newFixture(t, nil)
	web, native := f.client(callback), f.client("http://127.0.0.1:7777/cb")
	for name, test := range map[string]struct {
		changed map[string]string
		want    string
	}{
		"OAU-27 no challenge": {map[string]string{"code_challenge": ""}, "invalid_request"},
		"a plain challenge":   {map[string]string{"code_challenge_method": "plain"}, "invalid_request"},
		"no method":           {map[string]string{"code_challenge_method": ""}, "invalid_request"},
		"a short challenge":   {map[string]string{"code_challenge": "short"}, "invalid_request"},
		"no response type":    {map[string]string{"response_type": ""}, "invalid_request"},
		"a token at once":     {map[string]string{"response_type": "token"}, "unsupported_response_type"},
		"a form as response":  {map[string]string{"response_mode": "form_post"}, "invalid_request"},
		"a foreign resource":  {map[string]string{"resource": "https://other.example/mcp"}, "invalid_target"},
		"a request object":    {map[string]string{"request": "x"}, "request_not_supported"},
		"one by reference":    {map[string]string{"request_uri": "https://x.example/"}, "request_uri_not_supported"},
		"without asking":      {map[string]string{"prompt": "none"}, "interaction_required"},
		"an endless state":    {map[string]string{"state": strings.Repeat("s", 5000)}, "invalid_request"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := f.ReadAuthorization(t.Context(), request(web, test.changed), "")
			page, ok := errors.AsType[*oauth.PageError](err)
			if !ok || page.Status != http.StatusBadRequest || !strings.Contains(page.Message, test.want) {
				t.Fatalf("of a web client: %v; want a page with %s", err, test.want)
			}
			test.changed["redirect_uri"] = "http://127.0.0.1:9999/cb"
			_, err = f.ReadAuthorization(t.Context(), request(native, test.changed), "")
			back, ok := errors.AsType[*oauth.RedirectError](err)
			if !ok {
				t.Fatalf("of a client on the own machine: %v; want a redirect", err)
			}
			for _, to := range []string{page.Continue, back.URL} {
				u, err := url.Parse(to)
				if err != nil || u.Query().Get("error") != test.want || u.Query().Get("iss") != issuer || u.Query().Get("code") != "" {
					t.Errorf("the client is told %q, %v; want %s", to, err, test.want)
				}
				if state := u.Query().Get("state"); name != "an endless state" && state != "st ate" {
					t.Errorf("state = %q", state)
				}
			}
		})
	}
	for name, v := range map[string]url.Values{
		"an unknown client":    request("unknown", nil),
		"no client":            request("", nil),
		"a foreign redirect":   request(web, map[string]string{"redirect_uri": "https://evil.example/cb"}),
		"a longer path":        request(web, map[string]string{"redirect_uri": callback + "/x"}),
		"another port":         request(web, map[string]string{"redirect_uri": "https://app.example:8443/cb"}),
		"a redirect twice":     {"client_id": {web}, "redirect_uri": {callback, "https://evil.example/"}},
		"a script":             request(web, map[string]string{"redirect_uri": "javascript:alert(1)"}),
		"none of two possible": request(f.register(`{"redirect_uris":["https://a.example/","https://b.example/"]}`).member("client_id"), map[string]string{"redirect_uri": ""}),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := f.ReadAuthorization(t.Context(), v, "")
			if page, ok := errors.AsType[*oauth.PageError](err); !ok || page.Continue != "" || page.Status != http.StatusBadRequest {
				t.Errorf("ReadAuthorization() = %v; want a page that leads nowhere", err)
			}
		})
	}
	t.Run("the only redirect may be left out", func(t *testing.T) {
		code := f.authorize(request(web, map[string]string{"redirect_uri": ""}))
		if a := f.form("/token", redemption(web, code, map[string]string{"redirect_uri": ""})); a.status != http.StatusOK {
			t.Errorf("token = %s", a.text)
		}
	})
	t.Run("scopes", func(t *testing.T) {
		for asked, want := range map[string][]string{
			"": {"run"}, "unknown": {"run"}, "run run": {"run"}, "offline_access": {"run", "offline_access"}, "admin": {"run"}, "run openid": {"run"},
		} {
			a, err := f.ReadAuthorization(t.Context(), request(web, map[string]string{"scope": asked}), "")
			if err != nil {
				t.Fatal(err)
			}
			if a.Narrow(false); !slices.Equal(a.Scopes, want) {
				t.Errorf("scope %q = %v, want %v", asked, a.Scopes, want)
			}
		}
	})
	t.Run("OAU-04 every spelling of the resource", func(t *testing.T) {
		for _, r := range []string{"", resource, resource + "/", issuer, issuer + "/", "HTTPS://RUN.example/mcp", "https://run.example:443/mcp"} {
			code := f.authorize(request(web, map[string]string{"resource": r}))
			a := f.form("/token", redemption(web, code, map[string]string{"resource": r}))
			if a.status != http.StatusOK || !f.good(a.member("access_token")) {
				t.Errorf("resource %q: %d %s", r, a.status, a.text)
			}
			if again := f.refresh(web, a.member("refresh_token"), map[string]string{"resource": r}); again.status != http.StatusOK {
				t.Errorf("refresh for resource %q: %s", r, again.text)
			}
		}
		for _, r := range []string{issuer + "/other", "http://run.example/mcp", "https://run.example.evil/mcp", resource + "?x", resource + "#x", "https://u@run.example/mcp", "::"} {
			if _, err := f.ReadAuthorization(t.Context(), request(web, map[string]string{"resource": r}), ""); err == nil {
				t.Errorf("resource %q is accepted", r)
			}
		}
	})
	t.Run("the person says no", func(t *testing.T) {
		a, err := f.ReadAuthorization(t.Context(), request(web, nil), "")
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(f.Deny(t.Context(), a, f.user, ""))
		if err != nil || u.Query().Get("error") != "access_denied" || u.Query().Get("iss") != issuer || u.Query().Get("state") != "st ate" {
			t.Errorf("Deny() = %v, %v", u, err)
		}
	})
}

// A registration is there after a restart.
func TestRegistrationsStay(t *testing.T) {
	name := filepath.Join(t.TempDir(), "x.db")
	var client string
	for _, id := range []string{"first", "OAU-14 after a restart"} {
		db, err := sqlite.Open(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		f := fixtureOn(t, db, nil)
		if client == "" {
			client = f.client(callback)
		}
		if a := f.tokens(client); a.status != http.StatusOK {
			t.Errorf("%s: %s", id, a.text)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A user who is removed or disabled has no token that is good.
func TestUserEnds(t *testing.T) {
	f := newFixture(t, nil)
	client := f.client(callback)
	first := f.tokens(client)
	code := f.authorize(request(client, nil))
	if err := f.store.SetDisabled(t.Context(), f.user.ID, true); err != nil {
		t.Fatal(err)
	}
	if f.good(first.member("access_token")) || f.refresh(client, first.member("refresh_token"), nil).code() != "invalid_grant" ||
		f.form("/token", redemption(client, code, nil)).code() != "invalid_grant" {
		t.Error("something of a user who is disabled is good")
	}
	if _, err := f.store.User(t.Context(), f.user.ID); err != nil || errors.Is(err, store.ErrNotFound) {
		t.Error(err)
	}
}
