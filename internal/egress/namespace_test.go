package egress_test

import (
	"context"
	"encoding/binary"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"runpython/internal/egress"
)

// namespaceVariable tells this test binary that it is in a network of the test's own.
const namespaceVariable = "RUNPYTHON_TEST_NAMESPACE"

// The machines of that network. All are there and answer at port 80, so what is not
// reached is so by decision.
const (
	public, public6 = "93.184.215.14", "2606:4700::1111"
	own             = "93.184.215.99" // of this machine
	private         = "10.1.2.3"
	metadata        = "169.254.169.254"
	metadata6       = "fd00:ec2::254"
	translated      = "64:ff9b::5db8:d70e" // public, by NAT64
	silent          = "2606:4700::dead"    // is not there
)

// TestInNamespace plays the internet: real sockets, addresses and DNS in a network namespace.
func TestInNamespace(t *testing.T) {
	if os.Getenv(namespaceVariable) == "" {
		enterNamespace(t)
		return
	}
	setUpNamespace(t)
	dns := &nameServer{answers: map[string][]string{
		"public.test.": {public}, "both.test.": {public, public6}, "broken6.test.": {silent, public}, "mixed.test.": {private, metadata, public},
		"own.test.": {own}, "private.test.": {private}, "metadata.test.": {metadata, metadata6}, "nat64.test.": {translated},
		"mapped.test.": {"::ffff:" + private}, "mappedpublic.test.": {"::ffff:" + public}, "loop.test.": {"127.0.0.1", "::1"}, "zero.test.": {"0.0.0.0", "::"},
		"rebind.test.": {public}, "localhost.": {"127.0.0.1", "::1"},
	}, then: map[string][]string{"rebind.test.": {private}}}
	resolver := dns.start(t)
	var mu sync.Mutex
	var reached []string
	l := listen(t, ":80")
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		local, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
		reached = append(reached, netip.MustParseAddrPort(local.String()).Addr().Unmap().String())
	})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l) // until Close
	}()
	t.Cleanup(func() { _ = server.Close(); <-done })
	for _, c := range []struct{ policy, host, status, reached string }{
		{"*.test", "public.test", "200", public},
		{"*.test", "both.test", "200", public6},
		{"*.test", "broken6.test", "200", public},
		{"*.test", "mixed.test", "200", public},
		{"*.test", "mappedpublic.test", "200", public},
		{"*.test", "private.test", "403", ""},
		{"*.test", "metadata.test", "403", ""},
		{"*.test", "nat64.test", "403", ""},
		{"*.test", "own.test", "403", ""},
		{"*.test," + own, "own.test", "200", own},
		{"*.test", "mapped.test", "403", ""},
		{"*.test", "loop.test", "403", ""},
		{"*.test", "zero.test", "403", ""},
		{"*.test", "absent.test", "502", ""},
		{"*", "localhost", "403", ""},
		{"*", private, "403", ""},
		{"*", metadata, "403", ""},
		{"*", "[::1]", "403", ""},
		{"*.test," + private, "private.test", "200", private},
		{"*.test," + private, "mapped.test", "200", private},
		{"*.test,10.0.0.0/8", private, "200", private},
		{"*.test,10.0.0.0/8:81", "private.test", "403", ""},
		{"*.test,169.254.0.0/16,[fd00::/8]", "metadata.test", "403", ""},
		{"*.test," + metadata, "metadata.test", "200", metadata},
		{"*.test,[64:ff9b::/96]", "nat64.test", "200", translated},
	} {
		p, reported := proxy(t, c.policy, egress.Config{Resolver: resolver})
		mu.Lock()
		reached = nil
		mu.Unlock()
		line := statusLine(ask(t, gate(t, p, "chat")(), "GET http://"+c.host+"/ HTTP/1.1\r\nHost: x\r\n\r\n"))
		mu.Lock()
		if got := strings.Join(reached, " "); !strings.HasPrefix(line, "HTTP/1.1 "+c.status) || got != c.reached {
			t.Errorf("with %s, %s: %s, reached %q; want %s, %q", c.policy, c.host, line, got, c.status, c.reached)
		}
		mu.Unlock()
		if r := reported.next(t); c.reached != "" && r.Address.Addr().String() != c.reached {
			t.Errorf("with %s, %s: %+v", c.policy, c.host, r)
		}
	}
	// The name leads to a private address from its second answer on.
	p, _ := proxy(t, "*.test", egress.Config{Resolver: resolver})
	connect := gate(t, p, "chat")
	mu.Lock()
	reached = nil
	mu.Unlock()
	for _, want := range []string{"200", "403"} {
		if line := statusLine(ask(t, connect(), "GET http://rebind.test/ HTTP/1.1\r\nHost: x\r\n\r\n")); !strings.HasPrefix(line, "HTTP/1.1 "+want) {
			t.Errorf("rebinding: %s; want %s", line, want)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if got := strings.Join(reached, " "); got != public {
		t.Errorf("rebinding reached %s", got)
	}
}

// enterNamespace runs the test again in a network namespace, as root of a user namespace if need be.
func enterNamespace(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("ip"); err != nil {
		t.Skipf("the command ip (iproute2) is needed to give a network addresses: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestInNamespace$", "-test.v")
	cmd.Env = append(os.Environ(), namespaceVariable+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET}
	if os.Geteuid() != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}}
	}
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Skipf("this system does not let us make a network namespace: %v", err)
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(said.String(), "--- PASS: TestInNamespace") {
		t.Errorf("in the namespace: %v\n%s", err, said.String())
	}
}

