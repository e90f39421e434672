package database

import (
	"context"
	"database/sql"
	"time"

	"runpython/internal/store"
)

// passkeyColumns are those that scanPasskey reads.
const passkeyColumns = `passkeys.id, passkeys.subject, credential, public_key, signatures, transports, eligible = 1, backed_up = 1, passkeys.name, passkeys.created, passkeys.used` //nolint:gosec // it is no secret

func scanPasskey(r row) (p store.Passkey, err error) {
	var name []byte
	var created, used int64
	err = r.Scan(&p.ID, &p.Subject, &p.Credential, &p.PublicKey, &p.Signatures, &p.Transports, &p.Eligible, &p.BackedUp, &name, &created, &used)
	p.Name, p.Created, p.Used = string(name), fromNanoseconds(created), fromNanoseconds(used)
	return p, err //nolint:wrapcheck // who asked does
}

// AddPasskey adds a passkey, unless its user has as many as most already (store.ErrFull) or one has its credential, whoever has
// that (store.ErrExists). A user who is gone is store.ErrNotFound.
func (s *Store) AddPasskey(ctx context.Context, p store.Passkey, most int) error {
	return s.change(ctx, "add a passkey", func(tx *sql.Tx) error {
		// Changing the user's row first makes those who add at once wait for each other, so that none of them counts too few.
		there, err := affected(tx.ExecContext(ctx, `UPDATE users SET disabled = disabled WHERE id = $1`, p.Subject))
		if err != nil {
			return err
		}
		if !there {
			return store.ErrNotFound
		}
		var count int
		if err := tx.QueryRowContext(ctx, `SELECT COUNT(*) FROM passkeys WHERE subject = $1`, p.Subject).Scan(&count); err != nil {
			return err //nolint:wrapcheck // change does
		}
		if count >= most {
			return store.ErrFull
		}
		added, err := affected(tx.ExecContext(ctx, `INSERT INTO passkeys (id, subject, credential, public_key, signatures, transports, eligible, backed_up, name, created, used)
			VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) ON CONFLICT (credential) DO NOTHING`,
			p.ID, p.Subject, p.Credential, p.PublicKey, int64(p.Signatures), p.Transports, number(p.Eligible), number(p.BackedUp), []byte(p.Name), nanoseconds(p.Created), nanoseconds(p.Used)))
		if err == nil && !added {
			return store.ErrExists
		}
		return err
	})
}

// Passkey returns the passkey of a credential, and whose it is.
func (s *Store) Passkey(ctx context.Context, credential []byte) (p store.Passkey, u store.User, err error) {
	p, err = first(ctx, s, question{
		"find a passkey", `SELECT ` + passkeyColumns + `, ` + userColumns + ` FROM passkeys JOIN users ON users.id = passkeys.subject WHERE credential = $1`, []any{credential},
	}, func(r row) (store.Passkey, error) {
		return scanPasskey(around{after: after{row: r}, then: func(rest row) error {
			u, err = scanUser(rest)
			return err
		}})
	})
	return p, u, err
}

// Passkeys returns those of a user, the oldest first.
func (s *Store) Passkeys(ctx context.Context, subject string) ([]store.Passkey, error) {
	return query(ctx, s, question{
		"list the passkeys", `SELECT ` + passkeyColumns + ` FROM passkeys WHERE subject = $1 ORDER BY created, id`, []any{subject},
	}, scanPasskey)
}

// CountPasskeys returns how many passkeys each user has who has any.
func (s *Store) CountPasskeys(ctx context.Context) (map[string]int, error) {
	counts := map[string]int{}
	_, err := query(ctx, s, question{"count the passkeys", `SELECT subject, COUNT(*) FROM passkeys GROUP BY subject`, nil}, func(r row) (subject string, err error) {
		var n int
		err = r.Scan(&subject, &n)
		counts[subject] = n
		return subject, err //nolint:wrapcheck // query does
	})
	return counts, err
}

// UsePasskey notes what a passkey has told when it was used. One that counts its signatures must have counted on since it was used
// last: of many who use one signature at once, or a copy of the passkey, one does. The others are store.ErrSpent, as a passkey is that is gone.
func (s *Store) UsePasskey(ctx context.Context, id string, use store.PasskeyUse) error {
	return s.change(ctx, "use a passkey", func(tx *sql.Tx) error {
		used, err := affected(tx.ExecContext(ctx, `UPDATE passkeys SET signatures = $2, backed_up = $3, used = $4
			WHERE id = $1 AND (signatures < $2 OR signatures = 0 AND $2 = 0)`, id, int64(use.Signatures), number(use.BackedUp), nanoseconds(use.Used)))
		if err == nil && !used {
			return store.ErrSpent
		}
		return err
	})
}

// RenamePasskey gives a passkey of a user another name; one that is not the user's is store.ErrNotFound.
func (s *Store) RenamePasskey(ctx context.Context, id, subject, name string) error {
	return s.changePasskey(ctx, "rename a passkey", `UPDATE passkeys SET name = $3 WHERE id = $1 AND subject = $2`, id, subject, []byte(name))
}

// RemovePasskey removes a passkey of a user; one that is not the user's is store.ErrNotFound.
func (s *Store) RemovePasskey(ctx context.Context, id, subject string) error {
	return s.changePasskey(ctx, "remove a passkey", `DELETE FROM passkeys WHERE id = $1 AND subject = $2`, id, subject)
}

func (s *Store) changePasskey(ctx context.Context, what, statement string, args ...any) error {
	return s.change(ctx, what, func(tx *sql.Tx) error {
		there, err := affected(tx.ExecContext(ctx, statement, args...))
		if err == nil && !there {
			return store.ErrNotFound
		}
		return err
	})
}

// AddChallenge keeps what a browser is asked to have signed, in place of what it was asked before. Of all browsers', the oldest
// beyond most are forgotten.
func (s *Store) AddChallenge(ctx context.Context, c store.Challenge, most int) error {
	return s.change(ctx, "keep a challenge", func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO challenges (browser, challenge, created, expires) VALUES ($1, $2, $3, $4)
			ON CONFLICT (browser) DO UPDATE SET challenge = excluded.challenge, created = excluded.created, expires = excluded.expires`,
			[]byte(c.Browser), c.Text, nanoseconds(c.Created), nanoseconds(c.Expires))
		if err != nil {
			return err //nolint:wrapcheck // change does
		}
		return each(ctx, tx, []string{`DELETE FROM challenges WHERE created <= (SELECT created FROM challenges ORDER BY created DESC LIMIT 1 OFFSET $1)`}, most)
	})
}

// TakeChallenge returns what a browser was asked to have signed, and forgets it: of many who ask for it at once, one gets it.
func (s *Store) TakeChallenge(ctx context.Context, browser store.Digest, now time.Time) (text []byte, err error) {
	return s.take(ctx, "find a challenge", `DELETE FROM challenges WHERE browser = $1 AND expires > $2 RETURNING challenge`, []byte(browser), nanoseconds(now))
}
