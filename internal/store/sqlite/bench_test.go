package sqlite_test

import (
	"path/filepath"
	"testing"

	"runpython/internal/store"
	"runpython/internal/store/sqlite"
)

// BenchmarkTurn is what a turn in a living chat asks of the database: that this process has it, and to keep the turn.
func BenchmarkTurn(b *testing.B) {
	s, err := sqlite.Open(b.Context(), filepath.Join(b.TempDir(), "db"))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	chat := store.Chat{ID: "abcdefghijklmnopqrstuvwxyz", Owner: "local"}
	l, err := s.Begin(b.Context(), chat)
	if err != nil {
		b.Fatal(err)
	}
	turn := store.Turn{Message: "1+1", Steps: []store.Step{{Code: "1+1", Result: "2"}}, Runs: []store.Run{{Number: 1, Code: "1+1", Value: "2"}}}
	ctx := b.Context()
	for b.Loop() {
		turn.Number++
		if err := s.Check(ctx, l); err != nil {
			b.Fatal(err)
		}
		if _, err := s.SaveTurn(ctx, l, chat, turn, 1000); err != nil {
			b.Fatal(err)
		}
	}
}
