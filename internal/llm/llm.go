// Package llm is how the product speaks with language models: one small interface, which
// the packages below it implement for the protocols of the vendors.
//
// # Trust
//
// What a model answers is hostile: it may be malformed, endless, or written by somebody who got
// text into the conversation. Sizes are bounded here, meaning is judged by the caller. Keys are
// known only to the implementations and never part of an error's message.
//
// # Failure
//
// Everything that can go wrong with a request is an [*Error], whose Kind says what may be done
// about it.
package llm

import "context"

// A Model answers conversations. It is safe for concurrent use.
type Model interface {
	// Complete asks for the next message of a conversation. Its errors are *Error, apart from that
	// of ctx when it has ended. It returns no message together with an error.
	Complete(ctx context.Context, r Request) (*Response, error)
	// Name returns the vendor and the model as the operator named them: "openai/gpt-5".
	Name() string
}

// A Request is a conversation that a model is to carry on.
type Request struct {
	System   string // who the model is
	Messages []Message
	Tools    []Tool // that it may call; none are offered when empty
	// MaxTokens bounds the answer, thinking included; 0 leaves it to the vendor.
	MaxTokens int
	// Extra is merged into the body of this request, over that of the configuration: a grammar.
	Extra map[string]any
	// Stream, if not nil, is called with pieces of the text as they come, from one goroutine. A request
	// that is sent again after a failure may repeat them.
	Stream func(text string)
}

// Role is who wrote a message.
type Role string

// The roles.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	Tooling   Role = "tool" // the result of a call
)

// A Message is one part of a conversation.
type Message struct {
	Role   Role
	Text   string
	Images []Image // of User and Tooling; left out for models that see none
	Calls  []Call  // of Assistant
	CallID string  // of Tooling: which call it answers
	Failed bool    // of Tooling: the call has failed
	// Thinking is what the vendor wants to have back with the message and nobody else reads, in the
	// form of the implementation that made it, of which every other one ignores it; nil for none.
	Thinking any
}

// An Image is a picture for a model that can see.
type Image struct {
	MIMEType string // image/png or image/jpeg
	Data     []byte
}

// A Tool is something that the model may ask the caller to do.
type Tool struct {
	Name        string
	Description string
	Schema      map[string]any // JSON Schema of the arguments, an object
}

// A Call is the wish of a model to have a tool do something.
type Call struct {
	ID        string
	Name      string
	Arguments string // JSON as the model wrote it: whoever reads it must expect anything
}

// Stop tells why an answer ended.
type Stop string

// The ends of answers.
const (
	End     Stop = "end"     // the model has said all
	Called  Stop = "called"  // it waits for the results of its calls
	Length  Stop = "length"  // MaxTokens, or the model's own bound
	Refused Stop = "refused" // the model or its vendor declines
)

// A Response is the answer to a Request.
type Response struct {
	Message Message // of the role Assistant, at most MaxAnswerBytes of text, thinking and arguments each
	Stop    Stop
	Usage   Usage
}

// Bounds of an answer; what is longer ends the request with Oversized.
const (
	MaxAnswerBytes = 1 << 20
	MaxCalls       = 32
)

// Usage counts the tokens of a request. Where the server reports none they are estimated, one for
// each four bytes.
type Usage struct {
	Input     int  // all of the request
	Cached    int  // those of Input that the vendor had in its cache
	Output    int  // all of the answer, Thinking included
	Thinking  int  // those of Output that were thought
	Estimated bool // the numbers are not the server's
}

// Add returns the sum of two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		Input: u.Input + v.Input, Cached: u.Cached + v.Cached, Output: u.Output + v.Output,
		Thinking: u.Thinking + v.Thinking, Estimated: u.Estimated || v.Estimated,
	}
}
