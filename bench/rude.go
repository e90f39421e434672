package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// openMost is how many connections are kept open, openEvery how often one more comes.
	openMost  = 1000
	openEvery = 20 * time.Millisecond
	// garbageSeed makes the garbage the same each time.
	garbageSeed = 7
	// garbageBytes is the size of pieces of noise.
	garbageBytes = 3000
	// hugeBytes is more than a message may have.
	hugeBytes = 5 << 20
	// deepLevels is how deep lists are nested.
	deepLevels = 10_000
)

// rude is who does what nobody should: one client sends garbage as fast as it is refused, another opens connections and
// never closes them. Stop and close it.
type rude struct {
	url, address, token string

	sent, opened atomic.Int64
	cancel       context.CancelFunc
	both         sync.WaitGroup
	failures     [2]error
	held         []net.Conn
}

// beRude lets both be.
func (s *server) beRude(ctx context.Context, token string) *rude {
	ctx, cancel := context.WithCancel(ctx)
	address := strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/mcp")
	r := &rude{url: "http://" + address, address: address, token: token, cancel: cancel}
	r.both.Go(func() { r.failures[0] = r.sendGarbage(ctx) })
	r.both.Go(func() { r.failures[1] = r.openAlways(ctx) })
	return r
}

// stop ends what both do and returns what the server did that it must not. The connections stay open.
func (r *rude) stop() error {
	r.cancel()
	r.both.Wait()
	return errors.Join(r.failures[:]...)
}

// close closes the connections as well.
func (r *rude) close() error {
	err := r.stop()
	for _, c := range r.held {
		_ = c.Close() // the server may have done it
	}
	r.held = nil
	return err
}

// A piece is a request that is garbage.
type piece struct {
	method, path, kind, token, body string
}

