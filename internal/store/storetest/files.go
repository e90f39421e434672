package storetest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"runpython/internal/extent"
	"runpython/internal/store"
	"runpython/internal/store/database"
)

func saveFiles(t *testing.T, s *database.Store, l store.Lease, files ...store.File) {
	t.Helper()
	if _, err := s.SaveFiles(t.Context(), l, store.Changes{Turn: 1, Changed: files, Most: roomy()}); err != nil {
		t.Fatal(err)
	}
}

// roomy bounds nothing.
func roomy() store.Bounds { return store.Bounds{Count: 1 << 20, Bytes: 1 << 40} }

func sorted(texts []string) []string {
	slices.Sort(texts)
	return texts
}

// testFiles: every content that goes with a record is returned.
func testFiles(t *testing.T, d Database) {
	s := d.open(t)
	l := begin(t, s, store.Chat{ID: "a"})
	for _, step := range []struct {
		changed []store.File
		deleted []string
		want    []string
	}{
		{changed: []store.File{{Path: "x", Hash: "1"}, {Path: "y", Hash: "2"}, {Path: "link"}}},
		{changed: []store.File{{Path: "x", Hash: "3"}, {Path: "link"}}, deleted: []string{"y", "z"}, want: []string{"1", "2"}},
		{changed: []store.File{{Path: "v", Hash: "4"}, {Path: "v", Hash: "5"}}, deleted: []string{"v", "link"}, want: []string{"4", "5"}},
	} {
		gone, err := s.SaveFiles(t.Context(), l, store.Changes{Turn: 1, Changed: step.changed, Deleted: step.deleted, Most: roomy()})
		equal(t, fmt.Sprintf("SaveFiles(%v, %v)", step.changed, step.deleted), step.want, sorted(gone), err)
	}
	_, err := s.File(t.Context(), "a", "v")
	is(t, "a file that was deleted", err, store.ErrNotFound)
	files, err := s.Files(t.Context(), "a")
	equal(t, "the files", []store.File{{Path: "x", Hash: "3"}}, files, err)
}

func testAnyBytes(t *testing.T, d Database) {
	s, other := d.open(t), d.open(t)
	l := begin(t, s, store.Chat{ID: "a"})
	var want []store.File
	for i, path := range []string{"\x01\xff", "a\nb", "caf\u00e9", "cafe\u0301", strings.Repeat("d/", 2040) + "f", "\xf0\x28"} {
		f := store.File{Path: path, Hash: fmt.Sprint(i), Size: 1 << 40, MIMEType: "text/plain", Stamp: "\x00\xfe" + fmt.Sprint(i), Saved: start().Add(time.Duration(i))}
		saveFiles(t, s, l, f)
		got, err := other.File(t.Context(), "a", path)
		equal(t, fmt.Sprintf("File(%.20q)", path), f, got, err)
		want = append(want, f)
	}
	slices.SortFunc(want, func(a, b store.File) int { return strings.Compare(a.Path, b.Path) })
	got, err := other.Files(t.Context(), "a")
	equal(t, "Files", want, got, err)
}

func testRecent(t *testing.T, d Database) {
	s := d.open(t)
	at := func(seconds int64) time.Time { return time.Unix(seconds, 0) }
	for id, files := range map[string][]store.File{
		"a": {{Path: "old", Hash: "1", Saved: at(1)}, {Path: "new", Hash: "2", Saved: at(9)}, {Path: "link", Saved: at(5)}},
		"b": {{Path: "y", Hash: "3", Saved: at(4)}, {Path: "x", Hash: "4", Saved: at(4)}},
		"c": {{Path: "foreign", Hash: "5", Saved: at(7)}},
	} {
		owner := ""
		if id == "c" {
			owner = "eve"
		}
		saveFiles(t, s, begin(t, s, store.Chat{ID: id, Owner: owner}), files...)
	}
	all := []string{"a/new", "b/x", "b/y", "a/old"}
	for most := 1; most <= len(all)+1; most++ {
		for after := range len(all) + 1 {
			place := store.Place{}
			if after > 0 {
				chat, path, _ := strings.Cut(all[after-1], "/")
				f, err := s.File(t.Context(), chat, path)
				if err != nil {
					t.Fatal(err)
				}
				place = store.Listed{Chat: chat, File: f}.Place()
			}
			listed, err := s.Recent(t.Context(), "", place, most)
			got := []string{}
			for _, l := range listed {
				got = append(got, l.Chat+"/"+l.File.Path)
			}
			equal(t, fmt.Sprintf("Recent(after %d, %d)", after, most), all[after:min(after+most, len(all))], got, err)
		}
	}
}

