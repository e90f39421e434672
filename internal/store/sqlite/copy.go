package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// copyTo makes a new file of the database of db, by one statement that reads at one moment, and has it prepared. The
// file stands alone: it has no journal.
func copyTo(ctx context.Context, db *sql.DB, file string, prepare func(*sql.DB) error) (err error) {
	from, err := db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("copy the database: %w", err)
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	// The statement writes a file, though not this one. A pragma of this kind counts when it is prepared, and makes SQLite prepare anew
	// all that is kept, this one included.
	if _, err := from.ExecContext(ctx, `PRAGMA query_only = 0`); err != nil {
		return fmt.Errorf("copy the database: %w", err)
	}
	_, err = from.ExecContext(ctx, `VACUUM INTO $1`, file)
	_, again := from.ExecContext(context.WithoutCancel(ctx), `PRAGMA query_only = 1`)
	if err := errors.Join(err, again); err != nil {
		return fmt.Errorf("copy the database: %w", err)
	}
	settings := writing()
	settings.Set("_journal_mode", "DELETE")
	to, err := pool(source(file, settings))
	if err != nil {
		return fmt.Errorf("open the copy: %w", err)
	}
	to.SetMaxOpenConns(1)
	return errors.Join(prepare(to), to.Close())
}
