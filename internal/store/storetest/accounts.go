package storetest

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"runpython/internal/store"
	"runpython/internal/store/database"
)

// crowd is how many ask for something at once that one of them may have.
const crowd = 64

func ann() store.User {
	return store.User{ID: "u1", Name: "ann", Password: "h1", Admin: true, Created: start()}
}

func addUser(t *testing.T, s *database.Store, u store.User) {
	t.Helper()
	if err := s.AddUser(t.Context(), u, 10); err != nil {
		t.Fatal(err)
	}
}

func testUsers(t *testing.T, d Database) {
	s, other := d.open(t), d.open(t)
	is(t, "a user beyond the bound", s.AddUser(t.Context(), ann(), 0), store.ErrFull)
	addUser(t, s, ann())
	is(t, "the same name", s.AddUser(t.Context(), store.User{ID: "u2", Name: "ann"}, 10), store.ErrExists)
	bob := store.User{ID: "u3", Name: "bob", Disabled: true, Created: start().Add(time.Hour)}
	addUser(t, s, bob)
	all, err := other.Users(t.Context())
	equal(t, "users", []store.User{ann(), bob}, all, err)
	one, err := other.User(t.Context(), "u1")
	equal(t, "a user", ann(), one, err)
	one, err = other.UserNamed(t.Context(), "bob")
	equal(t, "a user by name", bob, one, err)
	_, err = s.UserNamed(t.Context(), "Bob")
	is(t, "another name", err, store.ErrNotFound)

	issue(t, s, "g1", "c1")
	is(t, "a password of nobody", s.SetPassword(t.Context(), "none", "x"), store.ErrNotFound)
	for what, err := range map[string]error{
		"password": s.SetPassword(t.Context(), "u1", "h2"), "disable": s.SetDisabled(t.Context(), "u1", true),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	changed := ann()
	changed.Password, changed.Disabled = "h2", true
	one, err = other.User(t.Context(), "u1")
	equal(t, "a user who was changed", changed, one, err)
	grants, err := s.GrantsOf(t.Context(), "u1")
	equal(t, "grants of one who is disabled", nil, grants, err)
	if err := s.RemoveUser(t.Context(), "u1"); err != nil {
		t.Error(err)
	}
	is(t, "remove twice", s.RemoveUser(t.Context(), "u1"), store.ErrNotFound)
}

func testBrowsers(t *testing.T, d Database) {
	s := d.open(t)
	addUser(t, s, ann())
	hash := func(i int) store.Digest { return store.Digest{byte(i), 0, 0xff} }
	for i := range 4 {
		b := store.Browser{Hash: hash(i), Subject: "u1", Created: start().Add(time.Duration(i)), Expires: start().Add(time.Hour)}
		if err := s.AddBrowser(t.Context(), b, "h1", 3); err != nil {
			t.Fatal(err)
		}
	}
	_, _, err := s.Browser(t.Context(), hash(0), start())
	is(t, "the oldest of too many", err, store.ErrNotFound)
	b, u, err := s.Browser(t.Context(), hash(3), start())
	equal(t, "who is signed in", ann(), u, err)
	equal(t, "the browser", store.Browser{Hash: hash(3), Subject: "u1", Created: start().Add(3), Expires: start().Add(time.Hour)}, b, err)
	_, _, err = s.Browser(t.Context(), hash(3), start().Add(time.Hour))
	is(t, "one whose time is over", err, store.ErrNotFound)

	consent := store.Consent{Hash: store.Digest{9}, Browser: hash(3), Request: []byte("r\x00"), Created: start(), Expires: start().Add(time.Minute)}
	if err := s.AddConsent(t.Context(), consent, 5); err != nil {
		t.Fatal(err)
	}
	_, err = s.TakeConsent(t.Context(), consent.Hash, hash(2), start())
	is(t, "a request of another browser", err, store.ErrNotFound)
	_, err = s.TakeConsent(t.Context(), consent.Hash, hash(3), start().Add(time.Minute))
	is(t, "a request whose time is over", err, store.ErrNotFound)
	won := race(t, func(int) error {
		r, err := s.TakeConsent(t.Context(), consent.Hash, hash(3), start())
		if err == nil && string(r) != "r\x00" {
			t.Errorf("the request is %q", r)
		}
		return err
	}, store.ErrNotFound)
	if won != 1 {
		t.Errorf("%d have taken one request", won)
	}
	if err := s.RemoveBrowser(t.Context(), hash(3)); err != nil {
		t.Error(err)
	}
	_, _, err = s.Browser(t.Context(), hash(3), start())
	is(t, "one that was signed out", err, store.ErrNotFound)
	if err := s.SetPassword(t.Context(), "u1", "x"); err != nil {
		t.Error(err)
	}
	_, _, err = s.Browser(t.Context(), hash(2), start())
	is(t, "one that was signed in with another password", err, store.ErrNotFound)
	testLateSignIn(t, s)
}

// testLateSignIn signs in users who were changed since their passwords were looked at. The user u1 has the password x.
func testLateSignIn(t *testing.T, s *database.Store) {
	t.Helper()
	b := store.Browser{Hash: store.Digest{8}, Subject: "u1", Created: start(), Expires: start().Add(time.Hour)}
	is(t, "by the password before", s.AddBrowser(t.Context(), b, "h1", 3), store.ErrNotFound)
	if err := s.SetDisabled(t.Context(), "u1", true); err != nil {
		t.Error(err)
	}
	is(t, "one who is disabled", s.AddBrowser(t.Context(), b, "x", 3), store.ErrNotFound)
	code := store.Code{Hash: store.Digest{8}, Subject: "u1", Grant: "g8", Request: []byte("r"), Expires: start().Add(time.Minute)}
	is(t, "a code of one who is disabled", s.AddCode(t.Context(), code), store.ErrNotFound)
	if err := s.SetDisabled(t.Context(), "u1", false); err != nil {
		t.Error(err)
	}
	_, _, err := s.Browser(t.Context(), b.Hash, start())
	is(t, "what was refused, when the user is enabled again", err, store.ErrNotFound)
	is(t, "by the password of now", s.AddBrowser(t.Context(), b, "x", 3), nil)
	is(t, "a code", s.AddCode(t.Context(), code), nil)
	b.Subject = "none"
	is(t, "nobody", s.AddBrowser(t.Context(), b, "", 3), store.ErrNotFound)
}

func testClients(t *testing.T, d Database) {
	s, other := d.open(t), d.open(t)
	client := func(i int) store.Client {
		return store.Client{ID: fmt.Sprint("c", i), Metadata: []byte(`{"x":1}`), Created: start().Add(time.Duration(i))}
	}
	manual := store.Client{ID: "m", Metadata: []byte(`{}`), Secret: store.Digest{1, 2}, Manual: true, Created: start(), Used: start()}
	for _, c := range []store.Client{manual, client(1), client(2), client(3)} {
		if err := s.AddClient(t.Context(), c, 3); err != nil {
			t.Fatal(err)
		}
	}
	_, err := other.Client(t.Context(), "c1")
	is(t, "the oldest that was never used", err, store.ErrNotFound)
	one, err := other.Client(t.Context(), "c2")
	equal(t, "a client", client(2), one, err)
	all, err := other.Clients(t.Context())
	equal(t, "clients of the operator", []store.Client{manual}, all, err)
	is(t, "room where the operator has registered all", s.AddClient(t.Context(), client(4), 0), nil)
	is(t, "no room", s.AddClient(t.Context(), client(5), 0), nil) // 4 made room
	addUser(t, s, ann())
	for i, id := range []string{"c6", "c7", "c8"} {
		is(t, "one more", s.AddClient(t.Context(), store.Client{ID: id, Metadata: []byte(`{}`), Created: start()}, 10), nil)
		d.exec(t, `UPDATE clients SET used = $1 WHERE id = $2`, 9-i, id)
	}
	d.exec(t, `DELETE FROM clients WHERE used = 0`)
	issue(t, s, "g8", "c8")
	is(t, "room among those that were used", s.AddClient(t.Context(), client(9), 4), nil)
	for id, want := range map[string]error{"m": nil, "c6": nil, "c7": store.ErrNotFound, "c8": nil, "c9": nil} {
		_, err = s.Client(t.Context(), id)
		is(t, "what is left of "+id, err, want)
	}
	issue(t, s, "g6", "c6")
	d.exec(t, `DELETE FROM clients WHERE id = 'c9'`)
	is(t, "no room among those that may do something", s.AddClient(t.Context(), client(10), 3), store.ErrFull)
	d.exec(t, `DELETE FROM grants`)
	issue(t, s, "g1", "m")
	if err := s.RemoveClient(t.Context(), "m"); err != nil {
		t.Error(err)
	}
	grants, err := s.GrantsOf(t.Context(), "u1")
	equal(t, "grants of a client that was removed", nil, grants, err)
	is(t, "remove twice", s.RemoveClient(t.Context(), "m"), store.ErrNotFound)
}

func grantOf(id, user, client string) store.Grant {
	return store.Grant{ID: id, Subject: user, Client: client, Name: "An App é", Host: "app.example", Scopes: "run admin", Resource: "https://h/mcp", Created: start(), Used: start(), Expires: start().Add(24 * time.Hour)}
}

// pair are an access and a refresh token, named by a text.
func pair(name string, at time.Time) []store.Token {
	return []store.Token{
		{Hash: store.Digest("a" + name), Kind: store.AccessToken, Scopes: "run", Created: at, Expires: at.Add(time.Hour)},
		{Hash: store.Digest("r" + name), Kind: store.RefreshToken, Scopes: "run", Created: at, Expires: at.Add(10 * time.Hour)},
	}
}

// issue makes a grant of the user u1 with a pair of tokens of its name.
func issue(t *testing.T, s *database.Store, id, client string) {
	t.Helper()
	if err := s.AddGrant(t.Context(), store.Issued{Grant: grantOf(id, "u1", client), Tokens: pair(id, start())}); err != nil {
		t.Fatal(err)
	}
}

func testGrants(t *testing.T, d Database) {
	s, other := d.open(t), d.open(t)
	addUser(t, s, ann())
	issue(t, s, "g1", "c1")
	issue(t, s, "g2", "")
	b, err := other.Bearer(t.Context(), store.Digest("ag1"), start())
	equal(t, "a bearer", store.Bearer{Token: pair("g1", start())[0], Grant: grantOf("g1", "u1", "c1"), User: ann()}, b, err)
	for what, hash := range map[string]string{"a refresh token as bearer": "rg1", "an unknown bearer": "x"} {
		_, err = s.Bearer(t.Context(), store.Digest(hash), start())
		is(t, what, err, store.ErrNotFound)
	}
	_, err = s.Bearer(t.Context(), store.Digest("ag1"), start().Add(time.Hour))
	is(t, "a bearer whose time is over", err, store.ErrNotFound)
	if err := s.TouchGrant(t.Context(), "g1", start().Add(time.Minute)); err != nil {
		t.Error(err)
	}
	touched := grantOf("g1", "u1", "c1")
	touched.Used = start().Add(time.Minute)
	grants, err := other.GrantsOf(t.Context(), "u1")
	equal(t, "grants", []store.Grant{touched, grantOf("g2", "u1", "")}, grants, err)

	subject, err := s.RemoveToken(t.Context(), store.Digest("ag1"), "c2")
	equal(t, "whose token of another client is revoked", "", subject, err)
	subject, err = s.RemoveToken(t.Context(), store.Digest("ag1"), "c1")
	equal(t, "whose access token is revoked", "u1", subject, err)
	_, err = s.Bearer(t.Context(), store.Digest("ag1"), start())
	is(t, "a bearer that was revoked", err, store.ErrNotFound)
	subject, err = s.RemoveToken(t.Context(), store.Digest("rg1"), "c1")
	equal(t, "whose refresh token is revoked", "u1", subject, err)
	is(t, "a grant of somebody else", s.RemoveGrant(t.Context(), "g2", "u9"), store.ErrNotFound)
	if err := s.RemoveGrant(t.Context(), "g2", "u1"); err != nil {
		t.Error(err)
	}
	grants, err = s.GrantsOf(t.Context(), "u1")
	equal(t, "grants when all are revoked", nil, grants, err)
}

// testManyGrants begins with as many grants of apps and codes as a user may have, each older than the next.
func testManyGrants(t *testing.T, d Database) {
	const grants, codes = 1000, 100
	s := d.open(t)
	addUser(t, s, ann())
	issue(t, s, "machine", "")
	d.exec(t, `UPDATE grants SET used = 0`)
	d.exec(t, `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $1)
		INSERT INTO grants (id, subject, client, name, host, scopes, resource, created, used, expires)
		SELECT 'g' || i, 'u1', 'c1', name, host, scopes, resource, created, i, expires FROM n JOIN grants ON id = 'machine'`, grants)
	issue(t, s, "new", "c2")
	left, err := s.GrantsOf(t.Context(), "u1")
	ids := make(map[string]bool)
	for _, g := range left {
		ids[g.ID] = true
	}
	if len(ids) != grants+1 || ids["g1"] || !ids["g2"] || !ids["new"] || !ids["machine"] || err != nil {
		t.Errorf("%d grants are left, %v; want %d without the one used longest ago", len(ids), err, grants+1)
	}
	for i := range codes + 1 {
		c := store.Code{Hash: store.Digest{1, byte(i)}, Subject: "u1", Grant: "x", Request: []byte("r"), Expires: start().Add(time.Duration(i))}
		is(t, "a code", s.AddCode(t.Context(), c), nil)
	}
	var kept int
	err = d.SQL.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM codes WHERE hash <> $1`, []byte{1, 0}).Scan(&kept)
	equal(t, "codes that are kept, the oldest apart", codes, kept, err)
	err = d.SQL.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM codes`).Scan(&kept)
	equal(t, "codes that are kept", codes, kept, err)
}

