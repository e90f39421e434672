package store

import (
	"errors"
	"time"
)

var (
	// ErrExists means that there is one of that name already.
	ErrExists = errors.New("it exists already")
	// ErrFull means that a bound is reached, and nothing may make room.
	ErrFull = errors.New("there are too many already")
	// ErrSpent means that something which is good for one use was used before. What its first use gave is
	// revoked now. Who got that is in a SpentError.
	ErrSpent = errors.New("it was used before")
)

// A SpentError is an ErrSpent with whom it concerns.
type SpentError struct{ Subject string }

// Error implements error.
func (*SpentError) Error() string { return ErrSpent.Error() }

// Unwrap returns ErrSpent.
func (*SpentError) Unwrap() error { return ErrSpent }

// A Digest is the SHA-256 of a secret that was given to somebody: a token, a code, a cookie. The secrets have so many
// random bits that nothing slower is needed, and are nowhere in the database.
type Digest []byte

// A User is somebody who can sign in.
type User struct {
	ID       string // the subject: owner of chats; of no one else, also after the user is removed
	Name     string // for people, unique
	Password string // hashed, with its parameters, as package identity has written it
	Admin    bool
	Disabled bool
	Created  time.Time
}

// An Identity is who a user is at an OpenID provider. The two first name a person there, and nothing else does.
type Identity struct {
	Issuer   string // URL of the provider
	External string // the subject, which the provider gives to nobody else
	User     string // id
	Created  time.Time
}

// A Departure is a sign-in whose person was sent to an OpenID provider and has to come back at the same browser.
type Departure struct {
	Hash    Digest // of the state
	Browser Digest // of its cookie, though nobody is signed in
	Attempt []byte // JSON, as package identity has written it
	Created time.Time
	Expires time.Time
}

// A Browser is one that a user has signed in with.
type Browser struct {
	Hash    Digest // of its cookie
	Subject string
	Created time.Time
	Expires time.Time
}

// A Consent is a request of a client that waits for the person at a browser to say yes or no.
type Consent struct {
	Hash    Digest // of the form's secret
	Browser Digest
	Request []byte // JSON, as package oauth has written it
	Created time.Time
	Expires time.Time
}

// A Passkey is a key with which a user signs in, whose secret half an authenticator of the user's keeps.
type Passkey struct {
	ID         string // ours
	Subject    string
	Credential []byte // the id that the authenticator has given
	PublicKey  []byte // as package passkey has read it
	Signatures uint32 // made so far, as the authenticator says; 0 when it does not count them
	Transports string // how a browser reaches it, separated by spaces
	Eligible   bool   // it may be copied to other devices of the user
	BackedUp   bool   // it is
	Name       string // for people; any UTF-8
	Created    time.Time
	Used       time.Time // zero for never
}

// A PasskeyUse is what a passkey has told when it was used.
type PasskeyUse struct {
	Signatures uint32
	BackedUp   bool
	Used       time.Time
}

// A Challenge is what a browser was asked to have signed.
type Challenge struct {
	Browser Digest // of the cookie that it goes with
	Text    []byte
	Created time.Time
	Expires time.Time
}

// A Client is a program that was registered, by itself or by the operator.
type Client struct {
	ID       string
	Metadata []byte // JSON, as package oauth has written it
	Secret   Digest // empty for none
	Manual   bool   // by the operator: never removed for others
	Created  time.Time
	Used     time.Time // the last time that a code of it was redeemed; zero for never
}

// A Grant is what a user has allowed to a client. All tokens that came of one consent belong to it and end with it.
type Grant struct {
	ID       string
	Subject  string
	Client   string // its id; "" for a token that was made at the command line
	Name     string // of the client, or of the token; any UTF-8
	Host     string // where the code was sent to
	Scopes   string // separated by spaces
	Resource string // for which its tokens are; "" for whatever this server is called
	Created  time.Time
	Used     time.Time // to the hour
	Expires  time.Time
}

// A Code is good for one use within its time.
type Code struct {
	Hash    Digest
	Subject string
	Request []byte // JSON, as package oauth has written it
	Grant   string // the id of the grant that it gives
	Expires time.Time
}

// The kinds of a Token.
const (
	AccessToken  = "access"
	RefreshToken = "refresh"
)

// A Token is one of a Grant.
type Token struct {
	Hash    Digest
	Kind    string
	Scopes  string // separated by spaces; no more than its grant has
	Created time.Time
	Expires time.Time
}

// An Issued is a grant with the tokens that are new in it.
type Issued struct {
	Grant  Grant
	Tokens []Token
}

// A Bearer is an access token with what it is part of.
type Bearer struct {
	Token Token
	Grant Grant
	User  User
}

// Repeats say when the second use of a refresh token is taken for that of a client which has not got the answer to
// the first one.
type Repeats struct {
	Within time.Duration // of the first use
	Most   int
}
