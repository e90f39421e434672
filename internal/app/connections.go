package app

import (
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"runpython/internal/limit"
)

const (
	// filesPerConnection says which share of the descriptors connections of callers may have: an eighth. Interpreters have three
	// quarters.
	filesPerConnection = 8
	leastConnections   = 64
	// tellRefusedEvery is how often the log says that connections are refused.
	tellRefusedEvery = time.Minute
)

// connectionsFor is how many connections of callers there may be at once where a process may have so many descriptors.
func connectionsFor(files int64) int {
	return int(min(max(files/filesPerConnection, leastConnections), 1<<20))
}

// A boundedListener closes connections at once that are too many: of an address, which is then told nothing, or of all.
// Else somebody who opens connections and never closes them takes the descriptors of everybody.
type boundedListener struct {
	net.Listener
	all    *limit.Places // of one key, ""
	each   *limit.Places // of an address; those of loopback and of trusted proxies have no bound
	proxy  func(netip.Addr) bool
	refuse func(limit string)
}

// bound bounds the connections of a listener for callers.
func (a *App) bound(l net.Listener) net.Listener {
	return &boundedListener{Listener: l, all: a.limits.connections, each: a.limits.fromAddress, proxy: a.isProxy, refuse: a.connectionRefused}
}

// isProxy reports whether an address is that of a trusted proxy.
func (a *App) isProxy(addr netip.Addr) bool {
	return slices.ContainsFunc(a.config.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// connectionRefused counts a connection that was refused, and tells the log of it now and then.
func (a *App) connectionRefused(limit string) {
	a.metrics.Refused(limit)
	now := time.Now().UnixNano()
	if last := a.limits.told.Load(); now-last > int64(tellRefusedEvery) && a.limits.told.CompareAndSwap(last, now) {
		a.log.Warn("connections are refused", "limit", limit)
	}
}

// Accept implements net.Listener.
func (b *boundedListener) Accept() (net.Conn, error) {
	for {
		c, err := b.Listener.Accept()
		if err != nil {
			return nil, err //nolint:wrapcheck // the same contract
		}
		bounded, limit := b.enter(c)
		if bounded != nil {
			return bounded, nil
		}
		b.refuse(limit)
		_ = c.Close() // nobody has spoken yet
	}
}

// enter takes the places of a connection, which its Close gives back, or says which limit there is.
func (b *boundedListener) enter(c net.Conn) (bounded net.Conn, limit string) {
	leaveAll := b.all.Enter("")
	if leaveAll == nil {
		return nil, "connections"
	}
	key := ""
	if addr, err := netip.ParseAddrPort(c.RemoteAddr().String()); err == nil && !b.proxy(addr.Addr().Unmap()) {
		key = quotaOf(addr.Addr().Unmap())
	}
	if key == "" {
		return &boundedConn{Conn: c, leave: leaveAll}, ""
	}
	leave := b.each.Enter(key)
	if leave == nil {
		leaveAll()
		return nil, "address_connections"
	}
	return &boundedConn{Conn: c, leave: func() { leave(); leaveAll() }}, ""
}

// A boundedConn gives back its places when it is closed.
type boundedConn struct {
	net.Conn
	once  sync.Once
	leave func()
}

// Close implements net.Conn.
func (c *boundedConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(c.leave)
	return err //nolint:wrapcheck // the same contract
}
