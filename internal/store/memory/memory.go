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
	"maps"
	"slices"
	"strings"
	"sync"

	"runpython/internal/store"
)

// Store is safe for concurrent use. It has no bound of its own but that of a chat's
// results: package chat bounds the chats and the files of each.
type Store struct {
	mu    sync.RWMutex // guards what follows
	chats map[string]*record
}

type record struct {
	chat    store.Chat
	files   map[string]store.File
	results []result // oldest first
}

type result struct {
	run  int
	file store.File
}

func (r result) is(run int, name string) bool { return r.run == run && r.file.Path == name }

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
	s.chats[c.ID] = &record{chat: c, files: make(map[string]store.File)}
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

// DeleteChat removes a chat with its files and results, which are returned.
func (s *Store) DeleteChat(_ context.Context, id string) (gone []store.File, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.chats[id]
	if r == nil {
		return nil, nil
	}
	delete(s.chats, id)
	gone = slices.Collect(maps.Values(r.files))
	for _, old := range r.results {
		gone = append(gone, old.file)
	}
	return gone, nil
}

// SaveFiles adds or replaces files of a chat, and then removes others. It returns the
// records that were replaced or removed.
func (s *Store) SaveFiles(_ context.Context, id string, changed []store.File, deleted []string) (gone []store.File, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.chats[id]
	if r == nil {
		return nil, store.ErrNotFound
	}
	for _, f := range changed {
		if old, ok := r.files[f.Path]; ok {
			gone = append(gone, old)
		}
		r.files[f.Path] = f
	}
	for _, path := range deleted {
		if old, ok := r.files[path]; ok {
			gone = append(gone, old)
			delete(r.files, path)
		}
	}
	return gone, nil
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

// Recent returns files with content of all chats of owner, as [store.Place] orders them: at
// most the given number of those after a place, from the first one when it is the zero Place.
func (s *Store) Recent(_ context.Context, owner string, after store.Place, most int) ([]store.Listed, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var first []store.Listed
	for id, r := range s.chats {
		if r.chat.Owner != owner {
			continue
		}
		for _, f := range r.files {
			l := store.Listed{Chat: id, File: f}
			if f.Hash == "" || !after.Saved.IsZero() && l.Place().Compare(after) <= 0 {
				continue
			}
			i, _ := slices.BinarySearchFunc(first, l.Place(), func(e store.Listed, p store.Place) int { return e.Place().Compare(p) })
			if i == most {
				continue
			}
			first = slices.Insert(first[:min(len(first), most-1)], i, l)
		}
	}
	return first, nil
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

// SaveResult adds something that a run has made beside its files, or replaces what has
// its name. The chat's oldest results make room for it within most; those and the one
// replaced are returned. The newest stays, however large it is.
func (s *Store) SaveResult(_ context.Context, id string, run int, f store.File, most store.Bounds) (gone []store.File, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.chats[id]
	if r == nil {
		return nil, store.ErrNotFound
	}
	size := f.Size
	r.results = slices.DeleteFunc(r.results, func(old result) bool {
		if old.is(run, f.Path) {
			gone = append(gone, old.file)
			return true
		}
		size += old.file.Size
		return false
	})
	oldest := 0
	for ; oldest < len(r.results) && (len(r.results)-oldest >= most.Count || size > most.Bytes); oldest++ {
		gone = append(gone, r.results[oldest].file)
		size -= r.results[oldest].file.Size
	}
	r.results = append(slices.Delete(r.results, 0, oldest), result{run, f})
	return gone, nil
}

// Result returns what SaveResult has kept.
func (s *Store) Result(_ context.Context, id string, run int, name string) (store.File, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if r := s.chats[id]; r != nil {
		if i := slices.IndexFunc(r.results, func(kept result) bool { return kept.is(run, name) }); i >= 0 {
			return r.results[i].file, nil
		}
	}
	return store.File{}, store.ErrNotFound
}
