package identity_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/extent"
	"runpython/internal/fault"
	"runpython/internal/identity"
	"runpython/internal/passkey"
	"runpython/internal/secret"
	"runpython/internal/store"
	"runpython/internal/store/database"
	"runpython/internal/store/sqlite"
	"runpython/internal/store/storetest"
)

const (
	resource = "https://run.example/mcp"
	good     = "correct horse battery"
	home     = "192.0.2.1"
)

// fixture is a service on a database of its own, with a clock that only the test moves.
type fixture struct {
	*identity.Service
	t     *testing.T
	store *database.Store

	mu     sync.Mutex
	now    time.Time
	events []string
	done   []string // events with whose they are and what they are about
	deny   bool
}

func (f *fixture) Record(_ context.Context, event, subject, _, about string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if strings.Contains(about+subject, "horse") {
		f.t.Errorf("%s is recorded with a password", event)
	}
	f.events = append(f.events, event)
	f.done = append(f.done, event+" by "+subject+": "+about)
}

func (f *fixture) Allow(string, string) (time.Duration, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return 3 * time.Second, !f.deny
}

func (f *fixture) pass(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.now = f.now.Add(d)
}

func newFixture(t testing.TB) *fixture {
	t.Helper()
	db := storetest.Lasting[*database.Store](t)(sqlite.OpenMemory(t.Context()))
	f := &fixture{store: db, now: time.Unix(1_800_000_000, 0)}
	f.t, _ = t.(*testing.T)
	f.Service = identity.New(identity.Options{Store: db, Resource: resource, Record: f, Limit: f, Party: passkey.New(origin), Now: func() time.Time {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.now
	}})
	return f
}

func (f *fixture) add(name string) store.User {
	f.t.Helper()
	u, err := f.AddUser(f.t.Context(), name, good, false)
	if err != nil {
		f.t.Fatal(err)
	}
	return u
}

// kind fails the test unless an error is of a kind and its message has a text in it.
func kind(t *testing.T, what string, err error, want fault.Kind, text string) {
	t.Helper()
	if k, shown := fault.Shown(err); err == nil || k != want || !strings.Contains(shown, text) {
		t.Errorf("%s: %v; want %v, %q", what, err, want, text)
	}
}

func TestUsers(t *testing.T) {
	f := newFixture(t)
	u := f.add("Ann.Smith@example.org")
	if u.Name != "ann.smith@example.org" || len(u.ID) != 26 || !strings.HasPrefix(u.Password, "$argon2id$v=19$m=47104,t=1,p=1$") || strings.Contains(u.Password, good) {
		t.Errorf("AddUser() = %+v", u)
	}
	for _, name := range []string{"", "a b", "é", "-ann", "ann.", "a/b", "a\x00", strings.Repeat("a", 65), "<b>"} {
		_, err := f.AddUser(t.Context(), name, good, false)
		kind(t, fmt.Sprintf("the name %q", name), err, fault.Invalid, "the name must have")
	}
	for _, password := range []string{"", "short", strings.Repeat("a", 300), strings.Repeat("é", 9), "aaaaaaaaaaaa", "ab\ncdefghijkl", "a\xffbcdefghijk", "somebody-long"} {
		_, err := f.AddUser(t.Context(), "somebody-long", password, false)
		kind(t, fmt.Sprintf("the password %q", password), err, fault.Invalid, "the password must")
	}
	_, err := f.AddUser(t.Context(), "ANN.smith@example.org", good, false)
	kind(t, "the same name", err, fault.Invalid, "there is a user")
	_, err = f.Named(t.Context(), "nobody")
	kind(t, "an unknown name", err, fault.NotFound, "runpython user list")
	for what, err := range map[string]error{
		"password": f.SetPassword(t.Context(), "nobody", good), "disable": f.SetDisabled(t.Context(), "nobody", true), "remove": f.RemoveUser(t.Context(), "nobody"),
	} {
		kind(t, what, err, fault.NotFound, "there is no user")
	}
	first := f.add("twin")
	if err := f.RemoveUser(t.Context(), "twin"); err != nil {
		t.Fatal(err)
	}
	if second := f.add("twin"); second.ID == first.ID {
		t.Error("a new user of the same name is the same subject")
	}
}

