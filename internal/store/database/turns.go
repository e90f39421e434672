package database

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

	"runpython/internal/store"
)

// SaveTurn adds a turn to a chat, together with the record of the chat, or replaces the one of its number. Of all but
// the latest so many turns the oldest are dropped, with the files that only they had, whose contents are returned.
func (s *Store) SaveTurn(ctx context.Context, l store.Lease, c store.Chat, t store.Turn, most int) (gone []string, err error) {
	err = s.change(ctx, "save a turn", func(tx *sql.Tx) error {
		ours, err := affected(tx.ExecContext(ctx, `UPDATE chats SET created = $3, used = $4, runs = $5, packages = $6, loss = $7, replay = $8, wrote = $2 WHERE id = $1 AND fence = $2`,
			l.Chat, l.Fence, nanoseconds(c.Created), nanoseconds(c.Used), c.Runs, c.Packages, c.Loss, c.Replay))
		if err != nil {
			return err
		}
		if !ours {
			return whyNot(ctx, tx, l.Chat)
		}
		dropped, err := affected(tx.ExecContext(ctx, `DELETE FROM turns WHERE chat = $1 AND (number = $2 OR number <= $3)`, l.Chat, t.Number, t.Number-most))
		if err != nil {
			return err
		}
		if gone = nil; dropped && t.Number > most {
			if gone, err = forgetVersions(ctx, tx, l.Chat, int64(t.Number-most+1)); err != nil {
				return err
			}
		}
		return insertTurn(ctx, tx, l.Chat, t)
	})
	return gone, err
}

// Turns returns the latest turns of a chat, at most so many, the oldest of them first.
func (s *Store) Turns(ctx context.Context, id string, most int) ([]store.Turn, error) {
	turns, err := query(ctx, s, question{
		"read the turns of a chat", `SELECT ` + turnColumns + ` FROM turns WHERE chat = $1 ORDER BY number DESC LIMIT $2`, []any{id, most},
	}, scanTurn)
	slices.Reverse(turns)
	return turns, err
}

func scanTurn(r row) (t store.Turn, err error) {
	var begun int64
	var message, words, steps, runs []byte
	if err := r.Scan(&t.Number, &begun, &message, &words, &steps, &runs); err != nil {
		return store.Turn{}, err //nolint:wrapcheck // query does
	}
	t.Begun, t.Message, t.Words = fromNanoseconds(begun), string(message), string(words)
	if err := json.Unmarshal(steps, &t.Steps); err != nil {
		return store.Turn{}, fmt.Errorf("turn %d: %w", t.Number, err)
	}
	if err := json.Unmarshal(runs, &t.Runs); err != nil {
		return store.Turn{}, fmt.Errorf("turn %d: %w", t.Number, err)
	}
	return t, nil
}
