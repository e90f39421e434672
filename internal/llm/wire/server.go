package wire

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"runpython/internal/llm"
)

// A Server is a server of models as messages speak of it. It is safe for concurrent use and must not be
// changed when it is in use.
type Server struct {
	Name    string // "groq", or "the server at HOST"
	Model   string // that is asked for; "" while nobody knows
	Key     string // that is sent, to keep it out of what the log gets; "" for none
	KeyFrom string // where it comes from, or would: "GROQ_API_KEY"
	// AddressFrom is where the operator has named its address: "--model-url", "OPENAI_BASE_URL"; "" for nowhere.
	AddressFrom string
	Local       bool // one that the operator runs, whose faults differ

	// How long it may take to begin an answer, and to go on with it; 0 for the defaults.
	FirstByte, Idle time.Duration
}

// Default times of a Server. A model that thinks may say nothing for minutes before its first word.
const (
	defaultFirstByte = 4 * time.Minute
	defaultIdle      = time.Minute
)

// Bounds of the bodies of answers. A token of a stream takes some 200 bytes, so that of the longest text
// that an llm.Response may have is larger by far.
const (
	maxStreamBytes = 64 << 20
	maxAnswerBytes = 16 << 20 // of an answer at once
	maxErrorBytes  = 64 << 10 // what is longer is cut off
)

// Bounds of what is still read of a body when all that matters of it has been.
const (
	maxRestBytes = 64 << 10
	restTime     = 100 * time.Millisecond
)

// Do sends one request by way of next and makes of its failure, or of the refusal of the server, an
// *llm.Error. The body that it returns is bounded and must be closed. It is a middleware of the SDKs.
func (s *Server) Do(r *http.Request, next func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	ctx, cancel := context.WithCancelCause(r.Context())
	silence := &silence{cancel: cancel, say: s.silent}
	silence.begin(cmp.Or(s.FirstByte, defaultFirstByte))
	resp, err := next(r.WithContext(ctx))
	if err != nil {
		silence.end()
		cancel(nil)
		return nil, s.failed(r.Context(), causeOf(ctx, err))
	}
	b := &body{
		from: resp.Body, ctx: ctx, silence: silence, idle: cmp.Or(s.Idle, defaultIdle), left: maxAnswerBytes,
		over: s.Oversized("more bytes than an answer may have"),
	}
	if hasType(resp.Header, "text/event-stream") {
		b.left = maxStreamBytes
	}
	if resp.StatusCode/100 == 2 {
		if hasType(resp.Header, "text/html") {
			return nil, errors.Join(s.page(), b.Close())
		}
		resp.Body = b
		return resp, nil
	}
	text, err := io.ReadAll(io.LimitReader(b, maxErrorBytes))
	err = errors.Join(err, b.Close())
	if err != nil && len(text) == 0 && r.Context().Err() != nil {
		return nil, r.Context().Err() //nolint:wrapcheck // documented
	}
	return nil, s.Refused(resp.StatusCode, resp.Header, text)
}

// failed makes an *llm.Error of a failure on the way to the server or back, the error of ctx when that has
// ended.
func (s *Server) failed(ctx context.Context, err error) error {
	message := "no connection to " + s.Name
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		message = s.Name + " has a certificate that this machine does not trust; see --ca-bundle"
	}
	return s.failure(ctx, err, llm.Unreachable, message)
}

// Broken makes an *llm.Error of a failure to read an answer, the error of ctx when that has ended.
func (s *Server) Broken(ctx context.Context, err error) error {
	return s.failure(ctx, err, llm.Cut, "the answer of "+s.Name+" broke off")
}

// failure is the *llm.Error that err is already, else the error of ctx when that has ended, else a new one.
func (s *Server) failure(ctx context.Context, err error, kind llm.Kind, message string) error {
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return e
	}
	if ctx.Err() != nil {
		return ctx.Err() //nolint:wrapcheck // documented
	}
	return &llm.Error{Kind: kind, Message: message, Err: s.withoutKey(err)}
}

