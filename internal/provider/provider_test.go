package provider_test

import (
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"runpython/internal/fault"
	"runpython/internal/provider"
	"runpython/internal/provider/providertest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const redirect = "https://run.example/login/callback"

// now is when all that happens in these tests does.
func now() time.Time { return time.Unix(1_800_000_000, 0) }

// client returns a Provider for one that a test plays, which admits everybody unless change says otherwise.
func client(t *testing.T, r *providertest.Rogue, change func(*provider.Options)) *provider.Provider {
	t.Helper()
	o := r.Options(redirect)
	if change != nil {
		change(&o)
	}
	p := provider.New(o)
	t.Cleanup(p.Client.CloseIdleConnections)
	return p
}

// signIn goes all the way. more are parameters of the answer beside or in place of its own.
func signIn(t *testing.T, r *providertest.Rogue, p *provider.Provider, more url.Values) (provider.Person, error) {
	t.Helper()
	a, to, err := p.Begin(t.Context(), "the-state")
	if err != nil {
		return provider.Person{}, err
	}
	q := r.Arrive(to)
	maps.Copy(q, more)
	return p.Finish(t.Context(), a, q)
}

// Each sign-in asks for a code in a way of its own.
func TestBegin(t *testing.T) {
	r := providertest.NewRogue(t, now)
	p := client(t, r, nil)
	var seen [2]url.Values
	for i := range seen {
		a, to, err := p.Begin(t.Context(), "a state&")
		if err != nil {
			t.Fatal(err)
		}
		u, err := url.Parse(to)
		if err != nil || !strings.HasPrefix(to, r.URL()+"/auth?") {
			t.Fatalf("Begin() leads to %q, %v", to, err)
		}
		seen[i] = u.Query()
		if a.Nonce == "" || u.Query().Get("nonce") != a.Nonce || len(a.Verifier) < 43 || strings.Contains(to, a.Verifier) || strings.Contains(to, providertest.ClientSecret) {
			t.Errorf("Begin() = %+v, %q", a, to)
		}
	}
	for _, name := range []string{"nonce", "code_challenge"} {
		if seen[0].Get(name) == seen[1].Get(name) {
			t.Errorf("%s is the same twice", name)
		}
		seen[0].Del(name)
	}
	want := url.Values{
		"response_type": {"code"}, "client_id": {providertest.ClientID}, "redirect_uri": {redirect}, "scope": {"openid email"}, "state": {"a state&"}, "code_challenge_method": {"S256"},
	}
	if diff := cmp.Diff(want, seen[0]); diff != "" {
		t.Errorf("parameters (-want +got):\n%s", diff)
	}
	if n := r.Asked("/.well-known/openid-configuration"); n != 1 {
		t.Errorf("what it is was fetched %d times", n)
	}
}

func TestSignIn(t *testing.T) {
	r := providertest.NewRogue(t, now)
	p := client(t, r, nil)
	want := provider.Person{External: "s-1", Address: "ann@example.org", Name: "ann"}
	got, err := signIn(t, r, p, nil)
	if err != nil || got != want {
		t.Errorf("Finish() = %+v, %v; want %+v", got, err, want)
	}
	if !r.Basic() {
		t.Error("the secret was not in the header, which is the way when none is said")
	}
	if _, err := signIn(t, r, p, nil); err != nil || r.Asked("/keys") != 1 {
		t.Errorf("a second time: %v, keys were fetched %d times", err, r.Asked("/keys"))
	}
	r.Wish(providertest.Wishes{Discovery: map[string]any{"token_endpoint_auth_methods_supported": []string{"client_secret_post"}}})
	if _, err := signIn(t, r, client(t, r, nil), nil); err != nil || r.Basic() {
		t.Errorf("with the secret in the form: %v, in the header: %v", err, r.Basic())
	}
}

// Keys and what the provider is change; it was away meanwhile.
func TestProviderChanges(t *testing.T) {
	r := providertest.NewRogue(t, now)
	var mu sync.Mutex
	at := now()
	p := client(t, r, func(o *provider.Options) {
		o.Now = func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return at
		}
	})
	if _, err := signIn(t, r, p, nil); err != nil {
		t.Fatal(err)
	}
	key := providertest.NewKey(t)
	r.Wish(providertest.Wishes{Key: key}) // of the same id: the signature decides
	if _, err := signIn(t, r, p, nil); err != nil || r.Asked("/keys") != 2 {
		t.Errorf("with another key: %v, keys were fetched %d times", err, r.Asked("/keys"))
	}
	r.Wish(providertest.Wishes{Key: key, Answers: map[string]http.HandlerFunc{
		"/.well-known/openid-configuration": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
	}})
	if _, err := signIn(t, r, p, nil); err != nil {
		t.Errorf("what is known is good for an hour: %v", err)
	}
	mu.Lock()
	at = at.Add(2 * time.Hour)
	mu.Unlock()
	_, err := signIn(t, r, p, nil)
	if kind, said := fault.Shown(err); kind != fault.Busy || said != "Our Login does not answer at the moment: try again in a minute" {
		t.Errorf("away = %v", err)
	}
	r.Wish(providertest.Wishes{Key: key, Claims: map[string]any{"exp": at.Add(time.Minute).Unix(), "iat": at.Unix()}})
	if _, err := signIn(t, r, p, nil); err != nil {
		t.Errorf("back again: %v", err)
	}
}

