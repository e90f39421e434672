package certs

import (
	"context"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"time"

	"github.com/caddyserver/certmagic"
	"go.uber.org/zap"
)

// An Order says for which names certificates are wanted, and from whom.
type Order struct {
	Names  []string
	Folder string // where account, keys and certificates are kept; other processes may share it
	URL    string // directory of the ACME server; "" for Let's Encrypt
	Email  string // that the server may write to, "" for none
	CA     string // PEM file of certificates by which the server is trusted, "" for the system's
	Agreed bool   // to the terms of the server

	TLSPort  int // of the listener for callers, which answers tls-alpn-01 (RFC 8737)
	HTTPPort int // of that for plain HTTP, which answers http-01; 0 for none

	Log *slog.Logger
}

// obtainTime bounds one try for a certificate.
const obtainTime = 2 * time.Minute

// ACME returns certificates of an ACME server. Those that are in the folder already are used at once. The end of ctx changes
// nothing: Close is what ends them.
func ACME(ctx context.Context, o Order) (*Certificates, error) {
	roots, err := rootsOf(o.CA)
	if err != nil {
		return nil, err
	}
	url := o.URL
	if url == "" {
		url = certmagic.LetsEncryptProductionCA
	}
	log := zap.New(&bridge{log: o.Log})
	var config *certmagic.Config
	cache := certmagic.NewCache(certmagic.CacheOptions{
		GetConfigForCert: func(certmagic.Certificate) (*certmagic.Config, error) { return config, nil },
		Logger:           log,
	})
	config = certmagic.New(cache, certmagic.Config{
		Storage: &certmagic.FileStorage{Path: o.Folder}, Logger: log, OnEvent: tellEvents(o.Log),
	})
	issuer := certmagic.NewACMEIssuer(config, certmagic.ACMEIssuer{
		CA: url, TestCA: url, Email: o.Email, Agreed: o.Agreed, TrustedRoots: roots, CertObtainTimeout: obtainTime,
		AltTLSALPNPort: o.TLSPort, AltHTTPPort: o.HTTPPort, DisableHTTPChallenge: o.HTTPPort == 0, Logger: log,
	})
	config.Issuers = []certmagic.Issuer{issuer}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	return &Certificates{
		get:        config.GetCertificate,
		protocols:  config.TLSConfig().NextProtos,
		challenges: func(next http.Handler) http.Handler { return issuer.HTTPChallengeHandler(next) },
		manage: func() error {
			if err := config.ManageAsync(ctx, o.Names); err != nil {
				return fmt.Errorf("manage certificates: %w", err)
			}
			return nil
		},
		close: func() { cancel(); cache.Stop() },
	}, nil
}

// rootsOf reads the certificates by which the server is trusted, nil for the system's.
func rootsOf(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil //nolint:nilnil // documented
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the certificates of the ACME server: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("read the certificates of the ACME server: %s has none in PEM", file)
	}
	return pool, nil
}

// tellEvents writes what becomes of certificates to the log.
func tellEvents(log *slog.Logger) func(context.Context, string, map[string]any) error {
	return func(ctx context.Context, event string, data map[string]any) error {
		switch event {
		case "cert_obtained":
			log.InfoContext(ctx, "a certificate was obtained", "name", data["identifier"], "renewal", data["renewal"])
		case "cert_failed":
			log.ErrorContext(ctx, "a certificate could not be obtained; it is tried again", "name", data["identifier"], "error", data["error"])
		}
		return nil
	}
}
