package app

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"runpython/internal/chat"
	"runpython/internal/fault"
	"runpython/internal/sandbox"
)

// observed counts and logs turns: ids, counts and times, never code, text or output.
type observed struct {
	chats   *chat.Service
	metrics *metrics
	log     *slog.Logger
}

// Turn runs a turn; see chat.Service.
func (o observed) Turn(ctx context.Context, r chat.Request) (*chat.Reply, error) {
	begun := time.Now()
	reply, err := o.chats.Turn(ctx, r)
	took := time.Since(begun)
	outcome := outcomeOf(reply, err)
	o.metrics.turns.WithLabelValues(outcome).Inc()
	o.metrics.seconds.Observe(took.Seconds())
	if !o.log.Enabled(ctx, slog.LevelInfo) {
		return reply, err //nolint:wrapcheck // the same contract
	}
	fields := []any{"outcome", outcome, "ms", took.Milliseconds(), "message_bytes", len(r.Message)}
	if reply != nil {
		fields = append(fields, "chat", reply.ChatID, "state", string(reply.State), "runs", len(reply.Runs),
			"images", len(reply.Images), "files", len(reply.Files), "text_bytes", len(reply.Text))
	}
	if kind, _ := fault.Shown(err); err != nil && kind == fault.Internal {
		o.log.ErrorContext(ctx, "turn", append(fields, "error", err)...)
		return reply, err //nolint:wrapcheck // the same contract
	}
	o.log.InfoContext(ctx, "turn", fields...)
	return reply, err //nolint:wrapcheck // the same contract
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
	m.registry.MustRegister(
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
	mux.Handle("GET /metrics", promhttp.HandlerFor(a.metrics.registry, promhttp.HandlerOpts{}))
	return mux
}
