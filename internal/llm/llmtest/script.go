package llmtest

import (
	"net/http"
	"slices"
	"sync"

	"runpython/internal/llm"
)

// Protocol is how a client speaks with a model.
type Protocol string

// The protocols.
const (
	OpenAI    Protocol = "openai"    // chat completions
	Anthropic Protocol = "anthropic" // messages
)

// A Script is a conversation: requests as they must come, and their answers.
type Script struct {
	Name      string
	Exchanges []Exchange
	// Otherwise answers every request after the last exchange; without it there may be none.
	Otherwise func(*Request) Reply
	// NoNull answers 500 to a message of the assistant whose content is null, as llama.cpp's server in
	// Python does. It is no error of the test: the client may try again.
	NoNull bool
}

// An Exchange is one request and its answer.
type Exchange struct {
	Want  Want
	Reply Reply
}

// Want is what must be true of a request; a zero field asks for nothing.
type Want struct {
	Protocol Protocol
	Stream   *bool
	Messages int      // how many, the system's not counted; each result of a call counts
	Tools    []string // the names of exactly those that are offered; empty and not nil: none
	Key      string   // as a bearer token, or the x-api-key of Anthropic
	Result   string   // is in the last message, and that is the result of a call
	Has      []string // parts of the texts, calls and results
	Lacks    []string // parts that are in none of them
	Body     []string // parts of the body as it was sent
}

// A Call is a tool call of a reply. Arguments are sent as they are: JSON, or whatever a model may write.
type Call struct {
	ID, Name, Arguments string
}

// Cut tells where a reply ends too soon.
type Cut string

// The ends.
const (
	CutNone       Cut = ""
	CutConnection Cut = "connection" // the connection breaks after the first half of the pieces
	CutFinish     Cut = "finish"     // a stream ends, cleanly, without a reason
	CutBody       Cut = "body"       // status 200, the header, and nothing else
	CutHeader     Cut = "header"     // the connection breaks before the status
)

// Quirk is a habit of one of the many servers that are "compatible". Where no protocol is named, it is
// OpenAI's.
type Quirk string

// The habits.
const (
	Repeated  Quirk = "repeated" // id, type and the whole name in each piece of a call
	Nulls     Quirk = "nulls"    // null in place of all that is absent
	Object    Quirk = "object"   // arguments as an object; they must be JSON
	NoID      Quirk = "no-id"    // calls without an id
	NoUsage   Quirk = "no-usage" // no count of tokens, whatever was asked for; both protocols
	Comments  Quirk = "comments" // comment lines (OpenAI) or pings (Anthropic) between the events
	LateError Quirk = "error"    // an error amid the stream, status 200; both protocols
	Garbage   Quirk = "garbage"  // an event amid the stream that is not JSON; both protocols
)

// A Reply is an answer. The zero Reply is an empty one.
type Reply struct {
	Thinking string
	Text     string
	Refusal  string // text with which the model refuses
	Calls    []Call
	Stop     llm.Stop  // "" is Called if there are calls, Refused if there is a refusal, else End
	Usage    llm.Usage // 0 input or output is counted by the length
	Piece    int       // characters in a piece of a stream; 0 is 4
	Fill     int64     // repeats the last part until the reply has so many bytes; Endless does not end it
	Cut      Cut
	Quirks   []Quirk
	Before   *Gate // holds the status
	Amid     *Gate // holds the second half of a stream

	// A Status above 0 makes it another answer: Type and Message as the protocol words errors or,
	// with a ContentType, Message alone.
	Status      int
	Type        string
	Message     string
	ContentType string
	Header      http.Header // of any answer
}

// Endless as a Fill goes on until the client leaves.
const Endless int64 = -1

// failure returns a reply of a status above 399, worded as the protocol words errors.
func failure(status int, kind, message string) Reply {
	return Reply{Status: status, Type: kind, Message: message}
}

func (r *Reply) has(q Quirk) bool { return slices.Contains(r.Quirks, q) }

// stop is why the answer ends.
func (r *Reply) stop() llm.Stop {
	switch {
	case r.Stop != "":
		return r.Stop
	case r.Refusal != "":
		return llm.Refused
	case len(r.Calls) > 0:
		return llm.Called
	default:
		return llm.End
	}
}

// usage is what the answer and its request took.
func (r *Reply) usage(q *Request) llm.Usage {
	const bytesPerToken = 4
	u := r.Usage
	if u.Input == 0 {
		u.Input = 1 + len(q.Body)/bytesPerToken
	}
	if u.Output == 0 {
		u.Output = 1 + (len(r.Thinking)+len(r.Text)+len(r.Refusal))/bytesPerToken
		for _, c := range r.Calls {
			u.Output += 1 + (len(c.Name)+len(c.Arguments))/bytesPerToken
		}
	}
	return u
}

// A Gate holds a reply until the client leaves. It is of one reply.
type Gate struct {
	reached chan struct{}
	reach   sync.Once
}

// Reached is closed when the reply has come to the gate.
func (g *Gate) Reached() <-chan struct{} { return g.reached }
