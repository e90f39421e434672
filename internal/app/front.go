package app

import (
	"net/http"
	"time"

	"runpython/internal/caller"
)

// bodyTimeout is how long a caller may take to send the body of a request. The endpoint of MCP, whose messages are large,
// has a time of its own, and takes this one away when it has the message.
const bodyTimeout = time.Minute

// front is what stands before all that serve answers on the address for callers.
func (a *App) front(next http.Handler) http.Handler {
	return caller.NewTrust(a.config.TrustedProxies).Handler(strict(a.limits.handler(timely(next))))
}

// timely ends the wait for bodies that do not come, also of requests that are refused before anybody reads those: the server
// reads what is left of them itself, before it answers.
func timely(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body != nil && r.Body != http.NoBody {
			// A connection without deadlines, as in tests, does not block for long either.
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
		}
		next.ServeHTTP(w, r)
	})
}
