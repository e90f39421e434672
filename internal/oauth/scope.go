package oauth

import (
	"net/url"
	"slices"
	"strings"
)

// Scopes.
const (
	ScopeRun   = "run"   // everything that the MCP endpoint has
	ScopeAdmin = "admin" // the numbers and pages for administrators as well; implies ScopeRun
	// scopeOffline is what clients ask for that want refresh tokens (OpenID Connect Core, 11). It gives no right.
	scopeOffline = "offline_access"
)

// Has reports whether scopes contain one, or another one that implies it.
func Has(scopes []string, wanted string) bool {
	return slices.Contains(scopes, wanted) || wanted == ScopeRun && slices.Contains(scopes, ScopeAdmin)
}

// readScopes returns those of a list that there are, each once. What is not there is left out (RFC 6749, 3.3), and
// when nothing is left it is ScopeRun.
func readScopes(text string) []string {
	var all []string
	for scope := range strings.FieldsSeq(text) {
		known := scope == ScopeRun || scope == ScopeAdmin || scope == scopeOffline
		if known && !slices.Contains(all, scope) {
			all = append(all, scope)
		}
	}
	if !Has(all, ScopeRun) {
		all = append([]string{ScopeRun}, all...)
	}
	return all
}

// narrowed returns the scopes of a grant that a client asks for when it refreshes: all when it names none.
func narrowed(granted, asked string) (string, *wireError) {
	if asked == "" {
		return granted, nil
	}
	has := strings.Fields(granted)
	var all []string
	for scope := range strings.FieldsSeq(asked) {
		if !Has(has, scope) {
			return "", refuse(codeInvalidScope, "the scope was not granted: ask for authorization again")
		}
		if !slices.Contains(all, scope) {
			all = append(all, scope)
		}
	}
	return strings.Join(all, " "), nil
}

// target checks that everything that tokens are asked for is this server's endpoint (RFC 8707, 2). Clients that do
// not say mean it as well.
func (s *Server) target(resources []string) *wireError {
	for _, r := range resources {
		if r != "" && !s.names(r) {
			return refuse(codeInvalidTarget, "the resource is not "+s.Resource)
		}
	}
	return nil
}

// names reports whether a client means this server by a URL. Clients write it with and without a slash at its end, some take the
// issuer's for it, and schemes and hosts have no case.
func (s *Server) names(text string) bool {
	u, err := url.Parse(text)
	if err != nil || u.Fragment != "" || u.RawQuery != "" || u.User != nil {
		return false
	}
	host := strings.ToLower(u.Host)
	scheme := strings.ToLower(u.Scheme)
	if scheme == "https" {
		host = strings.TrimSuffix(host, ":443")
	}
	plain := scheme + "://" + host + strings.TrimSuffix(u.EscapedPath(), "/")
	return plain == s.Resource || plain == s.Issuer
}
