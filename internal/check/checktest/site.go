// Package checktest serves MCP endpoints on loopback for tests of the scanner, each as good or as bad as a test wants,
// under names and ports of its own: a [Site] is a [Network] too, in which it is https://mcp.test/mcp.
//
// # Trust
//
// It is for tests alone.
//
// # Failure
//
// What cannot be set up ends the test.
package checktest

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"maps"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Host is the name of every site, and URL its endpoint.
const (
	Host = "mcp.test"
	URL  = "https://" + Host + "/mcp"
)

// Auth says what of a site needs a token.
type Auth int

// What needs a token.
const (
	Open  Auth = iota // nothing
	Calls             // calls of tools
	All               // initialize too
)

// Token is what a site takes for one.
const Token = "right-token-of-the-site"

// A Site says how an endpoint behaves. The zero value speaks nothing.
type Site struct {
	Revisions    []string // that it speaks, "2026-07-28" among them or not
	Tools        []string // definitions, as JSON
	Prompts      []string
	Resources    []string
	PerPage      int // tools on a page, 0 for all
	Instructions string
	Events       bool // answers are streams of events
	Auth         Auth
	NoChallenge  bool           // 401 comes without WWW-Authenticate
	Resource     map[string]any // members of the metadata that differ; a nil value takes one out
	Issuer       map[string]any // the same, of the authorization server
	HSTS         string
	Header       http.Header // of each answer
	Certificate  Certificate
	MaxVersion   uint16            // of TLS
	Suites       []uint16          // of TLS 1.2; nil: those of Go
	Plain        http.Handler      // of port 80; nil: nothing listens
	Handler      http.Handler      // in place of all of it but TLS
	Names        map[string]string // addresses of more names
}

// Certificate says how a site's certificate is wrong.
type Certificate struct {
	Names          []string // in place of Host
	Expired        bool
	SelfSigned     bool
	NoIntermediate bool           // it is not served
	Curve          elliptic.Curve // of its key; nil: P-256
}

// A Served is a site that is being served.
type Served struct {
	Site
	Roots *x509.CertPool
	PEM   []byte // the root, as --ca-bundle takes it

	secure, plain net.Addr
	mu            sync.Mutex
	dialed        []string
	requests      []*http.Request
}

// Serve serves a site until the test ends.
func Serve(t testing.TB, site Site) *Served {
	t.Helper()
	s := &Served{Site: site}
	var chain tls.Certificate
	chain, s.PEM = certificates(t, site.Certificate)
	s.Roots = x509.NewCertPool()
	s.Roots.AppendCertsFromPEM(s.PEM)
	h := site.Handler
	if h == nil {
		h = http.HandlerFunc(s.serve)
	}
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.note(r)
		if site.HSTS != "" {
			w.Header().Set("Strict-Transport-Security", site.HSTS)
		}
		maps.Copy(w.Header(), site.Header)
		h.ServeHTTP(w, r)
	}))
	server.TLS = &tls.Config{Certificates: []tls.Certificate{chain}, MinVersion: tls.VersionTLS10, MaxVersion: site.MaxVersion, CipherSuites: site.Suites} //nolint:gosec // some sites are bad
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(server.Close)
	s.secure = server.Listener.Addr()
	if site.Plain != nil {
		plain := httptest.NewServer(site.Plain)
		t.Cleanup(plain.Close)
		s.plain = plain.Listener.Addr()
	}
	return s
}

// Endpoint returns a URL at which the machine itself reaches the site.
func (s *Served) Endpoint() string { return "https://" + s.secure.String() + "/mcp" }

// LookupNetIP makes a site a network in which its names have addresses.
func (s *Served) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	if host == Host {
		return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
	}
	if addr, ok := s.Names[host]; ok {
		return []netip.Addr{netip.MustParseAddr(addr)}, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

// DialContext connects to the site's ports 443 and 80.
func (s *Served) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	s.mu.Lock()
	s.dialed = append(s.dialed, address)
	s.mu.Unlock()
	to := s.secure
	switch address {
	case "127.0.0.1:443":
	case "127.0.0.1:80":
		to = s.plain
	default:
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ENETUNREACH}
	}
	if to == nil {
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	}
	return (&net.Dialer{}).DialContext(ctx, network, to.String())
}

// Dialed returns the addresses that were connected to.
func (s *Served) Dialed() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.dialed)
}

func (s *Served) note(r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
}

// Requests returns those that came over TLS. Their bodies are read already.
func (s *Served) Requests() []*http.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

