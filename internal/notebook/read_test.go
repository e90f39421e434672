package notebook_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/chat"
	"runpython/internal/fault"
	"runpython/internal/notebook"
)

func readString(t *testing.T, book string) *notebook.Imported {
	t.Helper()
	got, err := notebook.ReadIPYNB(strings.NewReader(book))
	if err != nil {
		t.Fatalf("ReadIPYNB(%.80q) = %v", book, err)
	}
	return got
}

// What a chat has exported are its turns again.
func TestExportIsRead(t *testing.T) {
	got := readString(t, string(ipynb(t)))
	var want []chat.ImportedTurn
	for _, turn := range sample().Chat.Turns {
		w := chat.ImportedTurn{Words: turn.Words}
		if !turn.OnlyCode {
			w.Message = turn.Message
		}
		for _, r := range turn.Runs {
			r.Limited = r.Error != "" && !strings.HasPrefix(r.Error, "Traceback")
			run := chat.ImportedRun{Run: r.Run}
			for _, f := range r.Results {
				run.Pictures = append(run.Pictures, chat.Picture{Name: f.Path, MIMEType: f.MIMEType})
			}
			w.Runs = append(w.Runs, run)
		}
		want = append(want, w)
	}
	for i := range got.Turns {
		for j := range got.Turns[i].Runs {
			for k := range got.Turns[i].Runs[j].Pictures {
				p := &got.Turns[i].Runs[j].Pictures[k]
				if !bytes.HasPrefix(p.Data, []byte("\x89PNG")) {
					t.Errorf("picture %s has %q", p.Name, p.Data)
				}
				p.Data = nil
			}
		}
	}
	if diff := cmp.Diff(&notebook.Imported{Turns: want}, got); diff != "" {
		t.Errorf("turns (-want +got):\n%s", diff)
	}
}

// Notebooks of other programs, old and new ones, are read as far as there is something to read.
func TestForeignNotebooks(t *testing.T) {
	code := func(source string, r chat.Run) chat.ImportedTurn {
		r.Code = source
		return chat.ImportedTurn{Runs: []chat.ImportedRun{{Run: r}}}
	}
	for name, c := range map[string]struct {
		book     string
		want     []chat.ImportedTurn
		warnings int
	}{
		"format 3": {`{"nbformat": 3, "metadata": {"name": ""}, "worksheets": [{"cells": [
			{"cell_type": "heading", "level": 2, "source": ["Title"]},
			{"cell_type": "code", "language": "python", "prompt_number": 1, "input": ["1\n", "+ 1"], "outputs": [
				{"output_type": "pyout", "prompt_number": 1, "text": ["2"]}, {"output_type": "stream", "stream": "stderr", "text": "e"},
				{"output_type": "pyerr", "ename": "E", "evalue": "v", "traceback": ["\u001b[1;31mE\u001b[0m: v"]}]}]}]}`,
			[]chat.ImportedTurn{{Message: "## Title"}, code("1\n+ 1", chat.Run{Value: "2", Stderr: "e", Error: "Traceback (most recent call last):\n  E: v\nE: v\n"})}, 0},
		"texts as lists, no ids, byte order mark": {"\ufeff" + `{"nbformat": 4, "cells": [
			{"cell_type": "markdown", "source": ["a\n", "b"], "attachments": {"x.png": {"image/png": "aaaa"}}}, {"cell_type": "raw", "source": "r"},
			{"cell_type": "code", "source": "x", "outputs": [{"output_type": "stream", "name": "stdout", "text": ["1\n", "2"]},
				{"output_type": "display_data", "data": {"text/plain": ["shown"]}}, {"output_type": "display_data", "data": {"image/png": "%%%"}}, 7]},
			{"cell_type": "code", "source": "  \n", "outputs": []}, {"cell_type": "video", "source": "v"}]}`,
			[]chat.ImportedTurn{{Message: "a\nb"}, {Message: "r"}, code("x", chat.Run{Stdout: "1\n2\nshown\n"})}, 3},
		"cells of two exports": {`{"nbformat": 4, "metadata": 7, "cells": [
			{"cell_type": "code", "id": "turn-1-run-2", "source": "b"}, {"cell_type": "code", "id": "turn-1-run-1", "source": "a"},
			{"cell_type": "markdown", "id": "turn-1-answer", "source": "w"}, {"cell_type": "markdown", "id": "turn-1-answer", "source": "v"},
			{"cell_type": "code", "id": "turn-x-run-1", "source": "c"}, {"cell_type": "markdown", "id": ["turn-1-", "message"], "source": "m"}]}`,
			[]chat.ImportedTurn{code("b", chat.Run{}), {Words: "w", Runs: []chat.ImportedRun{{Run: chat.Run{Code: "a"}}}}, {Message: "v"}, code("c", chat.Run{}), {Message: "m"}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got := readString(t, c.book)
			if diff := cmp.Diff(c.want, got.Turns); diff != "" {
				t.Errorf("turns (-want +got):\n%s", diff)
			}
			if len(got.Warnings) != c.warnings {
				t.Errorf("warnings %q; want %d", got.Warnings, c.warnings)
			}
		})
	}
}

