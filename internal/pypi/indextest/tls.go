package indextest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http/httptest"
	"testing"
	"time"
)

// NewTLS returns an Index over HTTPS, and in PEM form the certificate of the authority
// that vouches for it, which nobody knows.
func NewTLS(t testing.TB) (x *Index, authority []byte) {
	t.Helper()
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test authority"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "test index"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: root.NotBefore, NotAfter: root.NotAfter, KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	rootKey, leafKey := key(t), key(t)
	rootBytes := sign(t, root, root, rootKey, rootKey)
	x = &Index{packages: map[string][]File{}}
	x.Server = httptest.NewUnstartedServer(x)
	x.Server.TLS = &tls.Config{Certificates: []tls.Certificate{{
		Certificate: [][]byte{sign(t, leaf, root, leafKey, rootKey)}, PrivateKey: leafKey,
	}}}
	x.Server.StartTLS()
	t.Cleanup(x.Server.Close)
	return x, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: rootBytes})
}

func key(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	k, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func sign(t testing.TB, c, parent *x509.Certificate, of, by *ecdsa.PrivateKey) []byte {
	t.Helper()
	b, err := x509.CreateCertificate(rand.Reader, c, parent, &of.PublicKey, by)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
