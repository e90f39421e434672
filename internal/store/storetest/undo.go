package storetest

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/store"
	"runpython/internal/store/database"
)

// turned saves a turn that leaves files.
func turned(t *testing.T, s *database.Store, l store.Lease, number int, c store.Changes) (gone []string) {
	t.Helper()
	if c.Turn = number; c.Most == (store.Bounds{}) {
		c.Most = roomy()
	}
	files, err := s.SaveFiles(t.Context(), l, c)
	turn := store.Turn{Number: number, Begun: start(), Message: fmt.Sprint(number), Runs: []store.Run{{Number: number, Code: "c"}}}
	turns, turnErr := s.SaveTurn(t.Context(), l, store.Chat{ID: l.Chat, Runs: number, Packages: "p"}, turn, 5)
	if err := errors.Join(err, turnErr); err != nil {
		t.Fatal(err)
	}
	return append(files, turns...)
}

// hashes are the contents of files, by path.
func hashes(t *testing.T, s *database.Store, id string) map[string]string {
	t.Helper()
	files, err := s.Files(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]string, len(files))
	for _, f := range files {
		got[f.Path] = f.Hash
	}
	return got
}

// testVersions: of each turn that is kept, and within the bound, it is known what files it has left, and only what changes is stored.
func testVersions(t *testing.T, d Database) {
	s := d.open(t)
	l := begin(t, s, store.Chat{ID: "a"})
	turned(t, s, l, 1, store.Changes{Changed: []store.File{{Path: "x", Hash: "1", Size: 10}, {Path: "y", Hash: "2", Size: 10}}})
	turned(t, s, l, 2, store.Changes{Changed: []store.File{{Path: "x", Hash: "3", Size: 10}, {Path: "y", Hash: "2", Stamp: "later"}}})
	turned(t, s, l, 3, store.Changes{Changed: []store.File{{Path: "z", Hash: "4"}, {Path: "z", Hash: "5"}}, Deleted: []string{"x"}})
	all, err := s.Manifest(t.Context(), "a")
	equal(t, "what turns have left", []store.Version{
		{File: store.File{Path: "x", Hash: "1", Size: 10}, Since: 1, Gone: 2}, {File: store.File{Path: "x", Hash: "3", Size: 10}, Since: 2, Gone: 3},
		{File: store.File{Path: "y", Hash: "2", Stamp: "later"}, Since: 1}, {File: store.File{Path: "z", Hash: "5"}, Since: 3},
	}, all, err)
	free, err := s.Unreferenced(t.Context(), []string{"1", "2", "3", "4", "5"})
	equal(t, "what no turn has left", []string{"4"}, free, err)
	stored, err := s.Stored(t.Context())
	if stored["a"] < 20 || err != nil {
		t.Errorf("what is stored: %v, %v; want the versions as well", stored, err)
	}
	gone := turned(t, s, l, 4, store.Changes{Changed: []store.File{{Path: "y", Hash: "6"}}, Most: store.Bounds{Count: 9, Bytes: 15}})
	equal(t, "what is too much", []string{"1"}, gone, nil)
	gone = turned(t, s, l, 5, store.Changes{Changed: []store.File{{Path: "y", Hash: "7"}}, Most: store.Bounds{Count: 2, Bytes: 99}})
	equal(t, "what is too many", []string{"3"}, gone, nil)
	for n := 6; n < 9; n++ {
		gone = turned(t, s, l, n, store.Changes{})
	}
	equal(t, "what only turns had that are dropped", []string{"2"}, gone, nil)
	c, err := s.Chat(t.Context(), "a")
	equal(t, "the horizon", 4, c.Horizon, err)
	gone = turned(t, s, l, 9, store.Changes{})
	equal(t, "what only the next one had", []string{"6"}, gone, nil)
	for n := 9; n > 5; n-- {
		if _, err := s.Undo(t.Context(), l, store.Undo{Turn: n}); err != nil {
			t.Fatalf("undo turn %d: %v", n, err)
		}
	}
	_, err = s.Undo(t.Context(), l, store.Undo{Turn: 5})
	is(t, "undo beyond the horizon", err, store.ErrForgotten)
	turns, err := s.Turns(t.Context(), "a", 9)
	if len(turns) != 1 || err != nil {
		t.Errorf("%d turns are left, %v; want 1", len(turns), err)
	}
}

