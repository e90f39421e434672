package app

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"time"

	"runpython/internal/audit"
	"runpython/internal/caller"
	"runpython/internal/chat"
	"runpython/internal/fault"
	"runpython/internal/metrics"
	"runpython/internal/span"
)

// observed counts, logs and audits turns: ids, counts and times, never code, text or output.
type observed struct {
	chats   *chat.Service
	metrics *metrics.Metrics
	audit   *auditor
	limits  *limits
	spans   *span.Tracer
	log     *slog.Logger
	local   bool // the caller is who started the program, and shows causes itself
}

func (a *App) observed(local bool) observed {
	return observed{chats: a.chats, metrics: a.metrics, audit: a.audit, limits: a.limits, spans: a.spans, log: a.log, local: local}
}

// Turn runs a turn; see chat.Service.
func (o observed) Turn(ctx context.Context, r chat.Request) (*chat.Reply, error) {
	ctx, s := o.spans.Begin(ctx, "turn", span.Server)
	begun := time.Now()
	reply, err := o.turn(ctx, r)
	took := time.Since(begun)
	outcome := outcomeOf(reply, err)
	s.Text("runpython.outcome", outcome)
	s.End(isOperators(err))
	o.count(outcome, reply, took)
	o.note(ctx, r, reply, outcome)
	level := slog.LevelInfo
	if !o.local && isOperators(err) {
		level = slog.LevelError
	}
	if !o.log.Enabled(ctx, level) {
		return reply, err //nolint:wrapcheck // the same contract
	}
	fields := []any{"outcome", outcome, "ms", took.Milliseconds(), "message_bytes", len(r.Message)}
	if from := caller.FromContext(ctx).String(); from != "" {
		fields = append(fields, "address", from)
	}
	if reply != nil {
		fields = append(fields, "chat", reply.ChatID, "state", string(reply.State), "runs", len(reply.Runs), "packages", len(reply.Packages),
			"images", len(reply.Images), "files", len(reply.Files), "text_bytes", len(reply.Text))
	}
	if reply != nil && reply.Model != nil {
		m := reply.Model
		fields = append(fields, "model", m.Name, "model_end", m.End, "model_requests", m.Requests,
			"input_tokens", m.Usage.Input, "output_tokens", m.Usage.Output)
	}
	if level == slog.LevelError {
		fields = append(fields, "error", err)
	}
	o.log.Log(ctx, level, "turn", fields...)
	return reply, err //nolint:wrapcheck // the same contract
}

// turn runs a turn within what its caller may do.
func (o observed) turn(ctx context.Context, r chat.Request) (*chat.Reply, error) {
	leave, err := o.limits.begin(ctx, r.Owner)
	if err != nil {
		return nil, err
	}
	defer leave()
	return o.chats.Turn(ctx, r) //nolint:wrapcheck // the same contract
}

// count counts a turn and its runs.
func (o observed) count(outcome string, reply *chat.Reply, took time.Duration) {
	o.metrics.Turn(outcome, took)
	if reply == nil {
		return
	}
	for _, r := range reply.Runs {
		o.metrics.Run(string(r.Status), r.Duration)
	}
}

// note writes a turn to the audit log.
func (o observed) note(ctx context.Context, r chat.Request, reply *chat.Reply, outcome string) {
	e := audit.Event{Kind: audit.Turn, Subject: r.Owner, Chat: r.ChatID, Outcome: outcome}
	if reply != nil {
		e.Chat, e.Count = reply.ChatID, len(reply.Runs)
	}
	o.audit.record(ctx, e)
}

// isOperators reports whether an error has a cause that nobody but the operator is told, and
// can do something about: this is the one place where it is logged.
func isOperators(err error) bool {
	if err == nil {
		return false
	}
	e, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return true
	}
	switch e.Kind {
	case fault.Internal, fault.Unsupported, fault.Busy:
		return e.Unwrap() != nil
	case fault.Invalid, fault.NotFound, fault.Canceled: // the caller's
	}
	return false
}

// OpenFile opens a file of a chat; see chat.Service.
func (o observed) OpenFile(ctx context.Context, owner, uri string) (chat.File, io.ReadSeekCloser, error) {
	file, body, err := o.chats.OpenFile(ctx, owner, uri)
	o.audit.record(ctx, audit.Event{Kind: audit.FileRead, Subject: owner, Object: uri, Outcome: outcomeOf(nil, err)})
	return file, body, err //nolint:wrapcheck // the same contract
}

// ListFiles lists files of an owner; see chat.Service.
func (o observed) ListFiles(ctx context.Context, owner, cursor string, most int) ([]chat.ListedFile, bool, error) {
	return o.chats.ListFiles(ctx, owner, cursor, most) //nolint:wrapcheck // the same contract
}

// outcomeOf is how something ended, in one word or two; reply is that of a turn, else nil.
func outcomeOf(reply *chat.Reply, err error) string {
	switch {
	case err != nil:
		kind, _ := fault.Shown(err)
		return kind.String()
	case reply != nil && reply.IsError:
		return "failed"
	}
	return "ok"
}
