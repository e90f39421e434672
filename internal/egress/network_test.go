package egress_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"runpython/internal/egress"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// names is a Resolver of a fixed table, which counts what it is asked. An answer of
// several lists is given one list after the other.
type names struct {
	mu      sync.Mutex
	answers map[string][]string // addresses with commas, one text an answer; the last stays
	asked   []string
}

// LookupNetIP answers from the table.
func (n *names) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.asked = append(n.asked, host)
	answers := n.answers[strings.TrimSuffix(host, ".")]
	if len(answers) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if answers[0] == "silent" {
		return nil, &net.DNSError{Err: "i/o timeout at 192.0.2.53", Name: host, IsTimeout: true}
	}
	if len(answers) > 1 {
		n.answers[strings.TrimSuffix(host, ".")] = answers[1:]
	}
	var all []netip.Addr
	for text := range strings.SplitSeq(answers[0], ",") {
		all = append(all, netip.MustParseAddr(text))
	}
	return all, nil
}

// dials is a Dialer that notes what it is given and connects to one place, or fails.
type dials struct {
	mu   sync.Mutex
	to   string // address of a listener; "" to refuse
	seen []string
}

// DialContext notes the address.
func (d *dials) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	d.mu.Lock()
	d.seen = append(d.seen, address)
	d.mu.Unlock()
	if d.to == "" {
		return nil, errors.New("dial 192.0.2.99: secret of the host")
	}
	return new(net.Dialer).DialContext(ctx, network, d.to)
}

// records collects what a Proxy reports.
type records struct {
	mu  sync.Mutex
	all []egress.Record
	log strings.Builder
	new chan struct{}
}

// Write takes a line of the log.
func (r *records) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.Write(p)
}

func (r *records) report(record egress.Record) {
	r.mu.Lock()
	r.all = append(r.all, record)
	r.mu.Unlock()
	r.new <- struct{}{}
}

// next waits for one more record and returns it.
func (r *records) next(t *testing.T) egress.Record {
	t.Helper()
	select {
	case <-r.new:
	case <-time.After(time.Minute):
		t.Fatal("no record in a minute")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all[len(r.all)-1]
}

// text returns the log so far.
func (r *records) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.String()
}

// proxy returns a Proxy of the policy, and what it reports.
func proxy(t *testing.T, policy string, config egress.Config) (*egress.Proxy, *records) {
	t.Helper()
	p, err := egress.ParsePolicy(policy)
	if err != nil {
		t.Fatal(err)
	}
	r := &records{new: make(chan struct{}, 1000)}
	config.Policy, config.Log, config.Report = p, slog.New(slog.NewTextHandler(r, nil)), r.report
	return egress.New(config), r
}

// gate opens a gate in a folder of the test and returns a way to connect to it.
func gate(t *testing.T, p *egress.Proxy, chat string) func() net.Conn {
	t.Helper()
	folder := t.TempDir()
	g, err := p.Open(folder, chat)
	if err != nil {
		t.Fatal(err)
	}
	var open []net.Conn
	t.Cleanup(func() {
		for _, c := range open {
			_ = c.Close() // some are closed
		}
		if err := g.Close(); err != nil {
			t.Errorf("close the gate: %v", err)
		}
	})
	return func() net.Conn {
		t.Helper()
		conn, err := new(net.Dialer).DialContext(t.Context(), "unix", filepath.Join(folder, "socket"))
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, conn)
		if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		return conn
	}
}

// ask sends text and returns all that comes back, up to the end. The proxy may end before
// it has read all, which is no failure.
func ask(t *testing.T, conn net.Conn, text string) string {
	t.Helper()
	_, _ = io.WriteString(conn, text)
	answer, err := io.ReadAll(conn)
	if err != nil && len(answer) == 0 {
		t.Fatalf("no answer to %q: %v", text, err)
	}
	_ = conn.Close()
	return string(answer)
}

// statusLine returns the first line of an answer.
func statusLine(answer string) string {
	line, _, _ := strings.Cut(answer, "\r\n")
	return line
}

// web starts a server that answers with what it was asked, in one line, and returns its port.
func web(t *testing.T) string {
	t.Helper()
	return serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fields := r.Header.Clone()
		_, _ = io.WriteString(w, r.Method+" "+r.RequestURI+" host="+r.Host+" "+strings.Join(flat(fields), " ")+" body="+string(body))
	}))
}

func flat(h http.Header) []string {
	var all []string
	for _, name := range []string{"Accept", "Authorization", "Connection", "Content-Length", "Cookie", "Expect", "Proxy-Authorization", "Proxy-Connection",
		"Te", "Trailer", "Upgrade", "User-Agent", "Via", "X-Hop", "X-Kept"} {
		for _, v := range h[name] {
			all = append(all, name+"="+v)
		}
	}
	return all
}

// serve starts a server on loopback and returns its port.
func serve(t *testing.T, handler http.Handler) string {
	t.Helper()
	l := listen(t, "127.0.0.1:0")
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l) // until Close
	}()
	t.Cleanup(func() { _ = server.Close(); <-done })
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}

func listen(t *testing.T, address string) net.Listener {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// peer starts a server of one protocol of the test's own, and returns its port.
func peer(t *testing.T, talk func(net.Conn, *bufio.Reader)) string {
	t.Helper()
	l := listen(t, "127.0.0.1:0")
	var group sync.WaitGroup
	group.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			group.Go(func() {
				defer func() { _ = conn.Close() }()
				talk(conn, bufio.NewReader(conn))
			})
		}
	})
	t.Cleanup(func() { _ = l.Close(); group.Wait() })
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return port
}
