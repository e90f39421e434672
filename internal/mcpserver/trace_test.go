package mcpserver_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"runpython/internal/mcpserver"
	"runpython/internal/trace"
)

// TestTraceInLog: what the log says of a request names its trace, from _meta or from
// the header; what is malformed is dropped.
func TestTraceInLog(t *testing.T) {
	const fromMeta, fromHeader = "4bf92f3577b34da6a3ce929d0e0e4736", "0af7651916cd43dd8448eb211c80319c"
	parent := func(id string) string { return "00-" + id + "-00f067aa0ba902b7-01" }
	for _, version := range eras {
		for _, test := range []struct {
			name         string
			meta, header string
			want         string // the trace
		}{
			{"none", "", "", ""},
			{"of _meta", parent(fromMeta), "", fromMeta},
			{"of the header", "", parent(fromHeader), fromHeader},
			{"_meta first", parent(fromMeta), parent(fromHeader), fromMeta},
			{"malformed in _meta", `00-x\nlevel=ERROR`, parent(fromHeader), fromHeader},
			{"both malformed", "00-x", "evil", ""},
		} {
			t.Run(version+" "+test.name, func(t *testing.T) {
				var log lockedBuffer
				s := newServer(t, mcpserver.Options{Chat: &fakeChat{}, Log: tracedLog(&log)})
				c := attach(s.Handler(), version)
				message := callBody(version, "panic")
				if test.meta != "" {
					message = strings.Replace(message, `"_meta":{`, `"_meta":{"traceparent":"`+test.meta+`","tracestate":"a=1",`, 1)
				}
				r := c.request(t.Context(), http.MethodPost, message)
				if test.header != "" {
					r.Header.Set("Traceparent", test.header)
				}
				s.Handler().ServeHTTP(httptest.NewRecorder(), r)
				line := log.String()
				want := ""
				if test.want != "" {
					want = "trace_id=" + test.want + " span_id=00f067aa0ba902b7"
				}
				if !strings.Contains(line, "panic in an MCP request") || !strings.Contains(line, want) || want == "" && strings.Contains(line, "trace_") {
					t.Errorf("the log says %q, want %q in it", line, want)
				}
			})
		}
	}
}

// TestTraceOfStdio: there are no headers, only _meta.
func TestTraceOfStdio(t *testing.T) {
	var log lockedBuffer
	s := newServer(t, mcpserver.Options{Chat: &fakeChat{}, Log: tracedLog(&log)})
	var out bytes.Buffer
	in := initialize + "\n" + `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n" +
		strings.Replace(callBody(legacy, "panic"), `"_meta":{`, `"_meta":{"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00",`, 1) + "\n"
	if err := s.ServeStdio(t.Context(), strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	if line := log.String(); !strings.Contains(line, "trace_id=4bf92f3577b34da6a3ce929d0e0e4736") {
		t.Errorf("the log says %q", line)
	}
}

func tracedLog(w *lockedBuffer) *slog.Logger {
	return slog.New(trace.Handler(slog.NewTextHandler(w, nil)))
}

// A lockedBuffer is a log that requests write while the test reads.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}
