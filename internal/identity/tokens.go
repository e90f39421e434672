package identity

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"runpython/internal/fault"
	"runpython/internal/secret"
	"runpython/internal/store"
)

const (
	// TokenMost is the longest time for which a token for a machine is good.
	TokenMost = 5 * 365 * 24 * time.Hour
	// maxTokens is how many a user may have.
	maxTokens = 100
)

// A NewToken is a token for a machine that is to be made.
type NewToken struct {
	Name    string // unique among the user's
	User    string // the name of the user
	Scopes  string // separated by spaces
	Expires time.Duration
}

// CreateToken makes a token with which a machine acts for a user, and returns it; nobody can see it later. It is good for whatever
// this server is called. An unknown user is fault.NotFound, a name that is taken fault.Invalid.
func (s *Service) CreateToken(ctx context.Context, n NewToken) (string, error) {
	if !canName(n.Name) {
		return "", fault.New(fault.Invalid, nil, fmt.Sprintf("the name of a token must be printable text of 1 to %d bytes", maxNameBytes))
	}
	if n.Expires <= 0 || n.Expires > TokenMost {
		return "", fault.New(fault.Invalid, nil, "a token is good for at most five years")
	}
	u, err := s.Named(ctx, n.User)
	if err != nil {
		return "", err
	}
	if u.Disabled {
		return "", fault.New(fault.Invalid, nil, "the user "+u.Name+" is disabled")
	}
	there, err := s.machineGrants(ctx, u)
	if err != nil {
		return "", err
	}
	there = slices.DeleteFunc(there, func(g store.Grant) bool { return !s.Now().Before(g.Expires) }) // until it is swept
	for _, g := range there {
		if g.Name == n.Name {
			return "", fault.New(fault.Invalid, nil, fmt.Sprintf("the user %s has a token %q already: revoke it, or choose another name", u.Name, n.Name))
		}
	}
	if len(there) >= maxTokens {
		return "", fault.New(fault.Busy, nil, fmt.Sprintf("the user %s has %d tokens already: revoke some", u.Name, maxTokens))
	}
	token, now := secret.New(secret.Machine), s.Now()
	ends := now.Add(n.Expires)
	err = s.Store.AddGrant(ctx, store.Issued{
		Grant:  store.Grant{ID: strings.ToLower(rand.Text()), Subject: u.ID, Name: n.Name, Scopes: n.Scopes, Created: now, Used: now, Expires: ends},
		Tokens: []store.Token{{Hash: secret.Digest(token), Kind: store.AccessToken, Scopes: n.Scopes, Created: now, Expires: ends}},
	})
	if err != nil {
		return "", fmt.Errorf("make a token: %w", err)
	}
	s.Record.Record(ctx, EventTokenMade, u.ID, "", u.Name+"/"+n.Name)
	return token, nil
}

// canName reports whether a text may name what belongs to a user.
func canName(text string) bool {
	return text != "" && len(text) <= maxNameBytes && utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// A MachineToken is what is known of a token for a machine.
type MachineToken struct {
	store.Grant
	User string // the name of the user
}

// Tokens returns all tokens for machines, sorted by user.
func (s *Service) Tokens(ctx context.Context) ([]MachineToken, error) {
	users, err := s.Users(ctx)
	if err != nil {
		return nil, err
	}
	var all []MachineToken
	for _, u := range users {
		grants, err := s.machineGrants(ctx, u)
		if err != nil {
			return nil, err
		}
		for _, g := range grants {
			all = append(all, MachineToken{Grant: g, User: u.Name})
		}
	}
	return all, nil
}

func (s *Service) machineGrants(ctx context.Context, u store.User) ([]store.Grant, error) {
	grants, err := s.Grants(ctx, u)
	var all []store.Grant
	for _, g := range grants {
		if g.Client == "" {
			all = append(all, g)
		}
	}
	return all, err
}

// RevokeToken ends a token for a machine, of the user of a name. An unknown one is fault.NotFound.
func (s *Service) RevokeToken(ctx context.Context, name, user string) error {
	u, err := s.Named(ctx, user)
	if err != nil {
		return err
	}
	grants, err := s.machineGrants(ctx, u)
	if err != nil {
		return err
	}
	found := false
	for _, g := range grants {
		if g.Name == name {
			found = true
			if err := s.revoke(ctx, g.ID, u, func() { s.Record.Record(ctx, EventRevoked, u.ID, "", u.Name+"/"+name) }); err != nil {
				return err
			}
		}
	}
	if !found {
		return fault.New(fault.NotFound, nil, fmt.Sprintf("the user %s has no token of that name: `runpython token list` shows those that are there", u.Name))
	}
	return nil
}

// Grants returns what a user has allowed, and the user's tokens for machines, the oldest first.
func (s *Service) Grants(ctx context.Context, u store.User) ([]store.Grant, error) {
	return s.Store.GrantsOf(ctx, u.ID) //nolint:wrapcheck // it says what it is
}

// Revoke ends something that a user has allowed, with all its tokens. What is not the user's is fault.NotFound.
func (s *Service) Revoke(ctx context.Context, id string, u store.User, address string) error {
	return s.revoke(ctx, id, u, func() { s.Record.Record(ctx, EventRevoked, u.ID, address, id) })
}

// revoke is Revoke, which tells of it by done.
func (s *Service) revoke(ctx context.Context, id string, u store.User, done func()) error {
	err := s.Store.RemoveGrant(ctx, id, u.ID)
	if errors.Is(err, store.ErrNotFound) {
		return fault.New(fault.NotFound, err, "this is not connected any more")
	}
	if err != nil {
		return fmt.Errorf("revoke: %w", err)
	}
	done()
	return nil
}
