package identity

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"

	"runpython/internal/fault"
	"runpython/internal/passkey"
	"runpython/internal/secret"
	"runpython/internal/store"
)

const (
	// MaxPasskeys is how many a user may have.
	MaxPasskeys = 20
	// RecentTime is how long after signing in a browser may add a passkey: who finds it open later cannot.
	RecentTime = 10 * time.Minute
	// maxChallenges is how many browsers are asked for a passkey at once; those that were asked first are forgotten.
	maxChallenges = 10_000
)

// HasPasskeys reports whether people can sign in with passkeys here.
func (s *Service) HasPasskeys() bool { return s.Party != nil }

// MayHavePasskeys reports whether a user can add passkeys. Who has no password signs in through the provider, which is asked each time
// whether the person is still admitted: a passkey would be a way around it.
func (s *Service) MayHavePasskeys(u store.User) bool { return s.HasPasskeys() && u.Password != "" }

// Recent reports whether a browser has signed in so lately that it may add a passkey.
func (s *Service) Recent(b store.Browser) bool { return s.Now().Sub(b.Created) < RecentTime }

// errNoPasskeys is told where there are none.
func errNoPasskeys() error {
	return fault.New(fault.NotFound, nil, "this server has no passkeys, since its address is no name: sign in with your password")
}

// challenge returns what a browser is to have signed, and keeps it with the digest of the browser's cookie.
func (s *Service) challenge(ctx context.Context, browser store.Digest) ([]byte, error) {
	text, now := passkey.NewChallenge(), s.Now()
	err := s.Store.AddChallenge(ctx, store.Challenge{Browser: browser, Text: text, Created: now, Expires: now.Add(passkey.Time)}, maxChallenges)
	if err != nil {
		return nil, fmt.Errorf("ask for a passkey: %w", err)
	}
	return text, nil
}

// asked returns what a browser was asked to have signed, once.
func (s *Service) asked(ctx context.Context, browser store.Digest) ([]byte, error) {
	text, err := s.Store.TakeChallenge(ctx, browser, s.Now())
	if errors.Is(err, store.ErrNotFound) {
		return nil, fault.New(fault.Invalid, err, fmt.Sprintf("this was done already, or it took more than %d minutes: try again", passkey.Time/time.Minute))
	}
	if err != nil {
		return nil, fmt.Errorf("check a passkey: %w", err)
	}
	return text, nil
}

// AskForPasskey returns what a browser that is not signed in is to ask for, as passkey.Party.Request says. cookie is a secret of that browser, to
// which the answer is bound; what it was asked before is forgotten.
func (s *Service) AskForPasskey(ctx context.Context, cookie, address string) ([]byte, error) {
	if !s.HasPasskeys() {
		return nil, errNoPasskeys()
	}
	if wait, ok := s.Limit.Allow(EventSignedIn, address); !ok {
		return nil, tooMany(wait)
	}
	text, err := s.challenge(ctx, secret.Digest(cookie))
	if err != nil {
		return nil, err
	}
	return s.Party.Request(text) //nolint:wrapcheck // it says what it is
}

// SignInByPasskey returns the cookie of a browser that was asked by AskForPasskey, and whose user has answered. It slows down those
// who try as SignIn does. Whoever asked has taken the place of an address's sign-in already.
func (s *Service) SignInByPasskey(ctx context.Context, cookie string, answer []byte, address string) (signedIn string, u store.User, err error) {
	if !s.HasPasskeys() {
		return "", u, errNoPasskeys()
	}
	text, err := s.asked(ctx, secret.Digest(cookie))
	if err != nil {
		return "", u, err
	}
	a, err := passkey.Read(answer)
	if err != nil {
		return "", u, s.refused(ctx, u, address, err)
	}
	k, u, err := s.Store.Passkey(ctx, a.Credential())
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return "", store.User{}, fmt.Errorf("sign in: %w", err)
	}
	account := u.Name
	if err != nil {
		account = noAccount
	}
	if wait := s.attempts.begin(account, address, s.Now()); wait > 0 {
		return "", store.User{}, tooMany(wait)
	}
	if err != nil || u.Disabled {
		return "", store.User{}, s.refused(ctx, u, address, fault.New(fault.Invalid, err, "nobody signs in here with this passkey: it may have been removed, or the account disabled"))
	}
	if err := s.use(ctx, k, u, answered{a, text, address}); err != nil {
		if kind, _ := fault.Shown(err); kind != fault.Invalid {
			s.attempts.takeBack(account, address)
		}
		return "", store.User{}, err
	}
	s.attempts.forgive(account, address)
	signedIn, err = s.signedIn(ctx, u, address, u.Name+"/"+k.Name)
	return signedIn, u, err
}

