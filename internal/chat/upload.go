package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"runpython/internal/excerpt"
	"runpython/internal/fault"
	"runpython/internal/store"
)

// PutFile writes a file into /work of a chat of owner: at once when its
// interpreter lives, else with its next start. chatID "" begins a chat, whose id is returned.
// The chat is the caller's only once all of r was read, so a slow one delays nobody's turn.
func (s *Service) PutFile(ctx context.Context, owner, chatID, name string, r io.Reader) (id string, err error) {
	if !plainPath(name) {
		return "", fault.New(fault.Invalid, nil, "the name of an uploaded file must be a relative path without . and ..")
	}
	if err := s.arrive(); err != nil {
		return "", err
	}
	defer s.depart()
	if chatID != "" { // before all of it is read
		if _, err := s.owned(ctx, owner, chatID); err != nil {
			return "", noChat(err)
		}
	}
	f, err := s.receive(name, r)
	if err != nil {
		return "", err
	}
	c, err := s.open(ctx, owner, chatID, nil)
	if err != nil {
		s.giveUp(context.WithoutCancel(ctx), []store.File{f})
		return "", noChat(err)
	}
	defer s.leaveTurn(c)
	if err := s.upload(ctx, c, f); err != nil {
		if chatID == "" { // whoever called does not hear of it
			undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTimeout)
			defer cancel()
			err = errors.Join(err, s.remove(undo, c))
		}
		return "", err
	}
	return c.id, nil
}

// noChat is err as whoever uploads may know it.
func noChat(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return fault.New(fault.NotFound, nil, "there is no chat with this chat_id")
	}
	return err
}

// receive keeps the content of an upload.
func (s *Service) receive(name string, r io.Reader) (store.File, error) {
	draft, err := s.options.Content.New()
	if err != nil {
		return store.File{}, ofDisk(err)
	}
	n, err := io.Copy(draft, io.LimitReader(r, s.options.Limits.WorkBytes+1))
	if err == nil && n > s.options.Limits.WorkBytes {
		err = fault.New(fault.Invalid, nil, fmt.Sprintf("the file is larger than /work may be (%d bytes, --work-size)", s.options.Limits.WorkBytes))
	}
	if err != nil {
		return store.File{}, errors.Join(ofDisk(err), draft.Discard())
	}
	f := store.File{Path: name}
	if err := keep(draft, &f); err != nil {
		return store.File{}, ofDisk(err)
	}
	return f, nil
}

// upload puts a file that was received into a chat that the caller has. On an error its
// content is let go.
func (s *Service) upload(ctx context.Context, c *conversation, f store.File) error {
	c.used.Store(s.options.Now().UnixNano())
	deleted, err := s.place(ctx, c, f)
	if err != nil {
		s.giveUp(context.WithoutCancel(ctx), []store.File{f})
		return err
	}
	err = s.refer(ctx, []store.File{f}, func() ([]string, error) {
		return s.options.Store.SaveFiles(ctx, c.lease, s.changesOf(c.turns, []store.File{f}, deleted))
	})
	if err != nil {
		return fmt.Errorf("keep an uploaded file: %w", ofDisk(err))
	}
	return nil
}

// place puts a file into the living interpreter of a chat, if there is one, and returns the records that are gone by it.
func (s *Service) place(ctx context.Context, c *conversation, f store.File) (deleted []string, err error) {
	if err := s.save(ctx, c); err != nil {
		return nil, err
	}
	// What a checkpoint brings back is older than the file, so the file has to be put into it.
	x := &execution{service: s, chat: c}
	if c.kernel == nil {
		if _, err := x.resume(ctx); err != nil {
			return nil, err
		}
	}
	if err := s.outdate(ctx, c); err != nil {
		return nil, err
	}
	live := c.kernel != nil && !c.kernel.Lost()
	if deleted, err = s.makeWay(ctx, c, f, live); err != nil || !live {
		return deleted, err
	}
	return deleted, s.putLive(ctx, c, f)
}

// makeWay looks whether a file fits to the others of the chat, within the bounds of what is
// kept. It returns the records that a living interpreter knows to be gone when it takes the file.
func (s *Service) makeWay(ctx context.Context, c *conversation, f store.File, live bool) (deleted []string, err error) {
	known, err := s.options.Store.Files(ctx, c.id)
	if err != nil {
		return nil, fmt.Errorf("look up the files of a chat: %w", err)
	}
	limits := s.options.Limits
	count, bytes := 1, f.Size
	for _, k := range known {
		if k.Path == f.Path {
			continue
		}
		count++
		if k.Hash != "" {
			bytes += k.Size
		}
	}
	deleted = contradicted(known, []store.File{f})
	switch {
	case count > limits.WorkFiles:
		return nil, fault.New(fault.Invalid, nil, fmt.Sprintf("the chat has %d files, the most it may have: delete some first", limits.WorkFiles))
	case bytes > limits.keptBytes():
		return nil, fault.New(fault.Invalid, nil, "there is no room: the most that is kept of a chat's files is "+excerpt.Size(limits.keptBytes())+"; delete some first")
	case len(deleted) > 0 && !live:
		return nil, fault.New(fault.Invalid, nil, "the name of the file takes a folder for a file or a file for a folder: choose another")
	}
	return deleted, nil
}

// putLive hands a kept file to the living interpreter.
func (s *Service) putLive(ctx context.Context, c *conversation, f store.File) error {
	body, err := s.options.Content.Open(f.Hash)
	if err != nil {
		return err
	}
	defer func() { _ = body.Close() }() // only read
	problem, err := c.kernel.Put(ctx, f.Path, body)
	if err != nil {
		return fmt.Errorf("upload: %w", err)
	}
	if problem != "" {
		return fault.New(fault.Invalid, nil, "the file could not be written into /work: "+problem)
	}
	return nil
}

// plainPath reports whether p stays in the folder it is relative to.
func plainPath(p string) bool {
	if p == "" || len(p) > 1024 || strings.ContainsRune(p, 0) {
		return false
	}
	for part := range strings.SplitSeq(p, "/") {
		if part == "" || part == "." || part == ".." {
			return false
		}
	}
	return true
}
