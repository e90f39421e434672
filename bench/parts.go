package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// A part is rows that are measured together.
type part struct {
	name    string
	about   string
	measure func(*bench, context.Context) ([]row, error)
}

// parts returns all of them in the order of the table.
func parts() []part {
	return []part{
		{"living", "calls in a living chat", (*bench).living},
		{"jupyter", "the same beside jupyter-mcp-server", (*bench).beside},
		{"first", "first calls of new chats", (*bench).first},
		{"idle", "what idle chats cost", (*bench).idle},
		{"throughput", "eight clients at once", (*bench).throughput},
		{"packages", "packages in new chats, installed and preloaded; needs an index", (*bench).packages},
		{"plain", "a turn in plain language, with a scripted model", (*bench).plain},
		{"start", "the start of the server", (*bench).starts},
		{"oneshot", "one call from the command line", (*bench).oneShot},
		{"scan", "the command check", (*bench).scans},
		{"pause", "runs in the middle of background checkpoints", (*bench).pauses},
		{"hibernated", "1,000 hibernated chats, some minutes", (*bench).hibernated},
		{"frames", "hibernated chats with pandas; needs an index", (*bench).frames},
		{"load", "many clients with tokens beside rude ones, for the time of -load", (*bench).load},
	}
}

func partNames() string {
	var names []string
	for _, p := range parts() {
		names = append(names, p.name)
	}
	return strings.Join(names, ", ")
}

// poolSize is the product's default.
const poolSize = 2

// closers end what a part has opened, the last one first.
type closers []func() error

func (c *closers) add(end func() error) { *c = append(*c, end) }

// close is deferred with the address of the part's error.
func (c *closers) close(err *error) {
	for _, end := range slices.Backward(*c) {
		*err = errors.Join(*err, end())
	}
}

// chat opens a session and a chat, and returns a batch of calls in it.
func (s *server) chat(ctx context.Context, revision string, open *closers) (batch, error) {
	c, err := connect(ctx, target{url: s.url, revision: revision})
	if err != nil {
		return nil, err
	}
	open.add(c.close)
	id, _, err := c.say(ctx, "")
	if err != nil {
		return nil, err
	}
	return each(func(ctx context.Context) (time.Duration, error) {
		_, spent, err := c.say(ctx, id)
		return spent, err
	}), nil
}

// pauseBefore is longer than the product lets a guest linger after a call.
const pauseBefore = 300 * time.Millisecond

// livingSeries are measured in turn by living.
type livingSeries struct {
	chat, alone, echo, evaluation, kernel *series
}

func (b *bench) living(ctx context.Context) (_ []row, err error) {
	var open closers
	defer open.close(&err)
	s, err := b.serve(ctx, poolSize)
	if err != nil {
		return nil, err
	}
	open.add(s.stop)
	chat, err := s.chat(ctx, withSessions, &open)
	if err != nil {
		return nil, err
	}
	alone, err := s.chat(ctx, stateless, &open)
	if err != nil {
		return nil, err
	}
	echo, err := b.openEcho(ctx)
	if err != nil {
		return nil, err
	}
	open.add(echo.close)
	guest, err := b.openGuest(ctx)
	if err != nil {
		return nil, err
	}
	open.add(guest.close)

	l := livingSeries{
		chat: newSeries(chat, 200), alone: newSeries(alone, 200), evaluation: newSeries(guest.batch("call"), 200),
		echo: newSeries(each(func(ctx context.Context) (time.Duration, error) { return callEcho(ctx, echo.client) }), 200),
	}
	l.kernel = b.kernelSeries(ctx, "call", 40, &open)
	rounds(ctx, b.times(10), l.chat, l.echo, l.evaluation, l.alone, l.kernel)

	rested := newSeries(func(ctx context.Context, n int) ([]time.Duration, error) {
		if err := pause(ctx, pauseBefore); err != nil {
			return nil, err
		}
		return chat(ctx, n)
	}, 1)
	rounds(ctx, b.times(30), rested)
	return l.rows(rested), errors.Join(l.chat.err, l.alone.err, l.echo.err, l.evaluation.err, rested.err)
}

// kernelSeries is work of ipykernel. When there is no ipykernel, its err says why.
func (b *bench) kernelSeries(ctx context.Context, what string, per int, open *closers) *series {
	k, err := b.openKernel(ctx)
	if err != nil {
		s := newSeries(nil, per)
		s.err = err
		return s
	}
	open.add(func() error { b.tell(k.close()); return nil })
	return newSeries(k.batch(what), per)
}