func testResults(t *testing.T, d Database) {
	s := d.open(t)
	l := begin(t, s, store.Chat{ID: "a"})
	most := store.Bounds{Count: 3, Bytes: 10}
	for i, step := range []struct {
		run  int
		size int64
		want []string
	}{
		{run: 1, size: 1}, {run: 2, size: 2}, {run: 3, size: 3},
		{run: 4, size: 1, want: []string{"0"}},      // a fourth one
		{run: 5, size: 7, want: []string{"1", "2"}}, // 13 bytes
		{run: 5, size: 8, want: []string{"4"}},      // the same name
		{run: 6, size: 11, want: []string{"3", "5"}},
	} {
		gone, err := s.SaveResult(t.Context(), l, step.run, store.File{Path: "r", Hash: fmt.Sprint(i), Size: step.size, MIMEType: "image/png"}, most)
		equal(t, fmt.Sprintf("result %d", i), step.want, sorted(gone), err)
	}
	f, err := s.Result(t.Context(), "a", 6, "r")
	equal(t, "the newest result", store.File{Path: "r", Hash: "6", Size: 11, MIMEType: "image/png"}, f, err)
	_, err = s.Result(t.Context(), "a", 5, "r")
	is(t, "an older result", err, store.ErrNotFound)
}

// testResultList: the results of a chat are listed as they came, without those that have made room, and one that was made
// again as the newest.
func testResultList(t *testing.T, d Database) {
	s, other := d.open(t), d.open(t)
	a, b := begin(t, s, store.Chat{ID: "a"}), begin(t, s, store.Chat{ID: "b"})
	var all []store.Result
	for i, at := range []struct {
		l    store.Lease
		run  int
		name string
	}{{a, 1, "figure-1.png"}, {a, 1, "stdout.txt"}, {b, 1, "figure-1.png"}, {a, 3, "figure-1.png"}, {a, 2, "figure-1.png"}, {a, 1, "stdout.txt"}} {
		f := store.File{Path: at.name, Hash: fmt.Sprint(i), Size: int64(i), MIMEType: "image/png"}
		if _, err := s.SaveResult(t.Context(), at.l, at.run, f, store.Bounds{Count: 3, Bytes: 99}); err != nil {
			t.Fatal(err)
		}
		all = append(all, store.Result{Run: at.run, File: f})
	}
	got, err := other.Results(t.Context(), "a")
	equal(t, "the results of the one", []store.Result{all[3], all[4], all[5]}, got, err)
	got, err = other.Results(t.Context(), "b")
	equal(t, "the results of the other", []store.Result{all[2]}, got, err)
}

