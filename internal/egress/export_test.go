package egress

import (
	"bufio"
	"bytes"
	"context"
	"net"
)

// Dial is how a Proxy connects to a target that its policy allows, without the sockets
// of a gate, which do not work with the time of testing/synctest.
func Dial(ctx context.Context, p *Proxy, text string) (net.Conn, error) {
	t, err := parseTarget(text, 0)
	if err != nil {
		return nil, err
	}
	return p.dial(ctx, t)
}

// ReadServerName is how TLS is looked at.
var ReadServerName = readServerName

// Rewrite reads one request from text and returns what the host of it would be sent: nothing
// for a CONNECT.
func Rewrite(text []byte) (host string, sent []byte, err error) {
	r := bufio.NewReader(bytes.NewReader(text))
	head, err := readHead(r)
	if err != nil {
		return "", nil, err
	}
	q, err := parseRequest(head, r)
	if err != nil || q.connect {
		return q.target.String(), nil, err
	}
	var wire bytes.Buffer
	err = q.Write(&wire)
	return q.Host, wire.Bytes(), err
}

// IdleTime is how long nothing may move.
const IdleTime = idleTime

// Tunnel passes bytes between a guest and a host until the end.
func Tunnel(guest, host net.Conn) {
	f := newFlow(guest, bufio.NewReader(guest), host)
	f.run(func() error { return f.tunnel(nil) })
}

// Refusal returns what a guest is told of err.
func Refusal(err error) string {
	if refused, ok := err.(*refusedError); ok { //nolint:errorlint // as it is
		return refused.response()
	}
	return ""
}
