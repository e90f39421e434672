package app

import (
	"io"
	"net/http"

	"runpython/internal/config"
)

// metricsPath is where the numbers are, on the address for operators and, for administrators, on that for callers.
const metricsPath = "/metrics"

// adminHandler serves what an operator's tools ask for. It is not for callers.
func (a *App) adminHandler() http.Handler {
	mux := http.NewServeMux()
	say := func(w http.ResponseWriter, status int, text string) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text) // the client may be gone
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { // it is not served before the program is ready
		if a.draining.Load() {
			say(w, http.StatusServiceUnavailable, "stopping\n")
			return
		}
		if s := a.host.Stats(); s.Failed > 0 && s.Started+s.Restored == 0 {
			say(w, http.StatusServiceUnavailable, "no guest has started; runpython doctor says why\n")
			return
		}
		say(w, http.StatusOK, "ready\n")
	})
	// On an address that other machines reach, the numbers are for administrators; on loopback, for whoever names it so: a
	// page in a browser there that points a name of its own at it reads none.
	open := config.IsLoopback(a.config.AdminListen)
	numbers := a.access.admins(a.metrics.Handler(), open)
	if open {
		numbers = a.mcp.Pages(numbers, numbers)
	}
	mux.Handle("GET "+metricsPath, numbers)
	return mux
}
