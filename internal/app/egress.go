package app

import (
	"errors"
	"fmt"

	"runpython/internal/chat"
	"runpython/internal/egress"
	"runpython/internal/sandbox"
)

// A networked interpreter has a way out of its guest, which ends after it.
type networked struct {
	chat.Interpreter

	gate *egress.Gate
}

// Close ends the interpreter and its way out. The guest is gone when the gate closes, so
// nothing is held there that it could let go of.
func (n networked) Close() error {
	return errors.Join(n.Interpreter.Close(), n.gate.Close())
}

// openEgress makes what gives guests a way out, if the operator allows any.
func (a *App) openEgress() {
	if a.config.Egress.None() {
		return
	}
	a.egress = egress.New(egress.Config{Policy: a.config.Egress, Log: a.log, Report: func(r egress.Record) {
		a.metrics.Egress(string(r.Decision), r.Sent, r.Received)
	}})
}

// gateOf opens the way out of a guest for a chat, nil if there is none.
func (a *App) gateOf(s *sandbox.Sandbox, chatID string) (*egress.Gate, error) {
	if a.egress == nil {
		return nil, nil //nolint:nilnil // documented
	}
	gate, err := a.egress.Open(s.Egress, chatID)
	if err != nil {
		return nil, fmt.Errorf("open the way out: %w", err)
	}
	return gate, nil
}
