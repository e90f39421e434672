package passkey_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/fault"
	"runpython/internal/passkey"
	"runpython/internal/passkey/passkeytest"
)

const origin = "https://run.example:8443"

func ann() passkey.User {
	return passkey.User{ID: "abcdefghijklmnopqrstuvwxyz", Name: "ann"}
}

// is fails the test unless an error is a fault.Invalid with a text in it.
func is(t *testing.T, what string, err error, text string) {
	t.Helper()
	if k, shown := fault.Shown(err); err == nil || k != fault.Invalid || !strings.Contains(shown, text) {
		t.Errorf("%s: %v; want invalid, %q", what, err, text)
	}
}

// create makes a passkey of Ann's.
func create(t *testing.T, p *passkey.Party, a *passkeytest.Authenticator) passkey.Credential {
	t.Helper()
	challenge := passkey.NewChallenge()
	asked, err := p.Creation(ann(), challenge, nil)
	if err != nil {
		t.Fatal(err)
	}
	c, err := p.Created(ann(), challenge, a.Create(asked, nil))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// check has a passkey sign, and checks that.
func check(t *testing.T, p *passkey.Party, c passkey.Credential, a *passkeytest.Authenticator, bend func(*passkeytest.Says)) (passkey.Credential, error) {
	t.Helper()
	challenge := passkey.NewChallenge()
	asked, err := p.Request(challenge)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := passkey.Read(a.Get(asked, bend))
	if err != nil {
		return c, err
	}
	return p.Check(answer, challenge, ann(), c)
}

func TestWhereThereAreNone(t *testing.T) {
	for url, want := range map[string]bool{
		"https://run.example": true, "http://localhost:8000": true, "http://127.0.0.1:8000": false, "https://[2001:db8::1]": false, "https://192.0.2.1": false, "": false, ":": false,
	} {
		if got := passkey.New(url) != nil; got != want {
			t.Errorf("New(%q) has passkeys: %v, want %v", url, got, want)
		}
	}
}

// What is asked for: of this server, kept by the authenticator itself, after it has made sure of the person.
func TestWhatIsAsked(t *testing.T) {
	p := passkey.New(origin)
	challenge := bytes.Repeat([]byte{0xfb}, 32)
	text := base64.RawURLEncoding.EncodeToString(challenge)
	asked, err := p.Creation(ann(), challenge, []passkey.Credential{{ID: []byte{0xff, 0xfe}, Transports: "usb"}})
	if err != nil {
		t.Fatal(err)
	}
	var got any
	if err := json.Unmarshal(asked, &got); err != nil {
		t.Fatal(err)
	}
	type object = map[string]any
	algorithm := func(n float64) any { return object{"type": "public-key", "alg": n} }
	want := object{
		"rp": object{"id": "run.example", "name": "Run Python"}, "challenge": text, "timeout": 300000.0, "attestation": "none",
		"user":                   object{"id": base64.RawURLEncoding.EncodeToString([]byte(ann().ID)), "name": "ann", "displayName": "ann"},
		"pubKeyCredParams":       []any{algorithm(-8), algorithm(-7), algorithm(-257)},
		"excludeCredentials":     []any{object{"type": "public-key", "id": "__4", "transports": []any{"usb"}}},
		"authenticatorSelection": object{"requireResidentKey": true, "residentKey": "required", "userVerification": "required"},
	}
	if diff := cmp.Diff(any(want), got); diff != "" {
		t.Errorf("Creation() (-want +got):\n%s", diff)
	}
	if asked, err = p.Request(challenge); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(asked, &got); err != nil {
		t.Fatal(err)
	}
	want = object{"challenge": text, "timeout": 300000.0, "rpId": "run.example", "userVerification": "required"}
	if diff := cmp.Diff(any(want), got); diff != "" {
		t.Errorf("Request() (-want +got):\n%s", diff)
	}
	if bytes.Equal(passkey.NewChallenge(), passkey.NewChallenge()) {
		t.Error("two challenges are the same")
	}
}

func TestPasskey(t *testing.T) {
	p := passkey.New(origin)
	a := passkeytest.New(t, origin)
	a.Flags |= passkeytest.Eligible
	c := create(t, p, a)
	if len(c.ID) == 0 || len(c.PublicKey) == 0 || c.Signatures != 0 || c.Transports != "internal hybrid" || !c.Eligible || c.BackedUp {
		t.Errorf("Created() = %+v", c)
	}
	a.Flags |= passkeytest.BackedUp
	for i := range uint32(2) {
		used, err := check(t, p, c, a, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := c
		want.Signatures, want.BackedUp = i+1, true
		if diff := cmp.Diff(want, used); diff != "" {
			t.Errorf("Check() (-want +got):\n%s", diff)
		}
	}
	c.Signatures = 9
	if used, err := check(t, p, c, a, nil); err != nil || used.Signatures != 3 {
		t.Errorf("a count that went back = %+v, %v; it is for the caller to judge", used, err)
	}
	a.Proves = true
	if c = create(t, p, a); len(c.ID) == 0 {
		t.Error("one that proves itself has no id")
	}
}

// A lie is something that does not hold, and what is shown of it.
type lie struct {
	name, shown string
	bend        func(*passkeytest.Says)
}

// lies are those about old passkeys and new ones.
func lies() []lie {
	const address, question, holds = "a page of another address: open " + origin, "another question", "does not hold"
	return []lie{
		{"another host", address, func(s *passkeytest.Says) { s.Origin = "https://evil.example" }},
		{"a longer host", address, func(s *passkeytest.Says) { s.Origin = origin + ".evil.example" }},
		{"a host below", address, func(s *passkeytest.Says) { s.Origin = "https://sub.run.example:8443" }},
		{"another port", address, func(s *passkeytest.Says) { s.Origin = "https://run.example" }},
		{"not https", address, func(s *passkeytest.Says) { s.Origin = "http://run.example:8443" }},
		{"in a frame of another site", address, func(s *passkeytest.Says) { s.CrossOrigin = true }},
		{"another challenge", question, func(s *passkeytest.Says) {
			s.Challenge = base64.RawURLEncoding.EncodeToString(passkey.NewChallenge())
		}},
		{"no challenge", question, func(s *passkeytest.Says) { s.Challenge = "" }},
		{"nobody was verified", "made sure that it is you", func(s *passkeytest.Says) { s.Flags &^= passkeytest.Verified }},
		{"nobody was there", holds, func(s *passkeytest.Says) { s.Flags &^= passkeytest.Present }},
		{"another server", holds, func(s *passkeytest.Says) { s.Party = "evil.example" }},
		{"a parent's", holds, func(s *passkeytest.Says) { s.Party = "example" }},
		{"a copy of what cannot be copied", holds, func(s *passkeytest.Says) { s.Flags |= passkeytest.BackedUp }},
	}
}

func TestAnswersThatDoNotHold(t *testing.T) {
	p := passkey.New(origin)
	a := passkeytest.New(t, origin)
	c := create(t, p, a)
	const holds = "does not hold"
	for _, l := range append(lies(), []lie{
		{"that of a new passkey", holds, func(s *passkeytest.Says) { s.Type = "webauthn.create" }},
		{"another user", holds, func(s *passkeytest.Says) { s.User = []byte("somebody") }},
		{"no user", holds, func(s *passkeytest.Says) { s.User = nil }},
		{"another passkey", holds, func(s *passkeytest.Says) { s.Credential = []byte("another") }},
		{"one that may be copied by now", holds, func(s *passkeytest.Says) { s.Flags |= passkeytest.Eligible }},
	}...) {
		t.Run(l.name, func(t *testing.T) {
			_, err := check(t, p, c, a, l.bend)
			is(t, l.name, err, l.shown)
		})
	}
	a.Forge = true
	_, err := check(t, p, c, a, nil)
	is(t, "another key", err, holds)
	a.Forge = false
	if _, err := check(t, p, c, a, nil); err != nil {
		t.Errorf("the honest one after all that: %v", err)
	}
}

func TestNewOnesThatDoNotHold(t *testing.T) {
	p := passkey.New(origin)
	a := passkeytest.New(t, origin)
	const holds, unwanted = "does not hold", "not wanted here"
	for _, l := range append(lies(), []lie{
		{"that of an old one", holds, func(s *passkeytest.Says) { s.Type = "webauthn.get" }},
		{"a bad proof by itself", holds, func(s *passkeytest.Says) { s.Format, s.Statement = "packed", map[string]string{"sig": "x"} }},
		{"none, with a proof", holds, func(s *passkeytest.Says) { s.Statement = map[string]string{"sig": "x"} }},
		{"certificates", unwanted, func(s *passkeytest.Says) { s.Format, s.Statement = "packed", map[string]string{"x5c": "x"} }},
		{"of a TPM", unwanted, func(s *passkeytest.Says) { s.Format = "tpm" }},
		{"of nobody", unwanted, func(s *passkeytest.Says) { s.Format = "made-up" }},
		{"a long id", "cannot be read", func(s *passkeytest.Says) { s.Credential = bytes.Repeat([]byte("x"), 1024) }},
	}...) {
		t.Run(l.name, func(t *testing.T) {
			challenge := passkey.NewChallenge()
			asked, err := p.Creation(ann(), challenge, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, err = p.Created(ann(), challenge, a.Create(asked, l.bend))
			is(t, l.name, err, l.shown)
		})
	}
	for _, text := range []string{"", "{}", "[]", `{"id":"AA","rawId":"AA","type":"public-key","response":{}}`, "\x00"} {
		_, err := p.Created(ann(), passkey.NewChallenge(), []byte(text))
		is(t, text, err, "cannot be read")
		_, err = passkey.Read([]byte(text))
		is(t, text, err, "cannot be read")
	}
}

// Whatever a browser sends, nothing breaks, and nothing holds for a question that was not asked.
func FuzzAnswers(f *testing.F) {
	p := passkey.New(origin)
	a := passkeytest.New(f, origin)
	challenge := passkey.NewChallenge()
	asked, err := p.Creation(ann(), challenge, nil)
	if err != nil {
		f.Fatal(err)
	}
	made := a.Create(asked, nil)
	c, err := p.Created(ann(), challenge, made)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(made)
	f.Add(a.Get(asked, func(s *passkeytest.Says) { s.Party = "run.example" }))
	f.Add([]byte(`{"id":"AA","rawId":"AA","type":"public-key","response":{"clientDataJSON":"e30","attestationObject":"oA"}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if got, err := p.Created(ann(), challenge, text); err == nil && (len(got.ID) == 0 || len(got.PublicKey) == 0) {
			t.Errorf("%q is a passkey without a key", text)
		}
		if _, err := p.Created(ann(), passkey.NewChallenge(), text); err == nil {
			t.Errorf("%q is a passkey for a question that nobody has asked", text)
		}
		answer, err := passkey.Read(text)
		if err != nil {
			return
		}
		if _, err := p.Check(answer, challenge, ann(), c); err == nil && !bytes.Equal(answer.Credential(), c.ID) {
			t.Errorf("%q is signed by another passkey", text)
		}
		if _, err := p.Check(answer, passkey.NewChallenge(), ann(), c); err == nil {
			t.Errorf("%q answers a question that nobody has asked", text)
		}
	})
}
