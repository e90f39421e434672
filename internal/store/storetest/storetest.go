// Package storetest is what every database of chats must do.
//
// # Trust
//
// It is part of tests only.
//
// # Failure
//
// It fails the test that runs it.
package storetest

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/store"
	"runpython/internal/store/database"
)

// A Database is a new one, with no chats in it.
type Database struct {
	// Open makes one more process on it, which the test closes.
	Open func(t *testing.T) *database.Store
	// SQL lets the suite do to the database what time does. The suite does not close it.
	SQL *sql.DB
}

// Run runs the suite, each part on a database of its own.
func Run(t *testing.T, fresh func(t *testing.T) Database) {
	for _, part := range []struct {
		name string
		test func(t *testing.T, d Database)
	}{
		{"chats", testChats}, {"unknown chats", testUnknown}, {"files", testFiles}, {"usage", testUsage}, {"any bytes", testAnyBytes}, {"recent files", testRecent},
		{"results make room", testResults}, {"results are listed", testResultList}, {"turns", testTurns}, {"outlines", testOutlines}, {"checkpoints", testCheckpoints}, {"contents", testContents},
		{"versions", testVersions}, {"undo", testUndo}, {"forks", testFork}, {"imports", testImport}, {"deletion", testDeletion},
		{"many chats come and go", testMany}, {"a lease", testLease}, {"the last write", testWrote}, {"a dead process", testDeadProcess}, {"a process that wakes late", testLate},
		{"the clock is set", testClock}, {"one of many takes", testRace}, {"faults", testFaults},
		{"users", testUsers}, {"identities", testIdentities}, {"departures", testDepartures}, {"browsers", testBrowsers}, {"clients", testClients}, {"assertions", testAssertions}, {"grants", testGrants}, {"many grants", testManyGrants}, {"rotation", testRotation},
		{"one of many redeems", testRedeem}, {"what is over is swept", testSweep}, {"passkeys", testPasskeys}, {"passkeys at once", testPasskeysAtOnce}, {"challenges", testChallenges},
	} {
		t.Run(part.name, func(t *testing.T) { part.test(t, fresh(t)) })
	}
}

// open opens a process that ends with the test.
func (d Database) open(t *testing.T) *database.Store {
	t.Helper()
	s := d.Open(t)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return s
}

// exec does something to the database that no process does.
func (d Database) exec(t *testing.T, statement string, args ...any) {
	t.Helper()
	if _, err := d.SQL.ExecContext(context.WithoutCancel(t.Context()), statement, args...); err != nil {
		t.Fatal(err)
	}
}

// start is a time as databases keep it.
func start() time.Time { return time.Unix(1_700_000_000, 123_456_789) }

func begin(t *testing.T, s *database.Store, c store.Chat) store.Lease {
	t.Helper()
	l, err := s.Begin(t.Context(), c)
	if err != nil {
		t.Fatalf("Begin(%q) = %v", c.ID, err)
	}
	return l
}

// equal compares what a call has returned.
func equal[T any](t *testing.T, what string, want, got T, err error) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%s: %v (-want +got):\n%s", what, err, diff)
	}
}

func is(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: %v; want %v", what, err, want)
	}
}

func testChats(t *testing.T, d Database) {
	s, other := d.open(t), d.open(t)
	later := store.Chat{ID: "b", Owner: "eve\x00\xff", Created: start(), Used: start().Add(time.Hour), Runs: 3, Packages: `{"x":1}`, Loss: "it crashed"}
	earlier := store.Chat{ID: "a", Created: start(), Used: start()}
	l := begin(t, s, later)
	begin(t, s, earlier)
	got, err := other.Chats(t.Context())
	equal(t, "chats", []store.Chat{earlier, later}, got, err)
	later.Runs, later.Used, later.Packages, later.Loss = 4, start().Add(2*time.Hour), "", ""
	if err := s.SaveChat(t.Context(), l, later); err != nil {
		t.Error(err)
	}
	one, err := other.Chat(t.Context(), "b")
	equal(t, "a chat that was saved again", later, one, err)
	if _, err := s.Begin(t.Context(), earlier); err == nil {
		t.Error("a chat was begun twice")
	}
}

func testUnknown(t *testing.T, d Database) {
	s := d.open(t)
	unknown := store.Lease{Chat: "none", Fence: 1}
	_, err := s.Chat(t.Context(), "none")
	is(t, "Chat", err, store.ErrNotFound)
	_, _, err = s.Take(t.Context(), "none")
	is(t, "Take", err, store.ErrNotFound)
	_, err = s.Files(t.Context(), "none")
	is(t, "Files", err, store.ErrNotFound)
	_, err = s.File(t.Context(), "none", "x")
	is(t, "File", err, store.ErrNotFound)
	_, err = s.Result(t.Context(), "none", 1, "x")
	is(t, "Result", err, store.ErrNotFound)
	_, err = s.Checkpoint(t.Context(), "none")
	is(t, "Checkpoint", err, store.ErrNotFound)
	is(t, "SaveChat", s.SaveChat(t.Context(), unknown, store.Chat{ID: "none"}), store.ErrNotFound)
	_, err = s.SaveTurn(t.Context(), unknown, store.Chat{ID: "none"}, store.Turn{Number: 1}, 10)
	is(t, "SaveTurn", err, store.ErrNotFound)
	_, err = s.Undo(t.Context(), unknown, store.Undo{Turn: 1})
	is(t, "Undo", err, store.ErrNotFound)
	is(t, "Fork", s.Fork(t.Context(), unknown, store.Fork{ID: "other"}), store.ErrNotFound)
	_, err = s.SaveFiles(t.Context(), unknown, store.Changes{})
	is(t, "SaveFiles", err, store.ErrNotFound)
	_, err = s.DeleteChat(t.Context(), unknown)
	is(t, "DeleteChat", err, store.ErrNotFound)
	equal(t, "Release", nil, s.Release(t.Context(), unknown, ""), nil)
	equal(t, "Ask", nil, s.Ask(t.Context(), "none"), nil)
	turns, err := s.Turns(t.Context(), "none", 10)
	equal(t, "Turns", nil, turns, err)
	results, err := s.Results(t.Context(), "none")
	equal(t, "Results", nil, results, err)
	outlines, err := s.Outlines(t.Context(), 10)
	equal(t, "Outlines", nil, outlines, err)
	_, err = s.Wrote(t.Context(), "none")
	is(t, "Wrote", err, store.ErrNotFound)
}