// What the ID token does not tell is asked for, and belongs to the same person.
func TestUserinfo(t *testing.T) {
	domain := func(o *provider.Options) {
		o.Admit = provider.Admission{Domains: []string{"example.org"}, GroupsClaim: "groups"}
	}
	for name, tt := range map[string]struct {
		claims, userinfo map[string]any
		want             string // address, or "" for a refusal
	}{
		"all of it there":               {map[string]any{"email": nil, "email_verified": nil}, map[string]any{"sub": "s-1", "email": "ann@example.org", "email_verified": true}, "ann@example.org"},
		"not verified there":            {map[string]any{"email": nil, "email_verified": nil}, map[string]any{"sub": "s-1", "email": "ann@example.org"}, ""},
		"somebody else's":               {map[string]any{"email": nil}, map[string]any{"sub": "s-2", "email": "ann@example.org", "email_verified": true}, ""},
		"nobody's":                      {map[string]any{"email": nil}, map[string]any{"email": "ann@example.org", "email_verified": true}, ""},
		"verified there, another here":  {map[string]any{"email_verified": nil}, map[string]any{"sub": "s-1", "email": "x@example.org", "email_verified": true}, ""},
		"verified here, an address not": {map[string]any{"email": nil, "email_verified": true}, map[string]any{"sub": "s-1", "email": "ann@example.org", "email_verified": false}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			r := providertest.NewRogue(t, now)
			r.Wish(providertest.Wishes{Claims: tt.claims, Userinfo: tt.userinfo})
			got, err := signIn(t, r, client(t, r, domain), nil)
			if got.Address != tt.want || (err == nil) != (tt.want != "") {
				t.Errorf("Finish() = %+v, %v; want %q", got, err, tt.want)
			}
		})
	}
	r := providertest.NewRogue(t, now)
	if _, err := signIn(t, r, client(t, r, domain), nil); err != nil || r.Asked("/userinfo") != 0 {
		t.Errorf("asked %d times for what was told, %v", r.Asked("/userinfo"), err)
	}
}

