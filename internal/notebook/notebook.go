// Package notebook writes a chat as a Jupyter notebook or as a script, and reads the turns of a chat from a notebook.
//
// # Trust
//
// The texts and pictures of a chat are hostile. In a notebook they are strings of JSON, and Markdown, which Jupyter cleans;
// in a script they are comments, code as it has run in the chat, and string literals. Nothing but the code of the chat runs
// when one of them is opened or executed.
//
// A notebook that is read is hostile as a whole: its size, its shape, its texts and pictures, which are only copied.
//
// # Failure
//
// An error of writing is one of the writer, or of what opens a picture. What was written by then is worthless. What is no
// notebook, or one that cannot be a chat, is a fault.Error of kind Invalid that says why.
package notebook

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"runpython/internal/chat"
)

// A Source is a chat to write.
type Source struct {
	Chat *chat.Transcript
	// Open opens the content of one of its files. Who called it closes that.
	Open func(ctx context.Context, f chat.File) (io.ReadCloser, error)
	// Python is the version of the interpreter, as in "3.14.6".
	Python string
}

// maxPictureBytes bounds a picture in a notebook; a larger one is named instead.
const maxPictureBytes = 16 << 20

// The parts of a notebook that are written, as nbformat 4.5 has them.
type (
	cell struct {
		ID       string   `json:"id"`
		Type     string   `json:"cell_type"`
		Metadata struct{} `json:"metadata"`
		Source   string   `json:"source"`
	}
	codeCell struct {
		cell
		Count   int   `json:"execution_count"`
		Outputs []any `json:"outputs"`
	}
	stream struct {
		Type string `json:"output_type"`
		Name string `json:"name"`
		Text string `json:"text"`
	}
	display struct {
		Type     string            `json:"output_type"`
		Data     map[string]string `json:"data"`
		Metadata struct{}          `json:"metadata"`
	}
	result struct {
		display
		Count int `json:"execution_count"`
	}
	failure struct {
		Type      string   `json:"output_type"`
		Name      string   `json:"ename"`
		Value     string   `json:"evalue"`
		Traceback []string `json:"traceback"`
	}
	metadata struct {
		Kernel   kernelspec   `json:"kernelspec"`
		Language languageInfo `json:"language_info"`
	}
	kernelspec struct {
		DisplayName string `json:"display_name"`
		Language    string `json:"language"`
		Name        string `json:"name"`
	}
	languageInfo struct {
		Name          string `json:"name"`
		Version       string `json:"version"`
		FileExtension string `json:"file_extension"`
		MIMEType      string `json:"mimetype"`
	}
)

// WriteIPYNB writes a notebook of format 4.5: messages and answers as Markdown, code with what it gave.
func WriteIPYNB(ctx context.Context, w io.Writer, s Source) error {
	n := &ipynb{w: w, source: s}
	n.text(`{"cells":[`)
	for _, t := range s.Chat.Turns {
		if !t.OnlyCode {
			n.markdown(fmt.Sprintf("turn-%d-message", t.Number), t.Message)
		}
		for i, r := range t.Runs {
			if err := n.run(ctx, fmt.Sprintf("turn-%d-run-%d", t.Number, i+1), r); err != nil {
				return err
			}
		}
		if t.Words != "" {
			n.markdown(fmt.Sprintf("turn-%d-answer", t.Number), t.Words)
		}
	}
	n.text(`],"metadata":`)
	n.json(metadata{
		Kernel:   kernelspec{DisplayName: "Python 3", Language: "python", Name: "python3"},
		Language: languageInfo{Name: "python", Version: s.Python, FileExtension: ".py", MIMEType: "text/x-python"},
	})
	n.text(`,"nbformat":4,"nbformat_minor":5}` + "\n")
	return n.failed
}

// ipynb writes one notebook. After an error it writes nothing more.
type ipynb struct {
	w      io.Writer
	source Source
	cells  int
	runs   int
	failed error
}

func (n *ipynb) text(text string) {
	if n.failed == nil {
		if _, err := io.WriteString(n.w, text); err != nil {
			n.failed = fmt.Errorf("write a notebook: %w", err)
		}
	}
}

func (n *ipynb) json(v any) {
	text, err := json.Marshal(v)
	if err != nil && n.failed == nil {
		n.failed = fmt.Errorf("write a notebook: %w", err)
	}
	n.text(string(text))
}

// add adds a cell.
func (n *ipynb) add(c any) {
	if n.cells++; n.cells > 1 {
		n.text(",")
	}
	n.text("\n")
	n.json(c)
}

func (n *ipynb) markdown(id, text string) { n.add(cell{ID: id, Type: "markdown", Source: text}) }

// run adds the cell of one run.
func (n *ipynb) run(ctx context.Context, id string, r chat.RecordedRun) error {
	n.runs++
	outputs := []any{}
	for _, s := range []stream{{Name: "stdout", Text: r.Stdout}, {Name: "stderr", Text: r.Stderr}} {
		if s.Type = "stream"; s.Text != "" {
			outputs = append(outputs, s)
		}
	}
	for _, f := range r.Results {
		if !strings.HasPrefix(f.MIMEType, "image/") {
			continue
		}
		data, err := n.picture(ctx, f)
		if err != nil {
			return err
		}
		outputs = append(outputs, display{Type: "display_data", Data: data})
	}
	if r.Value != "" {
		outputs = append(outputs, result{display{Type: "execute_result", Data: map[string]string{"text/plain": r.Value}}, n.runs})
	}
	if r.Error != "" {
		outputs = append(outputs, failureOf(r.Error))
	}
	n.add(codeCell{cell{ID: id, Type: "code", Source: r.Code}, n.runs, outputs})
	return n.failed
}

// picture returns what a cell shows for a picture.
func (n *ipynb) picture(ctx context.Context, f chat.File) (map[string]string, error) {
	name := map[string]string{"text/plain": f.Path}
	if f.Size > maxPictureBytes {
		return name, nil
	}
	body, err := n.source.Open(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("read a picture of the chat: %w", err)
	}
	defer func() { _ = body.Close() }() // only read
	data, err := io.ReadAll(io.LimitReader(body, maxPictureBytes))
	if err != nil {
		return nil, fmt.Errorf("read a picture of the chat: %w", err)
	}
	name[f.MIMEType] = base64.StdEncoding.EncodeToString(data)
	return name, nil
}

// stopped is the name of an error that is a limit's, and tracebackHead begins one of Python.
const (
	stopped       = "Stopped"
	tracebackHead = "Traceback (most recent call last)"
)

// failureOf is what a cell shows for an error: a traceback, or the sentence that tells what has ended the run.
func failureOf(text string) failure {
	f := failure{Type: "error", Name: stopped, Value: text, Traceback: strings.Split(strings.TrimRight(text, "\n"), "\n")}
	if isTraceback(text) {
		f.Name, f.Value, _ = strings.Cut(lastLine(text), ": ")
	}
	return f
}

// isTraceback tells the words of Python from those of a limit.
func isTraceback(text string) bool {
	return strings.HasPrefix(text, tracebackHead) || strings.HasPrefix(text, "  File ") || strings.HasPrefix(text, "  + Exception Group")
}

// lastLine returns the line of a traceback that names the exception: the last one that is not indented.
func lastLine(text string) string {
	found := ""
	for line := range strings.Lines(text) {
		if line = strings.TrimRight(line, "\r\n"); line != "" && !strings.HasPrefix(line, " ") {
			found = line
		}
	}
	return found
}
