package check

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"runpython/internal/check/probe"
)

// leastHSTS is how long browsers must be told to use https for full credit: 180 days.
const leastHSTS = 180 * 24 * time.Hour

// expiring is the part of a certificate's life below which its end is told. A share and not days, since certificates of
// 6 and of 45 days are usual.
const expiring = 1.0 / 3

// The shortest keys that are not weak.
const (
	leastRSABits   = 2048
	leastCurveBits = 256
)

func (f *findings) tlsCertificate() Signal {
	s := Signal{
		Fix:  "serve a certificate of a public CA for this very name, with its whole chain, and renew it by ACME",
		Refs: []string{"RFC 5280", "RFC 9325"}, OWASP: []string{"MCP07"},
	}
	t := f.facts.TLS
	switch {
	case t == nil:
		return s.as(Fail, 0, "the endpoint is plain HTTP")
	case t.Problem != "":
		return s.as(Fail, 0, "no TLS handshake: "+t.Problem)
	}
	s.Evidence = []string{fmt.Sprintf("%s, %s", tls.VersionName(t.Version), tls.CipherSuiteName(t.CipherSuite))}
	good := "the certificate is valid for this name"
	if t.OldVersions {
		s.Evidence = append(s.Evidence, "TLS 1.1 or older is accepted too")
		good += "; TLS 1.1 or older is accepted too"
	}
	if left := t.Remaining(f.facts.Started); left < expiring && t.Verified == nil {
		ends := fmt.Sprintf("expires %s, with %.0f %% of its life left", t.Chain[0].NotAfter.UTC().Format(time.DateOnly), 100*left)
		s.Evidence = append(s.Evidence, ends)
		good += "; it " + ends
	}
	if t.Version < tls.VersionTLS12 {
		return s.as(Fail, 0, tls.VersionName(t.Version)+" is the newest that it speaks")
	}
	if t.Verified != nil {
		if incomplete(t) {
			return s.as(Partial, 0.5, "the chain is served without its intermediate certificates")
		}
		return s.as(Fail, 0, certificateProblem(t))
	}
	if weak := weakness(t); weak != "" {
		return s.as(Fail, 0, weak)
	}
	if t.Version == tls.VersionTLS12 && slices.ContainsFunc(tls.InsecureCipherSuites(), func(c *tls.CipherSuite) bool { return c.ID == t.CipherSuite }) {
		return s.as(Partial, 0.5, "TLS 1.2 with a weak cipher suite")
	}
	return s.as(Pass, 1, good)
}

// incomplete reports whether only the intermediate certificates seem to be missing: the one that is there says where its issuer's is.
func incomplete(t *probe.TLS) bool {
	var unknown x509.UnknownAuthorityError
	return errors.As(t.Verified, &unknown) && len(t.Chain) == 1 && !t.SelfSigned && len(t.Chain[0].IssuingCertificateURL) > 0
}

// certificateProblem says in a few words why a chain is not valid.
func certificateProblem(t *probe.TLS) string {
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	switch {
	case errors.As(t.Verified, &host):
		names := slices.Clone(t.Chain[0].DNSNames)
		for _, addr := range t.Chain[0].IPAddresses {
			names = append(names, addr.String())
		}
		if len(names) == 0 {
			return "the certificate names no host: it has no subjectAltName, and a common name alone counts no more (RFC 9525)"
		}
		return "the certificate is for other names: " + strings.Join(names[:min(len(names), 5)], ", ")
	case errors.As(t.Verified, &invalid) && invalid.Reason == x509.Expired:
		return fmt.Sprintf("the certificate is valid from %s to %s", t.Chain[0].NotBefore.UTC().Format(time.DateOnly), t.Chain[0].NotAfter.UTC().Format(time.DateOnly))
	case t.SelfSigned:
		return "the certificate is self-signed"
	}
	return "the chain leads to no root that is trusted"
}

// weakness returns what is too weak about a key or a signature of the chain, or "". Signatures of roots are not looked at.
func weakness(t *probe.TLS) string {
	for _, c := range t.Chain[:min(len(t.Chain), max(1, t.Rooted-1))] {
		if k, ok := c.PublicKey.(*rsa.PublicKey); ok && k.N.BitLen() < leastRSABits {
			return fmt.Sprintf("the chain has a key of RSA with %d bits", k.N.BitLen())
		}
		if k, ok := c.PublicKey.(*ecdsa.PublicKey); ok && k.Curve.Params().BitSize < leastCurveBits {
			return "the chain has a key of the curve " + k.Curve.Params().Name
		}
		if slices.Contains([]x509.SignatureAlgorithm{x509.MD5WithRSA, x509.SHA1WithRSA, x509.ECDSAWithSHA1, x509.DSAWithSHA1}, c.SignatureAlgorithm) {
			return "the chain has a signature by " + c.SignatureAlgorithm.String()
		}
	}
	return ""
}

