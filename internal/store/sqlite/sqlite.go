// Package sqlite opens a database of chats in a file, which all processes of one machine may open at the same time.
//
// A commit is on the disk when it returns (WAL with synchronous=FULL): after a power failure no turn is missing that was
// acknowledged. One connection of each process writes, and some others read beside it.
//
// # Trust
//
// The file is the operator's; nobody else may open it.
//
// # Failure
//
// A full or read-only disk, a file that another program keeps locked, and one that is damaged or no database are each a
// fault.Error with what to do. Nothing was changed then, and the next call tries again.
package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"runpython/internal/fault"
	"runpython/internal/pypi/flock"
	"runpython/internal/store/database"
)

const (
	// busyTimeout is how long a statement waits for another process that writes.
	busyTimeout = 5 * time.Second
	// readers is how many connections read at once.
	readers = 4
	// journalBytes is how large the journal stays once its content is in the file.
	journalBytes = 4 << 20
)

// Open opens the database in a file, which is made if needed. Beside it are its journal, and a folder of locks by which
// processes learn which of them live. The caller closes it.
func Open(ctx context.Context, name string) (_ *database.Store, err error) {
	locks := name + ".locks"
	if err := os.MkdirAll(locks, 0o700); err != nil {
		return nil, fmt.Errorf("open the database: %w", explain(err))
	}
	presence := presence{folder: locks}
	lock, err := flock.Open(ctx, presence.name(doorName))
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", explain(err))
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := private(name); err != nil {
		return nil, fmt.Errorf("open the database: %w", explain(err))
	}
	if _, err := sqlite.Fdatasync(true); err != nil { // the time of the last write, which a commit need not wait for, is all that it leaves out
		return nil, fmt.Errorf("open the database: %w", err)
	}
	write, err := pool(source(name, writing()))
	if err != nil {
		return nil, err
	}
	write.SetMaxOpenConns(1)
	read, err := pool(source(name, reading()))
	if err != nil {
		return nil, errors.Join(err, write.Close())
	}
	read.SetMaxOpenConns(readers)
	read.SetMaxIdleConns(readers)
	if err := presence.tidy(); err != nil {
		return nil, errors.Join(fmt.Errorf("open the database: %w", explain(err)), read.Close(), write.Close())
	}
	d := dialect()
	d.Announce, d.Ended, d.Copy = presence.announce, presence.ended, copyTo
	return finish(ctx, read, write, d)
}

// private makes the file of the database, if needed, so that only this user may read it, and shuts one out that every user of the
// machine may read: what people have said, and hashes of their passwords are there. SQLite gives its journals the same mode.
func private(name string) error {
	f, err := os.OpenFile(name, os.O_RDONLY|os.O_CREATE, 0o600)
	if err != nil {
		return err //nolint:wrapcheck // it names the file
	}
	err = f.Close()
	for _, suffix := range []string{"", "-wal", "-shm"} {
		info, statErr := os.Stat(name + suffix)
		if statErr != nil || info.Mode().Perm()&everybody == 0 {
			continue // the journals are there only while it is open
		}
		if changeErr := os.Chmod(name+suffix, info.Mode().Perm()&^everybody); !errors.Is(changeErr, os.ErrPermission) { // else it is another user's
			err = errors.Join(err, changeErr)
		}
	}
	return err
}

// everybody is what the mode of a file allows to users other than its owner and group.
const everybody = 0o007

// OpenMemory opens a new database that is nowhere but in the memory of this process. The caller closes it.
func OpenMemory(ctx context.Context) (*database.Store, error) {
	db, err := pool(source(":memory:", writing()))
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1) // each connection has a database of its own
	return finish(ctx, db, db, dialect())
}

// finish migrates the database.
func finish(ctx context.Context, read, write *sql.DB, d database.Dialect) (*database.Store, error) {
	s := database.New(read, write, d)
	if err := database.Migrate(ctx, write, d); err != nil {
		return nil, errors.Join(err, s.Close()) //nolint:contextcheck // it has a time of its own
	}
	return s, nil
}

// reading are the settings of a connection that only reads, writing those of one that writes as well.
func reading() url.Values {
	return url.Values{
		"_busy_timeout": {fmt.Sprint(busyTimeout.Milliseconds())},
		"_dqs":          {"0"},
		"_error_rc":     {"1"},
		"_query_only":   {"1"},
	}
}

func writing() url.Values {
	settings := reading()
	settings.Del("_query_only")
	settings.Set("_auto_vacuum", "FULL") // what is deleted makes the file smaller
	settings.Set("_journal_mode", "WAL")
	settings.Set("_synchronous", "FULL")
	settings.Set("_foreign_keys", "1")
	settings.Set("_txlock", "immediate")
	settings.Set("_pragma", fmt.Sprintf("journal_size_limit(%d)", journalBytes))
	return settings
}

