package egress_test

import (
	"archive/zip"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"runpython/internal/egress"
	"runpython/internal/extent"
	"runpython/internal/guesttest"
	"runpython/internal/kernel"
	"runpython/internal/sandbox"
)

// wheelsVariable names a folder into which the packages of .ci/wheels.txt were installed.
const wheelsVariable = "RUNPYTHON_TEST_WHEELS"

// largeBytes is what /large answers with.
const largeBytes = 5 << 20

// site is a server of https:// and one of http:// on loopback, with the certificate for it.
type site struct {
	https, http string // ports
	authority   string // PEM
}

func newSite(t *testing.T) site {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, DNSNames: []string{"api.test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		SubjectKeyId: []byte("test"), AuthorityKeyId: []byte("test"),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	l := listen(t, "127.0.0.1:0")
	server := &http.Server{Handler: http.HandlerFunc(answer), ReadHeaderTimeout: time.Minute, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		TLSConfig: &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.ServeTLS(l, "", "") // until Close
	}()
	t.Cleanup(func() { _ = server.Close(); <-done })
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return site{https: port, http: serve(t, http.HandlerFunc(answer)), authority: string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))}
}

// answer tells what came, or much at /large, or is an index with one package.
func answer(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/large":
		_, _ = io.WriteString(w, strings.Repeat("0123456789abcdef", largeBytes/16))
	case "/endless":
		for {
			if _, err := io.WriteString(w, strings.Repeat("x", 1<<16)); err != nil {
				return
			}
		}
	case "/simple/thing/":
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, `<!DOCTYPE html><a href="/files/`+wheelName+`">`+wheelName+`</a>`)
	case "/files/" + wheelName:
		_, _ = w.Write(wheel())
	default:
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s %d", r.Method, r.Host[:strings.IndexByte(r.Host, ':')], r.URL.Path, len(body))
	}
}

const wheelName = "thing-1.0-py3-none-any.whl"

// wheel makes a package without anything in it.
func wheel() []byte {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for name, text := range map[string]string{
		"METADATA": "Metadata-Version: 2.1\nName: thing\nVersion: 1.0\n",
		"WHEEL":    "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
		"RECORD":   "thing-1.0.dist-info/METADATA,,\nthing-1.0.dist-info/WHEEL,,\nthing-1.0.dist-info/RECORD,,\n",
	} {
		f, _ := w.Create("thing-1.0.dist-info/" + name) // in memory: cannot fail
		_, _ = io.WriteString(f, text)
	}
	_ = w.Close()
	return b.Bytes()
}

// A chat is a guest with a way out.
type chat struct {
	guest  *sandbox.Sandbox
	kernel *kernel.Kernel
	gate   *egress.Gate
	site   site
}

// chats opens a host whose guests have a way out, and returns how to begin a chat.
func chats(t *testing.T, p *egress.Proxy, s site, change func(*sandbox.Config)) (*sandbox.Host, func(id string) *chat) {
	t.Helper()
	setup := guesttest.NewSetup(t)
	setup.Config.Egress = true
	change(&setup.Config)
	h := setup.Open(t)
	return h, func(id string) *chat {
		t.Helper()
		guest, err := h.Take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		g, err := p.Open(guest.Egress, id)
		if err != nil {
			t.Fatal(err)
		}
		k, err := kernel.New(t.Context(), guest, kernel.Config{RunTimeout: time.Minute, Limits: setup.Config.Limits, Log: setup.Config.Log}, setup.Key)
		if err != nil {
			t.Fatal(err)
		}
		c := &chat{guest, k, g, s}
		t.Cleanup(func() {
			if err := c.kernel.Close(); err != nil {
				t.Errorf("close the kernel: %v", err)
			}
			if err := c.gate.Close(); err != nil {
				t.Errorf("close the gate: %v", err)
			}
		})
		return c
	}
}

