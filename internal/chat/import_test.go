package chat_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/chat"
	"runpython/internal/fault"
)

// cells are turns of code.
func cells(words ...string) []chat.ImportedTurn {
	var turns []chat.ImportedTurn
	for _, w := range words {
		turns = append(turns, chat.ImportedTurn{Runs: []chat.ImportedRun{{Run: chat.Run{Code: do(w)}}}})
	}
	return turns
}

// An imported chat has not run: its first turn says so. With replay that turn executes the code before.
func TestImport(t *testing.T) {
	for _, replay := range []bool{false, true} {
		t.Run(fmt.Sprint(replay), func(t *testing.T) {
			s, w := newService(t, nil)
			turns := append([]chat.ImportedTurn{{Message: "a **title**"}}, cells("set x", "file a.txt one", "get y")...)
			turns[2].Runs[0].Pictures = []chat.Picture{{Name: "figure-1.png", MIMEType: "image/png", Data: []byte("p")}}
			id, err := s.Import(t.Context(), "", turns, replay)
			if err != nil || w.started != 0 {
				t.Fatalf("Import = %v, and %d interpreters were started; want none", err, w.started)
			}
			got, err := s.Transcript(t.Context(), "", id)
			if err != nil || len(got.Turns) != 4 || got.Turns[0].OnlyCode || !got.Turns[1].OnlyCode || len(got.Turns[2].Runs[0].Results) != 1 {
				t.Fatalf("the transcript is %+v, %v", got, err)
			}
			if text := read(t, s, got.Turns[2].Runs[0].Results[0].URI); text != "p" {
				t.Errorf("the picture is %q", text)
			}
			reply := ask(t, s, id, "get x")
			if !replay {
				wantState(t, reply, chat.Reset, "was imported")
				return
			}
			wantGot(t, reply, chat.Restored)
			if !strings.Contains(reply.Text, "turns 2 to 4 were executed again") || !strings.Contains(reply.Text, "run 3 of turn 4 failed now") {
				t.Errorf("it is told as %q", reply.Text)
			}
			if files, _ := paths(t, s, id); !slices.Equal(files, []string{"a.txt"}) {
				t.Errorf("files %v; want that of a cell", files)
			}
			for _, want := range [][]string{{"a.txt"}, {"a.txt"}, nil} {
				undo(t, s, id)
				if files, _ := paths(t, s, id); !slices.Equal(files, want) {
					t.Errorf("files %v after undo; want %v", files, want)
				}
			}
		})
	}
}

// What was imported without replay is not executed by an undo either.
func TestUndoDoesNotRunWhatWasImported(t *testing.T) {
	s, _ := newService(t, nil)
	id, err := s.Import(t.Context(), "", cells("set x"), false)
	if err != nil {
		t.Fatal(err)
	}
	ask(t, s, id, "set y")
	ask(t, s, id, "set z")
	if diff := cmp.Diff(&chat.Undone{Turn: 3, Message: do("set z"), Again: []int{2}}, undo(t, s, id)); diff != "" {
		t.Errorf("Undo (-want +got):\n%s", diff)
	}
	reply := ask(t, s, id, "get y")
	wantGot(t, reply, chat.Restored)
	if !strings.Contains(reply.Text, "run 1 of turn 1 was left out, since it was imported") || !ask(t, s, id, "get x").IsError {
		t.Errorf("it is told as %q; want that the cell is left out, and no x", reply.Text)
	}
	for range 2 {
		undo(t, s, id) // until nothing is left but the cell
	}
	if done := undo(t, s, id); done.Loss == "" || done.Again != nil {
		t.Errorf("Undo = %+v; want that the variables are lost", done)
	}
	wantState(t, ask(t, s, id, "get x"), chat.Reset, "was imported")
}

// Cells may ask for packages as notebooks do, and code of any length and with any fences is executed as it is.
func TestImportedCellsAreRead(t *testing.T) {
	s, _ := newService(t, nil)
	turns := cells("set x")
	turns = append(turns, chat.ImportedTurn{Runs: []chat.ImportedRun{{Run: chat.Run{Code: "%matplotlib inline\n'''\n```python\n1\n```\n'''\n" + do("set y")}}}})
	id, err := s.Import(t.Context(), "", turns, true)
	if err != nil {
		t.Fatal(err)
	}
	wantGot(t, ask(t, s, id, "get y"), chat.Restored)
	undo(t, s, id)
	undo(t, s, id)
	if !ask(t, s, id, "get y").IsError {
		t.Error("a variable of a cell that was undone is there")
	}
}

// A cell in another language is left out when cells are executed, and not told as one that has worked.
func TestImportedCellIsNoPython(t *testing.T) {
	s, _ := newService(t, nil)
	id, err := s.Import(t.Context(), "", cells("set x", "notcode"), true)
	if err != nil {
		t.Fatal(err)
	}
	reply := ask(t, s, id, "get x")
	wantGot(t, reply, chat.Restored)
	if !strings.Contains(reply.Text, "run 2 of turn 2 was left out, since it is no Python") {
		t.Errorf("it is told as %q", reply.Text)
	}
}

func TestImportIsBounded(t *testing.T) {
	s, _ := newService(t, nil)
	_, err := s.Import(t.Context(), "", make([]chat.ImportedTurn, chat.MaxImportedTurns+1), false)
	if kind, text := fault.Shown(err); kind != fault.Invalid || !strings.Contains(text, "1001 turns") {
		t.Errorf("Import of too many turns = %v", err)
	}
	many := cells(slices.Repeat([]string{"set x"}, 201)...)
	for i := range many {
		many[i].Runs[0].Pictures = []chat.Picture{{Name: "figure-1.png", MIMEType: "image/png", Data: []byte{1}}}
	}
	id, err := s.Import(t.Context(), "", many, true)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.Transcript(t.Context(), "", id)
	if err != nil || len(got.Turns[0].Runs[0].Results) != 0 || len(got.Turns[1].Runs[0].Results) != 1 {
		t.Errorf("of 201 pictures not the latest 200 are kept, %v", err)
	}
	wantState(t, ask(t, s, id, "get x"), chat.Reset, "201 turns would have to be executed again, and the most is 200")
	wantState(t, ask(t, s, id, "set x"), chat.Kept, "")
}
