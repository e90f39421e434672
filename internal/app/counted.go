package app

import (
	"context"
	"errors"
	"time"

	"runpython/internal/chat"
	"runpython/internal/fault"
	"runpython/internal/kernel"
	"runpython/internal/llm"
	"runpython/internal/metrics"
	"runpython/internal/pypi"
	"runpython/internal/span"
)

// newMetrics returns the numbers of the program. Its parts need not be there before somebody looks.
func newMetrics(a *App, build Build) *metrics.Metrics {
	return metrics.New(metrics.Sources{
		Version: build.Version,
		Guests: func() metrics.Guests {
			s := a.host.Stats()
			return metrics.Guests{Started: s.Started, Restored: s.Restored, Failed: s.Failed, Live: s.Live, Pooled: s.Pooled, Waiting: s.Waiting}
		},
		Interpreters: func() int { return a.chats.Living() },
		Turns:        func() int { return a.chats.UnderWay() },
	})
}

// countedModel counts what is asked of a model.
type countedModel struct {
	llm.Model

	metrics *metrics.Metrics
	spans   *span.Tracer
}

// Complete implements llm.Model.
func (m countedModel) Complete(ctx context.Context, r llm.Request) (*llm.Response, error) {
	ctx, s := m.spans.Begin(ctx, "model request", span.Client)
	s.Text("gen_ai.request.model", m.Name())
	begun := time.Now()
	response, err := m.Model.Complete(ctx, r)
	took := time.Since(begun)
	if err == nil {
		s.Number("gen_ai.usage.input_tokens", int64(response.Usage.Input))
		s.Number("gen_ai.usage.output_tokens", int64(response.Usage.Output))
	}
	s.End(err != nil)
	switch {
	case err == nil:
		u := response.Usage
		m.metrics.ModelRequest(string(response.Stop), took, metrics.Tokens{Input: u.Input, Cached: u.Cached, Output: u.Output, Thinking: u.Thinking})
	case ctx.Err() != nil:
		m.metrics.ModelRequest("canceled", took, metrics.Tokens{})
	default:
		m.metrics.ModelRequest(string(llm.KindOf(err)), took, metrics.Tokens{})
	}
	return response, err //nolint:wrapcheck // the same contract
}

// countedInterpreter counts the checkpoints that are made of an interpreter.
type countedInterpreter struct {
	chat.Interpreter

	metrics *metrics.Metrics
	spans   *span.Tracer
}

// Run implements chat.Interpreter.
func (i countedInterpreter) Run(ctx context.Context, r kernel.Request) (*kernel.Result, error) {
	ctx, s := i.spans.Begin(ctx, "run", span.Internal)
	result, err := i.Interpreter.Run(ctx, r)
	if err == nil {
		s.Text("runpython.status", string(result.Status))
		s.Number("runpython.peak_bytes", result.PeakBytes)
	}
	s.End(err != nil)
	return result, err //nolint:wrapcheck // the same contract
}

// Checkpoint implements chat.Interpreter.
func (i countedInterpreter) Checkpoint(ctx context.Context, dir string) error {
	return i.counted(func() error { return i.Interpreter.Checkpoint(ctx, dir) })
}

// CheckpointBeside implements chat.Interpreter.
func (i countedInterpreter) CheckpointBeside(ctx context.Context, dir string) error {
	return i.counted(func() error { return i.Interpreter.CheckpointBeside(ctx, dir) })
}

// counted counts a checkpoint, unless it has given way to something else or is for later.
func (i countedInterpreter) counted(make func() error) error {
	begun := time.Now()
	err := make()
	if !errors.Is(err, kernel.ErrDisturbed) && !errors.Is(err, kernel.ErrTooLarge) {
		i.metrics.Checkpoint(err == nil, time.Since(begun))
	}
	return err
}

// countedCheckpoints count what comes back from checkpoints.
type countedCheckpoints struct {
	chat.Checkpoints

	metrics *metrics.Metrics
	spans   *span.Tracer
}

// Resume implements chat.Checkpoints.
func (c countedCheckpoints) Resume(ctx context.Context, start chat.Start, dir string, prepare func(string, bool) error) (chat.Interpreter, error) {
	ctx, s := c.spans.Begin(ctx, "restore", span.Internal)
	begun := time.Now()
	i, err := c.Checkpoints.Resume(ctx, start, dir, prepare)
	s.End(err != nil)
	outcome := "ok"
	if f, ok := errors.AsType[*fault.Error](err); ok && f.Kind == fault.Unsupported {
		outcome = "unusable"
	} else if err != nil {
		outcome = "failed"
	}
	c.metrics.Restore(outcome, time.Since(begun))
	return i, err //nolint:wrapcheck // the same contract
}

// countInstall counts an install.
func countInstall(m *metrics.Metrics, report pypi.Report, err error, took time.Duration) {
	i := metrics.Install{Packages: len(report.Added) + len(report.Changed), DownloadedBytes: report.DownloadedBytes, Took: took}
	if err != nil {
		kind, _ := fault.Shown(err)
		i = metrics.Install{Fault: kind.String(), Took: took}
	}
	m.Install(i)
}