// refused notes that somebody was not let in, and returns why.
func (s *Service) refused(ctx context.Context, u store.User, address string, why error) error {
	s.Record.Record(ctx, EventRefused, u.ID, address, "")
	s.Log.DebugContext(ctx, "a passkey is refused", "error", why)
	return why
}

// answered is what came for a challenge.
type answered struct {
	answer    *passkey.Answer
	challenge []byte
	address   string
}

// use checks an answer of a user's passkey, and notes that it was used.
func (s *Service) use(ctx context.Context, k store.Passkey, u store.User, a answered) error {
	used, err := s.Party.Check(a.answer, a.challenge, passkey.User{ID: u.ID, Name: u.Name}, credential(k))
	if err != nil {
		return s.refused(ctx, u, a.address, err)
	}
	err = s.Store.UsePasskey(ctx, k.ID, store.PasskeyUse{Signatures: used.Signatures, BackedUp: used.BackedUp, Used: s.Now()})
	if errors.Is(err, store.ErrSpent) {
		s.Record.Record(ctx, EventPasskeyCopied, u.ID, a.address, u.Name+"/"+k.Name)
		return s.refused(ctx, u, a.address, fault.New(fault.Invalid, err, "somebody may have a copy of this passkey: sign in with your password, remove the passkey, and add a new one"))
	}
	if err != nil {
		return fmt.Errorf("sign in: %w", err)
	}
	return nil
}

// credential is a kept passkey as package passkey has it.
func credential(k store.Passkey) passkey.Credential {
	return passkey.Credential{
		ID: k.Credential, PublicKey: k.PublicKey, Signatures: k.Signatures, Transports: k.Transports, Eligible: k.Eligible, BackedUp: k.BackedUp,
	}
}

// AskForNewPasskey returns what a browser is to ask for, as passkey.Party.Creation says, so that the user who is signed in there gets a
// passkey of a name. A browser that is not Recent, a user who has MaxPasskeys, and a name that is taken or cannot be, are fault.Invalid: what
// is refused afterwards stays in the authenticator, and is good for nothing.
func (s *Service) AskForNewPasskey(ctx context.Context, b store.Browser, u store.User, name string) ([]byte, error) {
	if err := s.mayAdd(b, u); err != nil {
		return nil, err
	}
	there, err := s.Passkeys(ctx, u)
	if err != nil {
		return nil, err
	}
	if len(there) >= MaxPasskeys {
		return nil, errFull(nil)
	}
	if _, err := freeName(there, "", name); err != nil {
		return nil, err
	}
	known := make([]passkey.Credential, len(there))
	for i, k := range there {
		known[i] = credential(k)
	}
	text, err := s.challenge(ctx, b.Hash)
	if err != nil {
		return nil, err
	}
	return s.Party.Creation(passkey.User{ID: u.ID, Name: u.Name}, text, known) //nolint:wrapcheck // it says what it is
}

func (s *Service) mayAdd(b store.Browser, u store.User) error {
	if !s.HasPasskeys() {
		return errNoPasskeys()
	}
	if !s.MayHavePasskeys(u) {
		return fault.New(fault.Invalid, nil, "passkeys are for accounts with a password: you sign in through a provider")
	}
	if !s.Recent(b) {
		return fault.New(fault.Invalid, nil, fmt.Sprintf("you have signed in more than %d minutes ago: sign in again to add a passkey", RecentTime/time.Minute))
	}
	return nil
}

func errFull(err error) error {
	return fault.New(fault.Invalid, err, fmt.Sprintf("you have %d passkeys already: remove one that you do not need", MaxPasskeys))
}

// A NewPasskey is what a browser that was asked by AskForNewPasskey has answered.
type NewPasskey struct {
	Browser store.Browser
	User    store.User
	Name    string // for the user, unique among the user's
	Answer  []byte
	Address string
}

