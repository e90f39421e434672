package egress_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"runpython/internal/egress"
	"runpython/internal/extent"
)

func TestForwardedRequestIsWrittenAnew(t *testing.T) {
	port := web(t)
	p, _ := proxy(t, "web.test:"+port+",*.web.test:"+port+",127.0.0.1:"+port, egress.Config{Resolver: &names{answers: map[string][]string{
		"web.test": {"127.0.0.1"}, "a.web.test": {"127.0.0.1"},
	}}})
	connect := gate(t, p, "chat")
	const via = " Via=1.1 runpython"
	for request, want := range map[string]string{
		"GET http://web.test:PORT/a%2Fb?q=%20 HTTP/1.1\r\nHost: web.test:PORT\r\n\r\n":                                                                "GET /a%2Fb?q=%20 host=web.test:PORT Connection=close" + via + " body=",
		"GET http://WEB.test.:PORT HTTP/1.1\r\nHost: other.test\r\nUser-Agent: x/1\r\n\r\n":                                                           "GET / host=web.test:PORT Connection=close User-Agent=x/1" + via + " body=",
		"GET http://127.0.0.1:PORT/#fragment HTTP/1.0\r\n\r\n":                                                                                        "GET /%23fragment host=127.0.0.1:PORT Connection=close" + via + " body=",
		"GET http://[::ffff:127.0.0.1]:PORT/ HTTP/1.0\r\n\r\n":                                                                                        "GET / host=127.0.0.1:PORT Connection=close" + via + " body=",
		"POST http://a.web.test:PORT/ HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhelloGET http://evil/ HTTP/1.1\r\n\r\n":                         "POST / host=a.web.test:PORT Connection=close Content-Length=5" + via + " body=hello",
		"POST http://web.test:PORT/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTrailer: X-Kept\r\n\r\n5\r\nhello\r\n0\r\nX-Kept: 1\r\n\r\n": "POST / host=web.test:PORT Connection=close" + via + " body=hello",
		"GET http://web.test:PORT/ HTTP/1.1\r\nHost: x\r\nProxy-Authorization: Basic c2VjcmV0\r\nProxy-Connection: keep-alive\r\nConnection: X-Hop, keep-alive\r\n" +
			"X-Hop: 1\r\nKeep-Alive: 5\r\nTE: trailers\r\nUpgrade: h2c\r\nX-Kept: 1\r\nCookie: a=b\r\nAuthorization: Bearer t\r\n\r\n": "GET / host=web.test:PORT Authorization=Bearer t Connection=close Cookie=a=b" + via + " X-Kept=1 body=",
	} {
		request, want = strings.ReplaceAll(request, "PORT", port), strings.ReplaceAll(want, "PORT", port)
		answer := ask(t, connect(), request)
		if _, body, _ := strings.Cut(answer, "\r\n\r\n"); body != want {
			t.Errorf("%q was answered\n%s\nwant\n%s", request, answer, want)
		}
	}
	// The guest's body is asked for by the proxy itself.
	conn := connect()
	write(t, conn, "POST http://web.test:"+port+"/ HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")
	in := bufio.NewReader(conn)
	if line, err := in.ReadString('\n'); line != "HTTP/1.1 100 Continue\r\n" {
		t.Fatalf("%q, %v; want to be asked for the body", line, err)
	}
	write(t, conn, "ok")
	if rest, err := io.ReadAll(in); err != nil || !strings.HasSuffix(string(rest), "body=ok") || strings.Contains(string(rest), "Expect=") {
		t.Errorf("%q, %v", rest, err)
	}
}

func write(t *testing.T, w io.Writer, text string) {
	t.Helper()
	if _, err := io.WriteString(w, text); err != nil {
		t.Fatal(err)
	}
}

