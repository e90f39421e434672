package config

import (
	"net"
	"net/netip"
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
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// CheckServe checks what settings of serve mean together: an address that other
// machines can reach needs sign-in, which is not there yet, or the word that it is to be
// open to everybody. Its error is an [Error].
func (c Config) CheckServe() error {
	for _, l := range []struct{ where, address string }{
		{"--listen", c.Listen}, {"--admin-listen", c.AdminListen},
	} {
		if l.address == "" || IsLoopback(l.address) || c.Auth == AuthNone {
			continue
		}
		return &Error{Where: l.where, Value: l.address, Reason: "other machines can reach this address, " +
			"and sign-in is not there yet: listen on 127.0.0.1 and reach it through a proxy that " +
			"asks for a login or an SSH tunnel, or say --auth none to let everybody who reaches it run code"}
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
	for _, a := range []string{c.Listen, c.AdminListen} {
		if a != "" && !IsLoopback(a) {
			open = append(open, a)
		}
	}
	return open
}
