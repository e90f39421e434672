package notebook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"runpython/internal/chat"
	"runpython/internal/excerpt"
	"runpython/internal/fault"
)

// MaxBytes bounds a notebook that is read.
const MaxBytes = 64 << 20

// Imported is what was read from a notebook.
type Imported struct {
	Turns    []chat.ImportedTurn
	Warnings []string // what is left out, as clauses; a few at most
}

// The parts of a notebook that are read. Those of format 3 have the names that are said.
type (
	book struct {
		Format     *int              `json:"nbformat"`
		Metadata   json.RawMessage   `json:"metadata"`
		Cells      []json.RawMessage `json:"cells"`
		Worksheets []struct {        // 3
			Cells []json.RawMessage `json:"cells"`
		} `json:"worksheets"`
	}
	bookCell struct {
		ID          text              `json:"id"`
		Type        string            `json:"cell_type"`
		Source      text              `json:"source"`
		Input       text              `json:"input"` // 3, of code
		Level       int               `json:"level"` // 3, of a heading
		Outputs     []json.RawMessage `json:"outputs"`
		Attachments json.RawMessage   `json:"attachments"`
	}
)

// A text is a string, or a list of strings that are joined.
type text string

// UnmarshalJSON reads one.
func (t *text) UnmarshalJSON(data []byte) error {
	var one *string
	if json.Unmarshal(data, &one) == nil {
		if *t = ""; one != nil {
			*t = text(*one)
		}
		return nil
	}
	var many []string
	if err := json.Unmarshal(data, &many); err != nil {
		return errors.New("it has something else where a text belongs")
	}
	*t = text(strings.Join(many, ""))
	return nil
}

// ReadIPYNB reads a notebook of nbformat 3 or 4. A cell of text is a turn without code, and one of code a turn of that code; cells that
// belong to one turn of an export of WriteIPYNB are that turn again. Nothing is executed.
func ReadIPYNB(r io.Reader) (*Imported, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read the notebook: %w", err)
	}
	if len(data) > MaxBytes {
		return nil, fault.New(fault.Invalid, nil, "the notebook is larger than "+excerpt.Size(MaxBytes)+", the most that is read: clear its outputs first")
	}
	var b book
	decoder := json.NewDecoder(bytes.NewReader(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))))
	if err := decoder.Decode(&b); err != nil {
		return nil, fault.New(fault.Invalid, nil, "this is no notebook: it is not the JSON that one consists of ("+notJSON(err)+")")
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fault.New(fault.Invalid, err, "this is no notebook: more follows after its end")
	}
	cells, err := b.cells()
	if err != nil {
		return nil, err
	}
	in := &reader{}
	for i, raw := range cells {
		var c bookCell
		if err := json.Unmarshal(raw, &c); err != nil || bytes.Equal(raw, []byte("null")) {
			return nil, fault.New(fault.Invalid, err, fmt.Sprintf("cell %d of the notebook is no cell", i+1))
		}
		in.cell(c)
	}
	in.end()
	return &Imported{Turns: in.turns, Warnings: in.warnings()}, nil
}

// toldBytes bounds what an error shows of a notebook.
const toldBytes = 200

// notJSON says why JSON was not read, without the names of our types.
func notJSON(err error) string {
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return excerpt.Begin(fmt.Sprintf("a value of the wrong kind, %s, ends at byte %d", wrong.Value, wrong.Offset), toldBytes)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return "it ends too early"
	}
	return excerpt.Begin(err.Error(), toldBytes)
}

// cells returns the cells of a notebook of Python.
func (b *book) cells() ([]json.RawMessage, error) {
	cells := b.Cells
	switch {
	case b.Format == nil:
		return nil, fault.New(fault.Invalid, nil, "this is no notebook: it does not say which nbformat it has")
	case *b.Format == 3:
		for _, w := range b.Worksheets {
			cells = append(cells, w.Cells...)
		}
	case *b.Format != 4:
		return nil, fault.New(fault.Invalid, nil, fmt.Sprintf("the notebook has nbformat %d, and only 3 and 4 can be read: have Jupyter save it anew", *b.Format))
	}
	if language := b.language(); language != "" && !strings.Contains(strings.ToLower(language), "python") {
		return nil, fault.New(fault.Invalid, nil, fmt.Sprintf("the notebook is written in %s, and only Python can be continued", excerpt.Begin(language, toldBytes)))
	}
	if len(cells) == 0 {
		return nil, fault.New(fault.Invalid, nil, "the notebook has no cells")
	}
	return cells, nil
}

