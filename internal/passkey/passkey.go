// Package passkey says what browsers are to ask of authenticators, and checks what those answer: Web Authentication, level 3 (W3C). What
// an account may do with a passkey, and what was asked when, is the business of package identity.
//
// A passkey is a key pair that an authenticator (a phone, a password manager, a security key) has made for one server. It signs only
// for pages of that server, so that it cannot be given away to another site, and only after it has made sure of who holds it, by a PIN, a
// finger or a face: nothing else has to be asked for.
//
// # Trust
//
// What a browser sends is anybody's until its signature is checked, and bounded by whoever reads it. Which make an authenticator
// is of is not asked for (attestation "none"), and attestations that would bring certificates are refused before they are read.
//
// # Failure
//
// An answer that does not hold is a fault.Invalid, which says what the person can do.
package passkey

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"runpython/internal/fault"
)

// Time is how long a person may take to answer.
const Time = 5 * time.Minute

// challengeBytes is how many random bytes a challenge has; 16 are the least (13.4.3 of the specification).
const challengeBytes = 32

// maxTransports bounds what is kept of how a browser reaches an authenticator, in bytes.
const maxTransports = 128

// A Party is a server, to authenticators. It is safe for concurrent use.
type Party struct {
	origin   string
	protocol *webauthn.WebAuthn
}

// New returns the server at a URL without a path. It is nil where browsers have no passkeys: at addresses that are no names.
func New(origin string) *Party {
	u, err := url.Parse(origin)
	if err != nil || u.Hostname() == "" {
		return nil
	}
	required := true
	made, err := webauthn.New(&webauthn.Config{
		RPID: u.Hostname(), RPDisplayName: "Run Python", RPOrigins: []string{origin},
		AttestationPreference: protocol.PreferNoAttestation,
		AuthenticatorSelection: protocol.AuthenticatorSelection{
			RequireResidentKey: &required, ResidentKey: protocol.ResidentKeyRequirementRequired, UserVerification: protocol.VerificationRequired,
		},
		// Whether the time is over is decided by whoever keeps the challenge.
		Timeouts: webauthn.TimeoutsConfig{Login: webauthn.TimeoutConfig{Timeout: Time}, Registration: webauthn.TimeoutConfig{Timeout: Time}},
	})
	if err != nil {
		return nil
	}
	return &Party{origin: origin, protocol: made}
}

// A User is the account for which a passkey is.
type User struct {
	ID   string // told to the authenticator, and by it when it signs
	Name string // for the person, who may have several accounts
}

// A Credential is what a server keeps of a passkey.
type Credential struct {
	ID         []byte // up to 1,023 bytes
	PublicKey  []byte // COSE
	Signatures uint32 // made so far; 0 when the authenticator does not count them
	Transports string // how a browser reaches it, separated by spaces
	Eligible   bool   // it may be copied to other devices of its owner
	BackedUp   bool   // it is
}

// NewChallenge returns what an authenticator is to sign, once.
func NewChallenge() []byte {
	c := make([]byte, challengeBytes)
	rand.Read(c) // it never returns an error
	return c
}

// owner is a User with passkeys, as the protocol's library wants it.
type owner struct {
	User
	has []webauthn.Credential
}

// WebAuthnID implements webauthn.User.
func (o owner) WebAuthnID() []byte { return []byte(o.ID) }

// WebAuthnName implements webauthn.User.
func (o owner) WebAuthnName() string { return o.Name }

// WebAuthnDisplayName implements webauthn.User.
func (o owner) WebAuthnDisplayName() string { return o.Name }

// WebAuthnCredentials implements webauthn.User.
func (o owner) WebAuthnCredentials() []webauthn.Credential { return o.has }

// Creation returns, as JSON, what a browser is to ask for so that a user gets a passkey, on none of the authenticators that
// have one of the user's already: member "publicKey" of the argument of navigator.credentials.create, with bytes as base64url.
func (p *Party) Creation(u User, challenge []byte, known []Credential) ([]byte, error) {
	var there []protocol.CredentialDescriptor
	for _, c := range known {
		there = append(there, c.kept().Descriptor())
	}
	asked, _, err := p.protocol.BeginRegistration(owner{User: u}, func(o *protocol.PublicKeyCredentialCreationOptions) error {
		o.Challenge, o.CredentialExcludeList, o.Parameters = challenge, there, webauthn.CredentialParametersRecommendedL3()
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("ask for a new passkey: %w", err)
	}
	return written(asked.Response)
}

// Request returns, as JSON, what a browser is to ask for so that somebody signs in with a passkey of any user of this
// server: member "publicKey" of the argument of navigator.credentials.get, with bytes as base64url.
func (p *Party) Request(challenge []byte) ([]byte, error) {
	asked, _, err := p.protocol.BeginDiscoverableLogin(func(o *protocol.PublicKeyCredentialRequestOptions) error {
		o.Challenge = challenge
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("ask for a passkey: %w", err)
	}
	return written(asked.Response)
}

func written(asked any) ([]byte, error) {
	text, err := json.Marshal(asked)
	if err != nil {
		return nil, fmt.Errorf("write what a browser is to ask for: %w", err)
	}
	return text, nil
}

// session is what the library kept of the question, were it the one that keeps it.
func (p *Party) session(challenge []byte) webauthn.SessionData {
	return webauthn.SessionData{
		Challenge: base64.RawURLEncoding.EncodeToString(challenge), RelyingPartyID: p.protocol.Config.RPID,
		UserVerification: protocol.VerificationRequired, CredParams: webauthn.CredentialParametersRecommendedL3(),
	}
}

// kept is a Credential as the library wants it.
func (c Credential) kept() *webauthn.Credential {
	k := &webauthn.Credential{
		ID: c.ID, PublicKey: c.PublicKey, AttestationFormat: string(protocol.AttestationFormatNone),
		Flags:         webauthn.CredentialFlags{UserPresent: true, UserVerified: true, BackupEligible: c.Eligible, BackupState: c.BackedUp},
		Authenticator: webauthn.Authenticator{SignCount: c.Signatures},
	}
	for t := range strings.FieldsSeq(c.Transports) {
		k.Transport = append(k.Transport, protocol.AuthenticatorTransport(t))
	}
	return k
}

// transports returns those that are words, as many as are kept.
func transports(all []protocol.AuthenticatorTransport) string {
	text := ""
	for _, t := range all {
		word := string(t)
		if word == "" || strings.Trim(word, "abcdefghijklmnopqrstuvwxyz-") != "" || len(text)+len(word) >= maxTransports {
			continue
		}
		text = strings.TrimPrefix(text+" "+word, " ")
	}
	return text
}

// unreadable is told of what no browser sends.
func unreadable(err error) error {
	return fault.New(fault.Invalid, err, "what your browser has sent about the passkey cannot be read: try again, or another browser")
}
