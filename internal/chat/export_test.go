package chat

import (
	"context"
	"maps"
	"slices"

	"runpython/internal/agent"
	"runpython/internal/store"
)

// Delete removes a chat with its interpreter and files, as its age does, when a test wants it. It
// waits for a turn that is under way; turns that wait behind it find the chat unknown.
func (s *Service) Delete(ctx context.Context, owner, id string) error {
	c, err := s.find(ctx, owner, id)
	if err != nil {
		return err
	}
	if err := s.enter(ctx, c, nil); err != nil {
		return err
	}
	defer c.leave()
	return s.remove(ctx, c)
}

// MaxHistories is the bound of Histories.
const MaxHistories = maxHistories

// Histories returns the bytes that are kept of earlier turns for models, counted anew.
func (s *Service) Histories() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, c := range s.chats {
		n += agent.HistoryBytes(c.history)
	}
	return n
}

// Leases returns those of this process.
func (s *Service) Leases() []store.Lease { return slices.Collect(maps.Values(s.held())) }

// Conversations counts the chats in memory.
func (s *Service) Conversations() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.chats)
}
