package chat

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"runpython/internal/fault"
	"runpython/internal/store"
)

const (
	// tendEvery is how often this process looks which of its chats others want, or have taken.
	tendEvery = 500 * time.Millisecond
	// askEvery is how often it tries to take a chat that another one has.
	askEvery = 100 * time.Millisecond
	// yieldFor is how long it leaves a chat that it has given away to who has asked.
	yieldFor = time.Second
	// idleKept is how long it has a chat without an interpreter.
	idleKept = 10 * time.Minute
	// besidesAtOnce bounds what is done for chats beside that.
	besidesAtOnce = 16
	// tendTimeout bounds what it does for its chats at once.
	tendTimeout = 30 * time.Second
)

// errLeft means that a conversation is over, since its chat was deleted or given away: another one may begin.
var errLeft = errors.New("the chat was given away")

const (
	lossRestart = "the server was restarted, or the process that had the chat stopped answering"
	lossMoved   = "another process of the server went on with the chat"
	lossEnded   = "its sandbox has ended unexpectedly"
)

// lostWrite is the error of a write, told to whoever sent the turn when another process has the chat.
func lostWrite(err error) error {
	if errors.Is(err, store.ErrLost) {
		return fault.New(fault.Busy, err, "another process of the server has taken over this chat meanwhile, so what this call has done is not kept; send it again")
	}
	return err
}

// hold notes that this process has a chat; the caller has its turn.
func (s *Service) hold(c *conversation, l store.Lease) {
	c.lease, c.saved = l, true
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leases[c] = l
}

// take makes this process the one that has the chat, and reads what it must know of it. When another process has it,
// it asks for it and waits, unless waits is nil: then it is store.ErrHeld.
func (s *Service) take(ctx context.Context, c *conversation, waits func()) error {
	if waits != nil {
		if err := s.awaitOthers(ctx, c.id); err != nil {
			return err
		}
	}
	for asked := false; ; {
		l, record, err := s.options.Store.Take(ctx, c.id)
		if err == nil {
			return s.begin(ctx, c, l, record)
		}
		if !errors.Is(err, store.ErrHeld) || waits == nil {
			return fmt.Errorf("take over a chat: %w", err)
		}
		if !asked {
			asked = true
			waits()
		}
		if err := s.options.Store.Ask(ctx, c.id); err != nil {
			return fmt.Errorf("take over a chat: %w", err)
		}
		if err := pause(ctx, askEvery); err != nil {
			return err
		}
	}
}

// begin gets ready a chat of which this process has just taken the lease. Where that cannot be, it lets go of it: nobody
// else would get the chat as long as this process lives.
func (s *Service) begin(ctx context.Context, c *conversation, l store.Lease, record store.Chat) error {
	err := s.retrieve(ctx, l)
	if err == nil {
		err = s.load(ctx, c, record)
	}
	if err != nil {
		beside, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
		defer cancel()
		return errors.Join(err, s.options.Store.Release(beside, l, record.Loss))
	}
	s.hold(c, l)
	return nil
}

// awaitOthers leaves a chat that this process has just given away to who has asked for it.
func (s *Service) awaitOthers(ctx context.Context, id string) error {
	s.mu.Lock()
	since, given := s.given[id]
	s.mu.Unlock()
	if !given {
		return nil
	}
	return pause(ctx, yieldFor-time.Since(since))
}

// pause waits within ctx.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fault.New(fault.Canceled, ctx.Err(), "the call was stopped while it waited for the chat, which another process of the server has")
	}
}

// load reads into a conversation what the processes before have left.
func (s *Service) load(ctx context.Context, c *conversation, record store.Chat) (err error) {
	if c.lock, err = readLock(record.Packages); err != nil {
		return err
	}
	c.packages, c.runs, c.begun, c.replay, c.horizon = record.Packages, record.Runs, record.Created, record.Replay, record.Horizon
	c.used.Store(max(c.used.Load(), record.Used.UnixNano()))
	if err := s.recall(ctx, c); err != nil {
		return err
	}
	if err := s.loadCheckpoint(ctx, c); err != nil {
		return err
	}
	if c.loss = record.Loss; c.loss == "" && c.replay == store.NoReplay && !c.restorable() {
		c.loss = lossRestart
	}
	return nil
}