// AddPasskey adds the passkey. An answer that does not hold, a name that is taken or cannot be, and a passkey that is there already are
// fault.Invalid.
func (s *Service) AddPasskey(ctx context.Context, n NewPasskey) error {
	if err := s.mayAdd(n.Browser, n.User); err != nil {
		return err
	}
	text, err := s.asked(ctx, n.Browser.Hash)
	if err != nil {
		return err
	}
	there, err := s.Passkeys(ctx, n.User)
	if err != nil {
		return err
	}
	name, err := freeName(there, "", n.Name)
	if err != nil {
		return err
	}
	c, err := s.Party.Created(passkey.User{ID: n.User.ID, Name: n.User.Name}, text, n.Answer)
	if err != nil {
		s.Log.DebugContext(ctx, "a new passkey is refused", "error", err)
		return err //nolint:wrapcheck // it says what it is
	}
	err = s.Store.AddPasskey(ctx, store.Passkey{
		ID: strings.ToLower(rand.Text()), Subject: n.User.ID, Credential: c.ID, PublicKey: c.PublicKey, Signatures: c.Signatures, Transports: c.Transports,
		Eligible: c.Eligible, BackedUp: c.BackedUp, Name: name, Created: s.Now(),
	}, MaxPasskeys)
	switch {
	case errors.Is(err, store.ErrExists):
		return fault.New(fault.Invalid, err, "this passkey is here already")
	case errors.Is(err, store.ErrFull):
		return errFull(err)
	case err != nil:
		return fmt.Errorf("add a passkey: %w", err)
	}
	s.Record.Record(ctx, EventPasskeyAdded, n.User.ID, n.Address, n.User.Name+"/"+name)
	return nil
}

// freeName returns how the name of a passkey is kept, if no other one of the user's has it than the one of an id.
func freeName(all []store.Passkey, id, name string) (string, error) {
	name = strings.TrimSpace(name)
	if !canName(name) {
		return "", fault.New(fault.Invalid, nil, fmt.Sprintf("the name of a passkey must be printable text of 1 to %d bytes", maxNameBytes))
	}
	for _, k := range all {
		if k.Name == name && k.ID != id {
			return "", fault.New(fault.Invalid, nil, "you have a passkey of that name already: choose another name")
		}
	}
	return name, nil
}

// Passkeys returns those of a user, the oldest first.
func (s *Service) Passkeys(ctx context.Context, u store.User) ([]store.Passkey, error) {
	return s.Store.Passkeys(ctx, u.ID) //nolint:wrapcheck // it says what it is
}

// CountPasskeys returns how many passkeys each user has who has any, by the id of the user.
func (s *Service) CountPasskeys(ctx context.Context) (map[string]int, error) {
	return s.Store.CountPasskeys(ctx) //nolint:wrapcheck // it says what it is
}

// RenamePasskey gives a passkey of a user another name. One that is not the user's is fault.NotFound, a name that is taken or
// cannot be fault.Invalid.
func (s *Service) RenamePasskey(ctx context.Context, id, name string, u store.User, address string) error {
	all, err := s.Passkeys(ctx, u)
	if err != nil {
		return err
	}
	if name, err = freeName(all, id, name); err != nil {
		return err
	}
	if err := s.Store.RenamePasskey(ctx, id, u.ID, name); err != nil {
		return gone("rename a passkey", err)
	}
	s.Record.Record(ctx, EventPasskeyRenamed, u.ID, address, u.Name+"/"+name)
	return nil
}

// RemovePasskey lets nobody sign in with a passkey of a user any more; browsers that have done so stay signed in. One that is not the
// user's is fault.NotFound. Without an address it is the operator who removes it.
func (s *Service) RemovePasskey(ctx context.Context, id string, u store.User, address string) error {
	all, err := s.Passkeys(ctx, u)
	if err != nil {
		return err
	}
	name := ""
	for _, k := range all {
		if k.ID == id {
			name = k.Name
		}
	}
	if err := s.Store.RemovePasskey(ctx, id, u.ID); err != nil {
		return gone("remove a passkey", err)
	}
	s.Record.Record(ctx, EventPasskeyRemoved, u.ID, address, u.Name+"/"+name)
	return nil
}

func gone(what string, err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return fault.New(fault.NotFound, err, "this passkey is not there any more")
	}
	return fmt.Errorf("%s: %w", what, err)
}
