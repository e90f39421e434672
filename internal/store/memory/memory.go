// Package memory keeps the records of chats as long as the process lives.
//
// # Trust
//
// Callers ask for what belongs to them; this package does not check owners.
//
// # Failure
//
// It never fails but for [store.ErrNotFound]. All is lost with the process.
package memory

import (
	"context"
	"slices"
	"strings"
	"sync"

	"runpython/internal/store"
)

// Store is safe for concurrent use. Its size is bounded by those who add chats.
type Store struct {
	mu    sync.RWMutex // guards what follows
	chats map[string]*record
}

type record struct {
	chat    store.Chat
	files   map[string]store.File
	results map[result]store.File
}

type result struct {
	turn int
	name string
}

// New returns an empty store.
func New() *Store { return &Store{chats: make(map[string]*record)} }

// SaveChat adds a chat or replaces its record; its files stay.
func (s *Store) SaveChat(_ context.Context, c store.Chat) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.chats[c.ID]; r != nil {
		r.chat = c
		return nil
	}
	s.chats[c.ID] = &record{chat: c, files: make(map[string]store.File), results: make(map[result]store.File)}
	return nil
}

// Chat returns the record of a chat.
func (s *Store) Chat(_ context.Context, id string) (store.Chat, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	r := s.chats[id]
	if r == nil {
		return store.Chat{}, store.ErrNotFound
	}
	return r.chat, nil
}

// Chats returns all chats, least recently used first.
func (s *Store) Chats(_ context.Context) ([]store.Chat, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	all := make([]store.Chat, 0, len(s.chats))
	for _, r := range s.chats {
		all = append(all, r.chat)
	}
	slices.SortFunc(all, func(a, b store.Chat) int { return a.Used.Compare(b.Used) })
	return all, nil
}

// DeleteChat removes a chat with its files and results.
func (s *Store) DeleteChat(_ context.Context, id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.chats, id)
	return nil
}

// SaveFiles adds or replaces files of a chat and removes others.
func (s *Store) SaveFiles(_ context.Context, id string, changed []store.File, deleted []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.chats[id]
	if r == nil {
		return store.ErrNotFound
	}
	for _, f := range changed {
		r.files[f.Path] = f
	}
	for _, path := range deleted {
		delete(r.files, path)
	}
	return nil
}

// Files returns the files of a chat, sorted by path.
func (s *Store) Files(_ context.Context, id string) ([]store.File, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	r := s.chats[id]
	if r == nil {
		return nil, store.ErrNotFound
	}
	all := make([]store.File, 0, len(r.files))
	for _, f := range r.files {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b store.File) int { return strings.Compare(a.Path, b.Path) })
	return all, nil
}

// File returns one file of a chat.
func (s *Store) File(_ context.Context, id, path string) (store.File, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if r := s.chats[id]; r != nil {
		if f, ok := r.files[path]; ok {
			return f, nil
		}
	}
	return store.File{}, store.ErrNotFound
}

// SaveResult adds something that a turn has made beside its files.
func (s *Store) SaveResult(_ context.Context, id string, turn int, f store.File) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.chats[id]
	if r == nil {
		return store.ErrNotFound
	}
	r.results[result{turn, f.Path}] = f
	return nil
}

// Result returns what SaveResult has kept.
func (s *Store) Result(_ context.Context, id string, turn int, name string) (store.File, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if r := s.chats[id]; r != nil {
		if f, ok := r.results[result{turn, name}]; ok {
			return f, nil
		}
	}
	return store.File{}, store.ErrNotFound
}
