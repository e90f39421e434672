package identity

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"runpython/internal/fault"
	"runpython/internal/provider"
	"runpython/internal/secret"
	"runpython/internal/store"
)

const (
	// departureTime is how long a person may take at the provider, departuresOfBrowser how many sign-ins of one browser are
	// under way, maxDepartures how many of all: anybody can begin one.
	departureTime       = 10 * time.Minute
	departuresOfBrowser = 5
	maxDepartures       = 20_000
	// maxIdentities is who one user may be at providers.
	maxIdentities = 20
	// maxIssuerBytes and maxExternalBytes bound what a user is linked to.
	maxIssuerBytes   = 2048
	maxExternalBytes = 255
	// triesOfName is how many names are tried for a new account.
	triesOfName = 12
)

// departure is a sign-in that is under way at the provider, as it is kept.
type departure struct {
	Attempt provider.Attempt `json:"attempt"`
	Next    string           `json:"next"` // where the person goes then
}

// BeginAtProvider returns the URL of the provider to which a browser has to go. cookie is a secret that the browser has
// although nobody is signed in, address that of the browser.
func (s *Service) BeginAtProvider(ctx context.Context, cookie, next, address string) (to string, err error) {
	if s.Provider == nil {
		return "", fault.New(fault.NotFound, nil, "no provider signs people in here")
	}
	if wait, ok := s.Limit.Allow(EventSignedIn, address); !ok {
		return "", tooMany(wait)
	}
	state := secret.New(secret.SignIn)
	attempt, to, err := s.Provider.Begin(ctx, state)
	if err != nil {
		s.Record.Record(ctx, EventAway, "", address, s.Provider.Issuer)
		return "", err //nolint:wrapcheck // it says what it is
	}
	text, err := json.Marshal(departure{attempt, next})
	if err != nil {
		return "", fmt.Errorf("keep a sign-in: %w", err)
	}
	now := s.Now()
	err = s.Store.AddDeparture(ctx, store.Departure{
		Hash: secret.Digest(state), Browser: secret.Digest(cookie), Attempt: text, Created: now, Expires: now.Add(departureTime),
	}, departuresOfBrowser, maxDepartures)
	return to, err //nolint:wrapcheck // it says what it is
}

// FinishAtProvider returns the cookie of a browser that has come back from the provider, and where its person goes, which is there for
// most errors too. q are the parameters with which it came. A sign-in that did not begin at this browser, is over or was
// finished already is fault.NotFound; whoever is not admitted or disabled is fault.Invalid; a provider that is away fault.Busy.
func (s *Service) FinishAtProvider(ctx context.Context, cookie string, q url.Values, address string) (browser, next string, err error) {
	var d departure
	var text []byte
	err = store.ErrNotFound
	if state := q["state"]; s.Provider != nil && len(state) == 1 && secret.Looks(state[0], secret.SignIn) {
		text, err = s.Store.TakeDeparture(ctx, secret.Digest(state[0]), secret.Digest(cookie), s.Now())
	}
	if errors.Is(err, store.ErrNotFound) {
		return "", "", fault.New(fault.NotFound, err, "this sign-in has ended, took more than ten minutes, or began in another browser: begin again")
	}
	if err != nil {
		return "", "", err //nolint:wrapcheck // it says what it is
	}
	if err := json.Unmarshal(text, &d); err != nil {
		return "", "", fmt.Errorf("read a sign-in: %w", err)
	}
	person, err := s.Provider.Finish(ctx, d.Attempt, q)
	if err != nil {
		event := EventRefused
		if kind, _ := fault.Shown(err); kind == fault.Busy {
			event = EventAway
		}
		s.Record.Record(ctx, event, "", address, s.Provider.Issuer)
		return "", d.Next, err //nolint:wrapcheck // it says what it is
	}
	u, err := s.userOf(ctx, person, address)
	if err != nil {
		return "", d.Next, err
	}
	if u.Disabled {
		s.Record.Record(ctx, EventRefused, u.ID, address, s.Provider.Issuer)
		return "", d.Next, fault.New(fault.Invalid, nil, "the account "+u.Name+" is disabled: ask whoever runs this server")
	}
	browser, err = s.signedIn(ctx, u, address, u.Name)
	return browser, d.Next, err
}