func (s *Served) serve(w http.ResponseWriter, r *http.Request) {
	self := "https://" + r.Host
	switch {
	case r.URL.Path == "/.well-known/oauth-protected-resource/mcp":
		document(w, map[string]any{"resource": self + "/mcp", "authorization_servers": []string{self + "/issuer"}, "bearer_methods_supported": []string{"header"}}, s.Resource)
	case r.URL.Path == "/.well-known/oauth-authorization-server/issuer":
		issuer := self + "/issuer"
		document(w, map[string]any{
			"issuer": issuer, "authorization_endpoint": issuer + "/authorize", "token_endpoint": issuer + "/token",
			"registration_endpoint": issuer + "/register", "code_challenge_methods_supported": []string{"S256"}, "response_types_supported": []string{"code"},
		}, s.Issuer)
	case r.URL.Path != "/mcp":
		http.NotFound(w, r)
	case r.Method == http.MethodPost:
		s.rpc(w, r)
	case r.Method == http.MethodDelete:
		w.WriteHeader(http.StatusNoContent)
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

// document writes a document with some members changed.
func document(w http.ResponseWriter, doc, changed map[string]any) {
	if changed["status"] != nil {
		w.WriteHeader(changed["status"].(int))
		return
	}
	for k, v := range changed {
		doc[k] = v
		if v == nil {
			delete(doc, k)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(doc)
}

type rpcRequest struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		ProtocolVersion string `json:"protocolVersion"`
		Cursor          string `json:"cursor"`
	} `json:"params"`
}

func (s *Served) rpc(w http.ResponseWriter, r *http.Request) {
	var q rpcRequest
	if err := json.NewDecoder(r.Body).Decode(&q); err != nil {
		http.Error(w, "no JSON", http.StatusBadRequest)
		return
	}
	trusted := r.Header.Get("Authorization") == "Bearer "+Token
	if !trusted && (s.Auth == All || s.Auth == Calls && q.Method == "tools/call") {
		if !s.NoChallenge {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="https://`+r.Host+`/.well-known/oauth-protected-resource/mcp", scope="chat"`)
		}
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if q.ID == nil {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	result, failure := s.answer(q)
	m := map[string]any{"jsonrpc": "2.0", "id": q.ID}
	if failure != "" {
		m["error"] = map[string]any{"code": -32602, "message": failure}
	} else {
		m["result"] = result
	}
	text, err := json.Marshal(m)
	if err != nil { // what a test wants to be served is no JSON
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	if q.Method == "initialize" && failure == "" {
		w.Header().Set("Mcp-Session-Id", "session-1")
	}
	if s.Events {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, ": hello\n\nevent: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\"}\n\ndata: %s\n\n", text)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text)
}

func (s *Served) answer(q rpcRequest) (result any, failure string) {
	caps := map[string]any{"tools": map[string]any{}}
	if s.Prompts != nil {
		caps["prompts"] = map[string]any{}
	}
	if s.Resources != nil {
		caps["resources"] = map[string]any{}
	}
	switch q.Method {
	case "server/discover":
		if !slices.Contains(s.Revisions, "2026-07-28") {
			return nil, "method not found"
		}
		return map[string]any{"supportedVersions": s.Revisions, "capabilities": caps, "instructions": s.Instructions}, ""
	case "initialize":
		older := slices.DeleteFunc(slices.Clone(s.Revisions), func(r string) bool { return r == "2026-07-28" })
		if len(older) == 0 {
			return nil, "unsupported protocol version"
		}
		agreed := slices.Max(older)
		if slices.Contains(older, q.Params.ProtocolVersion) {
			agreed = q.Params.ProtocolVersion
		}
		return map[string]any{"protocolVersion": agreed, "capabilities": caps, "serverInfo": map[string]any{"name": "site", "version": "1"}, "instructions": s.Instructions}, ""
	case "tools/list":
		return s.page(q.Params.Cursor), ""
	case "prompts/list":
		return map[string]any{"prompts": json.RawMessage("[" + strings.Join(s.Prompts, ",") + "]")}, ""
	case "resources/list":
		return map[string]any{"resources": json.RawMessage("[" + strings.Join(s.Resources, ",") + "]")}, ""
	case "tools/call":
		return nil, "unknown tool"
	}
	return nil, "method not found"
}

func (s *Served) page(cursor string) map[string]any {
	from := 0
	_, _ = fmt.Sscanf(cursor, "from %d", &from)
	to := len(s.Tools)
	if s.PerPage > 0 {
		to = min(to, from+s.PerPage)
	}
	page := map[string]any{"tools": json.RawMessage("[" + strings.Join(s.Tools[from:to], ",") + "]")}
	if to < len(s.Tools) {
		page["nextCursor"] = fmt.Sprintf("from %d", to)
	}
	return page
}

// certificates makes a root, an intermediate and a site's certificate.
func certificates(t testing.TB, c Certificate) (tls.Certificate, []byte) {
	t.Helper()
	now := time.Now()
	rootKey, rootCert := sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "root of tests"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}, nil, nil)
	midKey, midCert := sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "intermediate of tests"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}, rootCert, rootKey)
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(3), Subject: pkix.Name{CommonName: "site"}, DNSNames: []string{Host}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(24 * time.Hour), IssuingCertificateURL: []string{"http://ca.test/intermediate"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if c.Names != nil {
		leaf.DNSNames, leaf.IPAddresses = c.Names, nil
	}
	if c.Expired {
		leaf.NotBefore, leaf.NotAfter = now.Add(-48*time.Hour), now.Add(-24*time.Hour)
	}
	parent, parentKey := midCert, midKey
	if c.SelfSigned {
		parent, parentKey = nil, nil
	}
	curve := c.Curve
	if curve == nil {
		curve = elliptic.P256()
	}
	key, cert := signOn(t, curve, leaf, parent, parentKey)
	chain := tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
	if !c.SelfSigned && !c.NoIntermediate {
		chain.Certificate = append(chain.Certificate, midCert.Raw)
	}
	return chain, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: rootCert.Raw})
}

// sign makes a certificate with a key of P-256; it signs itself without a parent.
func sign(t testing.TB, c, parent *x509.Certificate, parentKey *ecdsa.PrivateKey) (*ecdsa.PrivateKey, *x509.Certificate) {
	t.Helper()
	return signOn(t, elliptic.P256(), c, parent, parentKey)
}

func signOn(t testing.TB, curve elliptic.Curve, c, parent *x509.Certificate, parentKey *ecdsa.PrivateKey) (*ecdsa.PrivateKey, *x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	if parent == nil {
		parent, parentKey = c, key
	}
	raw, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, parentKey)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	return key, cert
}
