package database

import (
	"context"
	"database/sql"
	"errors"

	"runpython/internal/store"
)

// Undo takes the latest turn of a chat back: its transcript, results and files, and the checkpoints that have it. The runs that
// come after the checkpoint that remains are to be executed again. Where the files before the turn are not kept it is
// store.ErrForgotten. What nobody refers to any more is returned.
func (s *Store) Undo(ctx context.Context, l store.Lease, u store.Undo) (gone store.Undone, err error) {
	err = s.writeTo(ctx, "undo a turn", l, func(tx *sql.Tx) error {
		var horizon int
		if err := tx.QueryRowContext(ctx, `SELECT horizon FROM chats WHERE id = $1`, l.Chat).Scan(&horizon); err != nil {
			return err //nolint:wrapcheck // change does
		}
		if u.Turn-1 < horizon {
			return store.ErrForgotten
		}
		files, err := undoFiles(ctx, tx, l.Chat, u.Turn)
		if err != nil {
			return err
		}
		results, err := rows(ctx, tx, scanText, `DELETE FROM results WHERE chat = $1 AND $2 > 0 AND run >= $2 RETURNING hash`, l.Chat, u.Run)
		if err != nil {
			return err
		}
		folders, err := rows(ctx, tx, scanText, `DELETE FROM checkpoints WHERE chat = $1 AND (turn >= $2 OR interrupted = 1) RETURNING folder`, l.Chat, u.Turn)
		if err != nil {
			return err
		}
		gone = store.Undone{Contents: append(files, results...), Folders: folders}
		_, promoted := tx.ExecContext(ctx, `UPDATE checkpoints SET past = 0 WHERE chat = $1
			AND NOT EXISTS (SELECT 1 FROM checkpoints AS latest WHERE latest.chat = $1 AND latest.past = 0)`, l.Chat)
		_, turns := tx.ExecContext(ctx, `DELETE FROM turns WHERE chat = $1 AND number >= $2`, l.Chat, u.Turn)
		_, chats := tx.ExecContext(ctx, `UPDATE chats SET used = $2, loss = '', replay = CASE WHEN replay = $4 THEN $4 ELSE $3 END WHERE id = $1`,
			l.Chat, nanoseconds(u.Used), store.ReplayAsKept, store.ReplayAsNew)
		return errors.Join(promoted, turns, chats)
	})
	return gone, err
}

// undoFiles makes the files of a chat those that the turn before one has left, and returns the contents of the others.
func undoFiles(ctx context.Context, tx *sql.Tx, id string, turn int) (gone []string, err error) {
	for _, statement := range []string{
		`DELETE FROM files WHERE chat = $1 AND since >= $2 RETURNING hash`,
		`DELETE FROM versions WHERE chat = $1 AND since >= $2 RETURNING hash`,
	} {
		old, err := rows(ctx, tx, scanText, statement, id, turn)
		if err != nil {
			return nil, err
		}
		gone = append(gone, withContent(old)...)
	}
	_, err = tx.ExecContext(ctx, `INSERT INTO files (chat, path_hash, `+fileColumns+`, since)
		SELECT chat, path_hash, `+fileColumns+`, since FROM versions WHERE chat = $1 AND gone >= $2`, id, turn)
	if err == nil {
		_, err = tx.ExecContext(ctx, `DELETE FROM versions WHERE chat = $1 AND gone >= $2`, id, turn)
	}
	return gone, err //nolint:wrapcheck // change does
}
