package web

import (
	"errors"
	"net/http"

	"runpython/internal/identity"
	"runpython/internal/oauth"
)

// AdminOnly lets nobody see what next shows but who has a bearer token with the scope admin. Who has none is told where tokens come from.
func (p *Pages) AdminOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who, err := p.Accounts.Bearer(r.Context(), r.Header.Values("Authorization"))
		switch {
		case errors.Is(err, identity.ErrToken):
			p.challenge(w, http.StatusUnauthorized, "invalid_token", "the token is expired, revoked, or not for this server")
		case err != nil:
			p.Log.ErrorContext(r.Context(), "check a bearer token", "error", err)
			http.Error(w, "internal error; the operator's log has the details", http.StatusServiceUnavailable)
		case who == nil:
			p.challenge(w, http.StatusUnauthorized, "", "a bearer token with the scope admin is needed: `runpython token create NAME --user USER --scope admin` makes one")
		case !oauth.Has(who.Scopes, oauth.ScopeAdmin):
			p.challenge(w, http.StatusForbidden, "insufficient_scope", "the token does not have the scope "+oauth.ScopeAdmin)
		default:
			w.Header().Set("Cache-Control", "no-store")
			next.ServeHTTP(w, r)
		}
	})
}

// challenge refuses a request. Without a token there is no code.
func (p *Pages) challenge(w http.ResponseWriter, status int, code, why string) {
	w.Header().Set("WWW-Authenticate", identity.Challenge(oauth.ScopeAdmin, p.Issuer+oauth.ResourceMetadataPath, code, why))
	w.Header().Set("Cache-Control", "no-store")
	http.Error(w, why, status)
}
