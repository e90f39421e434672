package caller_test

import (
	"crypto/tls"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/caller"
)

// seen is what a handler behind a Trust sees.
type seen struct {
	Address string
	Secure  bool
	Host    string
	Header  http.Header
}

// ask sends a request from an address through a Trust in 10.0.0.0/8 and fd00::/8.
func ask(t *testing.T, from string, secure bool, h http.Header) seen {
	t.Helper()
	trust := caller.NewTrust([]netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")})
	r := httptest.NewRequest(http.MethodGet, "http://run.example.org/mcp", http.NoBody)
	r.RemoteAddr, r.TLS = from, nil
	if secure {
		r.TLS = &tls.ConnectionState{}
	}
	maps.Copy(r.Header, h)
	var got seen
	trust.Handler(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		o := caller.FromContext(r.Context())
		got = seen{o.String(), o.Secure, r.Host, r.Header}
	})).ServeHTTP(httptest.NewRecorder(), r)
	return got
}

func TestUnnamedProxy(t *testing.T) {
	for _, c := range []struct {
		from    string
		trusted []netip.Prefix
		header  http.Header
		want    bool
	}{
		{"127.0.0.1:1", nil, http.Header{"X-Forwarded-For": {"198.51.100.1"}}, true},
		{"[::1]:1", nil, http.Header{"Forwarded": {"for=198.51.100.1"}}, true},
		{"127.0.0.1:1", nil, nil, false},
		{"127.0.0.1:1", []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, http.Header{"X-Forwarded-For": {"198.51.100.1"}}, false},
		{"203.0.113.9:1", nil, http.Header{"X-Forwarded-For": {"198.51.100.1"}}, false}, // a stranger may send what he likes
	} {
		r := httptest.NewRequest(http.MethodGet, "/mcp", http.NoBody)
		r.RemoteAddr = c.from
		maps.Copy(r.Header, c.header)
		if got := caller.NewTrust(c.trusted).IsUnnamedProxy(r); got != c.want {
			t.Errorf("%s with %v, trusting %v: %v, want %v", c.from, c.header, c.trusted, got, c.want)
		}
	}
}