// graceful are repeats as the program has them.
func graceful() store.Repeats { return store.Repeats{Within: 20 * time.Second, Most: 8} }

func testRotation(t *testing.T, d Database) {
	s := d.open(t)
	addUser(t, s, ann())
	issue(t, s, "g1", "c1")
	next := 0
	rotate := func(token string, at time.Time) error {
		next++
		name := fmt.Sprint("n", next)
		return s.Rotate(t.Context(), store.Digest(token), at, graceful(), func(g store.Grant, old store.Token) (store.Issued, error) {
			if g.Client != "c1" || old.Scopes != "run" {
				t.Errorf("rotated %+v of %+v", old, g)
			}
			g.Expires = at.Add(48 * time.Hour)
			return store.Issued{Grant: g, Tokens: pair(name, at)}, nil
		})
	}
	refused := errors.New("refused")
	err := s.Rotate(t.Context(), store.Digest("rg1"), start(), graceful(), func(store.Grant, store.Token) (store.Issued, error) { return store.Issued{}, refused })
	is(t, "a rotation that is refused", err, refused)
	is(t, "the first use after that", rotate("rg1", start()), nil)
	is(t, "a repeat", rotate("rg1", start().Add(20*time.Second)), nil)
	for _, token := range []string{"an1", "an2"} {
		if _, err := s.Bearer(t.Context(), store.Digest(token), start()); err != nil {
			t.Errorf("%s: %v", token, err)
		}
	}
	is(t, "an access token", rotate("an1", start()), store.ErrNotFound)
	is(t, "one whose time is over", rotate("rn1", start().Add(11*time.Hour)), store.ErrNotFound)
	isSpent(t, "one that comes again late", rotate("rg1", start().Add(21*time.Second)))
	is(t, "its family", rotate("rn1", start()), store.ErrNotFound)
	_, err = s.Bearer(t.Context(), store.Digest("an1"), start())
	is(t, "an access token of its family", err, store.ErrNotFound)

	// Without repeats exactly one of many gets tokens, and that ends the family.
	issue(t, s, "g2", "c1")
	once := func(i int) error {
		return s.Rotate(t.Context(), store.Digest("rg2"), start(), store.Repeats{}, func(g store.Grant, _ store.Token) (store.Issued, error) {
			return store.Issued{Grant: g, Tokens: pair(fmt.Sprint("p", i), start())}, nil
		})
	}
	if won := race(t, once, store.ErrSpent, store.ErrNotFound); won != 1 {
		t.Errorf("%d of %d have rotated one token", won, crowd)
	}
	// With them, so many as are allowed.
	issue(t, s, "g3", "c1")
	several := func(i int) error {
		return s.Rotate(t.Context(), store.Digest("rg3"), start(), graceful(), func(g store.Grant, _ store.Token) (store.Issued, error) {
			return store.Issued{Grant: g, Tokens: pair(fmt.Sprint("q", i), start())}, nil
		})
	}
	if won := race(t, several, store.ErrSpent, store.ErrNotFound); won != 1+graceful().Most {
		t.Errorf("%d have rotated one token; want %d", won, 1+graceful().Most)
	}
	// A client that refreshes on and on keeps no more tokens than the bound.
	issue(t, s, "g4", "c1")
	token := "rg4"
	for i := range 150 {
		at := start().Add(time.Duration(i) * time.Second)
		if err := rotate(token, at); err != nil {
			t.Fatal(err)
		}
		token = fmt.Sprint("rn", next)
	}
	var kept int
	if err := d.SQL.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM tokens WHERE grant_id = 'g4'`).Scan(&kept); err != nil || kept != 200 {
		t.Errorf("%d tokens are kept, %v; want 200", kept, err)
	}
}

// isSpent checks that an error is that of something of u1 which was used before.
func isSpent(t *testing.T, what string, err error) {
	t.Helper()
	var spent *store.SpentError
	if !errors.Is(err, store.ErrSpent) || !errors.As(err, &spent) || spent.Subject != "u1" {
		t.Errorf("%s: %v; want that it was used before, and that it is of u1", what, err)
	}
}

func testRedeem(t *testing.T, d Database) {
	s := d.open(t)
	addUser(t, s, ann())
	add := func(name string) {
		t.Helper()
		c := store.Code{Hash: store.Digest(name), Subject: "u1", Request: []byte("r"), Grant: "g" + name, Expires: start().Add(time.Minute)}
		if err := s.AddCode(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	redeem := func(name string) error {
		return s.RedeemCode(t.Context(), store.Digest(name), start(), func(c store.Code) (store.Issued, error) {
			if c.Subject != "u1" || string(c.Request) != "r" {
				t.Errorf("redeemed %+v", c)
			}
			return store.Issued{Grant: grantOf(c.Grant, c.Subject, "c1"), Tokens: pair(name, start())}, nil
		})
	}
	add("x")
	if won := race(t, func(int) error { return redeem("x") }, store.ErrSpent); won != 1 {
		t.Errorf("%d of %d have redeemed one code", won, crowd)
	}
	_, err := s.Bearer(t.Context(), store.Digest("ax"), start())
	is(t, "what a code gave that came again", err, store.ErrNotFound)

	add("y")
	is(t, "a code", redeem("y"), nil)
	b, err := s.Bearer(t.Context(), store.Digest("ay"), start())
	equal(t, "what a code gave", "gy", b.Grant.ID, err)
	is(t, "an unknown code", redeem("z"), store.ErrNotFound)
	add("late")
	d.exec(t, `UPDATE codes SET expires = 1 WHERE spent = 0`)
	is(t, "a code whose time is over", redeem("late"), store.ErrNotFound)

	add("w")
	refused := errors.New("refused")
	err = s.RedeemCode(t.Context(), store.Digest("w"), start(), func(store.Code) (store.Issued, error) { return store.Issued{}, refused })
	is(t, "a code that is refused", err, refused)
	isSpent(t, "the same again", redeem("w"))
}

// An assertion proves something once, whoever of several processes is shown it.
func testAssertions(t *testing.T, d Database) {
	s := d.open(t)
	keep := func(name string, now time.Time, most int) error {
		return s.KeepAssertion(t.Context(), store.Digest(name), now.Add(time.Minute), now, most)
	}
	if won := race(t, func(int) error { return keep("a", start(), 3) }, store.ErrExists); won != 1 {
		t.Errorf("%d of %d have used one assertion", won, crowd)
	}
	is(t, "a second one", keep("b", start(), 3), nil)
	is(t, "a third one", keep("c", start(), 3), nil)
	is(t, "one too many", keep("d", start(), 3), store.ErrFull)
	late := start().Add(time.Minute)
	is(t, "the same when the others have expired", keep("d", late, 3), nil)
	is(t, "that one again", keep("d", late, 3), store.ErrExists)
	if err := s.SweepAccounts(t.Context(), late.Add(time.Minute), start()); err != nil {
		t.Error(err)
	}
	count := -1
	err := d.SQL.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM assertions`).Scan(&count)
	equal(t, "what is kept of expired ones", 0, count, err)
}

