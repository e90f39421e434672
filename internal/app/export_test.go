package app

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"runpython/internal/agent"
	"runpython/internal/config"
	"runpython/internal/limit"
	"runpython/internal/provider"
	"runpython/internal/sandbox"
)

// What the tests see of the inside.

const FilesPerKernel = filesPerKernel

func KernelsFor(memoryBytes, files int64) int { return kernelsFor(memoryBytes, files, idleKernelBytes) }

func LimitsOf(c config.Config) sandbox.Limits { return limitsOf(c) }

func IsOperators(err error) bool { return isOperators(err) }

func UnpackRemedy(err error, data string) string { return unpackRemedy(err, data) }

func Disk(data string) Finding { return disk(data) }

func Lacking(err error, data string) error { return lacking(err, data) }

func NamespaceLimits(proc string) []string { return namespaceLimits(proc) }

func ThreadsLeft(limit, used int64) Finding { return threadsLeft(limit, used) }

// Front is what stands before a handler, of a program with nothing else.
func Front(c config.Config, log *slog.Logger, next http.Handler) http.Handler {
	a := &App{config: c, log: log, limits: newLimits(c, nil)}
	return a.front(next)
}

func Pooled(a *App) int64 { return a.host.Stats().Pooled }

func NewModel(ctx context.Context, c config.Config, log *slog.Logger, environ []string) (agent.Options, error) {
	return newModel(ctx, c, log, environ)
}

func ModelFinding(ctx context.Context, c config.Config, build Build) Finding {
	return model(ctx, c, build)
}

func BoundListener(l net.Listener, all, each int, proxy netip.Addr, refuse func(limit string)) net.Listener {
	is := func(a netip.Addr) bool { return a == proxy }
	return &boundedListener{Listener: l, all: limit.NewPlaces(all), each: limit.NewPlaces(each), proxy: is, refuse: refuse}
}

const BodyTimeout = bodyTimeout

func Timely(next http.Handler) http.Handler { return timely(next) }

func LimitRequests(c config.Config, next http.Handler) http.Handler {
	return newLimits(c, newMetrics(nil, Build{})).handler(next)
}

func LimitCalls(c config.Config) func(ctx context.Context, owner string) (leave func(), err error) {
	return newLimits(c, newMetrics(nil, Build{})).begin
}

func LimitEvents(c config.Config) func(event, address string) (wait time.Duration, ok bool) {
	return newLimits(c, newMetrics(nil, Build{})).Allow
}

func RecordEvent(t *testing.T, data, event, subject, address, about string) {
	t.Helper()
	a, err := openAudit(config.Config{Data: data}, newMetrics(nil, Build{}), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	a.Record(t.Context(), event, subject, address, about)
	if err := a.events.Close(); err != nil {
		t.Error(err)
	}
}

func ProviderOf(c config.Config) (*provider.Provider, error) { return newProvider(c) }
