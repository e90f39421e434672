// Package fault says what the outside may be told about a failure.
//
// # Trust
//
// An [Error] carries two things: a message that is safe to show to whoever
// asked (no paths of the host, no text of a library, no secret) and the cause,
// which goes to the operator's log only. Each transport has one mapping from
// [Kind] to its own words: MCP result, HTTP status, exit code.
//
// # Failure
//
// An error that carries no Error is internal: [Shown] says nothing of it but
// that it happened.
package fault

import (
	"errors"
	"math"
	"syscall"
	"time"
)

// Kind is the class of a failure, from which a transport picks its own code.
type Kind int

// The kinds, in the order of how much the caller can do about them.
const (
	// Internal is ours: the caller can only try again later.
	Internal Kind = iota
	// Invalid input: the message says what to change.
	Invalid
	// NotFound is an unknown, expired or foreign thing; the three look alike.
	NotFound
	// Busy means that a bound is reached for now.
	Busy
	// Canceled means that the caller went away or stopped the call.
	Canceled
	// Unsupported means that the machine lacks something that is needed.
	Unsupported
)

// String returns the kind as one lower-case word.
func (k Kind) String() string {
	switch k {
	case Invalid:
		return "invalid"
	case NotFound:
		return "not found"
	case Busy:
		return "busy"
	case Canceled:
		return "canceled"
	case Unsupported:
		return "unsupported"
	case Internal:
	}
	return "internal"
}

// An Error is a failure that is shown in part: Message to whoever asked, the
// cause to the operator's log only.
type Error struct {
	Kind    Kind
	Message string // a sentence for the caller: no paths, no secrets, no text of a library
	// RetryAfter says when a bound of the caller's own lets the same through, 0 where that is not known. It is of Busy only.
	RetryAfter time.Duration
	cause      error
}

// New returns an Error of kind with a message for the caller. The cause may be
// nil; it is found by errors.Is and errors.As and printed by Error, never by Shown.
func New(kind Kind, cause error, message string) *Error {
	return &Error{Kind: kind, Message: message, cause: cause}
}

// TryAgainAfter returns an Error of Busy for a bound of the caller's own, which lets the same through after a wait.
func TryAgainAfter(wait time.Duration, message string) *Error {
	return &Error{Kind: Busy, Message: message, RetryAfter: wait}
}

// Seconds rounds a wait up to what callers are told.
func Seconds(wait time.Duration) int { return int(math.Ceil(wait.Seconds())) }

// Error returns message and cause, for the operator.
func (e *Error) Error() string {
	if e.cause == nil {
		return e.Message
	}
	return e.Message + ": " + e.cause.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// Shown returns the kind of err and the text that may leave the program.
func Shown(err error) (Kind, string) {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind, e.Message
	}
	return Internal, "internal error; the operator's log has the details"
}

// IsDiskFull reports whether err comes from a disk, or a quota on one, that has no room.
func IsDiskFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// DiskTrouble says what a disk is that has refused a write, "full" or "read-only"; "" when err does not come from one.
func DiskTrouble(err error) string {
	switch {
	case IsDiskFull(err):
		return "full"
	case errors.Is(err, syscall.EROFS):
		return "read-only"
	}
	return ""
}
