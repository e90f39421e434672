package identity_test

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"runpython/internal/extent"
	"runpython/internal/fault"
	"runpython/internal/identity"
	"runpython/internal/passkey"
	"runpython/internal/passkey/passkeytest"
	"runpython/internal/secret"
	"runpython/internal/store"
)

const origin = "https://run.example"

// signedIn returns a browser at which a user has just signed in.
func (f *fixture) signedIn(name string) (store.Browser, store.User) {
	f.t.Helper()
	cookie, u, err := f.SignIn(f.t.Context(), name, good, home)
	if err != nil {
		f.t.Fatal(err)
	}
	b, _, err := f.Browser(f.t.Context(), cookie)
	if err != nil {
		f.t.Fatal(err)
	}
	return b, u
}

// addPasskey gives a user who signs in a passkey, on an authenticator of its own.
func (f *fixture) addPasskey(user, name string) (*passkeytest.Authenticator, store.Passkey) {
	f.t.Helper()
	b, u := f.signedIn(user)
	a := passkeytest.New(f.t, origin)
	asked, err := f.AskForNewPasskey(f.t.Context(), b, u, name)
	if err != nil {
		f.t.Fatal(err)
	}
	if err := f.AddPasskey(f.t.Context(), identity.NewPasskey{Browser: b, User: u, Name: name, Answer: a.Create(asked, nil), Address: home}); err != nil {
		f.t.Fatal(err)
	}
	all, err := f.Passkeys(f.t.Context(), u)
	if err != nil || len(all) == 0 {
		f.t.Fatal(all, err)
	}
	return a, all[len(all)-1]
}

// signInBy signs in with a passkey from an address, at a new browser.
func (f *fixture) signInBy(a *passkeytest.Authenticator, address string, bend func(*passkeytest.Says)) (store.User, error) {
	f.t.Helper()
	cookie := secret.New(secret.Form)
	asked, err := f.AskForPasskey(f.t.Context(), cookie, address)
	if err != nil {
		return store.User{}, err
	}
	signedIn, u, err := f.SignInByPasskey(f.t.Context(), cookie, a.Get(asked, bend), address)
	if err != nil {
		if signedIn != "" {
			f.t.Error("there is a cookie with an error")
		}
		return u, err
	}
	_, who, err := f.Browser(f.t.Context(), signedIn)
	if err != nil || who.ID != u.ID {
		f.t.Errorf("the cookie is of %+v, %v; want %+v", who, err, u)
	}
	return u, nil
}

func TestPasskeys(t *testing.T) {
	f := newFixture(t)
	ann := f.add("ann")
	f.add("bob")
	a, k := f.addPasskey("ann", " Ann's phone ")
	if k.Name != "Ann's phone" || len(k.ID) != 26 || !k.Created.Equal(f.now) || !k.Used.IsZero() {
		t.Errorf("the passkey is %+v", k)
	}
	f.pass(time.Minute)
	u, err := f.signInBy(a, home, nil)
	if err != nil || u.ID != ann.ID {
		t.Fatalf("SignInByPasskey() = %+v, %v", u, err)
	}
	if all, err := f.Passkeys(t.Context(), ann); err != nil || !all[0].Used.Equal(f.now) || all[0].Signatures != 1 {
		t.Errorf("after signing in: %+v, %v", all, err)
	}
	bobs, bobsKey := f.addPasskey("bob", "Ann's phone")
	_, err = f.signInBy(bobs, home, func(s *passkeytest.Says) { s.User = []byte(ann.ID) })
	kind(t, "Bob's passkey that says to be Ann's", err, fault.Invalid, "does not hold")
	_, err = f.signInBy(bobs, home, func(s *passkeytest.Says) { s.Credential = k.Credential })
	kind(t, "Bob's key under the id of Ann's", err, fault.Invalid, "does not hold")
	_, err = f.signInBy(bobs, home, func(s *passkeytest.Says) { s.Credential = []byte("nobody's") })
	kind(t, "an unknown passkey", err, fault.Invalid, "nobody signs in here")

	kind(t, "rename to what is no name", f.RenamePasskey(t.Context(), k.ID, "a\u202eb", ann, home), fault.Invalid, "printable")
	kind(t, "rename Bob's", f.RenamePasskey(t.Context(), bobsKey.ID, "x", ann, home), fault.NotFound, "not there")
	for _, name := range []string{"Büro", "Büro"} {
		if err := f.RenamePasskey(t.Context(), k.ID, name, ann, home); err != nil {
			t.Error(err)
		}
	}
	_, second := f.addPasskey("ann", "Key")
	kind(t, "a name that is taken", f.RenamePasskey(t.Context(), second.ID, "Büro", ann, home), fault.Invalid, "of that name already")
	if counts, err := f.CountPasskeys(t.Context()); err != nil || counts[ann.ID] != 2 {
		t.Errorf("CountPasskeys() = %v, %v", counts, err)
	}

	if err := f.SetDisabled(t.Context(), "ann", true); err != nil {
		t.Fatal(err)
	}
	_, err = f.signInBy(a, home, nil)
	kind(t, "a user who is disabled", err, fault.Invalid, "nobody signs in here")
	if err := f.SetDisabled(t.Context(), "ann", false); err != nil {
		t.Fatal(err)
	}
	if _, err := f.signInBy(a, home, nil); err != nil {
		t.Errorf("who is enabled again: %v", err)
	}
	kind(t, "remove Bob's", f.RemovePasskey(t.Context(), bobsKey.ID, ann, home), fault.NotFound, "not there")
	if err := f.RemovePasskey(t.Context(), k.ID, ann, home); err != nil {
		t.Error(err)
	}
	_, err = f.signInBy(a, home, nil)
	kind(t, "a passkey that was removed", err, fault.Invalid, "may have been removed")
	for _, e := range []string{identity.EventPasskeyAdded, identity.EventPasskeyRenamed, identity.EventPasskeyRemoved, identity.EventRefused} {
		if !slices.Contains(f.events, e) {
			t.Errorf("%s is not recorded: %v", e, f.events)
		}
	}
}