// language is that of the code, "" if the notebook does not say it.
func (b *book) language() string {
	var m struct {
		Language struct {
			Name string `json:"name"`
		} `json:"language_info"`
		Kernel struct {
			Language string `json:"language"`
		} `json:"kernelspec"`
	}
	if err := json.Unmarshal(b.Metadata, &m); err != nil {
		return "" // nothing else is wanted of it
	}
	if m.Language.Name != "" {
		return m.Language.Name
	}
	return m.Kernel.Language
}

// reader makes turns of cells.
type reader struct {
	turns []chat.ImportedTurn
	open  bool // the last turn may get more cells
	place place

	attachments, outputs, others, long int // that are left out or cut
}

// A place is where a cell was in an export: of which turn, and which of message, runs and answer.
type place struct {
	turn  int
	stage int
	run   int
}

// The stages of a turn.
const (
	isMessage = iota + 1
	isRun
	isAnswer
)

// placeOf reads the id of a cell, as WriteIPYNB makes them.
func placeOf(id string, code bool) (p place, ok bool) {
	rest, isTurn := strings.CutPrefix(id, "turn-")
	number, rest, _ := strings.Cut(rest, "-")
	turn, err := strconv.Atoi(number)
	if !isTurn || err != nil || turn < 1 {
		return place{}, false
	}
	run, isOfRun := strings.CutPrefix(rest, "run-")
	n, err := strconv.Atoi(run)
	switch {
	case rest == "message" && !code:
		return place{turn, isMessage, 0}, true
	case rest == "answer" && !code:
		return place{turn, isAnswer, 0}, true
	case isOfRun && code && err == nil && n > 0:
		return place{turn, isRun, n}, true
	}
	return place{}, false
}

// follows reports whether a cell at q belongs to the turn of the one at p, which is before it.
func (p place) follows(q place) bool {
	return q.turn == p.turn && (q.stage > p.stage || q.stage == p.stage && q.run > p.run)
}

// cell adds what a cell has to the turn that is open, or to a new one.
func (in *reader) cell(c bookCell) {
	code := c.Type == "code"
	source, known := c.source()
	if !known {
		in.others++
	}
	if strings.TrimSpace(source) == "" {
		return
	}
	if len(c.Attachments) > len("null") && string(c.Attachments) != "{}" {
		in.attachments++
	}
	at, placed := placeOf(string(c.ID), code)
	joins := placed && in.open && in.place.follows(at) && (!code || len(in.last().Runs) < chat.MaxImportedRuns)
	if !joins {
		in.turns = append(in.turns, chat.ImportedTurn{})
	}
	last := in.last()
	switch {
	case code:
		last.Runs = append(last.Runs, in.run(source, c.Outputs))
	case joins: // only an answer follows something
		last.Words = source
	default:
		last.Message = source
	}
	in.open, in.place = placed, at
}

// source is the text of a cell; known is false for one of an unknown type.
func (c *bookCell) source() (source string, known bool) {
	switch c.Type {
	case "code":
		return string(c.Source) + string(c.Input), true
	case "heading":
		return strings.Repeat("#", min(max(c.Level, 1), maxHeading)) + " " + string(c.Source), true
	case "markdown", "raw":
		return string(c.Source), true
	}
	return "", false
}

// maxHeading is the deepest level of a heading in Markdown.
const maxHeading = 6

// last is the turn that was begun last.
func (in *reader) last() *chat.ImportedTurn { return &in.turns[len(in.turns)-1] }

// end is called after the last cell.
func (in *reader) end() {
	for _, t := range in.turns {
		for _, r := range t.Runs {
			if len(r.Code) > chat.MaxImportedCode {
				in.long++
			}
		}
	}
}

// warnings tells what is left out.
func (in *reader) warnings() (all []string) {
	for _, w := range []struct {
		count int
		what  string
	}{
		{in.outputs, "%d outputs that are neither text nor a picture (PNG, JPEG) are left out"},
		{in.attachments, "pictures that are attached to %d cells of text are left out"},
		{in.others, "%d cells of unknown types are left out"},
		{in.long, "the code of %d cells is longer than " + excerpt.Size(chat.MaxImportedCode) + ": its middle is left out, so it cannot run again"},
	} {
		if w.count > 0 {
			all = append(all, fmt.Sprintf(w.what, w.count))
		}
	}
	return all
}
