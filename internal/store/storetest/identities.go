package storetest

import (
	"fmt"
	"testing"
	"time"

	"runpython/internal/store"
)

const provider = "https://login.example"

func testIdentities(t *testing.T, d Database) {
	s, other := d.open(t), d.open(t)
	addUser(t, s, ann())
	bob := store.User{ID: "u2", Name: "bob", Created: start()}
	of := func(external, user string) store.Identity {
		return store.Identity{Issuer: provider, External: external, User: user, Created: start()}
	}
	is(t, "a new user", s.AddUserOf(t.Context(), bob, of("1", "u2"), 10), nil)
	u, err := other.UserOf(t.Context(), provider, "1")
	equal(t, "who comes back", bob, u, err)
	_, err = s.UserOf(t.Context(), "https://other.example", "1")
	is(t, "the same subject of another provider", err, store.ErrNotFound)
	for what, err := range map[string]error{
		"a name that is taken": s.AddUserOf(t.Context(), store.User{ID: "u3", Name: "ann"}, of("2", "u3"), 10),
		"who is somebody":      s.AddUserOf(t.Context(), store.User{ID: "u3", Name: "carl"}, of("1", "u3"), 10),
		"linked to somebody":   s.AddIdentity(t.Context(), of("1", "u1"), 10),
	} {
		is(t, what, err, store.ErrExists)
	}
	is(t, "too many users", s.AddUserOf(t.Context(), store.User{ID: "u3", Name: "carl"}, of("2", "u3"), 2), store.ErrFull)
	all, err := s.Users(t.Context())
	equal(t, "users after what was refused", []store.User{ann(), bob}, all, err)

	is(t, "nobody is linked", s.AddIdentity(t.Context(), of("2", "none"), 10), store.ErrNotFound)
	is(t, "linked", s.AddIdentity(t.Context(), of("2", "u1"), 1), nil)
	is(t, "linked too often", s.AddIdentity(t.Context(), of("3", "u1"), 1), store.ErrFull)
	known, err := other.Identities(t.Context())
	equal(t, "identities", []store.Identity{of("2", "u1"), of("1", "u2")}, known, err)
	is(t, "somebody else's is not unlinked", s.RemoveIdentity(t.Context(), of("2", "u2")), store.ErrNotFound)
	browser := store.Browser{Hash: store.Digest{7}, Subject: "u1", Created: start(), Expires: start().Add(time.Hour)}
	is(t, "signed in", s.AddBrowser(t.Context(), browser, "h1", 3), nil)
	is(t, "unlinked", s.RemoveIdentity(t.Context(), of("2", "u1")), nil)
	_, _, err = s.Browser(t.Context(), browser.Hash, start())
	is(t, "a browser of one who was unlinked", err, store.ErrNotFound)
	if err := s.RemoveUser(t.Context(), "u2"); err != nil {
		t.Error(err)
	}
	known, err = s.Identities(t.Context())
	equal(t, "identities of one who was removed", nil, known, err)

	won := race(t, func(i int) error {
		id := fmt.Sprint("r", i)
		return s.AddUserOf(t.Context(), store.User{ID: id, Name: id, Created: start()}, of("race", id), 1000)
	}, store.ErrExists)
	all, err = s.Users(t.Context())
	if won != 1 || err != nil || len(all) != 2 {
		t.Errorf("%d have become one person, %d users, %v; want 1, 2", won, len(all), err)
	}
}

func testDepartures(t *testing.T, d Database) {
	s, other := d.open(t), d.open(t)
	departure := func(i int, browser byte) store.Departure {
		return store.Departure{
			Hash: store.Digest{byte(i), 0}, Browser: store.Digest{browser}, Attempt: []byte("a\x00"),
			Created: start().Add(time.Duration(i)), Expires: start().Add(time.Minute),
		}
	}
	take := func(i int, browser byte, at time.Time) error {
		got, err := other.TakeDeparture(t.Context(), store.Digest{byte(i), 0}, store.Digest{browser}, at)
		if err == nil && string(got) != "a\x00" {
			t.Errorf("the attempt is %q", got)
		}
		return err
	}
	for i := range 4 {
		if err := s.AddDeparture(t.Context(), departure(i, 1), 3, 100); err != nil {
			t.Fatal(err)
		}
	}
	is(t, "the oldest of too many of a browser", take(0, 1, start()), store.ErrNotFound)
	is(t, "at another browser", take(1, 2, start()), store.ErrNotFound)
	is(t, "too late", take(1, 1, start().Add(time.Minute)), store.ErrNotFound)
	if won := race(t, func(int) error { return take(1, 1, start()) }, store.ErrNotFound); won != 1 {
		t.Errorf("%d have come back from one departure", won)
	}
	for i := 4; i < 8; i++ {
		if err := s.AddDeparture(t.Context(), departure(i, byte(i)), 3, 4); err != nil {
			t.Fatal(err)
		}
	}
	is(t, "the oldest of too many", take(3, 1, start()), store.ErrNotFound)
	is(t, "one of the others", take(4, 4, start()), nil)
	if err := s.SweepAccounts(t.Context(), start().Add(time.Minute), start()); err != nil {
		t.Fatal(err)
	}
	is(t, "after the sweep", take(5, 5, start()), store.ErrNotFound)
}
