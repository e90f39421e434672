package app

import (
	"context"
	"errors"
	"fmt"
	"io"

	"runpython/internal/excerpt"
	"runpython/internal/kernel"
	"runpython/internal/pypi/build"
)

// builtStdout and builtLog bound what is read of a run that builds a package.
const (
	builtStdout = 128 << 10
	builtLog    = 64 << 10
)

// guestForBuild gives a build of a source distribution a guest of its own: with the limits of a chat, the
// time of an install, and no way out, whatever chats may reach. key is that of the interpreter.
func (a *App) guestForBuild(key string) build.Start {
	return func(ctx context.Context, fill func(dir string) error) (build.Guest, error) {
		s, err := a.host.TakePlain(ctx)
		if err != nil {
			return nil, fmt.Errorf("take a sandbox: %w", err)
		}
		if err := fill(s.Uploads); err != nil {
			return nil, errors.Join(err, s.Close())
		}
		k, err := kernel.New(ctx, s, kernel.Config{RunTimeout: a.config.InstallTimeout, Limits: limitsOf(a.config), Log: a.log}, key)
		if err != nil {
			return nil, fmt.Errorf("begin an interpreter: %w", err)
		}
		return builder{a, k}, nil
	}
}

// A builder is a guest in which one package is built.
type builder struct {
	app *App
	*kernel.Kernel
}

// Run runs a step of the build.
func (b builder) Run(ctx context.Context, code string) (build.Outcome, error) {
	r, err := b.Kernel.Run(ctx, kernel.Request{Candidates: []kernel.Candidate{{Code: code, RunAnyway: true}}})
	if err != nil {
		return build.Outcome{}, fmt.Errorf("run a step of a build: %w", err)
	}
	out := build.Outcome{Stdout: r.Stdout.Text(builtStdout), Log: r.Stderr.Text(builtLog)}
	limits := limitsOf(b.app.config)
	switch r.Status {
	case kernel.OK:
	case kernel.TimedOut, kernel.Canceled:
		out.Stopped = fmt.Sprintf("its build was stopped after %.0f s, the time limit of an install (--install-timeout)", r.Duration.Seconds())
	case kernel.Memory:
		out.Stopped = fmt.Sprintf("its build needed more than %s of memory (--memory)", excerpt.Size(limits.MemoryBytes))
	case kernel.Files:
		out.Stopped = fmt.Sprintf("its build made more than %d files", limits.WorkFiles)
	default:
		out.Stopped = "its build ended the interpreter"
		if r.Error != nil {
			out.Log += "\n" + r.Error.Traceback
		}
	}
	return out, nil
}

// Get copies a file that the build has made.
func (b builder) Get(ctx context.Context, path string, w io.Writer, most int64) (problem string, err error) {
	err = b.Kernel.Get(ctx, []string{path}, most,
		func(_ int, data []byte) error { _, err := w.Write(data); return err },
		func(_ int, why string) error { problem = why; return nil })
	if err != nil {
		return "", fmt.Errorf("read what a build made: %w", err)
	}
	return problem, nil
}
