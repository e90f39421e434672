package app

import (
	"net/http"

	"runpython/internal/caller"
)

// front is what stands before all that serve answers on the address for callers.
func (a *App) front(next http.Handler) http.Handler {
	return caller.NewTrust(a.config.TrustedProxies).Handler(strict(a.limits.handler(next)))
}