// testUndo: a turn goes with all that it has made, and what was before it is there again.
func testUndo(t *testing.T, d Database) {
	s := d.open(t)
	l := begin(t, s, store.Chat{ID: "a", Loss: "it crashed"})
	want := []map[string]string{{}}
	for n, c := range []store.Changes{
		{Changed: []store.File{{Path: "x", Hash: "1"}, {Path: "link"}}},
		{Changed: []store.File{{Path: "x", Hash: "2"}, {Path: "y", Hash: "3"}}, Deleted: []string{"link"}},
		{Changed: []store.File{{Path: "link", Hash: "4"}}, Deleted: []string{"x", "y"}},
	} {
		n++
		turned(t, s, l, n, c)
		_, resultErr := s.SaveResult(t.Context(), l, n, store.File{Path: "r", Hash: fmt.Sprint("r", n)}, roomy())
		_, checkpointErr := s.SaveCheckpoint(t.Context(), l, store.Checkpoint{Folder: fmt.Sprint("f", n), Turn: n})
		if err := errors.Join(resultErr, checkpointErr); err != nil {
			t.Fatal(err)
		}
		want = append(want, hashes(t, s, "a"))
	}
	for _, undone := range []struct {
		turn int
		gone store.Undone
		left string // folder of the checkpoint
	}{
		{3, store.Undone{Contents: []string{"4", "r3"}, Folders: []string{"f3"}}, "f2"},
		{2, store.Undone{Contents: []string{"2", "3", "r2"}, Folders: []string{"f2"}}, ""},
		{1, store.Undone{Contents: []string{"1", "r1"}}, ""},
	} {
		gone, err := s.Undo(t.Context(), l, store.Undo{Turn: undone.turn, Run: undone.turn, Used: start()})
		gone.Contents = sorted(gone.Contents)
		equal(t, fmt.Sprintf("what is gone with turn %d", undone.turn), undone.gone, gone, err)
		if diff := cmp.Diff(want[undone.turn-1], hashes(t, s, "a")); diff != "" {
			t.Errorf("files after turn %d was undone (-want +got):\n%s", undone.turn, diff)
		}
		p, err := s.Checkpoint(t.Context(), "a")
		if p.Folder != undone.left || undone.left == "" && !errors.Is(err, store.ErrNotFound) {
			t.Errorf("the checkpoint is %+v, %v after turn %d was undone; want %q", p, err, undone.turn, undone.left)
		}
		turns, err := s.Turns(t.Context(), "a", 9)
		results, resultErr := s.Results(t.Context(), "a")
		equal(t, "turns and results", [2]int{undone.turn - 1, undone.turn - 1}, [2]int{len(turns), len(results)}, errors.Join(err, resultErr))
	}
	c, err := s.Chat(t.Context(), "a")
	equal(t, "the chat", store.Chat{ID: "a", Created: c.Created, Used: start(), Runs: 3, Packages: "p", Replay: store.ReplayAsKept}, c, err)
	_, err = s.Undo(t.Context(), l, store.Undo{Turn: 0})
	is(t, "undo of nothing", err, store.ErrForgotten)
}

// testFork: a copy has all that the chat has, and neither minds what becomes of the other.
func testFork(t *testing.T, d Database) {
	s, other := d.open(t), d.open(t)
	l := begin(t, s, store.Chat{ID: "a", Owner: "o\xff", Packages: "p"})
	turned(t, s, l, 1, store.Changes{Changed: []store.File{{Path: "x", Hash: "1"}}})
	turned(t, s, l, 2, store.Changes{Changed: []store.File{{Path: "x", Hash: "2"}}})
	if _, err := s.SaveResult(t.Context(), l, 1, store.File{Path: "r", Hash: "3"}, roomy()); err != nil {
		t.Fatal(err)
	}
	own := []store.Checkpoint{{Folder: "f", Bound: "k", Turn: 2, Bytes: 1 << 40}, {Folder: "g", Bound: "k", Turn: 1, Past: true}}
	if err := s.Fork(t.Context(), l, store.Fork{ID: "b", Begun: start(), Loss: "why", Checkpoints: own}); err != nil {
		t.Fatal(err)
	}
	fork := take(t, other, "b")
	wrote, err := other.Wrote(t.Context(), "b")
	equal(t, "the fence with which it was written", int64(store.FirstFence), wrote, err)
	c, err := other.Chat(t.Context(), "b")
	equal(t, "the copy", store.Chat{ID: "b", Owner: "o\xff", Created: start(), Used: start(), Runs: 2, Loss: "why", Packages: "p"}, c, err)
	all, err := other.Checkpoints(t.Context(), "b")
	equal(t, "its checkpoints", own, all, err)
	stored, err := other.Stored(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	one, err := other.StoredOf(t.Context(), "b")
	equal(t, "what is stored of one", stored["b"], one, err)
	if stored["b"] < 1<<40 {
		t.Errorf("what is stored: %v; want checkpoints as well", stored)
	}
	if _, err := s.DeleteChat(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	turns, err := other.Turns(t.Context(), "b", 9)
	results, resultErr := other.Results(t.Context(), "b")
	equal(t, "its turns and results", [2]int{2, 1}, [2]int{len(turns), len(results)}, errors.Join(err, resultErr))
	if _, err := other.Undo(t.Context(), fork, store.Undo{Turn: 2, Run: 2}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"x": "1"}, hashes(t, other, "b")); diff != "" {
		t.Errorf("its files when its last turn is undone (-want +got):\n%s", diff)
	}
}

// testImport: what comes from elsewhere is there at once, and nobody has it.
func testImport(t *testing.T, d Database) {
	s, other := d.open(t), d.open(t)
	c := store.Chat{ID: "a", Owner: "o", Created: start(), Used: start(), Runs: 1, Loss: "why", Replay: store.ReplayAsNew}
	turns := []store.Turn{{Number: 1, Begun: start(), Message: "m"}, {Number: 2, Begun: start(), Runs: []store.Run{{Number: 1, Code: "c"}}}}
	results := []store.Result{{Run: 1, File: store.File{Path: "r", Hash: "1", Size: 3, MIMEType: "image/png"}}}
	if err := s.Import(t.Context(), c, turns, results); err != nil {
		t.Fatal(err)
	}
	l := take(t, other, "a")
	got, err := other.Chat(t.Context(), "a")
	equal(t, "the chat", c, got, err)
	gotTurns, err := other.Turns(t.Context(), "a", 9)
	equal(t, "its turns", turns, gotTurns, err)
	gotResults, err := other.Results(t.Context(), "a")
	equal(t, "its results", results, gotResults, err)
	_, err = other.Undo(t.Context(), l, store.Undo{Turn: 2, Run: 1, Used: start()})
	is(t, "undo of what has not run here", err, nil)
	got, err = other.Chat(t.Context(), "a")
	c.Loss = ""
	equal(t, "the chat then", c, got, err)
	if err := s.Import(t.Context(), c, nil, nil); err == nil {
		t.Error("a chat was imported twice")
	}
}