// testContents: the database knows which contents anybody refers to.
func testContents(t *testing.T, d Database) {
	s := d.open(t)
	a, b := begin(t, s, store.Chat{ID: "a"}), begin(t, s, store.Chat{ID: "b"})
	saveFiles(t, s, a, store.File{Path: "x", Hash: "1", Size: 5}, store.File{Path: "y", Size: 100})
	saveFiles(t, s, b, store.File{Path: "x", Hash: "1", Size: 5})
	if _, err := s.SaveResult(t.Context(), b, 1, store.File{Path: "r", Hash: "2", Size: 7}, store.Bounds{Count: 9, Bytes: 99}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.SaveTurn(t.Context(), b, store.Chat{ID: "b"}, store.Turn{Number: 1, Message: "12", Words: "345"}, 9); err != nil {
		t.Fatal(err)
	}
	for _, bytes := range []int64{900, 1000} { // the second replaces the first
		if _, err := s.SaveCheckpoint(t.Context(), a, store.Checkpoint{Folder: "f", Bytes: bytes}); err != nil {
			t.Fatal(err)
		}
	}
	free, err := s.Unreferenced(t.Context(), []string{"1", "2", "3"})
	equal(t, "what nobody refers to", []string{"3"}, free, err)
	stored, err := s.Stored(t.Context())
	equal(t, "what is stored", map[string]int64{"a": 5 + 1000, "b": 5 + 7 + 5 + int64(len("nullnull"))}, stored, err)
	had, err := s.DeleteChat(t.Context(), b)
	equal(t, "what a chat had", []string{"1", "2"}, sorted(had.Contents), err)
	free, err = s.Unreferenced(t.Context(), had.Contents)
	equal(t, "what nobody else refers to", []string{"2"}, free, err)
}

// testDeletion: nothing of a chat is left in any table.
func testDeletion(t *testing.T, d Database) {
	s := d.open(t)
	l := begin(t, s, store.Chat{ID: "a"})
	fillChat(t, s, l)
	if _, err := s.DeleteChat(t.Context(), l); err != nil {
		t.Fatal(err)
	}
	_, err := s.DeleteChat(t.Context(), l)
	is(t, "a second deletion", err, store.ErrNotFound)
	d.wantEmpty(t)
}

// fillChat gives a chat one of everything.
func fillChat(t *testing.T, s *database.Store, l store.Lease) {
	t.Helper()
	saveFiles(t, s, l, store.File{Path: "x", Hash: "1", Size: 5})
	_, resultErr := s.SaveResult(t.Context(), l, 1, store.File{Path: "r", Hash: "2", Size: 7}, store.Bounds{Count: 9, Bytes: 99})
	_, turnErr := s.SaveTurn(t.Context(), l, store.Chat{ID: l.Chat}, store.Turn{Number: 1, Message: "m"}, 9)
	_, checkpointErr := s.SaveCheckpoint(t.Context(), l, store.Checkpoint{Folder: "f"})
	for _, err := range []error{resultErr, turnErr, checkpointErr} {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (d Database) wantEmpty(t *testing.T) {
	t.Helper()
	for _, table := range []string{"chats", "files", "versions", "results", "turns", "checkpoints"} {
		var n int
		if err := d.SQL.QueryRowContext(t.Context(), "SELECT COUNT(*) FROM "+table).Scan(&n); err != nil || n != 0 {
			t.Errorf("%d rows in %s, %v; want none", n, table, err)
		}
	}
}

// comeAndGo is how many chats begin and are deleted in a test.
const comeAndGo = 5000

// testMany: chats that were deleted leave no row behind.
func testMany(t *testing.T, d Database) {
	if testing.Short() {
		t.Skip("thousands of chats: not with -short")
	}
	extent.Slow(t)
	s := d.open(t)
	const together = 100
	for i := 0; i < comeAndGo; i += together {
		var leases []store.Lease
		for j := range together {
			l := begin(t, s, store.Chat{ID: fmt.Sprint(i + j), Owner: "o", Packages: strings.Repeat("p", 500)})
			saveFiles(t, s, l, store.File{Path: "x", Hash: "1"})
			leases = append(leases, l)
		}
		for _, l := range leases {
			if _, err := s.DeleteChat(t.Context(), l); err != nil {
				t.Fatal(err)
			}
		}
	}
	d.wantEmpty(t)
}

func testUsage(t *testing.T, d Database) {
	s, other := d.open(t), d.open(t)
	got, err := s.Usage(t.Context())
	equal(t, "usage of nothing", map[string]store.Usage{}, got, err)
	for _, c := range []store.Chat{{ID: "a", Owner: "u1"}, {ID: "b", Owner: "u1"}, {ID: "c"}, {ID: "d", Owner: "\xff"}} {
		l := begin(t, s, c)
		if c.ID != "b" {
			saveFiles(t, s, l, store.File{Path: "x", Hash: "1", Size: 1 << 40}, store.File{Path: "y", Hash: "2", Size: 7})
		}
	}
	got, err = other.Usage(t.Context())
	equal(t, "usage", map[string]store.Usage{"u1": {Chats: 2, Bytes: 1<<40 + 7}, "": {Chats: 1, Bytes: 1<<40 + 7}, "\xff": {Chats: 1, Bytes: 1<<40 + 7}}, got, err)
}
