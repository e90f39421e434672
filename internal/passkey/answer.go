package passkey

import (
	"crypto/subtle"
	"encoding/base64"
	"errors"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"

	"runpython/internal/fault"
)

// Created reads the answer to Creation, the JSON form of a PublicKeyCredential, and returns the passkey that is new.
func (p *Party) Created(u User, challenge, answer []byte) (Credential, error) {
	read, err := protocol.ParseCredentialCreationResponseBytes(answer)
	if err != nil {
		return Credential{}, unreadable(err)
	}
	object := read.Response.AttestationObject
	switch protocol.AttestationFormat(object.Format) {
	case protocol.AttestationFormatNone:
	case protocol.AttestationFormatPacked: // by the new key itself, which browsers may leave in (5.4.7)
		if _, certified := object.AttStatement["x5c"]; certified {
			return Credential{}, attested()
		}
	default:
		return Credential{}, attested()
	}
	if err := p.fits(read.Response.CollectedClientData, object.AuthData, challenge); err != nil {
		return Credential{}, err
	}
	session := p.session(challenge)
	session.UserID = []byte(u.ID)
	made, err := p.protocol.CreateCredential(owner{User: u}, session, read)
	if err != nil {
		return Credential{}, wrong(err)
	}
	return Credential{
		ID: made.ID, PublicKey: made.PublicKey, Signatures: made.Authenticator.SignCount, Transports: transports(made.Transport),
		Eligible: made.Flags.BackupEligible, BackedUp: made.Flags.BackupState,
	}, nil
}

// attested is told when an authenticator proves its make although it was asked not to.
func attested() error {
	return fault.New(fault.Invalid, nil, "your browser has sent a proof of who has made the passkey's device, which is not wanted here: allow it to leave that out, and try again")
}

// An Answer is one to Request that nobody has checked yet.
type Answer struct {
	read *protocol.ParsedCredentialAssertionData
}

// Read reads the answer to Request, the JSON form of a PublicKeyCredential.
func Read(answer []byte) (*Answer, error) {
	read, err := protocol.ParseCredentialRequestResponseBytes(answer)
	if err != nil {
		return nil, unreadable(err)
	}
	return &Answer{read}, nil
}

// Credential returns the id of the passkey that it says to be of.
func (a *Answer) Credential() []byte { return a.read.RawID }

// Check reports whether the passkey c of the user u has given an answer for this server and challenge, and returns the passkey as it says to be
// now. Whether it has counted its signatures on is for the caller to find out, who knows what it has said last.
func (p *Party) Check(a *Answer, challenge []byte, u User, c Credential) (Credential, error) {
	if err := p.fits(a.read.Response.CollectedClientData, a.read.Response.AuthenticatorData, challenge); err != nil {
		return c, err
	}
	o := owner{User: u, has: []webauthn.Credential{*c.kept()}}
	_, used, err := p.protocol.ValidatePasskeyLogin(func(_, _ []byte) (webauthn.User, error) { return o, nil }, p.session(challenge), a.read)
	if err != nil {
		return c, wrong(err)
	}
	c.Signatures, c.BackedUp = a.read.Response.AuthenticatorData.Counter, used.Flags.BackupState
	return c, nil
}

// fits looks for what a person can do something about, which the library has one word for.
func (p *Party) fits(said protocol.CollectedClientData, data protocol.AuthenticatorData, challenge []byte) error {
	switch {
	case subtle.ConstantTimeCompare([]byte(said.Challenge), []byte(base64.RawURLEncoding.EncodeToString(challenge))) != 1:
		return fault.New(fault.Invalid, nil, "this passkey has answered another question than that of this page: load the page anew, and try again")
	case said.Origin != p.origin || said.CrossOrigin || said.TopOrigin != "":
		return fault.New(fault.Invalid, nil, "the passkey was used on a page of another address: open "+p.origin+" itself, and try again")
	case !data.Flags.HasUserVerified():
		return fault.New(fault.Invalid, nil, "the passkey's device has not made sure that it is you: set up a PIN, fingerprint or face there, and try again")
	}
	return nil
}

// wrong is told of what does not hold and no person can change; the library's reason is for the log.
func wrong(err error) error {
	if detailed, ok := errors.AsType[*protocol.Error](err); ok && detailed.DevInfo != "" {
		err = errors.Join(err, errors.New(detailed.DevInfo))
	}
	return fault.New(fault.Invalid, err, "the passkey's answer does not hold: try again, or sign in with your password")
}
