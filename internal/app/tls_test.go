package app_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/app"
	"runpython/internal/certs/certstest"
	"runpython/internal/config"
	"runpython/internal/extent"
	"runpython/internal/guesttest"
	"runpython/internal/servertest"
)

// tlsClient speaks HTTP/2 over TLS with a server at an address, under a name.
func tlsClient(t *testing.T, roots *x509.CertPool, address, name string) *http.Client {
	t.Helper()
	var dialer net.Dialer
	transport := &http.Transport{
		ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: name},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, address)
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// The main job over TLS with files: HTTP/2, strict transport security, and a page of plain HTTP that leads there.
func TestServeTLS(t *testing.T) {
	extent.Slow(t)
	dir, ca := t.TempDir(), certstest.New(t)
	cert, key := ca.Issue(t, "run.example.org")
	files := []string{filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
	for i, text := range [][]byte{cert, key} {
		if err := os.WriteFile(files[i], text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	plain := fmt.Sprintf("127.0.0.1:%d", servertest.FreePort(t))
	a := openAt(t, guesttest.Data(t), func(c *config.Config, _ *app.Build) {
		c.TLSCert, c.TLSKey, c.HTTPListen, c.AllowHosts = files[0], files[1], plain, []string{"run.example.org"}
	})
	url, _ := serve(t, a)
	address, ok := strings.CutPrefix(url, "https://")
	if !ok {
		t.Fatalf("the URL is %s", url)
	}
	address = strings.TrimSuffix(address, "/mcp")
	client := tlsClient(t, ca.Pool(), address, "run.example.org")
	s := connect(t, &mcp.StreamableClientTransport{Endpoint: "https://run.example.org/mcp", HTTPClient: client})
	if _, text, _ := call(t, s, "", "6 * 7"); !strings.Contains(text, "\n42\n") {
		t.Errorf("a call over TLS: %s", text)
	}
	response, err := client.Get("https://run.example.org/nothing")
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.Proto != "HTTP/2.0" || response.StatusCode != http.StatusNotFound || !strings.HasPrefix(response.Header.Get("Strict-Transport-Security"), "max-age=") {
		t.Errorf("%s %d with %v", response.Proto, response.StatusCode, response.Header)
	}
	response, err = tlsClient(t, nil, plain, "").Post("http://run.example.org/mcp?x=1", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	_, port, _ := net.SplitHostPort(address)
	if want := "https://run.example.org:" + port + "/mcp?x=1"; response.StatusCode != http.StatusPermanentRedirect || response.Header.Get("Location") != want {
		t.Errorf("plain HTTP: %d to %s, want 308 to %s", response.StatusCode, response.Header.Get("Location"), want)
	}
}

// A server gets its certificate from a real ACME server, and another one on the same folder needs none.
func TestServeDomain(t *testing.T) {
	for _, c := range []struct {
		name string
		http bool // plain HTTP is served as well
	}{{"tls-alpn-01 alone", false}, {"with http-01", true}} {
		t.Run(c.name, func(t *testing.T) {
			tlsPort, httpPort := servertest.FreePort(t), servertest.FreePort(t)
			pebble := certstest.StartPebble(t, tlsPort, httpPort)
			data, address := guesttest.Data(t), fmt.Sprintf("127.0.0.1:%d", tlsPort)
			first := ""
			for round := range 2 {
				t.Run(fmt.Sprint("start ", round), func(t *testing.T) {
					a := openAt(t, data, func(o *config.Config, _ *app.Build) {
						o.Pool, o.Listen, o.HTTPListen = 0, address, ""
						o.Domains, o.ACMEAgree, o.ACMEURL, o.ACMECA = []string{"localhost"}, true, pebble.URL, pebble.CAFile
						if c.http {
							o.HTTPListen = fmt.Sprintf("127.0.0.1:%d", httpPort)
						}
					})
					if url, _ := serve(t, a); url != fmt.Sprintf("https://localhost:%d/mcp", tlsPort) {
						t.Errorf("the URL is %s", url)
					}
					serial := obtained(t, address, pebble.Roots(t))
					if round > 0 && serial != first {
						t.Errorf("the second server has another certificate")
					}
					first = serial
				})
			}
		})
	}
}

// obtained waits until a server shows a certificate for localhost, and returns its number.
func obtained(t *testing.T, address string, roots *x509.CertPool) string {
	t.Helper()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	d := tls.Dialer{Config: &tls.Config{RootCAs: roots, ServerName: "localhost"}}
	var last error
	for range 300 {
		conn, err := d.DialContext(t.Context(), "tcp", address)
		if err == nil {
			defer func() { _ = conn.Close() }()
			return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.String()
		}
		last = err
		<-tick.C
	}
	t.Fatalf("no certificate: %v", last)
	return ""
}
