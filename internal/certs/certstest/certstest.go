// Package certstest has certificates and an ACME server for tests. Only tests import it.
//
// # Trust
//
// Tests trust it.
//
// # Failure
//
// Where there is no Pebble, the test is skipped and says how to get it; anything else that goes wrong ends the test.
package certstest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"testing"
	"time"
)

// CA is an issuer of a test's own.
type CA struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// New returns an issuer.
func New(t testing.TB) *CA {
	t.Helper()
	template := template("certstest")
	template.IsCA, template.BasicConstraintsValid, template.KeyUsage = true, true, x509.KeyUsageCertSign
	key := newKey(t)
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &CA{certificate, key}
}

// Pool has the issuer alone.
func (c *CA) Pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(c.certificate)
	return pool
}

// PEM is the certificate of the issuer.
func (c *CA) PEM() []byte { return encode("CERTIFICATE", c.certificate.Raw) }

// Issue returns a certificate for a name or an address, and its key, both PEM.
func (c *CA) Issue(t testing.TB, name string) (certificate, key []byte) {
	t.Helper()
	template := template(name)
	if ip := net.ParseIP(name); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{name}
	}
	secret := newKey(t)
	der, err := x509.CreateCertificate(rand.Reader, template, c.certificate, secret.Public(), c.key)
	if err != nil {
		t.Fatal(err)
	}
	text, err := x509.MarshalECPrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	return encode("CERTIFICATE", der), encode("EC PRIVATE KEY", text)
}

func template(name string) *x509.Certificate {
	serial, _ := rand.Int(rand.Reader, big.NewInt(1<<62)) // crypto/rand does not fail
	return &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func encode(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}
