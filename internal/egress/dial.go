package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"syscall"
	"time"

	"runpython/internal/address"
)

const (
	// attemptDelay is how long an address may take before the next is tried beside it (RFC 8305, 5).
	attemptDelay = 250 * time.Millisecond
	// addressesTried is how many addresses of a name are tried.
	addressesTried = 8
)

// dial connects to the target, which the policy allows, at an address that it reaches.
func (p *Proxy) dial(ctx context.Context, t target) (net.Conn, error) {
	addresses := []netip.Addr{t.addr}
	if !t.addr.IsValid() {
		var err error
		if addresses, err = p.resolve(ctx, t); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	conn, err := p.race(ctx, addresses, t.port)
	if err != nil {
		return nil, &refusedError{decision: Unreachable, status: http.StatusBadGateway,
			sentence: fmt.Sprintf("%v cannot be reached: %s", t, inWords(err)), cause: err}
	}
	return conn, nil
}

// resolve returns the addresses of the target's name that a connection may be made to.
func (p *Proxy) resolve(ctx context.Context, t target) ([]netip.Addr, error) {
	ctx, cancel := context.WithTimeout(ctx, resolveTime)
	defer cancel()
	// With a dot at its end no search list of the host's is added to the name.
	found, err := p.config.Resolver.LookupNetIP(ctx, "ip", t.host+".")
	if err != nil || len(found) == 0 {
		why := "DNS does not answer"
		if dns, ok := errors.AsType[*net.DNSError](err); ok && dns.IsNotFound || err == nil {
			why = "there is no such name"
		}
		return nil, &refusedError{decision: Unresolved, status: http.StatusBadGateway,
			sentence: fmt.Sprintf("%v cannot be reached: %s", t, why), cause: err}
	}
	own, err := ownAddresses()
	if err != nil {
		return nil, &refusedError{decision: Unreachable, status: http.StatusBadGateway,
			sentence: fmt.Sprintf("%v cannot be reached: the server does not know its own addresses", t), cause: err}
	}
	var reached, refused []netip.Addr
	for _, addr := range found {
		addr = addr.Unmap()
		if p.config.Policy.allowsNumber(addr, t.port) || address.IsPublic(addr) && !slices.Contains(own, addr) {
			reached = append(reached, addr)
		} else {
			refused = append(refused, addr)
		}
	}
	if len(reached) == 0 {
		return nil, &refusedError{decision: ByAddress, status: http.StatusForbidden,
			sentence: fmt.Sprintf("%v has no public address of another machine, and others cannot be reached from here; "+
				"the operator of this server allows them by their numbers with --egress", t),
			cause: fmt.Errorf("addresses %v", refused)}
	}
	return interleave(reached), nil
}

// IsOutside reports whether an address is one of the internet and not of this machine, for those who fetch what
// strangers name. To be safe from names that point elsewhere the second time, ask when dialing.
func IsOutside(addr netip.Addr) bool {
	addr = addr.Unmap()
	own, err := ownAddresses()
	return err == nil && address.IsPublic(addr) && !slices.Contains(own, addr)
}

// ownAddresses returns those of this machine. A firewall that keeps others away from its
// services does not keep away the machine itself.
func ownAddresses() ([]netip.Addr, error) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("addresses of this machine: %w", err)
	}
	var own []netip.Addr
	for _, a := range all {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil { // else it is of no network
			own = append(own, prefix.Addr().Unmap())
		}
	}
	return own, nil
}

// interleave puts the families by turns, IPv6 first (RFC 8305, 4), and leaves out what is too much.
func interleave(all []netip.Addr) []netip.Addr {
	var six, four, mixed []netip.Addr
	for _, addr := range all {
		if addr.Is6() {
			six = append(six, addr)
		} else {
			four = append(four, addr)
		}
	}
	for i := range max(len(six), len(four)) {
		if i < len(six) {
			mixed = append(mixed, six[i])
		}
		if i < len(four) {
			mixed = append(mixed, four[i])
		}
	}
	return mixed[:min(len(mixed), addressesTried)]
}

// race connects to the addresses one after the other, without waiting long for any, and
// returns the first connection. All attempts have ended when it returns.
func (p *Proxy) race(ctx context.Context, addresses []netip.Addr, port uint16) (net.Conn, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		conn net.Conn
		err  error
	}
	results := make(chan result, len(addresses))
	next := time.NewTimer(0)
	defer next.Stop()
	var won net.Conn
	var all error
	for started, ended := 0, 0; ended < len(addresses) && (won == nil || ended < started); {
		start := next.C
		if started == len(addresses) || won != nil {
			start = nil
		}
		select {
		case <-start:
			address := netip.AddrPortFrom(addresses[started], port).String()
			go func() {
				conn, err := p.config.Dialer.DialContext(ctx, "tcp", address)
				results <- result{conn, err}
			}()
			started++
			next.Reset(attemptDelay)
		case r := <-results:
			ended++
			switch {
			case r.err != nil:
				all = errors.Join(all, r.err)
				next.Reset(0)
			case won != nil: // it came too late
				all = errors.Join(all, r.conn.Close())
			default:
				won = r.conn
				cancel()
			}
		}
	}
	if won != nil {
		return won, nil
	}
	return nil, all
}

// inWords says why there is no connection, without the words of a library.
func inWords(err error) string {
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "it refuses the connection"
	case errors.Is(err, context.DeadlineExceeded), isTimeout(err):
		return fmt.Sprintf("no answer in %v", connectTime)
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return "the server has no way to its network"
	default:
		return "the connection fails"
	}
}
