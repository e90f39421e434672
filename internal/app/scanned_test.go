package app_test

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/miekg/dns"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/app"
	"runpython/internal/certs/certstest"
	"runpython/internal/check"
	"runpython/internal/check/checktest"
	"runpython/internal/check/dnssec"
	"runpython/internal/check/probe"
	"runpython/internal/config"
	"runpython/internal/guesttest"
	"runpython/internal/servertest"
)

// A publicNetwork is one in which a name leads to a server of a test, at the ports where the world looks for it.
type publicNetwork struct{ name, secure, plain string }

// LookupNetIP implements probe.Network.
func (n publicNetwork) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if host != n.name {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
}

// DialContext implements probe.Network.
func (n publicNetwork) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	to, ok := map[string]string{"127.0.0.1:443": n.secure, "127.0.0.1:80": n.plain}[address]
	if !ok {
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ENETUNREACH}
	}
	return (&net.Dialer{}).DialContext(ctx, network, to)
}

// TestScanned scans the program as it is served to the world: the certificate is of a CA of the test, the name is signed in
// a DNS of the test, all else is the real thing. Whatever software can do is right; only days can bring a history.
func TestScanned(t *testing.T) {
	const name = "run.example.org"
	network, roots := servePublic(t, name)
	root := checktest.NewRoot(t, checktest.Signed)
	for _, profile := range check.Profiles() {
		t.Run(string(profile), func(t *testing.T) {
			r, _, err := check.Scan(t.Context(), "https://"+name+"/mcp", check.Options{
				Profile: profile, Roots: roots, Network: network,
				DNSSEC: &dnssec.Validator{Resolver: root, Anchors: []*dns.DS{root.Anchor()}, Now: time.Now()},
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range r.Categories {
				for _, s := range c.Signals {
					judged := s.Status != check.Unverified && s.Status != check.NotApplicable
					if judged && s.Status != check.Pass {
						t.Errorf("%s is %s: %s %q", s.ID, s.Status, s.Summary, s.Evidence)
					}
				}
				switch {
				case c.ID == "stability" && profile == check.Local && c.Score != nil:
					t.Errorf("a history that nobody knows is %d", *c.Score)
				case c.ID == "stability" && profile != check.Local && (c.Score == nil || *c.Score != 0):
					t.Errorf("a history that nobody knows is %v in %s, want 0", c.Score, profile)
				case c.ID != "stability" && (c.Score == nil || *c.Score != 100):
					t.Errorf("%s is %v, want 100", c.Title, c.Score)
				}
			}
			if s, _ := r.Signal("caps.spec_recency"); len(s.Evidence) > 0 {
				t.Errorf("rules of the latest revision are broken: %q", s.Evidence)
			}
			if len(r.Diagnostics.Problems) > 0 {
				t.Errorf("the lint finds %q", r.Diagnostics.Problems)
			}
			if v := r.Diagnostics.Auth.Verdict; v != "enforced_and_verified" || r.Era != "dual" {
				t.Errorf("the verdict is %s, the era %s", v, r.Era)
			}
			if profile == check.Local {
				witness(t, r, network, roots)
			}
			want := map[check.Profile]int{check.Local: 100, check.VerifyMCP: 85, check.Strict: 85}[profile]
			if r.Score == nil || *r.Score != want {
				t.Errorf("the score is %v, want %d", r.Score, want)
			}
		})
	}
}

// witness has the official SDK's client shake hands in each revision in which the scan did, which speaks MCP by hand: both agree, and
// are shown the same tools.
func witness(t *testing.T, r *check.Report, network publicNetwork, roots *x509.CertPool) {
	t.Helper()
	accepted := 0
	for _, try := range r.Diagnostics.Transports {
		if try.Outcome != probe.Accepted {
			continue
		}
		accepted++
		s, err := mcp.NewClient(&mcp.Implementation{Name: "witness", Version: "1"}, nil).Connect(t.Context(),
			&mcp.StreamableClientTransport{Endpoint: r.Target, HTTPClient: tlsClient(t, roots, network.secure, network.name), DisableStandaloneSSE: true},
			&mcp.ClientSessionOptions{ProtocolVersion: try.Revision})
		if err != nil {
			t.Errorf("the SDK does not connect by %s: %v", try.Revision, err)
			continue
		}
		if got := s.InitializeResult().ProtocolVersion; got != try.Revision {
			t.Errorf("the SDK speaks %s where the scan spoke %s", got, try.Revision)
		}
		list, err := s.ListTools(t.Context(), nil)
		if err != nil || len(list.Tools) != len(r.Diagnostics.Tools) || list.Tools[0].Name != r.Diagnostics.Tools[0].Name {
			t.Errorf("by %s the SDK sees %+v, %v; the scan %+v", try.Revision, list, err, r.Diagnostics.Tools)
		}
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
	if accepted < 4 {
		t.Errorf("the scan was accepted by %d revisions", accepted)
	}
}

// servePublic serves the program by TLS under a public name, with plain HTTP beside it.
func servePublic(t *testing.T, name string) (publicNetwork, *x509.CertPool) {
	t.Helper()
	dir, ca := t.TempDir(), certstest.New(t)
	cert, key := ca.Issue(t, name)
	files := []string{filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
	for i, text := range [][]byte{cert, key} {
		if err := os.WriteFile(files[i], text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	plain := fmt.Sprintf("127.0.0.1:%d", servertest.FreePort(t))
	secure := fmt.Sprintf("127.0.0.1:%d", servertest.FreePort(t))
	a := openAt(t, guesttest.Data(t), func(c *config.Config, _ *app.Build) {
		c.Pool, c.TLSCert, c.TLSKey, c.Listen, c.HTTPListen, c.PublicURL = 0, files[0], files[1], secure, plain, "https://"+name
	})
	if url, _ := serve(t, a); !strings.HasPrefix(url, "https://"+name) {
		t.Fatalf("it is served at %s", url)
	}
	return publicNetwork{name, secure, plain}, ca.Pool()
}
