package probe

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"runpython/internal/address"
	"runpython/internal/fault"
)

// What a scan takes of others, and asks of them, at most.
const (
	requestsAtOnce   = 4
	requestTime      = 10 * time.Second
	connectTime      = 5 * time.Second
	addressesTried   = 4
	redirectsTaken   = 3
	maxBodyBytes     = 4 << 20   // of one answer of the endpoint
	maxDocumentBytes = 256 << 10 // of one document of metadata
	maxHeaderBytes   = 64 << 10
	maxScanBytes     = 64 << 20 // of all bodies together
)

// Why nothing was asked.
var (
	errPrivate  = errors.New("its address is not public, and only the target's own may be so (--allow-private allows others)")
	errTooLarge = errors.New("the answers of the scan are larger than it reads")
)

// A client makes all requests of one scan. It is safe for concurrent use.
type client struct {
	target  Target
	options Options
	own     []netip.Addr  // of the target
	slots   chan struct{} // one for each request under way
	left    atomic.Int64  // of maxScanBytes

	verified *http.Transport
	lenient  *http.Transport // takes any certificate; nothing secret is sent through it
}

// newClient returns a client for a target whose addresses are known. The caller closes it.
func newClient(ctx context.Context, target Target, o Options) (*client, error) {
	c := &client{target: target, options: o, slots: make(chan struct{}, requestsAtOnce)}
	c.left.Store(maxScanBytes)
	own, err := c.lookup(ctx, target.Host())
	if err != nil {
		return nil, fault.New(fault.NotFound, err, target.Host()+" has no address: "+reason(err))
	}
	c.own = own
	c.verified = c.newTransport(&tls.Config{RootCAs: o.Roots, Time: func() time.Time { return o.Now }, MinVersion: tls.VersionTLS12})
	c.lenient = c.newTransport(&tls.Config{
		InsecureSkipVerify: true, //nolint:gosec // what a server with a bad certificate does is a finding too
		MinVersion:         tls.VersionTLS10,
		CipherSuites:       everySuite(),
	})
	return c, nil
}

// newTransport returns one for HTTP/1.1, which every endpoint speaks.
func (c *client) newTransport(config *tls.Config) *http.Transport {
	return &http.Transport{
		DialContext:            c.dial,
		TLSClientConfig:        config,
		TLSHandshakeTimeout:    connectTime,
		DisableCompression:     true, // a bound of what is read is one of what comes
		MaxResponseHeaderBytes: maxHeaderBytes,
		MaxConnsPerHost:        2 * requestsAtOnce,
		IdleConnTimeout:        requestTime,
	}
}

func (c *client) close() {
	c.verified.CloseIdleConnections()
	c.lenient.CloseIdleConnections()
}

// lookup returns the addresses of a host, a few at most.
func (c *client) lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if addr, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{addr.Unmap()}, nil
	}
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	found, err := c.options.Network.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, fmt.Errorf("look up %s: %w", host, err)
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("look up %s: no address", host)
	}
	found = slices.Clone(found[:min(len(found), addressesTried)])
	for i := range found {
		found[i] = found[i].Unmap()
	}
	return found, nil
}

