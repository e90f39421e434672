package database

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
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
		if gone, err = dropTurns(ctx, tx, l.Chat, t.Number-most); err != nil {
			return err
		}
		return putTurn(ctx, tx, l.Chat, t)
	})
	return gone, err
}

// dropTurns removes the turns of a chat up to one, with what only they had, whose contents it returns.
func dropTurns(ctx context.Context, tx *sql.Tx, id string, last int) (gone []string, err error) {
	if last <= 0 {
		return nil, nil
	}
	dropped, err := affected(tx.ExecContext(ctx, `DELETE FROM turns WHERE chat = $1 AND number <= $2`, id, last))
	if err != nil || !dropped {
		return nil, err
	}
	return forgetVersions(ctx, tx, id, int64(last+1))
}

// putTurn adds a turn to a chat, or replaces the one of its number.
func putTurn(ctx context.Context, tx *sql.Tx, id string, t store.Turn) error {
	steps, stepsErr := json.Marshal(t.Steps)
	runs, runsErr := json.Marshal(t.Runs)
	if err := errors.Join(stepsErr, runsErr); err != nil {
		return fmt.Errorf("turn %d: %w", t.Number, err)
	}
	_, err := tx.ExecContext(ctx, `INSERT INTO turns (chat, `+turnColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (chat, number)
		DO UPDATE SET begun = excluded.begun, message = excluded.message, words = excluded.words, steps = excluded.steps, runs = excluded.runs`,
		id, t.Number, nanoseconds(t.Begun), []byte(t.Message), []byte(t.Words), steps, runs)
	return err //nolint:wrapcheck // change does
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
