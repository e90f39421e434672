package chat

import (
	"context"

	"runpython/internal/store"
)

// A Store keeps the records of chats, which other processes have as well: who has a chat, writes to it with the lease
// with which it took it. Writes with another lease than the latest are store.ErrLost.
type Store interface {
	// Begin adds a chat, which this process has then.
	Begin(ctx context.Context, c store.Chat) (store.Lease, error)
	// Take gives a chat to this process, with its record. When another one has it, that is store.ErrHeld, and
	// Ask tells that one. Release lets go, with the reason why the variables are lost. Check reports whether a lease is the latest.
	Take(ctx context.Context, id string) (store.Lease, store.Chat, error)
	Ask(ctx context.Context, id string) error
	Release(ctx context.Context, l store.Lease, loss string) error
	Check(ctx context.Context, l store.Lease) error
	// Wrote returns the fence of the lease with which something of a chat was written last.
	Wrote(ctx context.Context, id string) (fence int64, err error)
	// Beat says that this process lives, and returns the chats that it has. It is called all the time.
	Beat(ctx context.Context) ([]store.Held, error)

	SaveChat(ctx context.Context, l store.Lease, c store.Chat) error
	Chat(ctx context.Context, id string) (store.Chat, error)
	Chats(ctx context.Context) ([]store.Chat, error)
	// DeleteChat returns what the chat had.
	DeleteChat(ctx context.Context, l store.Lease) (store.Undone, error)
	// SaveTurn saves the chat's record with it, and drops all but the latest so many turns. It returns the contents that only those had.
	SaveTurn(ctx context.Context, l store.Lease, c store.Chat, t store.Turn, most int) (gone []string, err error)
	Turns(ctx context.Context, id string, most int) ([]store.Turn, error)
	// SaveFiles adds or replaces records, and then removes those that are deleted. It returns the contents of
	// what no turn has left. Manifest returns the files with what turns have left.
	SaveFiles(ctx context.Context, l store.Lease, c store.Changes) (gone []string, err error)
	Manifest(ctx context.Context, id string) ([]store.Version, error)
	Files(ctx context.Context, id string) ([]store.File, error)
	File(ctx context.Context, id, path string) (store.File, error)
	// Recent returns at most so many files with content of all chats of owner, those that
	// were saved last first, as store.Place orders them, that come after a place.
	Recent(ctx context.Context, owner string, after store.Place, most int) ([]store.Listed, error)
	// SaveResult makes room for f within most by removing the oldest results of the chat, whose contents it returns.
	SaveResult(ctx context.Context, l store.Lease, run int, f store.File, most store.Bounds) (gone []string, err error)
	Result(ctx context.Context, id string, run int, name string) (store.File, error)
	// Results returns the results of a chat, oldest first. Outlines tells of the turns of each chat that has some.
	Results(ctx context.Context, id string) ([]store.Result, error)
	Outlines(ctx context.Context, begin int) ([]store.Outline, error)

	// Undo takes the latest turn back; what was before is store.ErrForgotten where it is not kept. Fork adds a copy of a chat, and
	// Import one that comes from elsewhere, all at once; nobody has them.
	Undo(ctx context.Context, l store.Lease, u store.Undo) (store.Undone, error)
	Fork(ctx context.Context, l store.Lease, f store.Fork) error
	Import(ctx context.Context, c store.Chat, turns []store.Turn, results []store.Result) error

	// SaveCheckpoint and DropCheckpoint change the latest checkpoint, and return the folders of those that are not kept any more.
	SaveCheckpoint(ctx context.Context, l store.Lease, c store.Checkpoint) (gone []string, err error)
	DropCheckpoint(ctx context.Context, l store.Lease) (gone string, err error)
	// Checkpoint returns the latest one, Checkpoints also the one before it.
	Checkpoint(ctx context.Context, id string) (store.Checkpoint, error)
	Checkpoints(ctx context.Context, id string) ([]store.Checkpoint, error)
	CheckpointFolders(ctx context.Context) ([]string, error)

	// Stored returns how many bytes each chat has, StoredOf how many one has. Unreferenced returns those of some contents that no record refers to.
	Stored(ctx context.Context) (map[string]int64, error)
	StoredOf(ctx context.Context, id string) (int64, error)
	Unreferenced(ctx context.Context, contents []string) ([]string, error)
}
