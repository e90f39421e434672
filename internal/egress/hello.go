package egress

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
)

const (
	// helloBytes is how much is read to find the end of a ClientHello.
	helloBytes = 64 << 10
	// handshakeRecord is the first byte of a TLS connection (RFC 8446, 5.1).
	handshakeRecord = 0x16
	// unrecognizedName is a fatal alert of that description (RFC 6066, 3): the client hears why.
	unrecognizedName = "\x15\x03\x03\x00\x02\x02\x70"
)

// openingOf returns the bytes with which TLS begins, after a look at the name that it asks for:
// none if the connection begins with anything else. Without a name nothing is wrong.
func openingOf(ctx context.Context, in *bufio.Reader, t target) ([]byte, error) {
	first, err := in.Peek(1)
	if err != nil || first[0] != handshakeRecord {
		return nil, nil //nolint:nilerr // whoever reads next is told
	}
	name, opening, err := readServerName(ctx, in)
	if err != nil {
		return nil, &refusedError{decision: ByServerName, sentence: "what looks like TLS cannot be read", cause: err}
	}
	if name != "" && !t.addr.IsValid() && !strings.EqualFold(name, t.host) {
		return nil, &refusedError{decision: ByServerName, sentence: "TLS asks for another server than CONNECT"}
	}
	return opening, nil
}

// readServerName reads a ClientHello and returns the server name in it, "" when there is
// none, with all bytes that were read.
func readServerName(ctx context.Context, r io.Reader) (name string, read []byte, err error) {
	var seen bytes.Buffer
	errSeen := errors.New("seen")
	server := tls.Server(helloConn{Reader: io.TeeReader(io.LimitReader(r, helloBytes), &seen)}, &tls.Config{
		MinVersion: tls.VersionTLS12,
		GetConfigForClient: func(hello *tls.ClientHelloInfo) (*tls.Config, error) {
			name = hello.ServerName
			return nil, errSeen
		},
	})
	if err := server.HandshakeContext(ctx); !errors.Is(err, errSeen) {
		return "", nil, fmt.Errorf("read a ClientHello: %w", err)
	}
	return name, seen.Bytes(), nil
}

// helloConn is a connection of which a server reads the ClientHello and gives up.
type helloConn struct {
	net.Conn // nil: nothing else is called
	io.Reader
}

// Read reads what the client has sent.
func (c helloConn) Read(p []byte) (int, error) { return c.Reader.Read(p) }

// Write forgets the alert with which the server gives up.
func (c helloConn) Write(p []byte) (int, error) { return len(p), nil }

// Close does nothing: the connection goes on.
func (c helloConn) Close() error { return nil }