func (l *livingSeries) rows(rested *series) []row {
	fast := []goal{atMost("p50", 1.5), atMost("p99", 10)}
	return []row{
		l.chat.row("living chat").wants(fast...),
		l.alone.row("living chat, revision " + stateless).wants(fast...),
		rested.row("living chat, after a pause").noted("each call comes when its guest has been stopped"),
		l.chat.compared("living chat, against ipykernel", l.kernel, "a call of ipykernel, without MCP").wants(atMost("ratio", 0.25)),
		l.chat.compared("living chat, against its floor", floor(l.echo, l.evaluation), "bare SDK echo tool + bare evaluation").wants(atMost("ratio", 3)),
		l.echo.row("bare SDK echo tool"),
		l.evaluation.row("bare evaluation in a guest"),
		l.kernel.row("ipykernel call"),
	}
}

// beside compares a living chat with jupyter-mcp-server, whose processes would disturb
// the other measurements.
func (b *bench) beside(ctx context.Context) (_ []row, err error) {
	var open closers
	defer open.close(&err)
	s, err := b.serve(ctx, poolSize)
	if err != nil {
		return nil, err
	}
	open.add(s.stop)
	chat, err := s.chat(ctx, withSessions, &open)
	if err != nil {
		return nil, err
	}
	ours, theirs, opened := newSeries(chat, 100), newSeries(nil, 10), newSeries(nil, 0)
	wrong, missing := b.openBooks(ctx, theirs, opened, &open)
	theirs.err, opened.err = missing, missing
	rounds(ctx, b.times(5), ours, theirs)
	call := theirs.row("jupyter-mcp-server call")
	if n := wrong(); n > 0 {
		call = call.noted(fmt.Sprintf("%d answers were not 2", n))
	}
	return []row{
		ours.compared("living chat, against jupyter-mcp-server", theirs, "a call of jupyter-mcp-server in Jupyter").wants(atMost("ratio", 0.01)),
		call,
		opened.row("jupyter-mcp-server new session"),
	}, ours.err
}

// openBooks starts jupyter-mcp-server, measures new sessions, and lets calls be calls in
// the last of them. wrong tells how many answers were not right. The error says why
// there is no such reference.
func (b *bench) openBooks(ctx context.Context, calls, opened *series, open *closers) (wrong func() int, err error) {
	none := func() int { return 0 }
	l, err := b.openLab(ctx)
	if err != nil {
		return none, err
	}
	open.add(func() error { b.tell(l.stop()); return nil })
	for n := range 1 + b.times(5) {
		begun := time.Now()
		book, err := l.openNotebook(ctx, n)
		if err != nil {
			return none, err
		}
		if n > 0 { // the first one loads what all share
			opened.add(time.Since(begun))
		}
		if err := book.close(ctx); err != nil {
			return none, err
		}
	}
	last, err := l.openNotebook(ctx, 1+b.times(5))
	if err != nil {
		return none, err
	}
	open.add(func() error { b.tell(last.close(ctx)); return nil })
	calls.do = each(last.evaluate)
	return func() int { return last.wrong }, nil
}

// oneShot compares a whole process of the product with one of Python.
func (b *bench) oneShot(ctx context.Context) ([]row, error) {
	ours := newSeries(each(func(ctx context.Context) (time.Duration, error) {
		return b.process(ctx, b.program, "chat", "--data", b.data, "1+1")
	}), 2)
	name, noPython := realPython(ctx)
	python := newSeries(each(func(ctx context.Context) (time.Duration, error) {
		return b.process(ctx, name, "-c", "print(1+1)")
	}), 10)
	python.err = noPython
	rounds(ctx, b.times(10), ours, python)
	return []row{
		ours.compared("runpython chat, one shot", python, "python3 -c"),
		python.row("python3 -c"),
	}, ours.err
}

// realPython returns the interpreter itself: python3 may be a script that looks for one.
func realPython(ctx context.Context) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	out, err := exec.CommandContext(ctx, "python3", "-c", "import sys; print(sys.executable)").Output()
	if err != nil {
		return "", fmt.Errorf("python3: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

// process runs a program that prints 2.
func (b *bench) process(ctx context.Context, name string, arguments ...string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	command := exec.CommandContext(ctx, name, arguments...)
	command.Dir = b.dir
	said := newLines()
	command.Stderr = said
	begun := time.Now()
	out, err := command.Output()
	spent := time.Since(begun)
	if err != nil {
		return 0, fmt.Errorf("%s: %w%s", name, err, said.last())
	}
	if !answersTwo(string(out)) {
		return 0, fmt.Errorf("%s prints %q", name, out)
	}
	return spent, nil
}
