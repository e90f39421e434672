package certs_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"runpython/internal/certs"
	"runpython/internal/certs/certstest"
)

// files are a certificate and its key on the disk.
type files struct{ cert, key string }

// write replaces both by those of an issuer for a name.
func (f files) write(t *testing.T, ca *certstest.CA, name string) {
	t.Helper()
	cert, key := ca.Issue(t, name)
	f.put(t, f.cert, cert)
	f.put(t, f.key, key)
}

// put replaces one of them, as editors and ACME clients do: by a new file.
func (f files) put(t *testing.T, path string, text []byte) {
	t.Helper()
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

// serve serves TLS with certificates until the test ends.
func serve(t *testing.T, c *certs.Certificates) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, r.Proto) }), TLSConfig: c.TLS(),
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	ended := make(chan error, 1)
	go func() { ended <- s.ServeTLS(l, "", "") }()
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// handshake returns the first name of the certificate that a server shows, and the version.
func handshake(t *testing.T, address string, c *tls.Config) (name string, state tls.ConnectionState, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	d := tls.Dialer{Config: c}
	conn, err := d.DialContext(ctx, "tcp", address)
	if err != nil {
		return "", state, err
	}
	defer func() { _ = conn.Close() }()
	state = conn.(*tls.Conn).ConnectionState()
	return state.PeerCertificates[0].DNSNames[0], state, nil
}

func TestFilesAreReadAgain(t *testing.T) {
	ca, dir := certstest.New(t), t.TempDir()
	f := files{filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
	f.write(t, ca, "first.example")
	var log bytes.Buffer
	c, err := certs.Files(f.cert, f.key, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	address := serve(t, c)
	shown := func(want string) {
		t.Helper()
		for range 2 { // what cannot be used is told once
			if got, _, err := handshake(t, address, &tls.Config{RootCAs: ca.Pool(), ServerName: want}); err != nil || got != want {
				t.Errorf("the certificate is of %q, %v; want %s", got, err, want)
			}
		}
	}
	shown("first.example")
	f.write(t, ca, "second.example")
	shown("second.example")

	cert, key := ca.Issue(t, "third.example")
	f.put(t, f.cert, cert) // without its key
	shown("second.example")
	if n := strings.Count(log.String(), "cannot be used"); n != 1 {
		t.Errorf("a pair that does not fit is told %d times:\n%s", n, log.String())
	}
	f.put(t, f.key, key)
	shown("third.example")
	f.put(t, f.cert, []byte("nothing"))
	shown("third.example")
	if err := os.Remove(f.key); err != nil {
		t.Fatal(err)
	}
	shown("third.example")
	f.write(t, ca, "fourth.example")
	shown("fourth.example")
	if strings.Contains(log.String(), "PRIVATE") {
		t.Error("the log has a key")
	}
}

func TestFilesThatCannotBeUsed(t *testing.T) {
	ca, dir := certstest.New(t), t.TempDir()
	f := files{filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
	if _, err := certs.Files(f.cert, f.key, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("files that are not there are taken")
	}
	f.write(t, ca, "first.example")
	_, other := ca.Issue(t, "second.example")
	f.put(t, f.key, other)
	if _, err := certs.Files(f.cert, f.key, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), f.cert) {
		t.Errorf("a key of another certificate: %v", err)
	}
}

// TLS 1.2 with modern suites and 1.3 are spoken, nothing older or weaker, and HTTP/2.
func TestVersionsAndSuites(t *testing.T) {
	ca, dir := certstest.New(t), t.TempDir()
	f := files{filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
	f.write(t, ca, "run.example")
	c, err := certs.Files(f.cert, f.key, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	address := serve(t, c)
	for _, tt := range []struct {
		name   string
		client *tls.Config
		want   uint16 // 0: refused
	}{
		{"newest", &tls.Config{}, tls.VersionTLS13},
		{"1.2", &tls.Config{MaxVersion: tls.VersionTLS12}, tls.VersionTLS12},
		{"1.1", &tls.Config{MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}, 0},
		{"CBC", &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA}}, 0},
		{"RSA key exchange", &tls.Config{MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{tls.TLS_RSA_WITH_AES_128_GCM_SHA256}}, 0},
		{"unknown name", &tls.Config{ServerName: "other.example"}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.client.RootCAs = ca.Pool()
			if tt.client.ServerName == "" {
				tt.client.ServerName = "run.example"
			}
			if _, state, err := handshake(t, address, tt.client); state.Version != tt.want || (err == nil) != (tt.want != 0) {
				t.Errorf("version %x, %v; want %x", state.Version, err, tt.want)
			}
		})
	}
	client := http.Client{Transport: &http.Transport{ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: ca.Pool(), ServerName: "run.example"}}}
	defer client.CloseIdleConnections()
	response, err := client.Get("https://" + address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if text, err := io.ReadAll(response.Body); string(text) != "HTTP/2.0" || err != nil {
		t.Errorf("spoken is %q, %v", text, err)
	}
}

func TestRedirect(t *testing.T) {
	for _, c := range []struct {
		method, target, host string
		port                 int
		want                 string // "" for 400
	}{
		{"GET", "/", "run.example", 443, "https://run.example/"},
		{"POST", "/mcp?a=b%20c", "run.example:80", 443, "https://run.example/mcp?a=b%20c"},
		{"GET", "//evil.example/x", "run.example", 443, "https://run.example//evil.example/x"},
		{"GET", "/x", "run.example:8080", 8443, "https://run.example:8443/x"},
		{"GET", "/x", "[2001:db8::1]:80", 443, "https://[2001:db8::1]/x"},
		{"GET", "/x", "[2001:db8::1]", 8443, "https://[2001:db8::1]:8443/x"},
		{"GET", "/x", "", 443, ""},
		{"GET", "/x", "a@evil.example", 443, ""},
		{"GET", "/x", "a/../b", 443, ""},
		{"GET", "/x", "a:b:c", 443, ""},
	} {
		r := httptest.NewRequest(c.method, "http://x"+c.target, http.NoBody)
		r.Host, r.RequestURI = c.host, c.target
		w := httptest.NewRecorder()
		certs.Redirect(c.port).ServeHTTP(w, r)
		status := http.StatusPermanentRedirect
		if c.want == "" {
			status = http.StatusBadRequest
		}
		if got := w.Header().Get("Location"); got != c.want || w.Code != status {
			t.Errorf("%s %s of %q: %d to %q, want %d to %q", c.method, c.target, c.host, w.Code, got, status, c.want)
		}
	}
}

func TestStrict(t *testing.T) {
	for host, want := range map[string]bool{"run.example": true, "run.example:8443": true, "localhost:8443": false, "127.0.0.1": false, "[::1]:443": false} {
		for _, secure := range []bool{true, false} {
			r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
			r.Host = host
			w := httptest.NewRecorder()
			certs.Strict(http.NotFoundHandler(), func(*http.Request) bool { return secure }).ServeHTTP(w, r)
			if got := w.Header().Get("Strict-Transport-Security"); (got != "") != (want && secure) {
				t.Errorf("%s, secure %v: %q", host, secure, got)
			}
		}
	}
}

func TestACMESettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := certs.ACME(t.Context(), certs.Order{CA: file, Log: slog.New(slog.DiscardHandler)}); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a file without certificates: %v", err)
	}
}
