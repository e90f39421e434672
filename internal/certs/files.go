package certs

import (
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"time"
)

// Files returns the certificate of a file, with its chain, and the key of another, both PEM. Each handshake looks
// whether one of them has changed; a pair that cannot be used leaves the one before, and is told of once.
func Files(certificate, key string, log *slog.Logger) (*Certificates, error) {
	p := &pair{certificate: certificate, key: key, log: log}
	if err := p.refresh(); err != nil {
		return nil, err
	}
	return &Certificates{
		get:        p.get,
		challenges: func(next http.Handler) http.Handler { return next },
		manage:     func() error { return nil },
		close:      func() {},
	}, nil
}

// A pair is a certificate and its key in files.
type pair struct {
	certificate, key string
	log              *slog.Logger

	mu      sync.Mutex // guards what follows, and that one reads at a time
	current *tls.Certificate
	seen    [2]stamp // of the files that were read last, also if they could not be used
	settled bool     // seen changes with every later change of the files
	read    [2][sha256.Size]byte
}

// A stamp changes when a file does, but for a change within a tick of the clock of the file system. Of a file that is
// not there it is zero.
type stamp struct {
	changed time.Time
	size    int64
}

// settling is longer than a tick of the clock of any file system: those of FAT last two seconds.
const settling = 3 * time.Second

// look tells whether the files may have changed since they were read.
func (p *pair) look() bool {
	now := time.Now()
	before, settled := p.seen, p.settled
	p.settled = true
	for i, name := range []string{p.certificate, p.key} {
		p.seen[i] = stamp{}
		if info, err := os.Stat(name); err == nil { // load tells of an error
			p.seen[i] = stamp{info.ModTime(), info.Size()}
			p.settled = p.settled && now.Sub(info.ModTime()) > settling
		}
	}
	return !settled || p.seen != before
}

// load reads the files; changed is false when they are as they were.
func (p *pair) load() (changed bool, err error) {
	var texts [2][]byte
	var digests [2][sha256.Size]byte
	for i, name := range []string{p.certificate, p.key} {
		text, readErr := os.ReadFile(name)
		err = errors.Join(err, readErr)
		texts[i], digests[i] = text, sha256.Sum256(text)
	}
	if digests == p.read {
		return false, nil
	}
	p.read = digests
	if err != nil {
		return true, fmt.Errorf("read the files of TLS: %w", err)
	}
	c, err := tls.X509KeyPair(texts[0], texts[1])
	if err != nil {
		return true, fmt.Errorf("read the certificate %s and its key: %w", p.certificate, err)
	}
	p.current = &c
	return true, nil
}

// refresh reads the files if they may have changed. An error leaves the pair that was read before, and is returned once.
func (p *pair) refresh() error {
	if !p.look() {
		return nil
	}
	changed, err := p.load()
	if changed && err == nil {
		p.log.Info("the certificate was read", "until", p.current.Leaf.NotAfter)
	}
	return err
}

// get implements tls.Config.GetCertificate.
func (p *pair) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.refresh(); err != nil {
		p.log.Error("the changed certificate cannot be used; the one before stays", "error", err)
	}
	return p.current, nil
}