func TestSignIn(t *testing.T) {
	f := newFixture(t)
	ann := f.add("ann")
	cookie, u, err := f.SignIn(t.Context(), "ANN", good, home)
	if err != nil || u.ID != ann.ID {
		t.Fatalf("SignIn() = %v, %v", u, err)
	}
	b, u, err := f.Browser(t.Context(), cookie)
	if err != nil || u.ID != ann.ID || b.Subject != ann.ID {
		t.Errorf("Browser() = %+v, %+v, %v", b, u, err)
	}
	for _, c := range []string{"", "x", secret.New(secret.Browser), string(b.Hash)} {
		_, _, err := f.Browser(t.Context(), c)
		kind(t, "another cookie", err, fault.NotFound, "nobody is signed in")
	}
	var shown []string
	for _, try := range [][2]string{{"ann", "wrong password"}, {"nobody", good}, {"no name!", good}, {"ann", ""}, {"ann", strings.Repeat("x", 100_000)}} {
		_, _, err := f.SignIn(t.Context(), try[0], try[1], home)
		kind(t, fmt.Sprintf("%.30q", try), err, fault.Invalid, "the name or the password is wrong")
		_, text := fault.Shown(err)
		shown = append(shown, text)
	}
	if diff := cmp.Diff([]string{shown[0], shown[0], shown[0], shown[0], shown[0]}, shown); diff != "" {
		t.Errorf("the answers differ:\n%s", diff)
	}
	if err := f.SignOut(t.Context(), b, home); err != nil {
		t.Error(err)
	}
	_, _, err = f.Browser(t.Context(), cookie)
	kind(t, "a browser that is signed out", err, fault.NotFound, "")
	cookie, _, err = f.SignIn(t.Context(), "ann", good, home)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.SetPassword(t.Context(), "ann", "another long one"); err != nil {
		t.Fatal(err)
	}
	_, _, err = f.Browser(t.Context(), cookie)
	kind(t, "a browser of an old password", err, fault.NotFound, "")
	cookie, _, err = f.SignIn(t.Context(), "ann", "another long one", home)
	if err != nil {
		t.Fatal(err)
	}
	f.pass(identity.BrowserTime)
	_, _, err = f.Browser(t.Context(), cookie)
	kind(t, "a browser after its time", err, fault.NotFound, "")
	if err := f.SetDisabled(t.Context(), "ann", true); err != nil {
		t.Fatal(err)
	}
	_, _, err = f.SignIn(t.Context(), "ann", "another long one", home)
	kind(t, "a user who is disabled", err, fault.Invalid, "wrong")
	f.deny = true
	_, _, err = f.SignIn(t.Context(), "ann", good, home)
	kind(t, "what the limiter refuses", err, fault.Busy, "try again in 3 s")
}

// Wrong passwords slow down who sends them, and nobody else.
func TestThrottle(t *testing.T) {
	extent.Slow(t)
	f := newFixture(t)
	f.add("ann")
	f.add("bob")
	wrong := func(name, address string) error {
		_, _, err := f.SignIn(t.Context(), name, "a wrong password", address)
		return err
	}
	for range 5 {
		kind(t, "a free attempt", wrong("ann", "203.0.113.9"), fault.Invalid, "")
	}
	kind(t, "the sixth", wrong("ann", "203.0.113.9"), fault.Busy, "try again in 5 s")
	if wait, ok := errors.AsType[*fault.Error](wrong("ann", "203.0.113.9")); !ok || wait.RetryAfter != 5*time.Second {
		t.Errorf("it waits %v", wait)
	}
	_, _, err := f.SignIn(t.Context(), "ann", good, "203.0.113.9")
	kind(t, "the right one from there", err, fault.Busy, "")
	if _, _, err := f.SignIn(t.Context(), "ann", good, home); err != nil {
		t.Errorf("Ann from her own address: %v", err)
	}
	if _, _, err := f.SignIn(t.Context(), "bob", good, "203.0.113.9"); err != nil {
		t.Errorf("Bob from the same address: %v", err)
	}
	f.pass(5 * time.Second)
	kind(t, "after the wait", wrong("ann", "203.0.113.9"), fault.Invalid, "")
	kind(t, "and again", wrong("ann", "203.0.113.9"), fault.Busy, "try again in 10 s")
	f.pass(time.Hour)
	kind(t, "when all is forgotten", wrong("ann", "203.0.113.9"), fault.Invalid, "")

	// The addresses of one network of IPv6 are one.
	for i := range 5 {
		kind(t, "a free attempt", wrong("ann", fmt.Sprintf("2001:db8::%x", i+1)), fault.Invalid, "")
	}
	kind(t, "the sixth of a network", wrong("ann", "2001:db8::ffff"), fault.Busy, "")
	kind(t, "another network", wrong("ann", "2001:db8:0:1::1"), fault.Invalid, "")
	kind(t, "a mapped address", wrong("ann", "::ffff:203.0.113.9"), fault.Invalid, "")
}

