package chat

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"runpython/internal/store"
)

// rescueWait is how long a process that was killed may still count as living in the database.
const rescueWait = 7 * time.Second

// labelOf names the guest of a chat of a lease.
func labelOf(id string, fence int64) string { return id + " " + strconv.FormatInt(fence, 10) }

// readLabel is the counterpart of labelOf.
func readLabel(label string) (id string, fence int64, ok bool) {
	id, number, _ := strings.Cut(label, " ")
	fence, err := strconv.ParseInt(number, 10, 64)
	return id, fence, err == nil && validID(id)
}

// Rescue takes over a guest of a process that was killed, whose Start had that label, before turns are taken: its chat goes on with
// it. busy says that code ran in it, which make interrupts; make stores it as the folder dir. A guest whose chat is
// gone, or was in other hands since, is left.
func (s *Service) Rescue(ctx context.Context, label string, busy bool, make func(ctx context.Context, dir string) error) error {
	id, fence, ok := readLabel(label)
	if !ok || s.options.Checkpoints == nil {
		return nil
	}
	lease, record, err := s.takeOver(ctx, id)
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrHeld) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("rescue the guest of chat %s: %w", id, err)
	}
	if lease.Fence == fence+1 && record.Replay == store.NoReplay { // else its variables are not yet those of the last turn
		err = s.rescue(ctx, lease, busy, make)
	}
	release := s.options.Store.Release(ctx, lease, record.Loss)
	if err = errors.Join(err, release); err != nil {
		return fmt.Errorf("rescue the guest of chat %s: %w", id, err)
	}
	return nil
}

// takeOver takes a chat from its process, which has ended, once the database knows that.
func (s *Service) takeOver(ctx context.Context, id string) (store.Lease, store.Chat, error) {
	ctx, cancel := context.WithTimeout(ctx, rescueWait)
	defer cancel()
	for {
		lease, record, err := s.options.Store.Take(ctx, id)
		if !errors.Is(err, store.ErrHeld) || pause(ctx, askEvery) != nil {
			return lease, record, err //nolint:wrapcheck // Rescue does
		}
	}
}

// rescue makes the guest the checkpoint of the newest turn of its chat.
func (s *Service) rescue(ctx context.Context, l store.Lease, busy bool, make func(ctx context.Context, dir string) error) error {
	turns, err := s.options.Store.Turns(ctx, l.Chat, 1)
	if err != nil {
		return err //nolint:wrapcheck // Rescue does
	}
	p := store.Checkpoint{Folder: newFolder(), Bound: s.options.Checkpoints.Bound(), Interrupted: busy}
	if len(turns) == 1 {
		p.Turn = turns[0].Number
	}
	if err := make(ctx, s.folderOf(p.Folder)); err != nil {
		return errors.Join(err, s.options.Checkpoints.Remove(s.folderOf(p.Folder)))
	}
	return s.saveCheckpoint(ctx, l, p)
}
