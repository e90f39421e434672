package database

import (
	"context"
	"database/sql"
	"time"

	"runpython/internal/store"
)

// AddBrowser notes that a user has signed in, who had a password, hashed, when that was decided. Of those of the user, the oldest beyond
// most are signed out. A user who is disabled or gone, or has another password by now, is store.ErrNotFound.
func (s *Store) AddBrowser(ctx context.Context, b store.Browser, password string, most int) error {
	return s.change(ctx, "sign in", func(tx *sql.Tx) error {
		// Changing the user's row makes this wait for whoever changes the password or disables the user, which signs out only browsers that are there.
		same, err := affected(tx.ExecContext(ctx, `UPDATE users SET disabled = 0 WHERE id = $1 AND disabled = 0 AND password = $2`, b.Subject, password))
		if err != nil {
			return err
		}
		if !same {
			return store.ErrNotFound
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO browsers (hash, subject, created, expires) VALUES ($1, $2, $3, $4)`,
			[]byte(b.Hash), b.Subject, nanoseconds(b.Created), nanoseconds(b.Expires))
		if err != nil {
			return err //nolint:wrapcheck // change does
		}
		return each(ctx, tx, []string{`DELETE FROM browsers WHERE subject = $1 AND hash NOT IN
			(SELECT hash FROM browsers WHERE subject = $1 ORDER BY created DESC, hash LIMIT $2)`}, b.Subject, most)
	})
}

// Browser returns a browser that is signed in, and by whom. One whose time is over is store.ErrNotFound, and so is
// that of a user who is disabled.
func (s *Store) Browser(ctx context.Context, hash store.Digest, now time.Time) (b store.Browser, u store.User, err error) {
	b, err = first(ctx, s, question{
		"find who is signed in", `SELECT hash, subject, browsers.created, expires, ` + userColumns + ` FROM browsers JOIN users ON users.id = subject
			WHERE hash = $1 AND expires > $2 AND disabled = 0`, []any{[]byte(hash), nanoseconds(now)},
	}, func(r row) (b store.Browser, err error) {
		var created, expires int64
		var hash []byte
		u, err = scanUser(after{r, []any{&hash, &b.Subject, &created, &expires}})
		b.Hash, b.Created, b.Expires = hash, fromNanoseconds(created), fromNanoseconds(expires)
		return b, err
	})
	return b, u, err
}

// after reads a row whose first columns are read elsewhere.
type after struct {
	row
	before []any
}

// Scan implements row.
func (a after) Scan(to ...any) error { return a.row.Scan(append(a.before, to...)...) } //nolint:wrapcheck // who asked does

// RemoveBrowser signs a browser out. One that is not signed in is no error.
func (s *Store) RemoveBrowser(ctx context.Context, hash store.Digest) error {
	return s.change(ctx, "sign out", func(tx *sql.Tx) error {
		return each(ctx, tx, []string{`DELETE FROM browsers WHERE hash = $1`}, []byte(hash))
	})
}

// AddConsent keeps a request until somebody decides about it. Of those of the browser, the oldest beyond most are forgotten.
func (s *Store) AddConsent(ctx context.Context, c store.Consent, most int) error {
	return s.change(ctx, "keep a request", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO consents (hash, browser, request, created, expires) VALUES ($1, $2, $3, $4, $5)`,
			[]byte(c.Hash), []byte(c.Browser), c.Request, nanoseconds(c.Created), nanoseconds(c.Expires))
		if err != nil {
			return err //nolint:wrapcheck // change does
		}
		return each(ctx, tx, []string{`DELETE FROM consents WHERE browser = $1 AND hash NOT IN
			(SELECT hash FROM consents WHERE browser = $1 ORDER BY created DESC, hash LIMIT $2)`}, []byte(c.Browser), most)
	})
}

// TakeConsent returns a request that waits at a browser, and forgets it: of many who ask for it at once, one gets it.
func (s *Store) TakeConsent(ctx context.Context, hash, browser store.Digest, now time.Time) (request []byte, err error) {
	return s.take(ctx, "find a request", `DELETE FROM consents WHERE hash = $1 AND browser = $2 AND expires > $3 RETURNING request`,
		[]byte(hash), []byte(browser), nanoseconds(now))
}
