package app

import (
	"runpython/internal/config"
	"runpython/internal/fault"
	"runpython/internal/llm/wire"
	"runpython/internal/span"
)

// openSpans begins to send spans, if the standard variables of OpenTelemetry name a collector.
func (a *App) openSpans(c config.Config, build Build) error {
	settings, err := span.FromVariables(variables(build.Environ), build.Version)
	if err != nil {
		return fault.New(fault.Invalid, nil, err.Error())
	}
	client, err := wire.NewClient(c.CABundle)
	if err != nil {
		return fault.New(fault.Invalid, nil, "--ca-bundle: "+err.Error())
	}
	if a.spans = span.Start(settings, client, a.log); a.spans != nil {
		a.log.Info("spans are sent", "endpoint", settings.Endpoint)
		a.onClose("spans", func() error { a.spans.Close(); return nil })
	}
	return nil
}
