package app

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"runpython/internal/chat"
	"runpython/internal/config"
	"runpython/internal/fault"
	"runpython/internal/sandbox"
)

// observed counts and logs turns: ids, counts and times, never code, text or output.
type observed struct {
	chats   *chat.Service
	metrics *metrics
	log     *slog.Logger
	local   bool // the caller is who started the program, and shows causes itself
}

// Turn runs a turn; see chat.Service.
func (o observed) Turn(ctx context.Context, r chat.Request) (*chat.Reply, error) {
	begun := time.Now()
	reply, err := o.chats.Turn(ctx, r)
	took := time.Since(begun)
	outcome := outcomeOf(reply, err)
	o.metrics.turns.WithLabelValues(outcome).Inc()
	o.metrics.seconds.Observe(took.Seconds())
	level := slog.LevelInfo
	if !o.local && isOperators(err) {
		level = slog.LevelError
	}
	if !o.log.Enabled(ctx, level) {
		return reply, err //nolint:wrapcheck // the same contract
	}
	fields := []any{"outcome", outcome, "ms", took.Milliseconds(), "message_bytes", len(r.Message)}
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
	return o.chats.OpenFile(ctx, owner, uri) //nolint:wrapcheck // the same contract
}

// ListFiles lists files of an owner; see chat.Service.
func (o observed) ListFiles(ctx context.Context, owner, cursor string, most int) ([]chat.ListedFile, bool, error) {
	return o.chats.ListFiles(ctx, owner, cursor, most) //nolint:wrapcheck // the same contract
}

func outcomeOf(reply *chat.Reply, err error) string {
	switch {
	case err != nil:
		kind, _ := fault.Shown(err)
		return kind.String()
	case reply.IsError:
		return "failed"
	}
	return "ok"
}

// metrics are what /metrics shows.
type metrics struct {
	registry *prometheus.Registry
	turns    *prometheus.CounterVec
	seconds  prometheus.Histogram

	connections     *prometheus.CounterVec // of guests, to the outside
	connectionBytes *prometheus.CounterVec
}

func newMetrics(host *sandbox.Host, chats *chat.Service) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		turns: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "runpython_turns_total", Help: "Turns by outcome: ok, failed (the code), or the kind of the error.",
		}, []string{"outcome"}),
		seconds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "runpython_turn_seconds", Help: "Time of a turn.", Buckets: prometheus.ExponentialBuckets(0.0005, 4, 10),
		}),
	}
	stat := func(name, help string, value func(sandbox.Stats) int64) prometheus.Collector {
		return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 {
			return float64(value(host.Stats()))
		})
	}
	m.connections = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "runpython_egress_connections_total", Help: "Connections of guests to the outside, by decision.",
	}, []string{"decision"})
	m.connectionBytes = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "runpython_egress_bytes_total", Help: "Bytes of those connections, out of guests and into them.",
	}, []string{"direction"})
	m.registry.MustRegister(m.connections, m.connectionBytes,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), m.turns, m.seconds,
		stat("runpython_guests", "Guests that exist, the pool's included.", func(s sandbox.Stats) int64 { return s.Live }),
		stat("runpython_guests_pooled", "Guests that wait in the pool.", func(s sandbox.Stats) int64 { return s.Pooled }),
		stat("runpython_guests_started", "Guests started from nothing since the start.", func(s sandbox.Stats) int64 { return s.Started }),
		stat("runpython_guests_restored", "Guests restored from an image since the start.", func(s sandbox.Stats) int64 { return s.Restored }),
		stat("runpython_guest_starts_failed", "Starts that were tried again or given up.", func(s sandbox.Stats) int64 { return s.Failed }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "runpython_interpreters", Help: "Interpreters of chats that live."},
			func() float64 { return float64(chats.Living()) }),
	)
	return m
}

// adminHandler serves what an operator's tools ask for. It is not for callers.
func (a *App) adminHandler() http.Handler {
	mux := http.NewServeMux()
	say := func(w http.ResponseWriter, status int, text string) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text) // the client may be gone
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok\n") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { // it is not served before the program is ready
		if a.draining.Load() {
			say(w, http.StatusServiceUnavailable, "stopping\n")
			return
		}
		if s := a.host.Stats(); s.Failed > 0 && s.Started+s.Restored == 0 {
			say(w, http.StatusServiceUnavailable, "no guest has started; runpython doctor says why\n")
			return
		}
		say(w, http.StatusOK, "ready\n")
	})
	// On an address that other machines reach, the numbers are for administrators.
	mux.Handle("GET /metrics", a.access.admins(promhttp.HandlerFor(a.metrics.registry, promhttp.HandlerOpts{}), config.IsLoopback(a.config.AdminListen)))
	return mux
}
