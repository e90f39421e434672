package main

import (
	"io"
	"testing"
	"time"

	"runpython/internal/extent"
	"runpython/internal/guesttest"
)

// Many clients lose nothing beside one that sends garbage and one that never closes what it opens, and then the server is
// what it was before.
func TestLoad(t *testing.T) {
	extent.Long(t)
	b := &bench{log: io.Discard, quick: true, loadTime: 5 * time.Second, program: guesttest.Binary(t), data: guesttest.Data(t), dir: t.TempDir()}
	if err := b.fill(t.Context()); err != nil {
		t.Fatal(err)
	}
	rows, err := b.load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := writeTable(t.Output(), rows); err != nil {
		t.Fatal(err)
	}
	if rows[0].N < loadClients {
		t.Errorf("%d calls of %d clients", rows[0].N, loadClients)
	}
}
