package chat

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"runpython/internal/fault"
	"runpython/internal/store"
)

// An Undone tells what Undo has done.
type Undone struct {
	Turn    int    // the number of the turn that is gone
	Message string // the begin of its message, valid UTF-8
	Base    int    // the turn after which the checkpoint was made that the next turn goes on from, 0 for a new interpreter
	Again   []int  // the turns whose runs the next turn executes again before its own
	Loss    string // why that cannot be, so that the variables are lost
}

// Undo takes the latest turn of a chat of owner back: transcript, results, files and variables. These come back with the next turn,
// from a checkpoint and by executing the runs since then again. It waits for a turn that is under way, also in another process. All of
// it is done or nothing, whenever the process ends. An unknown chat and one of someone else are store.ErrNotFound alike; where
// there is no turn, or what was before it is not kept, it is fault.NotFound. With an error beside it, an Undone is done, but may
// not say all of what follows.
func (s *Service) Undo(ctx context.Context, owner, id string) (*Undone, error) {
	c, err := s.seize(ctx, owner, id, nil)
	if err != nil {
		return nil, err
	}
	defer s.leaveTurn(c)
	turns, err := s.options.Store.Turns(ctx, id, 1)
	if err != nil {
		return nil, fmt.Errorf("undo a turn: %w", err)
	}
	if len(turns) == 0 {
		return nil, fault.New(fault.NotFound, nil, "the chat has no turn that could be undone")
	}
	last := turns[0]
	u := store.Undo{Turn: last.Number, Used: s.options.Now()}
	if len(last.Runs) > 0 {
		u.Run = last.Runs[0].Number - last.Runs[0].Dropped
	}
	gone, err := s.options.Store.Undo(ctx, c.lease, u)
	if errors.Is(err, store.ErrForgotten) {
		return nil, fault.New(fault.NotFound, err, fmt.Sprintf("turn %d cannot be undone: what the chat was before it is not kept any more", last.Number))
	}
	if err != nil {
		return nil, fmt.Errorf("undo a turn: %w", lostWrite(err))
	}
	// Now it is done; what is left is to follow.
	beside, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
	defer cancel()
	s.logEnd(beside, c, s.end(c, ""))
	s.clear(beside, id, gone)
	record, err := s.options.Store.Chat(beside, id)
	if err == nil {
		err = s.load(beside, c, record)
	}
	if err != nil {
		s.drop(c) // whoever comes next reads it again
		return nil, errors.Join(fmt.Errorf("read a chat of which a turn was undone: %w", err), s.options.Store.Release(beside, c.lease, ""))
	}
	done := &Undone{Turn: last.Number, Message: beginOf(last.Message)}
	return done, s.foresee(beside, c, done)
}

// foresee tells what the next turn of a chat will do to get the variables back; the caller has the chat.
func (s *Service) foresee(ctx context.Context, c *conversation, u *Undone) error {
	if c.checkpoint != nil {
		u.Base = c.checkpoint.Turn
	}
	if u.Loss = tooMuch(c.turns - u.Base); u.Loss != "" {
		return nil
	}
	turns, err := s.turnsSince(ctx, c, u.Base)
	if u.Loss = neverRan(turns, u.Base); u.Loss != "" {
		return nil
	}
	for _, t := range turns {
		if slices.ContainsFunc(t.Runs, func(r store.Run) bool { return leftOut(r) == "" }) {
			u.Again = append(u.Again, t.Number)
		}
	}
	return err
}

// turnsSince returns the turns of a chat after one.
func (s *Service) turnsSince(ctx context.Context, c *conversation, base int) ([]store.Turn, error) {
	if c.turns <= base {
		return nil, nil
	}
	turns, err := s.options.Store.Turns(ctx, c.id, c.turns-base)
	if err != nil {
		return nil, fmt.Errorf("read the turns of a chat: %w", err)
	}
	return turns, nil
}