// out runs code and returns what it prints, and the exception that ends it.
func (c *chat) out(t *testing.T, code string) string {
	t.Helper()
	code = strings.NewReplacer("HTTPS_URL", "https://api.test:"+c.site.https, "HTTP_URL", "http://api.test:"+c.site.http, "HTTPS_PORT", c.site.https, "HTTP_PORT", c.site.http).Replace(code)
	r, err := c.kernel.Run(t.Context(), kernel.Request{Candidates: []kernel.Candidate{{Code: code}}})
	if err != nil {
		t.Fatalf("run %q: %v", code, err)
	}
	text := r.Stdout.Text(10_000) + r.Stderr.Text(10_000)
	if r.Error != nil {
		text += r.Error.Type + ": " + r.Error.Message
	}
	return text
}

// policyOf allows api.test at the ports of the site.
func policyOf(s site) string {
	return "api.test:" + s.https + ",api.test:" + s.http + ",127.0.0.1:" + s.https + ",127.0.0.1:" + s.http
}

const sentence = "is not among the hosts that code can reach from here; the operator of this server allows more with --egress"

func TestGuestClientsWorkUnchanged(t *testing.T) {
	wheels := os.Getenv(wheelsVariable)
	if wheels == "" {
		t.Skipf("%s is not set: .ci/wheels installs what this needs and prints the folder", wheelsVariable)
	}
	for _, name := range []string{"requests", "httpx", "urllib3", "aiohttp", "pip"} {
		if _, err := os.Stat(filepath.Join(wheels, name)); err != nil {
			t.Skipf("%s has no %s: run .ci/wheels again", wheelsVariable, name)
		}
	}
	s := newSite(t)
	p, _ := proxy(t, policyOf(s), egress.Config{Resolver: &names{answers: map[string][]string{"api.test": {"127.0.0.1"}}}})
	_, begin := chats(t, p, s, func(c *sandbox.Config) { c.Environment = wheels })
	c := begin("clients")
	c.out(t, "import ssl\nopen('ca.pem', 'w').write("+fmt.Sprintf("%q", s.authority)+")\ncontext = ssl.create_default_context(cafile='ca.pem')")
	steps := []struct{ name, code, want string }{
		{"requests", "import requests\nprint(requests.get('HTTPS_URL/a', verify='ca.pem').text)", "GET api.test /a 0\n"},
		{"requests http", "print(requests.post('HTTP_URL/b', data=b'x' * 1000).text)", "POST api.test /b 1000\n"},
		{"requests chunked", "print(requests.post('HTTP_URL/c', data=(b'x' * 1000 for _ in range(100))).text)", "POST api.test /c 100000\n"},
		{"requests session", "s = requests.Session(); s.verify = 'ca.pem'\nprint(*(s.get('HTTPS_URL/%d' % i).text for i in range(3)), sep=', ')", "GET api.test /0 0, GET api.test /1 0, GET api.test /2 0\n"},
		{"requests large", "r = s.get('HTTPS_URL/large'); print(len(r.content), r.content == b'0123456789abcdef' * (len(r.content) // 16))", "5242880 True\n"},
		{"requests refused", "requests.get('https://other.test/')", "ProxyError: "},
		{"requests refused in words", "try: requests.get('https://other.test/')\nexcept requests.RequestException as e: print(e)", "other.test:443 " + sentence},
		{"requests refused http", "r = requests.get('http://other.test/'); print(r.status_code, r.text)", "403 other.test:80 " + sentence + "\n"},
		{"httpx", "import httpx\nprint(httpx.get('HTTPS_URL/a', verify=context).text)", "GET api.test /a 0\n"},
		{"httpx http", "print(httpx.post('HTTP_URL/b', content=b'x' * 1000).text)", "POST api.test /b 1000\n"},
		{"httpx async", "async with httpx.AsyncClient(verify=context) as a: print((await a.get('HTTPS_URL/large')).text[:16])", "0123456789abcdef\n"},
		{"httpx refused", "httpx.get('https://other.test/')", "ProxyError: 403 other.test:443 " + sentence},
		{"urllib", "import urllib.request\nprint(urllib.request.urlopen('HTTPS_URL/a', context=context).read().decode())", "GET api.test /a 0\n"},
		{"urllib refused", "urllib.request.urlopen('https://other.test/')", "URLError: <urlopen error Tunnel connection failed: 403 other.test:443 " + sentence},
		{"urllib3", "import urllib3, os\nm = urllib3.ProxyManager(os.environ['HTTPS_PROXY'], ca_certs='ca.pem')\nprint(m.request('GET', 'HTTPS_URL/a').data.decode())", "GET api.test /a 0\n"},
		{"urllib3 refused", "m.request('GET', 'https://other.test/', retries=False)", "other.test:443 " + sentence},
		{"aiohttp", "import aiohttp\nasync with aiohttp.ClientSession() as a:\n    async with a.get('HTTPS_URL/a', ssl=context) as r: print(await r.text())", "GET api.test /a 0\n"},
		{"aiohttp http", "async with aiohttp.ClientSession(trust_env=True) as a:\n    async with a.post('HTTP_URL/b', data=b'x' * 1000) as r: print(await r.text())", "POST api.test /b 1000\n"},
		{"aiohttp told not to", "async with aiohttp.ClientSession(trust_env=False) as a: await a.get('HTTPS_URL/a', ssl=context)", "ClientConnectorDNSError"},
		{"aiohttp refused", "async with aiohttp.ClientSession(trust_env=True) as a:\n    await a.get('https://other.test/')", "other.test:443 " + sentence},
		{"pip", "import subprocess, sys\nprint(subprocess.run([sys.executable, '-m', 'pip', 'install', '--no-input', '--disable-pip-version-check', '--cert', 'ca.pem', '--index-url', 'HTTPS_URL/simple', '--target', 'installed', 'thing'], capture_output=True, text=True))", "Successfully installed thing-1.0"},
		{"pip refused", "print(subprocess.run([sys.executable, '-m', 'pip', 'download', '--no-input', '--retries', '0', '--disable-pip-version-check', '--index-url', 'https://other.test/simple', 'thing'], capture_output=True, text=True))", "other.test"},
		{"wrong name of a certificate", "requests.get('https://127.0.0.1:HTTPS_PORT/', verify='ca.pem')", "Connection refused"}, // the guest's own loopback
	}
	if _, err := exec.LookPath("curl"); err == nil { // a program of the host's, which guests see
		steps = append(steps, struct{ name, code, want string }{
			"curl", "import subprocess\nprint(subprocess.run(['curl', '-sS', '--cacert', 'ca.pem', 'HTTPS_URL/a', 'HTTP_URL/b'], capture_output=True, text=True))", "GET api.test /a 0GET api.test /b 0",
		})
	}
	for _, step := range steps {
		if got := c.out(t, step.code); !strings.Contains(got, step.want) {
			t.Errorf("%s: %s\nwant %s", step.name, got, step.want)
		}
	}
}

