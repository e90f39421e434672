package app_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"runpython/internal/extent"
)

// A server that has worked shows what it has done, in a form that Prometheus has nothing against.
func TestMetricsAfterTurns(t *testing.T) {
	extent.Slow(t)
	url, admin := serve(t, open(t, nil))
	s := connect(t, &mcp.StreamableClientTransport{Endpoint: url})
	_, _, id := call(t, s, "", "x = 1\nx")
	call(t, s, id, "1/0")
	call(t, s, id, "What is the weather?")
	status, text, err := get(t, admin+"/metrics")
	if err != nil || status != http.StatusOK {
		t.Fatalf("metrics: %d, %v", status, err)
	}
	problems, err := promlint.New(strings.NewReader(text)).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	for _, line := range []string{
		`runpython_turns_total{outcome="ok"} 1`, `runpython_turns_total{outcome="failed"} 2`, `runpython_turn_seconds_count 3`,
		`runpython_runs_total{outcome="ok"} 1`, `runpython_runs_total{outcome="error"} 1`, `runpython_run_seconds_count 2`,
		`runpython_interpreters 1`, `runpython_turns_in_flight 0`, `runpython_build_info{version="test"} 1`,
		`runpython_http_requests_total{route="mcp",status="5xx"} 0`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("the page lacks %s", line)
		}
	}
	if strings.Contains(text, id) {
		t.Error("the page names a chat")
	}
	for host, want := range map[string]int{"localhost:9090": http.StatusOK, "127.0.0.1": http.StatusOK, "numbers.evil.test": http.StatusForbidden} {
		if status := under(t, host, http.MethodGet, admin+"/metrics"); status != want {
			t.Errorf("the page under the name %s: status %d, want %d", host, status, want)
		}
	}
}

// A checkpoint that is made beside the turns of a chat is counted as well.
func TestMetricsOfAQuietChat(t *testing.T) {
	extent.Long(t)
	url, admin := serve(t, open(t, nil))
	s := connect(t, &mcp.StreamableClientTransport{Endpoint: url})
	call(t, s, "", "x = 1")
	deadline := time.After(time.Minute)
	for look := time.Tick(50 * time.Millisecond); ; {
		_, text, err := get(t, admin+"/metrics")
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(text, `runpython_checkpoints_total{outcome="ok"} 1`+"\n") {
			return
		}
		select {
		case <-look:
		case <-deadline:
			t.Fatal("no checkpoint is counted")
		}
	}
}