func testTurns(t *testing.T, d Database) {
	s, other := d.open(t), d.open(t)
	c := store.Chat{ID: "a", Created: start(), Used: start()}
	l := begin(t, s, c)
	var want []store.Turn
	for i := 1; i <= 5; i++ {
		turn := store.Turn{
			Number: i, Begun: start().Add(time.Duration(i)), Message: "what\x00 is é?", Words: "this",
			Steps: []store.Step{{Said: "s", Code: "c", Result: "r", Failed: true}}, Runs: []store.Run{{Code: "c", Stdout: "o", Stderr: "e", Value: "v", Error: "x"}},
		}
		c.Runs = i
		if _, err := s.SaveTurn(t.Context(), l, c, turn, 3); err != nil {
			t.Fatal(err)
		}
		want = append(want, turn)
	}
	got, err := other.Turns(t.Context(), "a", 10)
	equal(t, "all turns that are kept", want[2:], got, err)
	got, err = other.Turns(t.Context(), "a", 2)
	equal(t, "the last two turns", want[3:], got, err)
	record, err := other.Chat(t.Context(), "a")
	c.Horizon = 3 // what the third has found is not kept
	equal(t, "the chat as its last turn has it", c, record, err)
	want[4].Words = "again"
	if _, err := s.SaveTurn(t.Context(), l, c, want[4], 3); err != nil {
		t.Fatal(err)
	}
	got, err = other.Turns(t.Context(), "a", 1)
	equal(t, "a turn that was saved again", want[4:], got, err)
}

// testOutlines: a list of chats shows how many turns each has had, and how the oldest that is kept begins.
func testOutlines(t *testing.T, d Database) {
	s, other := d.open(t), d.open(t)
	begin(t, s, store.Chat{ID: "without turns"})
	for _, c := range []struct {
		id       string
		messages []string
	}{{"a", []string{"first", "second", "third"}}, {"b", []string{"caf\u00e9"}}, {"c", []string{"\x00\xff"}}, {"d", []string{""}}} {
		l := begin(t, s, store.Chat{ID: c.id})
		for i, message := range c.messages {
			if _, err := s.SaveTurn(t.Context(), l, store.Chat{ID: c.id}, store.Turn{Number: i + 1, Message: message}, 2); err != nil {
				t.Fatal(err)
			}
		}
	}
	got, err := other.Outlines(t.Context(), 4)
	slices.SortFunc(got, func(a, b store.Outline) int { return strings.Compare(a.Chat, b.Chat) })
	equal(t, "the outlines", []store.Outline{
		{Chat: "a", Turns: 3, Begin: "seco"}, {Chat: "b", Turns: 1, Begin: "caf\xc3"}, {Chat: "c", Turns: 1, Begin: "\x00\xff"}, {Chat: "d", Turns: 1},
	}, got, err)
}

func testCheckpoints(t *testing.T, d Database) {
	s := d.open(t)
	l := begin(t, s, store.Chat{ID: "a"})
	for _, step := range []struct {
		save store.Checkpoint
		gone []string
		past string // the folder of the one before
	}{
		{store.Checkpoint{Folder: "f", Bound: "k", Turn: 1}, nil, ""},
		{store.Checkpoint{Folder: "g", Bound: "k", Turn: 1}, []string{"f"}, ""},
		{store.Checkpoint{Folder: "h", Bound: "k", Turn: 3}, nil, "g"},
		{store.Checkpoint{Folder: "i", Bound: "k", Turn: 3}, []string{"h"}, "g"},
		{store.Checkpoint{Folder: "j", Bound: "k", Turn: 4, Interrupted: true}, []string{"g"}, "i"},
		{store.Checkpoint{Folder: "k", Bound: "k2", Turn: 7, Bytes: 1 << 40}, []string{"j"}, "i"},
	} {
		gone, err := s.SaveCheckpoint(t.Context(), l, step.save)
		equal(t, "what "+step.save.Folder+" makes needless", step.gone, gone, err)
		got, err := s.Checkpoint(t.Context(), "a")
		equal(t, "the latest checkpoint", step.save, got, err)
		all, err := s.Checkpoints(t.Context(), "a")
		past := ""
		if len(all) == 2 && all[1].Past {
			past = all[1].Folder
		}
		equal(t, "the one before "+step.save.Folder, step.past, past, err)
	}
	folders, err := s.CheckpointFolders(t.Context())
	equal(t, "the folders of all", []string{"i", "k"}, sorted(folders), err)
	dropped, err := s.DropCheckpoint(t.Context(), l)
	equal(t, "what is forgotten", "k", dropped, err)
	_, err = s.Checkpoint(t.Context(), "a")
	is(t, "a checkpoint that is forgotten", err, store.ErrNotFound)
	dropped, err = s.DropCheckpoint(t.Context(), l)
	equal(t, "what is forgotten then", "", dropped, err)
	gone, err := s.DeleteChat(t.Context(), l)
	equal(t, "the folders of a chat that is deleted", []string{"i"}, gone.Folders, err)
}
