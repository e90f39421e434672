package probe

import (
	"crypto/x509"
	"net/http"
	"strings"
	"time"
)

// ParseChallenges reads a WWW-Authenticate header.
var ParseChallenges = parseChallenges

// ReadReply reads an answer to the call 1, of a content type, and returns its result and what is wrong with it.
func ReadReply(kind, body string) (result, problem string, err error) {
	r := &reply{status: http.StatusOK, header: http.Header{"Content-Type": {kind}}}
	err = r.read(strings.NewReader(body), 1)
	if r.err != nil {
		return "", r.says(), err
	}
	return string(r.result), r.problem, err
}

// LookAt judges certificates as those that a server has shown.
func LookAt(chain []*x509.Certificate, host string, roots *x509.CertPool, now time.Time) *TLS {
	return look(chain, host, Options{Roots: roots, Now: now})
}