// source names a database in a file with the settings of its connections.
func source(name string, settings url.Values) string {
	u := url.URL{Scheme: "file", Opaque: (&url.URL{Path: name}).EscapedPath(), RawQuery: settings.Encode()}
	return u.String()
}

func dialect() database.Dialect {
	return database.Dialect{Name: "sqlite3", Clock: clock, Explain: explain, Refused: func(error) bool { return false }}
}

// clock is the one of the machine that runs as long as it is awake: setting the time of day does not move it, all
// processes see the same, and a machine that sleeps does not let its chats go. Another one is that of the time before
// the machine was started, and that of a container with a time of its own (time_namespaces(7)).
func clock(context.Context, *sql.Tx) (era string, now int64, err error) {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", 0, fmt.Errorf("which boot of the machine this is: %w", err)
	}
	namespace, err := os.Readlink("/proc/self/ns/time")
	if err != nil && !errors.Is(err, os.ErrNotExist) { // Linux before 5.6 has none
		return "", 0, fmt.Errorf("which clock this is: %w", err)
	}
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		return "", 0, fmt.Errorf("read the clock: %w", err)
	}
	return strings.TrimSpace(string(boot)) + " " + namespace, t.Nano() / int64(time.Millisecond), nil
}

// explain says what to do about errors of SQLite.
func explain(err error) error {
	code := 0
	if e, ok := errors.AsType[*sqlite.Error](err); ok {
		code = e.Code() & 0xff // the rest tells more of the same
	}
	switch {
	case code == lib.SQLITE_FULL, fault.IsDiskFull(err):
		return fault.New(fault.Busy, err, "the disk of the server's database is full; tell the operator")
	case code == lib.SQLITE_BUSY, code == lib.SQLITE_LOCKED:
		return fault.New(fault.Busy, err, "another program keeps the server's database locked; try again in a moment, or tell the operator")
	case code == lib.SQLITE_READONLY, code == lib.SQLITE_CANTOPEN, errors.Is(err, unix.EROFS), errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return fault.New(fault.Busy, err, "the server's database cannot be written: its disk is read-only, or its file belongs to someone else; tell the operator")
	case code == lib.SQLITE_IOERR:
		return fault.New(fault.Busy, err, "the disk of the server's database fails; tell the operator")
	case code == lib.SQLITE_CORRUPT, code == lib.SQLITE_NOTADB:
		return fault.New(fault.Unsupported, err, "the server's database is damaged, or its file is something else; tell the operator, who may put a backup in its place")
	}
	return err
}

// presence are the files by which processes of this machine tell each other that they live: each keeps its own locked,
// and the system unlocks it however the process ends.
type presence struct{ folder string }

// doorName is the file that is locked by who opens the database or makes its own file; no process has such a name.
const doorName = "door"

func (p presence) name(process string) string { return filepath.Join(p.folder, process) }

// announce makes and locks the file of a process; closing it removes the file.
func (p presence) announce(process string) (_ io.Closer, err error) {
	door, err := flock.Open(context.Background(), p.name(doorName)) // others have it for as long as this takes
	if err != nil {
		return nil, fmt.Errorf("lock for this process: %w", err)
	}
	defer func() { err = errors.Join(err, door.Close()) }()
	f, err := os.OpenFile(p.name(process), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock for this process: %w", err)
	}
	if err := flock.Try(f); err != nil {
		return nil, errors.Join(fmt.Errorf("lock for this process: %w", err), f.Close(), os.Remove(f.Name()))
	}
	return announcement{f}, nil
}

// announcement is the locked file of this process.
type announcement struct{ *os.File }

// Close removes the file.
func (a announcement) Close() error { return errors.Join(os.Remove(a.Name()), a.File.Close()) }

// ended reports whether a process does not live any more: its file is gone, or nobody has it locked. What cannot be
// found out is no.
func (p presence) ended(process string) bool {
	f, err := os.Open(p.name(process))
	if err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	defer func() { _ = f.Close() }() // it was only locked
	return flock.Try(f) == nil
}

// tidy removes the files of processes that were killed. Who opens the database does it, so that nobody makes one.
func (p presence) tidy() error {
	files, err := os.ReadDir(p.folder)
	if err != nil {
		return fmt.Errorf("look for the locks of processes: %w", err)
	}
	for _, f := range files {
		if f.Name() == doorName || !p.ended(f.Name()) {
			continue
		}
		if err := os.Remove(p.name(f.Name())); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("remove the lock of a process that has ended: %w", err)
		}
	}
	return nil
}
