package metrics_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"runpython/internal/metrics"
)

func open() *metrics.Metrics {
	return metrics.New(metrics.Sources{
		Version:      "1.2.3",
		Guests:       func() metrics.Guests { return metrics.Guests{Started: 3, Live: 2, Waiting: 1} },
		Interpreters: func() int { return 4 }, Turns: func() int { return 5 },
	})
}

// fill calls everything that counts.
func fill(m *metrics.Metrics, word string) {
	m.Turn(word, time.Second)
	m.Run(word, time.Second)
	m.Checkpoint(true, time.Second)
	m.Restore(word, time.Second)
	m.Install(metrics.Install{Fault: word, Took: time.Second})
	m.ModelRequest(word, time.Second, metrics.Tokens{Input: 1, Output: 1})
	m.Egress(word, 1, 1)
	m.Auth(word)
	m.Refused(word)
	m.AuditLost()
}

func TestLint(t *testing.T) {
	m := open()
	fill(m, "ok")
	problems, err := testutil.GatherAndLint(m.Gatherer())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

// Whatever others put into labels, the page does not grow, and all of it is counted.
func TestLabelsAreBounded(t *testing.T) {
	m := open()
	fill(m, "x")
	before, err := testutil.GatherAndCount(m.Gatherer())
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1000 {
		fill(m, fmt.Sprint("mallory", i))
	}
	after, err := testutil.GatherAndCount(m.Gatherer())
	if err != nil || after != before {
		t.Errorf("%d series before, %d after, %v", before, after, err)
	}
	text := shown(t, m)
	for _, line := range []string{
		`runpython_turns_total{outcome="other"} 1001`, `runpython_auth_events_total{event="other"} 1001`,
		`runpython_egress_connections_total{decision="other"} 1001`, `runpython_audit_lost_total 1001`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("the page lacks %s", line)
		}
	}
	if strings.Contains(text, "mallory") {
		t.Error("the page has a value of a label that is not listed")
	}
}

func TestSourcesAndCounts(t *testing.T) {
	m := open()
	m.Turn("not found", time.Millisecond)
	m.Install(metrics.Install{Packages: 3, DownloadedBytes: 100})
	m.Install(metrics.Install{Packages: 1})
	m.ModelRequest("called", time.Second, metrics.Tokens{Input: 100, Cached: 60, Output: 7, Thinking: 2})
	m.Egress("server name", 10, 20)
	m.Refused("calls")
	text := shown(t, m)
	for _, line := range []string{
		`runpython_build_info{version="1.2.3"} 1`, `runpython_guests_started_total 3`, `runpython_guests 2`, `runpython_guest_starts_waiting 1`,
		`runpython_interpreters 4`, `runpython_turns_in_flight 5`, `runpython_turns_total{outcome="not_found"} 1`,
		`runpython_turns_total{outcome="ok"} 0`, // it is there before it happens, or its first increase is not seen
		`runpython_installs_total{outcome="downloaded"} 1`, `runpython_installs_total{outcome="cached"} 1`, `runpython_packages_installed_total 4`,
		`runpython_package_downloaded_bytes_total 100`, `runpython_model_requests_total{outcome="called"} 1`,
		`runpython_model_tokens_total{kind="cached"} 60`, `runpython_model_tokens_total{kind="thinking"} 2`,
		`runpython_egress_connections_total{decision="server_name"} 1`, `runpython_egress_bytes_total{direction="in"} 20`,
		`runpython_refused_total{limit="calls"} 1`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("the page lacks %s", line)
		}
	}
}

func TestHTTPByClass(t *testing.T) {
	m := open()
	answers := map[string]http.HandlerFunc{
		"nothing":  func(http.ResponseWriter, *http.Request) {},
		"text":     func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "x"); w.WriteHeader(500) },
		"early":    func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(103); w.WriteHeader(404) },
		"refused":  func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(429); w.WriteHeader(200) },
		"flushes":  func(w http.ResponseWriter, _ *http.Request) { mustFlush(t, w) },
		"panicked": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(503); panic(http.ErrAbortHandler) },
	}
	for name, answer := range answers {
		func() {
			defer func() {
				if p := recover(); p != nil && name != "panicked" {
					panic(p)
				}
			}()
			m.Count("mcp", answer).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/mcp", http.NoBody))
		}()
	}
	text := shown(t, m)
	for _, line := range []string{
		`runpython_http_requests_total{route="mcp",status="2xx"} 3`, `runpython_http_requests_total{route="mcp",status="4xx"} 2`,
		`runpython_http_requests_total{route="mcp",status="5xx"} 1`, `runpython_http_requests_in_flight 0`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("the page lacks %s", line)
		}
	}
}

func mustFlush(t *testing.T, w http.ResponseWriter) {
	t.Helper()
	if err := http.NewResponseController(w).Flush(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		t.Errorf("flush: %v", err)
	} else if err != nil {
		t.Error("a stream cannot be flushed through the counter")
	}
}

// shown is the page.
func shown(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	if w.Code != http.StatusOK {
		t.Fatalf("the page answers %d", w.Code)
	}
	return w.Body.String()
}
