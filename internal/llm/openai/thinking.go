package openai

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"runpython/internal/llm/wire"
)

// thinking is what a model thought, as the Thinking of an llm.Message.
type thinking struct {
	echo    Echo
	content string                     // reasoning_content
	details []detail                   // reasoning_details
	extra   json.RawMessage            // extra_content of the message
	calls   map[string]json.RawMessage // extra_content of calls, by their ids
}

// unsigned is what Gemini takes in place of a signature for a call that it has not made itself, or of which
// the signature is lost (ai.google.dev, thought signatures).
const unsigned = `{"google":{"thought_signature":"skip_thought_signature_validator"}}`

// ofCall returns the extra_content of a call, nil for none. Gemini signs the first call of each message.
func (t *thinking) ofCall(id string, position int) any {
	if t.echo != ThoughtSignatures {
		return nil
	}
	if extra := t.calls[id]; extra != nil {
		return extra
	}
	if position == 0 {
		return json.RawMessage(unsigned)
	}
	return nil
}

// ofMessage returns the further fields of a message, which calls something or not.
func (t *thinking) ofMessage(calls bool) map[string]any {
	switch {
	case t.echo == ReasoningContent && calls:
		return map[string]any{"reasoning_content": t.content}
	case t.echo == ReasoningDetails && len(t.details) > 0:
		list := make([]map[string]any, len(t.details))
		for i, d := range t.details {
			list[i] = d.whole()
		}
		return map[string]any{"reasoning_details": list}
	case t.echo == ThoughtSignatures && t.extra != nil:
		return map[string]any{"extra_content": t.extra}
	}
	return nil
}

// empty tells whether there is nothing to give back.
func (t *thinking) empty() bool {
	return t.content == "" && len(t.details) == 0 && t.extra == nil && len(t.calls) == 0
}

// A detail is a part of reasoning_details.
type detail struct {
	fields map[string]any
	texts  map[string]*strings.Builder // of the fields that come in pieces
}

// inPieces are the fields of a detail that go on in the next piece of it.
var inPieces = []string{"text", "summary", "data"}

func (d detail) whole() map[string]any {
	whole := maps.Clone(d.fields)
	for key, text := range d.texts {
		whole[key] = text.String()
	}
	return whole
}

// add adds a piece and returns how many bytes of text it had.
func (d detail) add(piece map[string]any) int {
	size := 0
	for key, v := range piece {
		text, isText := v.(string)
		switch {
		case isText && slices.Contains(inPieces, key):
			if d.texts[key] == nil {
				d.texts[key] = new(strings.Builder)
			}
			d.texts[key].WriteString(text)
			size += len(text)
		case v != nil || d.fields[key] == nil:
			d.fields[key] = v
		}
	}
	return size
}

// maxDetails bounds the parts of reasoning_details.
const maxDetails = 1000

// addDetails puts pieces of reasoning_details together, those of one index and type to one, and
// returns how many bytes of text they had. Its error says that there are too many.
func (t *thinking) addDetails(server *wire.Server, raw string) (int, error) {
	var pieces []map[string]any
	if err := json.Unmarshal([]byte(raw), &pieces); err != nil {
		return 0, nil //nolint:nilerr // what is no list of objects is nothing that could be given back
	}
	size := 0
	for _, piece := range pieces {
		d, found := t.detailOf(piece)
		if !found {
			if len(t.details) == maxDetails {
				return 0, server.Oversized("too many parts of thinking")
			}
			d = detail{fields: map[string]any{}, texts: map[string]*strings.Builder{}}
			t.details = append(t.details, d)
		}
		size += d.add(piece)
	}
	return size, nil
}

func (t *thinking) detailOf(piece map[string]any) (detail, bool) {
	index, ok := piece["index"].(float64)
	if !ok {
		return detail{}, false
	}
	for _, d := range slices.Backward(t.details) {
		if d.fields["index"] == index && d.fields["type"] == piece["type"] {
			return d, true
		}
	}
	return detail{}, false
}

// The marks between which models without a field for it think. They stand at the begin of the text.
const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
)

// A sieve takes the thinking out of a text that comes in pieces.
type sieve struct {
	state   int             // before, within, behind, after
	pending strings.Builder // what cannot be told apart yet
}

const (
	before = iota
	within
	behind // in the empty lines after it
	after
)

// add takes a piece and returns what is text of it, and what is thinking.
func (s *sieve) add(piece string) (text, thought string) {
	switch s.state {
	case after:
		return piece, ""
	case behind:
		return s.resume(piece), ""
	}
	s.pending.WriteString(piece)
	all := s.pending.String()
	if s.state == before {
		begin := strings.TrimLeft(all, " \t\r\n")
		switch {
		case strings.HasPrefix(begin, thinkOpen):
			s.state = within
			all = begin[len(thinkOpen):]
		case strings.HasPrefix(thinkOpen, begin):
			return "", "" // too early to tell
		default:
			s.state = after
			s.pending.Reset()
			return all, ""
		}
	}
	s.pending.Reset()
	if thought, text, found := strings.Cut(all, thinkClose); found {
		s.state = behind
		return s.resume(text), thought
	}
	kept := partOf(all, thinkClose)
	s.pending.WriteString(all[len(all)-kept:])
	return "", all[:len(all)-kept]
}

// resume returns text without the empty lines after thinking.
func (s *sieve) resume(text string) string {
	if text = strings.TrimLeft(text, "\r\n"); text != "" {
		s.state = after
	}
	return text
}

// end returns what is left when the text has ended.
func (s *sieve) end() (text, thought string) {
	rest := s.pending.String()
	s.pending.Reset()
	if s.state == within {
		return "", rest
	}
	return rest, ""
}

// partOf returns how many bytes at the end of text may be the begin of mark.
func partOf(text, mark string) int {
	for n := min(len(mark)-1, len(text)); n > 0; n-- {
		if strings.HasSuffix(text, mark[:n]) {
			return n
		}
	}
	return 0
}

// closed returns the text behind a mark that ends thinking which began in the prompt already, as the
// templates of some models have it: the mark ends a line, and no other began before it.
func closed(text string) (rest, thought string) {
	thought, rest, found := strings.Cut(text, thinkClose)
	if !found || strings.Contains(thought, "<think") || rest != "" && rest[0] != '\n' && rest[0] != '\r' {
		return text, ""
	}
	return strings.TrimLeft(rest, "\r\n"), thought
}

// thoughtOf returns t as the Thinking of a message, nil when there is nothing.
func thoughtOf(t *thinking) any {
	if t.echo == NoEcho || t.empty() {
		return nil
	}
	return t
}