// A few wrong passwords a day add up to nothing, however many people share an address.
func TestThrottleForgets(t *testing.T) {
	a := identity.NewAttempts()
	now := time.Unix(1_800_000_000, 0)
	for day := range 30 {
		for i := range 4 {
			if wait := a.Begin("ann", home, now); wait != 0 {
				t.Fatalf("attempt %d of day %d waits %v", i, day, wait)
			}
		}
		now = now.Add(24 * time.Hour)
	}
}

// An address that tries many accounts is slowed down as well; what is counted is bounded.
func TestThrottleOfManyAccounts(t *testing.T) {
	a := identity.NewAttempts()
	now := time.Unix(1_800_000_000, 0)
	for i := range 50 {
		if wait := a.Begin(fmt.Sprint("user", i), home, now); wait != 0 {
			t.Fatalf("attempt %d waits %v", i, wait)
		}
	}
	if wait := a.Begin("another", home, now); wait == 0 {
		t.Error("an address tries as many accounts as it likes")
	}
	a.Forgive("user1", home)
	if wait := a.Begin("another", home, now); wait != 0 {
		t.Errorf("it waits %v after a right password", wait)
	}
	for i := range 200 { // one stranger, of all who come by a proxy that was not named
		if wait := a.Begin(fmt.Sprint("user", i), "127.0.0.1", now); wait != 0 {
			t.Fatalf("after %d attempts by loopback everybody waits %v", i, wait)
		}
	}
	for i := range 30_000 {
		a.Begin("ann", fmt.Sprintf("10.%d.%d.%d", i>>16, i>>8&255, i&255), now.Add(time.Duration(i)))
	}
	if n := a.Len(); n > identity.MaxAttempts {
		t.Errorf("%d attempts are remembered", n)
	}
}

// Many sign-ins at once do not each take the memory of a hash: what is too much is told to come again.
func TestHashingIsBounded(t *testing.T) {
	extent.Slow(t)
	f := newFixture(t)
	f.add("ann")
	const more = 8
	release := identity.Occupy(f.Service)
	kinds := make(chan fault.Kind, identity.MaxWaiting+more)
	for i := range identity.MaxWaiting + more {
		go func() {
			_, _, err := f.SignIn(t.Context(), "ann", "a wrong password", fmt.Sprintf("198.51.100.%d", i))
			k, _ := fault.Shown(err)
			kinds <- k
		}()
	}
	for range more { // the others wait
		if k := <-kinds; k != fault.Busy {
			t.Errorf("one of too many: %v", k)
		}
	}
	release()
	for range identity.MaxWaiting {
		if k := <-kinds; k != fault.Invalid {
			t.Errorf("one of those who waited: %v", k)
		}
	}
}

// Tokens that have ended take no place of new ones.
func TestEndedTokensMakeRoom(t *testing.T) {
	f := newFixture(t)
	f.add("ann")
	create := func(name string) error {
		_, err := f.CreateToken(t.Context(), identity.NewToken{Name: name, User: "ann", Scopes: "run", Expires: time.Hour})
		return err
	}
	for i := range identity.MaxTokens {
		if err := create(fmt.Sprint("job", i)); err != nil {
			t.Fatal(err)
		}
	}
	kind(t, "one more", create("more"), fault.Busy, "revoke some")
	f.pass(time.Hour)
	if err := create("more"); err != nil {
		t.Errorf("when all have ended: %v", err)
	}
}