func TestRequestsWithTwoReadingsAreRefused(t *testing.T) {
	target := &dials{}
	p, reported := proxy(t, "*,*:8080", egress.Config{Dialer: target, Resolver: &names{answers: map[string][]string{"a.test": {"8.8.8.8"}}}})
	connect := gate(t, p, "chat")
	for request, want := range map[string]string{
		"GET http://a.test/ HTTP/1.1\nHost: a.test\n\r\n\r\n":                                              "control characters",
		"GET http://a.test/ HTTP/1.1\r\nX: a\rb\r\n\r\n":                                                   "control characters",
		"GET http://a.test/ HTTP/1.1\r\nX: a\x00b\r\n\r\n":                                                 "control characters",
		"GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\n folded\r\n\r\n":                                   "no header field",
		"GET http://a.test/ HTTP/1.1\r\nHost : a.test\r\n\r\n":                                             "no header field",
		"GET http://a.test/ HTTP/1.1\r\nno colon\r\n\r\n":                                                  "no header field",
		"GET http://a.test/ HTTP/1.1\r\n: empty\r\n\r\n":                                                   "no header field",
		"GET http://a.test/ HTTP/1.1\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n":  "both content-length and transfer-encoding",
		"GET http://a.test/ HTTP/1.1\r\nContent-Length: 3\r\ncontent-length: 3\r\n\r\nabc":                 "content-length twice",
		"GET http://a.test/ HTTP/1.1\r\nContent-Length: 3, 3\r\n\r\nabc":                                   "no number",
		"GET http://a.test/ HTTP/1.1\r\nContent-Length: +3\r\n\r\nabc":                                     "no number",
		"GET http://a.test/ HTTP/1.1\r\nContent-Length: -1\r\n\r\n":                                        "no number",
		"GET http://a.test/ HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n":                      "no number",
		"GET http://a.test/ HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n":                          "not chunked",
		"GET http://a.test/ HTTP/1.1\r\nTransfer-Encoding: \x0bchunked\r\n\r\n":                            "control characters",
		"GET http://a.test/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n": "transfer-encoding twice",
		"GET http://a.test/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n":                       "not chunked",
		"GET http://a.test/ HTTP/1.1\r\nHost: a.test\r\nHost: b.test\r\n\r\n":                              "host twice",
		"GET http://a.test/ x HTTP/1.1\r\n\r\n":                                                            "no request of HTTP/1.1",
		"GET  http://a.test/ HTTP/1.1\r\n\r\n":                                                             "no request of HTTP/1.1",
		"GET http://a.test/\r\n\r\n":                                                                       "no request of HTTP/1.1",
		"PRI * HTTP/2.0\r\n\r\n":                                                                           "no request of HTTP/1.1",
		"G(T http://a.test/ HTTP/1.1\r\n\r\n":                                                              "no request of HTTP/1.1",
		"GET http://a.test/ü HTTP/1.1\r\n\r\n":                                                             "must be escaped",
		"GET http://a.test/%zz HTTP/1.1\r\n\r\n":                                                           "cannot be read",
		"GET / HTTP/1.1\r\nHost: a.test\r\n\r\n":                                                           "it is for a server",
		"GET https://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n":                                             "CONNECT",
		"GET ftp://a.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n":                                               "it is for a server",
		"GET http://user:pw@a.test/ HTTP/1.1\r\n\r\n":                                                      "a user in its address",
		"GET http:// HTTP/1.1\r\n\r\n":                                                                     "its host",
		"GET http://a.test:0/ HTTP/1.1\r\n\r\n":                                                            "the port",
		"GET http://a.test:08080/ HTTP/1.1\r\n\r\n":                                                        "the port",
		"GET http://a.test:/ HTTP/1.1\r\n\r\n":                                                             "the port",
		"CONNECT a.test HTTP/1.1\r\n\r\n":                                                                  "there is no port",
		"CONNECT a.test:443/ HTTP/1.1\r\n\r\n":                                                             "the port",
		"CONNECT http://a.test:443 HTTP/1.1\r\n\r\n":                                                       "the port",
		"CONNECT user@a.test:443 HTTP/1.1\r\n\r\n":                                                         "letters of ASCII",
		"CONNECT a.test:443 HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc":                                      "no body",
		"CONNECT 2852039166:443 HTTP/1.1\r\n\r\n":                                                          "usual form",
		"CONNECT 0xa9fea9fe:443 HTTP/1.1\r\n\r\n":                                                          "usual form",
		"CONNECT 0251.0376.0251.0376:443 HTTP/1.1\r\n\r\n":                                                 "usual form",
		"CONNECT 169.254.43518:443 HTTP/1.1\r\n\r\n":                                                       "usual form",
		"CONNECT [fe80::1%25eth0]:443 HTTP/1.1\r\n\r\n":                                                    "its host",
		"CONNECT ::1:443 HTTP/1.1\r\n\r\n":                                                                 "cannot be read",
		"CONNECT a..test:443 HTTP/1.1\r\n\r\n":                                                             "parts of a name",
		"GET http://a.test/ HTTP/1.1\r\n" + strings.Repeat("X: y\r\n", 101) + "\r\n":                       "more than 100 header fields",
		"GET http://a.test/ HTTP/1.1\r\nX: " + strings.Repeat("y", 32<<10) + "\r\n\r\n":                    "larger than 32 KiB",
	} {
		answer := ask(t, connect(), request)
		line := statusLine(answer)
		if !strings.HasPrefix(line, "HTTP/1.1 4") || !strings.Contains(line, want) || !strings.HasSuffix(answer, line[len("HTTP/1.1 400 "):]+"\n") {
			t.Errorf("%.100q: %q; want a refusal with %q", request, answer, want)
		}
		if r := reported.next(t); r.Decision != egress.Malformed {
			t.Errorf("%.100q: %+v; want malformed", request, r)
		}
	}
	if len(target.seen) > 0 {
		t.Errorf("connections were made to %v", target.seen)
	}
}

