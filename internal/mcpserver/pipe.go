package mcpserver

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A pipe is the transport of one client. It stands on both sides of the SDK's
// own: lines go to it only if they hold well-formed messages, and its answers
// leave only in the form that a client should see.
type pipe struct {
	lines     *bufio.Reader
	closeIn   func() error
	answering flightCount // calls that have been read and not yet answered
	rest      []byte      // of the lines that the SDK is reading

	patience context.Context //nolint:containedctx // ends when nobody waits for answers any more; Read has no parameter for it
	stop     context.CancelFunc

	out     io.Writer
	writing chan struct{} // holds a token while something is written to out

	mu        sync.Mutex              // guards what follows
	calls     map[jsonrpc.ID]struct{} // those in flight
	questions map[jsonrpc.ID]struct{} // requests of ours that wait for the client, one of a turn

	deadline time.Time          // of the calls, from the end of the input on
	wake     context.CancelFunc // from then on: makes refuseQuestions look
}

func newPipe(in io.Reader, out io.Writer) *pipe {
	p := &pipe{
		lines: bufio.NewReaderSize(in, 64<<10), closeIn: func() error { return nil },
		out: out, writing: make(chan struct{}, 1),
		calls: make(map[jsonrpc.ID]struct{}), questions: make(map[jsonrpc.ID]struct{}),
	}
	p.patience, p.stop = context.WithCancel(context.Background())
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

// A pipeConnection sees the messages of the SDK before they are encoded.
type pipeConnection struct {
	mcp.Connection
	pipe *pipe
}

// Write implements [mcp.Connection].
func (c pipeConnection) Write(ctx context.Context, m jsonrpc.Message) error {
	switch m := m.(type) {
	case *jsonrpc.Request:
		if m.IsCall() && !c.pipe.ask(m.ID) {
			return nil
		}
		c.pipe.withdraw(m)
	case *jsonrpc.Response:
		if c.pipe.end(m.ID) {
			defer c.pipe.answering.end()
		}
		if m.Error != nil {
			shown := wireError(m.Error)
			if shown == nil {
				return nil
			}
			m.Error = shown
		}
	}
	return c.Connection.Write(ctx, m)
}

// begin counts a call, or reports false if one of that id is in flight: the SDK would not
// answer the second one.
func (p *pipe) begin(id jsonrpc.ID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.calls[id]; ok {
		return false
	}
	p.calls[id] = struct{}{}
	p.answering.join()
	return true
}

// end frees the id of a call, which the client may use again as soon as it has the answer. It
// reports whether there is such a call, which counts until that has been written.
func (p *pipe) end(id jsonrpc.ID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.calls[id]
	delete(p.calls, id)
	return ok
}

// ask notes a question to the client. If it reports false, the client is gone and the
// question is not to be sent: [pipe.refuseQuestions] answers it.
func (p *pipe) ask(id jsonrpc.ID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.questions[id] = struct{}{}
	if p.deadline.IsZero() {
		return true
	}
	p.wake()
	return false
}

// withdraw forgets the question that a notification to the client cancels.
func (p *pipe) withdraw(m *jsonrpc.Request) {
	var params struct {
		ID json.RawMessage `json:"requestId"`
	}
	if m.Method == methodCancelled && json.Unmarshal(m.Params, &params) == nil {
		p.answered(params.ID)
	}
}

// answered forgets a question.
func (p *pipe) answered(id json.RawMessage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.questions, idOf(id))
}

// idOf returns an id as the SDK compares it, the zero one for what is none.
func idOf(raw json.RawMessage) jsonrpc.ID {
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return jsonrpc.ID{}
	}
	id, err := jsonrpc.MakeID(value)
	if err != nil {
		return jsonrpc.ID{}
	}
	return id
}

// pipeInput is what the SDK reads.
type pipeInput struct{ *pipe }

// Read implements [io.Reader]. It is called by one goroutine at a time.
func (p pipeInput) Read(b []byte) (int, error) {
	for len(p.rest) == 0 {
		line, tooLong, err := p.readLine()
		if err != nil {
			if !p.refuseQuestions() {
				return 0, io.EOF
			}
			continue
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
		if refused := p.refusal(m); refused != nil {
			if err := p.writeLine(encodeError(m.id, refused)); err != nil {
				return err
			}
			continue
		}
		if m.method == "" {
			p.answered(m.id)
		}
		// A batch goes on as single messages and is answered so: the SDK loses
		// the answers to one that has notifications in it.
		p.rest = append(append(p.rest, m.raw...), '\n')
	}
	return nil
}

// refusal returns why a call is not taken, or nil when it is: then it counts until it has
// been answered.
func (p pipeInput) refusal(m envelope) *jsonrpc.Error {
	if !m.call() {
		return nil
	}
	if refused := cmp.Or(listenRefusal(m), paramsRefusal(m)); refused != nil {
		return refused
	}
	if !p.begin(idOf(m.id)) {
		return invalidRequest("a request with this id has not been answered yet; send each request with an id of its own")
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

// refuseQuestions is called when the input has ended. It waits for questions that are open or
// come, answers them in the client's place, which makes it report true, or for the end: when
// every call has been answered, the grace is over, or the session ends. Calls that are left then
// are cancelled by the SDK.
func (p pipeInput) refuseQuestions() bool {
	waited := p.answering.wait(p.becomeDeaf())
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wake() // it has served
	for id := range p.questions {
		refused := &jsonrpc.Response{ID: id, Error: invalidRequest("the client has ended its input")}
		if encoded, err := jsonrpc.EncodeMessage(refused); err == nil { // as it is always
			p.rest = append(append(p.rest, encoded...), '\n')
		}
	}
	clear(p.questions)
	switch {
	case len(p.rest) > 0:
		return true
	case waited == nil:
		return false
	case errors.Is(waited, context.DeadlineExceeded), p.patience.Err() != nil:
		p.stop() // an answer that nobody reads would hold up the end for ever
		return false
	}
	return true // the question has been withdrawn
}

// becomeDeaf notes the end of the input. What it returns ends inputGrace later, and with a
// question.
func (p pipeInput) becomeDeaf() context.Context {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.deadline.IsZero() {
		p.deadline = time.Now().Add(inputGrace)
	}
	waiting, wake := context.WithDeadline(p.patience, p.deadline)
	p.wake = wake
	if len(p.questions) > 0 {
		wake()
	}
	return waiting
}

// Close implements [io.Closer].
func (p pipeInput) Close() error {
	p.stop()
	return p.closeIn()
}

// pipeOutput is what the SDK writes to, one line at a time.
type pipeOutput struct{ *pipe }

// errNotRead says that a client did not read for as long as anybody waits for that.
var errNotRead = errors.New("the client does not read its answers")

// Write implements [io.Writer]. A write that is under way when nobody waits any more stays
// behind, with b, which the SDK makes anew for each message.
func (p pipeOutput) Write(b []byte) (int, error) {
	select {
	case p.writing <- struct{}{}:
	case <-p.patience.Done():
		return 0, errNotRead
	}
	written := make(chan error, 1)
	go func() {
		defer func() { <-p.writing }()
		_, err := p.out.Write(b)
		written <- err
	}()
	select {
	case err := <-written:
		return len(b), err
	case <-p.patience.Done():
		return 0, errNotRead
	}
}

// Close implements [io.Closer]. The output belongs to the caller of ServeStdio.
func (p pipeOutput) Close() error { return nil }

func (p *pipe) writeLine(line []byte) error {
	_, err := pipeOutput{p}.Write(append(line, '\n'))
	return err
}
