package app_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"runpython/internal/extent"
	"runpython/internal/guesttest"
	"runpython/internal/store"
	kept "runpython/internal/store/content"
	"runpython/internal/store/sqlite"
)

// undone is how many turns the chat of the test has, each of which has left a file with its number.
const undone = 25

// written makes a chat as a server would have left it, and returns its id.
func written(t *testing.T, data string) string {
	t.Helper()
	id := strings.Repeat("k", 26)
	records, err := sqlite.Open(t.Context(), filepath.Join(data, "chats.db"))
	if err != nil {
		t.Fatal(err)
	}
	files, err := kept.Open(t.Context(), filepath.Join(data, "content"))
	if err != nil {
		t.Fatal(err)
	}
	l, err := records.Begin(t.Context(), store.Chat{ID: id})
	for n := 1; n <= undone && err == nil; n++ {
		text := fmt.Sprint(n)
		hash, size, contentErr := files.Put(strings.NewReader(text))
		_, filesErr := records.SaveFiles(t.Context(), l, store.Changes{
			Turn: n, Changed: []store.File{{Path: "n", Hash: hash, Size: size, Stamp: text}}, Most: store.Bounds{Count: undone, Bytes: 1 << 20},
		})
		_, turnErr := records.SaveTurn(t.Context(), l, store.Chat{ID: id, Runs: n}, store.Turn{Number: n, Runs: []store.Run{{Number: n, Code: "pass"}}}, undone)
		err = errors.Join(contentErr, filesErr, turnErr, files.Release(hash))
	}
	if err = errors.Join(err, files.Close(), records.Close()); err != nil {
		t.Fatal(err)
	}
	return id
}

// turnsAndFile returns how many turns a chat has, and what is in its file; "" without one.
func turnsAndFile(t *testing.T, data, id string) (turns int, text string) {
	t.Helper()
	r := recordsAt(t, data)
	transcript, err := r.Transcript(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range transcript.Files {
		body, err := r.Open(t.Context(), transcript, f)
		if err != nil {
			t.Fatalf("file of turn %d: %v", len(transcript.Turns), err)
		}
		data, err := io.ReadAll(body)
		if err = errors.Join(err, body.Close()); err != nil {
			t.Fatal(err)
		}
		text += string(data)
	}
	return len(transcript.Turns), text
}

// Whenever an undo is killed, it was done as a whole or not at all.
func TestUndoIsKilled(t *testing.T) {
	extent.Long(t)
	binary, data := guesttest.Binary(t), t.TempDir()
	id := written(t, data)
	whole, cut := 0, 0
	for before := undone; before > 0; {
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(rand.IntN(200))*time.Millisecond)
		out, err := exec.CommandContext(ctx, binary, "chats", "undo", "--data", data, id).CombinedOutput()
		killed := ctx.Err() != nil
		cancel()
		after, text := turnsAndFile(t, data, id)
		want := fmt.Sprint(after)
		if after == 0 {
			want = ""
		}
		if text != want || after != before && after != before-1 || err == nil && after == before {
			t.Fatalf("%d turns and then %d, the file has %q; want %q; undo: %v %s", before, after, text, want, err, out)
		}
		if err != nil && !killed {
			t.Fatalf("undo of turn %d: %v\n%s", before, err, out)
		}
		if killed {
			cut++
		}
		whole += before - after
		before = after
	}
	t.Logf("%d undone, %d killed", whole, cut)
	_, err := recordsAt(t, data).Undo(t.Context(), id)
	if err == nil {
		t.Error("an empty chat was undone")
	}
}
