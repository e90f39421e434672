package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// A worker is a process that does some work as often as it is asked to and tells how long
// each time took. Requests and answers are JSON, one a line, over its standard streams;
// the end of its input is its end. Close it.
type worker struct {
	*child
	in  io.WriteCloser
	out *json.Decoder
}

// A request asks for work: n times what Do names.
type request struct {
	Do string `json:"do"`
	N  int    `json:"n"`
}

// An answer has what was asked for, or what went wrong.
type answer struct {
	Milliseconds []float64 `json:"ms,omitempty"`
	Bytes        int64     `json:"bytes,omitempty"`
	Error        string    `json:"error,omitempty"`
}

// startWorker starts a prepared child as a worker.
func startWorker(c *child) (*worker, error) {
	in, err := c.command.StdinPipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("input of %s: %w", c.command.Path, err), c.stop())
	}
	out, err := c.command.StdoutPipe()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("output of %s: %w", c.command.Path, err), c.stop())
	}
	if err := c.start(); err != nil {
		return nil, errors.Join(err, c.stop())
	}
	return &worker{child: c, in: in, out: json.NewDecoder(out)}, nil
}

// ask has something done n times.
func (w *worker) ask(what string, n int) (answer, error) {
	var a answer
	err := json.NewEncoder(w.in).Encode(request{what, n})
	if err == nil {
		err = w.out.Decode(&a)
	}
	if err != nil {
		return a, fmt.Errorf("ask %s: %w%s", w.command.Path, err, w.said.last())
	}
	if a.Error != "" {
		return a, fmt.Errorf("%s: %s", w.command.Path, a.Error)
	}
	return a, nil
}

// batch makes a batch of what the worker does when it is asked for what.
func (w *worker) batch(what string) batch {
	return func(_ context.Context, n int) ([]time.Duration, error) {
		a, err := w.ask(what, n)
		spent := make([]time.Duration, 0, len(a.Milliseconds))
		for _, ms := range a.Milliseconds {
			spent = append(spent, time.Duration(ms*float64(time.Millisecond)))
		}
		return spent, err
	}
}

// close lets the worker end in order before it is told to.
func (w *worker) close() error {
	err := w.in.Close()
	limit := time.NewTimer(endGrace)
	defer limit.Stop()
	select {
	case <-w.ended:
	case <-limit.C:
	}
	return errors.Join(err, w.stop())
}

// work is the other side of a worker that is this program: it answers requests for
// "call" until in ends.
func work(ctx context.Context, in io.Reader, out io.Writer, call batch) error {
	requests, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var r request
		if err := requests.Decode(&r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("read a request: %w", err)
		}
		var s sample
		spent, err := call(ctx, r.N)
		s.add(spent...)
		a := answer{Milliseconds: s.values}
		if err != nil {
			a.Error = err.Error()
		}
		if err := answers.Encode(a); err != nil {
			return fmt.Errorf("write an answer: %w", err)
		}
	}
}
