package mcpserver

import (
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// A guard decides by the Host and Origin headers who may speak to the endpoint at
// all. A page in a browser that points a name of its own at this machine (DNS
// rebinding) fails the first check, any other foreign page the second.
type guard struct {
	hosts   map[string]bool // without port, in lower case
	origins map[string]bool // scheme://host[:port], in lower case
}

func newGuard(hosts, origins []string) guard {
	g := guard{hosts: make(map[string]bool), origins: make(map[string]bool)}
	for _, h := range hosts {
		g.hosts[hostname(h)] = true
	}
	for _, o := range origins {
		g.origins[strings.ToLower(strings.TrimSuffix(o, "/"))] = true
	}
	return g
}

// hostAllowed reports whether the Host header of r is a name of this server: one that
// the operator gave, one of loopback, or the address at which the request came in. What a
// page of an attacker's name sends has that name here, whatever that points to.
func (g guard) hostAllowed(r *http.Request) bool {
	name := hostname(r.Host)
	return name != "" && (g.hosts[name] || loopback(name) || isAddress(r.Context().Value(http.LocalAddrContextKey), name))
}

// isAddress reports whether name is the IP address of local, which is a net.Addr or nil.
func isAddress(local any, name string) bool {
	a, ok := local.(*net.TCPAddr)
	if !ok {
		return false
	}
	named, err := netip.ParseAddr(name)
	return err == nil && named.Unmap() == a.AddrPort().Addr().Unmap().WithZone("")
}

// originAllowed reports whether a page of origin may call. host is the Host
// header, which has been checked: the server's own pages may, also behind a proxy that ends
// TLS and names another Host, and pages of loopback as long as they call loopback.
func (g guard) originAllowed(origin, host string) bool {
	if g.origins[strings.ToLower(origin)] {
		return true
	}
	u, err := url.Parse(origin)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		return false
	}
	name := hostname(u.Host)
	switch {
	case loopback(name):
		return loopback(hostname(host))
	case u.Scheme == "https" && (u.Port() == "" || u.Port() == "443") && g.hosts[name]:
		return true
	}
	return name == hostname(host) && portOf(u.Host) == portOf(host)
}

// portOf returns the port in a Host header, "" if there is none.
func portOf(host string) string {
	_, port, err := net.SplitHostPort(host)
	if err != nil {
		return ""
	}
	return port
}

// hostname returns the name in a Host header: no port, no brackets, no final
// dot, in lower case.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	return strings.ToLower(strings.TrimSuffix(host, "."))
}

func loopback(name string) bool {
	if name == "localhost" {
		return true
	}
	addr, err := netip.ParseAddr(name)
	return err == nil && addr.IsLoopback()
}

// What pages may send and read. Nothing here depends on cookies.
const (
	corsMethods = "GET, POST, DELETE, OPTIONS"
	corsHeaders = "Authorization, Content-Type, Accept, Last-Event-ID, Mcp-Protocol-Version, Mcp-Session-Id, Mcp-Method, Mcp-Name, Traceparent, Tracestate"
	corsExposed = "Mcp-Session-Id, Mcp-Protocol-Version, WWW-Authenticate, Retry-After"
	corsMaxAge  = "7200"
)

// admit checks where a request comes from and sets the headers that let a
// browser's page read the answer. If it reports false, it has answered.
func (g guard) admit(w http.ResponseWriter, r *http.Request) bool {
	if !g.hostAllowed(r) {
		refuse(w, http.StatusForbidden, nil, hostRefused())
		return false
	}
	origin := r.Header.Get("Origin")
	if origin == "" {
		return true
	}
	h := w.Header()
	h.Add("Vary", "Origin")
	if len(r.Header["Origin"]) > 1 || !g.originAllowed(origin, r.Host) {
		refuse(w, http.StatusForbidden, nil, invalidRequest("pages of this Origin may not call"))
		return false
	}
	h.Set("Access-Control-Allow-Origin", origin)
	h.Set("Access-Control-Expose-Headers", corsExposed)
	return true
}

// byHost serves pages that everybody may read, but under the names of this server only: local
// to whoever came by a name or address of loopback, public to others.
func (g guard) byHost(local, public http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !g.hostAllowed(r):
			refuse(w, http.StatusForbidden, nil, hostRefused())
		case loopback(hostname(r.Host)):
			local.ServeHTTP(w, r)
		default:
			public.ServeHTTP(w, r)
		}
	})
}

func hostRefused() *jsonrpc.Error {
	return invalidRequest("this Host is not served here; the operator can allow it with --allow-host")
}
