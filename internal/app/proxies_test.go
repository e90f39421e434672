package app_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/app"
	"runpython/internal/certs/certstest"
	"runpython/internal/config"
	"runpython/internal/guesttest"
	"runpython/internal/servertest"
)

// proxied is where a test's proxy stands.
type proxied struct {
	dir       string
	upstream  string // host:port of the server
	tls, http int    // its ports
	cert, key string
}

// nginx returns the command line of nginx with the site of deploy.
func (p proxied) nginx(t *testing.T) []string {
	t.Helper()
	site := replaced(t, "../../deploy/nginx/runpython.conf", map[string]string{
		"127.0.0.1:8000": p.upstream, "listen 80;": fmt.Sprintf("listen 127.0.0.1:%d;", p.http), "listen 443 ": fmt.Sprintf("listen 127.0.0.1:%d ", p.tls),
		"/etc/ssl/run.example.org.pem": p.cert, "/etc/ssl/run.example.org.key": p.key,
	})
	user := ""
	if os.Getuid() == 0 {
		user = "user root;\n"
	}
	temporary := ""
	for _, of := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temporary += fmt.Sprintf("%s_temp_path %s;\n", of, filepath.Join(p.dir, of))
	}
	return []string{"-p", p.dir, "-e", "stderr", "-c", p.put(t, "nginx.conf", fmt.Sprintf("%sdaemon off;\npid %s/pid;\nerror_log stderr;\nevents {}\nhttp {\naccess_log off;\n%s%s}\n", user, p.dir, temporary, site))}
}

// caddy returns the command line of Caddy with the site of deploy.
func (p proxied) caddy(t *testing.T) []string {
	t.Helper()
	site := replaced(t, "../../deploy/caddy/Caddyfile", map[string]string{
		"127.0.0.1:8000": p.upstream, "\nrun.example.org {": fmt.Sprintf("\nhttps://run.example.org:%d {\n\tbind 127.0.0.1\n\ttls %s %s", p.tls, p.cert, p.key),
	})
	return []string{"run", "--adapter", "caddyfile", "--config", p.put(t, "Caddyfile", "{\n\tadmin off\n\tauto_https off\n}\n"+site)}
}

func (p proxied) put(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// replaced returns a file with what is of this machine in it; all of that must be there.
func replaced(t *testing.T, path string, with map[string]string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all := string(text)
	for old, now := range with {
		if !strings.Contains(all, old) {
			t.Fatalf("%s has no %q", path, old)
		}
		all = strings.ReplaceAll(all, old, now)
	}
	return all
}

// start starts a proxy and returns when it listens.
func (p proxied) start(t *testing.T, program string, args []string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Env = append(os.Environ(), "HOME="+p.dir, "XDG_DATA_HOME="+p.dir, "XDG_CONFIG_HOME="+p.dir)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // nginx ends its workers then
	cmd.WaitDelay = 5 * time.Second
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // it was interrupted
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		<-ended
		if t.Failed() {
			t.Logf("the proxy said:\n%s", said.String())
		}
	})
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 500 {
		if conn, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", p.tls)); err == nil {
			_ = conn.Close()
			return
		}
		<-tick.C
	}
	t.Fatal("the proxy does not listen")
}

// callerFrom speaks TLS with a proxy on a port from an address of its own, and claims to come from another one.
func callerFrom(t *testing.T, address string, port int, roots *x509.CertPool) *http.Client {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	transport := &http.Transport{
		ForceAttemptHTTP2: true, TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: "run.example.org"},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, fmt.Sprintf("127.0.0.1:%d", port))
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: lying{transport}}
}

// lying sends headers as if it were a proxy itself.
type lying struct{ next http.RoundTripper }

func (l lying) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-Forwarded-For", "6.6.6.6")
	r.Header.Set("Forwarded", "for=6.6.6.6;host=evil.example")
	r.Header.Set("X-Forwarded-Host", "evil.example")
	return l.next.RoundTrip(r)
}

// Behind nginx and Caddy, with the files of deploy: output comes while the code runs, callers have their own addresses
// whatever they say, and answers know that they went over TLS.
func TestBehindProxies(t *testing.T) {
	for name, command := range map[string]func(proxied, *testing.T) []string{"nginx": proxied.nginx, "caddy": proxied.caddy} {
		t.Run(name, func(t *testing.T) {
			program, err := exec.LookPath(name)
			if err != nil {
				t.Skipf("%s is not installed", name)
			}
			data := guesttest.Data(t)
			a := openAt(t, data, func(c *config.Config, _ *app.Build) {
				c.TrustedProxies, c.AllowHosts = []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}, []string{"run.example.org"}
			})
			url, _ := serve(t, a)
			ca, p := certstest.New(t), proxied{
				dir: t.TempDir(), upstream: strings.TrimSuffix(strings.TrimPrefix(url, "http://"), "/mcp"),
				tls: servertest.FreePort(t), http: servertest.FreePort(t),
			}
			cert, key := ca.Issue(t, "run.example.org")
			p.cert, p.key = p.put(t, "cert.pem", string(cert)), p.put(t, "key.pem", string(key))
			p.start(t, program, command(p, t))
			client := callerFrom(t, "127.0.0.2", p.tls, ca.Pool())
			s, printed := connectSeeing(t, &mcp.StreamableClientTransport{Endpoint: "https://run.example.org/mcp", HTTPClient: client}, "on its way")
			ctx, leave := context.WithCancel(t.Context())
			left := make(chan struct{})
			go func() {
				defer close(left)
				params := &mcp.CallToolParams{Name: "chat", Arguments: map[string]any{"message": "import time\nprint('on its way', flush=True)\ntime.sleep(50)"}}
				params.SetProgressToken("p")
				_, _ = s.CallTool(ctx, params) // it is left
			}()
			<-printed
			leave()
			<-left
			if _, text, _ := call(t, s, "", "6 * 7"); !strings.Contains(text, "\n42\n") {
				t.Errorf("a call: %s", text)
			}
			response, err := client.Get("https://run.example.org/nothing")
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			if response.StatusCode != http.StatusNotFound || !strings.HasPrefix(response.Header.Get("Strict-Transport-Security"), "max-age=") {
				t.Errorf("%d with %v", response.StatusCode, response.Header)
			}
			lines, _ := auditLines(t, data)
			for _, l := range lines {
				if l.Kind == "turn" && l.Address != "127.0.0.2" {
					t.Errorf("a turn comes from %q, want 127.0.0.2", l.Address)
				}
			}
		})
	}
}
