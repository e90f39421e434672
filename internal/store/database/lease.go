package database

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"runpython/internal/store"
)

// Take gives a chat to this process, with the record that the one before it has left. A chat of another
// process that lives is store.ErrHeld; [Store.Ask] asks for it. Who takes a chat that it has already gets a new
// lease, and the old one is over.
func (s *Store) Take(ctx context.Context, id string) (lease store.Lease, c store.Chat, err error) {
	lease.Chat = id
	held := false // which is no reason to undo that its process is suspected
	err = s.asProcess(ctx, "take a chat", func(tx *sql.Tx, process string) error {
		if err := s.endHolder(ctx, tx, id, process); err != nil {
			return err
		}
		var err error
		c, err = scanChat(tx.QueryRowContext(ctx, `UPDATE chats SET holder = $2, fence = fence + 1, wanted = 0
			WHERE id = $1 AND (holder IS NULL OR holder = $2) RETURNING `+chatColumns, id, process))
		if held = errors.Is(err, sql.ErrNoRows); held {
			return nil
		}
		if err != nil {
			return err
		}
		return tx.QueryRowContext(ctx, `SELECT fence FROM chats WHERE id = $1`, id).Scan(&lease.Fence) //nolint:wrapcheck // change does
	})
	if err == nil && held {
		err = s.explain("take a chat", store.ErrHeld)
	}
	return lease, c, err
}

// Ask notes for the process that has a chat that another one wants it.
func (s *Store) Ask(ctx context.Context, id string) error {
	return s.change(ctx, "ask for a chat", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE chats SET wanted = 1 WHERE id = $1 AND wanted = 0 AND holder IS NOT NULL`, id)
		return err //nolint:wrapcheck // change does
	})
}

// Release lets go of a chat. loss is why its variables will not be there for the next one who takes it. A lease that
// is over already is no error.
func (s *Store) Release(ctx context.Context, l store.Lease, loss string) error {
	return s.change(ctx, "let go of a chat", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE chats SET holder = NULL, wanted = 0, loss = $3 WHERE id = $1 AND fence = $2`, l.Chat, l.Fence, loss)
		return err //nolint:wrapcheck // change does
	})
}

// Check reports whether a lease is the latest of its chat: nil, store.ErrLost or store.ErrNotFound.
func (s *Store) Check(ctx context.Context, l store.Lease) error {
	fence, err := first(ctx, s, question{"look who has a chat", `SELECT fence FROM chats WHERE id = $1`, []any{l.Chat}}, scanFence)
	if err == nil && fence != l.Fence {
		return s.explain("look who has a chat", store.ErrLost)
	}
	return err
}

// Wrote returns the fence of the lease with which something of a chat was written last. Taking a chat and letting go of
// it writes nothing of it.
func (s *Store) Wrote(ctx context.Context, id string) (fence int64, err error) {
	return first(ctx, s, question{"look who has written to a chat", `SELECT wrote FROM chats WHERE id = $1`, []any{id}}, scanFence)
}

func scanFence(r row) (fence int64, err error) {
	err = r.Scan(&fence)
	return fence, err //nolint:wrapcheck // first does
}

// Beat says that this process lives, if it is time to, and returns the chats that it has. It is to be called at least
// every second. A chat that is not among them was taken: its interpreter must end.
func (s *Store) Beat(ctx context.Context) ([]store.Held, error) {
	s.mu.Lock()
	process, renewed := s.process, s.renewed
	s.mu.Unlock()
	if process == "" {
		return nil, nil
	}
	held, err := query(ctx, s, question{
		"look after the chats", `SELECT id, fence, wanted = 1 FROM chats WHERE holder = $1 ORDER BY id`, []any{process},
	}, func(r row) (h store.Held, err error) {
		err = r.Scan(&h.Chat, &h.Fence, &h.Wanted)
		return h, err //nolint:wrapcheck // query does
	})
	if err != nil || len(held) == 0 || time.Since(renewed) < renewEvery {
		return held, err
	}
	err = s.change(ctx, "look after the chats", func(tx *sql.Tx) error {
		era, now, err := s.dialect.Clock(ctx, tx)
		if err != nil {
			return err
		}
		return s.renew(ctx, tx, process, instant{era, now})
	})
	if errors.Is(err, errForgotten) {
		return nil, nil
	}
	return held, err
}

// writeTo changes something of a chat that this process has.
func (s *Store) writeTo(ctx context.Context, what string, l store.Lease, do func(tx *sql.Tx) error) error {
	return s.change(ctx, what, func(tx *sql.Tx) error {
		// The row stays locked until the end, so nobody takes the chat in between.
		ours, err := affected(tx.ExecContext(ctx, `UPDATE chats SET wrote = fence WHERE id = $1 AND fence = $2`, l.Chat, l.Fence))
		if err != nil {
			return err
		}
		if !ours {
			return whyNot(ctx, tx, l.Chat)
		}
		return do(tx)
	})
}

// whyNot tells a chat that another process has taken from one that is gone.
func whyNot(ctx context.Context, tx *sql.Tx, id string) error {
	var fence int64
	err := tx.QueryRowContext(ctx, `SELECT fence FROM chats WHERE id = $1`, id).Scan(&fence)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return store.ErrNotFound
	case err != nil:
		return err //nolint:wrapcheck // change does
	}
	return store.ErrLost
}
