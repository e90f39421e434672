package chat

import (
	"context"
	"errors"

	"runpython/internal/pypi"
)

// errUnfit ends a run before its code begins, since another interpreter is needed.
var errUnfit = errors.New("the chat has installed other versions of preloaded packages")

// shared returns the packages that an interpreter has beside its environment.
func (s *Service) shared(preloaded bool) pypi.Lock {
	if s.options.Preload == nil || !preloaded {
		return pypi.Lock{}
	}
	return s.options.Preload()
}

// needsPlain reports whether a chat has installed other versions of preloaded packages: an interpreter that has
// loaded those is of no use to it.
func (s *Service) needsPlain(c *conversation) bool {
	return s.options.Preload != nil && c.lock.Contradicts(s.options.Preload())
}

// unfit reports whether the chat's interpreter is to be replaced for that. One that has run code is not, it may
// hold variables.
func (x *execution) unfit() bool {
	return x.chat.fresh && x.chat.kernel.Preloaded() && x.service.needsPlain(x.chat)
}

// fit replaces an interpreter that is unfit. Nothing is lost by it, and nobody notices but by the time it takes.
func (x *execution) fit(ctx context.Context) error {
	if !x.unfit() {
		return nil
	}
	x.service.logEnd(ctx, x.chat, x.service.end(x.chat, x.chat.loss))
	x.shipment.changed = nil
	for i := range x.shipment.packages {
		x.shipment.packages[i].Was = "" // the chat never had it
	}
	return x.ensureKernel(ctx)
}
