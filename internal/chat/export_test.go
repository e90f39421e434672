package chat

import (
	"maps"
	"slices"

	"runpython/internal/agent"
	"runpython/internal/store"
)

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
