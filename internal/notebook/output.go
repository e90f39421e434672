package notebook

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
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

// run is code with what the cell says that it gave.
func (in *reader) run(code string, outputs []json.RawMessage) chat.ImportedRun {
	r := chat.ImportedRun{Run: chat.Run{Code: code}}
	for _, raw := range outputs {
		var o bookOutput
		if err := json.Unmarshal(raw, &o); err != nil || !in.output(&r, o) {
			in.outputs++
		}
	}
	return r
}

// output adds an output to a run, and reports whether there is something of it.
func (in *reader) output(r *chat.ImportedRun, o bookOutput) bool {
	switch o.Type {
	case "stream":
		if o.Name == "stderr" || o.Stream == "stderr" {
			r.Stderr += string(o.Text)
		} else {
			r.Stdout += string(o.Text)
		}
		return true
	case "error", "pyerr":
		r.Error, r.Limited = o.failure()
		return true
	case "execute_result", "pyout":
		pictured := addPictures(r, o)
		plain := o.plain()
		r.Value = joined(r.Value, plain)
		return pictured || plain != ""
	case "display_data":
		if addPictures(r, o) {
			return true
		}
		plain := o.plain()
		if plain != "" {
			r.Stdout = joined(r.Stdout, plain) + "\n"
		}
		return plain != ""
	}
	return false
}

// joined puts texts below each other.
func joined(above, below string) string {
	if above != "" && below != "" && !strings.HasSuffix(above, "\n") {
		return above + "\n" + below
	}
	return above + below
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

// addPictures adds the pictures of an output to those of a run, and reports whether there were some.
func addPictures(r *chat.ImportedRun, o bookOutput) bool {
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
		r.Pictures = append(r.Pictures, chat.Picture{Name: pictureName(r, o.plain(), p.kind), MIMEType: "image/" + p.kind, Data: data})
		found = true
	}
	return found
}

// pictureName is the name that a picture had in a chat, or a new one.
func pictureName(r *chat.ImportedRun, was, kind string) string {
	taken := func(name string) bool {
		return slices.ContainsFunc(r.Pictures, func(p chat.Picture) bool { return p.Name == name })
	}
	number, ok := strings.CutPrefix(strings.TrimSuffix(was, "."+kind), "figure-")
	if n, err := strconv.Atoi(number); ok && err == nil && was == fmt.Sprintf("figure-%d.%s", n, kind) && n > 0 && !taken(was) {
		return was
	}
	for n := len(r.Pictures) + 1; ; n++ {
		if name := fmt.Sprintf("figure-%d.%s", n, kind); !taken(name) {
			return name
		}
	}
}