// userOf returns the account of somebody whom the provider has signed in and who is admitted. There is one after the first time.
func (s *Service) userOf(ctx context.Context, p provider.Person, address string) (store.User, error) {
	u, err := s.Store.UserOf(ctx, s.Provider.Issuer, p.External)
	if !errors.Is(err, store.ErrNotFound) {
		return u, err //nolint:wrapcheck // it says what it is
	}
	id, name, now := strings.ToLower(rand.Text()), nameFor(p), s.Now()
	for try := range triesOfName {
		u = store.User{ID: id, Name: another(name, try), Created: now}
		err = s.Store.AddUserOf(ctx, u, store.Identity{Issuer: s.Provider.Issuer, External: p.External, User: id, Created: now}, maxUsers)
		if !errors.Is(err, store.ErrExists) {
			break
		}
		// The name may be somebody else's, who keeps it, or the person has signed in at two browsers at once.
		if known, found := s.Store.UserOf(ctx, s.Provider.Issuer, p.External); !errors.Is(found, store.ErrNotFound) {
			return known, found //nolint:wrapcheck // it says what it is
		}
	}
	if errors.Is(err, store.ErrFull) {
		return store.User{}, fault.New(fault.Busy, err, "there are too many users already: ask whoever runs this server")
	}
	if err != nil {
		return store.User{}, fmt.Errorf("add a user: %w", err)
	}
	s.Record.Record(ctx, EventUserAdded, u.ID, address, u.Name)
	return u, nil
}

// suffixBytes is the room that another needs.
const suffixBytes = 10

// nameFor returns how somebody of the provider may be called. It is for people, and proves nothing.
func nameFor(p provider.Person) string {
	for _, text := range []string{p.Address, p.Name} {
		text = strings.Map(func(r rune) rune {
			if _, ok := account("x" + string(r) + "x"); ok {
				return unicode.ToLower(r)
			}
			return '-'
		}, text)
		if name, ok := account(strings.Trim(text[:min(len(text), maxNameBytes-suffixBytes)], "._@+-")); ok {
			return name
		}
	}
	return "user"
}

// another returns a name for one that others may have, each time another one.
func another(name string, try int) string {
	switch {
	case try == 0:
		return name
	case try < triesOfName/2:
		return name + "-" + strconv.Itoa(try+1)
	}
	return name + "-" + strings.ToLower(rand.Text()[:suffixBytes-2])
}

// Link says who a user is at a provider, so that the user signs in there. What somebody is already is fault.Invalid, and an
// unknown user fault.NotFound.
func (s *Service) Link(ctx context.Context, name, issuer, external string) error {
	u, err := s.Named(ctx, name)
	if err != nil {
		return err
	}
	if external == "" || len(external) > maxExternalBytes || len(issuer) > maxIssuerBytes {
		return fault.New(fault.Invalid, nil, fmt.Sprintf("the subject must have 1 to %d bytes: it is the claim sub of the provider", maxExternalBytes))
	}
	switch err := s.Store.AddIdentity(ctx, store.Identity{Issuer: issuer, External: external, User: u.ID, Created: s.Now()}, maxIdentities); {
	case errors.Is(err, store.ErrExists):
		return fault.New(fault.Invalid, err, "somebody is that already: `runpython user list --json` shows who, and `runpython user unlink` ends it")
	case errors.Is(err, store.ErrFull):
		return fault.New(fault.Busy, err, fmt.Sprintf("the user %s has %d of them already: unlink some", u.Name, maxIdentities))
	case err != nil:
		return fmt.Errorf("link a user: %w", err)
	}
	s.Record.Record(ctx, EventLinked, u.ID, "", u.Name)
	return nil
}

// Unlink takes back what Link has said, or what the first sign-in did. Who is not that is fault.NotFound.
func (s *Service) Unlink(ctx context.Context, name, issuer, external string) error {
	u, err := s.Named(ctx, name)
	if err != nil {
		return err
	}
	err = s.Store.RemoveIdentity(ctx, store.Identity{Issuer: issuer, External: external, User: u.ID})
	if errors.Is(err, store.ErrNotFound) {
		return fault.New(fault.NotFound, err, "the user "+u.Name+" is not that: `runpython user list --json` shows who is")
	}
	if err != nil {
		return fmt.Errorf("unlink a user: %w", err)
	}
	s.Record.Record(ctx, EventUnlinked, u.ID, "", u.Name)
	return nil
}

// Identities returns who all users are at providers, by the ids of the users.
func (s *Service) Identities(ctx context.Context) (map[string][]store.Identity, error) {
	all, err := s.Store.Identities(ctx)
	if err != nil {
		return nil, err //nolint:wrapcheck // it says what it is
	}
	of := make(map[string][]store.Identity)
	for _, i := range all {
		of[i.User] = append(of[i.User], i)
	}
	return of, nil
}
