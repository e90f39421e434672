package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"runpython/internal/chat"
	"runpython/internal/cli/console"
)

// The forms of a reply with --json, a contract.
type (
	replyJSON struct {
		ChatID      string        `json:"chat_id"`
		Text        string        `json:"text"`
		IsError     bool          `json:"is_error"`
		State       chat.State    `json:"state"`
		StateReason string        `json:"state_reason,omitempty"`
		Packages    []packageJSON `json:"packages,omitempty"`
		Model       *modelJSON    `json:"model,omitempty"` // where one took part
		Runs        []runJSON     `json:"runs"`
		Images      []imageJSON   `json:"images"`
		Files       []fileJSON    `json:"files"`
	}
	packageJSON struct {
		Name    string `json:"name"`
		Version string `json:"version"`
		Was     string `json:"was,omitempty"` // the version before
	}
	modelJSON struct {
		Name         string  `json:"name"`
		End          string  `json:"end"` // "answered", or what ended the work
		Requests     int     `json:"requests"`
		InputTokens  int     `json:"input_tokens"`
		OutputTokens int     `json:"output_tokens"`
		Estimated    bool    `json:"estimated,omitempty"` // the tokens are not the server's
		Cost         float64 `json:"cost,omitempty"`
	}
	runJSON struct {
		Code     string  `json:"code"`
		Stdout   string  `json:"stdout"`
		Stderr   string  `json:"stderr"`
		Value    string  `json:"value"`
		Error    string  `json:"error"`
		Duration float64 `json:"duration_ms"`
	}
	imageJSON struct {
		Name     string `json:"name"`
		MIMEType string `json:"mime_type"`
		Path     string `json:"path,omitempty"` // where it was saved
		Bytes    int    `json:"bytes"`
		Width    int    `json:"width"`
		Height   int    `json:"height"`
	}
	fileJSON struct {
		Path     string `json:"path"`
		MIMEType string `json:"mime_type"`
		Size     int64  `json:"size"`
		SavedTo  string `json:"saved_to,omitempty"`
		Skipped  string `json:"skipped,omitempty"` // why it was not saved
	}
)

// show prints a reply in the form that standard output asks for, and where its
// pictures and files went.
func (t *talk) show(reply *chat.Reply, s saved) error {
	terminal, onTerminal := console.Terminal(t.Out)
	switch {
	case t.cfg.JSON:
		return t.showJSON(reply, s)
	case onTerminal:
		t.sayState(reply)
		width, _ := console.Size(terminal)
		if _, err := io.WriteString(t.Out, console.Markdown(reply.Text, width, t.colours(t.Out))); err != nil {
			return fmt.Errorf("print the reply: %w", err)
		}
	default:
		if err := t.showPlain(reply); err != nil {
			return fmt.Errorf("print the reply: %w", err)
		}
	}
	for _, line := range s.lines() {
		fmt.Fprintln(t.status, console.Clean(line))
	}
	return nil
}

// showJSON prints a reply as one line.
func (t *talk) showJSON(reply *chat.Reply, s saved) error {
	out := replyJSON{
		ChatID: reply.ChatID, Text: reply.Text, IsError: reply.IsError, State: reply.State, StateReason: reply.StateReason,
		Runs: []runJSON{}, Images: []imageJSON{}, Files: []fileJSON{},
	}
	for _, p := range reply.Packages {
		out.Packages = append(out.Packages, packageJSON(p))
	}
	if m := reply.Model; m != nil {
		out.Model = &modelJSON{m.Name, m.End, m.Requests, m.Usage.Input, m.Usage.Output, m.Usage.Estimated, m.Cost}
	}
	for _, r := range reply.Runs {
		out.Runs = append(out.Runs, runJSON{r.Code, r.Stdout, r.Stderr, r.Value, r.Error, milliseconds(r.Duration)})
	}
	for i, p := range reply.Images {
		out.Images = append(out.Images, imageJSON{p.Name, p.MIMEType, s.images[i].path, len(p.Data), p.Width, p.Height})
	}
	for i, f := range reply.Files {
		out.Files = append(out.Files, fileJSON{f.Path, f.MIMEType, f.Size, s.files[i].path, s.files[i].skipped})
	}
	return t.printJSON("reply", out)
}

// printJSON prints a form on standard output, as one line.
func (c *command) printJSON(what string, form any) error {
	encoder := json.NewEncoder(c.Out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(form); err != nil {
		return fmt.Errorf("print the %s: %w", what, err)
	}
	return nil
}

// milliseconds returns d in milliseconds, to the microsecond.
func milliseconds(d time.Duration) float64 {
	return math.Round(float64(d)/float64(time.Microsecond)) / 1000
}

// sayState tells that variables are lost, and why.
func (t *talk) sayState(reply *chat.Reply) {
	if reply.State == chat.Reset && reply.StateReason != "" {
		t.say("the variables of the chat are lost: " + reply.StateReason)
	}
}

// showPlain prints what a program that reads standard output expects of code: its
// output and value there, everything else on standard error. The answer of a model is text as a whole.
func (t *talk) showPlain(reply *chat.Reply) error {
	t.sayState(reply)
	if reply.Model != nil {
		_, err := io.WriteString(t.Out, joined("", reply.Text))
		return err
	}
	explained := false
	for _, r := range reply.Runs {
		t.problem(r.Stderr)
		t.problem(r.Error)
		explained = explained || r.Error != ""
		if _, err := io.WriteString(t.Out, joined(r.Stdout, r.Value)); err != nil {
			return err
		}
	}
	switch {
	case len(reply.Runs) == 0 && !reply.IsError:
		_, err := io.WriteString(t.Out, joined("", reply.Text))
		return err
	case len(reply.Runs) == 0, reply.IsError && !explained && len(reply.Problems) == 0:
		t.problem(reply.Text)
	default:
		for _, p := range reply.Problems {
			t.say(p)
		}
	}
	return nil
}

// joined returns the output of a run and then its value, on a line of its own.
func joined(output, value string) string {
	if value == "" {
		return output
	}
	if output != "" && !strings.HasSuffix(output, "\n") {
		output += "\n"
	}
	return output + strings.TrimSuffix(value, "\n") + "\n"
}

// problem prints text of a run on standard error.
func (t *talk) problem(text string) {
	if _, terminal := console.Terminal(t.Err); terminal {
		text = console.Clean(text)
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	_, _ = io.WriteString(t.status, text) // there is nowhere else to say it
}

// showLost prints output that a run made whose reply never came.
func (t *talk) showLost(output string) error {
	if output == "" || t.cfg.JSON {
		return nil
	}
	if _, terminal := console.Terminal(t.Out); terminal {
		output = console.Clean(output)
	}
	_, err := io.WriteString(t.Out, output)
	return err
}
