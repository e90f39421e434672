package identity_test

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"runpython/internal/fault"
	"runpython/internal/identity"
	"runpython/internal/provider"
	"runpython/internal/provider/providertest"
	"runpython/internal/secret"
	"runpython/internal/store"
)

const back = "https://run.example/login/callback"

// brokered is a fixture whose people may also sign in at a provider. A cookie of a browser where nobody is signed in is any text.
type brokered struct {
	*fixture
	rogue *providertest.Rogue
}

func newBrokered(t *testing.T, change func(*identity.Options, *provider.Options)) *brokered {
	t.Helper()
	f := newFixture(t)
	b := &brokered{f, providertest.NewRogue(t, f.Now)}
	o := b.rogue.Options(back)
	if change != nil {
		change(&f.Options, &o)
	}
	f.Provider = provider.New(o)
	t.Cleanup(f.Provider.Client.CloseIdleConnections)
	return b
}

// is is who comes back from the provider from now on.
func (b *brokered) is(claims map[string]any) { b.rogue.Wish(providertest.Wishes{Claims: claims}) }

// enter goes all the way and returns who is signed in at the browser then.
func (b *brokered) enter(browser string) (store.User, error) {
	b.t.Helper()
	to, err := b.BeginAtProvider(b.t.Context(), browser, "/account?x", home)
	if err != nil {
		return store.User{}, err
	}
	cookie, next, err := b.FinishAtProvider(b.t.Context(), browser, b.rogue.Arrive(to), home)
	if next != "/account?x" {
		b.t.Errorf("next = %q", next)
	}
	if err != nil {
		if cookie != "" {
			b.t.Errorf("a cookie with %v", err)
		}
		return store.User{}, err
	}
	_, u, err := b.Browser(b.t.Context(), cookie)
	return u, err
}

// A person is issuer and subject, whatever else the provider says, and nobody gets the account of another one.
func TestPeopleOfAProvider(t *testing.T) {
	b := newBrokered(t, func(_ *identity.Options, o *provider.Options) {
		o.Admit = provider.Admission{Groups: []string{"staff"}, GroupsClaim: "groups"}
	})
	local := b.add("ann@example.org")
	first, err := b.enter("b1")
	if err != nil || first.ID == local.ID || first.Name != "ann@example.org-2" || first.Admin || first.Password != "" {
		t.Fatalf("somebody with the address of a local user is %+v, %v", first, err)
	}
	again, err := b.enter("b2")
	if err != nil || again.ID != first.ID {
		t.Errorf("a second time she is %+v, %v", again, err)
	}
	b.is(map[string]any{"sub": "s-1", "email": "new@example.org", "preferred_username": "root"})
	if renamed, err := b.enter("b1"); err != nil || renamed.ID != first.ID || renamed.Name != first.Name {
		t.Errorf("with another name she is %+v, %v", renamed, err)
	}
	b.is(map[string]any{"sub": "s-2"})
	if other, err := b.enter("b1"); err != nil || other.ID == first.ID || other.Name != "ann@example.org-3" {
		t.Errorf("somebody else with her address is %+v, %v", other, err)
	}
	if _, _, err := b.SignIn(t.Context(), "ann@example.org-2", "", home); err == nil {
		t.Error("without a password she signs in with an empty one")
	}

	b.is(map[string]any{"groups": []string{"all"}})
	_, err = b.enter("b1")
	kind(t, "out of the group", err, fault.Invalid, "nobody has admitted you here")
	b.is(nil)
	if err := b.SetDisabled(t.Context(), first.Name, true); err != nil {
		t.Fatal(err)
	}
	_, err = b.enter("b1")
	kind(t, "disabled", err, fault.Invalid, "is disabled")
	if err := b.SetDisabled(t.Context(), first.Name, false); err != nil {
		t.Fatal(err)
	}
	if u, err := b.enter("b1"); err != nil || u.ID != first.ID {
		t.Errorf("enabled again she is %+v, %v", u, err)
	}
	if n := len(slices.DeleteFunc(slices.Clone(b.events), func(e string) bool { return e != identity.EventRefused })); n != 3 {
		t.Errorf("%d refusals are recorded, want 3: %v", n, b.events)
	}
}

// The operator says who of the provider has which account.
func TestLinks(t *testing.T) {
	b := newBrokered(t, nil)
	root, err := b.AddUser(t.Context(), "root", good, true)
	if err != nil {
		t.Fatal(err)
	}
	issuer := b.rogue.URL()
	if err := b.Link(t.Context(), "Root", issuer, "s-1"); err != nil {
		t.Fatal(err)
	}
	if u, err := b.enter("b"); err != nil || u.ID != root.ID || !u.Admin {
		t.Errorf("who is linked is %+v, %v", u, err)
	}
	kind(t, "linked twice", b.Link(t.Context(), "root", issuer, "s-1"), fault.Invalid, "somebody is that already")
	kind(t, "nobody", b.Link(t.Context(), "nobody", issuer, "s-2"), fault.NotFound, "no user of that name")
	kind(t, "no subject", b.Link(t.Context(), "root", issuer, ""), fault.Invalid, "the claim sub")
	kind(t, "a long subject", b.Link(t.Context(), "root", issuer, strings.Repeat("x", 256)), fault.Invalid, "255")
	kind(t, "unlinking what is not", b.Unlink(t.Context(), "root", issuer, "s-2"), fault.NotFound, "is not that")
	of, err := b.Identities(t.Context())
	if err != nil || len(of) != 1 || len(of[root.ID]) != 1 || of[root.ID][0].External != "s-1" {
		t.Errorf("Identities() = %v, %v", of, err)
	}
	if err := b.Unlink(t.Context(), "root", issuer, "s-1"); err != nil {
		t.Fatal(err)
	}
	if u, err := b.enter("b"); err != nil || u.ID == root.ID {
		t.Errorf("who was unlinked is %+v, %v", u, err)
	}
	for _, want := range []string{identity.EventLinked, identity.EventUnlinked} {
		if !slices.Contains(b.events, want) {
			t.Errorf("%s is not recorded: %v", want, b.events)
		}
	}
}

