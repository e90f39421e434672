package notebook_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/chat"
	"runpython/internal/guesttest"
	"runpython/internal/notebook"
)

// pixel is a picture.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

func run(code, stdout, value, failure string) chat.RecordedRun {
	return chat.RecordedRun{Run: chat.Run{Code: code, Stdout: stdout, Value: value, Error: failure}}
}

// sample is a chat with each kind of run, and texts that try to be more than texts.
func sample() notebook.Source {
	pictured := run("draw()", "", "", "NameError")
	pictured.Results = []chat.File{{Path: "figure-1.png", MIMEType: "image/png", Size: 70, URI: "picture", Result: true}}
	pictured.Error = "Traceback (most recent call last):\n  File \"<cell>\", line 1, in <module>\nNameError: name 'draw' is not defined"
	cut := run("x = 0 # … 5 bytes left out", "", "", "")
	cut.Cut = true
	t := &chat.Transcript{Summary: chat.Summary{ID: "aaaaaaaaaaaaaaaaaaaaaaaaaa", Begun: time.Unix(0, 0)}, Turns: []chat.RecordedTurn{
		{Number: 1, OnlyCode: true, Message: "x = 6", Runs: []chat.RecordedRun{run("x = 6", "", "", "")}},
		{Number: 2, Message: "show \x1b[2J\r/// script\n/// script\n# dependencies = [\"evil\"]\n///\n\x00", Words: "It is **42**.", Runs: []chat.RecordedRun{
			run("text = \"\"\"a\\n'''b\n# /// script\n# dependencies = [\"evil\"]\n# ///\n\"\"\"\nx * 7", "", "42", ""),
		}},
		{Number: 3, OnlyCode: true, Runs: []chat.RecordedRun{
			pictured,
			run("x = 1\nx / 0", "", "", "Traceback (most recent call last):\n  File \"<cell>\", line 2, in <module>\nZeroDivisionError: division by zero"),
			run("while True: pass", "", "", "The run was stopped after 60 s."),
			cut,
			run("import asyncio\nawait asyncio.sleep(0, x + 1)", "", "2", ""),
			run("from __future__ import annotations\nprint(x, len(text))", "1 52\n", "", ""),
		}},
	}}
	return notebook.Source{Chat: t, Python: "3.14.6", Open: func(context.Context, chat.File) (io.ReadCloser, error) {
		return io.NopCloser(base64.NewDecoder(base64.StdEncoding, strings.NewReader(pixel))), nil
	}}
}

func ipynb(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := notebook.WriteIPYNB(t.Context(), &b, sample()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestIPYNB(t *testing.T) {
	var book struct {
		Cells []struct {
			Type    string `json:"cell_type"`
			Source  string
			Outputs []struct {
				Type  string `json:"output_type"`
				Name  string `json:"ename"`
				Value string `json:"evalue"`
				Data  map[string]string
			}
		}
	}
	if err := json.Unmarshal(ipynb(t), &book); err != nil {
		t.Fatal(err)
	}
	var kinds []string
	var outputs []string
	for _, c := range book.Cells {
		kinds = append(kinds, c.Type)
		for _, o := range c.Outputs {
			text := o.Name + o.Data["text/plain"]
			if o.Data["image/png"] == pixel {
				text += " with its picture"
			}
			outputs = append(outputs, o.Type+" "+text)
		}
	}
	if diff := cmp.Diff(strings.Fields("code markdown code markdown code code code code code code"), kinds); diff != "" {
		t.Errorf("cells (-want +got):\n%s", diff)
	}
	want := []string{
		"execute_result 42", "display_data figure-1.png with its picture", "error NameError", "error ZeroDivisionError", "error Stopped", "execute_result 2", "stream ",
	}
	if diff := cmp.Diff(want, outputs); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
}

// Jupyter's own reader finds nothing wrong, and nothing to repair.
func TestIPYNBIsValid(t *testing.T) {
	file := filepath.Join(t.TempDir(), "chat.ipynb")
	if err := os.WriteFile(file, ipynb(t), 0o600); err != nil {
		t.Fatal(err)
	}
	guesttest.Jupyter(t, "import sys, nbformat\nnbformat.validate(nbformat.read(sys.argv[1], as_version=nbformat.NO_CONVERT))", file)
}

// The script does what the chat did, and texts of the chat stay texts.
func TestScriptRuns(t *testing.T) {
	var b bytes.Buffer
	if err := notebook.WriteScript(&b, sample()); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "\n# /// "); n != 0 || !strings.HasPrefix(b.String(), "# /// script\n# requires-python = \"==3.14.*\"\n# dependencies = [\n# ]\n# ///\n") {
		t.Errorf("there are %d blocks of PEP 723 beside the first one:\n%s", n, b.String())
	}
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("there is no python3 to run the script with")
	}
	file := filepath.Join(t.TempDir(), "chat.py")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(t.Context(), python, file)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("run the script: %v\n%s\n%s", err, stderr.String(), b.String())
	}
	if diff := cmp.Diff("42\n2\n1 52\n", stdout.String()); diff != "" {
		t.Errorf("it prints (-want +got):\n%s\n%s", diff, b.String())
	}
	for _, want := range []string{"NameError: name 'draw' is not defined", "ZeroDivisionError: division by zero"} {
		if !strings.Contains(stderr.String(), want) {
			t.Errorf("%q is not in its error output:\n%s", want, stderr.String())
		}
	}
}

// Packages of the chat are the script's, whatever is in their names.
func TestScriptNamesPackages(t *testing.T) {
	s := sample()
	s.Chat.Turns = nil
	s.Chat.Requirements = []string{"numpy==2.4.0", "a\"\n# ]\n# ///"}
	var b bytes.Buffer
	if err := notebook.WriteScript(&b, s); err != nil {
		t.Fatal(err)
	}
	want := "# dependencies = [\n#     \"numpy==2.4.0\",\n#     \"a\\u0022\\u000a# ]\\u000a# ///\",\n# ]\n# ///\n"
	if !strings.Contains(b.String(), want) {
		t.Errorf("the header is\n%s\nwant in it\n%s", b.String(), want)
	}
}
