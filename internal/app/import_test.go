package app_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/app"
	"runpython/internal/chat"
	"runpython/internal/extent"
	"runpython/internal/guesttest"
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

// The cells of a notebook that is imported with replay run before the first turn, with the files that were put into the chat, and
// what they leave is kept.
func TestImportedCellsRun(t *testing.T) {
	extent.Slow(t)
	const book = `{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
		{"cell_type": "markdown", "id": "a", "metadata": {}, "source": "# Sum"},
		{"cell_type": "code", "id": "b", "metadata": {}, "execution_count": 1, "outputs": [], "source": "%matplotlib inline\nx = int(open('data.csv').read())"},
		{"cell_type": "code", "id": "c", "metadata": {}, "execution_count": 2, "outputs": [], "source": "_ = open('out.txt', 'w').write(str(x + 1))"},
		{"cell_type": "code", "id": "d", "metadata": {}, "execution_count": 3, "outputs": [], "source": "input('who?')"}]}`
	data := guesttest.Data(t)
	a := openAt(t, data, nil)
	r := recordsAt(t, data)
	id := imported(t, r, []byte(book), true)
	if _, err := a.PutFile(t.Context(), "", id, "data.csv", strings.NewReader("41")); err != nil {
		t.Fatal(err)
	}
	reply, got := printed(t, a, id, "print(x, open('out.txt').read())")
	if got != "41 42" || reply.State != chat.Restored {
		t.Errorf("the chat goes on with %q, state %q %s", got, reply.State, reply.StateReason)
	}
	for _, want := range []string{"the runs of turns 2 to 4 were executed again", "run 3 of turn 4 failed now"} {
		if !strings.Contains(reply.Text, want) {
			t.Errorf("it is not told that %s:\n%s", want, reply.Text)
		}
	}
	transcript, err := r.Transcript(t.Context(), id)
	if err != nil || len(transcript.Files) != 2 || len(transcript.Turns) != 5 {
		t.Errorf("the chat has %+v, %v; want the files of person and cells", transcript, err)
	}
}
