package chat

import (
	"cmp"
	"slices"

	"runpython/internal/agent"
)

// maxHistories bounds what models are told of earlier turns, of all chats together, in bytes. What a chat
// has of it, package agent bounds.
const maxHistories = 64 << 20

// remember notes a turn of a chat that the caller has for the model of later ones.
func (s *Service) remember(c *conversation, e agent.Exchange) {
	c.history = agent.Remember(c.history, e)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.noteHistory(c)
	if s.histories > maxHistories {
		s.forget()
	}
}

// noteHistory counts the history of a chat that the caller has; the caller holds mu.
func (s *Service) noteHistory(c *conversation) {
	bytes := agent.HistoryBytes(c.history)
	s.histories += bytes - c.historyBytes
	c.historyBytes = bytes
}

// forget gives up histories of chats that nobody uses, which are read again when somebody does, those that were used least recently first, until half
// of the room is free, so that it need not be done at each turn; the caller holds mu.
func (s *Service) forget() {
	var all []*conversation
	for _, c := range s.chats {
		if c.historyBytes > 0 {
			all = append(all, c)
		}
	}
	slices.SortFunc(all, func(a, b *conversation) int { return cmp.Compare(a.used.Load(), b.used.Load()) })
	for _, c := range all {
		if s.histories <= maxHistories/2 {
			return
		}
		if c.tryEnter() {
			c.history, c.forgotten = nil, true
			s.noteHistory(c)
			c.leave()
		}
	}
}
