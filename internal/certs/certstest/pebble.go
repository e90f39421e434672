package certstest

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"runpython/internal/servertest"
)

// PebbleVariable names the program of Pebble, which .ci/pebble builds.
const PebbleVariable = "RUNPYTHON_TEST_PEBBLE"

// Pebble is an ACME server.
type Pebble struct {
	URL    string // of its directory
	CAFile string // by which the server itself is trusted

	manage string
	client *http.Client
}

// StartPebble starts Pebble, which asks what stands under a name at two ports of this machine.
func StartPebble(t testing.TB, tlsPort, httpPort int) *Pebble {
	t.Helper()
	program := os.Getenv(PebbleVariable)
	if program == "" {
		t.Skipf("%s is not set: .ci/pebble builds what this needs and prints its path", PebbleVariable)
	}
	dir, ca := t.TempDir(), New(t)
	cert, key := ca.Issue(t, "127.0.0.1")
	for name, text := range map[string][]byte{"ca.pem": ca.PEM(), "cert.pem": cert, "key.pem": key} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	acme, manage := servertest.FreePort(t), servertest.FreePort(t)
	config, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress": loopback(acme), "managementListenAddress": loopback(manage),
		"certificate": filepath.Join(dir, "cert.pem"), "privateKey": filepath.Join(dir, "key.pem"),
		"httpPort": httpPort, "tlsPort": tlsPort,
		"profiles": map[string]any{"default": map[string]any{"description": "for tests", "validityPeriod": 86400}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "config.json")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-config", file)
	cmd.Env = append(os.Environ(), "PEBBLE_VA_NOSLEEP=1", "PEBBLE_WFE_NONCEREJECT=0")
	p := &Pebble{
		URL: "https://" + loopback(acme) + "/dir", CAFile: filepath.Join(dir, "ca.pem"), manage: "https://" + loopback(manage),
		client: &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: ca.Pool()}}, Timeout: 10 * time.Second},
	}
	servertest.Start(t, "Pebble", cmd, p.client, p.URL)
	return p
}

// Roots are the issuers of its certificates, which it makes anew at each start.
func (p *Pebble) Roots(t testing.TB) *x509.CertPool {
	t.Helper()
	response, err := p.client.Get(p.manage + "/roots/0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		t.Fatalf("Pebble's root is %q", text)
	}
	return pool
}

func loopback(port int) string { return "127.0.0.1:" + strconv.Itoa(port) }
