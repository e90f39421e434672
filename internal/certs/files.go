package certs

import (
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
	stamp, err := p.look()
	if err != nil {
		return nil, fmt.Errorf("look at the files of TLS: %w", err)
	}
	loaded, err := p.load()
	if err != nil {
		return nil, err
	}
	p.current, p.stamp = loaded, stamp
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
	stamp   stamp // of the files that were read last, also if they could not be used
}

// A stamp changes when one of the files does. Of a file that is not there it is zero.
type stamp [2]struct {
	changed time.Time
	size    int64
}

func (p *pair) look() (s stamp, err error) {
	for i, name := range []string{p.certificate, p.key} {
		info, statErr := os.Stat(name)
		if statErr != nil {
			err = errors.Join(err, statErr)
			continue
		}
		s[i].changed, s[i].size = info.ModTime(), info.Size()
	}
	return s, err
}

func (p *pair) load() (*tls.Certificate, error) {
	c, err := tls.LoadX509KeyPair(p.certificate, p.key)
	if err != nil {
		return nil, fmt.Errorf("read the certificate %s and its key: %w", p.certificate, err)
	}
	return &c, nil
}

// get implements tls.Config.GetCertificate.
func (p *pair) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, err := p.look()
	if now == p.stamp { // also of a file that is gone, which was told
		return p.current, nil
	}
	p.stamp = now
	var fresh *tls.Certificate
	if err == nil {
		fresh, err = p.load()
	}
	if err != nil {
		p.log.Error("the changed certificate cannot be used; the one before stays", "error", err)
		return p.current, nil
	}
	p.current = fresh
	p.log.Info("the certificate was read again", "until", fresh.Leaf.NotAfter)
	return p.current, nil
}