// Empty is the error of an answer without a single byte. Some servers give it when the conversation is too
// long and they find that out only after they have begun.
func (s *Server) Empty() *llm.Error {
	if s.Local {
		return &llm.Error{
			Kind:    llm.TooLong,
			Message: s.Name + " answered with nothing, as it does when the conversation is longer than the model's window",
		}
	}
	return &llm.Error{Kind: llm.Cut, Message: s.Name + " answered with nothing"}
}

// Oversized is the error of an answer that is longer than it may be: what names the part and the bound.
func (s *Server) Oversized(what string) *llm.Error {
	return &llm.Error{Kind: llm.Oversized, Message: fmt.Sprintf("the answer of %s has %s", s.Name, what)}
}

func (s *Server) silent(d time.Duration) error {
	return &llm.Error{Kind: llm.Cut, Message: fmt.Sprintf("%s has said nothing for %s", s.Name, d)}
}

// page is the error of an answer that is a web page: that of a login, a proxy, or of a server with an interface for people.
func (s *Server) page() *llm.Error {
	return &llm.Error{Kind: llm.Invalid, Message: s.Name + " answers with a web page" + s.seeAddress()}
}

// seeAddress ends a message about an address that may be a wrong one: it tells where the operator has named it.
func (s *Server) seeAddress() string {
	if s.AddressFrom == "" {
		return ""
	}
	return ": see " + s.AddressFrom
}

// withoutKey returns err, or its text alone if the key is in that.
func (s *Server) withoutKey(err error) error {
	if text := err.Error(); s.masked(text) != text {
		return errors.New(s.masked(text))
	}
	return err
}

// masked returns text without the key.
func (s *Server) masked(text string) string {
	if s.Key == "" {
		return text
	}
	return strings.ReplaceAll(text, s.Key, "***")
}

func hasType(h http.Header, kind string) bool {
	return strings.HasPrefix(strings.ToLower(h.Get("Content-Type")), kind)
}

// causeOf returns why ctx was ended by us, else err.
func causeOf(ctx context.Context, err error) error {
	if e, ok := errors.AsType[*llm.Error](context.Cause(ctx)); ok {
		return e
	}
	return err
}

// A silence ends a request whose server says nothing for too long.
type silence struct {
	cancel context.CancelCauseFunc
	say    func(time.Duration) error
	timer  *time.Timer
}

// begin gives the server until limit to say something.
func (s *silence) begin(limit time.Duration) {
	s.timer = time.AfterFunc(limit, func() { s.cancel(s.say(limit)) })
}

func (s *silence) end() { s.timer.Stop() }

// A body is that of an answer, with a bound for its size and its silences.
type body struct {
	from    io.ReadCloser
	ctx     context.Context //nolint:containedctx // of this request, which ends with Close
	silence *silence
	idle    time.Duration // from the first byte on
	left    int
	over    error // when nothing is left
}

// Read reads what has come.
func (b *body) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, b.over
	}
	n, err := b.from.Read(p[:min(len(p), b.left)])
	b.left -= n
	if n > 0 {
		b.heard()
	}
	if err != nil && !errors.Is(err, io.EOF) {
		err = causeOf(b.ctx, err)
	}
	return n, err //nolint:wrapcheck // a reader
}

// heard begins the next silence.
func (b *body) heard() {
	b.silence.end()
	b.silence.begin(b.idle)
}

// Close ends the request. A stream says that it is over before its body is, and only a connection whose body
// was read to its end serves the next request.
func (b *body) Close() error {
	b.silence.end()
	b.silence.begin(restTime)
	_, _ = io.CopyN(io.Discard, b.from, maxRestBytes) // an error only means that the connection is of no more use
	b.silence.end()
	b.silence.cancel(nil)
	return b.from.Close() //nolint:wrapcheck // a closer
}
