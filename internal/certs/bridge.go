package certs

import (
	"context"
	"log/slog"
	"slices"

	"go.uber.org/zap/zapcore"
)

// A bridge passes what certmagic logs on to the log of the program. Its ordinary events are details there.
type bridge struct {
	log    *slog.Logger
	fields []zapcore.Field
}

func levelOf(l zapcore.Level) slog.Level {
	switch {
	case l >= zapcore.ErrorLevel:
		return slog.LevelError
	case l == zapcore.WarnLevel:
		return slog.LevelWarn
	}
	return slog.LevelDebug
}

// Enabled implements zapcore.Core.
func (b *bridge) Enabled(l zapcore.Level) bool {
	return b.log.Enabled(context.Background(), levelOf(l))
}

// With implements zapcore.Core.
func (b *bridge) With(fields []zapcore.Field) zapcore.Core {
	return &bridge{log: b.log, fields: append(slices.Clip(b.fields), fields...)}
}

// Check implements zapcore.Core.
func (b *bridge) Check(e zapcore.Entry, c *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if b.Enabled(e.Level) {
		return c.AddCore(e, b)
	}
	return c
}

// Write implements zapcore.Core.
func (b *bridge) Write(e zapcore.Entry, fields []zapcore.Field) error {
	values := zapcore.NewMapObjectEncoder()
	for _, f := range append(slices.Clip(b.fields), fields...) {
		f.AddTo(values)
	}
	b.log.Log(context.Background(), levelOf(e.Level), "certificates", "event", e.Message, "fields", values.Fields)
	return nil
}

// Sync implements zapcore.Core.
func (b *bridge) Sync() error { return nil }
