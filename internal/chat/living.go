package chat

import (
	"context"
	"errors"
	"fmt"

	"runpython/internal/fault"
	"runpython/internal/store"
)

// A place is that of one of the interpreters that may live at once. It is taken before the
// interpreter starts, and given back when it is gone or handed to the next one.
type place struct {
	kernel Interpreter // nil while it starts
	ending bool        // somebody closes it
}

// start gives a chat that the caller has an interpreter, one that its packages fit.
func (s *Service) start(ctx context.Context, c *conversation, fill func(dir string) error) error {
	if err := s.makeRoom(ctx, c); err != nil {
		return err
	}
	k, err := s.options.Start(ctx, s.startOf(c), fill)
	if err = s.settle(c, k, err); err == nil {
		c.fresh = true
	}
	return err
}

// startOf says what the interpreter of a chat that the caller has is to be.
func (s *Service) startOf(c *conversation) Start {
	fence := c.lease.Fence
	if !c.saved {
		fence = store.FirstFence
	}
	return Start{ChatID: c.id, Label: labelOf(c.id, fence), Plain: s.needsPlain(c)}
}

// settle gives a chat that the caller has its new interpreter, unless there is none by err; then its place is free.
func (s *Service) settle(c *conversation, k Interpreter, err error) error {
	s.mu.Lock()
	if err == nil && s.closed {
		err = errStopping()
	}
	if err != nil {
		delete(s.living, c)
		s.mu.Unlock()
		if k != nil {
			err = errors.Join(err, k.Close())
		}
		return err
	}
	s.living[c].kernel = k
	s.mu.Unlock()
	c.kernel = k
	return nil
}

// makeRoom takes a place for c. When all are taken, the interpreter that is idle and was
// used least recently gives its own.
func (s *Service) makeRoom(ctx context.Context, c *conversation) error {
	victim, err := s.takePlace(c)
	if err != nil || victim == nil {
		return err
	}
	defer victim.leave()
	beside := context.WithoutCancel(ctx) // a call that is stopped must not cost another chat its variables
	s.logEnd(ctx, victim, s.hibernate(beside, victim, fmt.Sprintf("its interpreter was ended to make room for other chats (%d may live at once)", s.options.Limits.Kernels)))
	return nil
}

// takePlace takes a free place for c, or that of a victim, which it enters; the caller ends
// the victim's interpreter.
func (s *Service) takePlace(c *conversation) (victim *conversation, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errStopping()
	}
	if len(s.living) < s.options.Limits.Kernels {
		s.living[c] = &place{}
		return nil, nil //nolint:nilnil // a free place
	}
	for other, p := range s.living {
		if p.kernel == nil || p.ending || victim != nil && other.used.Load() >= victim.used.Load() || !other.tryEnter() {
			continue
		}
		if victim != nil {
			victim.leave()
		}
		victim = other
	}
	if victim == nil {
		return nil, fault.New(fault.Busy, nil, fmt.Sprintf("all %d interpreters are at work; try again in a moment", s.options.Limits.Kernels))
	}
	s.living[c] = &place{}
	return victim, nil
}

// end closes the interpreter of a chat that the caller has, if there is one. why tells why its variables are lost, where
// its checkpoint does not have them.
func (s *Service) end(c *conversation, why string) error {
	if c.kernel == nil {
		return nil
	}
	c.kernel, c.fresh = nil, false
	if !c.restorable() {
		c.loss = why
	}
	return s.closeInterpreter(c)
}

// closeInterpreter closes the interpreter of a chat, unless that is done already. Its
// place is free when it is gone.
func (s *Service) closeInterpreter(c *conversation) error {
	s.mu.Lock()
	p := s.living[c]
	if p == nil || p.kernel == nil || p.ending {
		s.mu.Unlock()
		return nil
	}
	p.ending = true
	s.mu.Unlock()
	err := p.kernel.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.living, c)
	return err
}

// logEnd notes that an interpreter could not be removed; whoever wanted it gone goes on.
func (s *Service) logEnd(ctx context.Context, c *conversation, err error) {
	if err != nil {
		s.options.Log.ErrorContext(ctx, "end an interpreter", "chat", c.id, "error", err)
	}
}

// Living returns the number of interpreters that live or start.
func (s *Service) Living() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.living)
}