func TestGuestReachesNothingElse(t *testing.T) {
	extent.Slow(t)
	s := newSite(t)
	p, reported := proxy(t, policyOf(s)+",*", egress.Config{Resolver: &names{answers: map[string][]string{
		"api.test": {"127.0.0.1"}, "metadata.google.internal": {"169.254.169.254"}, "inside.test": {"10.0.0.1"}, "localhost": {"127.0.0.1"},
	}}})
	h, begin := chats(t, p, s, func(c *sandbox.Config) { c.Pool = 1 })
	awaitPool(t, h)
	c, other := begin("first"), begin("second")
	for id, step := range map[string]struct{ code, want string }{
		"standard library":           {"import urllib.request as u\nprint(u.urlopen('HTTP_URL/a').read().decode())", "GET api.test /a 0\n"},
		"child process":              {"import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', \"import urllib.request as u; print(u.urlopen('HTTP_URL/a').read().decode())\"], capture_output=True, text=True).stdout)", "GET api.test /a 0\n"},
		"NET-02 a host that is not":  {"import urllib.request\nurllib.request.urlopen('http://example.test/', timeout=30)", "HTTPError: HTTP Error 502: example.test:80 cannot be reached: there is no such name"},
		"NET-02 a port that is not":  {"import urllib.request\nurllib.request.urlopen('http://api.test:81/', timeout=30)", "HTTPError: HTTP Error 403: api.test:81 " + sentence},
		"NET-02 without the proxy":   {"import socket\nsocket.create_connection(('api.test', HTTP_PORT), 30)", "gaierror"},
		"NET-02 by number":           {"import socket\nsocket.create_connection(('192.0.2.1', HTTP_PORT), 30)", "Network is unreachable"},
		"NET-02 DNS":                 {"import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.sendto(b'x', ('192.0.2.1', 53))", "Network is unreachable"},
		"raw sockets":                {"import socket\nsocket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)", "PermissionError"},
		"the host's loopback":        {"import socket\nsocket.create_connection(('127.0.0.1', HTTP_PORT), 5)", "ConnectionRefusedError"},
		"the host's loopback, asked": {"import urllib.request as u\nu.urlopen('http://localhost.:80/')", "HTTP Error 403: localhost:80 has no public address of another machine"},
		"a private address":          {"import urllib.request as u\nu.urlopen('http://inside.test/')", "HTTP Error 403: inside.test:80 has no public address of another machine"},
		"the socket itself":          {"import os, socket\nfor do in (os.listdir, os.stat, lambda p: socket.socket(socket.AF_UNIX).connect(p + '/socket'), lambda p: open(p + '/x', 'w')):\n    try: print(do('/run/egress'))\n    except OSError as e: print(e.errno)", "13\n"},
		"NET-04": {"import socket, urllib.request\nfor h in ('169.254.169.254', '100.100.100.200', '[fd00:ec2::254]', 'metadata.google.internal', 'metadata.google.internal.', '169.254.169.254.'):\n" +
			"    try:\n        socket.create_connection((h.strip('[]'), 80), 2)\n        print(h, 'OPEN')\n    except OSError as e:\n        pass\n" +
			"    try:\n        urllib.request.urlopen('http://' + h + '/')\n        print(h, 'OPEN')\n    except OSError as e:\n        print(e.code, end=' ')\nprint('all blocked')", "403 403 403 403 403 400 all blocked\n"},
		"NET-06": {"import urllib.request\nfor h in ('2852039166', '0xa9fea9fe', '[::ffff:169.254.169.254]', '0251.0376.0251.0376', '169.254.43518', '[::ffff:a9fe:a9fe]', '[64:ff9b::a9fe:a9fe]'):\n" +
			"    try:\n        urllib.request.urlopen('http://' + h + '/')\n        print(h, 'OPEN')\n    except OSError as e:\n        print(e.code, end=' ')\nprint('all blocked')", "400 400 403 400 400 403 403 all blocked\n"},
		"NET-09": {"import http.server, threading, urllib.request\ns = http.server.HTTPServer(('127.0.0.1', 8080), http.server.SimpleHTTPRequestHandler)\n" +
			"threading.Thread(target=s.serve_forever, daemon=True).start()\nprint(urllib.request.urlopen('http://127.0.0.1:8080/').status)", "200\n"},
	} {
		t.Run(id, func(t *testing.T) {
			if got := c.out(t, step.code); !strings.Contains(got, step.want) || strings.Contains(got, "OPEN") {
				t.Errorf("%s\nwant %s", got, step.want)
			}
		})
	}
	if got := other.out(t, "import urllib.request\nurllib.request.urlopen('http://127.0.0.1:8080/')"); !strings.Contains(got, "Connection refused") {
		t.Errorf("NET-09: a server of another chat: %s", got)
	}
	if got := other.out(t, "import urllib.request as u\nprint(u.urlopen('HTTP_URL/second').read().decode())"); got != "GET api.test /second 0\n" {
		t.Errorf("another chat: %s", got)
	}
	for reported.next(t).Chat != "second" {
	}
	seen := map[string]bool{}
	reported.mu.Lock()
	for _, r := range reported.all {
		seen[r.Chat] = true
	}
	reported.mu.Unlock()
	if stats := h.Stats(); stats.Restored == 0 || !seen["first"] || !seen["second"] {
		t.Errorf("stats %+v, records of %v; want guests of the pool's image, and both chats", stats, seen)
	}
}

