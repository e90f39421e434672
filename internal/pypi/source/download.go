package source

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"
)

// Times of an HTTP exchange. The whole of it ends with the caller's context.
const (
	connectTimeout = 15 * time.Second
	headerTimeout  = 30 * time.Second // from the request to the first line of the answer
	stallTimeout   = 30 * time.Second // without a byte
)

// maxRedirects bounds how often an index may send us elsewhere.
const maxRedirects = 5

// What an answer may be.
var (
	ErrTooLarge    = errors.New("larger than allowed")
	ErrUnreachable = errors.New("no answer, or not the whole of it") // for whatever reason: name, connection, certificate
	errStalled     = fmt.Errorf("%w: no byte came for %v", ErrUnreachable, stallTimeout)
	errForeign     = errors.New("it is in none of the folders of wheels")
)

// A StatusError is an answer of an index that is not the file.
type StatusError struct{ Code int }

// Error returns the code with its usual words.
func (e *StatusError) Error() string {
	return fmt.Sprintf("the index answered %d %s", e.Code, http.StatusText(e.Code))
}

// client follows the settings for certificates and proxies. Its
// idle connections close by themselves.
func (s *Sources) client() *http.Client {
	dialer := &net.Dialer{Timeout: connectTimeout}
	return &http.Client{
		Transport: &http.Transport{
			Proxy: s.proxy, DialContext: dialer.DialContext, ForceAttemptHTTP2: true,
			TLSClientConfig:     &tls.Config{RootCAs: s.roots, MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout: connectTimeout, ResponseHeaderTimeout: headerTimeout,
			IdleConnTimeout: stallTimeout, MaxIdleConnsPerHost: 4, MaxResponseHeaderBytes: 1 << 16,
			DisableCompression: true,
		},
		CheckRedirect: s.follow,
	}
}

// follow decides about a redirect. What the standard library has copied of our
// credentials goes, and those of the new origin come.
func (s *Sources) follow(r *http.Request, via []*http.Request) error {
	if len(via) >= maxRedirects {
		return fmt.Errorf("more than %d redirects", maxRedirects)
	}
	if r.URL.Scheme != "https" && (r.URL.Scheme != "http" || via[0].URL.Scheme == "https") {
		return fmt.Errorf("a redirect from %s to %s", via[0].URL.Scheme, r.URL.Scheme)
	}
	s.authorize(r)
	return nil
}

// authorize gives r the credentials of its origin and no others.
func (s *Sources) authorize(r *http.Request) {
	r.Header.Del("Authorization")
	for _, u := range s.origins() {
		if u.User != nil && u.Scheme == r.URL.Scheme && port(u) == port(r.URL) && u.Hostname() == r.URL.Hostname() {
			password, _ := u.User.Password()
			r.SetBasicAuth(u.User.Username(), password)
			return
		}
	}
}

func port(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// A Downloader reads files of the sources. It is safe for concurrent use.
type Downloader struct {
	sources *Sources
	http    *http.Client
}

// Downloader returns a Downloader. Close closes its connections.
func (s *Sources) Downloader() *Downloader { return &Downloader{sources: s, http: s.client()} }

// Close closes the connections that are not in use.
func (d *Downloader) Close() { d.http.CloseIdleConnections() }

// Get copies what is at address, an http, https or file URL, to w and returns how many
// bytes that were. A file must be in one of the folders of wheels. More than most bytes
// are ErrTooLarge; accept is the media type that is wanted, or "".
func (d *Downloader) Get(ctx context.Context, address, accept string, w io.Writer, most int64) (int64, error) {
	u, err := url.Parse(address)
	if err != nil {
		return 0, errors.New("the address of a file is no URL")
	}
	if u.Scheme == "file" {
		return d.sources.copyFile(u.Path, w, most)
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return 0, fmt.Errorf("files are not fetched by %q", u.Scheme)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	u.User, u.Fragment = nil, "" // only the operator's credentials are used
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return 0, err
	}
	if accept != "" {
		r.Header.Set("Accept", accept)
	}
	r.Header.Set("User-Agent", "runpython")
	d.sources.authorize(r)
	answer, err := d.http.Do(r)
	if err != nil {
		if inner, ok := errors.AsType[*url.Error](err); ok {
			err = inner.Err // without the URL
		}
		if ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
		return 0, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return 0, &StatusError{Code: answer.StatusCode}
	}
	if answer.ContentLength > most {
		return 0, ErrTooLarge
	}
	idle := time.AfterFunc(stallTimeout, func() { cancel(errStalled) })
	defer idle.Stop()
	n, err := CopyBounded(w, &watched{answer.Body, idle}, most)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	return n, err
}

// watched is a body whose every read puts the alarm off.
type watched struct {
	io.Reader
	idle *time.Timer
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if n > 0 {
		w.idle.Reset(stallTimeout)
	}
	if err != nil && err != io.EOF { //nolint:errorlint // what a Reader returns itself at its end
		err = fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return n, err
}

// copyFile copies a wheel of a folder.
func (s *Sources) copyFile(name string, w io.Writer, most int64) (int64, error) {
	for _, dir := range s.Folders() {
		if filepath.Dir(filepath.Clean(name)) != dir {
			continue
		}
		f, err := os.Open(filepath.Join(dir, filepath.Base(name)))
		if err != nil {
			return 0, err
		}
		defer f.Close()
		return CopyBounded(w, f, most)
	}
	return 0, errForeign
}

// CopyBounded copies r to w and returns how many bytes that were. More than most bytes are ErrTooLarge.
func CopyBounded(w io.Writer, r io.Reader, most int64) (int64, error) {
	n, err := io.Copy(w, io.LimitReader(r, most+1))
	if err == nil && n > most {
		err = ErrTooLarge
	}
	return n, err
}
