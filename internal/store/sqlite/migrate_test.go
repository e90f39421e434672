package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/store"
)

// Chats of a program that did not know of undo are there with their checkpoints, and can be undone from their next turn on.
func TestChatsOfOlderProgram(t *testing.T) {
	name := filepath.Join(t.TempDir(), "chats.db")
	s := open(t, name)
	l, err := s.Begin(t.Context(), store.Chat{ID: "x"})
	for n := 1; n <= 2 && err == nil; n++ {
		_, filesErr := s.SaveFiles(t.Context(), l, store.Changes{Turn: n, Changed: []store.File{{Path: "f", Hash: "h"}}})
		_, turnErr := s.SaveTurn(t.Context(), l, store.Chat{ID: "x"}, store.Turn{Number: n}, 9)
		_, checkpointErr := s.SaveCheckpoint(t.Context(), l, store.Checkpoint{Folder: "c", Turn: n})
		err = errors.Join(filesErr, turnErr, checkpointErr)
	}
	if err != nil {
		t.Fatal(err)
	}
	closeStore(t, s)
	takeBack(t, name, "00003")
	s = open(t, name)
	defer closeStore(t, s)
	c, err := s.Chat(t.Context(), "x")
	p, checkpointErr := s.Checkpoint(t.Context(), "x")
	if c.Horizon != 2 || p.Folder != "c" || p.Turn != 2 || errors.Join(err, checkpointErr) != nil {
		t.Errorf("the chat is %+v with %+v, %v, %v; want its files known after turn 2", c, p, err, checkpointErr)
	}
	if l, _, err = s.Take(t.Context(), "x"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Undo(t.Context(), l, store.Undo{Turn: 2}); !errors.Is(err, store.ErrForgotten) {
		t.Errorf("undo of the last turn of then: %v; want that what was before is not known", err)
	}
	_, filesErr := s.SaveFiles(t.Context(), l, store.Changes{Turn: 3, Deleted: []string{"f"}, Most: store.Bounds{Count: 9, Bytes: 9}})
	_, turnErr := s.SaveTurn(t.Context(), l, store.Chat{ID: "x"}, store.Turn{Number: 3}, 9)
	_, undoErr := s.Undo(t.Context(), l, store.Undo{Turn: 3})
	files, err := s.Files(t.Context(), "x")
	if diff := cmp.Diff([]store.File{{Path: "f", Hash: "h"}}, files); diff != "" || errors.Join(filesErr, turnErr, undoErr, err) != nil {
		t.Errorf("undo of the next turn: %v, %v, %v, %v, files (-want +got):\n%s", filesErr, turnErr, undoErr, err, diff)
	}
}

// takeBack takes back the steps of the tables from one on, the latest first.
func takeBack(t *testing.T, name, first string) {
	t.Helper()
	steps, err := filepath.Glob("../database/migrations/*.sql")
	if err != nil {
		t.Fatal(err)
	}
	db := rawOpen(t, name)
	for _, step := range slices.Backward(steps) {
		number, _, _ := strings.Cut(filepath.Base(step), "_")
		if number < first {
			return
		}
		text, err := os.ReadFile(step)
		if err != nil {
			t.Fatal(err)
		}
		_, down, _ := strings.Cut(string(text), "-- +goose Down")
		version, _ := strconv.Atoi(number) // it fails below
		if _, err := db.ExecContext(t.Context(), down+"; DELETE FROM goose_db_version WHERE version_id = ?", version); err != nil {
			t.Fatalf("take back %s: %v", step, err)
		}
	}
}
