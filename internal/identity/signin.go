package identity

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"runpython/internal/fault"
	"runpython/internal/secret"
	"runpython/internal/store"
)

// tooMany is why nobody may sign in for a while.
func tooMany(wait time.Duration) error {
	return fault.TryAgainAfter(wait, fmt.Sprintf("too many attempts to sign in came from your address: try again in %d s", fault.Seconds(wait)))
}

// SignIn returns the cookie of a browser whose user has shown a password. address is that of the browser.
func (s *Service) SignIn(ctx context.Context, name, password, address string) (cookie string, u store.User, err error) {
	if s.ProviderOnly {
		return "", u, fault.New(fault.Invalid, nil, "nobody signs in with a password here: sign in with "+s.Provider.Name)
	}
	if wait, ok := s.Limit.Allow(EventSignedIn, address); !ok {
		return "", u, tooMany(wait)
	}
	kept, ok := account(name)
	if !ok {
		kept = noAccount // so that all that is no name counts as one
	}
	if wait := s.attempts.begin(kept, address, s.Now()); wait > 0 {
		return "", u, tooMany(wait)
	}
	if ok {
		u, err = s.Store.UserNamed(ctx, kept)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			s.attempts.takeBack(kept, address)
			return "", u, fmt.Errorf("sign in: %w", err)
		}
	}
	if len(password) > passwordBytes {
		password = ""
	}
	right, err := s.matches(ctx, password, u.Password)
	if err != nil { // nothing was learnt: a crowd that signs in must not make those wait who could not be looked at
		s.attempts.takeBack(kept, address)
		return "", store.User{}, err
	}
	if !right || u.Disabled {
		s.Record.Record(ctx, EventRefused, u.ID, address, "") // what was typed may be a password
		return "", store.User{}, fault.New(fault.Invalid, nil, "the name or the password is wrong")
	}
	s.attempts.forgive(kept, address)
	cookie, err = s.signedIn(ctx, u, address, u.Name)
	return cookie, u, err
}

// SignInFirst returns the cookie of the browser with which an account was just made.
func (s *Service) SignInFirst(ctx context.Context, u store.User, address string) (cookie string, err error) {
	return s.signedIn(ctx, u, address, u.Name)
}

// signedIn signs a browser in, unless the user was disabled, removed or given another password since u was read; about says by what.
func (s *Service) signedIn(ctx context.Context, u store.User, address, about string) (string, error) {
	cookie, now := secret.New(secret.Browser), s.Now()
	b := store.Browser{Hash: secret.Digest(cookie), Subject: u.ID, Created: now, Expires: now.Add(BrowserTime)}
	err := s.Store.AddBrowser(ctx, b, u.Password, maxBrowsers)
	if errors.Is(err, store.ErrNotFound) { // a moment ago: whoever had the old password is not let in by it
		return "", fault.New(fault.Invalid, err, "the account was changed while you signed in: try again")
	}
	if err != nil {
		return "", fmt.Errorf("sign in: %w", err)
	}
	s.Record.Record(ctx, EventSignedIn, u.ID, address, about)
	return cookie, nil
}

// Browser returns who is signed in with a cookie; an unknown one, and one whose time is over, is fault.NotFound.
func (s *Service) Browser(ctx context.Context, cookie string) (store.Browser, store.User, error) {
	b, u, err := store.Browser{}, store.User{}, store.ErrNotFound
	if secret.Looks(cookie, secret.Browser) {
		b, u, err = s.Store.Browser(ctx, secret.Digest(cookie), s.Now())
	}
	if errors.Is(err, store.ErrNotFound) {
		return b, u, fault.New(fault.NotFound, err, "nobody is signed in here")
	}
	if err != nil {
		return b, u, fmt.Errorf("find who is signed in: %w", err)
	}
	return b, u, nil
}

// SignOut signs a browser out.
func (s *Service) SignOut(ctx context.Context, b store.Browser, address string) error {
	if err := s.Store.RemoveBrowser(ctx, b.Hash); err != nil {
		return fmt.Errorf("sign out: %w", err)
	}
	s.Record.Record(ctx, EventSignedOut, b.Subject, address, "")
	return nil
}

// A Principal is who asks by a bearer token.
type Principal struct {
	Subject string
	Scopes  []string
	Expires time.Time
}

// Bearer returns who the Authorization headers of a request name: nil without an error when there are none. Anything but one
// bearer token that is good for this server (RFC 6750, 2.1) is ErrToken.
func (s *Service) Bearer(ctx context.Context, headers []string) (*Principal, error) {
	if len(headers) == 0 {
		return nil, nil //nolint:nilnil // nobody, and nothing is wrong
	}
	token, ok := bearerToken(headers)
	if !ok {
		return nil, ErrToken
	}
	now := s.Now()
	b, err := s.Store.Bearer(ctx, secret.Digest(token), now)
	if errors.Is(err, store.ErrNotFound) {
		return nil, ErrToken
	}
	if err != nil {
		return nil, fmt.Errorf("check a bearer token: %w", err)
	}
	if b.Grant.Resource != "" && b.Grant.Resource != s.Resource {
		return nil, ErrToken
	}
	if now.Sub(b.Grant.Used) >= usedEvery {
		if err := s.Store.TouchGrant(ctx, b.Grant.ID, now); err != nil {
			s.Log.WarnContext(ctx, "note the use of a token", "error", err) // it is good all the same
		}
	}
	return &Principal{Subject: b.User.ID, Scopes: strings.Fields(b.Token.Scopes), Expires: b.Token.Expires}, nil
}

// Challenge returns the header WWW-Authenticate of an answer that asks for a bearer token (RFC 6750, 3; RFC 9728, 5.1): with which scope,
// and at which URL the metadata of the resource is. code says what is wrong with the token that was there, "" when there was none, and why
// the same in words without quotes.
func Challenge(scope, metadata, code, why string) string {
	parts := []string{`Bearer realm="runpython"`}
	if code != "" {
		parts = append(parts, `error="`+code+`"`, `error_description="`+why+`"`)
	}
	return strings.Join(append(parts, `scope="`+scope+`"`, `resource_metadata="`+metadata+`"`), ", ")
}

// bearerToken returns the token of Authorization headers, if that is what they are.
func bearerToken(headers []string) (string, bool) {
	if len(headers) != 1 {
		return "", false
	}
	scheme, token, _ := strings.Cut(headers[0], " ")
	token = strings.Trim(token, " ")
	return token, strings.EqualFold(scheme, "Bearer") && (secret.Looks(token, secret.Access) || secret.Looks(token, secret.Machine))
}
