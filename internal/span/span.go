// Package span records what the parts of a call take, as spans of OpenTelemetry, and sends them to a collector by OTLP over
// HTTP in its JSON form.
//
// A [Tracer] that is nil records nothing; so does everything that it makes. Spans go on with the trace that a client has sent,
// see package trace, and what is logged meanwhile carries their ids.
//
// # Trust
//
// The collector is the operator's choice. Spans have names and numbers of this program: never code, output, messages or
// names that somebody chose.
//
// # Failure
//
// Nothing waits for the collector. Spans that it does not take, or that come faster than they can be sent, are dropped; the log
// tells when that begins and when it ends.
package span

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"runpython/internal/trace"
)

// Bounds, which are the defaults of OpenTelemetry's batch span processor.
const (
	queued   = 2048
	batched  = 512
	sendWait = 5 * time.Second
	sendTime = 10 * time.Second
	// maxAnswer is what is read of a collector's answer, so that its connection can be kept.
	maxAnswer = 64 << 10
)

// A Kind is the part of this program in what a span tells of, as OTLP numbers it.
type Kind int

// The kinds.
const (
	Internal Kind = 1
	Server   Kind = 2
	Client   Kind = 3
)

// A Tracer makes spans and sends them. It is safe for concurrent use. Close it.
type Tracer struct {
	settings Settings
	client   *http.Client
	log      *slog.Logger

	queue   chan *Span
	full    chan struct{} // tells run that a batch is there
	dropped atomic.Int64  // spans for which the queue had no place
	stop    chan struct{}
	done    sync.WaitGroup
	once    sync.Once
}

// Start returns a Tracer, nil if the settings name no collector.
func Start(s Settings, client *http.Client, log *slog.Logger) *Tracer {
	if s.Endpoint == "" {
		return nil
	}
	t := &Tracer{settings: s, client: client, log: log, queue: make(chan *Span, queued), full: make(chan struct{}, 1), stop: make(chan struct{})}
	t.done.Go(t.run)
	return t
}

// Close sends what is there and ends the Tracer. A collector that does not answer keeps it for sendTime.
func (t *Tracer) Close() {
	if t == nil {
		return
	}
	t.once.Do(func() { close(t.stop) })
	t.done.Wait()
}

// A Span is one part of a call under way. It is used by one goroutine. End it.
type Span struct {
	tracer *Tracer

	traceID, spanID, parent string
	name                    string
	kind                    Kind
	begun                   time.Time
	ended                   time.Time
	failed                  bool
	attributes              []attribute
}

// Begin begins a span within that of ctx, or in a trace of its own, and returns a context for what is done in it.
func (t *Tracer) Begin(ctx context.Context, name string, kind Kind) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	parent := trace.FromContext(ctx)
	s := &Span{tracer: t, traceID: parent.TraceID, spanID: id(8), parent: parent.SpanID, name: name, kind: kind, begun: time.Now()}
	if s.traceID == "" {
		s.traceID = id(16)
	}
	if !t.settings.samples(s.traceID) {
		if parent.TraceID == "" { // what is within it would be a trace of its own, and perhaps be sent
			ctx = trace.NewContext(ctx, trace.Context{TraceID: s.traceID, SpanID: s.spanID})
		}
		return ctx, nil
	}
	return trace.NewContext(ctx, trace.Context{TraceID: s.traceID, SpanID: s.spanID, State: parent.State}), s
}

// id returns so many random bytes in hexadecimal digits.
func id(size int) string {
	b := make([]byte, size)
	_, _ = rand.Read(b) // it does not fail
	return hex.EncodeToString(b)
}

// Text adds a text of this program's own.
func (s *Span) Text(key, value string) {
	if s != nil {
		s.attributes = append(s.attributes, attribute{key, map[string]any{"stringValue": value}})
	}
}

// Number adds a number.
func (s *Span) Number(key string, value int64) {
	if s != nil { // OTLP writes it as text, since JSON's numbers are too small
		s.attributes = append(s.attributes, attribute{key, map[string]any{"intValue": fmt.Sprint(value)}})
	}
}

// End ends the span and leaves it to be sent. failed says that it is an error of this program or of what it has asked.
func (s *Span) End(failed bool) {
	if s == nil {
		return
	}
	s.ended, s.failed = time.Now(), failed
	select {
	case s.tracer.queue <- s:
	default: // they come faster than they can be sent
		s.tracer.dropped.Add(1)
	}
	if len(s.tracer.queue) >= batched {
		select {
		case s.tracer.full <- struct{}{}:
		default: // it knows
		}
	}
}

// run sends spans until the Tracer ends.
func (t *Tracer) run() {
	tick := time.NewTicker(sendWait)
	defer tick.Stop()
	failing := false
	for ending := false; !ending; {
		select {
		case <-tick.C:
		case <-t.full:
		case <-t.stop:
			ending = true
		}
		err := t.sendAll()
		switch {
		case err != nil && !failing:
			t.log.Warn("spans are dropped", "error", err)
		case err == nil && failing:
			t.log.Info("spans are taken again")
		}
		failing = err != nil
	}
}

// sendAll sends what is in the queue. A batch that is not taken is dropped, and the rest waits for the next time.
func (t *Tracer) sendAll() error {
	if n := t.dropped.Swap(0); n > 0 {
		t.log.Warn("spans came faster than they could be sent", "dropped", n)
	}
	for len(t.queue) > 0 {
		if err := t.send(t.batch()); err != nil {
			return err
		}
	}
	return nil
}

// batch takes spans out of the queue.
func (t *Tracer) batch() []*Span {
	var spans []*Span
	for len(spans) < batched {
		select {
		case s := <-t.queue:
			spans = append(spans, s)
		default:
			return spans
		}
	}
	return spans
}

// send posts spans to the collector.
func (t *Tracer) send(spans []*Span) error {
	body, err := json.Marshal(t.settings.document(spans))
	if err != nil {
		return fmt.Errorf("write spans: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), sendTime)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, t.settings.Endpoint, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("send spans: %w", err)
	}
	for name, value := range t.settings.Headers {
		r.Header.Set(name, value)
	}
	r.Header.Set("Content-Type", "application/json")
	answer, err := t.client.Do(r)
	if err != nil {
		return fmt.Errorf("send spans: %w", err)
	}
	defer func() { _ = answer.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, maxAnswer)) // what it says to 200 changes nothing
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("send spans: the collector answers %s", answer.Status)
	}
	return nil
}
