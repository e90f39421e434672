package sqlite_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"runpython/internal/store/database"
	"runpython/internal/store/sqlite"
	"runpython/internal/store/storetest"
)

func open(t *testing.T, name string) *database.Store {
	t.Helper()
	s, err := sqlite.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Database {
		name := filepath.Join(t.TempDir(), "a ?%#.db")
		raw, err := sql.Open("sqlite", "file:"+filepath.Dir(name)+"/a%20%3F%25%23.db?_busy_timeout=5000&_foreign_keys=1")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := raw.Close(); err != nil {
				t.Error(err)
			}
		})
		return storetest.Database{Open: func(t *testing.T) *database.Store { return open(t, name) }, SQL: raw}
	})
}
