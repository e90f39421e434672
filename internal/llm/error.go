package llm

import (
	"errors"
	"time"
)

// Kind says what is wrong with a request, and so what may be done about it.
type Kind string

// The kinds. Limited, Overloaded, Unreachable and Cut may pass: a request is sent again.
const (
	Unauthorized Kind = "unauthorized" // the key is missing, wrong, or without credit
	NoModel      Kind = "no model"     // the server does not know the model
	Invalid      Kind = "invalid"      // the server does not understand the request
	TooLong      Kind = "too long"     // the conversation does not fit the model's window
	NoTools      Kind = "no tools"     // the model or its server cannot call tools
	Oversized    Kind = "oversized"    // the answer is longer than it may be
	Limited      Kind = "limited"      // too many requests: see RetryAfter
	Overloaded   Kind = "overloaded"   // the server fails, or is overloaded
	Unreachable  Kind = "unreachable"  // no connection, no certificate, no answer in time
	Cut          Kind = "cut"          // the answer broke off, or was none
)

// An Error is why a model has not answered.
type Error struct {
	Kind Kind
	// Message is one sentence without a full stop, fit for whoever asked: no key, no address that
	// the operator has not named, nothing of the conversation.
	Message    string
	RetryAfter time.Duration // of Limited and Overloaded, as the server says it; 0 when it does not
	Err        error         // the cause, for the log
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of an error of a Model, "" for any other.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return ""
}