// What keyboards do differently is no reason to be refused: spaces that phones add to a name, accents that are characters of their own.
func TestSignInAsTyped(t *testing.T) {
	f := newFixture(t)
	if _, err := f.AddUser(t.Context(), " Ann", "p\u00e4ssw\u00f6rter sind sch\u00f6n", false); err != nil {
		t.Fatal(err)
	}
	for _, try := range [][2]string{
		{"ann", "p\u00e4ssw\u00f6rter sind sch\u00f6n"}, {"Ann ", "pa\u0308sswo\u0308rter sind scho\u0308n"}, {"\tann\n", "pa\u0308ssw\u00f6rter sind sch\u00f6n"},
	} {
		if _, _, err := f.SignIn(t.Context(), try[0], try[1], home); err != nil {
			t.Errorf("%q with %+q: %v", try[0], try[1], err)
		}
	}
	_, _, err := f.SignIn(t.Context(), "ann", "passworter sind schon", home)
	kind(t, "without accents", err, fault.Invalid, "is wrong")
	_, err = f.AddUser(t.Context(), "bob", strings.Repeat("a\u0308", 6), false)
	kind(t, "six letters that are twelve characters", err, fault.Invalid, "10 to 256")
	_, err = f.AddUser(t.Context(), "a n", good, false)
	kind(t, "a space within a name", err, fault.Invalid, "the name must have")
}

// What could not be looked at, since too many sign in, is no wrong password of whoever has sent it.
func TestBusyIsNoWrongPassword(t *testing.T) {
	f := newFixture(t)
	f.add("ann")
	release := identity.Crowd(f.Service)
	for range 10 {
		_, _, err := f.SignIn(t.Context(), "ann", good, home)
		kind(t, "while too many sign in", err, fault.Busy, "too many people sign in")
	}
	release()
	gone, leave := context.WithCancel(t.Context())
	leave()
	for range 10 {
		if _, _, err := f.SignIn(gone, "ann", good, home); !errors.Is(err, context.Canceled) {
			t.Errorf("one who has left: %v", err)
		}
	}
	if _, _, err := f.SignIn(t.Context(), "ann", good, home); err != nil {
		t.Errorf("the right password, when there is room again: %v", err)
	}
	for range 5 {
		_, _, err := f.SignIn(t.Context(), "ann", "a wrong password", "203.0.113.9")
		kind(t, "a free attempt", err, fault.Invalid, "")
	}
	release = identity.Crowd(f.Service)
	defer release()
	_, _, err := f.SignIn(t.Context(), "ann", good, "203.0.113.9")
	kind(t, "wrong ones still count", err, fault.Busy, "try again in 5 s")
}

// A careless store adds a user beyond the bound, as databases do where two who add one at once do not see each other.
type careless struct{ *database.Store }

func (s careless) AddUser(ctx context.Context, u store.User, _ int) error {
	return s.Store.AddUser(ctx, u, 100)
}

// A link makes one account, whatever the database does with several at once.
func TestSetupOnce(t *testing.T) {
	f := newFixture(t)
	s := identity.New(identity.Options{Store: careless{f.store}, Record: f, Limit: f})
	link, err := s.BeginSetup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			if _, err := s.FinishSetup(t.Context(), link, fmt.Sprint("ann", i), good); err != nil {
				kind(t, "one of the others", err, fault.NotFound, "not good any more")
			}
		})
	}
	all.Wait()
	if users, err := s.Users(t.Context()); len(users) != 1 || err != nil {
		t.Errorf("%d accounts, %v; want 1", len(users), err)
	}
}

// A changing store gives users another password just when they are let in.
type changing struct{ *database.Store }

func (s changing) AddBrowser(ctx context.Context, b store.Browser, password string, most int) error {
	if err := s.SetPassword(ctx, b.Subject, "another"); err != nil {
		return err
	}
	return s.Store.AddBrowser(ctx, b, password, most)
}

