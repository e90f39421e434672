// Package egress is the way out of guests, by name: an HTTP proxy on a Unix socket
// for each guest, which connects to the hosts and ports of a [Policy] and to nothing else.
//
// A guest has no network. A [Proxy] opens a [Gate] in a folder that is mounted into the
// guest; a forwarder there (internal/kernel/guest/forwarder.py) offers it as a proxy on
// 127.0.0.1, which HTTP clients find by the usual variables. The gate takes CONNECT, for
// TLS, and requests for http:// addresses in absolute form (RFC 9112, 3.2.2 and 3.2.3).
//
// # Trust
//
// All that comes through a gate is hostile. Which host and port is decided here, by one
// reading of the request; the name is resolved here, and what is connected to is one of
// the addresses that were looked at, so no second answer of a DNS server counts. An
// address that is not public, or this machine's own, is refused, whatever name leads to
// it, unless the policy has it by its number. (A public address that a router gives to
// this machine, and the prefix of a NAT64 of the operator's own, cannot be told from others.) Requests that could be read in two ways are refused, and each is
// written anew, on a connection of its own. What follows a CONNECT is passed on unread,
// but for the server name of TLS, which must be the host of the CONNECT: that keeps
// honest code honest where many names share an address, and is no boundary.
// Where people may write, code can send what it knows: a policy decides where to, not what.
//
// # Failure
//
// A guest is told what is refused and by which rule in one sentence: as the reason of the
// status line, which clients show of a refused CONNECT, and as the body. Nothing that a
// guest does is an error of this package; [Record] and the log tell of it.
package egress

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"time"
)

// A Resolver finds the addresses of a name, as *net.Resolver does.
type Resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// A Dialer connects to an address, as *net.Dialer does. It is given numbers, never names.
type Dialer interface {
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// Config is what a Proxy needs.
type Config struct {
	Policy Policy
	Log    *slog.Logger

	// Report is told of each connection of a guest at its end, from several goroutines at
	// once; nil for nobody.
	Report func(Record)
	// Resolver is asked for names, nil for the system's.
	Resolver Resolver
	// Dialer makes connections, nil for one of package net.
	Dialer Dialer
}

// Decision is what became of a connection of a guest.
type Decision string

// The decisions. All but Allowed, Unresolved and Unreachable are refusals.
const (
	Allowed      Decision = "allowed"
	ByPolicy     Decision = "policy"      // host or port is not in the policy
	ByAddress    Decision = "address"     // the name leads to no public address
	ByServerName Decision = "server name" // TLS asks for another name than CONNECT
	Malformed    Decision = "malformed"   // no request that can be read in one way only
	TooMany      Decision = "too many"    // more than connectionsPerGuest
	Unresolved   Decision = "unresolved"  // no such name, or no answer of DNS
	Unreachable  Decision = "unreachable" // no connection to the host, or no answer from it
)

// A Record tells of one connection of a guest: never what was in it.
type Record struct {
	Chat     string // as given to Open
	Host     string // name in small letters, or address; "" when there was no request that says
	Port     uint16
	Address  netip.AddrPort // connected to; not valid when none was
	Decision Decision
	Sent     int64         // bytes from the guest to the host
	Received int64         // bytes from the host to the guest
	Duration time.Duration // from the guest's connection to its end
}

// Bounds of what one guest may use.
const (
	connectionsPerGuest = 64
	headBytes           = 32 << 10 // of a request, before its body
	headFields          = 100
	// recordsPerMinute is how many connections of one guest are written to the log.
	recordsPerMinute = 300
)

// Times after which something is given up.
const (
	headTime    = 10 * time.Second // for the guest to send the head of its request
	resolveTime = 10 * time.Second
	connectTime = 15 * time.Second // for all addresses of a host together
	idleTime    = 2 * time.Minute  // in which nothing moves either way
	// releaseTime is how long the end of a connection waits for the guest to let go of it.
	releaseTime = 2 * time.Second
)

// Proxy opens gates. It is safe for concurrent use, and holds nothing that must be closed.
type Proxy struct {
	config Config
}

// New returns a Proxy.
func New(config Config) *Proxy {
	if config.Resolver == nil {
		config.Resolver = net.DefaultResolver
	}
	if config.Dialer == nil {
		config.Dialer = new(net.Dialer)
	}
	return &Proxy{config}
}

// report writes the record to the log, unless quiet, and hands it on.
func (p *Proxy) report(ctx context.Context, r Record, cause error, quiet bool) {
	if !quiet {
		attributes := []slog.Attr{
			slog.String("chat", r.Chat), slog.String("host", r.Host), slog.Int("port", int(r.Port)),
			slog.String("decision", string(r.Decision)), slog.Int64("sent", r.Sent), slog.Int64("received", r.Received),
			slog.Duration("duration", r.Duration),
		}
		if r.Address.IsValid() {
			attributes = append(attributes, slog.String("address", r.Address.Addr().String()))
		}
		if cause != nil {
			attributes = append(attributes, slog.String("cause", cause.Error()))
		}
		p.config.Log.LogAttrs(ctx, slog.LevelInfo, "way out", attributes...)
	}
	if p.config.Report != nil {
		p.config.Report(r)
	}
}

// A refusedError ends a connection before anything is passed on: what the guest is told,
// and what the log says.
type refusedError struct {
	decision Decision
	status   int    // of HTTP
	sentence string // for the guest: ASCII, no line breaks
	cause    error  // for the log; may be nil
}

// Error returns the sentence and the cause.
func (e *refusedError) Error() string {
	if e.cause == nil {
		return e.sentence
	}
	return e.sentence + ": " + e.cause.Error()
}

// Unwrap returns the cause.
func (e *refusedError) Unwrap() error { return e.cause }

// response returns the answer of HTTP: clients show the reason of a refused CONNECT, not its body.
func (e *refusedError) response() string {
	return fmt.Sprintf("HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s\n",
		e.status, e.sentence, len(e.sentence)+1, e.sentence)
}
