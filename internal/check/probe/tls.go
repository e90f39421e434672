package probe

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"
)

// maxChain is how many certificates of a chain are kept.
const maxChain = 10

// TLS is how the target speaks TLS, and what it shows.
type TLS struct {
	Problem     string // why there was no handshake, or ""
	Version     uint16 // as crypto/tls numbers them
	CipherSuite uint16
	ALPN        string
	Chain       []*x509.Certificate // as served, of maxChain
	Verified    error               // nil: the chain leads to a root, in date, for this host
	SelfSigned  bool
	// Rooted is how many certificates the verified chain has, its root included.
	Rooted int
	// OldVersions: TLS 1.1 or older is accepted.
	OldVersions bool
}

// tls shakes hands with the target twice: with what it prefers, and with old versions.
func (c *client) tls(ctx context.Context, o Options) *TLS {
	state, err := c.handshake(ctx, tls.VersionTLS10, 0)
	if err != nil {
		return &TLS{Problem: reason(err)}
	}
	t := look(state.PeerCertificates, c.target.Host(), o)
	t.Version, t.CipherSuite, t.ALPN = state.Version, state.CipherSuite, state.NegotiatedProtocol
	if t.Version >= tls.VersionTLS12 {
		_, err := c.handshake(ctx, tls.VersionTLS10, tls.VersionTLS11)
		t.OldVersions = err == nil
	}
	return t
}

// look judges the certificates that a server has shown, of which there is one at least.
func look(chain []*x509.Certificate, host string, o Options) *TLS {
	t := &TLS{Chain: chain[:min(len(chain), maxChain)]}
	t.Rooted, t.Verified = verify(t.Chain, host, o)
	leaf := t.Chain[0]
	t.SelfSigned = leaf.CheckSignature(leaf.SignatureAlgorithm, leaf.RawTBSCertificate, leaf.Signature) == nil
	return t
}

// handshake connects, looks and leaves.
func (c *client) handshake(ctx context.Context, least, most uint16) (tls.ConnectionState, error) {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return tls.ConnectionState{}, fmt.Errorf("shake hands: %w", context.Cause(ctx))
	}
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	raw, err := c.dial(ctx, "tcp", net.JoinHostPort(c.target.Host(), c.target.port()))
	if err != nil {
		return tls.ConnectionState{}, err
	}
	conn := tls.Client(raw, &tls.Config{
		ServerName:         c.target.Host(),
		InsecureSkipVerify: true, //nolint:gosec // it is looked at, whatever it is; verify judges it
		MinVersion:         least, MaxVersion: most, CipherSuites: everySuite(),
		NextProtos: []string{"h2", "http/1.1"},
	})
	err = conn.HandshakeContext(ctx)
	state := conn.ConnectionState()
	if err == nil && len(state.PeerCertificates) == 0 {
		err = errors.New("the server shows no certificate")
	}
	_ = raw.Close() // nothing was sent that could be lost
	if err != nil {
		return tls.ConnectionState{}, fmt.Errorf("shake hands: %w", err)
	}
	return state, nil
}

// everySuite returns all cipher suites that can be spoken, weak ones too: a server that has no others is to be seen.
func everySuite() []uint16 {
	var all []uint16
	for _, s := range slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites()) {
		all = append(all, s.ID)
	}
	return all
}

// verify returns the length of the shortest chain from the first certificate to a root.
func verify(chain []*x509.Certificate, host string, o Options) (int, error) {
	between := x509.NewCertPool()
	for _, c := range chain[1:] {
		between.AddCert(c)
	}
	chains, err := chain[0].Verify(x509.VerifyOptions{DNSName: host, Roots: o.Roots, Intermediates: between, CurrentTime: o.Now})
	if err != nil {
		return 0, fmt.Errorf("verify the certificate: %w", err)
	}
	least := len(chains[0])
	for _, c := range chains {
		least = min(least, len(c))
	}
	return least, nil
}

// Remaining returns which part of the certificate's life is left at a time, from 0 to 1.
func (t *TLS) Remaining(now time.Time) float64 {
	leaf := t.Chain[0]
	life := leaf.NotAfter.Sub(leaf.NotBefore)
	if life <= 0 {
		return 0
	}
	return max(0, min(1, float64(leaf.NotAfter.Sub(now))/float64(life)))
}
