package database

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"time"

	"runpython/internal/store"
)

// errForgotten means that others took this process for dead: all its chats are free.
var errForgotten = errors.New("the database does not know this process any more")

// asProcess changes something in the name of this process, which gets one if it has none.
func (s *Store) asProcess(ctx context.Context, what string, do func(tx *sql.Tx, process string) error) error {
	for {
		process, err := s.register(ctx)
		if err != nil {
			return err
		}
		err = s.change(ctx, what, func(tx *sql.Tx) error {
			era, now, err := s.dialect.Clock(ctx, tx)
			if err != nil {
				return err
			}
			if err := s.renew(ctx, tx, process, instant{era, now}); err != nil {
				return err
			}
			return do(tx, process)
		})
		if !errors.Is(err, errForgotten) {
			return err
		}
	}
}

// register returns the name of this process, which it makes known if it has none.
func (s *Store) register(ctx context.Context) (string, error) {
	s.registering.Lock()
	defer s.registering.Unlock()
	s.mu.Lock()
	process, closed := s.process, s.closed
	s.mu.Unlock()
	if process != "" || closed {
		return process, nil
	}
	process = newProcess()
	var announced io.Closer
	if s.dialect.Announce != nil {
		var err error
		if announced, err = s.dialect.Announce(process); err != nil {
			return "", s.explain("announce this process", err)
		}
	}
	begun := time.Now()
	err := s.change(ctx, "announce this process", func(tx *sql.Tx) error {
		era, now, err := s.dialect.Clock(ctx, tx)
		if err != nil {
			return err
		}
		if err := s.removeEnded(ctx, tx, instant{era, now}); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO processes (id, era, expires) VALUES ($1, $2, $3)`, process, era, now+trustTime.Milliseconds())
		return err //nolint:wrapcheck // change does
	})
	if err != nil {
		if announced != nil {
			err = errors.Join(err, announced.Close())
		}
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.process, s.announced, s.renewed = process, announced, begun
	return process, nil
}

// An instant is a time of the clock that processes share.
type instant struct {
	era string
	now int64 // milliseconds
}

// renew says that this process lives. When others took it for dead it gives its name up: errForgotten.
func (s *Store) renew(ctx context.Context, tx *sql.Tx, process string, at instant) error {
	begun := time.Now()
	known, err := affected(tx.ExecContext(ctx, `UPDATE processes SET era = $2, expires = $3, suspected = 0 WHERE id = $1`,
		process, at.era, at.now+trustTime.Milliseconds()))
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.process != process {
		return errClosed(s.closed)
	}
	if known {
		s.renewed = begun
		return nil
	}
	announced := s.announced
	s.process, s.announced = "", nil
	if announced != nil {
		return errors.Join(errForgotten, announced.Close())
	}
	return errForgotten
}

// errClosed tells a store that was closed from a process that has another name by now.
func errClosed(closed bool) error {
	if closed {
		return sql.ErrConnDone
	}
	return errForgotten
}

// endHolder removes the process that has a chat, if it does not live any more; which frees its chats.
func (s *Store) endHolder(ctx context.Context, tx *sql.Tx, id, process string) error {
	var holder sql.NullString
	err := tx.QueryRowContext(ctx, `SELECT holder FROM chats WHERE id = $1`, id).Scan(&holder)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return store.ErrNotFound
	case err != nil:
		return err //nolint:wrapcheck // change does
	case !holder.Valid, holder.String == process:
		return nil
	}
	era, now, err := s.dialect.Clock(ctx, tx)
	if err != nil {
		return err
	}
	return s.removeIfEnded(ctx, tx, holder.String, instant{era, now})
}

// removeEnded removes all processes that do not live any more, of which those without chats are nobody's else to remove.
func (s *Store) removeEnded(ctx context.Context, tx *sql.Tx, at instant) error {
	all, err := rows(ctx, tx, scanText, `SELECT id FROM processes`)
	for _, process := range all {
		err = errors.Join(err, s.removeIfEnded(ctx, tx, process, at))
	}
	return err
}

// removeIfEnded removes a process that does not live any more, or has not said so for too long. One that is found silent
// is suspected first. What is changed here is to be committed, also when the process has its chats still.
func (s *Store) removeIfEnded(ctx context.Context, tx *sql.Tx, process string, at instant) error {
	if s.dialect.Ended != nil && s.dialect.Ended(process) {
		_, err := tx.ExecContext(ctx, `DELETE FROM processes WHERE id = $1`, process)
		return err //nolint:wrapcheck // change does
	}
	// A process that says that it lives at the same time has the row locked; then the conditions are looked at again.
	gone, err := affected(tx.ExecContext(ctx, `DELETE FROM processes WHERE id = $1 AND era = $2 AND expires <= $3 AND suspected = 1`, process, at.era, at.now))
	if err != nil || gone {
		return err
	}
	_, err = tx.ExecContext(ctx, `UPDATE processes SET suspected = CASE WHEN expires <= $3 THEN 1 ELSE suspected END, expires = $4
		WHERE id = $1 AND era = $2 AND (expires <= $3 OR expires > $4)`, process, at.era, at.now, at.now+trustTime.Milliseconds())
	return err //nolint:wrapcheck // change does
}

// affected reports whether a statement has changed a row.
func affected(result sql.Result, err error) (bool, error) {
	if err != nil {
		return false, err
	}
	n, err := result.RowsAffected()
	return n > 0, err //nolint:wrapcheck // change does
}
