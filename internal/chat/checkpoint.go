package chat

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"runpython/internal/fault"
	"runpython/internal/kernel"
	"runpython/internal/store"
)

// Checkpoints is what chats need to outlive their interpreters; see [Interpreter] for how one is made.
type Checkpoints interface {
	// Resume makes an interpreter for the chat of a Start of the checkpoint in the folder dir. prepare, which may be called
	// twice, is called with its Environment and Preloaded before it exists, and fills it as it was. What may be shown
	// of an error says why the variables cannot come back; one that is fault.Busy or fault.Canceled is of the moment.
	Resume(ctx context.Context, start Start, dir string, prepare func(environment string, preloaded bool) error) (Interpreter, error)
	// Rescue calls keep for each guest of a killed process whose label is wanted, of which one is here mostly; see Service.Rescue.
	// The guest is removed then, unless keep says to leave it.
	Rescue(ctx context.Context, wanted func(label string) bool, keep func(ctx context.Context, g Stranded) (leave bool, err error)) error
	// Copy makes the folder to, which is not there before, a checkpoint like the one in the folder from.
	Copy(from, to string) error
	// Remove removes the checkpoint in the folder dir, if there is one, and what killed processes have left of it.
	Remove(dir string) error
	// Size is what the checkpoint in the folder dir takes on the disk alone, and Shared what checkpoints and the
	// guests ahead share of it.
	Size(dir string) (bytes int64, err error)
	Shared() (bytes int64, err error)
	// Bound names what checkpoints of this program depend on: one of another name is not used.
	Bound() string
	// Dir is the folder in which each checkpoint has one of its own, with others of a name that begins with a dot.
	Dir() string
}

const (
	// checkpointTime bounds the making of one, and closeTime that of all in Close.
	checkpointTime = time.Minute
	closeTime      = 20 * time.Second
	// checkpointsAtOnce bounds those that are made side by side.
	checkpointsAtOnce = 4
	// quietlyAtOnce bounds those that are made beside their chats: each holds its image in memory, and takes processors from whoever
	// works. quietlyQueued bounds those and others that wait for it.
	quietlyAtOnce = 2
	quietlyQueued = 8
	// checkpointAgain is how long one that could not be made is not tried again without need.
	checkpointAgain = time.Minute
	// quietTime is how long a chat has been quiet when a checkpoint of it is made in the background.
	quietTime = 2 * time.Second
	// orphanAge is how old a folder is that no record names when it is removed: a younger one may be getting its record.
	orphanAge = 10 * time.Minute
)

// errUnsaved means that a chat has no interpreter that could be stored.
var errUnsaved = errors.New("there is nothing to make a checkpoint of")

// changed reports whether something was done in the interpreter since its checkpoint was made, or there is none.
func (c *conversation) changed() bool { return c.touched.Load() != c.stored.Load() }

// restorable reports whether the checkpoint has the variables of the last turn; the caller has the chat.
func (c *conversation) restorable() bool { return c.checkpoint != nil && !c.changed() }

// setCheckpoint notes the checkpoint that has what was done until touched; the caller has the chat.
func (c *conversation) setCheckpoint(p *store.Checkpoint, touched int64) {
	c.checkpoint = p
	if p == nil {
		touched = -1
	}
	c.stored.Store(touched)
}

// written has an interpreter make a checkpoint, and returns the name of its folder. The caller need not have the chat.
func (s *Service) written(ctx context.Context, make func(ctx context.Context, dir string) error) (folder string, err error) {
	ctx, cancel := context.WithTimeout(ctx, checkpointTime)
	defer cancel()
	folder = newFolder()
	if err := make(ctx, s.folderOf(folder)); err != nil {
		return "", errors.Join(err, s.options.Checkpoints.Remove(s.folderOf(folder)))
	}
	return folder, nil
}

// newFolder returns a name for the folder of a checkpoint.
func newFolder() string { return strings.ToLower(rand.Text()) }

func (s *Service) folderOf(name string) string {
	return filepath.Join(s.options.Checkpoints.Dir(), name)
}

// record notes a checkpoint, whose folder has what was done in a chat until touched; the caller has the chat.
func (s *Service) record(ctx context.Context, c *conversation, p store.Checkpoint, touched int64) error {
	if err := s.saveCheckpoint(ctx, c.lease, p); err != nil {
		return err
	}
	c.setCheckpoint(&p, touched)
	return nil
}