// What a browser was asked is good once, at that browser, for a few minutes.
func TestChallenges(t *testing.T) {
	f := newFixture(t)
	f.add("ann")
	a, _ := f.addPasskey("ann", "Phone")
	const again = "it took more than 5 minutes"
	cookie := secret.New(secret.Form)
	ask := func() []byte {
		asked, err := f.AskForPasskey(t.Context(), cookie, home)
		if err != nil {
			t.Fatal(err)
		}
		return asked
	}
	answer := a.Get(ask(), nil)
	_, _, err := f.SignInByPasskey(t.Context(), secret.New(secret.Form), answer, home)
	kind(t, "another browser", err, fault.Invalid, again)
	if _, _, err := f.SignInByPasskey(t.Context(), cookie, answer, home); err != nil {
		t.Fatal(err)
	}
	_, _, err = f.SignInByPasskey(t.Context(), cookie, answer, home)
	kind(t, "a second time", err, fault.Invalid, again)
	ask()
	_, _, err = f.SignInByPasskey(t.Context(), cookie, answer, home)
	kind(t, "for another question", err, fault.Invalid, "another question")
	answer = a.Get(ask(), nil)
	f.pass(passkey.Time)
	_, _, err = f.SignInByPasskey(t.Context(), cookie, answer, home)
	kind(t, "too late", err, fault.Invalid, again)
	first := ask()
	ask()
	_, _, err = f.SignInByPasskey(t.Context(), cookie, a.Get(first, nil), home)
	kind(t, "for the question before", err, fault.Invalid, "another question")
	_, _, err = f.SignInByPasskey(t.Context(), cookie, []byte("{}"), home)
	kind(t, "rubbish without a question", err, fault.Invalid, again)
	ask()
	_, _, err = f.SignInByPasskey(t.Context(), cookie, []byte("{}"), home)
	kind(t, "rubbish", err, fault.Invalid, "cannot be read")
}

