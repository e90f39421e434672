package probe_test

import (
	"context"
	"io"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/check/probe"
)

// A port80 is a network in which only port 80 does anything.
type port80 func(ctx context.Context) (net.Conn, error)

func (port80) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("192.0.2.1")}, nil
}

func (p port80) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	if address != "192.0.2.1:80" {
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	}
	return p(ctx)
}

// What is not seen of port 80 is not taken for a closed one.
func TestPlainTellsSilenceFromNothing(t *testing.T) {
	silent := func(context.Context) (net.Conn, error) {
		ours, theirs := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, theirs) }()
		return ours, nil
	}
	filtered := func(ctx context.Context) (net.Conn, error) {
		<-ctx.Done()
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: ctx.Err()}
	}
	for name, c := range map[string]struct {
		network port80
		time    time.Duration // of the scan
		want    probe.Plain
	}{
		"filtered":               {filtered, time.Minute, probe.Plain{Asked: true, Problem: "no answer in time"}},
		"silent":                 {silent, time.Minute, probe.Plain{Asked: true, Listening: true, Problem: "no answer in time"}},
		"the scan ends before":   {filtered, time.Second, probe.Plain{Problem: "no answer in time"}},
		"the scan ends meantime": {silent, time.Second, probe.Plain{Problem: "no answer in time"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), c.time)
				defer cancel()
				target, err := probe.ParseTarget("https://mcp.test/mcp")
				if err != nil {
					t.Fatal(err)
				}
				facts, err := probe.Run(ctx, target, probe.Options{Network: c.network})
				if err != nil {
					t.Fatal(err)
				}
				if d := cmp.Diff(&c.want, facts.Plain); d != "" {
					t.Error(d)
				}
			})
		})
	}
}
