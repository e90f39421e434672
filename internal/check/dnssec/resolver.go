package dnssec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"

	"github.com/miekg/dns"
)

// queryTime bounds one query by one transport.
const queryTime = 3 * time.Second

var errNoResolver = errors.New("/etc/resolv.conf names no resolver")

// A Server is a resolver that is asked by UDP, and by TCP when its answer does not fit, or by HTTPS (RFC 8484).
type Server struct {
	Address string // host and port, or an https URL
}

// System returns the first resolver of /etc/resolv.conf.
func System() (Server, error) {
	c, err := dns.ClientConfigFromFile("/etc/resolv.conf")
	if err != nil {
		return Server{}, fmt.Errorf("find the resolver: %w", err)
	}
	if len(c.Servers) == 0 {
		return Server{}, errNoResolver
	}
	return Server{net.JoinHostPort(c.Servers[0], c.Port)}, nil
}

// ParseServer reads the address of a resolver, whose port is 53 if it has none, or the https URL of one.
func ParseServer(text string) (Server, error) {
	if u, err := url.Parse(text); err == nil && u.Scheme == "https" && u.Host != "" && u.User == nil && u.Fragment == "" {
		return Server{text}, nil
	}
	if addr, err := netip.ParseAddr(text); err == nil {
		return Server{net.JoinHostPort(addr.String(), "53")}, nil
	}
	addr, err := netip.ParseAddrPort(text)
	if err != nil {
		return Server{}, fmt.Errorf("%q is no address of a resolver: must be as 192.0.2.1, 192.0.2.1:53 or https://example.com/dns-query", text)
	}
	return Server{addr.String()}, nil
}

// Exchange implements Resolver.
func (s Server) Exchange(ctx context.Context, q *dns.Msg) (*dns.Msg, error) {
	if strings.HasPrefix(s.Address, "https://") {
		return ByHTTPS{URL: s.Address, Client: &http.Client{Timeout: httpsTime}}.Exchange(ctx, q)
	}
	a, _, err := (&dns.Client{Net: "udp", Timeout: queryTime, UDPSize: 4096}).ExchangeContext(ctx, q, s.Address)
	if err == nil && !a.Truncated {
		return a, nil
	}
	a, _, err = (&dns.Client{Net: "tcp", Timeout: queryTime}).ExchangeContext(ctx, q, s.Address)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", s.Address, err)
	}
	return a, nil
}

// ByHTTPS is a resolver that is asked by HTTPS (RFC 8484).
type ByHTTPS struct {
	URL    string
	Client *http.Client
}

const (
	typeMessage = "application/dns-message"
	httpsTime   = 2 * queryTime // with its handshakes
)

// Exchange implements Resolver. Redirects are not followed: where questions go was decided by whoever named the resolver.
func (r ByHTTPS) Exchange(ctx context.Context, q *dns.Msg) (*dns.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, httpsTime)
	defer cancel()
	q = q.Copy()
	q.Id = 0 // so that answers can be cached (RFC 8484, 4.1)
	text, err := q.Pack()
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", r.URL, err)
	}
	ask, err := http.NewRequestWithContext(ctx, http.MethodPost, r.URL, bytes.NewReader(text))
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", r.URL, err)
	}
	ask.Header.Set("Content-Type", typeMessage)
	ask.Header.Set("Accept", typeMessage)
	client := *r.Client
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	resp, err := client.Do(ask)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", r.URL, err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != typeMessage {
		return nil, fmt.Errorf("ask %s: HTTP %d, %q", r.URL, resp.StatusCode, resp.Header.Get("Content-Type"))
	}
	if text, err = io.ReadAll(io.LimitReader(resp.Body, dns.MaxMsgSize)); err != nil {
		return nil, fmt.Errorf("ask %s: %w", r.URL, err)
	}
	a := new(dns.Msg)
	if err := a.Unpack(text); err != nil {
		return nil, fmt.Errorf("ask %s: %w", r.URL, err)
	}
	return a, nil
}