// keyOf names a certificate's key.
func keyOf(c *x509.Certificate) string {
	switch k := c.PublicKey.(type) {
	case *rsa.PublicKey:
		return fmt.Sprintf("RSA %d", k.N.BitLen())
	case *ecdsa.PublicKey:
		return "EC " + k.Curve.Params().Name
	case ed25519.PublicKey:
		return "Ed25519"
	}
	return c.PublicKeyAlgorithm.String()
}

func (f *findings) httpsEnforced() Signal {
	s := Signal{Fix: "answer plain HTTP with 308 and an https Location, or let nothing listen on port 80", Refs: []string{"RFC 9110 15.4.9"}, OWASP: []string{"MCP07"}}
	p := f.facts.Plain
	if p == nil {
		return s.as(Fail, 0, "the endpoint is plain HTTP")
	}
	switch {
	case !p.Asked:
		return s.as(Error, 0, "not measured: "+p.Problem)
	case !p.Listening:
		return s.as(Pass, 1, "nothing listens on port 80 ("+p.Problem+")")
	case p.Problem != "":
		return s.as(Error, 0, "not measured: port 80 does not answer HTTP: "+p.Problem)
	}
	s.Evidence = []string{fmt.Sprintf("HTTP %d, Location %q", p.Status, p.Location)}
	return s.redirected(p)
}

// redirected judges what plain HTTP is answered by.
func (s Signal) redirected(p *probe.Plain) Signal {
	permanent := p.Status == http.StatusPermanentRedirect || p.Status == http.StatusMovedPermanently
	temporary := p.Status == http.StatusTemporaryRedirect || p.Status == http.StatusFound || p.Status == http.StatusSeeOther
	switch {
	case permanent && p.ToHTTPS && p.SameHost:
		return s.as(Pass, 1, fmt.Sprintf("plain HTTP is redirected to https by %d", p.Status))
	case (permanent || temporary) && p.ToHTTPS:
		return s.as(Partial, 0.5, "plain HTTP is redirected to https, but for the time being or by way of another host")
	case p.Status < 300 || p.Status == http.StatusUnauthorized:
		return s.as(Fail, 0, "plain HTTP is answered")
	}
	return s.as(Partial, 0.5, fmt.Sprintf("plain HTTP is answered by %d and not redirected", p.Status))
}

func (f *findings) hsts() Signal {
	s := Signal{Fix: "send Strict-Transport-Security: max-age=31536000 with each response", Refs: []string{"RFC 6797"}, OWASP: []string{"MCP07"}}
	h := f.facts.Transport.Headers
	switch {
	case f.facts.TLS == nil:
		return s.as(Fail, 0, "the endpoint is plain HTTP, where the header has no effect")
	case h == nil:
		return s.as(Error, 0, "not measured: the endpoint answers nothing")
	}
	text := h.Get("Strict-Transport-Security")
	if text == "" {
		return s.as(Fail, 0, "no Strict-Transport-Security header")
	}
	s.Evidence = []string{text}
	age, ok := maxAge(text)
	switch {
	case !ok || age == 0:
		return s.as(Fail, 0, "Strict-Transport-Security has no max-age above 0")
	case age < leastHSTS:
		return s.as(Partial, 0.5, fmt.Sprintf("max-age is %d days, less than 180", int(age.Hours()/24)))
	}
	return s.as(Pass, 1, fmt.Sprintf("max-age is %d days", int(age.Hours()/24)))
}

// maxAge reads the header of RFC 6797, 6.1.
func maxAge(header string) (time.Duration, bool) {
	for part := range strings.SplitSeq(header, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if !strings.EqualFold(strings.TrimSpace(name), "max-age") {
			continue
		}
		seconds, err := strconv.ParseInt(strings.Trim(strings.TrimSpace(value), `"`), 10, 64)
		const most = 100 * 365 * 24 * 60 * 60
		return time.Duration(min(seconds, most)) * time.Second, err == nil && seconds >= 0
	}
	return 0, false
}
