// Package identity knows who is asking: accounts with their passwords and passkeys, people whom an OpenID provider has signed in, browsers
// that are signed in, bearer tokens of clients, and tokens for machines.
//
// Passwords are hashed with Argon2id (RFC 9106), a few at a time, so that sign-ins cannot use the memory up. Wrong ones are
// answered more and more slowly, to the address that sends them only: nobody can lock somebody else out. The same holds for
// passkeys, what a browser is asked to sign with which is good once, for a few minutes, at that browser. Somebody of a provider is
// known by issuer and subject, never by a name or an address of e-mail, and gets an account of a name that nobody has.
//
// # Trust
//
// Names, passwords, answers of authenticators, cookies and headers are anybody's. Whoever calls the methods about accounts is the operator.
//
// # Failure
//
// A wrong password and an unknown name are the same fault.Invalid, and take the same time; too many are fault.Busy, which says
// when to try again. A bearer token that is not good, for whatever reason, is [ErrToken].
package identity

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"runpython/internal/passkey"
	"runpython/internal/provider"
	"runpython/internal/store"
)

const (
	// BrowserTime is how long a browser stays signed in.
	BrowserTime = 12 * time.Hour
	// maxBrowsers is how many browsers of one user are signed in at once; the oldest are signed out.
	maxBrowsers = 20
	maxUsers    = 10_000
	// usedEvery is how exactly it is noted when a token was used last.
	usedEvery = time.Hour
)

// A Store keeps accounts; package database is one. Its methods and errors are described there.
type Store interface {
	AddUser(ctx context.Context, u store.User, most int) error
	User(ctx context.Context, id string) (store.User, error)
	UserNamed(ctx context.Context, name string) (store.User, error)
	Users(ctx context.Context) ([]store.User, error)
	SetPassword(ctx context.Context, id, password string) error
	SetDisabled(ctx context.Context, id string, disabled bool) error
	RemoveUser(ctx context.Context, id string) error

	AddUserOf(ctx context.Context, u store.User, i store.Identity, most int) error
	UserOf(ctx context.Context, issuer, external string) (store.User, error)
	AddIdentity(ctx context.Context, i store.Identity, most int) error
	RemoveIdentity(ctx context.Context, i store.Identity) error
	Identities(ctx context.Context) ([]store.Identity, error)
	AddDeparture(ctx context.Context, d store.Departure, ofBrowser, most int) error
	TakeDeparture(ctx context.Context, hash, browser store.Digest, now time.Time) ([]byte, error)

	AddBrowser(ctx context.Context, b store.Browser, password string, most int) error
	Browser(ctx context.Context, hash store.Digest, now time.Time) (store.Browser, store.User, error)
	RemoveBrowser(ctx context.Context, hash store.Digest) error

	AddPasskey(ctx context.Context, p store.Passkey, most int) error
	Passkey(ctx context.Context, credential []byte) (store.Passkey, store.User, error)
	Passkeys(ctx context.Context, subject string) ([]store.Passkey, error)
	CountPasskeys(ctx context.Context) (map[string]int, error)
	UsePasskey(ctx context.Context, id string, use store.PasskeyUse) error
	RenamePasskey(ctx context.Context, id, subject, name string) error
	RemovePasskey(ctx context.Context, id, subject string) error
	AddChallenge(ctx context.Context, c store.Challenge, most int) error
	TakeChallenge(ctx context.Context, browser store.Digest, now time.Time) ([]byte, error)

	Bearer(ctx context.Context, hash store.Digest, now time.Time) (store.Bearer, error)
	TouchGrant(ctx context.Context, id string, now time.Time) error
	AddGrant(ctx context.Context, issued store.Issued) error
	GrantsOf(ctx context.Context, subject string) ([]store.Grant, error)
	RemoveGrant(ctx context.Context, id, subject string) error
}

// A Recorder is told what an operator may want to look up later. It must return soon.
type Recorder interface {
	// Record notes an event such as EventSignedIn: whose it is, from which address it came, what it is about; each may be "".
	Record(ctx context.Context, event, subject, address, about string)
}

// A Limiter says who may do something that costs, or could be tried too often.
type Limiter interface {
	// Allow reports whether an address may do what an event names once more, and otherwise when to try again.
	Allow(event, address string) (wait time.Duration, ok bool)
}

// Events of a Recorder; the first is also asked for of a Limiter.
const (
	EventSignedIn     = "signed_in"
	EventRefused      = "sign_in_refused"
	EventSignedOut    = "signed_out"
	EventUserAdded    = "user_added"
	EventUserRemoved  = "user_removed"
	EventUserDisabled = "user_disabled"
	EventUserEnabled  = "user_enabled"
	EventPassword     = "password_changed"
	EventLinked       = "user_linked"
	EventUnlinked     = "user_unlinked"
	EventAway         = "provider_away" // somebody could not sign in since the provider did not answer
	EventTokenMade    = "token_made"
	EventRevoked      = "grant_revoked"

	EventPasskeyAdded   = "passkey_added"
	EventPasskeyRenamed = "passkey_renamed"
	EventPasskeyRemoved = "passkey_removed"
	EventPasskeyCopied  = "passkey_copied" // one has signed less often than it had before: somebody has a copy of it
)

// Options say what a Service works with. Store, Record and Limit are required.
type Options struct {
	Store    Store
	Resource string // URL of the endpoint, for which tokens are; "" where nobody asks for bearers
	Record   Recorder
	Limit    Limiter
	Party    *passkey.Party // this server, to passkeys; nil where nobody signs in with passkeys
	// Provider signs people in, nil for none. With ProviderOnly nobody signs in with a password.
	Provider     *provider.Provider
	ProviderOnly bool
	Now          func() time.Time // nil means time.Now
	Log          *slog.Logger     // nil means no log
}

// A Service is safe for concurrent use, and has nothing to close.
type Service struct {
	Options
	hashing  chan struct{} // a token for each password that is being hashed
	waiting  chan struct{} // and for each that waits for that, or is
	attempts *attempts
	setup    setup
}

// New returns a Service.
func New(o Options) *Service {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Service{
		Options: o, hashing: make(chan struct{}, maxHashing), waiting: make(chan struct{}, maxWaiting), attempts: newAttempts(),
	}
}

// ErrToken means that a bearer token is not good: unknown, expired, revoked, for something else, or no token at all.
var ErrToken = errors.New("the bearer token is not good")
