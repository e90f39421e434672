package app

import (
	"context"
	"fmt"
	"path/filepath"

	"runpython/internal/config"
	"runpython/internal/store/content"
	"runpython/internal/store/database"
	"runpython/internal/store/postgres"
	"runpython/internal/store/sqlite"
)

// What a data folder has of chats.
const (
	databaseFile  = "chats.db"
	contentFolder = "content"
)

// openRecords opens the database of chats, and the folder of their files.
func (a *App) openRecords(ctx context.Context) (*database.Store, *content.Store, error) {
	records, err := a.openDatabase(ctx)
	if err != nil {
		return nil, nil, err
	}
	files, err := content.Open(ctx, filepath.Join(a.config.Data, contentFolder))
	if err != nil {
		return nil, nil, fmt.Errorf("open the chats: %w", err)
	}
	a.onClose("files of chats", files.Close)
	return records, files, nil
}

// openDatabase opens the database alone.
func (a *App) openDatabase(ctx context.Context) (*database.Store, error) {
	open := func() (*database.Store, error) { return sqlite.Open(ctx, filepath.Join(a.config.Data, databaseFile)) }
	if url := a.config.Database.Reveal(); url != config.DatabaseSQLite {
		open = func() (*database.Store, error) { return postgres.Open(ctx, url) }
	}
	records, err := open()
	if err != nil {
		return nil, err //nolint:wrapcheck // it says what it is
	}
	a.onClose("database", records.Close)
	return records, nil
}
