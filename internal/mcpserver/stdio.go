package mcpserver

import (
	"context"
	"errors"
	"io"
	"time"
)

// inputGrace is how long calls go on after the end of the input: long enough for
// the answers to messages that were piped in, and still an end when the client
// is gone. Questions are not answered any more, so they end at once.
const inputGrace = 30 * time.Second

// ServeStdio serves one client, which writes one message a line to in and reads
// one a line from out, until in ends or ctx does; then it returns nil. Calls in
// flight may finish for a while when in ends, and are cancelled when ctx ends.
// Nothing but messages is written to out.
//
// If in is an [io.Closer], ServeStdio closes it before it returns. Without that, a
// read that is under way when ctx ends cannot be interrupted and stays behind. So does
// a write to a client that does not read: it holds nothing up beyond the time that calls
// have to end.
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
		return errors.New("end the calls in flight: some did not return when they were cancelled, or the client does not read its answers")
	}
	closing := session.Close()
	<-ended
	return closing
}