func setUpNamespace(t *testing.T) {
	t.Helper()
	for _, arguments := range []string{
		"link set lo up", "addr add " + own + "/32 dev lo",
		// Routes make machines of those that are not this one.
		"route add local " + public + " dev lo", "route add local " + private + " dev lo", "route add local " + metadata + " dev lo",
		"-6 route add local " + public6 + " dev lo", "-6 route add local " + metadata6 + " dev lo", "-6 route add local " + translated + " dev lo",
	} {
		if out, err := exec.CommandContext(t.Context(), "ip", strings.Fields(arguments)...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v: %s", arguments, err, out)
		}
	}
}

// A nameServer is a DNS server of fixed answers over UDP (RFC 1035, 4.1).
type nameServer struct {
	answers, then map[string][]string // what is in then is the answer from the second question of a type on
	asked         map[string]int
}

// start serves on loopback, and returns a Resolver that asks there.
func (s *nameServer) start(t *testing.T) *net.Resolver {
	t.Helper()
	conn, err := new(net.ListenConfig).ListenPacket(t.Context(), "udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.asked = make(map[string]int)
	done := make(chan struct{})
	go func() {
		defer close(done)
		query := make([]byte, 512)
		for {
			n, from, err := conn.ReadFrom(query)
			if err != nil {
				return
			}
			_, _ = conn.WriteTo(s.answer(query[:n]), from) // who is not there asks again
		}
	}()
	t.Cleanup(func() { _ = conn.Close(); <-done })
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// answer answers a query of one question.
func (s *nameServer) answer(query []byte) []byte {
	name, end := "", 12
	for query[end] != 0 {
		n := int(query[end])
		name += string(query[end+1:end+1+n]) + "."
		end += n + 1
	}
	end += 5 // the last label, type and class
	kind := binary.BigEndian.Uint16(query[end-4:])
	addresses, known := s.answers[name]
	key := name + string(rune(kind))
	if s.asked[key]++; s.asked[key] > 1 && s.then[name] != nil {
		addresses = s.then[name]
	}
	reply := append([]byte{query[0], query[1], 0x85, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, query[12:end]...)
	if !known {
		reply[3] |= 3 // there is no such name
	}
	for _, text := range addresses {
		addr := netip.MustParseAddr(text)
		if addr.Is4() != (kind == 1) || addr.Is6() != (kind == 28) {
			continue
		}
		reply[7]++
		reply = append(reply, 0xc0, 12, 0, byte(kind), 0, 1, 0, 0, 0, 0, 0, byte(addr.BitLen()/8))
		reply = append(reply, addr.AsSlice()...)
	}
	return reply
}