// dial connects to a host at an address that was looked at: the very one, so that a name cannot lead elsewhere a
// moment later.
func (c *client) dial(ctx context.Context, network, hostport string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(hostport)
	if err != nil {
		return nil, fmt.Errorf("connect to %q: %w", hostport, err)
	}
	addresses := c.own
	if !strings.EqualFold(strings.TrimSuffix(host, "."), c.target.Host()) {
		if addresses, err = c.lookup(ctx, host); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	err = errPrivate
	for _, addr := range addresses {
		if !c.may(addr) {
			continue
		}
		conn, failed := c.options.Network.DialContext(ctx, network, join(addr, port))
		if failed == nil {
			return conn, nil
		}
		err = failed
	}
	return nil, fmt.Errorf("connect to %s: %w", hostport, err)
}

func (c *client) may(addr netip.Addr) bool {
	return c.options.AllowPrivate || address.IsPublic(addr) || slices.Contains(c.own, addr)
}

// A request is one that the client makes.
type request struct {
	method  string
	url     string
	header  http.Header
	body    string
	most    int64 // bytes that are read of the answer
	secrets bool  // send the headers of Options, if it goes to the target
	stays   bool  // redirects are what is asked for
}

// An answer is what came.
type answer struct {
	url    string // after redirects
	status int
	header http.Header
	body   []byte // of most bytes
	cut    bool   // there was more
}

// do makes a request, follows redirects on its host, and reads the answer.
func (c *client) do(ctx context.Context, r request) (*answer, error) {
	var a *answer
	err := c.exchange(ctx, r, func(url string, resp *http.Response) error {
		a = &answer{url: url, status: resp.StatusCode, header: resp.Header}
		body, err := io.ReadAll(c.limited(resp.Body, r.most+1))
		if int64(len(body)) > r.most {
			body, a.cut = body[:r.most], true
		}
		a.body = body
		return err
	})
	if err != nil {
		return nil, err
	}
	return a, nil
}

// exchange makes a request and hands its answer to read, which must not keep it. It takes one of the slots until
// read is done.
func (c *client) exchange(ctx context.Context, r request, read func(url string, resp *http.Response) error) error {
	select {
	case c.slots <- struct{}{}:
		defer func() { <-c.slots }()
	case <-ctx.Done():
		return fmt.Errorf("ask %s: %w", r.url, context.Cause(ctx))
	}
	ctx, cancel := context.WithTimeout(ctx, requestTime)
	defer cancel()
	for range redirectsTaken + 1 {
		resp, err := c.send(ctx, r)
		if err != nil {
			return err
		}
		next := redirect(r, resp)
		if next == "" {
			err = read(r.url, resp)
			return errors.Join(err, resp.Body.Close())
		}
		if err := resp.Body.Close(); err != nil {
			return fmt.Errorf("ask %s: %w", r.url, err)
		}
		r.url = next
	}
	return fmt.Errorf("ask %s: more than %d redirects", r.url, redirectsTaken)
}

// send makes one request. The caller closes the body of the answer.
func (c *client) send(ctx context.Context, r request) (*http.Response, error) {
	q, err := http.NewRequestWithContext(ctx, r.method, r.url, strings.NewReader(r.body))
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", r.url, err)
	}
	transport := c.verified
	ours := c.target.isOrigin(q.URL)
	secrets := ours && r.secrets && len(c.options.Headers) > 0
	if ours && !secrets {
		transport = c.lenient
	}
	if secrets {
		for name, values := range c.options.Headers {
			q.Header[name] = slices.Clone(values)
		}
	}
	for name, values := range r.header {
		q.Header[name] = slices.Clone(values)
	}
	q.Header.Set("User-Agent", c.options.Agent)
	resp, err := transport.RoundTrip(q)
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", r.url, err)
	}
	return resp, nil
}

// redirect returns where the answer sends the request, if it may go there: to the same scheme, host and port, and with
// its method and body only where the status keeps them (RFC 9110, 15.4).
func redirect(r request, resp *http.Response) string {
	keeps := resp.StatusCode == http.StatusTemporaryRedirect || resp.StatusCode == http.StatusPermanentRedirect
	gets := r.method == http.MethodGet && (resp.StatusCode == http.StatusMovedPermanently || resp.StatusCode == http.StatusFound)
	if r.stays || !keeps && !gets {
		return ""
	}
	from, err := url.Parse(r.url)
	if err != nil {
		return ""
	}
	to, err := from.Parse(resp.Header.Get("Location"))
	if err != nil || !(Target{*from}).isOrigin(to) || to.User != nil {
		return ""
	}
	return to.String()
}

// limited reads at most n bytes, and none beyond those that the scan may read.
func (c *client) limited(r io.Reader, n int64) io.Reader {
	return io.LimitReader(&metered{r, &c.left}, n)
}

// A metered reader takes what it reads from what is left.
type metered struct {
	r    io.Reader
	left *atomic.Int64
}

// Read implements io.Reader.
func (m *metered) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	if m.left.Add(-int64(n)) < 0 {
		return n, errTooLarge
	}
	return n, err //nolint:wrapcheck // it is an io.Reader
}

// reason says why something could not be asked, in few words and without the request.
func reason(err error) string {
	var dns *net.DNSError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return "there is no such name"
	case errors.As(err, &dns):
		return "DNS does not answer"
	case errors.Is(err, errPrivate):
		return errPrivate.Error()
	case errors.Is(err, errTooLarge):
		return errTooLarge.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return "no answer in time"
	case errors.Is(err, context.Canceled):
		return "stopped"
	}
	return inner(err)
}

// inner returns the last cause of err.
func inner(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		err = next
	}
}