// What a provider calls people becomes a name that can be one, and is nobody else's.
func TestNamesOfPeople(t *testing.T) {
	b := newBrokered(t, nil)
	for i, tt := range []struct{ address, name, want string }{
		{"", "Ann Smith", "ann-smith"}, {"", "ANN SMITH", "ann-smith-2"}, {"", "<b>é</b>", "b----b"}, {"", "", "user"}, {"", "..", "user-2"},
		{"", strings.Repeat("x", 500), strings.Repeat("x", 54)}, {"", "\u202eroot", "root"}, {"Jo@Example.org", "jo", "jo@example.org"}, {"é@@", "jo", "jo"},
	} {
		b.is(map[string]any{"sub": string(rune('a' + i)), "email": tt.address, "preferred_username": tt.name})
		if u, err := b.enter("b"); err != nil || u.Name != tt.want {
			t.Errorf("%q, %q is called %q, %v; want %q", tt.address, tt.name, u.Name, err, tt.want)
		}
	}
	for i := range 15 {
		b.is(map[string]any{"sub": "many" + string(rune('a'+i)), "email": nil, "preferred_username": "many"})
		if _, err := b.enter("b"); err != nil {
			t.Errorf("the name is taken %d times: %v", i, err)
		}
	}
}

// Of one person at two browsers at once there is one account.
func TestOnePersonAtOnce(t *testing.T) {
	b := newBrokered(t, nil)
	var all sync.WaitGroup
	ids := make([]string, 8)
	for i := range ids {
		all.Go(func() {
			u, err := b.UserOfPerson(t.Context(), provider.Person{External: "s-1", Name: "ann"}, home)
			if err != nil {
				t.Error(err)
			}
			ids[i] = u.ID
		})
	}
	all.Wait()
	if n := len(slices.Compact(ids)); n != 1 {
		t.Errorf("%d accounts: %v", n, ids)
	}
}

// A sign-in is for one browser, once, for ten minutes.
func TestDepartures(t *testing.T) {
	b := newBrokered(t, nil)
	begin := func() url.Values {
		t.Helper()
		to, err := b.BeginAtProvider(t.Context(), "b", "/account?x", home)
		if err != nil {
			t.Fatal(err)
		}
		return b.rogue.Arrive(to)
	}
	gone := func(what, browser string, q url.Values) {
		t.Helper()
		_, _, err := b.FinishAtProvider(t.Context(), browser, q, home)
		kind(t, what, err, fault.NotFound, "begin again")
	}
	q := begin()
	gone("at another browser", "c", q)
	gone("no state", "b", url.Values{"code": {"good"}})
	gone("two states", "b", url.Values{"code": {"good"}, "state": {q.Get("state"), q.Get("state")}})
	gone("a state that nobody has made", "b", url.Values{"code": {"good"}, "state": {secret.New(secret.SignIn)}})
	if _, _, err := b.FinishAtProvider(t.Context(), "b", q, home); err != nil {
		t.Errorf("at its own browser: %v", err)
	}
	gone("a second time", "b", q)
	late := begin()
	b.pass(10 * time.Minute)
	gone("too late", "b", late)

	b.rogue.Wish(providertest.Wishes{Answers: map[string]http.HandlerFunc{"/token": func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
	}}})
	_, err := b.enter("b")
	kind(t, "the provider is away", err, fault.Busy, "does not answer")
	if !slices.Contains(b.events, identity.EventAway) {
		t.Errorf("that is not recorded: %v", b.events)
	}
	b.deny = true
	_, err = b.BeginAtProvider(t.Context(), "b", "", home)
	kind(t, "too many", err, fault.Busy, "too many attempts to sign in came from your address")
}

func TestProviderOnly(t *testing.T) {
	b := newBrokered(t, func(o *identity.Options, _ *provider.Options) { o.ProviderOnly = true })
	if link, err := b.BeginSetup(t.Context()); link != "" || err != nil {
		t.Errorf("BeginSetup() = %q, %v though nobody could use the account", link, err)
	}
	b.add("ann")
	_, _, err := b.SignIn(t.Context(), "ann", good, home)
	kind(t, "a password", err, fault.Invalid, "sign in with Our Login")
	if _, err := b.enter("b"); err != nil {
		t.Errorf("at the provider: %v", err)
	}
}

// A passkey would let people in whom the provider's lists do not admit any more.
func TestProviderPeopleAddNoPasskeys(t *testing.T) {
	b := newBrokered(t, nil)
	to, err := b.BeginAtProvider(t.Context(), "b", "", home)
	if err != nil {
		t.Fatal(err)
	}
	cookie, _, err := b.FinishAtProvider(t.Context(), "b", b.rogue.Arrive(to), home)
	if err != nil {
		t.Fatal(err)
	}
	browser, u, err := b.Browser(t.Context(), cookie)
	if err != nil {
		t.Fatal(err)
	}
	_, err = b.AskForNewPasskey(t.Context(), browser, u, "Phone")
	kind(t, "who came from the provider", err, fault.Invalid, "passkeys are for accounts with a password")
	kind(t, "without being asked", b.AddPasskey(t.Context(), identity.NewPasskey{Browser: browser, User: u, Name: "Phone"}), fault.Invalid, "passkeys are for accounts with a password")
	if b.MayHavePasskeys(u) || !b.MayHavePasskeys(b.add("local")) {
		t.Error("the wrong ones may have passkeys")
	}
}
