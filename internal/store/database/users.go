package database

import (
	"context"
	"database/sql"

	"runpython/internal/store"
)

// userColumns are those that scanUser reads.
const userColumns = `users.id, users.name, users.password, users.admin = 1, users.disabled = 1, users.created`

func scanUser(r row) (u store.User, err error) {
	var created int64
	err = r.Scan(&u.ID, &u.Name, &u.Password, &u.Admin, &u.Disabled, &created)
	u.Created = fromNanoseconds(created)
	return u, err //nolint:wrapcheck // who asked does
}

// AddUser adds a user, unless there are as many as most already (store.ErrFull) or one has the name (store.ErrExists).
func (s *Store) AddUser(ctx context.Context, u store.User, most int) error {
	return s.change(ctx, "add a user", func(tx *sql.Tx) error { return addUser(ctx, tx, u, most) })
}

func addUser(ctx context.Context, tx *sql.Tx, u store.User, most int) error {
	added, err := affected(tx.ExecContext(ctx, `INSERT INTO users (id, name, password, admin, disabled, created)
			SELECT $1, $2, $3, CAST($4 AS BIGINT), CAST($5 AS BIGINT), CAST($6 AS BIGINT) WHERE (SELECT COUNT(*) FROM users) < $7
			ON CONFLICT DO NOTHING`, u.ID, u.Name, u.Password, number(u.Admin), number(u.Disabled), nanoseconds(u.Created), most))
	if err != nil || added {
		return err
	}
	var taken bool
	if err := tx.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM users WHERE name = $1)`, u.Name).Scan(&taken); err != nil {
		return err //nolint:wrapcheck // change does
	}
	if taken {
		return store.ErrExists
	}
	return store.ErrFull
}

// User returns the user with an id.
func (s *Store) User(ctx context.Context, id string) (store.User, error) {
	return first(ctx, s, question{"find a user", `SELECT ` + userColumns + ` FROM users WHERE id = $1`, []any{id}}, scanUser)
}

// UserNamed returns the user with a name.
func (s *Store) UserNamed(ctx context.Context, name string) (store.User, error) {
	return first(ctx, s, question{"find a user", `SELECT ` + userColumns + ` FROM users WHERE name = $1`, []any{name}}, scanUser)
}

// Users returns all users, sorted by name.
func (s *Store) Users(ctx context.Context) ([]store.User, error) {
	return query(ctx, s, question{"list the users", `SELECT ` + userColumns + ` FROM users ORDER BY name`, nil}, scanUser)
}

// SetPassword gives a user another password, and signs the user out of all browsers.
func (s *Store) SetPassword(ctx context.Context, id, password string) error {
	return s.changeUser(ctx, "change a password", []string{
		`UPDATE users SET password = $2 WHERE id = $1`, `DELETE FROM browsers WHERE subject = $1`,
	}, id, password)
}

// SetDisabled lets a user not do anything any more, or again. One who is disabled is signed out, and what
// the user has allowed to clients is revoked, tokens of machines too.
func (s *Store) SetDisabled(ctx context.Context, id string, disabled bool) error {
	statements := []string{`UPDATE users SET disabled = $2 WHERE id = $1`}
	if disabled {
		statements = append(statements, `DELETE FROM browsers WHERE subject = $1`, `DELETE FROM codes WHERE subject = $1`, `DELETE FROM grants WHERE subject = $1`)
	}
	return s.changeUser(ctx, "disable a user", statements, id, number(disabled))
}

// RemoveUser removes a user and all that proves who it is. The user's chats stay, and nobody owns them any more.
func (s *Store) RemoveUser(ctx context.Context, id string) error {
	return s.changeUser(ctx, "remove a user", []string{`DELETE FROM users WHERE id = $1`}, id)
}

// changeUser runs a statement on a user that must be there, and others that need only the user's id. The id is the first
// of args.
func (s *Store) changeUser(ctx context.Context, what string, statements []string, args ...any) error {
	return s.change(ctx, what, func(tx *sql.Tx) error {
		there, err := affected(tx.ExecContext(ctx, statements[0], args...))
		if err != nil {
			return err
		}
		if !there {
			return store.ErrNotFound
		}
		return each(ctx, tx, statements[1:], args[0])
	})
}

// each runs statements with the same arguments.
func each(ctx context.Context, tx *sql.Tx, statements []string, args ...any) error {
	for _, statement := range statements {
		if _, err := tx.ExecContext(ctx, statement, args...); err != nil {
			return err //nolint:wrapcheck // change does
		}
	}
	return nil
}
