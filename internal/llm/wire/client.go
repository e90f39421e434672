// Package wire is what the implementations of llm.Model have in common: the HTTP client, the bounds of
// what a server may answer, and what its refusals mean.
//
// # Trust
//
// A server is whoever the operator names, and what it answers is hostile: every body is bounded in size and
// silence before anybody parses it. Redirects are not followed, so that a key goes nowhere else. Words
// of a server are kept for the log, shortened and without the key and what they repeat of a request;
// callers are told our own.
//
// # Failure
//
// Everything is an [llm.Error], apart from the end of the caller's context.
package wire

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"
)

// Times of a connection. That of a whole answer is the caller's.
const (
	connectTime   = 10 * time.Second
	handshakeTime = 10 * time.Second
	keptIdle      = 90 * time.Second // connections that nobody uses
	// keptConnections is how many of them are kept. Servers that do not speak HTTP/2 need one for each request under way.
	keptConnections = 32
)

// Bounds of an HTTP client.
const (
	maxHeaderBytes = 64 << 10
	maxBundleBytes = 4 << 20
)

// NewClient returns an HTTP client for servers of models. It trusts the certificates of the system and,
// if caBundle is not empty, those of that PEM file, goes through the proxy that HTTPS_PROXY, HTTP_PROXY
// and NO_PROXY name, and follows no redirects. Its error is for the operator.
func NewClient(caBundle string) (*http.Client, error) {
	t := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            (&net.Dialer{Timeout: connectTime}).DialContext,
		TLSHandshakeTimeout:    handshakeTime,
		IdleConnTimeout:        keptIdle,
		MaxIdleConns:           keptConnections,
		MaxIdleConnsPerHost:    keptConnections,
		MaxResponseHeaderBytes: maxHeaderBytes,
		ForceAttemptHTTP2:      true,
	}
	if caBundle != "" {
		roots, err := withBundle(caBundle)
		if err != nil {
			return nil, err
		}
		t.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	return &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

func withBundle(path string) (*x509.CertPool, error) {
	roots, err := x509.SystemCertPool()
	if err != nil { // a machine without any
		roots = x509.NewCertPool()
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read the certificates: %w", err)
	}
	if info.Size() > maxBundleBytes {
		return nil, fmt.Errorf("read the certificates: %s has more than %d bytes", path, maxBundleBytes)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the certificates: %w", err)
	}
	if !roots.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("read the certificates: %s has none in PEM form", path)
	}
	return roots, nil
}
