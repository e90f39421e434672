// Package database keeps the records of chats in a SQL database. The statements are the same for all; what differs
// between databases is a [Dialect], which packages sqlite and postgres give.
//
// A process has the chats that it works on: it takes them, says every few seconds that it lives, and lets go. The
// row of a process that has not said so for [LeaseTime] is removed by one that needs a chat of
// it, which has found it silent once before; that one statement frees all of its chats, and the process learns of it from its next [Store.Beat].
// Whoever takes a chat makes its fence larger, and each write names the fence that it was taken with.
//
// # Trust
//
// Callers ask for what belongs to them; this package does not check subjects. Paths and texts may have any bytes.
//
// # Failure
//
// The errors of package store; what the Dialect makes of an error of its database, a fault.Error with what to do; or
// the end of a context. What fails has changed nothing. Databases that were away are used again when they are back.
package database

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"runpython/internal/store"
)

// LeaseTime is how long a process has its chats after it has last said that it lives.
const LeaseTime = 6 * time.Second

const (
	// renewEvery is how often it says so, as long as it has chats.
	renewEvery = LeaseTime / 3
	// trustTime is how long nobody asks whether it does, and how long it has to say so again when it was found silent: the
	// clock may have been set meanwhile, by which all seem to be silent, or seem to have said so in the future.
	trustTime = LeaseTime / 2
)

// triesOfChange is how often a change is tried that the database has refused for another one at the same time.
const triesOfChange = 5

// A Dialect is what differs between databases.
type Dialect struct {
	// Name is that of the dialect for migrations: "sqlite3" or "postgres".
	Name string
	// Clock returns milliseconds of a clock that processes on the database share, and names that clock: times of
	// clocks with other names say nothing. Setting the time of day of a process's machine does not move it.
	Clock func(ctx context.Context, tx *sql.Tx) (era string, now int64, err error)
	// Refused reports whether the database has refused a change for another one at the same time: it
	// may be tried again.
	Refused func(err error) bool
	// Explain makes an error of the database one that says what to do, where it can.
	Explain func(err error) error
	// Announce tells other processes for as long as the file that it returns is open that the process of that
	// name lives, and Ended that one of that name does not live any more. Both are nil where processes are on several
	// machines: then only time tells.
	Announce func(process string) (io.Closer, error)
	Ended    func(process string) bool
	// Copy makes a file of the database of db as it is at one moment, and has prepare work on that before it is closed. Nil
	// where the database is no file.
	Copy func(ctx context.Context, db *sql.DB, file string, prepare func(*sql.DB) error) error
}

// Store is safe for concurrent use. Close it.
type Store struct {
	read, write *sql.DB
	dialect     Dialect

	registering sync.Mutex // held by who registers the process; before mu

	mu        sync.Mutex // guards what follows; it is never held while the database is asked
	process   string     // the name of this process in the database, "" as long as it has none
	announced io.Closer  // of that name, nil for none
	renewed   time.Time  // begin of the last time that it said that it lives
	closed    bool
}

// New returns a Store on a database that was migrated. It closes both pools, which may be the same one.
func New(read, write *sql.DB, d Dialect) *Store {
	return &Store{read: read, write: write, dialect: d}
}

// Close lets go of all chats that this process has, and of the database. A call that is under way may fail.
func (s *Store) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	s.registering.Lock()
	defer s.registering.Unlock()
	s.mu.Lock()
	process, announced := s.process, s.announced
	s.process, s.announced, s.closed = "", nil, true
	s.mu.Unlock()
	var err error
	if process != "" {
		err = s.change(ctx, "let go of the chats", func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, `DELETE FROM processes WHERE id = $1`, process)
			return err //nolint:wrapcheck // change does
		})
	}
	if announced != nil {
		err = errors.Join(err, announced.Close())
	}
	err = errors.Join(err, s.write.Close())
	if s.read != s.write {
		err = errors.Join(err, s.read.Close())
	}
	return err
}

// closeTimeout bounds how long Close waits for the database.
const closeTimeout = 5 * time.Second

// newProcess returns 130 random bits as a name.
func newProcess() string { return strings.ToLower(rand.Text()) }

// change does something to the database, all of it or nothing.
func (s *Store) change(ctx context.Context, what string, do func(tx *sql.Tx) error) error {
	for try := 1; ; try++ {
		err := s.changeOnce(ctx, do)
		if errors.Is(err, sql.ErrTxDone) && ctx.Err() != nil { // its end has undone the change between two statements
			err = ctx.Err()
		}
		if err != nil && try < triesOfChange && s.dialect.Refused(err) {
			continue
		}
		return s.explain(what, err)
	}
}

func (s *Store) changeOnce(ctx context.Context, do func(tx *sql.Tx) error) error {
	tx, err := s.write.BeginTx(ctx, nil)
	if err != nil {
		return err //nolint:wrapcheck // change does
	}
	if err := do(tx); err != nil {
		if undo := tx.Rollback(); undo != nil && !errors.Is(undo, sql.ErrTxDone) {
			return errors.Join(err, undo)
		}
		return err
	}
	return tx.Commit() //nolint:wrapcheck // change does
}

// take returns what a statement deletes of one row, its only column. No row is store.ErrNotFound; of many who ask at once, one gets it.
func (s *Store) take(ctx context.Context, what, statement string, args ...any) (content []byte, err error) {
	err = s.change(ctx, what, func(tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, statement, args...).Scan(&content)
		if errors.Is(err, sql.ErrNoRows) {
			return store.ErrNotFound
		}
		return err //nolint:wrapcheck // change does
	})
	return content, err
}

// explain is what callers learn of an error: those of package store as they are.
func (s *Store) explain(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, store.ErrNotFound), errors.Is(err, store.ErrHeld), errors.Is(err, store.ErrLost),
		errors.Is(err, store.ErrForgotten), errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
	default:
		err = s.dialect.Explain(err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// row is what a record is read from.
type row interface{ Scan(to ...any) error }

// question is a statement that reads.
type question struct {
	what string // is attempted by it
	text string
	args []any
}

// query reads all rows of a question.
func query[T any](ctx context.Context, s *Store, q question, scan func(row) (T, error)) ([]T, error) {
	all, err := rows(ctx, s.read, scan, q.text, q.args...)
	return all, s.explain(q.what, err)
}

// first reads the first row; none is store.ErrNotFound.
func first[T any](ctx context.Context, s *Store, q question, scan func(row) (T, error)) (T, error) {
	one, err := scan(s.read.QueryRowContext(ctx, q.text, q.args...))
	if errors.Is(err, sql.ErrNoRows) {
		err = store.ErrNotFound
	}
	return one, s.explain(q.what, err)
}

// querier is a pool or a transaction.
type querier interface {
	QueryContext(ctx context.Context, statement string, args ...any) (*sql.Rows, error)
}

func rows[T any](ctx context.Context, q querier, scan func(row) (T, error), statement string, args ...any) (all []T, err error) {
	found, err := q.QueryContext(ctx, statement, args...)
	if err != nil {
		return nil, err //nolint:wrapcheck // explain does
	}
	defer func() { err = errors.Join(err, found.Close()) }()
	for found.Next() {
		one, err := scan(found)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, found.Err() //nolint:wrapcheck // explain does
}

// nanoseconds is a time as the database has it: 0 is none.
func nanoseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func fromNanoseconds(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n)
}
