// Package trace carries the W3C Trace Context of a request through the program, so
// that an operator finds in the log what belongs to one call of a client.
//
// [Parse] reads what a client sent, [NewContext] hands it down, and [Handler] adds
// it to every event that is logged with that context. span_id is the caller's span, or
// where package span sends some, the one of this program within which it happened.
//
// # Trust
//
// The values are a client's and prove nothing. They are taken only in the exact
// form that W3C Trace Context gives them, which has no room for anything that could
// harm a log.
//
// # Failure
//
// What does not have that form is dropped, as that recommendation demands: a request
// never fails for it.
package trace

import (
	"context"
	"log/slog"
	"slices"
	"strings"
)

// A Context tells of which trace a request is a part. The zero value is none.
type Context struct {
	TraceID string // 32 lower-case hexadecimal digits, not all zero; "" in the zero value
	SpanID  string // 16 of them, the caller's span
	State   string // what vendors add (tracestate); "" when there is none
}

// The lengths of the fields of a traceparent of version 00, and of the whole.
const (
	versionLength = 2
	traceLength   = 32
	spanLength    = 16
	flagsLength   = 2

	parentLength = versionLength + 1 + traceLength + 1 + spanLength + 1 + flagsLength
)

// Parse reads a traceparent and the tracestate with it (W3C Trace Context, 3.2 and
// 3.3), "" when there is none. It reports false if the parent is malformed. A state
// that is malformed is left out.
//
// A later version of the parent is read as far as version 00 goes, and flags are
// only checked.
func Parse(parent, state string) (Context, bool) {
	if len(parent) < parentLength {
		return Context{}, false
	}
	known, rest := parent[:parentLength], parent[parentLength:]
	fields := strings.Split(known, "-")
	if len(fields) != 4 {
		return Context{}, false
	}
	version, traceID, spanID, flags := fields[0], fields[1], fields[2], fields[3]
	switch {
	case !digits(version, versionLength), version == "ff",
		version == "00" && rest != "", rest != "" && rest[0] != '-',
		!digits(traceID, traceLength), zero(traceID),
		!digits(spanID, spanLength), zero(spanID),
		!digits(flags, flagsLength):
		return Context{}, false
	}
	if !validState(state) {
		state = ""
	}
	return Context{TraceID: traceID, SpanID: spanID, State: state}, true
}

// digits reports whether s consists of n lower-case hexadecimal digits.
func digits(s string, n int) bool {
	return len(s) == n && strings.Trim(s, "0123456789abcdef") == ""
}

func zero(s string) bool { return strings.Trim(s, "0") == "" }

// Bounds of a tracestate. The recommendation lets nobody cut one below the first
// two; a longer one is left out.
const (
	maxStateBytes  = 512
	maxMembers     = 32
	maxKeyBytes    = 256
	maxTenantBytes = 241
	maxSystemBytes = 14
	maxValueBytes  = 256
)

// validState reports whether s is a list of members with different keys.
func validState(s string) bool {
	if len(s) > maxStateBytes {
		return false
	}
	var keys []string
	for member := range strings.SplitSeq(s, ",") {
		member = strings.Trim(member, " \t")
		if member == "" {
			continue // the recommendation allows empty members
		}
		key, value, ok := strings.Cut(member, "=")
		if !ok || !validKey(key) || !validValue(value) || slices.Contains(keys, key) || len(keys) == maxMembers {
			return false
		}
		keys = append(keys, key)
	}
	return true
}

const (
	lower    = "abcdefghijklmnopqrstuvwxyz"
	lowerNum = lower + "0123456789"
	keyRest  = lowerNum + "_-*/"
)

// validKey reports whether s is a key: of a vendor, or of a tenant of one.
func validKey(s string) bool {
	tenant, system, multi := strings.Cut(s, "@")
	if !multi {
		return word(s, lower, maxKeyBytes)
	}
	return word(tenant, lowerNum, maxTenantBytes) && word(system, lower, maxSystemBytes)
}

// word reports whether s has 1 to most characters, the first one of first.
func word(s, first string, most int) bool {
	return s != "" && len(s) <= most && strings.IndexByte(first, s[0]) >= 0 && strings.Trim(s, keyRest) == ""
}

func validValue(s string) bool {
	if s == "" || len(s) > maxValueBytes {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' || r == ',' || r == '=' })
}

// key is that of a Context in a context.
type key struct{}

// NewContext returns ctx with c.
func NewContext(ctx context.Context, c Context) context.Context {
	return context.WithValue(ctx, key{}, c)
}

// FromContext returns what NewContext has put into ctx, or the zero value.
func FromContext(ctx context.Context) Context {
	c, _ := ctx.Value(key{}).(Context)
	return c
}

// Handler returns a handler that adds trace_id, span_id and, if there is one,
// trace_state to each record whose context has a Context, and hands it to next.
func Handler(next slog.Handler) slog.Handler { return handler{next} }

type handler struct{ slog.Handler }

// Handle implements [slog.Handler].
func (h handler) Handle(ctx context.Context, r slog.Record) error {
	if c := FromContext(ctx); c.TraceID != "" {
		r = r.Clone()
		r.AddAttrs(slog.String("trace_id", c.TraceID), slog.String("span_id", c.SpanID))
		if c.State != "" {
			r.AddAttrs(slog.String("trace_state", c.State))
		}
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (h handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return handler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements [slog.Handler].
func (h handler) WithGroup(name string) slog.Handler { return handler{h.Handler.WithGroup(name)} }
