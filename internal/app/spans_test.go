package app_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/app"
	"runpython/internal/config"
	"runpython/internal/extent"
	"runpython/internal/fault"
	"runpython/internal/guesttest"
)

// withTrace is a client that records a trace.
type withTrace struct{ parent string }

func (w withTrace) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Traceparent", w.parent)
	return http.DefaultTransport.RoundTrip(r)
}

// sent is a span as a collector gets it.
type sent struct {
	TraceID, SpanID, ParentSpanID, Name string
}

// The trace of a client goes on through a turn to its run, and nothing of what was said or printed is in it.
func TestSpansOfATurn(t *testing.T) {
	extent.Slow(t)
	guesttest.Guests(t)
	var mu sync.Mutex
	var spans []sent
	var text strings.Builder
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		var d struct {
			ResourceSpans []struct {
				ScopeSpans []struct{ Spans []json.RawMessage }
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&d); err != nil {
			t.Errorf("what is sent: %v", err)
			return
		}
		mu.Lock()
		defer mu.Unlock()
		for _, raw := range d.ResourceSpans[0].ScopeSpans[0].Spans {
			var s sent
			if err := json.Unmarshal(raw, &s); err != nil {
				t.Error(err)
			}
			spans = append(spans, s)
			text.Write(raw)
		}
	}))
	defer collector.Close()
	const traceID, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	t.Run("served", func(t *testing.T) {
		a := openAt(t, guesttest.Data(t), func(_ *config.Config, b *app.Build) {
			b.Environ = []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + collector.URL}
		})
		url, _ := serve(t, a)
		s := connect(t, &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: withTrace{"00-" + traceID + "-" + parent + "-01"}}})
		call(t, s, "", "print('my secret')")
	})
	mu.Lock()
	defer mu.Unlock()
	find := func(name string) sent {
		t.Helper()
		i := slices.IndexFunc(spans, func(s sent) bool { return s.Name == name })
		if i < 0 {
			t.Fatalf("no span %q among %+v", name, spans)
		}
		return spans[i]
	}
	turn := find("turn")
	if turn.TraceID != traceID || turn.ParentSpanID != parent {
		t.Errorf("turn: %+v", turn)
	}
	for _, name := range []string{"start guest", "run"} {
		if s := find(name); s.TraceID != traceID || s.ParentSpanID != turn.SpanID {
			t.Errorf("%s: %+v, want it within the turn %+v", name, s, turn)
		}
	}
	if strings.Contains(text.String(), "secret") {
		t.Errorf("spans have content: %s", text.String())
	}
}

func TestWrongCollector(t *testing.T) {
	c := unset()
	c.Data = t.TempDir()
	_, err := app.Open(t.Context(), c, guesttest.Log(t), app.Build{Environ: []string{"OTEL_EXPORTER_OTLP_ENDPOINT=nonsense"}})
	if kind, shown := fault.Shown(err); kind != fault.Invalid || !strings.Contains(shown, "OTEL_EXPORTER_OTLP_ENDPOINT") {
		t.Errorf("open: %v", err)
	}
}
