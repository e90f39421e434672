package oauth

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/singleflight"
)

// Bounds of what is fetched for a client.
const (
	fetchTime       = 5 * time.Second
	headerBytes     = 16 << 10
	documentBytes   = 5 << 10 // draft-ietf-oauth-client-id-metadata-document, 6.6
	keysBytes       = 16 << 10
	cachedDocuments = 1000
	cachedLeast     = 5 * time.Minute
	cachedMost      = 24 * time.Hour
)

// A Fetcher reads the JSON documents that clients name: metadata and keys. It connects to addresses that Reachable allows and
// to the Hosts, and to nothing else, whatever a name resolves to, through no proxy; it follows no redirect, has no cookies, takes status 200
// only, and bounds time and size. Documents are kept as long as their headers say, 5 minutes to 24 hours; failures are not.
// It is safe for concurrent use.
type Fetcher struct {
	client  *http.Client
	now     func() time.Time
	flights singleflight.Group

	mu   sync.Mutex
	kept map[string]keptDocument
}

type keptDocument struct {
	content []byte
	until   time.Time
}

// FetcherOptions say how a Fetcher reaches others. Reachable is required.
type FetcherOptions struct {
	Reachable func(netip.Addr) bool // asked for each address that is about to be dialed
	Hosts     []string              // host:port in lower case that may have any address: the operator says so
	TLS       *tls.Config           // nil means that of the system
	Now       func() time.Time      // nil means time.Now
}

var (
	// errNotReachable is why no connection is made.
	errNotReachable = errors.New("the address is not one of the internet")
	// errAway is why a document may be there later.
	errAway = errors.New("there is no answer now")
)

// NewFetcher returns a Fetcher with an empty cache.
func NewFetcher(o FetcherOptions) *Fetcher {
	if o.Now == nil {
		o.Now = time.Now
	}
	anywhere := &net.Dialer{Timeout: fetchTime}
	guarded := &net.Dialer{Timeout: fetchTime, ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		to, err := netip.ParseAddrPort(address)
		if err != nil || !o.Reachable(to.Addr()) {
			return errNotReachable
		}
		return nil
	}}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		if slices.Contains(o.Hosts, strings.ToLower(address)) {
			return anywhere.DialContext(ctx, network, address)
		}
		return guarded.DialContext(ctx, network, address)
	}
	return &Fetcher{
		now: o.Now, kept: make(map[string]keptDocument),
		client: &http.Client{
			Timeout:       fetchTime,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport: &http.Transport{
				DialContext: dial, TLSClientConfig: o.TLS, TLSHandshakeTimeout: fetchTime, ResponseHeaderTimeout: fetchTime,
				MaxResponseHeaderBytes: headerBytes, DisableKeepAlives: true, DisableCompression: true, ForceAttemptHTTP2: true,
			},
		},
	}
}

// cached returns a document that was fetched not too long ago.
func (f *Fetcher) cached(url string) ([]byte, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	d, ok := f.kept[url]
	return d.content, ok && f.now().Before(d.until)
}

// fetch returns a document of at most so many bytes. Those who want the same at the same time wait for one request.
func (f *Fetcher) fetch(ctx context.Context, url string, most int64) ([]byte, error) {
	result := f.flights.DoChan(url, func() (any, error) {
		if content, ok := f.cached(url); ok { // another flight has just ended
			return content, nil
		}
		// It goes on when the first one who asked has left: others may wait.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), fetchTime)
		defer cancel()
		content, keep, err := f.get(ctx, url, most)
		if err == nil {
			f.keep(url, content, keep)
		}
		return content, err
	})
	select {
	case r := <-result:
		content, _ := r.Val.([]byte)
		return content, r.Err //nolint:wrapcheck // get does
	case <-ctx.Done():
		return nil, fmt.Errorf("fetch a document: %w: %w", errAway, context.Cause(ctx))
	}
}

func (f *Fetcher) get(ctx context.Context, url string, most int64) (content []byte, keep time.Duration, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return nil, 0, fmt.Errorf("fetch a document: %w", err)
	}
	r.Header.Set("Accept", "application/json")
	r.Header.Set("User-Agent", "runpython")
	res, err := f.client.Do(r)
	if errors.Is(err, errNotReachable) {
		return nil, 0, fmt.Errorf("fetch a document: %w", err)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("fetch a document: %w: %w", errAway, err)
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	if res.StatusCode >= http.StatusInternalServerError || res.StatusCode == http.StatusTooManyRequests {
		return nil, 0, fmt.Errorf("fetch a document: %w: status %d", errAway, res.StatusCode)
	}
	if res.StatusCode != http.StatusOK {
		return nil, 0, fmt.Errorf("fetch a document: status %d instead of 200", res.StatusCode)
	}
	kind, _, err := mime.ParseMediaType(res.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" && !(strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json")) {
		return nil, 0, errors.New("fetch a document: it is not application/json")
	}
	content, err = io.ReadAll(io.LimitReader(res.Body, most+1))
	switch {
	case err != nil:
		return nil, 0, fmt.Errorf("fetch a document: %w: %w", errAway, err)
	case int64(len(content)) > most:
		return nil, 0, fmt.Errorf("fetch a document: it has more than %d bytes", most)
	}
	return content, f.freshness(res.Header), nil
}

// freshness returns how long an answer may be kept (RFC 9111, 4.2.1), within bounds.
func (f *Fetcher) freshness(h http.Header) time.Duration {
	var keep time.Duration
	if at, err := http.ParseTime(h.Get("Expires")); err == nil {
		keep = at.Sub(f.now())
	}
	for directive := range strings.SplitSeq(strings.ToLower(h.Get("Cache-Control")), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
		switch name {
		case "no-store", "no-cache":
			return cachedLeast
		case "max-age":
			if n, err := strconv.ParseInt(strings.Trim(value, `"`), 10, 32); err == nil {
				keep = time.Duration(n) * time.Second
			}
		}
	}
	return min(max(keep, cachedLeast), cachedMost)
}

// keep puts a document into the cache. When that is full, one of those goes that end first.
func (f *Fetcher) keep(url string, content []byte, keep time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, there := f.kept[url]; !there && len(f.kept) >= cachedDocuments {
		first := ""
		for u, d := range f.kept {
			if first == "" || d.until.Before(f.kept[first].until) {
				first = u
			}
		}
		delete(f.kept, first)
	}
	f.kept[url] = keptDocument{content: content, until: f.now().Add(keep)}
}