// What is no notebook is refused in words that say why.
func TestNoNotebooks(t *testing.T) {
	for book, want := range map[string]string{
		"":                                 "no notebook",
		"null":                             "nbformat",
		"{":                                "it ends too early",
		"[]":                               "of the wrong kind, array",
		`{"nbformat": 4}{}`:                "more follows",
		`{"nbformat": "4"}`:                "of the wrong kind, string",
		`{"cells": []}`:                    "nbformat",
		`{"nbformat": 4, "cells": []}`:     "no cells",
		`{"nbformat": 4}`:                  "no cells",
		`{"nbformat": 2, "cells": [{}]}`:   "nbformat 2",
		`{"nbformat": 5, "cells": [{}]}`:   "nbformat 5",
		`{"nbformat": 4, "cells": [null]}`: "cell 1",
		`{"nbformat": 4, "cells": ["x"]}`:  "cell 1",
		`{"nbformat": 4, "cells": [{"cell_type": "code", "source": {"a": 1}}]}`:                                "cell 1",
		`{"nbformat": 4, "metadata": {"kernelspec": {"language": "julia"}}, "cells": [{"cell_type": "code"}]}`: "julia",
		`{"nbformat": 4, "cells": ` + strings.Repeat("[", 20_000) + `}`:                                        "no notebook",
		`{"nbformat": 4, "cells": [], "x": "` + strings.Repeat("x", notebook.MaxBytes) + `"}`:                  "larger than",
	} {
		_, err := notebook.ReadIPYNB(strings.NewReader(book))
		if kind, text := fault.Shown(err); kind != fault.Invalid || !strings.Contains(text, want) || strings.Contains(text, "Go ") || len(text) > 400 {
			t.Errorf("ReadIPYNB(%.60q) = %v; want that it is told of %q", book, err, want)
		}
	}
}

// Whatever a notebook has in it, what is read is within the bounds of a chat's parts, and names of pictures are plain.
func FuzzReadIPYNB(f *testing.F) {
	seeds, err := filepath.Glob("testdata/books/*.ipynb")
	if err != nil || len(seeds) == 0 {
		f.Fatalf("there are no seeds, %v", err)
	}
	for _, name := range seeds {
		seed, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := notebook.ReadIPYNB(bytes.NewReader(data))
		if err != nil {
			if kind, _ := fault.Shown(err); kind != fault.Invalid {
				t.Errorf("%v is no refusal", err)
			}
			return
		}
		for i, turn := range got.Turns {
			if len(turn.Runs) > chat.MaxImportedRuns || turn.Message == "" && len(turn.Runs) == 0 {
				t.Errorf("turn %d has %d runs, message %q", i, len(turn.Runs), turn.Message)
			}
			for _, r := range turn.Runs {
				seen := make(map[string]bool)
				for _, p := range r.Pictures {
					if seen[p.Name] || len(p.Name) > chat.MaxPictureName || strings.Trim(strings.TrimPrefix(p.Name, "figure-"), "0123456789.pnjeg") != "" {
						t.Errorf("a picture has the name %q", p.Name)
					}
					seen[p.Name] = true
				}
			}
		}
		if n := len(fmt.Sprint(got.Warnings)); n > 1000 {
			t.Errorf("warnings of %d bytes", n)
		}
	})
}

// Many small outputs take memory in proportion to them: each is copied once.
func TestManyOutputsAreRead(t *testing.T) {
	const count = 50_000
	book := `{"nbformat": 4, "cells": [{"cell_type": "code", "source": "1", "outputs": [` +
		strings.Repeat(`{"output_type": "stream", "text": "x"},`, count-1) + `{"output_type": "stream", "text": "x"}]}]}`
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	got := readString(t, book)
	runtime.ReadMemStats(&after)
	if n := len(got.Turns[0].Runs[0].Stdout); n != count {
		t.Errorf("%d bytes were read; want %d", n, count)
	}
	if spent := (after.TotalAlloc - before.TotalAlloc) / uint64(len(book)); spent > 200 {
		t.Errorf("reading took %d times the memory of the notebook", spent)
	}
}
