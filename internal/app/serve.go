package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"runpython/internal/about"
	"runpython/internal/audit"
)

const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	headerBytes   = 64 << 10
	// drainTimeout bounds what calls in flight have to end when the server stops.
	drainTimeout = 10 * time.Second
)

// Serve serves MCP over HTTP, and health and metrics on the admin address if
// there is one, until ctx ends; then it ends calls in flight and returns. ready is
// called once all addresses listen, with their URLs; admin is "" when there is none.
func (a *App) Serve(ctx context.Context, ready func(mcpURL, adminURL string)) (err error) {
	var servers []*served
	defer func() { err = errors.Join(err, closeUnserved(servers)) }()
	add := func(address string) (*served, error) {
		listener, err := listen(ctx, address)
		if err != nil {
			return nil, err
		}
		servers = append(servers, &served{listener: listener})
		return servers[len(servers)-1], nil
	}
	public, err := add(a.config.Listen)
	if err != nil {
		return err
	}
	mcpURL := a.urlOf(public.listener)
	front := a.front(a.site(mcpURL, public.listener))
	public.server, public.listener = a.newServer(front), a.bound(public.listener)
	adminURL := ""
	if a.config.AdminListen != "" {
		admin, err := add(a.config.AdminListen)
		if err != nil {
			return err
		}
		admin.server = a.newServer(a.adminHandler())
		adminURL = "http://" + admin.listener.Addr().String()
	}
	if a.config.TLS() {
		end, err := a.speakTLS(ctx, public, add)
		if err != nil {
			return err
		}
		defer end()
	}
	a.audit.record(ctx, audit.Event{Kind: audit.Started, Object: a.version})
	defer a.audit.record(context.WithoutCancel(ctx), audit.Event{Kind: audit.Stopped, Object: a.version})
	group, ctx := errgroup.WithContext(ctx)
	for _, s := range servers {
		s.begun = true
		group.Go(s.run)
	}
	group.Go(func() error {
		<-ctx.Done()
		return a.drain(context.WithoutCancel(ctx), servers)
	})
	ready(mcpURL, adminURL)
	return group.Wait() //nolint:wrapcheck // wrapped by run and drain
}

// site is what callers find: the endpoint, and pages beside it that name its URL to whoever came by loopback.
func (a *App) site(mcpURL string, l net.Listener) http.Handler {
	mux := http.NewServeMux()
	endpoint := a.metrics.Count("mcp", a.mcp.Handler())
	mux.Handle("/", endpoint)
	local := ""
	if isLoopback(l) {
		local = mcpURL
	}
	public := ""
	if a.config.PublicURL != "" {
		local, public = mcpURL, mcpURL
	}
	pages := a.metrics.Count("page", a.mcp.Pages(about.Pages(local), about.Pages(public)))
	mux.Handle(about.CardPath, pages)
	mux.Handle(about.LLMsPath, pages)
	a.access.mount(mux, a.mcp, a.metrics)
	return exactPaths(mux, endpoint)
}

// closeUnserved closes the listeners of servers that never were to run.
func closeUnserved(servers []*served) (err error) {
	for _, s := range servers {
		if !s.begun {
			err = errors.Join(err, s.listener.Close())
		}
	}
	return err
}

// urlOf returns the URL of the endpoint under the public URL, else under the first name of the server, else at the address
// that is listened on.
func (a *App) urlOf(l net.Listener) string {
	if a.config.PublicURL != "" {
		return a.config.PublicURL + endpointPath
	}
	scheme, host := "http", l.Addr().String()
	if a.config.TLS() {
		scheme = "https"
	}
	if len(a.config.Domains) > 0 {
		host = a.config.Domains[0]
		if port := portOf(l); port != httpsPort {
			host += ":" + strconv.Itoa(port)
		}
	}
	return scheme + "://" + host + endpointPath
}

// isLoopback reports whether an address leads to this machine alone: that of another one tells of the operator's
// network and may lead nowhere.
func isLoopback(l net.Listener) bool {
	a, ok := l.Addr().(*net.TCPAddr)
	return ok && a.IP.IsLoopback()
}

// drain lets calls in flight end, and then closes the connections. Meanwhile /readyz says
// that no more should be sent here.
func (a *App) drain(ctx context.Context, servers []*served) error {
	a.draining.Store(true)
	ctx, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	if err := a.mcp.Shutdown(ctx); err != nil {
		a.log.Warn("calls in flight were ended", "error", err)
	}
	var all error
	for _, s := range servers {
		if err := s.server.Shutdown(ctx); err != nil {
			all = errors.Join(all, s.server.Close())
		}
	}
	return all
}

// served is a server and the address that it listens on. It speaks TLS if its server has a TLSConfig.
type served struct {
	server   *http.Server
	listener net.Listener
	begun    bool
}

func (s *served) run() error {
	serve := s.server.Serve
	if s.server.TLSConfig != nil {
		serve = func(l net.Listener) error { return s.server.ServeTLS(l, "", "") }
	}
	if err := serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve %s: %w", s.listener.Addr(), err)
	}
	return nil
}

// newServer bounds what a connection may take before a handler sees it. There is no
// bound on the time of an answer: a run may take as long as its own limit. What the server
// itself has to say, such as of a panic, goes to the log of the program.
func (a *App) newServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: headerBytes,
		ErrorLog: slog.NewLogLogger(serverLog{a.log.Handler()}, slog.LevelWarn),
	}
}

// serverLog takes what an http.Server has to say. Handshakes that fail are a detail: everybody on the internet may
// send what is none.
type serverLog struct{ slog.Handler }

// Handle implements slog.Handler.
func (l serverLog) Handle(ctx context.Context, r slog.Record) error {
	if strings.HasPrefix(r.Message, "http: TLS handshake error") {
		r.Level = slog.LevelDebug
	}
	if !l.Enabled(ctx, r.Level) {
		return nil
	}
	return l.Handler.Handle(ctx, r) //nolint:wrapcheck // the same contract
}

func listen(ctx context.Context, address string) (net.Listener, error) {
	var c net.ListenConfig
	network := "tcp"
	if host, _, err := net.SplitHostPort(address); err == nil && net.ParseIP(host).To4() != nil {
		network = "tcp4" // an IPv4 address means no IPv6, also when it is 0.0.0.0
	}
	l, err := c.Listen(ctx, network, address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	return l, nil
}
