package chat

import (
	"context"
	"errors"
	"fmt"

	"runpython/internal/store"
)

// A Forked tells of a copy of a chat.
type Forked struct {
	ID   string
	Loss string // why it has no variables, "" if it has what the chat has
}

// Fork makes a copy of a chat of owner, who has it as well: transcript, files, packages and variables. It waits for a turn that is
// under way, also in another process. The chat goes on as it is. An unknown chat and one of someone else are store.ErrNotFound alike.
func (s *Service) Fork(ctx context.Context, owner, id string) (*Forked, error) {
	c, err := s.seize(ctx, owner, id, nil)
	if err != nil {
		return nil, err
	}
	defer s.leaveTurn(c)
	if err := s.sweep(ctx); err != nil { // not before: it may be the oldest chat, and one in use is left
		return nil, stopped(ctx, err)
	}
	f := store.Fork{ID: newID(), Begun: s.options.Now(), Loss: c.loss}
	if c.kernel != nil && !c.fresh && !c.kernel.Lost() {
		if err := s.preserve(ctx, c); err != nil && !errors.Is(err, errUnsaved) {
			s.options.Log.WarnContext(ctx, "make a checkpoint", "chat", c.id, "error", err)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, stopped(ctx, fmt.Errorf("fork a chat: %w", err))
	}
	copied, err := s.copyCheckpoints(ctx, c, &f)
	if err != nil {
		return nil, err
	}
	if !copied && c.runs > 0 && c.replay == store.NoReplay && f.Loss == "" {
		f.Loss = lossUncopied
	}
	if err := s.options.Store.Fork(ctx, c.lease, f); err != nil {
		s.discardCopies(ctx, f)
		return nil, fmt.Errorf("fork a chat: %w", lostWrite(ofDisk(err)))
	}
	return &Forked{ID: f.ID, Loss: f.Loss}, nil
}

// lossUncopied is why a fork has no variables.
const lossUncopied = "the chat is a copy of one of which no checkpoint could be made or copied"

// copyCheckpoints gives a fork its own checkpoints, and reports whether the variables are among them. One that cannot be copied
// is done without, unless for want of room.
func (s *Service) copyCheckpoints(ctx context.Context, c *conversation, f *store.Fork) (variables bool, err error) {
	if s.options.Checkpoints == nil {
		return false, nil
	}
	all, err := s.options.Store.Checkpoints(ctx, c.id)
	if err != nil {
		return false, fmt.Errorf("fork a chat: %w", err)
	}
	for _, p := range all {
		if !p.Past && !c.restorable() && c.replay == store.NoReplay {
			continue // it has older variables
		}
		from := s.folderOf(p.Folder)
		p.Folder = newFolder()
		err := s.options.Checkpoints.Copy(from, s.folderOf(p.Folder))
		if full := ofDisk(err); full != err { //nolint:errorlint // it is another one then
			s.discardCopies(ctx, *f)
			return false, fmt.Errorf("fork a chat: %w", full)
		}
		if err != nil {
			s.options.Log.WarnContext(ctx, "copy a checkpoint", "chat", c.id, "error", err)
			continue
		}
		f.Checkpoints = append(f.Checkpoints, p)
		variables = variables || !p.Past
	}
	return variables, nil
}

// discardCopies removes the checkpoints of a fork that was not made.
func (s *Service) discardCopies(ctx context.Context, f store.Fork) {
	for _, p := range f.Checkpoints {
		s.discardCheckpoint(ctx, f.ID, p.Folder)
	}
}