func TestOrigin(t *testing.T) {
	const proxy, stranger = "10.0.0.1:4711", "203.0.113.9:4711"
	for _, c := range []struct {
		name    string
		from    string
		secure  bool
		header  http.Header
		address string
		https   bool
		host    string // "" for the request's own
	}{
		{name: "plain", from: stranger, address: "203.0.113.9"},
		{name: "TLS", from: stranger, secure: true, address: "203.0.113.9", https: true},
		{name: "IPv6 with zone", from: "[fe80::1%eth0]:1", address: "fe80::1"},
		{name: "IPv4 in IPv6", from: "[::ffff:203.0.113.9]:1", address: "203.0.113.9"},
		{name: "no address", from: "@", address: ""},
		{name: "stranger's headers", from: stranger, address: "203.0.113.9", header: http.Header{
			"X-Forwarded-For": {"198.51.100.1"}, "X-Forwarded-Proto": {"https"}, "X-Forwarded-Host": {"evil.example"}, "Forwarded": {"for=198.51.100.1;proto=https;host=evil.example"},
		}},
		{name: "one proxy", from: proxy, address: "198.51.100.1", https: true, host: "pub.example", header: http.Header{
			"X-Forwarded-For": {"198.51.100.1"}, "X-Forwarded-Proto": {"https"}, "X-Forwarded-Host": {"pub.example"},
		}},
		{name: "the last that is no proxy", from: proxy, address: "198.51.100.1", header: http.Header{"X-Forwarded-For": {"1.1.1.1, 198.51.100.1", " 10.2.3.4,fd00::7 "}}},
		{name: "all are proxies", from: proxy, address: "10.9.9.9", header: http.Header{"X-Forwarded-For": {"10.9.9.9, 10.2.3.4"}}},
		{name: "with ports", from: proxy, address: "2001:db8::1", header: http.Header{"X-Forwarded-For": {"[2001:db8::1]:443, 10.2.3.4:80"}}},
		{name: "in brackets", from: proxy, address: "2001:db8::1", header: http.Header{"X-Forwarded-For": {"[2001:db8::1]"}}},
		{name: "IPv4 in IPv6 proxy", from: "[::ffff:10.0.0.1]:1", address: "198.51.100.1", header: http.Header{"X-Forwarded-For": {"::ffff:198.51.100.1"}}},
		{name: "garbage behind a proxy", from: proxy, address: "10.2.3.4", header: http.Header{"X-Forwarded-For": {"198.51.100.1, unknown, 10.2.3.4"}}},
		{name: "only garbage", from: proxy, address: "10.0.0.1", header: http.Header{"X-Forwarded-For": {"localhost"}}},
		{name: "endless", from: proxy, address: "10.1.1.1", header: http.Header{"X-Forwarded-For": {"198.51.100.1" + strings.Repeat(", 10.1.1.1", 10_000)}}},
		{name: "lists of scheme and host", from: proxy, address: "198.51.100.1", header: http.Header{
			"X-Forwarded-For": {"198.51.100.1"}, "X-Forwarded-Proto": {"https, http"}, "X-Forwarded-Host": {"evil.example", "pub.example"},
		}},
		{name: "no host", from: proxy, address: "198.51.100.1", header: http.Header{"X-Forwarded-For": {"198.51.100.1"}, "X-Forwarded-Host": {"evil.example/x"}, "X-Forwarded-Proto": {"gopher"}}},
		{name: "RFC 7239", from: proxy, address: "2001:db8::1", https: true, host: "pub.example:8443", header: http.Header{
			"Forwarded": {`for=1.1.1.1;proto=http;host=evil.example, For="[2001:db8::1]:4711"; Proto=HTTPS; host="pub.example:8443"`, "for=10.2.3.4;proto=http"},
		}},
		{name: "RFC 7239 quoted comma", from: proxy, address: "198.51.100.1", header: http.Header{"Forwarded": {`for="1.1.1.1, for=2.2.2.2;x=\"", for=198.51.100.1`}}},
		{name: "RFC 7239 obfuscated", from: proxy, address: "10.2.3.4", header: http.Header{"Forwarded": {`for=1.1.1.1, for=_hidden;host=evil.example, for=10.2.3.4`}}},
		{name: "RFC 7239 twice", from: proxy, address: "10.0.0.1", header: http.Header{"Forwarded": {`for=1.1.1.1;for=2.2.2.2`}}},
		{name: "headers that agree", from: proxy, address: "198.51.100.1", https: true, header: http.Header{
			"X-Forwarded-For": {"198.51.100.1"}, "X-Forwarded-Proto": {"https"}, "Forwarded": {"for=198.51.100.1"},
		}},
		{name: "headers that do not agree", from: proxy, address: "::", header: http.Header{
			"X-Forwarded-For": {"198.51.100.1"}, "X-Forwarded-Proto": {"https"}, "Forwarded": {"for=1.1.1.1;host=evil.example"},
		}},
		{name: "an address that only one has", from: proxy, address: "::", header: http.Header{"X-Forwarded-Proto": {"https"}, "Forwarded": {"for=1.1.1.1"}}},
		{name: "others' headers", from: proxy, address: "10.0.0.1", header: http.Header{"X-Real-Ip": {"1.1.1.1"}, "True-Client-Ip": {"1.1.1.1"}}},
		{name: "OAU-07 host from a stranger", from: stranger, address: "203.0.113.9", header: http.Header{"X-Forwarded-Host": {"evil.example"}}},
		{name: "OAU-06 scheme from a proxy", from: proxy, address: "10.0.0.1", https: true, header: http.Header{"X-Forwarded-Proto": {"https"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.host == "" {
				c.host = "run.example.org"
			}
			got := ask(t, c.from, c.secure, c.header)
			if d := cmp.Diff(seen{c.address, c.https, c.host, http.Header{}}, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func TestNoOriginIsThisMachine(t *testing.T) {
	if o := caller.FromContext(t.Context()); o.String() != "" || o.Secure {
		t.Errorf("origin %v without a request", o)
	}
}

// Whatever the headers say, the address is that of the connection unless it is a trusted proxy's, and never an address
// that stands left of one that is no proxy.
func FuzzHeaders(f *testing.F) {
	f.Add("10.0.0.1:1", "198.51.100.1, 10.2.3.4", `for="[2001:db8::1]:80";proto=https`, "https", "pub.example")
	f.Add("203.0.113.9:1", "::1", `for=unknown`, "", "")
	f.Add("[fd00::1%x]:1", ",,", `for="\`, "a,b", "[::]")
	f.Fuzz(func(t *testing.T, from, x, forwarded, proto, host string) {
		direct := ask(t, from, false, http.Header{})
		got := ask(t, from, false, http.Header{"X-Forwarded-For": {x}, "Forwarded": {forwarded}, "X-Forwarded-Proto": {proto}, "X-Forwarded-Host": {host}})
		a, err := netip.ParseAddr(direct.Address)
		trusted := err == nil && (netip.MustParsePrefix("10.0.0.0/8").Contains(a) || netip.MustParsePrefix("fd00::/8").Contains(a))
		if !trusted && (got.Address != direct.Address || got.Secure || got.Host != direct.Host) {
			t.Errorf("headers of a stranger at %s are believed: %+v", from, got)
		}
		if got.Address != "" {
			if _, err := netip.ParseAddr(got.Address); err != nil {
				t.Errorf("address %q", got.Address)
			}
		}
		if strings.ContainsAny(got.Host, " /\\@\r\n\x00") {
			t.Errorf("host %q", got.Host)
		}
		// What a caller adds on the left changes nothing once there is an address that is no proxy's.
		if trusted && got.Address != "" && !strings.HasPrefix(got.Address, "10.") && !strings.HasPrefix(got.Address, "fd") {
			again := ask(t, from, false, http.Header{"X-Forwarded-For": {"6.6.6.6, " + x}, "Forwarded": {"for=6.6.6.6, " + forwarded}})
			if x != "" && forwarded == "" && again.Address == "6.6.6.6" {
				t.Errorf("X-Forwarded-For %q: what stands on its left is believed", x)
			}
		}
		if len(got.Header) != 0 {
			t.Errorf("headers that reach the handler: %v", got.Header)
		}
	})
}
