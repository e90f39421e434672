package app

import (
	"net/http"
	"sync"
	"time"

	"runpython/internal/caller"
)

// bodyTimeout is how long a caller may take to send the body of a request. The endpoint of MCP, whose messages are large,
// has a time of its own, and takes this one away when it has the message.
const bodyTimeout = time.Minute

// front is what stands before all that serve answers on the address for callers.
func (a *App) front(next http.Handler) http.Handler {
	trust := caller.NewTrust(a.config.TrustedProxies)
	return a.noticing(trust, trust.Handler(strict(a.limits.handler(timely(next)))))
}

// noticing tells the log, once, of a proxy that was not named: all who come by it look like one.
func (a *App) noticing(trust *caller.Trust, next http.Handler) http.Handler {
	var once sync.Once
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if trust.IsUnnamedProxy(r) {
			once.Do(func() {
				a.log.Warn("a proxy on this machine is not named, so that callers are not told apart, and have no limits", "see", "--trusted-proxy", "from", r.RemoteAddr)
			})
		}
		next.ServeHTTP(w, r)
	})
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
