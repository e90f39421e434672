package llmtest

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// created is the time of all replies, in seconds: 2026-01-01.
const created = 1767225600

// Characters in a piece of a stream: without a say, and of a reply that is filled up.
const (
	pieceLength = 4
	fillLength  = 4096
)

// filler is what a reply is filled with that has no text.
const filler = "on and on "

// A writer sends one reply. Its methods abort the handler once the client has left.
type writer struct {
	web          http.ResponseWriter
	gone, closed <-chan struct{}
}

// answer sends a reply of any kind.
func (w *writer) answer(q *Request, r Reply) {
	w.wait(r.Before)
	maps.Copy(w.web.Header(), r.Header)
	switch {
	case r.Cut == CutHeader:
		panic(http.ErrAbortHandler)
	case r.Status > 0 && r.ContentType != "":
		w.web.Header().Set("Content-Type", r.ContentType)
		w.web.WriteHeader(r.Status)
		w.send(r.Message)
		return
	case r.Status > 0:
		writeError(w.web, q.Protocol, r)
		return
	}
	kind, whole, stream := "application/json", wholeOpenAI, dialect(openAIStream{w, q, &r})
	if q.Protocol == Anthropic {
		whole, stream = wholeAnthropic, anthropicStream{w, q, &r}
	}
	if q.Stream {
		kind = "text/event-stream; charset=utf-8"
	}
	w.web.Header().Set("Content-Type", kind)
	w.web.WriteHeader(http.StatusOK)
	switch {
	case r.Cut == CutBody:
	case q.Stream:
		w.stream(&r, stream)
	case r.Fill == Endless:
		w.send(`{"content":[{"type":"text","text":"`)
		for {
			w.send(strings.Repeat(filler, fillLength))
		}
	default:
		r.fill()
		body := string(encode(whole(q, &r)))
		if r.Cut == CutConnection {
			w.send(body[:len(body)/2])
			panic(http.ErrAbortHandler)
		}
		w.send(body)
	}
}

// event sends one event of a stream; name is "" for those of OpenAI.
func (w *writer) event(name string, v any) {
	text := fmt.Sprintf("data: %s\n\n", encode(v))
	if name != "" {
		text = "event: " + name + "\n" + text
	}
	w.send(text)
}

// send sends text at once.
func (w *writer) send(text string) {
	if _, err := w.web.Write([]byte(text)); err != nil {
		panic(http.ErrAbortHandler)
	}
	if err := http.NewResponseController(w.web).Flush(); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// wait waits at a gate until the client leaves. A nil gate stands open.
func (w *writer) wait(g *Gate) {
	if g == nil {
		return
	}
	g.reach.Do(func() { close(g.reached) })
	select {
	case <-w.gone:
	case <-w.closed:
	}
	panic(http.ErrAbortHandler)
}

// A dialect is how a protocol says an answer as a stream.
type dialect interface {
	begin()
	open(i int, p part) // part i begins
	piece(i int, p part, text string)
	shut(i int, p part)
	finish() // with a reason
	done()   // the last event
	garble() // an event that is not JSON
	fail()   // an error as an event
}

// stream says a reply as a stream.
func (w *writer) stream(r *Reply, d dialect) {
	d.begin()
	parts := r.parts()
	if len(parts) == 0 && !w.amid(r, d) {
		return
	}
	for i, p := range parts {
		d.open(i, p)
		last := i == len(parts)-1
		first := true
		for text := range r.pieces(p, last) {
			d.piece(i, p, text)
			if last && first && !w.amid(r, d) {
				return
			}
			first = false
		}
		d.shut(i, p)
	}
	if r.Cut != CutFinish {
		d.finish()
		d.done()
	}
}

// amid does what is to happen in the middle of a stream, and reports whether it goes on.
func (w *writer) amid(r *Reply, d dialect) bool {
	w.wait(r.Amid)
	if r.Cut == CutConnection {
		panic(http.ErrAbortHandler)
	}
	if r.has(Garbage) {
		d.garble()
	}
	if r.has(LateError) {
		d.fail()
		return false
	}
	return true
}

// A kind of part.
type kind int

const (
	thinking kind = iota
	text
	refusal
	call
)

// A part is one part of a reply, in the order in which they are sent.
type part struct {
	kind kind
	call int // which
	text string
}

func (r *Reply) parts() []part {
	var all []part
	for _, p := range []part{{kind: thinking, text: r.Thinking}, {kind: text, text: r.Text}, {kind: refusal, text: r.Refusal}} {
		if p.text != "" {
			all = append(all, p)
		}
	}
	for i, c := range r.Calls {
		all = append(all, part{kind: call, call: i, text: c.Arguments})
	}
	if len(all) == 0 && r.Fill != 0 {
		all = append(all, part{kind: text, text: filler})
	}
	return all
}

// pieces yields a part in pieces, at least one.
func (r *Reply) pieces(p part, last bool) iter.Seq[string] {
	length := cmp.Or(r.Piece, pieceLength)
	runes, fill := []rune(p.text), int64(0)
	switch {
	case last && r.Fill != 0:
		unit := cmp.Or(p.text, filler)
		length, fill = fillLength, r.Fill
		runes = []rune(strings.Repeat(unit, fillLength/len(unit)+1))
	case p.kind == call && r.has(Object): // which is in one piece
		length = max(length, len(runes))
	}
	return func(yield func(string) bool) {
		for sent, at := int64(0), 0; ; {
			end := min(at+length, len(runes))
			piece := string(runes[at:end])
			if !yield(piece) {
				return
			}
			sent, at = sent+int64(len(piece)), end
			if at < len(runes) {
				continue
			}
			if fill != Endless && sent >= fill {
				return
			}
			at = 0
		}
	}
}

// fill makes the last part of a reply as long as Fill says.
func (r *Reply) fill() {
	parts := r.parts()
	if r.Fill == 0 {
		return
	}
	var b strings.Builder
	p := parts[len(parts)-1]
	for piece := range r.pieces(p, true) {
		b.WriteString(piece)
	}
	switch p.kind {
	case thinking:
		r.Thinking = b.String()
	case text:
		r.Text = b.String()
	case refusal:
		r.Refusal = b.String()
	case call:
		r.Calls = slices.Clone(r.Calls) // the script keeps its own
		r.Calls[p.call].Arguments = b.String()
	}
}
