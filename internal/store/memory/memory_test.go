package memory_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/store"
	"runpython/internal/store/memory"
)

func withChat(t *testing.T) *memory.Store {
	t.Helper()
	s := memory.New()
	if err := s.SaveChat(t.Context(), store.Chat{ID: "a"}); err != nil {
		t.Fatal(err)
	}
	return s
}

func hashes(files []store.File) []string {
	var all []string
	for _, f := range files {
		all = append(all, f.Hash)
	}
	slices.Sort(all)
	return all
}

// Every record that goes is returned once: its content is let go by it.
func TestWhatGoesIsReturned(t *testing.T) {
	s := withChat(t)
	for _, step := range []struct {
		changed []store.File
		deleted []string
		want    []string
	}{
		{changed: []store.File{{Path: "x", Hash: "1"}, {Path: "y", Hash: "2"}}},
		{changed: []store.File{{Path: "x", Hash: "3"}}, deleted: []string{"y", "z"}, want: []string{"1", "2"}},
		{changed: []store.File{{Path: "v", Hash: "4"}, {Path: "v", Hash: "5"}}, deleted: []string{"v"}, want: []string{"4", "5"}},
	} {
		gone, err := s.SaveFiles(t.Context(), "a", step.changed, step.deleted)
		if diff := cmp.Diff(step.want, hashes(gone)); diff != "" || err != nil {
			t.Errorf("SaveFiles(%v, %v): %v, gone (-want +got):\n%s", step.changed, step.deleted, err, diff)
		}
	}
	if _, err := s.SaveResult(t.Context(), "a", 1, store.File{Path: "r", Hash: "6"}, store.Bounds{Count: 1, Bytes: 1}); err != nil {
		t.Fatal(err)
	}
	gone, err := s.DeleteChat(t.Context(), "a")
	if diff := cmp.Diff([]string{"3", "6"}, hashes(gone)); diff != "" || err != nil {
		t.Errorf("DeleteChat: %v, gone (-want +got):\n%s", err, diff)
	}
	if _, err := s.SaveFiles(t.Context(), "a", nil, nil); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("SaveFiles of a chat that was deleted: %v; want not found", err)
	}
}

func TestResultsMakeRoom(t *testing.T) {
	s := withChat(t)
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
		gone, err := s.SaveResult(t.Context(), "a", step.run, store.File{Path: "r", Hash: fmt.Sprint(i), Size: step.size}, most)
		if diff := cmp.Diff(step.want, hashes(gone)); diff != "" || err != nil {
			t.Errorf("result %d: %v, gone (-want +got):\n%s", i, err, diff)
		}
	}
	if f, err := s.Result(t.Context(), "a", 6, "r"); f.Hash != "6" || err != nil {
		t.Errorf("the newest result: %+v, %v", f, err)
	}
	if _, err := s.Result(t.Context(), "a", 5, "r"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("an older result: %v; want not found", err)
	}
}

func TestRecent(t *testing.T) {
	s := memory.New()
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
		if err := s.SaveChat(t.Context(), store.Chat{ID: id, Owner: owner}); err != nil {
			t.Fatal(err)
		}
		if _, err := s.SaveFiles(t.Context(), id, files, nil); err != nil {
			t.Fatal(err)
		}
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
			if diff := cmp.Diff(all[after:min(after+most, len(all))], got); diff != "" || err != nil {
				t.Errorf("Recent(after %d, %d): %v (-want +got):\n%s", after, most, err, diff)
			}
		}
	}
}
