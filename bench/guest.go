package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"time"

	"runpython/internal/kernel"
	"runpython/internal/kernel/guest"
	"runpython/internal/sandbox"
	"runpython/internal/sandbox/interpreter"
)

// guestCommand is the first argument with which this program is a worker that evaluates in one
// guest, with a kernel and nothing of the product above it. The product's program, which becomes gVisor,
// its data folder, whose interpreter is shared, and a data folder of the worker's own follow. With code
// after them, that is run first, and each evaluation then comes in the middle of a checkpoint.
const guestCommand = "work-guest"

// openGuest starts such a worker.
func (b *bench) openGuest(ctx context.Context) (*worker, error) {
	return startWorker(newChild(ctx, b.self, guestCommand, b.program, b.data, filepath.Join(b.dir, "bare")))
}

// workGuest is the worker.
func workGuest(ctx context.Context, arguments []string, in io.Reader, out io.Writer) (err error) {
	if len(arguments) != 3 && len(arguments) != 4 {
		return errors.New("needs the program, its data folder, another one and perhaps code")
	}
	var open closers
	defer open.close(&err)
	python, err := interpreter.Open(ctx, filepath.Join(arguments[1], "interpreter"), guest.Files())
	if err != nil {
		return fmt.Errorf("bare guest: %w", err)
	}
	open.add(python.Close)
	limits, log := sandbox.DefaultLimits(), slog.New(slog.DiscardHandler)
	host, err := sandbox.Open(ctx, sandbox.Config{
		Data: arguments[2], Runsc: arguments[0], Interpreter: python.Home,
		Program: kernel.Program(python.Programs, python.Key, limits),
		Limits:  limits, HostTools: true, Log: log,
	})
	if err != nil {
		return fmt.Errorf("bare guest: %w", err)
	}
	open.add(host.Close)
	s, err := host.Take(ctx)
	if err != nil {
		return fmt.Errorf("bare guest: %w", err)
	}
	k, err := kernel.New(ctx, s, kernel.Config{RunTimeout: callLimit, Limits: limits, Log: log}, python.Key)
	if err != nil {
		return fmt.Errorf("bare guest: %w", err)
	}
	open.add(k.Close)
	if len(arguments) == 4 {
		if _, err := k.Run(ctx, kernel.Request{Candidates: []kernel.Candidate{{Code: arguments[3]}}}); err != nil {
			return fmt.Errorf("bare guest: %w", err)
		}
		return work(ctx, in, out, disturbing(k, filepath.Join(arguments[2], "stored")))
	}
	return work(ctx, in, out, each(func(ctx context.Context) (time.Duration, error) { return evaluate(ctx, k) }))
}

// evaluate evaluates 1+1.
func evaluate(ctx context.Context, k *kernel.Kernel) (time.Duration, error) {
	begun := time.Now()
	result, err := k.Run(ctx, kernel.Request{Candidates: []kernel.Candidate{{Code: "1+1"}}})
	spent := time.Since(begun)
	if err != nil {
		return 0, fmt.Errorf("bare guest: %w", err)
	}
	if result.Status != kernel.OK || result.Value == nil || result.Value.Text != "2" {
		return 0, fmt.Errorf("1+1 in a bare guest has status %s and value %v", result.Status, result.Value)
	}
	return spent, nil
}
