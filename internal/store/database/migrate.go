package database

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"runpython/internal/fault"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrate brings the tables up to date. Whoever opens an SQLite database locks it against others meanwhile; PostgreSQL
// does that by itself. Tables of a newer program are a fault.Unsupported.
func Migrate(ctx context.Context, db *sql.DB, d Dialect) error {
	steps, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	options := []goose.ProviderOption{goose.WithLogger(goose.NopLogger()), goose.WithDisableGlobalRegistry(true)}
	if d.Name == string(goose.DialectPostgres) {
		locker, err := lock.NewPostgresSessionLocker()
		if err != nil {
			return fmt.Errorf("migrate the database: %w", err)
		}
		options = append(options, goose.WithSessionLocker(locker))
	}
	provider, err := goose.NewProvider(goose.Dialect(d.Name), db, steps, options...)
	if err != nil {
		return fmt.Errorf("migrate the database: %w", err)
	}
	there, known, err := provider.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("migrate the database: %w", d.Explain(err))
	}
	if there > known {
		return fault.New(fault.Unsupported, nil,
			fmt.Sprintf("the database was written by a newer version of this program (its tables have version %d, this program knows %d): use that one, or another --database", there, known))
	}
	if there == known {
		return nil
	}
	if _, err := provider.Up(ctx); err != nil {
		return fmt.Errorf("migrate the database: %w", d.Explain(err))
	}
	return nil
}
