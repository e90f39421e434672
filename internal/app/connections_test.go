package app_test

import (
	"net"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/app"
)

// arrivals is a listener to which connections come from some addresses.
type arrivals struct {
	net.Listener
	from []string
	made []*arrival
}

type arrival struct {
	net.Conn
	from   net.Addr
	closed bool
}

func (a *arrival) RemoteAddr() net.Addr { return a.from }

func (a *arrival) Close() error {
	a.closed = true
	return nil
}

func (l *arrivals) Accept() (net.Conn, error) {
	if len(l.from) == 0 {
		return nil, net.ErrClosed
	}
	c := &arrival{from: net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(l.from[0]), 1))}
	l.from, l.made = l.from[1:], append(l.made, c)
	return c, nil
}

// Who opens connections and never closes them gets no more of them than an address may have, and all together do not get the
// descriptors of the server; who comes through a proxy, and this machine, are not counted by address.
func TestConnectionsAreBounded(t *testing.T) {
	const here, one, other, sameNetwork, proxy = "127.0.0.1", "192.0.2.1", "2001:db8::1", "2001:db8::2", "198.51.100.9"
	for name, test := range map[string]struct {
		all, each int
		from      []string
		want      []string // of those that are let in
		refused   []string
	}{
		"of an address":  {9, 2, []string{one, one, one, other, one}, []string{one, one, other}, []string{"address_connections", "address_connections"}},
		"of a network":   {9, 1, []string{other, sameNetwork, one}, []string{other, one}, []string{"address_connections"}},
		"of this one":    {9, 1, []string{here, here, here}, []string{here, here, here}, nil},
		"of a proxy":     {9, 1, []string{proxy, proxy}, []string{proxy, proxy}, nil},
		"of an IPv4 one": {9, 1, []string{"::ffff:192.0.2.1", one}, []string{"::ffff:192.0.2.1"}, []string{"address_connections"}},
		"of all":         {3, 2, []string{one, one, here, other, here}, []string{one, one, here}, []string{"connections", "connections"}},
		"no bound":       {0, 0, []string{one, one, one}, []string{one, one, one}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			come := &arrivals{from: test.from}
			var refused, got []string
			l := app.BoundListener(come, test.all, test.each, netip.MustParseAddr(proxy), func(limit string) { refused = append(refused, limit) })
			var open []net.Conn
			for c, err := l.Accept(); err == nil; c, err = l.Accept() {
				open = append(open, c)
				addr, _, err := net.SplitHostPort(c.RemoteAddr().String())
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, addr)
			}
			want := slices.Clone(test.want)
			for i, a := range want {
				want[i] = netip.MustParseAddr(a).Unmap().String()
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("let in (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.refused, refused); diff != "" {
				t.Errorf("refused (-want +got):\n%s", diff)
			}
			closed := 0
			for _, c := range come.made {
				if c.closed {
					closed++
				}
			}
			if closed != len(test.refused) {
				t.Errorf("%d connections are closed, want those that were refused, %d", closed, len(test.refused))
			}
			// Who closes makes room, once.
			for _, c := range open {
				for range 2 {
					if err := c.Close(); err != nil {
						t.Error(err)
					}
				}
			}
			come.from = test.from
			again := 0
			for _, err := l.Accept(); err == nil; _, err = l.Accept() {
				again++
			}
			if again != len(test.want) {
				t.Errorf("%d are let in after all have gone, want %d", again, len(test.want))
			}
		})
	}
}
