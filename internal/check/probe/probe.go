// Package probe asks an MCP endpoint what it is, and keeps the answers as [Facts].
//
// Each probe is a few requests whose answers are written down and not judged; what they are worth is the
// business of the package above. Nothing is asked of anybody but the endpoint, and of those that its own
// documents name as its authorization servers. No tool of the endpoint is ever called: the one call that is
// made names a tool that does not exist.
//
// # Trust
//
// The endpoint, and whatever its documents lead to, is hostile. Addresses are looked at before they are
// connected to: public ones, and those of the target itself, unless Options.AllowPrivate. Redirects
// are followed on the same host only. Credentials go to the target's own origin, and only over a connection whose
// certificate was verified. Bodies, headers, pages, streams, requests at once, single requests and the scan as a whole
// have bounds. Texts in Facts are as they came: whoever shows them cleans them.
//
// # Failure
//
// What could not be asked is a fact too, with the reason. An error (fault.NotFound) means that there was no way to ask at all: the name
// has no address. Of a program, it is that of its [Opener].
package probe

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"
)

// Options are how a target is probed. The zero value is usable.
type Options struct {
	Headers      http.Header    // sent to the target's origin only, Authorization among them
	Roots        *x509.CertPool // nil: those of the system
	AllowPrivate bool           // documents of the target may lead to addresses that are not public
	Network      Network        // nil: that of the machine
	Now          time.Time      // zero: now; by which certificates are judged
	Agent        string         // the User-Agent; "" sends none of ours
	Step         func(string)   // nil, or told what is being done; may be called at any time from any goroutine
}

// A Network resolves names and connects to addresses. *net.Resolver and *net.Dialer together are one.
type Network interface {
	// LookupNetIP returns the addresses of a name, as net.Resolver does.
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
	// DialContext connects to an address that is a number, as net.Dialer does.
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// machine is the network of the machine.
type machine struct {
	net.Resolver
	net.Dialer
}

// Facts are what was found. A nil part was not asked.
type Facts struct {
	Started   time.Time
	Addresses []netip.Addr // of the target
	TLS       *TLS         // nil for a target without TLS
	Plain     *Plain
	Transport Transport
	Auth      Auth
	Pipe      bool // the target is a program that was started, and not an endpoint
}

// Run probes the target. It returns when everything has been asked or ctx has ended, which the facts then say.
func Run(ctx context.Context, target Target, o Options) (*Facts, error) {
	if o.Network == nil {
		o.Network = &machine{}
	}
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	step := o.Step
	if step == nil {
		step = func(string) {}
	}
	facts := &Facts{Started: o.Now}
	step("resolving " + target.Host())
	c, err := newClient(ctx, target, o)
	if err != nil {
		return nil, err
	}
	defer c.close()
	facts.Addresses = c.own

	var all sync.WaitGroup
	if target.TLS() {
		all.Go(func() { step("TLS"); facts.TLS = c.tls(ctx, o) })
		all.Go(func() { step("plain HTTP"); facts.Plain = c.plain(ctx) })
	}
	all.Go(func() { step("handshakes"); facts.Transport = c.transport(ctx) })
	all.Go(func() { step("authorization"); facts.Auth = c.auth(ctx, authProbe()) })
	all.Wait()
	return facts, nil
}

// authProbe is the name of a tool that no server has.
func authProbe() string {
	var random [8]byte
	_, _ = rand.Read(random[:]) // never fails
	return fmt.Sprintf("__runpython_auth_probe_%s__", hex.EncodeToString(random[:]))
}
