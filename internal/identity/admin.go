package identity

import (
	"context"
	"errors"
	"fmt"

	"runpython/internal/fault"
	"runpython/internal/store"
)

// An Admin is an administrator who does something to somebody else from a browser. The log tells that it was the administrator.
type Admin struct {
	User    store.User
	Address string
}

// UserByID returns a user; an unknown one is fault.NotFound.
func (s *Service) UserByID(ctx context.Context, id string) (store.User, error) {
	u, err := s.Store.User(ctx, id)
	if errors.Is(err, store.ErrNotFound) {
		return u, fault.New(fault.NotFound, err, "there is no such user any more")
	}
	if err != nil {
		return u, fmt.Errorf("find a user: %w", err)
	}
	return u, nil
}

// DisableBy is SetDisabled, done by an administrator to the user of an id. Oneself is fault.Invalid: nobody might be left to undo it.
func (s *Service) DisableBy(ctx context.Context, by Admin, id string, disabled bool) error {
	if id == by.User.ID {
		return fault.New(fault.Invalid, nil, "this is your own account: another administrator, or `runpython user disable`, can do that")
	}
	u, err := s.UserByID(ctx, id)
	if err != nil {
		return err
	}
	return s.setDisabled(ctx, u, disabled, func(event string) { s.Record.Record(ctx, event, by.User.ID, by.Address, u.Name) })
}

// RevokeBy is Revoke, done by an administrator to the user of an id.
func (s *Service) RevokeBy(ctx context.Context, by Admin, grant, id string) error {
	u, err := s.UserByID(ctx, id)
	if err != nil {
		return err
	}
	return s.revoke(ctx, grant, u, func() { s.Record.Record(ctx, EventRevoked, by.User.ID, by.Address, u.Name+"/"+grant) })
}
