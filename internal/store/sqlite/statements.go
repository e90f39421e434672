package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"

	"modernc.org/sqlite"
)

// mostKept is how many statements a connection keeps prepared, of some kilobytes each. Their texts come from this program alone.
const mostKept = 64

// pool returns connections to a database, each of which keeps the statements that it has prepared: SQLite takes longer to
// read those of a turn than to carry them out.
func pool(name string) (*sql.DB, error) {
	c, err := sqlite.NewConnector(name)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	return sql.OpenDB(connector{c}), nil
}

type connector struct{ driver.Connector }

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	made, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err //nolint:wrapcheck // who asked the pool does
	}
	whole, ok := made.(wholeConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("a connection of SQLite is a %T, which lacks methods", made), made.Close())
	}
	return &conn{wholeConn: whole, kept: make(map[string]*keptStatement)}, nil
}

// wholeConn is what package sql asks of connections, and connections of the driver have.
type wholeConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// wholeStatement is the same of statements.
type wholeStatement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// conn is a connection with the statements that it keeps. Package sql uses it in one goroutine at a time.
type conn struct {
	wholeConn
	kept map[string]*keptStatement // by their texts
	uses uint64
}

type keptStatement struct {
	wholeStatement
	used uint64 // it was used last as that one of the uses of the connection
}

// ExecContext implements driver.ExecerContext.
func (c *conn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	s, err := c.take(ctx, text)
	if err != nil {
		return nil, err
	}
	result, err := s.ExecContext(ctx, args)
	return result, errors.Join(err, c.keep(text, s))
}

// QueryContext implements driver.QueryerContext. The statement belongs to the rows until they are closed.
func (c *conn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	s, err := c.take(ctx, text)
	if err != nil {
		return nil, err
	}
	found, err := s.QueryContext(ctx, args)
	if err != nil {
		return nil, errors.Join(err, c.keep(text, s))
	}
	return &rows{Rows: found, keep: func() error { return c.keep(text, s) }}, nil
}

// Close implements driver.Conn.
func (c *conn) Close() error {
	var err error
	for _, s := range c.kept {
		err = errors.Join(err, s.Close())
	}
	return errors.Join(err, c.wholeConn.Close())
}

// take returns a statement that nobody else has; keep gives it back.
func (c *conn) take(ctx context.Context, text string) (wholeStatement, error) {
	if s := c.kept[text]; s != nil {
		delete(c.kept, text)
		return s.wholeStatement, nil
	}
	made, err := c.PrepareContext(ctx, text)
	if err != nil {
		return nil, err //nolint:wrapcheck // who asked the pool does
	}
	whole, ok := made.(wholeStatement)
	if !ok {
		return nil, errors.Join(fmt.Errorf("a statement of SQLite is a %T, which lacks methods", made), made.Close())
	}
	return whole, nil
}

// keep keeps a statement for the next time, in place of the least recently used one where there are too many.
func (c *conn) keep(text string, s wholeStatement) error {
	if c.kept[text] != nil { // two were in use at once
		return s.Close() //nolint:wrapcheck // who asked the pool does
	}
	var err error
	if len(c.kept) >= mostKept {
		oldest := ""
		for text, k := range c.kept {
			if oldest == "" || k.used < c.kept[oldest].used {
				oldest = text
			}
		}
		err = c.kept[oldest].Close()
		delete(c.kept, oldest)
	}
	c.uses++
	c.kept[text] = &keptStatement{s, c.uses}
	return err //nolint:wrapcheck // who asked the pool does
}

// rows are those of a statement that is kept once they are closed.
type rows struct {
	driver.Rows
	keep func() error // nil once it was called
}

// Close implements driver.Rows.
func (r *rows) Close() error {
	err := r.Rows.Close()
	if keep := r.keep; keep != nil {
		r.keep = nil
		err = errors.Join(err, keep())
	}
	return err
}
