package storetest

import (
	"bytes"
	"fmt"
	"testing"
	"time"

	"runpython/internal/store"
)

// passkey is one of the user u1.
func passkey(i int) store.Passkey {
	return store.Passkey{
		ID: fmt.Sprint("p", i), Subject: "u1", Credential: append(bytes.Repeat([]byte{0, 0xff}, 500), byte(i)), PublicKey: []byte{1, 0, byte(i)}, Signatures: 1<<32 - 2,
		Transports: "internal hybrid", Eligible: true, Name: "Büro \xf0\x9f\x94\x91", Created: start().Add(time.Duration(i)),
	}
}

func testPasskeys(t *testing.T, d Database) {
	s, other := d.open(t), d.open(t)
	addUser(t, s, ann())
	addUser(t, s, store.User{ID: "u2", Name: "bob"})
	bobs := passkey(9)
	bobs.Subject, bobs.Signatures = "u2", 0
	for _, p := range []store.Passkey{passkey(1), passkey(2), bobs} {
		is(t, "add", s.AddPasskey(t.Context(), p, 2), nil)
	}
	is(t, "one too many", s.AddPasskey(t.Context(), passkey(3), 2), store.ErrFull)
	again := passkey(9)
	again.ID = "p10"
	is(t, "the credential of somebody else", s.AddPasskey(t.Context(), again, 9), store.ErrExists)
	nobodys := passkey(4)
	nobodys.Subject = "u9"
	is(t, "of nobody", s.AddPasskey(t.Context(), nobodys, 9), store.ErrNotFound)

	p, u, err := other.Passkey(t.Context(), passkey(1).Credential)
	equal(t, "a passkey", passkey(1), p, err)
	equal(t, "whose it is", ann(), u, err)
	_, _, err = s.Passkey(t.Context(), []byte("none"))
	is(t, "an unknown one", err, store.ErrNotFound)
	counts, err := other.CountPasskeys(t.Context())
	equal(t, "counts", map[string]int{"u1": 2, "u2": 1}, counts, err)

	is(t, "a higher count", s.UsePasskey(t.Context(), "p1", store.PasskeyUse{Signatures: 1<<32 - 1, BackedUp: true, Used: start()}), nil)
	for _, count := range []uint32{0, 7, 1<<32 - 1} {
		is(t, fmt.Sprint("count ", count), s.UsePasskey(t.Context(), "p1", store.PasskeyUse{Signatures: count}), store.ErrSpent)
	}
	for range 2 {
		is(t, "one that does not count", s.UsePasskey(t.Context(), "p9", store.PasskeyUse{Used: start()}), nil)
	}
	is(t, "one that has begun to count", s.UsePasskey(t.Context(), "p9", store.PasskeyUse{Signatures: 1, Used: start()}), nil)
	is(t, "and has stopped", s.UsePasskey(t.Context(), "p9", store.PasskeyUse{Used: start()}), store.ErrSpent)
	is(t, "one that is not there", s.UsePasskey(t.Context(), "p8", store.PasskeyUse{Signatures: 1}), store.ErrSpent)

	is(t, "rename somebody else's", s.RenamePasskey(t.Context(), "p9", "u1", "x"), store.ErrNotFound)
	is(t, "rename", s.RenamePasskey(t.Context(), "p1", "u1", "Phone"), nil)
	changed := passkey(1)
	changed.Name, changed.Signatures, changed.BackedUp, changed.Used = "Phone", 1<<32-1, true, start()
	all, err := other.Passkeys(t.Context(), "u1")
	equal(t, "passkeys", []store.Passkey{changed, passkey(2)}, all, err)

	is(t, "remove somebody else's", s.RemovePasskey(t.Context(), "p9", "u1"), store.ErrNotFound)
	is(t, "remove", s.RemovePasskey(t.Context(), "p1", "u1"), nil)
	is(t, "remove twice", s.RemovePasskey(t.Context(), "p1", "u1"), store.ErrNotFound)
	is(t, "remove the user", s.RemoveUser(t.Context(), "u1"), nil)
	_, _, err = s.Passkey(t.Context(), passkey(2).Credential)
	is(t, "a passkey of a user who was removed", err, store.ErrNotFound)
	counts, err = other.CountPasskeys(t.Context())
	equal(t, "counts then", map[string]int{"u2": 1}, counts, err)
}

// The bound of a user holds, and a signature counts once, however many ask at once.
func testPasskeysAtOnce(t *testing.T, d Database) {
	s := d.open(t)
	addUser(t, s, ann())
	if won := race(t, func(i int) error { return s.AddPasskey(t.Context(), passkey(i), 5) }, store.ErrFull); won != 5 {
		t.Errorf("%d passkeys were added, at most 5", won)
	}
	all, err := s.Passkeys(t.Context(), "u1")
	if err != nil || len(all) != 5 {
		t.Fatalf("Passkeys() = %d, %v", len(all), err)
	}
	use := store.PasskeyUse{Signatures: 1<<32 - 1, Used: start()}
	if won := race(t, func(int) error { return s.UsePasskey(t.Context(), all[0].ID, use) }, store.ErrSpent); won != 1 {
		t.Errorf("one signature was used %d times", won)
	}
}

func testChallenges(t *testing.T, d Database) {
	s, other := d.open(t), d.open(t)
	challenge := func(i int) store.Challenge {
		return store.Challenge{Browser: store.Digest{byte(i), 0}, Text: []byte{0, byte(i)}, Created: start().Add(time.Duration(i)), Expires: start().Add(time.Minute)}
	}
	for i := range 5 {
		is(t, "add", s.AddChallenge(t.Context(), challenge(i), 4), nil)
	}
	_, err := other.TakeChallenge(t.Context(), challenge(0).Browser, start())
	is(t, "the oldest of too many", err, store.ErrNotFound)
	_, err = other.TakeChallenge(t.Context(), challenge(1).Browser, start().Add(time.Minute))
	is(t, "one whose time is over", err, store.ErrNotFound)
	again := challenge(1)
	again.Text, again.Expires = []byte("another"), again.Expires.Add(time.Minute)
	is(t, "another one of the same browser", s.AddChallenge(t.Context(), again, 4), nil)
	text, err := other.TakeChallenge(t.Context(), again.Browser, start().Add(time.Minute))
	equal(t, "the later one", again.Text, text, err)
	won := race(t, func(int) error {
		text, err := s.TakeChallenge(t.Context(), challenge(2).Browser, start())
		if err == nil && !bytes.Equal(text, challenge(2).Text) {
			t.Errorf("the challenge is %q", text)
		}
		return err
	}, store.ErrNotFound)
	if won != 1 {
		t.Errorf("%d have taken one challenge", won)
	}
	is(t, "sweep", s.SweepAccounts(t.Context(), start().Add(time.Hour), start()), nil)
	var left int
	if err := d.SQL.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM challenges`).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d challenges are left after their time, %v", left, err)
	}
}
