package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"runpython/internal/fault"
)

// A Copy tells what a copied database has.
type Copy struct {
	Chats    int
	Contents []string // that its records refer to
}

// CopyTo makes a new file with the database as it is at one moment, while others go on to write. In it no process has
// a chat, no chat has a checkpoint, and nobody is signed in; tokens stay, as digests. A database that is no file is fault.Unsupported.
func (s *Store) CopyTo(ctx context.Context, file string) (Copy, error) {
	if s.dialect.Copy == nil {
		return Copy{}, fault.New(fault.Unsupported, nil, "the chats are in a database that has its own programs for this: save it with pg_dump, and then the folder \"content\" of --data")
	}
	var c Copy
	err := s.dialect.Copy(ctx, s.read, file, func(db *sql.DB) error {
		for _, statement := range []string{`DELETE FROM checkpoints`, `UPDATE chats SET holder = NULL, wanted = 0`, `DELETE FROM processes`,
			`DELETE FROM consents`, `DELETE FROM challenges`, `DELETE FROM codes`, `DELETE FROM browsers`, `DELETE FROM departures`} {
			if _, err := db.ExecContext(ctx, statement); err != nil {
				return err //nolint:wrapcheck // explain does
			}
		}
		counted := db.QueryRowContext(ctx, `SELECT COUNT(*) FROM chats`).Scan(&c.Chats)
		contents, err := rows(ctx, db, scanText, `SELECT hash FROM files WHERE hash <> '' UNION SELECT hash FROM versions WHERE hash <> '' UNION SELECT hash FROM results`)
		c.Contents = contents
		if err := errors.Join(counted, err); err != nil {
			return fmt.Errorf("read the copy: %w", err)
		}
		return nil
	})
	return c, s.explain("copy the database", err)
}
