package database

import (
	"context"

	"runpython/internal/store"
)

// Outlines tells of the turns of each chat that has some, with at most so many bytes of the first message.
func (s *Store) Outlines(ctx context.Context, begin int) ([]store.Outline, error) {
	return query(ctx, s, question{"outline the chats", `SELECT turns.chat, ends.latest, substr(turns.message, 1, $1) FROM turns
		JOIN (SELECT chat, MIN(number) AS oldest, MAX(number) AS latest FROM turns GROUP BY chat) AS ends
		ON ends.chat = turns.chat AND ends.oldest = turns.number`, []any{begin}}, func(r row) (o store.Outline, err error) {
		var message []byte
		err = r.Scan(&o.Chat, &o.Turns, &message)
		o.Begin = string(message)
		return o, err //nolint:wrapcheck // query does
	})
}

// Results returns the results of a chat, oldest first.
func (s *Store) Results(ctx context.Context, id string) ([]store.Result, error) {
	return query(ctx, s, question{"list the results of a chat", `SELECT run, name, hash, size, media FROM results WHERE chat = $1 ORDER BY place`, []any{id}},
		func(r row) (one store.Result, err error) {
			f := &one.File
			err = r.Scan(&one.Run, &f.Path, &f.Hash, &f.Size, &f.MIMEType)
			return one, err //nolint:wrapcheck // query does
		})
}
