package identity

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"runpython/internal/fault"
	"runpython/internal/secret"
	"runpython/internal/store"
)

// maxNameBytes bounds the name of a user, and of what belongs to one.
const maxNameBytes = 64

// account returns how the name of a user is kept, and whether it is one: letters of ASCII, which have no case,
// digits and . _ @ + - in the middle, so that no two look alike. Spaces around it, which phones add, do not count.
func account(name string) (string, bool) {
	name = strings.ToLower(strings.TrimSpace(name))
	ok := name != "" && len(name) <= maxNameBytes && strings.Trim(name, "._@+-") == name
	for _, r := range name {
		ok = ok && (r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || strings.ContainsRune("._@+-", r))
	}
	return name, ok
}

// AddUser adds an account. A name that cannot be or is taken, and a password that is too weak, are fault.Invalid.
func (s *Service) AddUser(ctx context.Context, name, password string, admin bool) (store.User, error) {
	return s.addUser(ctx, name, password, admin, maxUsers)
}

func (s *Service) addUser(ctx context.Context, name, password string, admin bool, most int) (store.User, error) {
	kept, ok := account(name)
	if !ok {
		return store.User{}, fault.New(fault.Invalid, nil, fmt.Sprintf("the name must have 1 to %d letters a-z, digits and, between them, . _ @ + -", maxNameBytes))
	}
	if err := checkPassword(password, kept); err != nil {
		return store.User{}, err
	}
	hashed, err := s.hash(ctx, password)
	if err != nil {
		return store.User{}, err
	}
	u := store.User{ID: strings.ToLower(rand.Text()), Name: kept, Password: hashed, Admin: admin, Created: s.Now()}
	switch err := s.Store.AddUser(ctx, u, most); {
	case errors.Is(err, store.ErrExists):
		return store.User{}, fault.New(fault.Invalid, err, "there is a user "+kept+" already")
	case errors.Is(err, store.ErrFull):
		return store.User{}, fault.New(fault.Busy, err, "there are too many users already")
	case err != nil:
		return store.User{}, fmt.Errorf("add a user: %w", err)
	}
	s.Record.Record(ctx, EventUserAdded, u.ID, "", u.Name)
	return u, nil
}

// Named returns the user with a name; an unknown one is fault.NotFound.
func (s *Service) Named(ctx context.Context, name string) (store.User, error) {
	kept, ok := account(name)
	u, err := store.User{}, store.ErrNotFound
	if ok {
		u, err = s.Store.UserNamed(ctx, kept)
	}
	if errors.Is(err, store.ErrNotFound) {
		return u, fault.New(fault.NotFound, err, "there is no user of that name: `runpython user list` shows those that are there")
	}
	if err != nil {
		return u, fmt.Errorf("find a user: %w", err)
	}
	return u, nil
}

// Users returns all accounts, sorted by name.
func (s *Service) Users(ctx context.Context) ([]store.User, error) {
	return s.Store.Users(ctx) //nolint:wrapcheck // it says what it is
}

// SetPassword gives a user another password, and signs all browsers of the user out.
func (s *Service) SetPassword(ctx context.Context, name, password string) error {
	u, err := s.Named(ctx, name)
	if err != nil {
		return err
	}
	if err := checkPassword(password, u.Name); err != nil {
		return err
	}
	hashed, err := s.hash(ctx, password)
	if err != nil {
		return err
	}
	if err := s.Store.SetPassword(ctx, u.ID, hashed); err != nil {
		return fmt.Errorf("change a password: %w", err)
	}
	s.Record.Record(ctx, EventPassword, u.ID, "", u.Name)
	return nil
}

// SetDisabled ends all that a user is signed in to and has allowed, and lets the user not sign in any more; or lets the user
// sign in again.
func (s *Service) SetDisabled(ctx context.Context, name string, disabled bool) error {
	u, err := s.Named(ctx, name)
	if err != nil {
		return err
	}
	return s.setDisabled(ctx, u, disabled, func(event string) { s.Record.Record(ctx, event, u.ID, "", u.Name) })
}

// setDisabled is SetDisabled, which tells of it by done.
func (s *Service) setDisabled(ctx context.Context, u store.User, disabled bool, done func(event string)) error {
	if err := s.Store.SetDisabled(ctx, u.ID, disabled); err != nil {
		return fmt.Errorf("disable a user: %w", err)
	}
	if disabled {
		done(EventUserDisabled)
		return nil
	}
	done(EventUserEnabled)
	return nil
}

// RemoveUser removes an account. Its chats belong to nobody then, and a new account of the same name does not get them.
func (s *Service) RemoveUser(ctx context.Context, name string) error {
	u, err := s.Named(ctx, name)
	if err != nil {
		return err
	}
	if err := s.Store.RemoveUser(ctx, u.ID); err != nil {
		return fmt.Errorf("remove a user: %w", err)
	}
	s.Record.Record(ctx, EventUserRemoved, u.ID, "", u.Name)
	return nil
}

// setupTime is how long a link to set up the first account is good.
const setupTime = time.Hour

// setup is the secret of the link by which the first account is made, as long as there is none.
type setup struct {
	finishing sync.Mutex // held while the account is made, so that a link makes one; taken before mu

	mu    sync.Mutex
	hash  store.Digest // empty for none
	until time.Time
}

// BeginSetup returns the secret of a link to make the first account with, "" when there is an account or nobody could sign in
// to it with a password. It is good once, for an hour, in this process.
func (s *Service) BeginSetup(ctx context.Context) (string, error) {
	if s.ProviderOnly {
		return "", nil
	}
	users, err := s.Users(ctx)
	if err != nil || len(users) > 0 {
		return "", err
	}
	link := secret.New(secret.Setup)
	s.setup.mu.Lock()
	defer s.setup.mu.Unlock()
	s.setup.hash, s.setup.until = secret.Digest(link), s.Now().Add(setupTime)
	return link, nil
}

// CanSetup reports whether a secret is that of BeginSetup, and still good.
func (s *Service) CanSetup(link string) bool {
	s.setup.mu.Lock()
	defer s.setup.mu.Unlock()
	return secret.Matches(link, s.setup.hash) && s.Now().Before(s.setup.until)
}

// FinishSetup makes the first account, an administrator's. A secret that is not good any more is fault.NotFound; with a
// name or password that cannot be, and while the server is busy, it stays good.
func (s *Service) FinishSetup(ctx context.Context, link, name, password string) (store.User, error) {
	s.setup.finishing.Lock()
	defer s.setup.finishing.Unlock()
	if !s.CanSetup(link) {
		return store.User{}, fault.New(fault.NotFound, nil, "this link is not good any more: add users with `runpython user add NAME`")
	}
	u, err := s.addUser(ctx, name, password, true, 1) // of two at once, the second finds the table full
	taken := errors.Is(err, store.ErrFull)
	if err != nil && !taken { // also when the server is busy, or the database locked
		return store.User{}, err
	}
	s.setup.mu.Lock()
	defer s.setup.mu.Unlock()
	s.setup.hash = nil
	if taken {
		return store.User{}, fault.New(fault.NotFound, err, "there is an account already: sign in with it, or add users with `runpython user add NAME`")
	}
	return u, nil
}
