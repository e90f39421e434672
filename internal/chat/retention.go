package chat

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"runpython/internal/store"
)

const (
	// sweepEvery is how often old chats are looked for, when a chat begins.
	sweepEvery = time.Minute
	// houseEvery is how often they are without that, and files that no chat has any more.
	houseEvery = time.Hour
)

// A Rule is why chats are deleted that nobody has asked to delete.
type Rule string

// The rules, by what they bound.
const (
	ByAge          Rule = "age"           // Limits.Keep
	ByChats        Rule = "chats"         // Limits.Chats
	ByStorage      Rule = "storage"       // Limits.Storage
	ByOwnerChats   Rule = "owner_chats"   // Limits.OwnerChats
	ByOwnerStorage Rule = "owner_storage" // Limits.OwnerStorage
)

// keepHouse removes at once and then from time to time what nobody needs any more, until ctx ends.
func (s *Service) keepHouse(ctx context.Context) {
	if s.options.Beside {
		return
	}
	tick := time.NewTicker(houseEvery)
	defer tick.Stop()
	for {
		if err := s.options.Content.Sweep(ctx, s.options.Store.Unreferenced); err != nil && ctx.Err() == nil {
			s.options.Log.ErrorContext(ctx, "remove files that nobody needs", "error", err)
		}
		if err := s.removeOrphans(ctx); err != nil && ctx.Err() == nil {
			s.options.Log.ErrorContext(ctx, "remove checkpoints that nobody needs", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if err := s.sweep(ctx); err != nil && ctx.Err() == nil {
			s.options.Log.ErrorContext(ctx, "look for old chats", "error", err)
		}
	}
}

// sweep deletes chats that are too old, too many or too large together, and that nobody uses. It looks once in
// a while. A chat that cannot be deleted is no fault of the caller's.
func (s *Service) sweep(ctx context.Context) error {
	if !s.sweepIsDue() {
		return nil
	}
	records, err := s.options.Store.Chats(ctx)
	if err != nil {
		return fmt.Errorf("look for old chats: %w", err)
	}
	stored, over, err := s.overStorage(ctx)
	if err != nil {
		return err
	}
	s.noteUse(records)
	slices.SortFunc(records, func(a, b store.Chat) int { return a.Used.Compare(b.Used) })
	excess := len(records) - s.options.Limits.Chats + 1
	owners := s.overShare(records, stored)
	counts := make(map[Rule]int)
	defer s.tellDeleted(ctx, counts)
	for _, r := range records {
		own := owners[r.Owner]
		rule, kept := s.ruleOf(r, share{excess, over}, *own)
		if kept {
			continue
		}
		deleted, err := s.removeIdle(ctx, r)
		if err != nil {
			s.options.Log.ErrorContext(ctx, "delete an old chat", "chat", r.ID, "error", err)
		}
		if deleted {
			counts[rule]++
			excess--
			over -= stored[r.ID]
			own.chats--
			own.bytes -= stored[r.ID]
		}
	}
	return nil
}

// ruleOf returns by which rule a chat is deleted, when all chats and those of its owner are by so much too many.
func (s *Service) ruleOf(r store.Chat, all, own share) (rule Rule, kept bool) {
	switch {
	case s.options.Now().Sub(r.Used) >= s.options.Limits.Keep:
		return ByAge, false
	case own.chats > 0:
		return ByOwnerChats, false
	case own.bytes > 0:
		return ByOwnerStorage, false
	case all.chats > 0:
		return ByChats, false
	case all.bytes > 0:
		return ByStorage, false
	}
	return "", true
}

// tellDeleted tells of the chats that a sweep has deleted, in an order that is always the same.
func (s *Service) tellDeleted(ctx context.Context, counts map[Rule]int) {
	if s.options.Deleted == nil {
		return
	}
	for _, rule := range slices.Sorted(maps.Keys(counts)) {
		s.options.Deleted(ctx, rule, counts[rule])
	}
}

// A share is by how many chats and bytes somebody has too much.
type share struct {
	chats int
	bytes int64
}

// overShare returns the shares of all owners. The local user has none: the bounds of all chats are theirs.
func (s *Service) overShare(records []store.Chat, stored map[string]int64) map[string]*share {
	l := s.options.Limits
	owners := make(map[string]*share)
	for _, r := range records {
		own := owners[r.Owner]
		if own == nil {
			own = &share{chats: -l.OwnerChats, bytes: -l.OwnerStorage}
			owners[r.Owner] = own
		}
		own.chats++
		own.bytes += stored[r.ID]
	}
	for owner, own := range owners {
		if owner == "" || l.OwnerChats == 0 {
			own.chats = 0
		}
		if owner == "" || l.OwnerStorage == 0 {
			own.bytes = 0
		}
	}
	return owners
}

// overStorage returns how many bytes each chat has, and by how many all have too much, with what their checkpoints share.
func (s *Service) overStorage(ctx context.Context) (stored map[string]int64, over int64, err error) {
	if s.options.Limits.Storage == 0 && s.options.Limits.OwnerStorage == 0 {
		return nil, 0, nil
	}
	if stored, err = s.options.Store.Stored(ctx); err != nil {
		return nil, 0, fmt.Errorf("add up what chats have: %w", err)
	}
	over = -s.options.Limits.Storage
	if s.options.Checkpoints != nil {
		shared, err := s.options.Checkpoints.Shared()
		if err != nil {
			return nil, 0, fmt.Errorf("add up what chats have: %w", err)
		}
		over += shared
	}
	for _, bytes := range stored {
		over += bytes
	}
	if s.options.Limits.Storage == 0 {
		over = 0
	}
	return stored, over, nil
}

func (s *Service) sweepIsDue() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	due := time.Since(s.swept) > sweepEvery || len(s.chats) >= s.options.Limits.Chats
	if due {
		s.swept = time.Now()
	}
	return due
}

// noteUse replaces when chats were used by what this process knows better.
func (s *Service) noteUse(records []store.Chat) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, r := range records {
		if c := s.chats[r.ID]; c != nil {
			records[i].Used = time.Unix(0, max(c.used.Load(), r.Used.UnixNano()))
		}
	}
}

// removeIdle deletes a chat, unless it is in use, here or by another process, or was used since the record was read.
func (s *Service) removeIdle(ctx context.Context, r store.Chat) (deleted bool, err error) {
	c, err := s.conversationOf(r)
	if err != nil || !c.tryEnter() {
		return false, err
	}
	defer c.leave()
	err = s.check(ctx, c, nil)
	if errors.Is(err, store.ErrHeld) || errors.Is(err, errLeft) || errors.Is(err, store.ErrNotFound) {
		return false, nil
	}
	if err != nil || c.used.Load() > r.Used.UnixNano() {
		return false, err
	}
	return true, s.remove(ctx, c)
}