func TestTunnelPassesBytesBothWays(t *testing.T) {
	port := peer(t, func(conn net.Conn, in *bufio.Reader) {
		write(t, conn, "server first\n")
		said, _ := io.ReadAll(in) // until the guest's side has ended
		fmt.Fprintf(conn, "%d bytes", len(said))
	})
	p, reported := proxy(t, "echo.test:"+port+",127.0.0.1:"+port, egress.Config{Resolver: &names{answers: map[string][]string{"echo.test": {"127.0.0.1"}}}})
	conn := gate(t, p, "the chat")()
	in := bufio.NewReader(conn)
	write(t, conn, "CONNECT Echo.test.:"+port+" HTTP/1.1\r\nHost: echo.test:"+port+"\r\nProxy-Authorization: Basic c2VjcmV0\r\n\r\nearly")
	for _, want := range []string{"HTTP/1.1 200 Connection established\r\n", "\r\n", "server first\n"} {
		if line, err := in.ReadString('\n'); line != want {
			t.Fatalf("%q, %v; want %q", line, err, want)
		}
	}
	write(t, conn, strings.Repeat("x", 1<<20))
	if err := conn.(*net.UnixConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(in); err != nil || string(rest) != "1048581 bytes" {
		t.Errorf("%q, %v; want to be told of 1048581 bytes", rest, err)
	}
	_ = conn.Close()
	got := reported.next(t)
	want := egress.Record{Chat: "the chat", Host: "echo.test", Port: got.Port, Decision: egress.Allowed, Sent: 1<<20 + 5, Received: int64(len("server first\n1048581 bytes"))}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(egress.Record{}, "Duration", "Address")); diff != "" {
		t.Error(diff)
	}
	if got.Address.String() != "127.0.0.1:"+port || fmt.Sprint(got.Port) != port {
		t.Errorf("%+v", got)
	}
	log := reported.text()
	if !strings.Contains(log, `chat="the chat" host=echo.test port=`+port+` decision=allowed sent=1048581`) || strings.Contains(log, "c2VjcmV0") || strings.Contains(log, "early") {
		t.Errorf("the log: %s", log)
	}
}