// Whoever signs in by a password while it is changed is not let in by it.
func TestPasswordChangedMeanwhile(t *testing.T) {
	f := newFixture(t)
	f.add("ann")
	late := identity.New(identity.Options{Store: changing{f.store}, Record: f, Limit: f})
	cookie, _, err := late.SignIn(t.Context(), "ann", good, home)
	kind(t, "by the password before", err, fault.Invalid, "try again")
	if cookie != "" {
		t.Error("there is a cookie")
	}
}

func TestBearers(t *testing.T) {
	f := newFixture(t)
	ann := f.add("ann")
	token, err := f.CreateToken(t.Context(), identity.NewToken{Name: "job", User: "Ann", Scopes: "run", Expires: 90 * 24 * time.Hour})
	if err != nil || !secret.Looks(token, secret.Machine) {
		t.Fatalf("CreateToken() = %q, %v", token, err)
	}
	p, err := f.Bearer(t.Context(), []string{"bearer  " + token})
	want := &identity.Principal{Subject: ann.ID, Scopes: []string{"run"}, Expires: f.now.Add(90 * 24 * time.Hour)}
	if diff := cmp.Diff(want, p); diff != "" || err != nil {
		t.Errorf("Bearer(): %v (-want +got):\n%s", err, diff)
	}
	if p, err := f.Bearer(t.Context(), nil); p != nil || err != nil {
		t.Errorf("no header: %v, %v", p, err)
	}
	for _, headers := range [][]string{{""}, {"Bearer"}, {"Bearer " + token + "x"}, {"Basic " + token}, {token}, {"Bearer " + token, "Bearer " + token}, {"Bearer " + secret.New(secret.Access)}, {"Bearer " + token + " " + token}} {
		if p, err := f.Bearer(t.Context(), headers); p != nil || !errors.Is(err, identity.ErrToken) {
			t.Errorf("%.40q: %v, %v", headers, p, err)
		}
	}
	t.Run("ISO-08 samples that are written somewhere", func(t *testing.T) {
		for _, sample := range []string{"TOKEN", "rp_mt_TOKEN", "changeme", "rp_at_" + strings.Repeat("x", 43)} {
			if p, err := f.Bearer(t.Context(), []string{"Bearer " + sample}); p != nil || !errors.Is(err, identity.ErrToken) {
				t.Errorf("%s: %v, %v", sample, p, err)
			}
		}
	})
	t.Run("OAU-21 for another resource", func(t *testing.T) {
		for audience, fine := range map[string]bool{resource: true, "https://other.example": false, "https://run.example": false} {
			text := secret.New(secret.Access)
			sum := sha256.Sum256([]byte(text))
			err := f.store.AddGrant(t.Context(), store.Issued{
				Grant:  store.Grant{ID: audience, Subject: ann.ID, Client: "c", Resource: audience, Created: f.now, Used: f.now, Expires: f.now.Add(time.Hour)},
				Tokens: []store.Token{{Hash: sum[:], Kind: store.AccessToken, Scopes: "run", Created: f.now, Expires: f.now.Add(time.Hour)}},
			})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := f.Bearer(t.Context(), []string{"Bearer " + text}); (err == nil) != fine || err != nil && !errors.Is(err, identity.ErrToken) {
				t.Errorf("for %s: %v", audience, err)
			}
		}
	})
	for what, n := range map[string]identity.NewToken{
		"has a token":   {Name: "job", User: "ann", Scopes: "run", Expires: time.Hour},
		"no user":       {Name: "x", User: "nobody", Scopes: "run", Expires: time.Hour},
		"five years":    {Name: "x", User: "ann", Scopes: "run", Expires: 6 * 365 * 24 * time.Hour},
		"printable":     {Name: "a\nb", User: "ann", Scopes: "run", Expires: time.Hour},
		"1 to 64 bytes": {Name: "", User: "ann", Scopes: "run", Expires: time.Hour},
	} {
		_, err := f.CreateToken(t.Context(), n)
		if _, shown := fault.Shown(err); err == nil || !strings.Contains(shown, what) {
			t.Errorf("CreateToken(%+v) = %v; want %q", n, err, what)
		}
	}
	f.pass(2 * time.Hour)
	if _, err := f.Bearer(t.Context(), []string{"Bearer " + token}); err != nil {
		t.Error(err)
	}
	all, err := f.Tokens(t.Context())
	if err != nil || len(all) != 1 || all[0].User != "ann" || all[0].Name != "job" || !all[0].Used.Equal(f.now) {
		t.Errorf("Tokens() = %+v, %v", all, err)
	}
	f.pass(90 * 24 * time.Hour)
	if _, err := f.Bearer(t.Context(), []string{"Bearer " + token}); !errors.Is(err, identity.ErrToken) {
		t.Errorf("after its time: %v", err)
	}
	if _, err := f.CreateToken(t.Context(), identity.NewToken{Name: "job", User: "ann", Scopes: "run", Expires: time.Hour}); err != nil {
		t.Errorf("the name of a token that has ended: %v", err)
	}
	if err := f.RevokeToken(t.Context(), "job", "ann"); err != nil {
		t.Error(err)
	}
	kind(t, "revoke twice", f.RevokeToken(t.Context(), "job", "ann"), fault.NotFound, "no token of that name")
	kind(t, "revoke what is not there", f.Revoke(t.Context(), "x", ann, ""), fault.NotFound, "not connected")
}

