package oauth_test

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"runpython/internal/oauth"
	"runpython/internal/store"
	"runpython/internal/store/database"
	"runpython/internal/store/sqlite"
	"runpython/internal/store/storetest"
)

const (
	issuer   = "https://run.example"
	resource = issuer + "/mcp"
	callback = "https://app.example/cb"
	verifier = "a-verifier-that-is-long-enough-for-rfc-7636-and-some"
)

// fixture is a server on a database of its own, with a clock that only the test moves.
type fixture struct {
	*oauth.Server
	t       testing.TB
	store   *database.Store
	user    store.User
	handler http.Handler

	mu     sync.Mutex
	now    time.Time
	events []string
	denied map[string]bool // what the limiter refuses
}

func (f *fixture) Record(_ context.Context, event, subject, _, _ string) {
	if event != oauth.EventRegistered && subject != f.user.ID { // who registers is not known
		f.t.Errorf("%s is recorded of %q, want %q", event, subject, f.user.ID)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events = append(f.events, event)
}

func (f *fixture) Allow(event, _ string) (time.Duration, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return 7 * time.Second, !f.denied[event]
}

func (f *fixture) clock() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.now
}

func (f *fixture) pass(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

func (f *fixture) has(event string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Contains(f.events, event)
}

// newFixture makes one; change, if any, changes its options first.
func newFixture(t testing.TB, change func(*oauth.Options)) *fixture {
	t.Helper()
	db := storetest.Lasting[*database.Store](t)(sqlite.OpenMemory(t.Context()))
	return fixtureOn(t, db, change)
}

func fixtureOn(t testing.TB, db *database.Store, change func(*oauth.Options)) *fixture {
	t.Helper()
	f := &fixture{t: t, store: db, now: time.Unix(1_800_000_000, 0), user: store.User{ID: "ann-id", Name: "ann", Created: time.Unix(1, 0)}, denied: map[string]bool{}}
	if err := db.AddUser(t.Context(), f.user, 10); err != nil && !errors.Is(err, store.ErrExists) {
		t.Fatal(err)
	}
	o := oauth.Options{
		Issuer: issuer, Resource: resource, Store: db, Registration: oauth.RegistrationOpen, Record: f, Limit: f, Now: f.clock,
		Fetcher: oauth.NewFetcher(oauth.FetcherOptions{Reachable: func(netip.Addr) bool { return false }}),
		Address: func(*http.Request) string { return "192.0.2.1" },
	}
	if change != nil {
		change(&o)
	}
	f.Server = oauth.New(o)
	f.handler = f.Handler()
	return f
}

// answer is what came back for a request.
type answer struct {
	status int
	header http.Header
	body   map[string]any
	text   string
}

func (a answer) code() string { s, _ := a.body["error"].(string); return s }

func (a answer) member(name string) string { s, _ := a.body[name].(string); return s }

func (f *fixture) do(r *http.Request) answer {
	f.t.Helper()
	w := httptest.NewRecorder()
	f.handler.ServeHTTP(w, r)
	a := answer{status: w.Code, header: w.Header(), text: w.Body.String()}
	if strings.HasPrefix(a.header.Get("Content-Type"), "application/json") {
		if err := json.Unmarshal(w.Body.Bytes(), &a.body); err != nil {
			f.t.Errorf("%s %s answers %q: %v", r.Method, r.URL, a.text, err)
		}
	}
	return a
}

func (f *fixture) get(path string) answer {
	return f.do(httptest.NewRequestWithContext(f.t.Context(), http.MethodGet, issuer+path, http.NoBody))
}

func (f *fixture) post(path, contentType, body string) answer {
	r := httptest.NewRequestWithContext(f.t.Context(), http.MethodPost, issuer+path, strings.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	return f.do(r)
}

func (f *fixture) form(path string, v url.Values) answer {
	return f.post(path, "application/x-www-form-urlencoded", v.Encode())
}

// register registers a client and returns the answer, which must be 201.
func (f *fixture) register(metadata string) answer {
	f.t.Helper()
	a := f.post("/register", "application/json", metadata)
	if a.status != http.StatusCreated {
		f.t.Fatalf("register %s = %d %s", metadata, a.status, a.text)
	}
	return a
}

// client registers a public client with one redirect URI and returns its id.
func (f *fixture) client(redirect string) string {
	f.t.Helper()
	return f.register(`{"client_name":"An App","redirect_uris":["` + redirect + `"]}`).member("client_id")
}

func challengeOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// request returns a good request for authorization, with some parameters changed; "" takes one out.
func request(client string, changed map[string]string) url.Values {
	all := map[string]string{
		"response_type": "code", "client_id": client, "redirect_uri": callback, "code_challenge": challengeOf(verifier), "code_challenge_method": "S256",
		"state": "st ate", "resource": resource,
	}
	return parameters(all, changed)
}

// parameters are all but those that are changed; "" takes one out.
func parameters(all, changed map[string]string) url.Values {
	maps.Copy(all, changed)
	v := url.Values{}
	for name, value := range all {
		if value != "" {
			v.Set(name, value)
		}
	}
	return v
}

// authorize has the person say yes and returns the code.
func (f *fixture) authorize(v url.Values) string {
	f.t.Helper()
	a, err := f.ReadAuthorization(f.t.Context(), v, "192.0.2.1")
	if err != nil {
		f.t.Fatalf("ReadAuthorization(%v) = %v", v, err)
	}
	to, err := f.Approve(f.t.Context(), a, f.user, "192.0.2.1")
	if err != nil {
		f.t.Fatal(err)
	}
	u, err := url.Parse(to)
	if err != nil || u.Query().Get("code") == "" || u.Query().Get("iss") != issuer || u.Query().Get("state") != v.Get("state") {
		f.t.Fatalf("Approve() = %q, %v", to, err)
	}
	return u.Query().Get("code")
}

// redemption returns a good request for tokens, with some parameters changed.
func redemption(client, code string, changed map[string]string) url.Values {
	all := map[string]string{"grant_type": "authorization_code", "client_id": client, "code": code, "redirect_uri": callback, "code_verifier": verifier, "resource": resource}
	return parameters(all, changed)
}

// tokens goes all the way for a client and returns the answer with the tokens.
func (f *fixture) tokens(client string) answer {
	f.t.Helper()
	a := f.form("/token", redemption(client, f.authorize(request(client, nil)), nil))
	if a.status != http.StatusOK {
		f.t.Fatalf("token = %d %s", a.status, a.text)
	}
	return a
}

func (f *fixture) refresh(client, token string, changed map[string]string) answer {
	v := url.Values{"grant_type": {"refresh_token"}, "client_id": {client}, "refresh_token": {token}}
	for name, value := range changed {
		v.Set(name, value)
	}
	return f.form("/token", v)
}

// good reports whether an access token is one now.
func (f *fixture) good(token string) bool {
	f.t.Helper()
	sum := sha256.Sum256([]byte(token))
	_, err := f.store.Bearer(f.t.Context(), sum[:], f.clock())
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		f.t.Error(err)
	}
	return err == nil
}

// documents serves what clients say of themselves, over TLS on loopback, which the fetcher of the returned fixture reaches.
func documents(t *testing.T, serve http.HandlerFunc) (*fixture, *httptest.Server) {
	t.Helper()
	s := httptest.NewTLSServer(serve)
	t.Cleanup(s.Close)
	transport, ok := s.Client().Transport.(*http.Transport)
	if !ok {
		t.Fatal("the test server's client has another transport")
	}
	var f *fixture
	f = newFixture(t, func(o *oauth.Options) {
		o.Fetcher = oauth.NewFetcher(oauth.FetcherOptions{
			Reachable: func(a netip.Addr) bool { return a.IsLoopback() }, TLS: transport.TLSClientConfig, Now: func() time.Time { return f.clock() },
		})
	})
	return f, s
}
