package probe

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Bounds of what is read of a program.
const (
	maxPipeLines  = 10_000           // that are no answer, while one is waited for
	discoverLimit = 15 * time.Second // programs of older revisions may not answer what they do not know
)

// An Opener starts the program anew and returns its standard streams. Closing them ends it, and every Read of them then returns.
type Opener func(ctx context.Context) (io.ReadWriteCloser, error)

// RunPipe asks a server that speaks over its standard streams (MCP, Transports, stdio) what it lists. It is started twice, as
// what begins a conversation is not the same in both eras of the protocol. An error means that it could not be started at all.
func RunPipe(ctx context.Context, open Opener, o Options) (*Facts, error) {
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	facts := &Facts{Started: o.Now, Pipe: true}
	step := o.Step
	if step == nil {
		step = func(string) {}
	}
	step("handshake")
	t := &facts.Transport
	err := conversation(ctx, open, func(p *pipe) { p.legacy(ctx, t) })
	if err != nil {
		return nil, err
	}
	step("handshake in " + stateless)
	short, cancel := context.WithTimeout(ctx, discoverLimit)
	defer cancel()
	err = conversation(short, open, func(p *pipe) { p.modern(short, t) })
	if err != nil {
		t.Tries = append(t.Tries, Try{Revision: stateless, Outcome: Failed, Detail: reason(err)})
	}
	known := Revisions()
	slices.SortStableFunc(t.Tries, func(a, b Try) int { return slices.Index(known, a.Revision) - slices.Index(known, b.Revision) })
	return facts, nil
}

// conversation starts the program, lets talk speak with it, and ends it.
func conversation(ctx context.Context, open Opener, talk func(*pipe)) error {
	streams, err := open(ctx)
	if err != nil {
		return err
	}
	p := &pipe{streams: streams, lines: make(chan []byte), gone: make(chan struct{})}
	read := make(chan struct{})
	go func() { defer close(read); p.read() }()
	talk(p)
	close(p.gone)
	err = streams.Close()
	<-read
	if err != nil {
		return fmt.Errorf("end the program: %w", err)
	}
	return nil
}

// A pipe is a program under way.
type pipe struct {
	streams io.ReadWriteCloser
	lines   chan []byte   // of its output; closed when there is no more
	gone    chan struct{} // closed when nobody wants lines any more
}

// read passes on what the program writes, until it writes no more, a line is too long, or all together is more than a scan reads.
func (p *pipe) read() {
	defer close(p.lines)
	s := bufio.NewScanner(io.LimitReader(p.streams, maxScanBytes))
	s.Buffer(nil, maxBodyBytes)
	for s.Scan() {
		select {
		case p.lines <- slices.Clone(s.Bytes()):
		case <-p.gone:
			return
		}
	}
}

// rpc makes a call and waits for its answer, past whatever else the program writes.
func (p *pipe) rpc(ctx context.Context, q call) (*reply, error) {
	if _, err := io.WriteString(p.streams, q.body()+"\n"); err != nil {
		return nil, errors.New("the program takes no more input")
	}
	r := &reply{}
	if q.id == 0 {
		return r, nil
	}
	for range maxPipeLines {
		select {
		case <-ctx.Done():
			return nil, errors.New("the program has not answered in time")
		case line, ok := <-p.lines:
			if !ok {
				return nil, errors.New("the program has ended, or has written more than is read")
			}
			if r.take(line, q.id) {
				return r, nil
			}
		}
	}
	return nil, fmt.Errorf("the program has written %d lines without the answer", maxPipeLines)
}

// greet sends the first call of a revision and reads what the program says of itself. Unless it is answered as it should be, try
// says why, and answered is false.
func (p *pipe) greet(ctx context.Context, revision string, first call) (h hello, try Try, answered bool) {
	try = Try{Revision: revision, Outcome: Failed}
	r, err := p.rpc(ctx, first)
	switch {
	case err != nil:
		try.Detail = err.Error()
	case r.err != nil:
		try.Outcome, try.Detail = Refused, r.says()
	case json.Unmarshal(r.result, &h) != nil:
		try.Detail = "its result has another form than MCP's"
	default:
		answered = true
	}
	return h, try, answered
}

// legacy shakes hands by initialize and reads the lists.
func (p *pipe) legacy(ctx context.Context, t *Transport) {
	h, try, answered := p.greet(ctx, newestInitialize, initializeCall(newestInitialize))
	agreed := h.ProtocolVersion
	switch {
	case !answered:
	case agreed == newestInitialize:
		try.Outcome = Accepted
	default:
		try.Outcome, try.Offered = Offered, agreed
	}
	t.Tries = append(t.Tries, try)
	if try.Outcome == Offered && slices.Contains(Revisions(), agreed) {
		t.Tries = append(t.Tries, Try{Revision: agreed, Outcome: Accepted})
	} else if try.Outcome != Accepted {
		return
	}
	if _, err := p.rpc(ctx, call{method: "notifications/initialized"}); err != nil {
		return
	}
	p.lists(ctx, t, &h, agreed)
}

// modern asks as from 2026-07-28 on.
func (p *pipe) modern(ctx context.Context, t *Transport) {
	h, try, answered := p.greet(ctx, stateless, call{id: 1, method: "server/discover", revision: stateless})
	switch {
	case !answered:
	case slices.Contains(h.SupportedVersions, stateless):
		try.Outcome = Accepted
	default:
		try.Outcome, try.Detail = Refused, "it names other revisions: "+strings.Join(h.SupportedVersions[:min(len(h.SupportedVersions), 5)], ", ")
	}
	t.Tries = append(t.Tries, try)
	if try.Outcome == Accepted {
		p.lists(ctx, t, &h, stateless)
	}
}

// lists reads the three lists, the later era's over those of the older one.
func (p *pipe) lists(ctx context.Context, t *Transport, h *hello, revision string) {
	send := func(q call) (*reply, error) {
		q.revision = revision
		return p.rpc(ctx, q)
	}
	t.Revision, t.Server = revision, h.server()
	t.Tools, t.Resources, t.Prompts = h.list("tools", send), h.list("resources", send), h.list("prompts", send)
}