func testSweep(t *testing.T, d Database) {
	s := d.open(t)
	addUser(t, s, ann())
	issue(t, s, "g1", "c1")
	for what, err := range map[string]error{
		"browser": s.AddBrowser(t.Context(), store.Browser{Hash: store.Digest("b"), Subject: "u1", Created: start(), Expires: start().Add(time.Hour)}, "h1", 3),
		"code":    s.AddCode(t.Context(), store.Code{Hash: store.Digest("c"), Subject: "u1", Grant: "g", Request: []byte("r"), Expires: start().Add(time.Minute)}),
		"client":  s.AddClient(t.Context(), store.Client{ID: "c", Metadata: []byte("{}"), Created: start()}, 3),
		"manual":  s.AddClient(t.Context(), store.Client{ID: "m", Metadata: []byte("{}"), Manual: true, Created: start()}, 3),
	} {
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	counts := func() (all [6]int) {
		t.Helper()
		for i, table := range []string{"users", "browsers", "codes", "tokens", "grants", "clients"} {
			if err := d.SQL.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM `+table).Scan(&all[i]); err != nil {
				t.Fatal(err)
			}
		}
		return all
	}
	sweep := func(at time.Time) {
		t.Helper()
		if err := s.SweepAccounts(t.Context(), at, at.Add(-24*time.Hour)); err != nil {
			t.Error(err)
		}
	}
	sweep(start())
	equal(t, "before their time", [6]int{1, 1, 1, 2, 1, 2}, counts(), nil)
	sweep(start().Add(2 * time.Hour))
	equal(t, "after two hours", [6]int{1, 0, 0, 1, 1, 2}, counts(), nil)
	sweep(start().Add(25 * time.Hour))
	equal(t, "after a day", [6]int{1, 0, 0, 0, 0, 1}, counts(), nil)
}

// race calls do as often as a crowd does, at once, and returns how many had no error. Other errors than those
// of losers fail the test.
func race(t *testing.T, do func(i int) error, losers ...error) (won int) {
	t.Helper()
	errs := make([]error, crowd)
	var all sync.WaitGroup
	begin := make(chan struct{})
	for i := range errs {
		all.Go(func() {
			<-begin
			errs[i] = do(i)
		})
	}
	close(begin)
	all.Wait()
	for _, err := range errs {
		lost := false
		for _, l := range losers {
			lost = lost || errors.Is(err, l)
		}
		switch {
		case err == nil:
			won++
		case !lost:
			t.Errorf("lost with %v; want one of %v", err, losers)
		}
	}
	return won
}
