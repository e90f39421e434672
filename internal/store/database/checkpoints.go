package database

import (
	"context"
	"database/sql"

	"runpython/internal/store"
)

// SaveCheckpoint notes the checkpoint of a chat in place of the one before, whose folder is returned, "" for none.
func (s *Store) SaveCheckpoint(ctx context.Context, l store.Lease, c store.Checkpoint) (gone string, err error) {
	interrupted := 0
	if c.Interrupted {
		interrupted = 1
	}
	err = s.writeTo(ctx, "save a checkpoint", l, func(tx *sql.Tx) error {
		var err error
		if gone, err = dropCheckpoint(ctx, tx, l.Chat); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `INSERT INTO checkpoints (chat, folder, bound, turn, interrupted, bytes) VALUES ($1, $2, $3, $4, $5, $6)`,
			l.Chat, c.Folder, c.Bound, c.Turn, interrupted, c.Bytes)
		return err //nolint:wrapcheck // change does
	})
	return gone, err
}

// DropCheckpoint forgets the checkpoint of a chat, whose folder is returned, "" for none.
func (s *Store) DropCheckpoint(ctx context.Context, l store.Lease) (gone string, err error) {
	err = s.writeTo(ctx, "forget a checkpoint", l, func(tx *sql.Tx) error {
		var err error
		gone, err = dropCheckpoint(ctx, tx, l.Chat)
		return err
	})
	return gone, err
}

// dropCheckpoint removes the record of a chat's checkpoint and returns the folder that it named.
func dropCheckpoint(ctx context.Context, tx *sql.Tx, id string) (gone string, err error) {
	old, err := rows(ctx, tx, scanText, `DELETE FROM checkpoints WHERE chat = $1 RETURNING folder`, id)
	if err != nil || len(old) == 0 {
		return "", err
	}
	return old[0], nil
}

// Checkpoint returns the checkpoint of a chat; none is store.ErrNotFound.
func (s *Store) Checkpoint(ctx context.Context, id string) (store.Checkpoint, error) {
	return first(ctx, s, question{
		"find a checkpoint", `SELECT folder, bound, turn, interrupted = 1, bytes FROM checkpoints WHERE chat = $1`, []any{id},
	}, func(r row) (c store.Checkpoint, err error) {
		err = r.Scan(&c.Folder, &c.Bound, &c.Turn, &c.Interrupted, &c.Bytes)
		return c, err //nolint:wrapcheck // first does
	})
}

// CheckpointFolders returns the folders that records of checkpoints name.
func (s *Store) CheckpointFolders(ctx context.Context) ([]string, error) {
	return query(ctx, s, question{"list the checkpoints", `SELECT folder FROM checkpoints`, nil}, scanText)
}
