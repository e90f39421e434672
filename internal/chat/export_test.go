package chat

import (
	"context"

	"runpython/internal/agent"
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
