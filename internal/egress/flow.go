package egress

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// A flow passes bytes between a guest and a host until the host has ended its side,
// either fails, or nothing has moved for idleTime.
type flow struct {
	guest, host    net.Conn
	in             *bufio.Reader // what the guest sends
	sent, received atomic.Int64
	deaf           atomic.Bool // the host takes no more, but may have something to say
	idle           *time.Timer
}

func newFlow(guest net.Conn, in *bufio.Reader, host net.Conn) *flow {
	f := &flow{guest: guest, in: in, host: host}
	f.idle = time.AfterFunc(idleTime, f.interrupt)
	return f
}

// interrupt ends everything that waits for either side.
func (f *flow) interrupt() {
	past := time.Unix(1, 0)
	_, _ = f.guest.SetDeadline(past), f.host.SetDeadline(past) // fail only for what is closed
}

// run passes on what the host sends, and lets send do the same for the guest, until the
// end. The connections stay open.
func (f *flow) run(send func() error) {
	defer f.idle.Stop()
	received := make(chan struct{})
	go func() {
		defer close(received)
		// An error is the end as well, and the host's affair or the guest's.
		_, _ = io.Copy(meter{f.guest, &f.received, f.idle}, f.host)
		f.interrupt()
	}()
	if err := send(); err != nil && !f.deaf.Load() {
		f.interrupt() // the guest has gone, or may say no more
	}
	<-received
}

// toHost is the host's side for writing.
func (f *flow) toHost() io.Writer { return hostWriter{f} }

// tunnel sends what the guest sends, after the opening.
func (f *flow) tunnel(opening []byte) error {
	if _, err := io.Copy(f.toHost(), io.MultiReader(bytes.NewReader(opening), f.in)); err != nil {
		return err //nolint:wrapcheck // only whether there is one counts
	}
	if half, ok := f.host.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// forward sends the request of the guest, and nothing after it.
func (f *flow) forward(r *http.Request) error {
	if r.Header.Get("Expect") != "" {
		// The guest may send its body: the host's own word would come late for that.
		r.Header.Del("Expect")
		if _, err := io.WriteString(f.guest, "HTTP/1.1 100 Continue\r\n\r\n"); err != nil {
			return err //nolint:wrapcheck // as above
		}
	}
	if err := r.Write(f.toHost()); err != nil {
		return err //nolint:wrapcheck // as above
	}
	_, err := io.Copy(io.Discard, f.in) // until the guest has gone or listens only
	return err                          //nolint:wrapcheck // as above
}

// A meter counts what is written, and knows that something moves.
type meter struct {
	io.Writer

	count *atomic.Int64
	idle  *time.Timer
}

// Write writes to what is measured.
func (m meter) Write(p []byte) (int, error) {
	n, err := m.Writer.Write(p)
	m.count.Add(int64(n))
	if n > 0 {
		m.idle.Reset(idleTime)
	}
	return n, err //nolint:wrapcheck // a Writer like the one within
}

// hostWriter is the host's side of a flow, and notes that it takes no more.
type hostWriter struct{ f *flow }

// Write writes to the host.
func (w hostWriter) Write(p []byte) (int, error) {
	n, err := meter{w.f.host, &w.f.sent, w.f.idle}.Write(p)
	if err != nil {
		w.f.deaf.Store(true)
	}
	return n, err
}
