package app

import (
	"context"
	"log/slog"

	"runpython/internal/agent"
	"runpython/internal/config"
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

func Pooled(a *App) int64 { return a.host.Stats().Pooled }

func NewModel(ctx context.Context, c config.Config, log *slog.Logger, environ []string) (agent.Options, error) {
	return newModel(ctx, c, log, environ)
}

func ModelFinding(ctx context.Context, c config.Config, build Build) Finding {
	return model(ctx, c, build)
}
