package database

import (
	"context"
	"database/sql"
	"time"

	"runpython/internal/store"
)

func scanClient(r row) (c store.Client, err error) {
	var created, used int64
	var secret []byte
	err = r.Scan(&c.ID, &c.Metadata, &secret, &c.Manual, &created, &used)
	c.Created, c.Used = fromNanoseconds(created), fromNanoseconds(used)
	if len(secret) > 0 {
		c.Secret = secret
	}
	return c, err //nolint:wrapcheck // who asked does
}

const clientColumns = `id, metadata, secret, manual = 1, created, used`

// AddClient registers a client. Where there are as many as most, the oldest makes room that has never been used, or else the one
// used longest ago to which nobody allows anything any more, unless the operator has registered it. When there is none, it is store.ErrFull.
func (s *Store) AddClient(ctx context.Context, c store.Client, most int) error {
	return s.change(ctx, "register a client", func(tx *sql.Tx) error {
		var count int
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM clients`).Scan(&count); err != nil {
			return err //nolint:wrapcheck // change does
		}
		if count >= most {
			room, err := affected(tx.ExecContext(ctx, `DELETE FROM clients WHERE id IN
				(SELECT id FROM clients WHERE manual = 0 AND (used = 0 OR NOT EXISTS (SELECT 1 FROM grants WHERE client = clients.id))
				ORDER BY used, created, id LIMIT $1)`, count-most+1))
			if err != nil {
				return err
			}
			if !room {
				return store.ErrFull
			}
		}
		secret := []byte(c.Secret)
		if secret == nil {
			secret = []byte{}
		}
		_, err := tx.ExecContext(ctx, `INSERT INTO clients (id, metadata, secret, manual, created, used) VALUES ($1, $2, $3, $4, $5, $6)`,
			c.ID, c.Metadata, secret, number(c.Manual), nanoseconds(c.Created), nanoseconds(c.Used))
		return err //nolint:wrapcheck // change does
	})
}

// Client returns the client with an id.
func (s *Store) Client(ctx context.Context, id string) (store.Client, error) {
	return first(ctx, s, question{"find a client", `SELECT ` + clientColumns + ` FROM clients WHERE id = $1`, []any{id}}, scanClient)
}

// Clients returns those that the operator has registered, the oldest first.
func (s *Store) Clients(ctx context.Context) ([]store.Client, error) {
	return query(ctx, s, question{"list the clients", `SELECT ` + clientColumns + ` FROM clients WHERE manual = 1 ORDER BY created, id`, nil}, scanClient)
}

// RemoveClient removes a client with all that was allowed to it.
func (s *Store) RemoveClient(ctx context.Context, id string) error {
	return s.change(ctx, "remove a client", func(tx *sql.Tx) error {
		there, err := affected(tx.ExecContext(ctx, `DELETE FROM clients WHERE id = $1`, id))
		if err != nil {
			return err
		}
		if !there {
			return store.ErrNotFound
		}
		return each(ctx, tx, []string{`DELETE FROM grants WHERE client = $1`}, id)
	})
}

// KeepAssertion remembers until expires by what a client has proved who it is. What is remembered already is store.ErrExists;
// beside as many as most that have not expired it is store.ErrFull.
func (s *Store) KeepAssertion(ctx context.Context, hash store.Digest, expires, now time.Time, most int) error {
	return s.change(ctx, "remember the assertion of a client", func(tx *sql.Tx) error {
		if err := each(ctx, tx, []string{`DELETE FROM assertions WHERE expires <= $1`}, nanoseconds(now)); err != nil {
			return err
		}
		var count int
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM assertions`).Scan(&count); err != nil {
			return err //nolint:wrapcheck // change does
		}
		if count >= most {
			return store.ErrFull
		}
		fresh, err := affected(tx.ExecContext(ctx, `INSERT INTO assertions (hash, expires) VALUES ($1, $2) ON CONFLICT DO NOTHING`, []byte(hash), nanoseconds(expires)))
		if err == nil && !fresh {
			err = store.ErrExists
		}
		return err
	})
}
