package app

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"path/filepath"

	"runpython/internal/caller"
	"runpython/internal/certs"
	"runpython/internal/fault"
)

// httpsPort is that of addresses without one.
const httpsPort = 443

// speakTLS has the server for callers speak TLS, and adds the one that leads there from plain HTTP, if there is to be
// one. The caller calls end when the servers have ended.
func (a *App) speakTLS(ctx context.Context, public *served, add func(address string) (*served, error)) (end func(), err error) {
	var plain *served
	httpPort := 0
	if a.config.HTTPListen != "" {
		if plain, err = add(a.config.HTTPListen); err != nil {
			return nil, err
		}
		httpPort = portOf(plain.listener)
		plain.listener = a.bound(plain.listener)
	}
	certificates, err := a.certificates(ctx, portOf(public.listener), httpPort)
	if err != nil {
		return nil, fault.New(fault.Invalid, nil, "TLS: "+err.Error())
	}
	public.server.TLSConfig = certificates.TLS()
	if plain != nil {
		plain.server = a.newServer(certificates.Challenges(certs.Redirect(portOf(public.listener))))
	}
	if err := certificates.Manage(); err != nil {
		certificates.Close()
		return nil, fmt.Errorf("TLS: %w", err)
	}
	return certificates.Close, nil
}

// certificates are those of the files, or of the ACME server.
func (a *App) certificates(ctx context.Context, tlsPort, httpPort int) (*certs.Certificates, error) {
	c := a.config
	if c.TLSCert != "" {
		return certs.Files(c.TLSCert, c.TLSKey, a.log) //nolint:wrapcheck // it says what it is
	}
	return certs.ACME(ctx, certs.Order{ //nolint:wrapcheck // it says what it is
		Names: c.Domains, Folder: filepath.Join(c.Data, "acme"), URL: c.ACMEURL, Email: c.ACMEEmail, CA: c.ACMECA, Agreed: c.ACMEAgree,
		TLSPort: tlsPort, HTTPPort: httpPort, Log: a.log,
	})
}

// strict tells browsers to stay with TLS, where a caller has come by it.
func strict(next http.Handler) http.Handler {
	return certs.Strict(next, func(r *http.Request) bool { return caller.FromContext(r.Context()).Secure })
}

// portOf returns the port of a listener.
func portOf(l net.Listener) int {
	if a, ok := l.Addr().(*net.TCPAddr); ok {
		return a.Port
	}
	return 0
}