// tend looks after the chats of this process until ctx ends.
func (s *Service) tend(ctx context.Context) {
	tick := time.NewTicker(tendEvery)
	defer tick.Stop()
	failed := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := s.tendOnce(ctx)
		if err != nil && !failed && ctx.Err() == nil {
			s.options.Log.ErrorContext(ctx, "look after the chats", "error", err)
		}
		failed = err != nil
	}
}

func (s *Service) tendOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, tendTimeout)
	defer cancel()
	before := s.held() // a chat that is taken while the database is asked is not missed in its answer
	held, err := s.options.Store.Beat(ctx)
	if err != nil {
		return fmt.Errorf("say that this process lives: %w", err)
	}
	found := make(map[store.Lease]store.Held, len(held))
	for _, h := range held {
		found[h.Lease] = h
	}
	for c, l := range before {
		h, there := found[l]
		switch {
		case !there:
			err = errors.Join(err, s.lose(ctx, c, l))
		case h.Wanted:
			s.beside(ctx, c, func(ctx context.Context) error { return s.giveAway(ctx, c, lossMoved) })
		case !s.lives(c):
			if s.since(&c.used) > idleKept {
				err = errors.Join(err, s.giveAway(ctx, c, ""))
			}
		case s.since(&c.rested) >= s.options.Limits.Idle && s.since(&c.refused) > checkpointAgain:
			s.beside(ctx, c, func(ctx context.Context) error { return s.rest(ctx, c) })
		case s.options.Checkpoints != nil && c.changed() && s.since(&c.rested) >= quietTime && s.since(&c.refused) > checkpointAgain:
			s.preserveSoon(ctx, c)
		}
	}
	return err
}

// beside does something for a chat that may take a while, which others must not wait for, unless such a thing is
// under way for it, or for too many: then it is not begun. What is begun is brought to its end.
func (s *Service) beside(ctx context.Context, c *conversation, do func(ctx context.Context) error) (begun bool) {
	select {
	case s.besides <- struct{}{}:
	default:
		return false
	}
	if !c.tended.CompareAndSwap(false, true) {
		<-s.besides
		return false
	}
	ctx = context.WithoutCancel(ctx)
	s.tending.Go(func() {
		defer func() { <-s.besides }()
		defer c.tended.Store(false)
		if err := do(ctx); err != nil {
			s.options.Log.ErrorContext(ctx, "look after a chat", "chat", c.id, "error", err)
		}
	})
	return true
}

// held returns the leases of this process, and forgets which chats it has given away a while ago.
func (s *Service) held() map[*conversation]store.Lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, since := range s.given {
		if time.Since(since) > yieldFor {
			delete(s.given, id)
		}
	}
	return maps.Clone(s.leases)
}

func (s *Service) lives(c *conversation) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.living[c] != nil
}

// lose ends the interpreter of a chat that another process has taken, also under a turn: that one
// fails, and nothing of it is written.
func (s *Service) lose(ctx context.Context, c *conversation, l store.Lease) error {
	s.mu.Lock()
	lost := s.leases[c] == l
	s.mu.Unlock()
	if !lost {
		return nil
	}
	s.options.Log.WarnContext(ctx, "another process has taken a chat", "chat", c.id)
	if !c.tryEnter() {
		return s.closeInterpreter(c)
	}
	defer c.leave()
	return s.leaveChat(c)
}

// leaveChat ends the conversation of a chat that this process does not have any more; the caller has it.
func (s *Service) leaveChat(c *conversation) error {
	s.drop(c)
	return s.end(c, lossMoved)
}

// giveAway lets go of a chat, unless a turn is under way: then it is for later. loss is why its variables are lost, if
// there are some.
func (s *Service) giveAway(ctx context.Context, c *conversation, loss string) error {
	if !c.tryEnter() {
		return nil
	}
	defer c.leave()
	if c.gone {
		return nil
	}
	err := s.hibernate(ctx, c, loss)
	if loss == lossMoved {
		s.mu.Lock()
		s.given[c.id] = time.Now()
		s.mu.Unlock()
	}
	s.drop(c)
	if release := s.options.Store.Release(ctx, c.lease, c.loss); release != nil {
		return errors.Join(err, fmt.Errorf("let go of a chat: %w", release))
	}
	return err
}
