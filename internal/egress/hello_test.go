package egress_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"runpython/internal/egress"
)

// clientHello returns the first bytes of a client of TLS.
func clientHello(t testing.TB, config *tls.Config) []byte {
	t.Helper()
	here, there := net.Pipe()
	read := make(chan []byte, 1)
	go func() {
		head := make([]byte, 5)
		_, _ = io.ReadFull(there, head)
		body := make([]byte, int(head[3])<<8|int(head[4]))
		_, _ = io.ReadFull(there, body)
		_ = there.Close()
		read <- slices.Concat(head, body)
	}()
	_ = tls.Client(here, config).HandshakeContext(t.Context()) // ends without an answer
	_ = here.Close()
	return <-read
}

func TestServerNameIsRead(t *testing.T) {
	long := strings.Repeat(strings.Repeat("a", 60)+".", 4) + "test"
	for _, name := range []string{"a.test", "", long} {
		hello := clientHello(t, &tls.Config{ServerName: name, InsecureSkipVerify: true, NextProtos: []string{"h2"}})
		whole := append(bytes.Clone(hello), "what follows"...)
		// In one piece, and in records and reads of one byte: it is the same hello.
		var split bytes.Buffer
		for _, b := range hello[5:] {
			split.Write([]byte{0x16, 3, 1, 0, 1, b})
		}
		for form, r := range map[string]io.Reader{"whole": bytes.NewReader(whole), "bytes": onebyte{bytes.NewReader(whole)}, "records": bytes.NewReader(split.Bytes())} {
			got, read, err := egress.ReadServerName(t.Context(), r)
			if form == "records" && err != nil {
				continue // one that splits so is refused
			}
			if err != nil || got != name {
				t.Errorf("%s: %q, %v; want %q", form, got, err, name)
			}
			rest, _ := io.ReadAll(r)
			if all := append(read, rest...); form != "records" && !bytes.Equal(all, whole) {
				t.Errorf("%s: of %d bytes %d are passed on", form, len(whole), len(all))
			}
		}
	}
	for _, text := range []string{"\x16", "\x16\x03\x01\x00\x05hello", "\x16\x03\x01\xff\xff" + strings.Repeat("x", 1<<17), "\x16GET / HTTP/1.1\r\n\r\n"} {
		if name, _, err := egress.ReadServerName(t.Context(), strings.NewReader(text)); err == nil {
			t.Errorf("%.20q is read as %q", text, name)
		}
	}
}

// onebyte gives one byte at a time.
type onebyte struct{ r io.Reader }

// Read reads one byte.
func (o onebyte) Read(p []byte) (int, error) { return o.r.Read(p[:min(1, len(p))]) }

// TestServerNameOfAnotherHostIsRefused wants many names on one address to be told apart.
func TestServerNameOfAnotherHostIsRefused(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "host "+r.Host) }))
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // clients that give up are meant to
	server.StartTLS()
	defer server.Close()
	port := server.Listener.Addr().(*net.TCPAddr).Port
	p, reported := proxy(t, fmt.Sprintf("allowed.test:%d,127.0.0.1:%d", port, port), egress.Config{Resolver: &names{answers: map[string][]string{"allowed.test": {"127.0.0.1"}}}})
	connect := gate(t, p, "chat")
	for _, c := range []struct {
		host, name string
		decision   egress.Decision
	}{
		{"allowed.test", "allowed.test", egress.Allowed},
		{"allowed.test", "Allowed.Test", egress.Allowed},
		{"allowed.test", "", egress.Allowed},
		{"allowed.test", "other.test", egress.ByServerName},
		{"allowed.test", "x.allowed.test", egress.ByServerName},
		{"127.0.0.1", "other.test", egress.Allowed}, // an address is nobody's name
	} {
		conn := connect()
		write(t, conn, fmt.Sprintf("CONNECT %s:%d HTTP/1.1\r\n\r\n", c.host, port))
		in := bufio.NewReader(conn)
		if answer, err := http.ReadResponse(in, nil); err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%+v, %v", answer, err)
		}
		client := tls.Client(conn, &tls.Config{ServerName: c.name, InsecureSkipVerify: true})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := client.HandshakeContext(ctx)
		cancel()
		if refused := err != nil; refused != (c.decision != egress.Allowed) || refused && !strings.Contains(err.Error(), "unrecognized name") {
			t.Errorf("%+v: %v", c, err)
		}
		if err == nil {
			write(t, client, "GET / HTTP/1.1\r\nHost: inside\r\nConnection: close\r\n\r\n")
			if answer, err := io.ReadAll(client); err != nil || !strings.HasSuffix(string(answer), "host inside") {
				t.Errorf("%+v: %q, %v", c, answer, err)
			}
		}
		_ = conn.Close()
		if r := reported.next(t); r.Decision != c.decision || (r.Sent > 0) != (c.decision == egress.Allowed) {
			t.Errorf("%+v: %+v", c, r)
		}
	}
	conn := connect()
	write(t, conn, fmt.Sprintf("CONNECT allowed.test:%d HTTP/1.1\r\n\r\n", port))
	if answer := ask(t, conn, "\x16\x03\x01\x00\x05hello"); !strings.HasSuffix(answer, "\x02\x70") {
		t.Errorf("what looks like TLS and is not: %q", answer)
	}
	if r := reported.next(t); r.Decision != egress.ByServerName {
		t.Errorf("%+v", r)
	}
}
