package database

import (
	"context"
	"database/sql"
	"time"

	"runpython/internal/store"
)

// AddUserOf adds a user together with who the user is at a provider, or neither: as AddUser does, and store.ErrExists
// also when somebody is that already.
func (s *Store) AddUserOf(ctx context.Context, u store.User, i store.Identity, most int) error {
	return s.change(ctx, "add a user", func(tx *sql.Tx) error {
		if err := addUser(ctx, tx, u, most); err != nil {
			return err
		}
		return addIdentity(ctx, tx, i)
	})
}

// AddIdentity says who a user is at a provider. It is store.ErrExists when somebody is that already, store.ErrNotFound when there
// is no such user, and store.ErrFull when the user has as many as most.
func (s *Store) AddIdentity(ctx context.Context, i store.Identity, most int) error {
	return s.change(ctx, "link a user", func(tx *sql.Tx) error {
		var there bool
		var count int
		err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM users WHERE id = $1), (SELECT COUNT(*) FROM identities WHERE user_id = $1)`, i.User).Scan(&there, &count)
		switch {
		case err != nil:
			return err //nolint:wrapcheck // change does
		case !there:
			return store.ErrNotFound
		case count >= most:
			return store.ErrFull
		}
		return addIdentity(ctx, tx, i)
	})
}

func addIdentity(ctx context.Context, tx *sql.Tx, i store.Identity) error {
	added, err := affected(tx.ExecContext(ctx, `INSERT INTO identities (issuer, external, user_id, created) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`,
		i.Issuer, i.External, i.User, nanoseconds(i.Created)))
	if err == nil && !added {
		return store.ErrExists
	}
	return err
}

// RemoveIdentity forgets who a user is at a provider, and signs the user out of all browsers. What the user is not is store.ErrNotFound.
func (s *Store) RemoveIdentity(ctx context.Context, i store.Identity) error {
	return s.change(ctx, "unlink a user", func(tx *sql.Tx) error {
		removed, err := affected(tx.ExecContext(ctx, `DELETE FROM identities WHERE issuer = $1 AND external = $2 AND user_id = $3`, i.Issuer, i.External, i.User))
		if err != nil {
			return err
		}
		if !removed {
			return store.ErrNotFound
		}
		return each(ctx, tx, []string{`DELETE FROM browsers WHERE subject = $1`}, i.User)
	})
}

// UserOf returns who somebody of a provider is here, also when the user is disabled.
func (s *Store) UserOf(ctx context.Context, issuer, external string) (store.User, error) {
	return first(ctx, s, question{
		"find a user", `SELECT ` + userColumns + ` FROM identities JOIN users ON users.id = user_id WHERE issuer = $1 AND external = $2`, []any{issuer, external},
	}, scanUser)
}

// Identities returns who all users are at providers, sorted.
func (s *Store) Identities(ctx context.Context) ([]store.Identity, error) {
	return query(ctx, s, question{"list who users are at providers", `SELECT issuer, external, user_id, created FROM identities ORDER BY user_id, issuer, external`, nil},
		func(r row) (i store.Identity, err error) {
			var created int64
			err = r.Scan(&i.Issuer, &i.External, &i.User, &created)
			i.Created = fromNanoseconds(created)
			return i, err //nolint:wrapcheck // who asked does
		})
}

// AddDeparture keeps a sign-in until its person comes back. Of those of the browser, the oldest beyond ofBrowser are forgotten, and
// of all, those beyond most.
func (s *Store) AddDeparture(ctx context.Context, d store.Departure, ofBrowser, most int) error {
	return s.change(ctx, "keep a sign-in", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO departures (hash, browser, attempt, created, expires) VALUES ($1, $2, $3, $4, $5)`,
			[]byte(d.Hash), []byte(d.Browser), d.Attempt, nanoseconds(d.Created), nanoseconds(d.Expires))
		if err != nil {
			return err //nolint:wrapcheck // change does
		}
		if err := each(ctx, tx, []string{`DELETE FROM departures WHERE browser = $1 AND hash NOT IN
			(SELECT hash FROM departures WHERE browser = $1 ORDER BY created DESC, hash LIMIT $2)`}, []byte(d.Browser), ofBrowser); err != nil {
			return err
		}
		var count int
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM departures`).Scan(&count); err != nil || count <= most {
			return err //nolint:wrapcheck // change does
		}
		return each(ctx, tx, []string{`DELETE FROM departures WHERE hash IN (SELECT hash FROM departures ORDER BY created, hash LIMIT $1)`}, count-most)
	})
}

// TakeDeparture returns what is known of a sign-in whose person has come back at the same browser, and forgets it: of many who ask
// for it at once, one gets it. One that is not known or whose time is over is store.ErrNotFound.
func (s *Store) TakeDeparture(ctx context.Context, hash, browser store.Digest, now time.Time) (attempt []byte, err error) {
	return s.take(ctx, "find a sign-in", `DELETE FROM departures WHERE hash = $1 AND browser = $2 AND expires > $3 RETURNING attempt`,
		[]byte(hash), []byte(browser), nanoseconds(now))
}
