package chat

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"runpython/internal/fault"
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

// A Stranded guest is one of a process that was killed, whose Start had that Label.
type Stranded struct {
	Label string
	Busy  bool // code runs in it, which Store interrupts
	// Store makes a checkpoint of it as the folder dir, which is not there before. The guest goes on.
	Store func(ctx context.Context, dir string) error
}

// Rescue takes over a guest before turns are taken: its chat goes on with it. A guest whose chat is gone, or has gone on
// without it, is of no use. leave says that it is to be left where it is: another process has taken the chat and looks for
// it, or it cannot be stored at the moment, and the next turn of the chat looks for it.
func (s *Service) Rescue(ctx context.Context, g Stranded) (leave bool, err error) {
	id, fence, ok := readLabel(g.Label)
	if !ok || s.options.Checkpoints == nil {
		return false, nil
	}
	lease, record, err := s.takeOver(ctx, store.Lease{Chat: id, Fence: fence})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return false, nil
	case errors.Is(err, store.ErrHeld):
		return true, nil
	case err == nil:
		leave, err = s.adopt(ctx, lease, g)
		err = errors.Join(err, s.options.Store.Release(ctx, lease, record.Loss))
	}
	if err != nil {
		return leave, fmt.Errorf("rescue the guest of chat %s: %w", id, err)
	}
	return leave, nil
}

// takeOver takes a chat from the process of a lease, which has ended, once the database knows that. When another one has the
// chat, it is store.ErrHeld.
func (s *Service) takeOver(ctx context.Context, dead store.Lease) (store.Lease, store.Chat, error) {
	ctx, cancel := context.WithTimeout(ctx, rescueWait)
	defer cancel()
	for {
		lease, record, err := s.options.Store.Take(ctx, dead.Chat)
		if !errors.Is(err, store.ErrHeld) || s.options.Store.Check(ctx, dead) != nil || pause(ctx, askEvery) != nil {
			return lease, record, err //nolint:wrapcheck // Rescue does
		}
	}
}

// retrieve looks for the guest of a process that was killed and had a chat which this one has just taken.
func (s *Service) retrieve(ctx context.Context, l store.Lease) error {
	if s.options.Checkpoints == nil {
		return nil
	}
	wanted := func(label string) bool {
		id, _, ok := readLabel(label)
		return ok && id == l.Chat
	}
	err := s.options.Checkpoints.Rescue(ctx, wanted, func(ctx context.Context, g Stranded) (leave bool, err error) { return s.adopt(ctx, l, g) })
	if err != nil && isOfTheMoment(ctx, err) {
		return fmt.Errorf("rescue the guest of a chat: %w", err)
	}
	if err != nil { // the chat goes on without it, and says so
		s.options.Log.WarnContext(ctx, "rescue the guest of a chat", "chat", l.Chat, "error", err)
	}
	return nil
}

// isOfTheMoment reports whether what has failed may be done in a moment.
func isOfTheMoment(ctx context.Context, err error) bool {
	kind, _ := fault.Shown(err)
	return ctx.Err() != nil || kind == fault.Busy || kind == fault.Canceled
}

// adopt makes a guest the checkpoint of the newest turn of its chat, which this process has, unless something was written to
// the chat since the guest was its. A guest that cannot be stored at the moment is to be left.
func (s *Service) adopt(ctx context.Context, l store.Lease, g Stranded) (leave bool, err error) {
	_, fence, _ := readLabel(g.Label)
	wrote, err := s.options.Store.Wrote(ctx, l.Chat)
	if err != nil {
		return true, err //nolint:wrapcheck // who asked does
	}
	record, err := s.options.Store.Chat(ctx, l.Chat)
	if err != nil {
		return true, err //nolint:wrapcheck // who asked does
	}
	if fence < wrote || fence >= l.Fence || record.Replay != store.NoReplay { // in a replay its variables are not those of the last turn
		return false, nil
	}
	turns, err := s.options.Store.Turns(ctx, l.Chat, 1)
	if err != nil {
		return true, err //nolint:wrapcheck // who asked does
	}
	p := store.Checkpoint{Folder: newFolder(), Bound: s.options.Checkpoints.Bound(), Interrupted: g.Busy}
	if len(turns) == 1 {
		p.Turn = turns[0].Number
	}
	if err := g.Store(ctx, s.folderOf(p.Folder)); err != nil {
		err = ofDisk(err)
		return isOfTheMoment(ctx, err), errors.Join(err, s.options.Checkpoints.Remove(s.folderOf(p.Folder)))
	}
	return false, s.saveCheckpoint(ctx, l, p)
}
