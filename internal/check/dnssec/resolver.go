package dnssec

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"

	"github.com/miekg/dns"
)

// queryTime bounds one query by one transport.
const queryTime = 3 * time.Second

var errNoResolver = errors.New("/etc/resolv.conf names no resolver")

// A Server is a resolver that is asked by UDP, and by TCP when its answer does not fit.
type Server struct {
	Address string // host and port
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

// ParseServer reads the address of a resolver, whose port is 53 if it has none.
func ParseServer(text string) (Server, error) {
	if addr, err := netip.ParseAddr(text); err == nil {
		return Server{net.JoinHostPort(addr.String(), "53")}, nil
	}
	addr, err := netip.ParseAddrPort(text)
	if err != nil {
		return Server{}, fmt.Errorf("%q is no address of a resolver: must be as 192.0.2.1 or 192.0.2.1:53", text)
	}
	return Server{addr.String()}, nil
}

// Exchange implements Resolver.
func (s Server) Exchange(ctx context.Context, q *dns.Msg) (*dns.Msg, error) {
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
