package database

import (
	"context"
	"database/sql"
	"errors"

	"runpython/internal/store"
)

// Fork adds a copy of a chat, which nobody has then: all that belongs to it but its checkpoints, of which the copy has its own.
func (s *Store) Fork(ctx context.Context, l store.Lease, f store.Fork) error {
	return s.writeTo(ctx, "fork a chat", l, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO chats (`+chatColumns+`, fence, wrote, wanted, holder)
			SELECT $2, subject, $3, $3, runs, packages, $4, replay, horizon, $5, $5, 0, NULL FROM chats WHERE id = $1`,
			l.Chat, f.ID, nanoseconds(f.Begun), f.Loss, store.FirstFence)
		if err != nil {
			return err //nolint:wrapcheck // change does
		}
		for _, part := range []string{
			`INSERT INTO turns (chat, ` + turnColumns + `) SELECT $2, ` + turnColumns + ` FROM turns WHERE chat = $1`,
			`INSERT INTO files (chat, path_hash, ` + fileColumns + `, since) SELECT $2, path_hash, ` + fileColumns + `, since FROM files WHERE chat = $1`,
			`INSERT INTO versions (chat, path_hash, ` + fileColumns + `, since, gone) SELECT $2, path_hash, ` + fileColumns + `, since, gone FROM versions WHERE chat = $1`,
			`INSERT INTO results (chat, ` + resultColumns + `) SELECT $2, ` + resultColumns + ` FROM results WHERE chat = $1`,
		} {
			if _, err := tx.ExecContext(ctx, part, l.Chat, f.ID); err != nil {
				return err //nolint:wrapcheck // change does
			}
		}
		for _, c := range f.Checkpoints {
			err = errors.Join(err, insertCheckpoint(ctx, tx, f.ID, c))
		}
		return err
	})
}

// Import adds a chat with turns, each of another number, and results that come from elsewhere, which nobody has then.
func (s *Store) Import(ctx context.Context, c store.Chat, turns []store.Turn, results []store.Result) error {
	return s.change(ctx, "import a chat", func(tx *sql.Tx) error {
		if err := insertChat(ctx, tx, c, sql.NullString{}); err != nil {
			return err
		}
		for _, t := range turns {
			if err := putTurn(ctx, tx, c.ID, t); err != nil {
				return err
			}
		}
		for i, r := range results {
			if err := insertResult(ctx, tx, placed{c.ID, r, int64(i + 1)}); err != nil {
				return err
			}
		}
		return nil
	})
}

// turnColumns are those of a turn beside its chat.
const turnColumns = `number, begun, message, words, steps, runs`

// resultColumns are those of a result beside its chat.
const resultColumns = `run, name, hash, size, media, place`

// placed is a result at its place among those of a chat.
type placed struct {
	chat   string
	result store.Result
	place  int64
}

func insertResult(ctx context.Context, tx *sql.Tx, p placed) error {
	f := p.result.File
	_, err := tx.ExecContext(ctx, `INSERT INTO results (chat, `+resultColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
		p.chat, p.result.Run, f.Path, f.Hash, f.Size, f.MIMEType, p.place)
	return err //nolint:wrapcheck // change does
}