// The lists decide, each time, by what is verified.
func TestAdmission(t *testing.T) {
	many := make([]string, 2001)
	for name, tt := range map[string]struct {
		admit  provider.Admission
		claims map[string]any
		good   bool
	}{
		"nobody without a list":         {provider.Admission{}, nil, false},
		"everybody":                     {provider.Admission{Everybody: true}, nil, true},
		"everybody, not verified":       {provider.Admission{Everybody: true}, map[string]any{"email_verified": false}, true},
		"a domain":                      {provider.Admission{Domains: []string{"x.example", "example.org"}}, nil, true},
		"another domain":                {provider.Admission{Domains: []string{"ple.org"}}, nil, false},
		"a domain below":                {provider.Admission{Domains: []string{"example.org"}}, map[string]any{"email": "ann@evil.example.org"}, false},
		"not verified":                  {provider.Admission{Domains: []string{"example.org"}}, map[string]any{"email_verified": false}, false},
		"nothing said of verified":      {provider.Admission{Domains: []string{"example.org"}}, map[string]any{"email_verified": nil}, false},
		"verified as text":              {provider.Admission{Domains: []string{"example.org"}}, map[string]any{"email_verified": "true"}, true},
		"verified as a number":          {provider.Admission{Domains: []string{"example.org"}}, map[string]any{"email_verified": 1}, false},
		"two addresses in one":          {provider.Admission{Domains: []string{"example.org"}}, map[string]any{"email": "a@evil.example@example.org"}, false},
		"a domain without an address":   {provider.Admission{Domains: []string{"example.org"}}, map[string]any{"email": "example.org"}, false},
		"an address that is no text":    {provider.Admission{Domains: []string{"example.org"}}, map[string]any{"email": []string{"ann@example.org"}}, false},
		"hd of another than Google":     {provider.Admission{Domains: []string{"example.org"}}, map[string]any{"email": "ann@evil.example", "hd": "example.org"}, false},
		"a group":                       {provider.Admission{Groups: []string{"staff"}, GroupsClaim: "groups"}, nil, true},
		"no group of the list":          {provider.Admission{Groups: []string{"sta", "Staff"}, GroupsClaim: "groups"}, nil, false},
		"groups of another name":        {provider.Admission{Groups: []string{"staff"}, GroupsClaim: "https://x/groups"}, nil, false},
		"one group as text":             {provider.Admission{Groups: []string{"staff"}, GroupsClaim: "https://x/groups"}, map[string]any{"https://x/groups": "staff"}, true},
		"groups that are no texts":      {provider.Admission{Groups: []string{"staff"}, GroupsClaim: "groups"}, map[string]any{"groups": []any{"staff", 1}}, false},
		"groups that are an object":     {provider.Admission{Groups: []string{"staff"}, GroupsClaim: "groups"}, map[string]any{"groups": map[string]any{"staff": true}}, false},
		"too many groups":               {provider.Admission{Groups: []string{""}, GroupsClaim: "groups"}, map[string]any{"groups": many}, false},
		"groups elsewhere, as of Entra": {provider.Admission{Groups: []string{"staff"}, GroupsClaim: "groups"}, map[string]any{"groups": nil, "_claim_names": map[string]any{"groups": "s"}, "_claim_sources": map[string]any{"s": map[string]any{"endpoint": "http://127.0.0.1:1/"}}}, false},
		"both":                          {provider.Admission{Domains: []string{"example.org"}, Groups: []string{"staff"}, GroupsClaim: "groups"}, nil, true},
		"a domain, and no group":        {provider.Admission{Domains: []string{"example.org"}, Groups: []string{"x"}, GroupsClaim: "groups"}, nil, false},
		"a group, and no domain":        {provider.Admission{Domains: []string{"x"}, Groups: []string{"staff"}, GroupsClaim: "groups"}, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := providertest.NewRogue(t, now)
			r.Wish(providertest.Wishes{Claims: tt.claims, Userinfo: map[string]any{"sub": "s-1"}})
			got, err := signIn(t, r, client(t, r, func(o *provider.Options) { o.Admit = tt.admit }), nil)
			if kind, said := fault.Shown(err); (err == nil) != tt.good || err != nil && (kind != fault.Invalid || strings.Contains(said, "example.org")) {
				t.Errorf("Finish() = %+v, %v; want admitted: %v", got, err, tt.good)
			}
		})
	}
}
