package egress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// socketName is what the forwarder of a guest looks for in the folder.
const socketName = "socket"

// A Gate is the way out of one guest. Close it.
type Gate struct {
	proxy    *Proxy
	chat     string
	socket   string // path
	listener *net.UnixListener
	cancel   context.CancelFunc
	group    sync.WaitGroup
	open     atomic.Int64 // connections
	held     atomic.Int64 // connections that the guest did not let go of
	ledger   ledger
}

// Open opens the way out of the guest that has folder mounted, for the chat of that id,
// which is for records alone. There may be one gate in a folder at a time.
func (p *Proxy) Open(folder, chat string) (*Gate, error) {
	dir, err := os.Open(folder)
	if err != nil {
		return nil, fmt.Errorf("way out of a guest: %w", err)
	}
	defer func() { _ = dir.Close() }() // only read from
	socket := filepath.Join(folder, socketName)
	if err := os.Remove(socket); err != nil && !errors.Is(err, os.ErrNotExist) { // a killed server's
		return nil, fmt.Errorf("way out of a guest: %w", err)
	}
	// An address has 107 bytes at most (unix(7)), and folders of data may be deep.
	address := &net.UnixAddr{Name: fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), socketName), Net: "unix"}
	listener, err := net.ListenUnix("unix", address)
	if err != nil {
		return nil, fmt.Errorf("way out of a guest: %w", err)
	}
	listener.SetUnlinkOnClose(false) // that name ends with dir
	// For root in the guest, which is the forwarder: code comes by its port.
	if err := os.Chmod(socket, 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("way out of a guest: %w", err), listener.Close(), os.Remove(socket))
	}
	ctx, cancel := context.WithCancel(context.Background())
	g := &Gate{proxy: p, chat: chat, socket: socket, listener: listener, cancel: cancel}
	g.group.Go(func() { g.accept(ctx) })
	return g, nil
}

// Close ends all connections and removes the socket; the guest can make no others then.
// It waits, at most releaseTime, until the guest has let go of them. A checkpoint ends
// connections too, but without a word to the client in a guest that goes on; so the gate
// is closed before one, while the guest runs, and opened anew after it. An error says that
// the guest did not let go, as one that stands still does not. A second Close does nothing.
func (g *Gate) Close() error {
	err := g.listener.Close()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	if gone := os.Remove(g.socket); !errors.Is(gone, os.ErrNotExist) { // with the guest's folder
		err = errors.Join(err, gone)
	}
	g.cancel()
	g.group.Wait()
	if n := g.held.Load(); n > 0 {
		err = errors.Join(err, fmt.Errorf("way out of a guest: it holds %d connections still", n))
	}
	return err
}

// accept serves connections until the gate closes.
func (g *Gate) accept(ctx context.Context) {
	for {
		conn, err := g.listener.AcceptUnix()
		switch {
		case err == nil:
		case errors.Is(err, net.ErrClosed):
			return
		default: // no descriptors are left, as a rule
			g.proxy.config.Log.Warn("way out of a guest", "chat", g.chat, "error", err)
			if !pause(ctx) {
				return
			}
			continue
		}
		open := g.open.Add(1)
		if open > 2*connectionsPerGuest { // not our forwarder, which has fewer
			_ = conn.Close() // nobody is told
			g.open.Add(-1)
			continue
		}
		g.group.Go(func() {
			defer g.open.Add(-1)
			g.serve(ctx, conn, open > connectionsPerGuest)
		})
	}
}

// acceptPause is how long nothing is accepted after an error.
const acceptPause = 100 * time.Millisecond

