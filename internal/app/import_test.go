package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/app"
	"runpython/internal/chat"
	"runpython/internal/notebook"
)

// exported is a chat as a notebook.
func exported(t *testing.T, r *app.Records, id string) []byte {
	t.Helper()
	transcript, err := r.Transcript(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	err = notebook.WriteIPYNB(t.Context(), &b, notebook.Source{Chat: transcript, Python: "3.14.6", Open: func(ctx context.Context, f chat.File) (io.ReadCloser, error) {
		return r.Open(ctx, transcript, f)
	}})
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// imported makes a chat of a notebook.
func imported(t *testing.T, r *app.Records, book []byte, replay bool) string {
	t.Helper()
	read, err := notebook.ReadIPYNB(bytes.NewReader(book))
	if err != nil {
		t.Fatal(err)
	}
	id, err := r.Import(t.Context(), read.Turns, replay)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

// cellsOf are the cells of a notebook.
func cellsOf(t *testing.T, book []byte) []map[string]any {
	t.Helper()
	var b struct{ Cells []map[string]any }
	if err := json.Unmarshal(book, &b); err != nil {
		t.Fatal(err)
	}
	return b.Cells
}

// What is exported, imported and exported again has the same cells, whatever the first notebook was.
func TestNotebookComesBack(t *testing.T) {
	books, err := filepath.Glob("../notebook/testdata/books/*.ipynb")
	if err != nil || len(books) == 0 {
		t.Fatalf("there are no notebooks, %v", err)
	}
	r := recordsAt(t, t.TempDir())
	for _, name := range books {
		book, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		first := exported(t, r, imported(t, r, book, false))
		second := exported(t, r, imported(t, r, first, false))
		if diff := cmp.Diff(cellsOf(t, first), cellsOf(t, second)); diff != "" {
			t.Errorf("%s (-first +second):\n%s", name, diff)
		}
	}
}
