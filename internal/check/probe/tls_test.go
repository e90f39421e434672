package probe_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"math/big"
	"testing"
	"time"

	"runpython/internal/check/probe"
)

// FuzzCertificates has a server show any certificate. Only one that the roots have signed is ever valid.
func FuzzCertificates(f *testing.F) {
	now := time.Now()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range []string{"mcp.test", "*.test", "other.test"} {
		c := &x509.Certificate{
			SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
			NotBefore: now.Add(-time.Hour), NotAfter: now.Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
		}
		raw, err := x509.CreateCertificate(rand.Reader, c, c, &key.PublicKey, key)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw, raw)
	}
	roots := x509.NewCertPool() // trusts nobody
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var chain []*x509.Certificate
		for _, raw := range [][]byte{first, second} {
			if c, err := x509.ParseCertificate(raw); err == nil {
				chain = append(chain, c)
			}
		}
		if len(chain) == 0 {
			return
		}
		seen := probe.LookAt(chain, "mcp.test", roots, now)
		if seen.Verified == nil {
			t.Errorf("a certificate that nobody has signed is valid: %x", first)
		}
		if left := seen.Remaining(now); left < 0 || left > 1 {
			t.Errorf("%v of its life is left", left)
		}
	})
}
