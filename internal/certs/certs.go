// Package certs has the certificates by which the server speaks TLS: those of the operator's files,
// which are read again when they change, or those that an ACME server (RFC 8555) has given for the
// operator's names, which are renewed in time.
//
// # Trust
//
// Files and the ACME server are the operator's choice. Whoever connects may ask for any name, and gets
// a certificate only for those that were configured: none is ever asked for because of a connection.
//
// # Failure
//
// Files that cannot be used are an error when the program starts, and later leave the pair before in use, which the
// log tells. A certificate that an ACME server refuses is tried for again, for days, with longer and longer
// pauses; until there is one, handshakes fail and the log says why.
package certs

import (
	"crypto/tls"
	"net"
	"net/http"
	"strconv"
	"strings"
)

// Certificates are where those of a server come from. They are safe for concurrent use. Close them.
type Certificates struct {
	get        func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	protocols  []string // of ALPN, beside those of HTTP
	challenges func(http.Handler) http.Handler
	manage     func() error
	close      func()
}

// TLS returns how a server speaks TLS with them: version 1.2 and up, with keys that are not kept and encryption that
// is authenticated (RFC 9325), HTTP/2 and HTTP/1.1.
func (c *Certificates) TLS() *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		CipherSuites: []uint16{ // of 1.2; those of 1.3 are all of this kind
			tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
			tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
			tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
		},
		GetCertificate: c.get,
		NextProtos:     append([]string{"h2", "http/1.1"}, c.protocols...),
	}
}

// Challenges answers what an ACME server asks over plain HTTP (RFC 8555, 8.3), and passes on everything else.
func (c *Certificates) Challenges(next http.Handler) http.Handler { return c.challenges(next) }

// Manage begins to get and renew what is needed, in the background until Close. The server must listen
// by then.
func (c *Certificates) Manage() error { return c.manage() }

// Close ends what goes on in the background.
func (c *Certificates) Close() { c.close() }

// maxAge is for how long browsers remember that a name is only to be reached over TLS: a year.
const maxAge = "max-age=31536000"

// Strict adds Strict-Transport-Security (RFC 6797) to all answers of next that go over TLS, as secure says of a request,
// but not under localhost, which other programs share, and addresses, where it means nothing (8.1.1 there).
func Strict(next http.Handler, secure func(*http.Request) bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, _ := splitHost(r.Host)
		ip := net.ParseIP(name)
		if secure(r) && !strings.EqualFold(name, "localhost") && ip == nil {
			w.Header().Set("Strict-Transport-Security", maxAge)
		}
		next.ServeHTTP(w, r)
	})
}

// Redirect sends callers to the same address over TLS, at a port, with 308: method and body stay the same. It answers
// what has no Host that can stand in an address with 400.
func Redirect(port int) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name, ok := splitHost(r.Host)
		if !ok {
			http.Error(w, "this Host cannot be redirected to", http.StatusBadRequest)
			return
		}
		if strings.Contains(name, ":") {
			name = "[" + name + "]"
		}
		if port != httpsPort {
			name += ":" + strconv.Itoa(port)
		}
		w.Header().Set("Location", "https://"+name+r.URL.RequestURI())
		w.Header().Set("Connection", "close") // nobody should go on here
		w.WriteHeader(http.StatusPermanentRedirect)
	})
}

// httpsPort is that of addresses without one.
const httpsPort = 443

// splitHost returns the name or address in a Host header; ok says that it can be one.
func splitHost(host string) (name string, ok bool) {
	name = host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	ok = name != "" && !strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-._:", r))
	})
	if strings.Contains(name, ":") {
		ok = ok && net.ParseIP(name) != nil
	}
	return name, ok
}