func TestSetup(t *testing.T) {
	f := newFixture(t)
	link, err := f.BeginSetup(t.Context())
	if err != nil || !f.CanSetup(link) || f.CanSetup("") || f.CanSetup(secret.New(secret.Setup)) {
		t.Fatalf("BeginSetup() = %q, %v", link, err)
	}
	_, err = f.FinishSetup(t.Context(), link, "ann", "short")
	kind(t, "a short password", err, fault.Invalid, "10 to 256")
	_, err = f.FinishSetup(t.Context(), "wrong", "ann", good)
	kind(t, "another link", err, fault.NotFound, "not good any more")
	release := identity.Crowd(f.Service)
	_, err = f.FinishSetup(t.Context(), link, "ann", good)
	kind(t, "while too many sign in", err, fault.Busy, "in a few seconds")
	release()
	if !f.CanSetup(link) {
		t.Fatal("a busy server has used the link up")
	}
	var all sync.WaitGroup
	var mu sync.Mutex
	made := 0
	for i := range 8 {
		all.Go(func() {
			u, err := f.FinishSetup(t.Context(), link, fmt.Sprint("ann", i), good)
			mu.Lock()
			defer mu.Unlock()
			if err == nil && u.Admin {
				made++
			} else if k, _ := fault.Shown(err); k != fault.NotFound {
				t.Errorf("FinishSetup() = %+v, %v", u, err)
			}
		})
	}
	all.Wait()
	if made != 1 || f.CanSetup(link) {
		t.Errorf("%d first accounts", made)
	}
	if link, err := f.BeginSetup(t.Context()); link != "" || err != nil {
		t.Errorf("BeginSetup() = %q, %v with an account", link, err)
	}
	late := newFixture(t)
	link, err = late.BeginSetup(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	late.pass(time.Hour)
	_, err = late.FinishSetup(t.Context(), link, "ann", good)
	kind(t, "after an hour", err, fault.NotFound, "not good any more")
}

// No header that was not given out names anybody.
func FuzzBearer(f *testing.F) {
	x := newFixture(f)
	for _, h := range []string{"", "Bearer ", "Bearer x", "bearer rp_at_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "Basic dTpw", "Bearer\trp_mt_", "Bearer a b"} {
		f.Add(h)
	}
	f.Fuzz(func(t *testing.T, header string) {
		if p, err := x.Bearer(t.Context(), []string{header}); p != nil || !errors.Is(err, identity.ErrToken) {
			t.Fatalf("%q names %v, %v", header, p, err)
		}
	})
}

// BenchmarkBearer is what the check of a token adds to each call.
func BenchmarkBearer(b *testing.B) {
	f := newFixture(b)
	if _, err := f.AddUser(b.Context(), "ann", good, false); err != nil {
		b.Fatal(err)
	}
	token, err := f.CreateToken(b.Context(), identity.NewToken{Name: "job", User: "ann", Scopes: "run", Expires: time.Hour})
	if err != nil {
		b.Fatal(err)
	}
	headers := []string{"Bearer " + token}
	for b.Loop() {
		if _, err := f.Bearer(b.Context(), headers); err != nil {
			b.Fatal(err)
		}
	}
}
