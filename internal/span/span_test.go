package span_test

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"runpython/internal/span"
	"runpython/internal/trace"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// form is what a test compares of a span.
type form struct {
	TraceID, SpanID, ParentSpanID, Name string
	Kind                                int
	StartTimeUnixNano, EndTimeUnixNano  string
	Attributes                          []struct {
		Key   string
		Value struct{ StringValue, IntValue string }
	}
	Status struct{ Code int }
}

// collector keeps what was sent.
type collector struct {
	mu       sync.Mutex
	requests []*http.Request
	resource map[string]string
	spans    []form
	status   int
}

func (c *collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var d struct {
		ResourceSpans []struct {
			Resource struct {
				Attributes []struct {
					Key   string
					Value struct{ StringValue string }
				}
			}
			ScopeSpans []struct{ Spans []form }
		}
	}
	if err == nil {
		err = json.Unmarshal(body, &d)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.requests = append(c.requests, r)
	if c.status != 0 || err != nil {
		w.WriteHeader(max(c.status, http.StatusBadRequest))
		return
	}
	c.resource = map[string]string{}
	for _, rs := range d.ResourceSpans {
		for _, a := range rs.Resource.Attributes {
			c.resource[a.Key] = a.Value.StringValue
		}
		for _, ss := range rs.ScopeSpans {
			c.spans = append(c.spans, ss.Spans...)
		}
	}
}

func settings(t *testing.T, variables map[string]string) span.Settings {
	t.Helper()
	s, err := span.FromVariables(func(name string) string { return variables[name] }, "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A client's trace goes on: spans are within each other, and reach the collector with what the variables say.
func TestSpansReachTheCollector(t *testing.T) {
	c := &collector{}
	server := httptest.NewServer(c)
	defer server.Close()
	tracer := span.Start(settings(t, map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": server.URL + "/base/", "OTEL_EXPORTER_OTLP_HEADERS": "x-key=a%20secret, x-other=1",
		"OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=test,service.name=other", "OTEL_SERVICE_NAME": "mine",
	}), server.Client(), slog.New(slog.DiscardHandler))
	client := trace.Context{TraceID: strings.Repeat("a", 32), SpanID: strings.Repeat("b", 16), State: "k=v"}
	ctx, outer := tracer.Begin(trace.NewContext(t.Context(), client), "turn", span.Server)
	inside := trace.FromContext(ctx)
	_, inner := tracer.Begin(ctx, "run", span.Internal)
	inner.Text("status", "ok")
	inner.Number("bytes", 1<<40)
	inner.End(false)
	outer.End(true)
	_, alone := tracer.Begin(t.Context(), "alone", span.Client)
	alone.End(false)
	tracer.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.requests) != 1 || len(c.spans) != 3 {
		t.Fatalf("%d requests with %d spans", len(c.requests), len(c.spans))
	}
	r := c.requests[0]
	if r.URL.Path != "/base/v1/traces" || r.Header.Get("X-Key") != "a secret" || r.Header.Get("X-Other") != "1" || r.Header.Get("Content-Type") != "application/json" {
		t.Errorf("the request is to %s with %v", r.URL, r.Header)
	}
	want := map[string]string{"service.name": "mine", "service.version": "1.2.3", "deployment.environment.name": "test"}
	if d := cmp.Diff(want, c.resource); d != "" {
		t.Errorf("resource (-want +got):\n%s", d)
	}
	run, turn, other := c.spans[0], c.spans[1], c.spans[2]
	if turn.TraceID != client.TraceID || turn.ParentSpanID != client.SpanID || turn.SpanID != inside.SpanID || turn.Kind != 2 || turn.Status.Code != 2 || inside.State != "k=v" {
		t.Errorf("turn: %+v within %+v", turn, inside)
	}
	if run.TraceID != client.TraceID || run.ParentSpanID != turn.SpanID || run.Kind != 1 || run.Status.Code != 0 || run.StartTimeUnixNano > run.EndTimeUnixNano {
		t.Errorf("run: %+v", run)
	}
	if len(run.Attributes) != 2 || run.Attributes[0].Value.StringValue != "ok" || run.Attributes[1].Value.IntValue != "1099511627776" {
		t.Errorf("attributes: %+v", run.Attributes)
	}
	if len(other.TraceID) != 32 || other.TraceID == client.TraceID || other.ParentSpanID != "" {
		t.Errorf("alone: %+v", other)
	}
}

// A collector that fails is told of once, and holds nobody.
func TestCollectorFails(t *testing.T) {
	c := &collector{status: http.StatusServiceUnavailable}
	server := httptest.NewServer(c)
	defer server.Close()
	var log bytes.Buffer
	tracer := span.Start(settings(t, map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": server.URL + "/as/it/is"}), server.Client(), slog.New(slog.NewTextHandler(&log, nil)))
	for range 10_000 { // more than the queue takes
		_, s := tracer.Begin(t.Context(), "turn", span.Server)
		s.End(false)
	}
	tracer.Close()
	tracer.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	if n := strings.Count(log.String(), "spans are dropped"); n != 1 || !strings.Contains(log.String(), "503") {
		t.Errorf("the log tells %d times that spans are dropped:\n%s", n, log.String())
	}
	if !strings.Contains(log.String(), "faster than they could be sent") {
		t.Errorf("the log does not tell that the queue was full:\n%s", log.String())
	}
	if len(c.requests) == 0 || c.requests[0].URL.Path != "/as/it/is" {
		t.Errorf("%d requests", len(c.requests))
	}
}

func TestNoTracer(t *testing.T) {
	for name, variables := range map[string]map[string]string{
		"nothing":  {},
		"disabled": {"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"},
		"none":     {"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"},
	} {
		tracer := span.Start(settings(t, variables), nil, nil)
		ctx, s := tracer.Begin(t.Context(), "turn", span.Server)
		s.Text("a", "b")
		s.Number("c", 1)
		s.End(false)
		tracer.Close()
		if tracer != nil || ctx != t.Context() {
			t.Errorf("%s: there is a tracer", name)
		}
	}
}

func TestSampler(t *testing.T) {
	for name, want := range map[string][2]int{"": {1000, 1000}, "always_off": {0, 0}, "parentbased_always_on": {1000, 1000}, "traceidratio": {150, 350}} {
		s := settings(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_SAMPLER": name, "OTEL_TRACES_SAMPLER_ARG": "0.25"})
		tracer := span.Start(s, http.DefaultClient, slog.New(slog.DiscardHandler))
		taken := 0
		for range 1000 {
			ctx, outer := tracer.Begin(t.Context(), "a", span.Server)
			if outer != nil {
				taken++
			}
			if _, inner := tracer.Begin(ctx, "b", span.Internal); (inner == nil) != (outer == nil) {
				t.Fatalf("%q: a span is sent: %v; the one within it: %v", name, outer != nil, inner != nil)
			}
		}
		tracer.Close()
		if taken < want[0] || taken > want[1] {
			t.Errorf("%q: %d of 1000 traces, want %d to %d", name, taken, want[0], want[1])
		}
	}
}

func TestWrongVariables(t *testing.T) {
	for name, value := range map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": "127.0.0.1:4318", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "ftp://x", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
		"OTEL_EXPORTER_OTLP_HEADERS": "secret", "OTEL_RESOURCE_ATTRIBUTES": "a=%zz", "OTEL_TRACES_SAMPLER": "jaeger_remote", "OTEL_TRACES_SAMPLER_ARG": "2",
	} {
		variables := map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:4318", "OTEL_TRACES_SAMPLER": "traceidratio"}
		variables[name] = value
		_, err := span.FromVariables(func(name string) string { return variables[name] }, "1")
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s=%s: %v", name, value, err)
		}
	}
}
