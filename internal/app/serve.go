package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"runpython/internal/about"
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
// called once both addresses listen, with their URLs; admin is "" when there is none.
func (a *App) Serve(ctx context.Context, ready func(mcpURL, adminURL string)) error {
	listener, err := listen(ctx, a.config.Listen)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/", a.mcp.Handler())
	local, public := shownURL(listener), ""
	if a.config.PublicURL != "" {
		local, public = a.config.PublicURL+endpointPath, a.config.PublicURL+endpointPath
	}
	pages := a.mcp.Pages(about.Pages(local), about.Pages(public))
	mux.Handle(about.CardPath, pages)
	mux.Handle(about.LLMsPath, pages)
	a.access.mount(mux, a.mcp)
	servers := []*served{{server: a.newServer(exactPaths(mux, a.mcp.Handler())), listener: listener}}
	adminURL := ""
	if a.config.AdminListen != "" {
		admin, err := listen(ctx, a.config.AdminListen)
		if err != nil {
			return errors.Join(err, listener.Close())
		}
		servers = append(servers, &served{server: a.newServer(a.adminHandler()), listener: admin})
		adminURL = "http://" + admin.Addr().String()
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, s := range servers {
		group.Go(s.run)
	}
	group.Go(func() error {
		<-ctx.Done()
		return a.drain(context.WithoutCancel(ctx), servers)
	})
	ready(urlOf(listener), adminURL)
	return group.Wait() //nolint:wrapcheck // wrapped by run and drain
}

// urlOf returns the URL of the endpoint at the address that is listened on.
func urlOf(l net.Listener) string { return "http://" + l.Addr().String() + "/mcp" }

// shownURL is urlOf as far as whoever came by loopback can use it: that of another
// address than loopback tells of the operator's network and may lead nowhere.
func shownURL(l net.Listener) string {
	if a, ok := l.Addr().(*net.TCPAddr); ok && a.IP.IsLoopback() {
		return urlOf(l)
	}
	return ""
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

// served is a server and the address that it listens on.
type served struct {
	server   *http.Server
	listener net.Listener
}

func (s *served) run() error {
	if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
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
		ErrorLog: slog.NewLogLogger(a.log.Handler(), slog.LevelWarn),
	}
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
