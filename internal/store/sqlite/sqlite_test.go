package sqlite_test

import (
	"database/sql"
	"io/fs"
	"os"
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

// Whatever folder it is in, other users of the machine do not read the database, nor its journals.
func TestOthersDoNotRead(t *testing.T) {
	folder := t.TempDir()
	for name, made := range map[string]fs.FileMode{"new": 0, "of everybody": 0o644, "of a group": 0o640} {
		file := filepath.Join(folder, name)
		if made != 0 {
			if err := open(t, file).Close(); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(file, made); err != nil {
				t.Fatal(err)
			}
		}
		s := open(t, file)
		for _, suffix := range []string{"", "-wal", "-shm"} {
			info, err := os.Stat(file + suffix)
			if err != nil {
				t.Fatal(err)
			}
			if got, want := info.Mode().Perm(), max(made&^0o007, 0o600); got != want {
				t.Errorf("%s%s is %v, want %v", name, suffix, got, want)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
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