func TestGuestWithoutAWayOutKnowsOfNone(t *testing.T) {
	setup := guesttest.NewSetup(t)
	h := setup.Open(t)
	guest, err := h.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := raw(t, guest, setup.Key, "import os, socket\n[k for k in os.environ if 'proxy' in k.lower()], os.listdir('/run/egress'), socket.socket().connect_ex(('127.0.0.1', 3128))")
	if guest.Egress != "" || !strings.Contains(got, "([], [], 111)") {
		t.Errorf("folder %q, and inside: %s; want no variables, no socket, no port", guest.Egress, got)
	}
	if err := guest.Close(); err != nil {
		t.Error(err)
	}
}

// closeGate closes the gate of a guest that goes on meanwhile, though its kernel lets it stand still
// some time after a run, which may be now.
func closeGate(c *chat) error {
	closed := make(chan error, 1)
	go func() { closed <- c.gate.Close() }()
	for again := time.Tick(5 * time.Millisecond); ; {
		c.guest.Continue()
		select {
		case err := <-closed:
			return err
		case <-again:
		}
	}
}

// TestGuestLetsGoOfConnections wants a guest to be ready for a checkpoint whenever the gate
// is closed, whatever its code holds open, and the way out to work again after it.
func TestGuestLetsGoOfConnections(t *testing.T) {
	extent.Long(t)
	s := newSite(t)
	p, _ := proxy(t, policyOf(s), egress.Config{Resolver: &names{answers: map[string][]string{"api.test": {"127.0.0.1"}}}})
	_, begin := chats(t, p, s, func(*sandbox.Config) {})
	c := begin("holder")
	hold := "import socket, http.client, urllib.request\nheld = []\nfor i in range(4):\n" +
		"    s = socket.create_connection(('127.0.0.1', 3128)); s.sendall(b'CONNECT api.test:HTTP_PORT HTTP/1.1\\r\\n\\r\\n'); s.recv(100); held.append(s)\n" +
		"    r = urllib.request.urlopen('HTTP_URL/endless'); r.read(10); held.append(r)\n" +
		"    held.append(socket.create_connection(('127.0.0.1', 3128)))\nprint(len(held))"
	get := "print(urllib.request.urlopen('HTTP_URL/a').read().decode())"
	for round := range 3 {
		if got := c.out(t, hold); got != "12\n" {
			t.Fatalf("round %d: %s", round, got)
		}
		if err := closeGate(c); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
		if got := c.out(t, get); !strings.Contains(got, "HTTP Error 503: the way out of this sandbox is closed for the moment; try again") {
			t.Errorf("with the gate closed: %s", got)
		}
		var err error
		if c.gate, err = p.Open(c.guest.Egress, "holder"); err != nil {
			t.Fatal(err)
		}
		if got := c.out(t, get); got != "GET api.test /a 0\n" {
			t.Errorf("with the gate open again: %s", got)
		}
	}
	// A new interpreter in the same guest.
	c.out(t, "import os; os._exit(1)")
	if got := c.out(t, "import urllib.request\n"+get); got != "GET api.test /a 0\n" {
		t.Errorf("after the end of an interpreter: %s", got)
	}
	// More connections than a guest may have.
	if got := c.out(t, "import socket\nheld = []\nfor i in range(70):\n    s = socket.create_connection(('127.0.0.1', 3128)); s.sendall(b'CONNECT api.test:HTTP_PORT HTTP/1.1\\r\\n\\r\\n'); held.append(s)\n"+
		"words = [s.recv(100).split(b'\\r\\n')[0] for s in held]\nprint(words.count(b'HTTP/1.1 200 Connection established'), words[-1].decode())"); got != "64 HTTP/1.1 503 more than 64 connections at once; close some\n" {
		t.Errorf("70 connections: %s", got)
	}
	// More than the forwarder takes at once wait for it, and their end is noticed.
	if got := c.out(t, "for s in held: s.close()\nheld = [socket.create_connection(('127.0.0.1', 3128)) for _ in range(150)]\nfor s in held: s.close()\n"+get); got != "GET api.test /a 0\n" {
		t.Errorf("after 150 connections: %s", got)
	}
}