// A passkey that has signed less often than before is a copy of the one that signed meanwhile, or has one.
func TestCopiedPasskeys(t *testing.T) {
	f := newFixture(t)
	f.add("ann")
	a, k := f.addPasskey("ann", "Phone")
	thief := a.Copy()
	for range 2 {
		if _, err := f.signInBy(a, home, nil); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 {
		_, err := f.signInBy(thief, "203.0.113.9", nil)
		kind(t, "a copy", err, fault.Invalid, "may have a copy")
	}
	if !slices.Contains(f.events, identity.EventPasskeyCopied) || !slices.Contains(f.events, identity.EventRefused) {
		t.Errorf("recorded are %v", f.events)
	}
	if _, err := f.signInBy(a, home, nil); err != nil {
		t.Errorf("the one that counts on: %v", err)
	}
	if all, err := f.Passkeys(t.Context(), store.User{ID: k.Subject}); err != nil || all[0].Signatures != 3 {
		t.Errorf("Passkeys() = %+v, %v", all, err)
	}
	still, _ := f.addPasskey("ann", "Password manager")
	still.Counts = false
	for range 2 {
		if _, err := f.signInBy(still, home, nil); err != nil {
			t.Errorf("one that never counts: %v", err)
		}
	}
}

// Who has stolen a browser that is signed in gets no passkey with it.
func TestNewPasskeys(t *testing.T) {
	extent.Slow(t)
	f := newFixture(t)
	f.add("ann")
	b, u := f.signedIn("ann")
	a := passkeytest.New(t, origin)
	add := func(b store.Browser, name string, bend func(*passkeytest.Says)) error {
		asked, err := f.AskForNewPasskey(t.Context(), b, u, name)
		if err != nil {
			return err
		}
		return f.AddPasskey(t.Context(), identity.NewPasskey{Browser: b, User: u, Name: name, Answer: a.Create(asked, bend), Address: home})
	}
	kind(t, "no name", add(b, " ", nil), fault.Invalid, "printable text of 1 to 64 bytes")
	kind(t, "a wrong one", add(b, "x", func(s *passkeytest.Says) { s.Flags &^= passkeytest.Verified }), fault.Invalid, "made sure that it is you")
	if err := add(b, "Phone", nil); err != nil {
		t.Fatal(err)
	}
	kind(t, "the same name", add(b, "Phone", nil), fault.Invalid, "of that name already")
	all, err := f.Passkeys(t.Context(), u)
	if err != nil || len(all) != 1 {
		t.Fatal(all, err)
	}
	kind(t, "the same passkey", add(b, "Again", func(s *passkeytest.Says) { s.Credential = all[0].Credential }), fault.Invalid, "here already")
	asked, err := f.AskForNewPasskey(t.Context(), b, u, "Known")
	if err != nil || !strings.Contains(string(asked), base64.RawURLEncoding.EncodeToString(all[0].Credential)) {
		t.Errorf("%s does not name the passkeys that are there, %v", asked, err)
	}
	other, _ := f.signedIn("ann")
	kind(t, "at another browser than was asked", f.AddPasskey(t.Context(), identity.NewPasskey{Browser: other, User: u, Name: "x", Answer: a.Create(asked, nil)}), fault.Invalid, "this was done already")
	answer := a.Create(asked, nil)
	f.pass(identity.RecentTime)
	if f.Recent(b) {
		t.Error("it is recent after that time")
	}
	kind(t, "later", add(b, "Late", nil), fault.Invalid, "sign in again")
	kind(t, "answered later", f.AddPasskey(t.Context(), identity.NewPasskey{Browser: b, User: u, Name: "Late", Answer: answer}), fault.Invalid, "sign in again")
	for i := range identity.MaxPasskeys - 1 {
		f.addPasskey("ann", fmt.Sprint("Key ", i))
	}
	b, _ = f.signedIn("ann")
	_, err = f.AskForNewPasskey(t.Context(), b, u, "Full")
	kind(t, "asking for one too many", err, fault.Invalid, "20 passkeys already")

	none := identity.New(identity.Options{Store: f.store, Record: f, Limit: f})
	_, err = none.AskForPasskey(t.Context(), secret.New(secret.Form), home)
	kind(t, "where there are none", err, fault.NotFound, "address is no name")
	_, _, err = none.SignInByPasskey(t.Context(), secret.New(secret.Form), nil, home)
	kind(t, "where there are none", err, fault.NotFound, "address is no name")
	_, err = none.AskForNewPasskey(t.Context(), b, u, "x")
	kind(t, "where there are none", err, fault.NotFound, "address is no name")
}

// Passkeys are tried as slowly as passwords, and keep nobody else out.
func TestThrottleOfPasskeys(t *testing.T) {
	f := newFixture(t)
	f.add("ann")
	f.add("bob")
	a, _ := f.addPasskey("ann", "Phone")
	bobs, _ := f.addPasskey("bob", "Phone")
	const there = "203.0.113.9"
	a.Forge = true
	for range 5 {
		_, err := f.signInBy(a, there, nil)
		kind(t, "a free attempt", err, fault.Invalid, "does not hold")
	}
	a.Forge = false
	_, err := f.signInBy(a, there, nil)
	kind(t, "the right one from there", err, fault.Busy, "try again in 5 s")
	_, _, err = f.SignIn(t.Context(), "ann", good, there)
	kind(t, "the password from there", err, fault.Busy, "try again in 5 s")
	if _, err := f.signInBy(a, home, nil); err != nil {
		t.Errorf("Ann from her own address: %v", err)
	}
	if _, err := f.signInBy(bobs, there, nil); err != nil {
		t.Errorf("Bob from the same address: %v", err)
	}
	f.pass(5 * time.Second)
	for range 6 { // more than may be wrong
		if _, err := f.signInBy(a, there, nil); err != nil {
			t.Errorf("after the wait: %v", err)
		}
	}
	f.deny = true
	_, err = f.AskForPasskey(t.Context(), secret.New(secret.Form), home)
	kind(t, "what the limiter refuses", err, fault.Busy, "try again in 3 s")
}
