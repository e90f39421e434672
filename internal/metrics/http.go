package metrics

import (
	"net/http"
	"strconv"
)

// Count returns next with its answers counted by class of status, as those of a route: "mcp", "oauth" or "page".
func (m *Metrics) Count(route string, next http.Handler) http.Handler {
	route = listed(routes(), route)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.webNow.Inc()
		seen := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		defer func() {
			m.webNow.Dec()
			m.web.WithLabelValues(route, classOf(seen.status)).Inc()
		}()
		next.ServeHTTP(seen, r)
	})
}

func classOf(status int) string {
	return listed(statuses(), strconv.Itoa(status/100)+"xx")
}

// statusWriter notes the status of an answer. What else a writer can do is found through Unwrap.
type statusWriter struct {
	http.ResponseWriter

	status int
	begun  bool
}

// WriteHeader notes the final status; those of the class 1xx come before it.
func (w *statusWriter) WriteHeader(status int) {
	if !w.begun && (status >= http.StatusOK || status == http.StatusSwitchingProtocols) {
		w.status, w.begun = status, true
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write begins an answer, with 200 if there was no other status.
func (w *statusWriter) Write(p []byte) (int, error) {
	w.begun = true
	return w.ResponseWriter.Write(p) //nolint:wrapcheck // the same contract
}

// Unwrap is for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
