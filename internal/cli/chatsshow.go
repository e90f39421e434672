package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"runpython/internal/chat"
	"runpython/internal/cli/console"
	"runpython/internal/config"
)

const showHelp = `Shows a chat as it was: messages, code, what it printed, values, errors, files. Of long texts the middle is left out.
With --json it is one object on standard output:

  {"id", "owner", "begun", "used", "turns", "bytes", "begin", "requirements",
   "files": [{"path", "mime_type", "size", "uri"}],
   "transcript": [{"turn", "begun", "message", "words",
                   "runs": [{"code", "stdout", "stderr", "value", "error",
                             "results": [{"path", "mime_type", "size", "uri"}]}]}]}`

// The forms of a transcript with --json, a contract.
type (
	transcriptJSON struct {
		summaryJSON
		Requirements []string         `json:"requirements"`
		Files        []storedFileJSON `json:"files"`
		Transcript   []turnJSON       `json:"transcript"`
	}
	storedFileJSON struct {
		Path     string `json:"path"`
		MIMEType string `json:"mime_type"`
		Size     int64  `json:"size"`
		URI      string `json:"uri"`
	}
	turnJSON struct {
		Turn    int           `json:"turn"`
		Begun   time.Time     `json:"begun"`
		Message string        `json:"message"`
		Words   string        `json:"words"`
		Runs    []ranOnceJSON `json:"runs"`
	}
	ranOnceJSON struct {
		Code    string           `json:"code"`
		Stdout  string           `json:"stdout"`
		Stderr  string           `json:"stderr"`
		Value   string           `json:"value"`
		Error   string           `json:"error"`
		Results []storedFileJSON `json:"results"`
	}
)

func (c *command) showChat(ctx context.Context, cfg config.Config, args []string) error {
	return c.withRecords(ctx, cfg, func(ctx context.Context, records Records) error {
		t, err := records.Transcript(ctx, args[0])
		if err != nil {
			return err
		}
		if cfg.JSON {
			return c.printJSON("chat", transcriptForm(t))
		}
		text := transcriptText(t)
		if terminal, ok := console.Terminal(c.Out); ok {
			width, _ := console.Size(terminal)
			text = console.Markdown(text, width, c.colours(c.Out))
		}
		_, err = fmt.Fprint(c.Out, text)
		return err
	})
}

func transcriptForm(t *chat.Transcript) transcriptJSON {
	form := transcriptJSON{
		summaryJSON: summaryForm(t.Summary), Requirements: append([]string{}, t.Requirements...),
		Files: fileForms(t.Files), Transcript: make([]turnJSON, len(t.Turns)),
	}
	for i, turn := range t.Turns {
		f := turnJSON{Turn: turn.Number, Begun: turn.Begun.UTC(), Message: turn.Message, Words: turn.Words, Runs: make([]ranOnceJSON, len(turn.Runs))}
		for j, r := range turn.Runs {
			f.Runs[j] = ranOnceJSON{r.Code, r.Stdout, r.Stderr, r.Value, r.Error, fileForms(r.Results)}
		}
		form.Transcript[i] = f
	}
	return form
}

func fileForms(files []chat.File) []storedFileJSON {
	forms := make([]storedFileJSON, len(files))
	for i, f := range files {
		forms[i] = storedFileJSON{f.Path, f.MIMEType, f.Size, f.URI}
	}
	return forms
}

// transcriptText is a transcript as Markdown, in which texts of the chat are no markup but the words of a model.
func transcriptText(t *chat.Transcript) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# Chat %s\n\nBegun %s, last used %s, %d turns.\n", t.ID, t.Begun.Local().Format(timeForm), t.Used.Local().Format(timeForm), t.Summary.Turns)
	for _, turn := range t.Turns {
		fmt.Fprintf(&b, "\n## Turn %d, %s\n", turn.Number, turn.Begun.Local().Format(timeForm))
		if !turn.OnlyCode {
			fence(&b, "", "text", turn.Message)
		}
		for _, r := range turn.Runs {
			fence(&b, "Code:", "python", r.Code)
			fence(&b, "Output:", "text", r.Stdout)
			fence(&b, "Error output:", "text", r.Stderr)
			fence(&b, "Value:", "text", r.Value)
			fence(&b, "Error:", "text", r.Error)
			listFiles(&b, "Pictures and long output:", r.Results)
		}
		if turn.Words != "" {
			fmt.Fprintf(&b, "\n%s\n", turn.Words)
		}
	}
	listFiles(&b, "Files:", t.Files)
	return b.String()
}

// listFiles lists files, each in a line of a fence.
func listFiles(b *strings.Builder, title string, files []chat.File) {
	var lines strings.Builder
	for _, f := range files {
		fmt.Fprintf(&lines, "%s (%s)\n", strings.Join(strings.Fields(f.Path), " "), shortSize(f.Size))
	}
	fence(b, title, "text", lines.String())
}

// fence writes text in a block that nothing in it can end.
func fence(b *strings.Builder, title, language, text string) {
	if text == "" {
		return
	}
	marks := "```"
	for strings.Contains(text, marks) {
		marks += "`"
	}
	if title != "" {
		fmt.Fprintf(b, "\n%s\n", title)
	}
	fmt.Fprintf(b, "\n%s%s\n%s\n%s\n", marks, language, strings.TrimRight(text, "\n"), marks)
}
