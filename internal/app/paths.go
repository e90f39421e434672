package app

import (
	"net/http"
	"path"
	"strings"
)

// exactPaths gives paths such as //mcp, which [http.ServeMux] would answer with a
// redirect, to rest: clients follow redirects without their headers, or with GET.
func exactPaths(mux *http.ServeMux, rest http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := r.URL.Path
		clean := path.Clean(p)
		if clean != "/" && strings.HasSuffix(p, "/") {
			clean += "/"
		}
		if strings.HasPrefix(p, "/") && p != clean {
			rest.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}
