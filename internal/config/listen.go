package config

import (
	"net"
	"strconv"
)

// splitAddress takes host:port apart; ok says that the port is a number in range.
func splitAddress(text string) (host string, port uint16, ok bool) {
	host, digits, err := net.SplitHostPort(text)
	if err != nil {
		return "", 0, false
	}
	n, err := strconv.ParseUint(digits, 10, 16)
	return host, uint16(n), err == nil
}

// IsLoopback tells whether only this machine can reach a listener on address,
// a valid host:port.
func IsLoopback(address string) bool {
	host, _, ok := splitAddress(address)
	if !ok {
		return false
	}
	return isLoopbackHost(host)
}

// CheckServe checks what settings of serve mean together: an address that other
// machines can reach needs sign-in, or the word that it is to be
// open to everybody; sign-in needs a public URL. Its error is an [Error].
func (c Config) CheckServe() error {
	if c.Auth == AuthOAuth && c.PublicURL == "" {
		return &Error{Where: "--auth", Value: c.Auth, Reason: "needs --public-url, the URL under which clients reach the server"}
	}
	for _, l := range []struct{ where, address string }{
		{"--listen", c.Listen}, {"--admin-listen", c.AdminListen},
	} {
		if l.address == "" || IsLoopback(l.address) || c.Auth == AuthNone || c.SignIn() {
			continue
		}
		return &Error{Where: l.where, Value: l.address, Reason: "other machines can reach this address: say " +
			"--public-url https://NAME, the URL under which clients reach the server, so that they sign in; " +
			"or --auth none to let everybody who reaches it run code"}
	}
	_, port, _ := splitAddress(c.Listen)
	if c.AdminListen == c.Listen && port != 0 {
		return &Error{Where: "--admin-listen", Value: c.AdminListen, Reason: "must not be the address of --listen"}
	}
	return nil
}

// OpenToAll returns the addresses of serve at which other machines may run
// code or read metrics without a login, to be warned about at each start.
func (c Config) OpenToAll() []string {
	var open []string
	if c.SignIn() {
		return open
	}
	for _, a := range []string{c.Listen, c.AdminListen} {
		if a != "" && !IsLoopback(a) {
			open = append(open, a)
		}
	}
	if c.PublicURL != "" && !isLoopbackHost(c.PublicHost()) {
		open = append(open, c.PublicURL)
	}
	return open
}
