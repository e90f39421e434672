package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"

	"runpython/internal/audit"
	"runpython/internal/caller"
	"runpython/internal/chat"
	"runpython/internal/config"
	"runpython/internal/metrics"
)

// auditor writes events to the audit log. An event that cannot be written stops nobody: it is counted, the log tells
// of the first one and of the end, and the audit log itself of how many there were.
type auditor struct {
	events  *audit.Log
	metrics *metrics.Metrics // nil where nobody looks
	log     *slog.Logger
	failing atomic.Bool
}

func openAudit(c config.Config, m *metrics.Metrics, log *slog.Logger) (*auditor, error) {
	events, err := audit.Open(audit.Dir(c.Data), audit.Options{Bytes: c.AuditBytes})
	if err != nil {
		return nil, err //nolint:wrapcheck // it says what it is
	}
	return &auditor{events: events, metrics: m, log: log}, nil
}

// Record notes what those who decide who may call have done: whose it is, from which address it came, what it is about. What
// comes from no address is the doing of the operator at the command line, whosever it is.
func (a *auditor) Record(ctx context.Context, event, subject, address, about string) {
	if a.metrics != nil {
		a.metrics.Auth(event)
	}
	if address == "" {
		address = caller.FromContext(ctx).String()
	}
	if address == "" {
		subject = ""
	}
	a.record(ctx, audit.Event{Kind: audit.Kind(event), Subject: subject, Address: address, Object: about})
}

// deleted notes chats that were deleted because of a rule. That is nobody's doing, although a call may be what it came with.
func (a *auditor) deleted(ctx context.Context, rule chat.Rule, chats int) {
	a.record(caller.NewContext(ctx, caller.Origin{}), audit.Event{Kind: audit.ChatsExpired, Object: string(rule), Count: chats})
}

// record writes an event, with the address of the caller that ctx has. Without one and without a subject
// it is the user's who runs this process.
func (a *auditor) record(ctx context.Context, e audit.Event) {
	if e.Address == "" {
		e.Address = caller.FromContext(ctx).String()
	}
	if e.Subject == "" && e.Address == "" {
		e.Subject = fmt.Sprintf("uid:%d", os.Getuid())
	}
	err := a.events.Append(ctx, e)
	if err != nil && a.metrics != nil {
		a.metrics.AuditLost()
	}
	switch was := a.failing.Swap(err != nil); {
	case err != nil && !was:
		a.log.ErrorContext(ctx, "events are lost to the audit log", "error", err)
	case err == nil && was:
		a.log.InfoContext(ctx, "the audit log is written again")
	}
}