// TestGuestIsCheckpointedAndRestored makes a checkpoint of a guest with a connection that is open, and
// wants the one that is restored from it to have a way out of its own.
func TestGuestIsCheckpointedAndRestored(t *testing.T) {
	extent.Long(t)
	s := newSite(t)
	p, reported := proxy(t, policyOf(s), egress.Config{Resolver: &names{answers: map[string][]string{"api.test": {"127.0.0.1"}}}})
	setup := guesttest.NewSetup(t)
	setup.Config.Egress = true
	h := setup.Open(t)
	first, err := h.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	gate := gateOf(t, p, first, "first")
	connect := "import socket, urllib.request\ns = socket.create_connection(('127.0.0.1', 3128)); s.sendall(b'CONNECT api.test:" + s.http + " HTTP/1.1\\r\\n\\r\\n'); s.recv(100)"
	if got := raw(t, first, setup.Key, connect); !strings.Contains(got, "200 Connection established") {
		t.Fatal(got)
	}
	snapshot, err := first.NewSnapshot()
	if err != nil {
		t.Fatal(err)
	}
	if err := snapshot.Take(t.Context(), true); err != nil {
		t.Fatalf("checkpoint with a connection that is open: %v", err)
	}
	dir := filepath.Join(setup.Config.Data, "stored")
	if err := errors.Join(snapshot.Store(t.Context(), dir, nil), snapshot.Close()); err != nil {
		t.Fatal(err)
	}
	if r := reported.next(t); r.Chat != "first" || r.Decision != egress.Allowed {
		t.Errorf("%+v; want the connection to have ended", r)
	}
	restored, _, err := h.Restore(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	second := gateOf(t, p, restored, "second")
	get := "s.recv(10), urllib.request.urlopen('http://api.test:" + s.http + "/restored').read()"
	for chat, guest := range map[string]*sandbox.Sandbox{"first": first, "second": restored} {
		if got := raw(t, guest, setup.Key, get); !strings.Contains(got, "(b'', b'GET api.test /restored 0')") {
			t.Errorf("in the guest of the %s chat: %s", chat, got)
		}
		if r := reported.next(t); r.Chat != chat {
			t.Errorf("%+v; want the connection to be counted for the %s chat", r, chat)
		}
		if err := guest.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := errors.Join(gate.Close(), second.Close()); err != nil {
		t.Error(err)
	}
}

// gateOf opens the way out of a guest.
func gateOf(t *testing.T, p *egress.Proxy, guest *sandbox.Sandbox, chat string) *egress.Gate {
	t.Helper()
	g, err := p.Open(guest.Egress, chat)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// awaitPool waits until a guest is ready.
func awaitPool(t *testing.T, h *sandbox.Host) {
	t.Helper()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for h.Stats().Pooled == 0 {
		select {
		case <-look.C:
		case <-deadline.C:
			t.Fatal("waited a minute for a guest of the pool")
		}
	}
}

// raw runs code in a guest without package kernel, which would stop the guest after it, and
// returns the answer as it comes (internal/kernel/guest/PROTOCOL.md).
func raw(t *testing.T, guest *sandbox.Sandbox, key, code string) string {
	t.Helper()
	if _, err := fmt.Fprintf(guest.Channel, `%s.{"op":"run","n":1,"candidates":[{"code":%q}]}`+"\n", key[:16], code); err != nil {
		t.Fatal(err)
	}
	if err := guest.Channel.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	packet := make([]byte, 1<<16)
	n, err := guest.Channel.Read(packet)
	if err != nil {
		t.Fatal(err)
	}
	return string(packet[:n])
}
