package check

import (
	"context"
	"strings"
	"time"

	"runpython/internal/check/probe"
)

// pipeScheme begins the name of a target that is a program.
const pipeScheme = "stdio:"

// PipeTarget returns how reports name a server that is started, by its name in a configuration. Its command may have secrets and is not told.
func PipeTarget(name string) string { return pipeScheme + name }

// ScanPipe scans a server that open starts. It is like [Scan], but what is about an endpoint is not applicable. An error is
// that of open.
func ScanPipe(ctx context.Context, target string, open probe.Opener, o Options) (*Report, Observation, error) {
	if o.Now.IsZero() {
		o.Now = time.Now()
	}
	facts, err := probe.RunPipe(ctx, open, probe.Options{Now: o.Now, Step: o.Step})
	if err != nil {
		return nil, Observation{}, err //nolint:wrapcheck // it says all
	}
	f, err := find(facts, o.hide())
	if err != nil {
		return nil, Observation{}, err
	}
	return f.told(target, o)
}

// overPipe corrects the signals of a program: it has no endpoint.
func (f *findings) overPipe(all map[string]Signal) {
	for _, id := range []string{tlsCertificate, authEnforced, httpsEnforced, hstsPresent, dnssecChain, registration} {
		all[id] = Signal{}.as(NotApplicable, 0, "the server is started by its client and has no endpoint")
	}
	if s := all[handshake]; s.Status == Pass {
		s.Summary = "standard streams, by a live handshake in " + strings.Join(f.facts.Transport.Accepted(), ", ")
		all[handshake] = s
	}
}
