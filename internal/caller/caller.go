// Package caller tells from where an HTTP request comes: the address of its caller, and the scheme
// and Host under which that has reached us. Logs, limits and the audit log all ask here.
//
// Behind a proxy these stand in headers, which anybody can send. [Trust] believes them only from the
// addresses that the operator has named, and of several addresses the last one that is not one of those.
//
// # Trust
//
// Everything in a request is a stranger's, apart from what a trusted proxy has added itself. Proxies
// pass on headers that they do not know, so two kinds of headers that contradict each other are both
// dropped, and whoever sent them has no other address than [Unknown]: that of the proxy is often one of loopback, which
// limits spare. Headers that were not believed are removed, so that nothing later reads them.
//
// # Failure
//
// A header that cannot be read counts as absent: then the caller is the last one who is known.
package caller

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// An Origin is where a request comes from. The zero value is this machine: the command line or pipes.
type Origin struct {
	Address netip.Addr // never IPv4 in IPv6, without zone; not valid where there is none
	Secure  bool       // the caller has spoken TLS, with us or with a trusted proxy
}

// String returns the address, "" for none.
func (o Origin) String() string {
	if !o.Address.IsValid() {
		return ""
	}
	return o.Address.String()
}

// Unknown is the address of all callers behind trusted proxies whose headers contradict each other. It is nobody's own.
func Unknown() netip.Addr { return netip.IPv6Unspecified() }

// originKey is the key of an Origin in a context.
type originKey struct{}

// NewContext returns a context that carries o.
func NewContext(ctx context.Context, o Origin) context.Context {
	return context.WithValue(ctx, originKey{}, o)
}

// FromContext returns the Origin that ctx carries, the zero value if none.
func FromContext(ctx context.Context) Origin {
	o, _ := ctx.Value(originKey{}).(Origin)
	return o
}

// Trust is which addresses are proxies of the operator's. It is safe for concurrent use.
type Trust struct {
	proxies []netip.Prefix
}

// NewTrust returns a Trust in proxies, which may be none. An IPv4 prefix also means its addresses in IPv6.
func NewTrust(proxies []netip.Prefix) *Trust {
	t := &Trust{proxies: make([]netip.Prefix, len(proxies))}
	for i, p := range proxies {
		t.proxies[i] = p.Masked()
	}
	return t
}

// believes reports whether a is a trusted proxy's.
func (t *Trust) believes(a netip.Addr) bool {
	for _, p := range t.proxies {
		if p.Contains(a) {
			return true
		}
	}
	return false
}

// Handler gives each request of next its Origin, in its context, and the Host under which its caller has
// asked. Headers that speak of forwarding do not get there.
func (t *Trust) Handler(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin, host := t.origin(r)
		r = r.WithContext(NewContext(r.Context(), origin))
		r.Host = host
		for name := range r.Header {
			if isForwarding(name) {
				r.Header.Del(name)
			}
		}
		next.ServeHTTP(w, r)
	})
}

// IsUnnamedProxy reports whether a request comes from this machine, which is not trusted, with headers that name other callers: most likely
// by a proxy that the operator has forgotten to name.
func (t *Trust) IsUnnamedProxy(r *http.Request) bool {
	from := peer(r.RemoteAddr)
	return from.IsLoopback() && !t.believes(from) && (r.Header.Get("X-Forwarded-For") != "" || r.Header.Get("Forwarded") != "")
}

// isForwarding reports whether a header, in its canonical form, speaks of where a request has come from.
func isForwarding(name string) bool {
	switch name {
	case "Forwarded", "X-Real-Ip", "X-Client-Ip", "X-Cluster-Client-Ip", "True-Client-Ip", "Cf-Connecting-Ip", "Fly-Client-Ip", "X-Original-Host":
		return true
	}
	return strings.HasPrefix(name, "X-Forwarded-")
}

// origin returns where r comes from, and its Host.
func (t *Trust) origin(r *http.Request) (Origin, string) {
	direct := Origin{Address: peer(r.RemoteAddr), Secure: r.TLS != nil}
	if !t.believes(direct.Address) {
		return direct, r.Host
	}
	x, standard := t.fromX(r.Header), t.fromForwarded(r.Header)
	told := x
	switch {
	case x.isNone():
		told = standard
	case !standard.isNone() && standard.address != x.address: // one of them is a stranger's
		return Origin{Address: Unknown(), Secure: direct.Secure}, r.Host
	}
	origin, host := direct, r.Host
	if told.address.IsValid() {
		origin.Address = told.address
	}
	if told.scheme != "" {
		origin.Secure = told.scheme == "https"
	}
	if told.host != "" {
		host = told.host
	}
	return origin, host
}

// peer returns the address of a connection, which is not valid for one that has none, such as a Unix socket's.
func peer(remote string) netip.Addr {
	a, err := netip.ParseAddrPort(remote)
	if err != nil {
		host, _, splitErr := net.SplitHostPort(remote)
		if splitErr != nil {
			return netip.Addr{}
		}
		return plain(host)
	}
	return a.Addr().Unmap().WithZone("")
}

// plain reads an address, which is not valid if text is none.
func plain(text string) netip.Addr {
	a, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Addr{}
	}
	return a.Unmap().WithZone("")
}
