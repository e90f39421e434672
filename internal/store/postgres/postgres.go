// Package postgres opens a database of chats on a PostgreSQL server, which processes of several machines may use.
//
// # Trust
//
// The server and its URL are the operator's. The password in the URL is in no error of this package.
//
// # Failure
//
// A server that is away, full, or read-only, and a user who may not do something, are each a fault.Error with what to do.
// Nothing was changed then, and the next call tries again with a new connection.
package postgres

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"runpython/internal/fault"
	"runpython/internal/store/database"
)

const (
	// connections is how many this process has at once, idleConnections how many of them it keeps.
	connections     = 16
	idleConnections = 4
	// connectTimeout bounds the wait for the server, lockTimeout that for another process that writes to the same rows.
	connectTimeout = 5 * time.Second
	lockTimeout    = 10 * time.Second
)

// Open connects to the database of a URL (postgres://USER:PASSWORD@HOST:PORT/DATABASE), whose tables are made if needed.
// The caller closes it.
func Open(ctx context.Context, url string) (*database.Store, error) {
	settings, err := pgx.ParseConfig(url)
	if err != nil { // its text shows the URL
		return nil, fault.New(fault.Unsupported, nil, "--database is no URL of a PostgreSQL database, such as postgres://user@host/database")
	}
	settings.ConnectTimeout = connectTimeout
	settings.RuntimeParams["application_name"] = "runpython"
	settings.RuntimeParams["lock_timeout"] = fmt.Sprint(lockTimeout.Milliseconds())
	db := stdlib.OpenDB(*settings)
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(idleConnections)
	d := database.Dialect{Name: "postgres", Clock: clock, Refused: refused, Explain: explain}
	s := database.New(db, db, d)
	if err := database.Migrate(ctx, db, d); err != nil {
		return nil, errors.Join(err, s.Close()) //nolint:contextcheck // it has a time of its own
	}
	return s, nil
}

// clock is the server's, so that all processes have the same, whatever their machines say.
func clock(ctx context.Context, tx *sql.Tx) (era string, now int64, err error) {
	err = tx.QueryRowContext(ctx, `SELECT CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)`).Scan(&now)
	return "", now, err //nolint:wrapcheck // package database does
}

// Codes of errors of PostgreSQL (Appendix A of its manual).
const (
	serializationFailure = "40001"
	deadlockDetected     = "40P01"
	lockNotAvailable     = "55P03"
	diskFull             = "53100"
	tooManyConnections   = "53300"
	readOnly             = "25006"
	insufficientRight    = "42501"
	shutdownClass        = "57P" // the server stops, or starts
	connectionClass      = "08"
	authorizationClass   = "28"
	noSuchDatabase       = "3D000"
)

func codeOf(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

// refused reports whether the server has undone a change for another one.
func refused(err error) bool {
	code := codeOf(err)
	return code == serializationFailure || code == deadlockDetected
}

// explain says what to do about errors of the server.
func explain(err error) error {
	code := codeOf(err)
	if len(code) == 5 && (code[:3] == shutdownClass || code[:2] == connectionClass) || isAway(err) {
		return fault.New(fault.Busy, err, "the server's database cannot be reached; try again in a moment, or tell the operator")
	}
	if len(code) == 5 && code[:2] == authorizationClass || code == noSuchDatabase || code == insufficientRight {
		return fault.New(fault.Unsupported, err, "the server's database refuses the user or the database of --database; tell the operator")
	}
	switch code {
	case diskFull:
		return fault.New(fault.Busy, err, "the disk of the server's database is full; tell the operator")
	case readOnly:
		return fault.New(fault.Busy, err, "the server's database takes no changes, since it is read-only; tell the operator")
	case lockNotAvailable:
		return fault.New(fault.Busy, err, "another program keeps the server's database locked; try again in a moment, or tell the operator")
	case tooManyConnections:
		return fault.New(fault.Busy, err, "the server's database has too many connections; try again in a moment, or tell the operator")
	}
	return err
}

// isAway reports whether there is no connection to the server, or there is none any more.
func isAway(err error) bool {
	_, connecting := errors.AsType[*pgconn.ConnectError](err)
	_, network := errors.AsType[net.Error](err)
	return connecting || network || errors.Is(err, net.ErrClosed) || pgconn.SafeToRetry(err) || isCut(err)
}

// isCut reports whether the connection ended in the middle of something.
func isCut(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) }
