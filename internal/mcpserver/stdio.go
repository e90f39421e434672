package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// inputGrace is how long calls go on after the end of the input: long enough for
// the answers to messages that were piped in, and still an end when the client
// is gone.
const inputGrace = 30 * time.Second

// ServeStdio serves one client, which writes one message a line to in and reads
// one a line from out, until in ends or ctx does; then it returns nil. Calls in
// flight may finish for a while when in ends, and are cancelled when ctx ends.
// Nothing but messages is written to out.
//
// If in is an [io.Closer], ServeStdio closes it before it returns. Without that, a
// read that is under way when ctx ends cannot be interrupted and stays behind.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	p := newPipe(in, out)
	defer p.stop()
	session, err := s.mcp.Connect(context.WithoutCancel(ctx), p, nil)
	if err != nil {
		return err
	}
	// Runs that do not end with their requests end with the client.
	defer s.calls.cancelSession(session, errSessionEnded)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		err = session.Wait()
	}()
	select {
	case <-ended:
		return err
	case <-ctx.Done():
	}
	s.calls.cancelSession(session, errStopping)
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
	defer cancel()
	stuck := p.answering.wait(grace)
	p.stop()
	if stuck != nil {
		return errors.New("end the calls in flight: some did not return when they were cancelled")
	}
	closing := session.Close()
	<-ended
	return closing
}

// A pipe is the transport of one client. It stands on both sides of the SDK's
// own: lines go to it only if they hold well-formed messages, and its answers
// leave only in the form that a client should see.
type pipe struct {
	lines     *bufio.Reader
	closeIn   func() error
	answering flightCount   // calls that have been read and not yet answered
	stopped   chan struct{} // closed when nobody waits for answers any more
	stopOnce  sync.Once
	rest      []byte // of the lines that the SDK is reading

	mu  sync.Mutex // guards writes to out
	out io.Writer
}

func newPipe(in io.Reader, out io.Writer) *pipe {
	p := &pipe{
		out: out, lines: bufio.NewReaderSize(in, 64<<10),
		closeIn: func() error { return nil }, stopped: make(chan struct{}),
	}
	if c, ok := in.(io.Closer); ok {
		p.closeIn = c.Close
	}
	return p
}

// Connect implements [mcp.Transport].
func (p *pipe) Connect(ctx context.Context) (mcp.Connection, error) {
	t := &mcp.IOTransport{Reader: pipeInput{p}, Writer: pipeOutput{p}, MaxLineLength: maxMessageBytes + 1}
	c, err := t.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return pipeConnection{Connection: c, pipe: p}, nil
}

func (p *pipe) stop() { p.stopOnce.Do(func() { close(p.stopped) }) }

// A pipeConnection sees the answers before they are encoded.
type pipeConnection struct {
	mcp.Connection
	pipe *pipe
}

// Write implements [mcp.Connection].
func (c pipeConnection) Write(ctx context.Context, m jsonrpc.Message) error {
	r, ok := m.(*jsonrpc.Response)
	if !ok {
		return c.Connection.Write(ctx, m)
	}
	defer c.pipe.answering.end()
	if r.Error != nil {
		shown := wireError(r.Error)
		if shown == nil {
			return nil
		}
		r.Error = shown
	}
	return c.Connection.Write(ctx, m)
}

// pipeInput is what the SDK reads.
type pipeInput struct{ *pipe }

// Read implements [io.Reader]. It is called by one goroutine at a time.
func (p pipeInput) Read(b []byte) (int, error) {
	for len(p.rest) == 0 {
		line, tooLong, err := p.readLine()
		if err != nil {
			p.awaitAnswers()
			return 0, io.EOF
		}
		if err := p.accept(line, tooLong); err != nil {
			return 0, err
		}
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// accept makes a line the next one that the SDK reads, or answers it when it holds
// no well-formed message. An error means that answers can no longer be written.
func (p pipeInput) accept(line []byte, tooLong bool) error {
	if tooLong {
		return p.writeLine(encodeError(nil, invalidRequest("the line is longer than 4 MiB, the largest message that is taken")))
	}
	if len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	messages, _, bad := readEnvelopes(line)
	if bad != nil {
		return p.writeLine(encodeError(bad.id, bad.Error))
	}
	for _, m := range messages {
		if refused := listenRefusal(m); refused != nil && m.call() {
			if err := p.writeLine(encodeError(m.id, refused)); err != nil {
				return err
			}
			continue
		}
		if m.call() {
			p.answering.join()
		}
		// A batch goes on as single messages and is answered so: the SDK loses
		// the answers to one that has notifications in it.
		p.rest = append(append(p.rest, m.raw...), '\n')
	}
	return nil
}

// readLine reads a line of at most maxMessageBytes. Of a longer one it returns
// nothing but that it was too long.
func (p pipeInput) readLine() (line []byte, tooLong bool, err error) {
	for {
		part, err := p.lines.ReadSlice('\n')
		if len(line)+len(part) > maxMessageBytes {
			line, tooLong = nil, true
		}
		if !tooLong {
			line = append(line, part...)
		}
		switch {
		case err == nil:
			return line, tooLong, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case len(line) > 0 || tooLong:
			return line, tooLong, nil // the last line, without a newline
		default:
			return nil, false, err
		}
	}
}

// awaitAnswers returns when every call has been answered, the grace is over, or
// the session ends. Calls that are left are cancelled by the SDK.
func (p pipeInput) awaitAnswers() {
	grace := time.NewTimer(inputGrace)
	defer grace.Stop()
	select {
	case <-p.answering.quiet():
	case <-grace.C:
	case <-p.stopped:
	}
}

// Close implements [io.Closer].
func (p pipeInput) Close() error {
	p.stop()
	return p.closeIn()
}

// pipeOutput is what the SDK writes to, one line at a time.
type pipeOutput struct{ *pipe }

// Write implements [io.Writer].
func (p pipeOutput) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(b)
}

// Close implements [io.Closer]. The output belongs to the caller of ServeStdio.
func (p pipeOutput) Close() error { return nil }

func (p *pipe) writeLine(line []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, err := p.out.Write(append(line, '\n'))
	return err
}