func pause(ctx context.Context) bool {
	timer := time.NewTimer(acceptPause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// serve serves one connection to its end; one too many is told so.
func (g *Gate) serve(ctx context.Context, conn *net.UnixConn, tooMany bool) {
	defer g.recovered(ctx, conn)
	began := time.Now()
	record := Record{Chat: g.chat, Decision: Allowed}
	var err error
	if tooMany {
		err = &refusedError{decision: TooMany, status: http.StatusServiceUnavailable,
			sentence: fmt.Sprintf("more than %d connections at once; close some", connectionsPerGuest)}
	} else {
		err = g.handle(ctx, conn, &record)
	}
	refused, isRefused := errors.AsType[*refusedError](err)
	if isRefused {
		record.Decision = refused.decision
		g.refuse(conn, refused)
	}
	if err == nil || isRefused { // else there was no request, or the gate has closed
		record.Duration = time.Since(began)
		g.proxy.report(ctx, record, errors.Unwrap(err), g.ledger.isFull())
	}
	g.release(ctx, conn)
}

// recovered ends the connection alone when serving it has panicked.
func (g *Gate) recovered(ctx context.Context, conn *net.UnixConn) {
	if p := recover(); p != nil {
		g.proxy.config.Log.ErrorContext(ctx, "panic in the way out of a guest", "chat", g.chat, "panic", p, "stack", string(debug.Stack()))
		_ = conn.Close() // nothing more can be said
	}
}

// refuse gives the guest its answer. It fits into the socket's buffer, or nobody reads.
func (g *Gate) refuse(conn *net.UnixConn, refused *refusedError) {
	answer := refused.response()
	if refused.decision == ByServerName {
		answer = unrecognizedName
	}
	if conn.SetWriteDeadline(time.Now().Add(releaseTime)) == nil {
		_, _ = io.WriteString(conn, answer) // whoever has gone is told nothing
	}
}

// release tells the guest that this is the end, waits until it has let go, and closes. A
// guest that stands still does that when it goes on, so only the end of the gate sets a limit.
func (g *Gate) release(ctx context.Context, conn *net.UnixConn) {
	_ = conn.CloseWrite() // fails when the guest has gone
	defer context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })()
	var limit time.Time
	for {
		// An interruption of what was before can come as late as here, so a time-out may be none.
		_ = conn.SetReadDeadline(limit)
		if limit.IsZero() && ctx.Err() != nil {
			limit = time.Now().Add(releaseTime)
			continue
		}
		_, err := io.Copy(io.Discard, conn)
		if !isTimeout(err) {
			break
		}
		if !limit.IsZero() && !time.Now().Before(limit) {
			g.held.Add(1)
			break
		}
	}
	_ = conn.Close() // all is said
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)
	return ok && timeout.Timeout()
}

// handle reads the request, decides and passes bytes on. A refusedError is the answer to
// the guest, unless it has one already; any other error is for nobody.
func (g *Gate) handle(ctx context.Context, conn *net.UnixConn, record *Record) error {
	if err := conn.SetReadDeadline(time.Now().Add(headTime)); err != nil {
		return fmt.Errorf("a connection of a guest: %w", err)
	}
	defer context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })()
	reader := bufio.NewReader(conn)
	head, err := readHead(reader)
	if err != nil {
		return err
	}
	r, err := parseRequest(head, reader)
	if err != nil {
		return err
	}
	record.Host, record.Port = r.target.host, r.target.port
	if !g.proxy.config.Policy.allows(r.target) {
		return &refusedError{decision: ByPolicy, status: http.StatusForbidden,
			sentence: fmt.Sprintf("%v is not among the hosts that code can reach from here; the operator of this server allows more with --egress", r.target)}
	}
	host, err := g.proxy.dial(ctx, r.target)
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("a connection of a guest: %w", ctx.Err()) // whatever came of it
	}
	if err != nil {
		return err
	}
	defer func() { _ = host.Close() }() // all is said
	record.Address, _ = netip.ParseAddrPort(host.RemoteAddr().String())
	if err := conn.SetReadDeadline(time.Time{}); err != nil {
		return fmt.Errorf("a connection of a guest: %w", err)
	}
	if r.connect {
		if _, err := io.WriteString(conn, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
			return nil // the guest has gone, which is no failure
		}
	}
	return g.pass(ctx, r, newFlow(conn, r.in, host), record)
}

// pass lets the flow run, and fills in the record.
func (g *Gate) pass(ctx context.Context, r request, f *flow, record *Record) error {
	defer context.AfterFunc(ctx, f.interrupt)()
	var refused error
	f.run(func() error {
		if !r.connect {
			return f.forward(r.Request)
		}
		opening, err := openingOf(ctx, r.in, r.target)
		if err != nil {
			refused = err
			return err
		}
		return f.tunnel(opening)
	})
	record.Sent, record.Received = f.sent.Load(), f.received.Load()
	if refused == nil && !r.connect && record.Received == 0 && ctx.Err() == nil {
		refused = &refusedError{decision: Unreachable, status: http.StatusBadGateway,
			sentence: fmt.Sprintf("%v ended the connection without an answer", r.target)}
	}
	return refused
}
