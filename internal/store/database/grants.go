package database

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"runpython/internal/store"
)

// tokensOfGrant is how many tokens of each kind a grant has at most; the oldest go first. A client that works has few:
// access tokens end by themselves, and spent refresh tokens are only kept to notice that they come again.
const tokensOfGrant = 100

// grantsOfUser is how much a user has allowed to apps at once, the tokens of machines apart; what was used longest ago goes first.
// codesOfUser is how many codes of a user are remembered, spent ones included. A person meets neither; a script at a browser might.
const (
	grantsOfUser = 1000
	codesOfUser  = 100
)

const grantColumns = `grants.id, grants.subject, grants.client, grants.name, grants.host, grants.scopes, grants.resource, grants.created, grants.used, grants.expires`

func scanGrant(r row) (g store.Grant, err error) {
	var name, host []byte
	var created, used, expires int64
	err = r.Scan(&g.ID, &g.Subject, &g.Client, &name, &host, &g.Scopes, &g.Resource, &created, &used, &expires)
	g.Name, g.Host = string(name), string(host)
	g.Created, g.Used, g.Expires = fromNanoseconds(created), fromNanoseconds(used), fromNanoseconds(expires)
	return g, err //nolint:wrapcheck // who asked does
}

// AddCode keeps a code until it is redeemed. Of those of the user, the oldest beyond codesOfUser are forgotten. A user who
// is disabled or gone by now is store.ErrNotFound.
func (s *Store) AddCode(ctx context.Context, c store.Code) error {
	return s.change(ctx, "keep a code", func(tx *sql.Tx) error {
		// As AddBrowser does, since disabling a user removes only codes that are there.
		there, err := affected(tx.ExecContext(ctx, `UPDATE users SET disabled = 0 WHERE id = $1 AND disabled = 0`, c.Subject))
		if err != nil {
			return err
		}
		if !there {
			return store.ErrNotFound
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO codes (hash, subject, request, grant_id, spent, expires) VALUES ($1, $2, $3, $4, 0, $5)`,
			[]byte(c.Hash), c.Subject, c.Request, c.Grant, nanoseconds(c.Expires))
		if err != nil {
			return err //nolint:wrapcheck // change does
		}
		return each(ctx, tx, []string{`DELETE FROM codes WHERE subject = $1 AND hash NOT IN
			(SELECT hash FROM codes WHERE subject = $1 ORDER BY expires DESC, hash LIMIT $2)`}, c.Subject, codesOfUser)
	})
}

// RedeemCode spends a code, and keeps what issue makes of it. Of many who redeem it at once, one does; the others
// get store.ErrSpent, and what it gave is revoked (RFC 6749, 4.1.2). When issue refuses, the code is spent all the
// same. An unknown code, and one whose time is over, is store.ErrNotFound.
func (s *Store) RedeemCode(ctx context.Context, hash store.Digest, now time.Time, issue func(store.Code) (store.Issued, error)) error {
	var refused error
	err := s.change(ctx, "redeem a code", func(tx *sql.Tx) error {
		refused = nil
		c := store.Code{Hash: hash}
		err := tx.QueryRowContext(ctx, `UPDATE codes SET spent = $2 WHERE hash = $1 AND spent = 0 AND expires > $2 RETURNING subject, request, grant_id`,
			[]byte(hash), nanoseconds(now)).Scan(&c.Subject, &c.Request, &c.Grant)
		if errors.Is(err, sql.ErrNoRows) {
			refused, err = replayed(ctx, tx, hash)
			return err
		}
		if err != nil {
			return err //nolint:wrapcheck // change does
		}
		issued, err := issue(c)
		if err != nil {
			refused = err
			return nil //nolint:nilerr // the code stays spent
		}
		if _, err := tx.ExecContext(ctx, `UPDATE clients SET used = $2 WHERE id = $1`, issued.Grant.Client, nanoseconds(now)); err != nil {
			return err //nolint:wrapcheck // change does
		}
		return addGrant(ctx, tx, issued)
	})
	return errors.Join(err, refused)
}

// replayed revokes what a code gave that comes again.
func replayed(ctx context.Context, tx *sql.Tx, hash store.Digest) (refused, err error) {
	var grant, subject string
	err = tx.QueryRowContext(ctx, `SELECT grant_id, subject FROM codes WHERE hash = $1 AND spent > 0`, []byte(hash)).Scan(&grant, &subject)
	if errors.Is(err, sql.ErrNoRows) {
		return store.ErrNotFound, nil
	}
	if err != nil {
		return nil, err //nolint:wrapcheck // change does
	}
	return &store.SpentError{Subject: subject}, each(ctx, tx, []string{`DELETE FROM grants WHERE id = $1`}, grant)
}

// AddGrant keeps a grant and its tokens.
func (s *Store) AddGrant(ctx context.Context, issued store.Issued) error {
	return s.change(ctx, "keep a grant", func(tx *sql.Tx) error { return addGrant(ctx, tx, issued) })
}

func addGrant(ctx context.Context, tx *sql.Tx, issued store.Issued) error {
	g := issued.Grant
	_, err := tx.ExecContext(ctx, `INSERT INTO grants (id, subject, client, name, host, scopes, resource, created, used, expires)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
		g.ID, g.Subject, g.Client, []byte(g.Name), []byte(g.Host), g.Scopes, g.Resource, nanoseconds(g.Created), nanoseconds(g.Used), nanoseconds(g.Expires))
	if err != nil {
		return err //nolint:wrapcheck // change does
	}
	if err := each(ctx, tx, []string{`DELETE FROM grants WHERE subject = $1 AND client <> '' AND id <> $2 AND id NOT IN
		(SELECT id FROM grants WHERE subject = $1 AND client <> '' ORDER BY used DESC, created DESC, id LIMIT $3)`}, g.Subject, g.ID, grantsOfUser); err != nil {
		return err
	}
	return addTokens(ctx, tx, g.ID, issued.Tokens)
}

func addTokens(ctx context.Context, tx *sql.Tx, grant string, tokens []store.Token) error {
	for _, t := range tokens {
		_, err := tx.ExecContext(ctx, `INSERT INTO tokens (hash, grant_id, kind, scopes, created, expires, spent, repeats) VALUES ($1, $2, $3, $4, $5, $6, 0, 0)`,
			[]byte(t.Hash), grant, t.Kind, t.Scopes, nanoseconds(t.Created), nanoseconds(t.Expires))
		if err != nil {
			return err //nolint:wrapcheck // change does
		}
		err = each(ctx, tx, []string{`DELETE FROM tokens WHERE grant_id = $1 AND kind = $2 AND hash NOT IN
			(SELECT hash FROM tokens WHERE grant_id = $1 AND kind = $2 ORDER BY created DESC, hash LIMIT $3)`}, grant, t.Kind, tokensOfGrant)
		if err != nil {
			return err
		}
	}
	return nil
}

// Rotate spends a refresh token, and keeps what issue makes of its grant: new tokens, and until when the grant lasts. A second use
// that repeats allow gives tokens as well. Any other one revokes the whole grant, since either the client or somebody else
// has a token that was stolen (RFC 9700, 4.14.2), and is store.ErrSpent. When issue refuses, nothing has happened. A token
// that is unknown or whose time is over is store.ErrNotFound.
func (s *Store) Rotate(ctx context.Context, hash store.Digest, now time.Time, repeats store.Repeats, issue func(store.Grant, store.Token) (store.Issued, error)) error {
	var refused error
	err := s.change(ctx, "refresh a token", func(tx *sql.Tx) error {
		refused = nil
		earliest := nanoseconds(now.Add(-repeats.Within))
		t := store.Token{Hash: hash, Kind: store.RefreshToken}
		var grant string
		// The first use, or one that follows it soon; both are decided by one statement.
		err := tx.QueryRowContext(ctx, `UPDATE tokens SET repeats = CASE WHEN spent = 0 THEN 0 ELSE repeats + 1 END, spent = CASE WHEN spent = 0 THEN $2 ELSE spent END
			WHERE hash = $1 AND kind = 'refresh' AND expires > $2 AND (spent = 0 OR spent >= $3 AND repeats < $4) RETURNING grant_id, scopes`,
			[]byte(hash), nanoseconds(now), earliest, repeats.Most).Scan(&grant, &t.Scopes)
		if errors.Is(err, sql.ErrNoRows) {
			refused, err = reused(ctx, tx, hash)
			return err
		}
		if err != nil {
			return err //nolint:wrapcheck // change does
		}
		g, err := scanGrant(tx.QueryRowContext(ctx, `SELECT `+grantColumns+` FROM grants JOIN users ON users.id = grants.subject
			WHERE grants.id = $1 AND grants.expires > $2 AND users.disabled = 0`, grant, nanoseconds(now)))
		if errors.Is(err, sql.ErrNoRows) {
			return store.ErrNotFound
		}
		if err != nil {
			return err
		}
		issued, err := issue(g, t)
		if err != nil {
			return refusedError{err}
		}
		if err := each(ctx, tx, []string{`UPDATE grants SET used = $2, expires = $3 WHERE id = $1`}, g.ID, nanoseconds(now), nanoseconds(issued.Grant.Expires)); err != nil {
			return err
		}
		return addTokens(ctx, tx, g.ID, issued.Tokens)
	})
	if r, ok := errors.AsType[refusedError](err); ok {
		return r.error
	}
	return errors.Join(err, refused)
}

// refusedError is why nothing was issued, which is no error of the database.
type refusedError struct{ error }

// codeMemory is how long a code is remembered after its time, to notice that it comes again.
const codeMemory = time.Hour

// reused revokes the grant of a refresh token that comes again.
func reused(ctx context.Context, tx *sql.Tx, hash store.Digest) (refused, err error) {
	subject, err := subjectOf(tx.QueryRowContext(ctx, `DELETE FROM grants WHERE id = (SELECT grant_id FROM tokens WHERE hash = $1 AND kind = 'refresh' AND spent > 0) RETURNING subject`, []byte(hash)))
	if subject != "" {
		return &store.SpentError{Subject: subject}, err
	}
	return store.ErrNotFound, err
}

// subjectOf reads whose a row is, "" when there is none.
func subjectOf(r *sql.Row) (subject string, err error) {
	if err = r.Scan(&subject); errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return subject, err //nolint:wrapcheck // who asked does
}

const bearerQuestion = `SELECT tokens.scopes, tokens.created, tokens.expires, ` + grantColumns + `, ` + userColumns + `
	FROM tokens JOIN grants ON grants.id = tokens.grant_id JOIN users ON users.id = grants.subject
	WHERE tokens.hash = $1 AND tokens.kind = 'access' AND tokens.expires > $2 AND users.disabled = 0`

// Bearer returns an access token that is good now, with what it is part of.
func (s *Store) Bearer(ctx context.Context, hash store.Digest, now time.Time) (b store.Bearer, err error) {
	b, err = first(ctx, s, question{"find a token", bearerQuestion, []any{[]byte(hash), nanoseconds(now)}}, scanBearer)
	b.Token.Hash = hash
	return b, err
}

func scanBearer(r row) (b store.Bearer, err error) {
	var created, expires int64
	tokenTo := []any{&b.Token.Scopes, &created, &expires}
	b.Grant, err = scanGrant(around{after: after{r, tokenTo}, then: func(rest row) error {
		b.User, err = scanUser(rest)
		return err
	}})
	b.Token.Kind, b.Token.Created, b.Token.Expires = store.AccessToken, fromNanoseconds(created), fromNanoseconds(expires)
	return b, err
}

// around reads a row whose last columns are read by then.
type around struct {
	after
	then func(rest row) error
}

// Scan implements row.
func (a around) Scan(to ...any) error {
	return a.then(after{a.row, append(a.before, to...)})
}

// TouchGrant notes when a grant was used last.
func (s *Store) TouchGrant(ctx context.Context, id string, now time.Time) error {
	return s.change(ctx, "note the use of a token", func(tx *sql.Tx) error {
		return each(ctx, tx, []string{`UPDATE grants SET used = $2 WHERE id = $1 AND used < $2`}, id, nanoseconds(now))
	})
}

// GrantsOf returns what a user has allowed to clients, and the tokens that were made for the user, the oldest first.
func (s *Store) GrantsOf(ctx context.Context, subject string) ([]store.Grant, error) {
	return query(ctx, s, question{"list what is allowed", `SELECT ` + grantColumns + ` FROM grants WHERE subject = $1 ORDER BY created, id`, []any{subject}}, scanGrant)
}

// RemoveGrant revokes what a user has allowed, with all its tokens.
func (s *Store) RemoveGrant(ctx context.Context, id, subject string) error {
	return s.change(ctx, "revoke what is allowed", func(tx *sql.Tx) error {
		there, err := affected(tx.ExecContext(ctx, `DELETE FROM grants WHERE id = $1 AND subject = $2`, id, subject))
		if err == nil && !there {
			return store.ErrNotFound
		}
		return err
	})
}

// RemoveToken revokes an access token of a client, or with a refresh token of it the whole grant (RFC 7009, 2.1). It returns
// whose it was, "" if there was no such token.
func (s *Store) RemoveToken(ctx context.Context, hash store.Digest, client string) (subject string, err error) {
	err = s.change(ctx, "revoke a token", func(tx *sql.Tx) error {
		subject, err = subjectOf(tx.QueryRowContext(ctx, `DELETE FROM grants WHERE client = $2 AND id = (SELECT grant_id FROM tokens WHERE hash = $1 AND kind = 'refresh') RETURNING subject`, []byte(hash), client))
		if err != nil || subject != "" { // its tokens are gone with it
			return err
		}
		subject, err = subjectOf(tx.QueryRowContext(ctx, `DELETE FROM tokens WHERE hash = $1 AND grant_id IN (SELECT id FROM grants WHERE client = $2)
			RETURNING (SELECT subject FROM grants WHERE id = grant_id)`, []byte(hash), client))
		return err
	})
	return subject, err
}

// SweepAccounts removes whatever is over by now, and clients that registered themselves before unused and were never used.
func (s *Store) SweepAccounts(ctx context.Context, now, unused time.Time) error {
	return s.change(ctx, "remove what has expired", func(tx *sql.Tx) error {
		err := each(ctx, tx, []string{
			`DELETE FROM consents WHERE expires <= $1`, `DELETE FROM challenges WHERE expires <= $1`, `DELETE FROM browsers WHERE expires <= $1`, `DELETE FROM departures WHERE expires <= $1`,
			`DELETE FROM tokens WHERE expires <= $1`, `DELETE FROM grants WHERE expires <= $1`, `DELETE FROM assertions WHERE expires <= $1`,
		}, nanoseconds(now))
		if err != nil {
			return err
		}
		if err := each(ctx, tx, []string{`DELETE FROM codes WHERE expires <= $1`}, nanoseconds(now.Add(-codeMemory))); err != nil {
			return err
		}
		return each(ctx, tx, []string{`DELETE FROM clients WHERE manual = 0 AND used = 0 AND created <= $1`}, nanoseconds(unused))
	})
}