// saveCheckpoint writes the record of a checkpoint. Folders that are not needed any more are removed, or this one's after
// an error.
func (s *Service) saveCheckpoint(ctx context.Context, l store.Lease, p store.Checkpoint) error {
	var gone []string
	var err error
	if p.Bytes, err = s.options.Checkpoints.Size(s.folderOf(p.Folder)); err == nil {
		gone, err = s.options.Store.SaveCheckpoint(ctx, l, p)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("note a checkpoint: %w", err), s.options.Checkpoints.Remove(s.folderOf(p.Folder)))
	}
	for _, folder := range gone {
		s.discardCheckpoint(ctx, l.Chat, folder)
	}
	return nil
}

// discardCheckpoint removes a folder that no record names any more; what cannot be removed is found later.
func (s *Service) discardCheckpoint(ctx context.Context, id, folder string) {
	if folder == "" || s.options.Checkpoints == nil {
		return
	}
	if err := s.options.Checkpoints.Remove(s.folderOf(folder)); err != nil {
		s.options.Log.ErrorContext(ctx, "remove a checkpoint", "chat", id, "error", err)
	}
}

// preserve makes a checkpoint of the interpreter of a chat that the caller has, unless the one that there is has all of it.
func (s *Service) preserve(ctx context.Context, c *conversation) error {
	switch {
	case s.options.Checkpoints == nil || c.kernel == nil || !c.saved:
		return errUnsaved
	case c.restorable():
		return nil
	}
	select {
	case s.writing <- struct{}{}:
		defer func() { <-s.writing }()
	case <-ctx.Done():
		return fmt.Errorf("wait for other checkpoints: %w", ctx.Err())
	}
	touched := c.touched.Load()
	folder, err := s.written(ctx, c.kernel.Checkpoint)
	if err != nil {
		return err
	}
	return s.record(ctx, c, store.Checkpoint{Folder: folder, Bound: s.options.Checkpoints.Bound(), Turn: c.turns}, touched)
}

// hibernate ends the interpreter of a chat that the caller has, and has its variables come back with its next turn. When
// they cannot, loss is why they are lost.
func (s *Service) hibernate(ctx context.Context, c *conversation, loss string) error {
	if c.kernel == nil {
		return nil
	}
	switch {
	case c.fresh: // it holds nothing
		loss = c.loss
	case c.kernel.Lost():
		loss = lossEnded
	default:
		if err := s.preserve(ctx, c); err != nil && !errors.Is(err, errUnsaved) {
			s.options.Log.WarnContext(ctx, "make a checkpoint", "chat", c.id, "error", err)
		}
	}
	return s.end(c, loss)
}

// rest frees the interpreter of a chat that is idle. One of which no checkpoint can be made goes on.
func (s *Service) rest(ctx context.Context, c *conversation) error {
	if !c.tryEnter() {
		return nil
	}
	defer c.leave()
	if c.gone || c.kernel == nil || s.since(&c.rested) < s.options.Limits.Idle {
		return nil
	}
	if !c.fresh && !c.kernel.Lost() {
		if err := s.preserve(ctx, c); err != nil {
			c.refused.Store(s.options.Now().UnixNano())
			return fmt.Errorf("make a checkpoint of chat %s: %w", c.id, err)
		}
	}
	return s.hibernate(ctx, c, c.loss)
}

// preserveSoon has a checkpoint made of a quiet chat, unless too many wait for theirs.
func (s *Service) preserveSoon(ctx context.Context, c *conversation) {
	select {
	case s.queued <- struct{}{}:
	default:
		return
	}
	begun := s.beside(ctx, c, func(ctx context.Context) error {
		defer func() { <-s.queued }()
		s.quietly <- struct{}{}
		defer func() { <-s.quietly }()
		return s.preserveBeside(ctx, c)
	})
	if !begun {
		<-s.queued
	}
}

// preserveBeside makes a checkpoint of a quiet chat while its next turn may begin, which goes first: the checkpoint is
// given up then. One that holds too much for that gets its own when it is idle.
func (s *Service) preserveBeside(ctx context.Context, c *conversation) error {
	if !c.tryEnter() {
		return nil
	}
	k, turn, touched := c.kernel, c.turns, c.touched.Load()
	skip := c.gone || k == nil || !c.saved || c.fresh || c.restorable() || k.Lost()
	c.leave()
	if skip {
		return nil
	}
	folder, err := s.written(ctx, k.CheckpointBeside)
	if err == nil && !c.tryEnter() {
		return s.options.Checkpoints.Remove(s.folderOf(folder)) //nolint:wrapcheck // logged as what it is
	}
	if err != nil {
		return s.notPreserved(c, err)
	}
	defer c.leave()
	if c.gone || c.kernel != k || c.touched.Load() != touched {
		return s.options.Checkpoints.Remove(s.folderOf(folder)) //nolint:wrapcheck // logged as what it is
	}
	return s.record(ctx, c, store.Checkpoint{Folder: folder, Bound: s.options.Checkpoints.Bound(), Turn: turn}, touched)
}

