package sqlite

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"
)

func openPool(t *testing.T, name string) *sql.DB {
	t.Helper()
	db, err := pool(source(name, writing()))
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func exec(t *testing.T, db *sql.DB, text string, args ...any) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), text, args...); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
}

func one(t *testing.T, db *sql.DB, text string, args ...any) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), text, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return n
}

// The same text while the rows of its first use are being read is another statement.
func TestAStatementTwiceAtOnce(t *testing.T) {
	db := openPool(t, filepath.Join(t.TempDir(), "db"))
	exec(t, db, `CREATE TABLE numbers (n INTEGER)`)
	for n := range 3 {
		exec(t, db, `INSERT INTO numbers (n) VALUES ($1)`, n)
	}
	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }() // nothing was written
	for range 3 {                        // the first time it is prepared
		if read, err := readNested(t, tx); err != nil || !slices.Equal(read, []int{0, 2, 1, 2, 2, 2}) {
			t.Errorf("read %v, %v", read, err)
		}
	}
}

// readNested reads all numbers, and while it does so, with each of them the one from 2 on, by the same text.
func readNested(t *testing.T, tx *sql.Tx) (read []int, err error) {
	const question = `SELECT n FROM numbers WHERE n >= $1 ORDER BY n`
	found, err := tx.QueryContext(t.Context(), question, 0)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, found.Close()) }()
	for found.Next() {
		n, inner := 0, 0
		if err := errors.Join(found.Scan(&n), tx.QueryRowContext(t.Context(), question, 2).Scan(&inner)); err != nil {
			return nil, err
		}
		read = append(read, n, inner)
	}
	return read, found.Err()
}

// More texts than are kept are carried out all the same, and those that another connection has made invalid are prepared again.
func TestStatementsAreKeptWithinBounds(t *testing.T) {
	name := filepath.Join(t.TempDir(), "db")
	db := openPool(t, name)
	exec(t, db, `CREATE TABLE numbers (n INTEGER)`)
	exec(t, db, `INSERT INTO numbers (n) VALUES (7)`)
	for round := range 2 {
		for i := range 3 * mostKept {
			if got := one(t, db, fmt.Sprintf(`SELECT n + %d FROM numbers`, i)); got != 7+i {
				t.Fatalf("round %d: statement %d gives %d", round, i, got)
			}
		}
	}
	one(t, db, `SELECT n FROM numbers`)
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	err = c.Raw(func(raw any) error {
		if kept := len(raw.(*conn).kept); kept != mostKept { //nolint:forcetypeassert // as pool makes them
			t.Errorf("%d statements are kept, want %d", kept, mostKept)
		}
		return nil
	})
	if err := errors.Join(err, c.Close()); err != nil {
		t.Error(err)
	}
	exec(t, openPool(t, name), `ALTER TABLE numbers RENAME COLUMN n TO m`)
	if _, err := db.ExecContext(t.Context(), `SELECT n FROM numbers`); err == nil {
		t.Error("a statement is carried out on a column that is gone")
	}
	if got := one(t, db, `SELECT m FROM numbers`); got != 7 {
		t.Errorf("read %d", got)
	}
}

// A statement that has failed is carried out the next time as if nothing had been.
func TestAStatementAfterAFailure(t *testing.T) {
	db := openPool(t, filepath.Join(t.TempDir(), "db"))
	exec(t, db, `CREATE TABLE numbers (n INTEGER PRIMARY KEY)`)
	const insert = `INSERT INTO numbers (n) VALUES ($1)`
	for n := range 3 {
		exec(t, db, insert, n)
		if _, err := db.ExecContext(t.Context(), insert, n); err == nil {
			t.Error("a number is there twice")
		}
	}
	if got := one(t, db, `SELECT COUNT(*) FROM numbers`); got != 3 {
		t.Errorf("%d numbers", got)
	}
}

// A connection that has made a copy may do so again, and only reads otherwise.
func TestACopyTwice(t *testing.T) {
	folder := t.TempDir()
	name := filepath.Join(folder, "db")
	exec(t, openPool(t, name), `CREATE TABLE numbers (n INTEGER)`)
	db, err := pool(source(name, reading()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}()
	db.SetMaxOpenConns(1)
	for i := range 3 {
		if err := copyTo(t.Context(), db, filepath.Join(folder, fmt.Sprint("copy", i)), func(*sql.DB) error { return nil }); err != nil {
			t.Errorf("copy %d: %v", i, err)
		}
		if _, err := db.ExecContext(t.Context(), `INSERT INTO numbers (n) VALUES (1)`); err == nil {
			t.Error("a connection that reads has written")
		}
	}
}
