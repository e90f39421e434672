package config

import (
	"net"
	"strconv"
	"strings"
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

// Where a server with Config.Domains listens unless it is told otherwise.
const (
	httpsAddress = ":443"
	httpAddress  = ":80"
)

// listenWhere fills in addresses that nobody has set; plain is that of a server without Domains.
func (c *Config) listenWhere(plain string) {
	domains := len(c.Domains) > 0
	switch {
	case c.Listen == "" && domains:
		c.Listen = httpsAddress
	case c.Listen == "":
		c.Listen = plain
	}
	switch {
	case c.HTTPListen == HTTPAuto && domains:
		c.HTTPListen = httpAddress
	case c.HTTPListen == HTTPAuto:
		c.HTTPListen = ""
	}
}

// reachedWhere fills in the public URL that nobody has set: that of the first of the Domains, unless everybody may call. With port
// 0 there is none before the server listens, which CheckServe refuses.
func (c *Config) reachedWhere() {
	_, port, ok := splitAddress(c.Listen)
	if len(c.Domains) == 0 || c.PublicURL != "" || c.Auth == AuthNone || !ok || port == 0 {
		return
	}
	host := strings.ToLower(strings.TrimSuffix(c.Domains[0], "."))
	if port != httpsPort {
		host += ":" + strconv.Itoa(int(port))
	}
	c.PublicURL = "https://" + host
}

// httpsPort is that of addresses without one.
const httpsPort = 443

// TLS tells whether serve speaks TLS.
func (c Config) TLS() bool { return c.TLSCert != "" || len(c.Domains) > 0 }

// checkTLS checks what the settings of TLS mean together.
func (c Config) checkTLS() error {
	switch {
	case (c.TLSCert == "") != (c.TLSKey == ""):
		return &Error{Where: "--tls-cert", Reason: "goes together with --tls-key: one without the other is of no use"}
	case c.TLSCert != "" && len(c.Domains) > 0:
		return &Error{Where: "--domain", Value: c.Domains[0], Reason: "gets certificates itself: leave out --tls-cert and --tls-key"}
	case len(c.Domains) > 0 && !c.ACMEAgree:
		return &Error{Where: "--domain", Value: c.Domains[0], Reason: "gets certificates from an ACME server, Let's Encrypt unless --acme-url names another, " +
			"whose terms of service you must have accepted: say so with --acme-agree"}
	case len(c.Domains) > 0 && c.PublicURL == "" && c.Auth != AuthNone:
		return &Error{Where: "--listen", Value: c.Listen, Reason: "says no port under which --domain could be reached: name one, or say --public-url"}
	case c.TLS() && strings.HasPrefix(c.PublicURL, "http:"):
		return &Error{Where: "--public-url", Value: c.PublicURL, Reason: "must be https: with --domain or --tls-cert the server speaks TLS"}
	case c.HTTPListen != "" && !c.TLS():
		return &Error{Where: "--http-listen", Value: c.HTTPListen, Reason: "leads to TLS, which needs --domain or --tls-cert"}
	}
	return nil
}

// CheckServe checks what settings of serve mean together: an address that other
// machines can reach needs sign-in, or the word that it is to be
// open to everybody; sign-in needs a public URL, and a provider a list of whom to admit. Its error is an [Error].
func (c Config) CheckServe() error {
	if err := c.checkTLS(); err != nil {
		return err
	}
	if c.Auth == AuthOAuth && c.PublicURL == "" {
		return &Error{Where: "--auth", Value: c.Auth, Reason: "needs --public-url, the URL under which clients reach the server"}
	}
	if err := c.checkOIDC(); err != nil {
		return err
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
	for _, l := range []struct{ where, address, other, of string }{
		{"--admin-listen", c.AdminListen, c.Listen, "--listen"},
		{"--http-listen", c.HTTPListen, c.Listen, "--listen"},
		{"--http-listen", c.HTTPListen, c.AdminListen, "--admin-listen"},
	} {
		if _, port, _ := splitAddress(l.address); l.address != "" && l.address == l.other && port != 0 {
			return &Error{Where: l.where, Value: l.address, Reason: "must not be the address of " + l.of}
		}
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
	switch {
	case c.PublicURL != "" && !isLoopbackHost(c.PublicHost()):
		open = append(open, c.PublicURL)
	case len(c.Domains) > 0 && len(open) == 0: // others come by a forwarded port
		open = append(open, c.Domains[0])
	}
	return open
}
