package notebook

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"runpython/internal/chat"
)

// bookOutput is an output of a cell. In format 3 what is in Data stands beside it, and types have other names.
type bookOutput struct {
	Type      string                     `json:"output_type"`
	Name      text                       `json:"name"`
	Stream    text                       `json:"stream"` // 3
	Text      text                       `json:"text"`
	PNG       text                       `json:"png"`  // 3
	JPEG      text                       `json:"jpeg"` // 3
	Data      map[string]json.RawMessage `json:"data"`
	ErrName   text                       `json:"ename"`
	ErrValue  text                       `json:"evalue"`
	Traceback []string                   `json:"traceback"`
}

// A pile is a text of many parts, each of which is copied once: a cell may have a million.
type pile struct {
	text strings.Builder
	open bool // it does not end with a line
}

func (p *pile) add(part string) {
	if part != "" {
		p.text.WriteString(part)
		p.open = !strings.HasSuffix(part, "\n")
	}
}

// below adds a part on a line of its own.
func (p *pile) below(part string) {
	if p.open && part != "" {
		p.add("\n")
	}
	p.add(part)
}

// gathered is what the outputs of a cell come to.
type gathered struct {
	run                   chat.ImportedRun
	stdout, stderr, value pile
	named                 map[string]bool // pictures of the run
	number                int             // of the last one that was given a name
}

// run is code with what the cell says that it gave.
func (in *reader) run(code string, outputs []json.RawMessage) chat.ImportedRun {
	g := &gathered{run: chat.ImportedRun{Run: chat.Run{Code: code}}, named: make(map[string]bool)}
	for _, raw := range outputs {
		var o bookOutput
		if err := json.Unmarshal(raw, &o); err != nil || !g.output(o) {
			in.outputs++
		}
	}
	g.run.Stdout, g.run.Stderr, g.run.Value = g.stdout.text.String(), g.stderr.text.String(), g.value.text.String()
	return g.run
}

// output adds an output to a run, and reports whether there is something of it.
func (g *gathered) output(o bookOutput) bool {
	switch o.Type {
	case "stream":
		if o.Name == "stderr" || o.Stream == "stderr" {
			g.stderr.add(string(o.Text))
		} else {
			g.stdout.add(string(o.Text))
		}
		return true
	case "error", "pyerr":
		g.run.Error, g.run.Limited = o.failure()
		return true
	case "execute_result", "pyout":
		pictured := g.pictures(o)
		plain := o.plain()
		g.value.below(plain)
		return pictured || plain != ""
	case "display_data":
		if g.pictures(o) {
			return true
		}
		plain := o.plain()
		if plain != "" {
			g.stdout.below(plain)
			g.stdout.add("\n")
		}
		return plain != ""
	}
	return false
}

// plain is the text of an output.
func (o bookOutput) plain() string {
	if o.Data == nil {
		return string(o.Text)
	}
	var t text
	if err := json.Unmarshal(o.Data["text/plain"], &t); err != nil {
		return "" // there is none
	}
	return string(t)
}

// failure is what is kept of an error: what WriteIPYNB has made of one as it was, and that of another program in the form
// in which Python writes them.
func (o bookOutput) failure() (failure string, limited bool) {
	trace := plainText(strings.Join(o.Traceback, "\n"))
	if o.ErrName == stopped {
		return string(o.ErrValue), true
	}
	if isTraceback(trace) {
		return trace, false
	}
	var b strings.Builder
	b.WriteString(tracebackHead + ":\n")
	for line := range strings.Lines(trace) {
		b.WriteString("  " + strings.TrimRight(line, "\r\n") + "\n")
	}
	b.WriteString(string(o.ErrName) + ": " + string(o.ErrValue) + "\n")
	return b.String(), false
}

// plainText is text without the colours of a terminal.
func plainText(s string) string {
	var b strings.Builder
	for {
		before, after, found := strings.Cut(s, "\x1b[")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		s = strings.TrimLeft(after, "0123456789;:?")
		if s != "" {
			s = s[1:]
		}
	}
}

// pictures adds the pictures of an output to those of a run, and reports whether there were some.
func (g *gathered) pictures(o bookOutput) bool {
	found := false
	for _, p := range []struct {
		kind  string
		older text
	}{{"png", o.PNG}, {"jpeg", o.JPEG}} {
		encoded := p.older
		if raw := o.Data["image/"+p.kind]; raw != nil {
			if err := json.Unmarshal(raw, &encoded); err != nil {
				continue
			}
		}
		if encoded == "" || base64.StdEncoding.DecodedLen(len(encoded)) > maxPictureBytes {
			continue
		}
		data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(encoded)), ""))
		if err != nil || len(data) == 0 {
			continue
		}
		g.run.Pictures = append(g.run.Pictures, chat.Picture{Name: g.pictureName(o.plain(), p.kind), MIMEType: "image/" + p.kind, Data: data})
		found = true
	}
	return found
}

// pictureName is the name that a picture had in a chat, or a new one.
func (g *gathered) pictureName(was, kind string) string {
	number, ok := strings.CutPrefix(strings.TrimSuffix(was, "."+kind), "figure-")
	n, err := strconv.Atoi(number)
	if ok && err == nil && was == fmt.Sprintf("figure-%d.%s", n, kind) && n > 0 && !g.named[was] {
		g.named[was] = true
		return was
	}
	for g.number = max(g.number, len(g.run.Pictures)) + 1; ; g.number++ {
		if name := fmt.Sprintf("figure-%d.%s", g.number, kind); !g.named[name] {
			g.named[name] = true
			return name
		}
	}
}