// pieces are those that are HTTP. noise makes some more each time.
func (r *rude) pieces(noise func() string) []piece {
	const json, form = "application/json", "application/x-www-form-urlencoded"
	call := func(arguments string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"chat","arguments":` + arguments + `}}`
	}
	return []piece{
		{"POST", "/mcp", json, "", noise()},
		{"POST", "/mcp", json, noise(), call(`{"message":"1"}`)},
		{"POST", "/mcp", json, "rp_at_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", call(`{"message":"1"}`)},
		{"POST", "/mcp", json, r.token, noise()},
		{"POST", "/mcp", json, r.token, `{"jsonrpc":"2.0","id":{},"method":7}`},
		{"POST", "/mcp", json, r.token, strings.Repeat("[", deepLevels)},
		{"POST", "/mcp", json, r.token, strings.Repeat(" ", hugeBytes)},
		{"POST", "/mcp", "text/plain", r.token, call(`{"message":"1"}`)},
		{"GET", "/mcp", "", r.token, ""},
		{"DELETE", "/mcp", "", noise(), ""},
		{"PATCH", "/../mcp/%2e%2e", "", "", noise()},
		{"POST", "/token", form, "", "grant_type=authorization_code&client_id=x&code=" + noise()},
		{"POST", "/token", form, "", noise()},
		{"POST", "/register", json, "", noise()},
		{"POST", "/register", json, "", `{"redirect_uris":["javascript:alert(1)"]}`},
		{"GET", "/authorize?client_id=https://127.0.0.1/x", "", "", ""},
		{"POST", "/login", form, "", "username=a&password=b&csrf=c"},
		{"POST", "/revoke", form, "", "token=x"},
	}
}

// sendGarbage sends until ctx ends. An answer with a status of 500 and above is an error: nothing that a client sends is
// the server's failure.
func (r *rude) sendGarbage(ctx context.Context) error {
	random := rand.New(rand.NewPCG(garbageSeed, garbageSeed))
	noise := func() string {
		b := make([]byte, 1+random.IntN(garbageBytes))
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		return string(b)
	}
	web := &http.Client{
		Timeout: callLimit, Transport: &http.Transport{},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	defer web.CloseIdleConnections()
	for ctx.Err() == nil {
		for _, p := range r.pieces(noise) {
			status, err := r.send(ctx, web, p)
			if err != nil && ctx.Err() == nil {
				return err
			}
			r.sent.Add(1)
			if status >= http.StatusInternalServerError {
				return fmt.Errorf("%s %s is answered with status %d", p.method, p.path, status)
			}
		}
		for _, head := range []string{noise(), "GET /mcp HTTP/1.1\r\nHost: " + noise() + "\r\n\r\n", "GET / HTTP/1.1\r\n" + strings.Repeat("X: y\r\n", 1<<15), "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + noise()} {
			if err := r.shout(ctx, head); err != nil && ctx.Err() == nil {
				return err
			}
			r.sent.Add(1)
		}
	}
	return nil
}

// send sends a piece of garbage. A connection that the server closes under it is an answer too, of status 0.
func (r *rude) send(ctx context.Context, web *http.Client, p piece) (status int, err error) {
	request, err := http.NewRequestWithContext(ctx, p.method, r.url+p.path, strings.NewReader(p.body))
	if err != nil {
		return 0, fmt.Errorf("garbage: %w", err)
	}
	if p.kind != "" {
		request.Header.Set("Content-Type", p.kind)
	}
	request.Header.Set("Accept", "application/json, text/event-stream")
	if p.token != "" {
		request.Header.Set("Authorization", "Bearer "+printable(p.token))
	}
	answer, err := web.Do(request)
	if err != nil {
		return 0, nil // the server has had enough
	}
	defer func() { _ = answer.Body.Close() }()
	_, err = io.Copy(io.Discard, answer.Body)
	if err != nil {
		return 0, nil // the same
	}
	return answer.StatusCode, nil
}

// printable leaves what may stand in a header.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return -1
		}
		return r
	}, text)
}

// shout sends bytes that are hardly HTTP and reads what comes, for a short time.
func (r *rude) shout(ctx context.Context, text string) error {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", r.address)
	if err != nil {
		return fmt.Errorf("garbage: %w", err)
	}
	defer func() { _ = c.Close() }()
	if err := c.SetDeadline(time.Now().Add(openEvery)); err != nil {
		return fmt.Errorf("garbage: %w", err)
	}
	if _, err := io.WriteString(c, text); err == nil {
		_, _ = io.Copy(io.Discard, c) // until the server closes it, or the time is over
	}
	return nil
}

// openings are what is sent over a connection before nothing more comes.
func (r *rude) openings() []string {
	token := "Authorization: Bearer " + r.token + "\r\n"
	head := "HTTP/1.1\r\nHost: " + r.address + "\r\nContent-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
	return []string{
		"",
		"POST /mcp HTT",
		"POST /mcp " + head,
		"POST /mcp " + head + "Content-Length: 100\r\n\r\n",
		"POST /mcp " + head + token + "Content-Length: 100\r\n\r\n{",
		"POST /token " + head + "Content-Length: 100\r\n\r\n",
		"GET /mcp " + head + token + "\r\n",
		"POST /mcp " + head + token + "Content-Length: 46\r\n\r\n" + `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
	}
}

// openAlways opens connections until ctx ends.
func (r *rude) openAlways(ctx context.Context) error {
	openings := r.openings()
	for n := 0; ctx.Err() == nil; n++ {
		if len(r.held) < openMost {
			c, err := new(net.Dialer).DialContext(ctx, "tcp", r.address)
			if err != nil {
				if ctx.Err() != nil {
					return nil //nolint:nilerr // it is time to leave
				}
				return fmt.Errorf("open a connection: %w", err)
			}
			r.held = append(r.held, c)
			if _, err := io.WriteString(c, openings[n%len(openings)]); err == nil {
				r.opened.Add(1)
			}
		}
		if err := pause(ctx, openEvery); err != nil {
			return nil //nolint:nilerr // it is time to leave
		}
	}
	return nil
}
