package app

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"runpython/internal/audit"
	"runpython/internal/chat"
	"runpython/internal/config"
	"runpython/internal/fault"
	"runpython/internal/store"
	"runpython/internal/store/content"
	"runpython/internal/store/database"
)

// Records are the chats that are kept, of all owners, without what runs code. They are safe for concurrent use, also while
// a server uses the same. Close them.
type Records struct {
	app   *App // with nothing but chats
	chats *database.Store
	files *content.Store
}

// OpenRecords opens the chats that are kept.
func OpenRecords(ctx context.Context, c config.Config, log *slog.Logger) (_ *Records, err error) {
	r := &Records{app: &App{config: c, log: log}}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Close())
		}
	}()
	if err := os.MkdirAll(c.Data, 0o700); err != nil {
		return nil, fault.New(fault.Unsupported, err, "the data folder "+c.Data+" cannot be made: choose another with --data")
	}
	if r.app.audit, err = openAudit(c, nil, log); err != nil {
		return nil, lacking(err, c.Data)
	}
	r.app.onClose("audit log", r.app.audit.events.Close)
	if r.chats, r.files, err = r.app.openRecords(ctx); err != nil {
		return nil, lacking(err, c.Data)
	}
	kept, err := r.app.openCheckpoints("") // they are only removed
	if err != nil {
		return nil, lacking(err, c.Data)
	}
	r.app.chats = chat.NewService(chat.Options{ //nolint:contextcheck // it lives longer than the call
		Store: r.chats, Content: r.files, Checkpoints: kept, Log: log, Beside: true,
		Limits: chat.Limits{Chats: c.MaxChats, Keep: c.Keep, Storage: c.MaxStorage},
	})
	r.app.onClose("chats", r.app.chats.Close)
	return r, nil
}

// Close lets go of the chats.
func (r *Records) Close() error { return r.app.Close() }

// Summaries returns all chats; see chat.Service.
func (r *Records) Summaries(ctx context.Context) ([]chat.Summary, error) {
	return r.app.chats.Summaries(ctx) //nolint:wrapcheck // the same contract
}

// Transcript returns what was said and run in a chat of any owner. An unknown one is fault.NotFound.
func (r *Records) Transcript(ctx context.Context, id string) (t *chat.Transcript, err error) {
	err = r.of(ctx, id, func(owner string) error {
		t, err = r.app.chats.Transcript(ctx, owner, id)
		return err //nolint:wrapcheck // the same contract
	})
	r.app.audit.record(ctx, audit.Event{Kind: audit.ChatRead, Chat: id, Outcome: outcomeOf(nil, err)})
	return t, err
}

// Delete removes a chat of any owner; see chat.Service. An unknown one is fault.NotFound.
func (r *Records) Delete(ctx context.Context, id string) error {
	err := r.of(ctx, id, func(owner string) error { return r.app.chats.Delete(ctx, owner, id) })
	r.app.audit.record(ctx, audit.Event{Kind: audit.ChatDeleted, Chat: id, Outcome: outcomeOf(nil, err)})
	return err
}

// Fork makes a copy of a chat of any owner, which belongs to the same; see chat.Service. An unknown one is fault.NotFound.
func (r *Records) Fork(ctx context.Context, id string) (f *chat.Forked, err error) {
	err = r.of(ctx, id, func(owner string) error {
		f, err = r.app.chats.Fork(ctx, owner, id)
		return err //nolint:wrapcheck // the same contract
	})
	e := audit.Event{Kind: audit.ChatForked, Chat: id, Outcome: outcomeOf(nil, err)}
	if f != nil {
		e.Object = f.ID
	}
	r.app.audit.record(ctx, e)
	return f, err
}

// Undo takes the latest turn of a chat of any owner back; see chat.Service. An unknown one is fault.NotFound.
func (r *Records) Undo(ctx context.Context, id string) (u *chat.Undone, err error) {
	err = r.of(ctx, id, func(owner string) error {
		u, err = r.app.chats.Undo(ctx, owner, id)
		return err //nolint:wrapcheck // the same contract
	})
	e := audit.Event{Kind: audit.ChatUndone, Chat: id, Outcome: outcomeOf(nil, err)}
	if u != nil {
		e.Count = u.Turn
	}
	r.app.audit.record(ctx, e)
	return u, err
}

// Import makes a chat of the local user of turns that come from elsewhere; see chat.Service.
func (r *Records) Import(ctx context.Context, turns []chat.ImportedTurn, replay bool) (id string, err error) {
	id, err = r.app.chats.Import(ctx, "", turns, replay)
	r.app.audit.record(ctx, audit.Event{Kind: audit.ChatImported, Chat: id, Count: len(turns), Outcome: outcomeOf(nil, err)})
	return id, err //nolint:wrapcheck // the same contract
}

// Open returns the content of a file of a transcript, which the caller closes.
func (r *Records) Open(ctx context.Context, t *chat.Transcript, f chat.File) (io.ReadCloser, error) {
	_, body, err := r.app.chats.OpenFile(ctx, t.Owner, f.URI)
	return body, err //nolint:wrapcheck // the same contract
}

// of does something with a chat of whoever it belongs to.
func (r *Records) of(ctx context.Context, id string, do func(owner string) error) error {
	record, err := r.chats.Chat(ctx, id)
	if err == nil {
		err = do(record.Owner)
	}
	if errors.Is(err, store.ErrNotFound) {
		return fault.New(fault.NotFound, err, fmt.Sprintf("there is no chat %q: `runpython chats list` shows those that are there", strings.ToValidUTF8(id, "\uFFFD")))
	}
	return err
}
