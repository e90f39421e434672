package app_test

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"runpython/internal/app"
	"runpython/internal/config"
)

// deadlines is an answer over a connection that has deadlines.
type deadlines struct {
	*httptest.ResponseRecorder
	read time.Time
}

// SetReadDeadline is what http.ResponseController looks for.
func (d *deadlines) SetReadDeadline(at time.Time) error {
	d.read = at
	return nil
}

// An operator who has forgotten to name a proxy reads of it in the log, and not at each request.
func TestUnnamedProxyIsTold(t *testing.T) {
	var log bytes.Buffer
	h := app.Front(config.Default(func(string) (string, bool) { return "", false }), slog.New(slog.NewTextHandler(&log, nil)), http.NotFoundHandler())
	for i, header := range []string{"", "203.0.113.9", "203.0.113.10"} {
		if i == 1 && log.Len() > 0 {
			t.Errorf("without a proxy the log has\n%s", log.String())
		}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/mcp", http.NoBody)
		r.RemoteAddr = "127.0.0.1:4711"
		if header != "" {
			r.Header.Set("X-Forwarded-For", header)
		}
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	if n := strings.Count(log.String(), "--trusted-proxy"); n != 1 {
		t.Errorf("the log names --trusted-proxy %d times, want once:\n%s", n, log.String())
	}
}

// A body that does not come is not waited for without an end, whatever is asked for; a request without one has no deadline, since its
// answer may take long.
func TestBodiesHaveATime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for method, body := range map[string]string{http.MethodPost: "x", http.MethodPut: "x", http.MethodGet: "", http.MethodDelete: ""} {
			w := &deadlines{ResponseRecorder: httptest.NewRecorder()}
			var want, within time.Time
			r := httptest.NewRequestWithContext(t.Context(), method, "/token", strings.NewReader(body))
			if body == "" {
				r.Body = http.NoBody
			} else {
				want = time.Now().Add(app.BodyTimeout)
			}
			app.Timely(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { within = w.read })).ServeHTTP(w, r)
			if !within.Equal(want) {
				t.Errorf("%s: what reads has until %v, want %v", method, within, want)
			}
		}
	})
}