func TestRefusalSaysTheRule(t *testing.T) {
	target := &dials{}
	p, reported := proxy(t, "api.test:443,*.wild.test:443,*.wild.test:80,10.0.0.0/8:443,100.64.0.0/10:80,[fd00::/8]:80,mixed.test:443", egress.Config{Dialer: target, Resolver: &names{answers: map[string][]string{
		"api.test": {"192.168.1.1,10.1.1.1"}, "a.wild.test": {"127.0.0.1,::1"}, "meta.wild.test": {"100.100.100.200,fd00:ec2::254"},
		"silent.wild.test": {"silent"}, "public.wild.test": {"8.8.8.8"}, "mixed.test": {"192.168.1.1,8.8.4.4,2606:4700::1"},
	}}})
	connect := gate(t, p, "chat")
	const byPolicy, byAddress = "is not among the hosts that code can reach from here; the operator of this server allows more with --egress", "has no public address of another machine"
	for _, c := range []struct {
		target, want string
		decision     egress.Decision
		dialed       string
	}{
		{"other.test:443", byPolicy, egress.ByPolicy, ""},
		{"api.test:80", byPolicy, egress.ByPolicy, ""},
		{"xapi.test:443", byPolicy, egress.ByPolicy, ""},
		{"api.test.evil.example:443", byPolicy, egress.ByPolicy, ""},
		{"wild.test:443", byPolicy, egress.ByPolicy, ""},
		{"notwild.test:443", byPolicy, egress.ByPolicy, ""},
		{"169.254.169.254:80", byPolicy, egress.ByPolicy, ""},
		{"100.100.100.200:80", byPolicy, egress.ByPolicy, ""},
		{"[fd00:ec2::254]:80", byPolicy, egress.ByPolicy, ""},
		{"8.8.8.8:443", byPolicy, egress.ByPolicy, ""},
		{"[::1]:443", byPolicy, egress.ByPolicy, ""},
		{"a.wild.test:443", byAddress, egress.ByAddress, ""},
		{"meta.wild.test:80", byAddress, egress.ByAddress, ""},
		{"none.wild.test:443", "there is no such name", egress.Unresolved, ""},
		{"silent.wild.test:443", "DNS does not answer", egress.Unresolved, ""},
		// What is allowed is tried, at the addresses that are allowed.
		{"api.test:443", "the connection fails", egress.Unreachable, "10.1.1.1:443"},
		{"x.y.public.wild.test:443", "there is no such name", egress.Unresolved, ""},
		{"public.wild.test:443", "the connection fails", egress.Unreachable, "8.8.8.8:443"},
		{"mixed.test:443", "the connection fails", egress.Unreachable, "[2606:4700::1]:443 8.8.4.4:443"},
		{"10.255.0.1:443", "the connection fails", egress.Unreachable, "10.255.0.1:443"},
		{"[::ffff:10.255.0.2]:443", "the connection fails", egress.Unreachable, "10.255.0.2:443"},
		{"[fd00::1]:80", "the connection fails", egress.Unreachable, "[fd00::1]:80"},
	} {
		target.seen = nil
		answer := ask(t, connect(), "CONNECT "+c.target+" HTTP/1.1\r\n\r\n")
		line := statusLine(answer)
		if !strings.Contains(line, c.want) || !strings.HasSuffix(answer, "\r\n\r\n"+line[len("HTTP/1.1 403 "):]+"\n") {
			t.Errorf("%s: %q; want %q", c.target, answer, c.want)
		}
		if refusal := c.decision == egress.ByPolicy || c.decision == egress.ByAddress; refusal != strings.HasPrefix(line, "HTTP/1.1 403 ") || refusal != strings.Contains(line, "--egress") {
			t.Errorf("%s: %q; want 403 and the flag of a refusal only", c.target, line)
		}
		for _, secret := range []string{"192.0.2", "192.168", "100.100.100.200,", "127.0.0.1"} {
			if strings.Contains(line, secret) {
				t.Errorf("%s: %q tells the guest %s", c.target, line, secret)
			}
		}
		if r := reported.next(t); r.Decision != c.decision || r.Sent+r.Received != 0 {
			t.Errorf("%s: %+v; want %s", c.target, r, c.decision)
		}
		if got := strings.Join(target.seen, " "); got != c.dialed {
			t.Errorf("%s: dialed %q, want %q", c.target, got, c.dialed)
		}
	}
	if log := reported.text(); !strings.Contains(log, "addresses [127.0.0.1 ::1]") || !strings.Contains(log, "secret of the host") {
		t.Errorf("the operator does not see why: %s", log)
	}
}

func TestNoPolicyAllowsNothing(t *testing.T) {
	p, _ := proxy(t, "none", egress.Config{Dialer: &dials{}, Resolver: &names{}})
	if line := statusLine(ask(t, gate(t, p, "chat")(), "CONNECT example.com:443 HTTP/1.1\r\n\r\n")); !strings.HasPrefix(line, "HTTP/1.1 403 ") {
		t.Errorf("%q; want a refusal", line)
	}
}

func TestHostThatEndsWithoutAnAnswer(t *testing.T) {
	port := peer(t, func(_ net.Conn, in *bufio.Reader) { _, _ = in.ReadString('\n') })
	p, reported := proxy(t, "127.0.0.1:"+port, egress.Config{})
	line := statusLine(ask(t, gate(t, p, "chat")(), "GET http://127.0.0.1:"+port+"/ HTTP/1.1\r\nHost: x\r\n\r\n"))
	if line != "HTTP/1.1 502 127.0.0.1:"+port+" ended the connection without an answer" {
		t.Errorf("%q", line)
	}
	if r := reported.next(t); r.Decision != egress.Unreachable {
		t.Errorf("%+v", r)
	}
}

