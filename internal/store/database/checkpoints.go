package database

import (
	"context"
	"database/sql"

	"runpython/internal/store"
)

// checkpointColumns are those that scanCheckpoint reads.
const checkpointColumns = `folder, bound, turn, interrupted, past, bytes`

func scanCheckpoint(r row) (c store.Checkpoint, err error) {
	var interrupted, past int
	err = r.Scan(&c.Folder, &c.Bound, &c.Turn, &interrupted, &past, &c.Bytes)
	c.Interrupted, c.Past = interrupted == 1, past == 1
	return c, err //nolint:wrapcheck // who asked does
}

// SaveCheckpoint notes the latest checkpoint of a chat. The latest one until then is kept as the one before, if it was made
// after an earlier turn and has no more than that. The folders of those that are not kept any more are returned.
func (s *Store) SaveCheckpoint(ctx context.Context, l store.Lease, c store.Checkpoint) (gone []string, err error) {
	err = s.writeTo(ctx, "save a checkpoint", l, func(tx *sql.Tx) error {
		past := `SELECT 1 FROM checkpoints AS latest WHERE latest.chat = $1 AND latest.past = 0 AND latest.turn < $2 AND latest.interrupted = 0`
		var err error
		gone, err = rows(ctx, tx, scanText, `DELETE FROM checkpoints WHERE chat = $1 AND (past = 1 AND EXISTS (`+past+`)
			OR past = 0 AND NOT EXISTS (`+past+`)) RETURNING folder`, l.Chat, c.Turn)
		if err != nil {
			return err
		}
		if _, err = tx.ExecContext(ctx, `UPDATE checkpoints SET past = 1 WHERE chat = $1 AND past = 0`, l.Chat); err != nil {
			return err //nolint:wrapcheck // change does
		}
		return insertCheckpoint(ctx, tx, l.Chat, c)
	})
	return gone, err
}

func insertCheckpoint(ctx context.Context, tx *sql.Tx, id string, c store.Checkpoint) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO checkpoints (chat, `+checkpointColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		id, c.Folder, c.Bound, c.Turn, number(c.Interrupted), number(c.Past), c.Bytes)
	return err //nolint:wrapcheck // change does
}

// number is a truth as the database has it.
func number(truth bool) int {
	if truth {
		return 1
	}
	return 0
}

// DropCheckpoint forgets the latest checkpoint of a chat, whose folder is returned, "" for none. The one before it stays.
func (s *Store) DropCheckpoint(ctx context.Context, l store.Lease) (gone string, err error) {
	err = s.writeTo(ctx, "forget a checkpoint", l, func(tx *sql.Tx) error {
		old, err := rows(ctx, tx, scanText, `DELETE FROM checkpoints WHERE chat = $1 AND past = 0 RETURNING folder`, l.Chat)
		if len(old) > 0 {
			gone = old[0]
		}
		return err
	})
	return gone, err
}

// Checkpoint returns the latest checkpoint of a chat; none is store.ErrNotFound.
func (s *Store) Checkpoint(ctx context.Context, id string) (store.Checkpoint, error) {
	return first(ctx, s, question{
		"find a checkpoint", `SELECT ` + checkpointColumns + ` FROM checkpoints WHERE chat = $1 AND past = 0`, []any{id},
	}, scanCheckpoint)
}

// Checkpoints returns all checkpoints of a chat: the latest and the one before it, as far as they are there.
func (s *Store) Checkpoints(ctx context.Context, id string) ([]store.Checkpoint, error) {
	return query(ctx, s, question{
		"list the checkpoints of a chat", `SELECT ` + checkpointColumns + ` FROM checkpoints WHERE chat = $1 ORDER BY past`, []any{id},
	}, scanCheckpoint)
}

// CheckpointFolders returns the folders that records of checkpoints name.
func (s *Store) CheckpointFolders(ctx context.Context) ([]string, error) {
	return query(ctx, s, question{"list the checkpoints", `SELECT folder FROM checkpoints`, nil}, scanText)
}
