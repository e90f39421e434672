// Package passkeytest is an authenticator made of software, honest or not, with the browser around it.
//
// # Trust
//
// It is part of tests only.
//
// # Failure
//
// It fails the test that uses it.
package passkeytest

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"testing"
)

// Flags of authenticators (6.1 of Web Authentication).
const (
	Present  = 0x01
	Verified = 0x04
	Eligible = 0x08
	BackedUp = 0x10
	attested = 0x40
)

// Says is what a browser and an authenticator say. A test may change it before it is signed.
type Says struct {
	Type, Challenge, Origin string
	CrossOrigin             bool
	Party                   string // whose hash is signed
	Flags                   byte
	Count                   uint32
	Credential              []byte
	User                    []byte
	Format                  string // of the attestation
	Statement               map[string]string
}

// An Authenticator has passkeys, at most one of a server. It is not safe for concurrent use.
type Authenticator struct {
	Flags  byte // that it sets
	Counts bool // its signatures
	Forge  bool // signs with another key than it has shown
	Proves bool // the attestation of a new passkey is a signature of it

	t      testing.TB
	origin string // of the page that asks
	key    *ecdsa.PrivateKey
	id     []byte
	user   []byte
	count  uint32
}

// New returns an authenticator at a browser that shows a page of an origin.
func New(t testing.TB, origin string) *Authenticator {
	return &Authenticator{Flags: Present | Verified, Counts: true, t: t, origin: origin}
}

// options are what a server has asked for, as far as it matters here.
type options struct {
	Challenge string `json:"challenge"`
	Party     struct {
		ID string `json:"id"`
	} `json:"rp"`
	PartyID string `json:"rpId"`
	User    struct {
		ID string `json:"id"`
	} `json:"user"`
}

func (a *Authenticator) read(asked []byte) (o options) {
	a.t.Helper()
	if err := json.Unmarshal(asked, &o); err != nil {
		a.t.Fatalf("%v in what the server asks for: %s", err, asked)
	}
	return o
}

func (a *Authenticator) bytes(text string) []byte {
	a.t.Helper()
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		a.t.Fatalf("%q: %v", text, err)
	}
	return b
}

// Create makes a passkey and returns what the browser sends of it. bend, unless nil, changes what is said.
func (a *Authenticator) Create(asked []byte, bend func(*Says)) []byte {
	a.t.Helper()
	o := a.read(asked)
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	a.key, a.id, a.user = key, []byte(rand.Text()), a.bytes(o.User.ID)
	s := a.says("webauthn.create", o.Challenge, o.Party.ID, bend)
	data := binary.BigEndian.AppendUint16(append(s.data(attested), make([]byte, 16)...), uint16(len(s.Credential)))
	data = append(append(data, s.Credential...), a.publicKey()...)
	client := a.client(s)
	statement := s.statement()
	if a.Proves {
		s.Format = "packed"
		statement = cborMap(pair{cborText("alg"), cborInt(-7)}, pair{cborText("sig"), cborBytes(a.sign(key, data, client))})
	}
	object := cborMap(pair{cborText("fmt"), cborText(s.Format)}, pair{cborText("attStmt"), statement}, pair{cborText("authData"), cborBytes(data)})
	return a.send(s, map[string]any{"clientDataJSON": encode(client), "attestationObject": encode(object), "transports": []string{"internal", "hybrid", "</script>"}})
}

// Get signs with the passkey and returns what the browser sends of it. bend, unless nil, changes what is said.
func (a *Authenticator) Get(asked []byte, bend func(*Says)) []byte {
	a.t.Helper()
	o := a.read(asked)
	if a.Counts {
		a.count++
	}
	s := a.says("webauthn.get", o.Challenge, o.PartyID, bend)
	client := a.client(s)
	data := s.data(0)
	key := a.key
	if a.Forge {
		var err error
		if key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
			a.t.Fatal(err)
		}
	}
	return a.send(s, map[string]any{
		"clientDataJSON": encode(client), "authenticatorData": encode(data), "signature": encode(a.sign(key, data, client)), "userHandle": encode(s.User),
	})
}

// sign returns a signature of what an authenticator and a browser say.
func (a *Authenticator) sign(key *ecdsa.PrivateKey, data, client []byte) []byte {
	a.t.Helper()
	sum := sha256.Sum256(client)
	digest := sha256.Sum256(append(bytes.Clone(data), sum[:]...))
	signature, err := key.Sign(rand.Reader, digest[:], crypto.SHA256)
	if err != nil {
		a.t.Fatal(err)
	}
	return signature
}

// Copy returns another authenticator with the same passkey, as of now.
func (a *Authenticator) Copy() *Authenticator {
	c := *a
	return &c
}

func (a *Authenticator) says(kind, challenge, party string, bend func(*Says)) *Says {
	s := &Says{
		Type: kind, Challenge: challenge, Origin: a.origin, Party: party, Flags: a.Flags, Count: a.count, Credential: a.id, User: a.user, Format: "none",
	}
	if bend != nil {
		bend(s)
	}
	return s
}

func (a *Authenticator) client(s *Says) []byte {
	a.t.Helper()
	text, err := json.Marshal(map[string]any{"type": s.Type, "challenge": s.Challenge, "origin": s.Origin, "crossOrigin": s.CrossOrigin})
	if err != nil {
		a.t.Fatal(err)
	}
	return text
}

// data returns the authenticator data, up to what is attested.
func (s *Says) data(more byte) []byte {
	sum := sha256.Sum256([]byte(s.Party))
	return binary.BigEndian.AppendUint32(append(sum[:], s.Flags|more), s.Count)
}

func (a *Authenticator) send(s *Says, response map[string]any) []byte {
	a.t.Helper()
	text, err := json.Marshal(map[string]any{"id": encode(s.Credential), "rawId": encode(s.Credential), "type": "public-key", "response": response})
	if err != nil {
		a.t.Fatal(err)
	}
	return text
}

// publicKey returns the key as COSE has it (RFC 9053, 7.1.1).
func (a *Authenticator) publicKey() []byte {
	a.t.Helper()
	point, err := a.key.PublicKey.Bytes()
	if err != nil {
		a.t.Fatal(err)
	}
	return cborMap(pair{cborInt(1), cborInt(2)}, pair{cborInt(3), cborInt(-7)}, pair{cborInt(-1), cborInt(1)}, pair{cborInt(-2), cborBytes(point[1:33])}, pair{cborInt(-3), cborBytes(point[33:])})
}

func (s *Says) statement() []byte {
	var pairs []pair
	for name, value := range s.Statement {
		pairs = append(pairs, pair{cborText(name), cborText(value)})
	}
	return cborMap(pairs...)
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
