package app_test

import (
	"net/http"
	"strings"
	"testing"

	"runpython/internal/config"
	"runpython/internal/extent"
)

// TestPaths: whatever the spelling of the path, nobody is redirected; both spellings of
// the endpoint that clients use are served.
func TestPaths(t *testing.T) {
	extent.Long(t)
	endpoint, _ := serve(t, open(t, nil))
	base := strings.TrimSuffix(endpoint, "/mcp")
	for path, want := range map[string]int{
		"/mcp": http.StatusOK, "/mcp/": http.StatusOK,
		"//mcp": http.StatusNotFound, "/mcp//": http.StatusNotFound, "/./mcp": http.StatusNotFound, "/x/../mcp": http.StatusNotFound,
		"/%2fmcp": http.StatusNotFound, "/mcp/sse": http.StatusNotFound, "/": http.StatusNotFound, "/MCP": http.StatusNotFound,
	} {
		t.Run("MCP-09 "+path, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+path, strings.NewReader(
				`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Content-Type", "application/json")
			response, err := http.DefaultTransport.RoundTrip(r)
			if err != nil {
				t.Fatal(err)
			}
			if err := response.Body.Close(); err != nil {
				t.Error(err)
			}
			if response.StatusCode != want {
				t.Errorf("status %d, want %d", response.StatusCode, want)
			}
		})
	}
}

// TestAllowHost: a name under which the operator offers the endpoint is served, others are
// not.
func TestAllowHost(t *testing.T) {
	extent.Long(t)
	endpoint, _ := serve(t, open(t, func(c *config.Config) { c.AllowHosts = []string{"box.example"} }))
	for host, want := range map[string]int{"box.example": http.StatusNoContent, "box.example:8000": http.StatusNoContent, "other.example": http.StatusForbidden} {
		if status := under(t, host, http.MethodOptions, endpoint); status != want {
			t.Errorf("Host %s: status %d, want %d", host, status, want)
		}
	}
}

// under is the status of a request that names another Host than that of its URL.
func under(t *testing.T, host, method, url string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Error(err)
	}
	return response.StatusCode
}