// notPreserved notes why there is no checkpoint, and returns it if it is an error.
func (s *Service) notPreserved(c *conversation, err error) error {
	if errors.Is(err, kernel.ErrDisturbed) {
		return nil
	}
	c.refused.Store(s.options.Now().UnixNano())
	if errors.Is(err, kernel.ErrTooLarge) {
		return nil
	}
	return fmt.Errorf("make a checkpoint of chat %s: %w", c.id, err)
}

// loadCheckpoint finds the checkpoint that a chat has, and whether something ran in a turn since then; the caller has the chat.
func (s *Service) loadCheckpoint(ctx context.Context, c *conversation) error {
	c.setCheckpoint(nil, 0)
	p, err := s.options.Store.Checkpoint(ctx, c.id)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("find a checkpoint: %w", err)
	}
	touched := c.touched.Load()
	if later := c.turns - p.Turn; later > 0 {
		turns, err := s.options.Store.Turns(ctx, c.id, later)
		if err != nil {
			return fmt.Errorf("find a checkpoint: %w", err)
		}
		for _, t := range turns {
			if len(t.Runs) > 0 {
				touched = -1
			}
		}
	}
	c.setCheckpoint(&p, touched)
	return nil
}

// resume gives a chat that the caller has the interpreter of its checkpoint. lost is why that cannot be, "" if it is done;
// an error is no reason to give the variables up.
func (s *Service) resume(ctx context.Context, c *conversation, prepare func(environment string, preloaded bool) error) (lost string, err error) {
	p := *c.checkpoint
	if s.options.Checkpoints == nil || p.Bound != s.options.Checkpoints.Bound() {
		return "its checkpoint cannot be used: another version of Python or of this program made it", nil
	}
	if err := s.makeRoom(ctx, c); err != nil {
		return "", err
	}
	k, err := s.options.Checkpoints.Resume(ctx, s.startOf(c), s.folderOf(p.Folder), prepare)
	if err = s.settle(c, k, err); err == nil {
		c.fresh, c.resumed, c.interrupted = false, true, p.Interrupted
		return "", nil
	}
	kind, shown := fault.Shown(err)
	switch {
	case ctx.Err() != nil, kind == fault.Busy, kind == fault.Canceled:
		return "", err
	case kind == fault.Internal:
		shown = "its checkpoint could not be restored"
	}
	s.options.Log.WarnContext(ctx, "restore a chat", "chat", c.id, "error", err)
	return shown, nil
}

// outdate forgets the checkpoint of a chat that the caller has, since what comes now is not in it. One from which runs are
// to be executed again stays: they end with the files as they are kept.
func (s *Service) outdate(ctx context.Context, c *conversation) error {
	c.touched.Add(1)
	if c.checkpoint == nil || c.replay != store.NoReplay {
		return nil
	}
	gone, err := s.options.Store.DropCheckpoint(ctx, c.lease)
	if err != nil {
		return fmt.Errorf("forget a checkpoint: %w", lostWrite(err))
	}
	c.setCheckpoint(nil, 0)
	s.discardCheckpoint(ctx, c.id, gone)
	return nil
}

// removeOrphans removes folders of checkpoints that no record names.
func (s *Service) removeOrphans(ctx context.Context) error {
	if s.options.Checkpoints == nil {
		return nil
	}
	entries, err := os.ReadDir(s.options.Checkpoints.Dir()) // before the records: what is there with one now has one then
	if err != nil {
		return fmt.Errorf("list the checkpoints: %w", err)
	}
	named, err := s.options.Store.CheckpointFolders(ctx)
	if err != nil {
		return fmt.Errorf("list the checkpoints: %w", err)
	}
	needed := make(map[string]bool, len(named))
	for _, folder := range named {
		needed[folder] = true
	}
	for _, e := range entries {
		info, statErr := e.Info()
		if statErr != nil || needed[e.Name()] || time.Since(info.ModTime()) < orphanAge {
			continue
		}
		if strings.HasPrefix(e.Name(), ".") { // the draft of one that was never done
			err = errors.Join(err, os.RemoveAll(s.folderOf(e.Name())))
			continue
		}
		err = errors.Join(err, s.options.Checkpoints.Remove(s.folderOf(e.Name())))
	}
	return err
}
