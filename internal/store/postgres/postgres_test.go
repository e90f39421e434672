package postgres_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"

	"runpython/internal/fault"
	"runpython/internal/store"
	"runpython/internal/store/database"
	"runpython/internal/store/postgres"
	"runpython/internal/store/storetest"
)

// urlVariable names a database whose user may make others; .ci/postgres sets it.
const urlVariable = "RUNPYTHON_TEST_POSTGRES"

// fresh makes a database for the time of the test.
func fresh(t *testing.T) (address string, raw *sql.DB) {
	t.Helper()
	server := os.Getenv(urlVariable)
	if server == "" {
		t.Skipf("no PostgreSQL server: run the tests with .ci/postgres, or set %s", urlVariable)
	}
	name := "test_" + strings.ToLower(rand.Text()[:12])
	admin := connect(t, server)
	if _, err := admin.ExecContext(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	u.Path = "/" + name
	return u.String(), connect(t, u.String())
}

func connect(t *testing.T, address string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return db
}

func open(t *testing.T, address string) *database.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) storetest.Database {
		address, raw := fresh(t)
		return storetest.Database{Open: func(t *testing.T) *database.Store { return open(t, address) }, SQL: raw}
	})
}

// A password in a URL that is refused is shown nowhere.
func TestOpenShowsNoPassword(t *testing.T) {
	for _, address := range []string{"postgres://u:secret@127.0.0.1:1/x", "postgres://u:secret@[::1/x", "postgres://u:secret@host/x?sslmode=no"} {
		_, err := postgres.Open(t.Context(), address)
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("Open(%q) = %v; want an error without the password", address, err)
		}
	}
}

// controlVariable names a program that stops and starts the server; .ci/postgres sets it.
const controlVariable = "RUNPYTHON_TEST_POSTGRES_CONTROL"

// controlled returns what stops and starts the server.
func controlled(t *testing.T) (order func(what string)) {
	t.Helper()
	control := os.Getenv(controlVariable)
	if control == "" {
		t.Skipf("no way to stop the PostgreSQL server: run the tests with .ci/postgres, or set %s", controlVariable)
	}
	return func(what string) {
		t.Helper()
		if out, err := exec.CommandContext(context.WithoutCancel(t.Context()), control, what).CombinedOutput(); err != nil {
			t.Fatalf("%s the server: %v\n%s", what, err, out)
		}
	}
}

// A server that is gone is told, and used again when it is back.
func TestServerGoneAndBack(t *testing.T) {
	address, _ := fresh(t)
	order := controlled(t)
	s := open(t, address)
	defer func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}()
	l, err := s.Begin(t.Context(), store.Chat{ID: "x"})
	if err != nil {
		t.Fatal(err)
	}
	order("stop")
	for what, err := range map[string]error{
		"a write": s.SaveChat(t.Context(), l, store.Chat{ID: "x", Runs: 1}),
		"a read":  func() error { _, err := s.Chat(t.Context(), "x"); return err }(),
		"a beat":  func() error { _, err := s.Beat(t.Context()); return err }(),
		"an open": func() error { _, err := postgres.Open(t.Context(), address); return err }(),
	} {
		if kind, shown := fault.Shown(err); kind != fault.Busy || !strings.Contains(shown, "cannot be reached") {
			t.Errorf("%s without the server: %v (%v, %q); want busy, that it cannot be reached", what, err, kind, shown)
		}
	}
	order("start")
	if err := s.SaveChat(t.Context(), l, store.Chat{ID: "x", Runs: 2}); err != nil {
		t.Errorf("a write when the server is back: %v", err)
	}
	if c, err := s.Chat(t.Context(), "x"); err != nil || c.Runs != 2 {
		t.Errorf("a read when the server is back: %+v, %v; want 2 runs", c, err)
	}
}
