package uv_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"runpython/internal/pypi/indextest"
	"runpython/internal/pypi/source"
	"runpython/internal/pypi/uv"
)

// uv's own cache is emptied when it has grown too large.
func TestPrune(t *testing.T) {
	sources, err := source.Read(source.Config{})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	p, err := uv.Open(t.Context(), uv.Config{Path: indextest.UV(t), Data: dir, Sources: sources, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "cache", "simple-v0", "page")
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte("small"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := p.Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(name); err != nil {
		t.Errorf("a small cache was emptied: %v", err)
	}
	if err := os.Truncate(name, 2<<30); err != nil { // a hole
		t.Fatal(err)
	}
	if err := p.Prune(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(name); err == nil {
		t.Error("a large cache was kept")
	}
}
