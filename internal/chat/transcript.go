package chat

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"runpython/internal/agent"
	"runpython/internal/excerpt"
	"runpython/internal/fault"
	"runpython/internal/store"
)

const (
	// keptTurns is how many turns of a chat are kept; the oldest go.
	keptTurns = 1000
	// keptRuns and the ones below bound what is kept of a turn, texts in bytes: their middle is left out. What a model
	// remembers of it, package agent bounds.
	keptRuns   = 16
	keptSource = 32 << 10
	keptOutput = 16 << 10 // of each stream, of the value, of the error
)

// note keeps a turn of a chat that the caller has, for the model of later ones and for those who read what was said.
func (s *Service) note(ctx context.Context, c *conversation, e agent.Exchange, runs []Run) error {
	save, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
	defer cancel()
	e = agent.Remember(nil, e)[0]
	t := store.Turn{Number: c.turns + 1, Begun: time.Unix(0, c.used.Load()), Message: e.Message, Words: e.Answer}
	for _, step := range e.Steps {
		t.Steps = append(t.Steps, store.Step(step))
	}
	first := max(0, len(runs)-keptRuns)
	for i, r := range runs[first:] {
		t.Runs = append(t.Runs, keptRun(c.runs-len(runs)+first+i+1, r))
	}
	if first > 0 {
		t.Runs[0].Dropped = first
	}
	gone, err := s.options.Store.SaveTurn(save, c.lease, c.record(), t, keptTurns)
	if err != nil {
		return fmt.Errorf("save a turn: %w", lostWrite(err))
	}
	s.discard(save, gone)
	c.turns++
	s.remember(c, e)
	return nil
}

// keptRun is what is kept of a run of that number.
func keptRun(number int, r Run) store.Run {
	return store.Run{
		Number: number, Cut: len(r.Code) > keptSource, Limited: r.Limited,
		Code: excerpt.Middle(r.Code, keptSource), Stdout: excerpt.Middle(r.Stdout, keptOutput), Stderr: excerpt.Middle(r.Stderr, keptOutput),
		Value: excerpt.Middle(r.Value, keptOutput), Error: excerpt.Middle(r.Error, keptOutput),
	}
}

// noteIn keeps a turn as note does, and tells in the reply when that cannot be done: what the code has shown is told all the same.
func (s *Service) noteIn(ctx context.Context, c *conversation, e agent.Exchange, reply *Reply) (*Reply, error) {
	err := s.note(ctx, c, e, reply.Runs)
	if errors.Is(err, store.ErrLost) {
		return nil, err
	}
	if err != nil {
		reply.IsError = true
		if problem := s.unrecorded(ctx, c, err); !slices.Contains(reply.Problems, problem) {
			reply.Problems = append(reply.Problems, problem)
			reply.Text += "\n\n" + problem
		}
	}
	return reply, nil
}

// unrecorded says that a turn is not kept, and why.
func (s *Service) unrecorded(ctx context.Context, c *conversation, err error) string {
	_, shown := fault.Shown(err)
	s.options.Log.ErrorContext(ctx, "keep a turn", "chat", c.id, "error", err)
	return "This turn is not kept: when the server ends, the chat will not know of it: " + shown
}

// recall reads what models are told of earlier turns of a chat that the caller has.
func (s *Service) recall(ctx context.Context, c *conversation) error {
	turns, err := s.options.Store.Turns(ctx, c.id, agent.MaxExchanges)
	if err != nil {
		return fmt.Errorf("read the turns of a chat: %w", err)
	}
	c.history, c.forgotten, c.turns = nil, false, 0
	for _, t := range turns {
		e := agent.Exchange{Message: t.Message, Answer: t.Words}
		for _, step := range t.Steps {
			e.Steps = append(e.Steps, agent.Step(step))
		}
		c.turns = t.Number
		s.remember(c, e)
	}
	return nil
}
