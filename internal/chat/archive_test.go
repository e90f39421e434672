package chat_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/chat"
	"runpython/internal/store"
)

// A transcript has what was sent and what came of it, also for a later process, and nobody but the owner gets it.
func TestTranscript(t *testing.T) {
	m := machine{t.TempDir()}
	var id string
	t.Run("before", func(t *testing.T) {
		s, _ := m.process(t, nil)
		id = ask(t, s, "", "set x").ChatID
		ask(t, s, id, "file data.csv 17")
	})
	s, _ := m.process(t, nil)
	got, err := s.Transcript(t.Context(), "", id)
	if err != nil {
		t.Fatal(err)
	}
	var codes []string
	for _, turn := range got.Turns {
		if !turn.OnlyCode {
			t.Errorf("turn %d is said to be more than code: %q", turn.Number, turn.Message)
		}
		for _, r := range turn.Runs {
			codes = append(codes, r.Code)
		}
	}
	if diff := cmp.Diff([]string{do("set x"), do("file data.csv 17")}, codes); diff != "" {
		t.Errorf("code (-want +got):\n%s", diff)
	}
	want := []chat.File{{Path: "data.csv", URI: "runpython://chats/" + id + "/files/data.csv", Size: 2}}
	if len(got.Files) == 1 {
		want[0].MIMEType = got.Files[0].MIMEType
	}
	if diff := cmp.Diff(want, got.Files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	for _, who := range []struct{ owner, id string }{{"someone", id}, {"", "nonsense"}} {
		if _, err := s.Transcript(t.Context(), who.owner, who.id); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("Transcript(%q, %q) = %v; want not found", who.owner, who.id, err)
		}
	}
}

// The list has every chat with what tells it from others, the last used first.
func TestSummaries(t *testing.T) {
	s, _ := newService(t, nil)
	first := ask(t, s, "", "set x").ChatID
	second := ask(t, s, "", "set y").ChatID
	ask(t, s, first, "set z")
	all, err := s.Summaries(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		ID    string
		Turns int
		Begin string
	}
	var got []row
	for _, c := range all {
		got = append(got, row{c.ID, c.Turns, c.Begin})
		if c.Bytes == 0 {
			t.Errorf("chat %s has no size", c.ID)
		}
		alone, err := s.Transcript(t.Context(), "", c.ID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(c, alone.Summary); diff != "" {
			t.Errorf("chat %s in the list and alone (-list +alone):\n%s", c.ID, diff)
		}
	}
	if diff := cmp.Diff([]row{{first, 2, do("set x")}, {second, 1, do("set y")}}, got); diff != "" {
		t.Errorf("chats (-want +got):\n%s", diff)
	}
}

// A chat that another process has is deleted there as well, and a chat that is gone is not found.
func TestDeleteWhatAnotherProcessHas(t *testing.T) {
	m := machine{t.TempDir()}
	a, _ := m.process(t, nil)
	b, _ := m.process(t, nil)
	id := ask(t, a, "", "set x").ChatID
	if err := b.Delete(t.Context(), "", id); err != nil {
		t.Fatal(err)
	}
	if reply := ask(t, a, id, "get x"); !reply.IsError || reply.ChatID != "" {
		t.Errorf("a turn of the deleted chat: %+v; want that there is none", reply)
	}
	if a.Living() != 0 {
		t.Errorf("%d interpreters live on", a.Living())
	}
	if err := b.Delete(t.Context(), "", id); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("Delete of a deleted chat = %v; want not found", err)
	}
}