func TestConnectionsOfOneGuestAreBounded(t *testing.T) {
	port := peer(t, func(_ net.Conn, in *bufio.Reader) { _, _ = io.Copy(io.Discard, in) })
	p, _ := proxy(t, "127.0.0.1:"+port, egress.Config{})
	connect, other := gate(t, p, "chat"), gate(t, p, "other")
	open := func(connect func() net.Conn) string {
		conn := connect()
		write(t, conn, "CONNECT 127.0.0.1:"+port+" HTTP/1.1\r\n\r\n")
		line, err := bufio.NewReader(conn).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(line)
	}
	const fine, full = "HTTP/1.1 200 Connection established", "HTTP/1.1 503 more than 64 connections at once; close some"
	for i := range 64 {
		if line := open(connect); line != fine {
			t.Fatalf("connection %d: %s", i, line)
		}
	}
	if line := statusLine(ask(t, connect(), "")); line != full {
		t.Errorf("one more: %s", line)
	}
	if line := open(other); line != fine {
		t.Errorf("another guest: %s", line)
	}
}

func TestLogOfOneGuestIsBounded(t *testing.T) {
	p, reported := proxy(t, "a.test", egress.Config{Resolver: &names{}})
	connect := gate(t, p, "chat")
	for range 310 {
		ask(t, connect(), "CONNECT b.test:443 HTTP/1.1\r\n\r\n")
		reported.next(t)
	}
	if n := strings.Count(reported.text(), "decision=policy"); n != 300 {
		t.Errorf("%d lines in the log of 310 connections within a minute; want 300", n)
	}
}

// TestSilentConnectionsEnd wants a connection to end in which nothing moves, and one to go on in
// which little does.
func TestSilentConnectionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		guest, here := net.Pipe()
		host, there := net.Pipe()
		began := time.Now()
		done := make(chan time.Duration)
		go func() {
			egress.Tunnel(here, there)
			done <- time.Since(began)
			_, _ = here.Close(), there.Close()
		}()
		for range 3 {
			<-time.After(egress.IdleTime - time.Second)
			write(t, host, "x")
			if n, err := guest.Read(make([]byte, 1)); n != 1 {
				t.Fatal(err)
			}
			<-time.After(egress.IdleTime - time.Second)
			write(t, guest, "y")
			if n, err := host.Read(make([]byte, 1)); n != 1 {
				t.Fatal(err)
			}
		}
		if got, want := <-done, 6*(egress.IdleTime-time.Second)+egress.IdleTime; got != want {
			t.Errorf("it ended after %v, want %v", got, want)
		}
	})
}

func TestCloseEndsConnectionsAndNamesThoseThatAreHeld(t *testing.T) {
	extent.Slow(t)
	port := peer(t, func(_ net.Conn, in *bufio.Reader) { _, _ = io.Copy(io.Discard, in) })
	p, reported := proxy(t, "127.0.0.1:"+port, egress.Config{})
	folder := filepath.Join(t.TempDir(), strings.Repeat("deep/", 30))
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 { // a folder is used again
		g, err := p.Open(folder, "chat")
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(filepath.Join(folder, "socket"))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%v, %v; want a socket for its owner alone", info.Mode(), err)
		}
		conn := dialIn(t, folder)
		write(t, conn, "CONNECT 127.0.0.1:"+port+" HTTP/1.1\r\n\r\n")
		if _, err := bufio.NewReader(conn).ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		let := make(chan struct{})
		go func() {
			defer close(let)
			_, _ = io.Copy(io.Discard, conn) // until the end
			_ = conn.Close()
		}()
		if err := g.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
		<-let
		if r := reported.next(t); r.Decision != egress.Allowed {
			t.Errorf("%+v", r)
		}
		if err := g.Close(); err != nil {
			t.Errorf("close again: %v", err)
		}
		if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
			t.Errorf("left: %v, %v", left, err)
		}
	}
	g, err := p.Open(folder, "chat")
	if err != nil {
		t.Fatal(err)
	}
	conn := dialIn(t, folder)
	defer func() { _ = conn.Close() }()
	write(t, conn, "CONNECT 127.0.0.1:"+port+" HTTP/1.1\r\n\r\n")
	if _, err := bufio.NewReader(conn).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	if err := g.Close(); err == nil || !strings.Contains(err.Error(), "holds 1 connections") {
		t.Errorf("a guest that holds on: %v", err)
	}
}

// dialIn connects to the gate of a folder with a long path.
func dialIn(t *testing.T, folder string) net.Conn {
	t.Helper()
	dir, err := os.Open(folder)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dir.Close() }()
	conn, err := new(net.Dialer).DialContext(t.Context(), "unix", fmt.Sprintf("/proc/self/fd/%d/socket", dir.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	return conn
}
