package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"runpython/internal/store"
)

// chatColumns are those that scanChat reads.
const chatColumns = `id, subject, created, used, runs, packages, loss, replay, horizon`

func scanChat(r row) (c store.Chat, err error) {
	var subject []byte
	var created, used int64
	err = r.Scan(&c.ID, &subject, &created, &used, &c.Runs, &c.Packages, &c.Loss, &c.Replay, &c.Horizon)
	c.Owner, c.Created, c.Used = string(subject), fromNanoseconds(created), fromNanoseconds(used)
	return c, err //nolint:wrapcheck // who asked does
}

// Begin adds a chat, which this process has from then on.
func (s *Store) Begin(ctx context.Context, c store.Chat) (store.Lease, error) {
	lease := store.Lease{Chat: c.ID, Fence: store.FirstFence}
	err := s.asProcess(ctx, "begin a chat", func(tx *sql.Tx, process string) error {
		return insertChat(ctx, tx, c, sql.NullString{String: process, Valid: true})
	})
	return lease, err
}

// insertChat adds the record of a chat that holder has.
func insertChat(ctx context.Context, tx *sql.Tx, c store.Chat, holder sql.NullString) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO chats (`+chatColumns+`, fence, wrote, wanted, holder) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, $9, $9, 0, $10)`,
		c.ID, []byte(c.Owner), nanoseconds(c.Created), nanoseconds(c.Used), c.Runs, c.Packages, c.Loss, c.Replay, store.FirstFence, holder)
	return err //nolint:wrapcheck // change does
}

// SaveChat replaces what the record of a chat says beside its id and its owner.
func (s *Store) SaveChat(ctx context.Context, l store.Lease, c store.Chat) error {
	return s.writeTo(ctx, "save a chat", l, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `UPDATE chats SET created = $2, used = $3, runs = $4, packages = $5, loss = $6, replay = $7 WHERE id = $1`,
			l.Chat, nanoseconds(c.Created), nanoseconds(c.Used), c.Runs, c.Packages, c.Loss, c.Replay)
		return err //nolint:wrapcheck // change does
	})
}

// Chat returns the record of a chat.
func (s *Store) Chat(ctx context.Context, id string) (store.Chat, error) {
	return first(ctx, s, question{"find a chat", `SELECT ` + chatColumns + ` FROM chats WHERE id = $1`, []any{id}}, scanChat)
}

// Chats returns all chats, least recently used first.
func (s *Store) Chats(ctx context.Context) ([]store.Chat, error) {
	return query(ctx, s, question{"list the chats", `SELECT ` + chatColumns + ` FROM chats ORDER BY used, id`, nil}, scanChat)
}

// storedParts are the bytes of all that is stored, by chat.
const storedParts = `SELECT chat, size AS bytes FROM files WHERE hash <> ''
	UNION ALL SELECT chat, size FROM versions WHERE hash <> ''
	UNION ALL SELECT chat, bytes FROM checkpoints
	UNION ALL SELECT chat, size FROM results
	UNION ALL SELECT chat, length(message) + length(words) + length(steps) + length(runs) FROM turns`

// StoredOf returns what Stored has for one chat, 0 for one that is not there.
func (s *Store) StoredOf(ctx context.Context, id string) (bytes int64, err error) {
	return first(ctx, s, question{
		"add up what is stored", `SELECT CAST(COALESCE(SUM(bytes), 0) AS BIGINT) FROM (` + storedParts + `) AS parts WHERE chat = $1`, []any{id},
	}, func(r row) (sum int64, err error) {
		err = r.Scan(&sum)
		return sum, err //nolint:wrapcheck // first does
	})
}

// Stored returns how many bytes of files, their earlier versions, results, turns and checkpoints each chat has, by its id. The same
// content of two files counts twice.
func (s *Store) Stored(ctx context.Context) (map[string]int64, error) {
	type sum struct {
		chat  string
		bytes int64
	}
	sums, err := query(ctx, s, question{"add up what is stored", `SELECT chat, CAST(SUM(bytes) AS BIGINT) FROM (` + storedParts + `) AS parts GROUP BY chat`, nil}, func(r row) (one sum, err error) {
		err = r.Scan(&one.chat, &one.bytes)
		return one, err //nolint:wrapcheck // query does
	})
	all := make(map[string]int64, len(sums))
	for _, one := range sums {
		all[one.chat] = one.bytes
	}
	return all, err
}

// Usage returns how many chats each owner has, and what Stored says of them, by the owner.
func (s *Store) Usage(ctx context.Context) (map[string]store.Usage, error) {
	type use struct {
		owner string
		store.Usage
	}
	uses, err := query(ctx, s, question{"count the chats", `SELECT chats.subject, COUNT(*), CAST(COALESCE(SUM(sums.bytes), 0) AS BIGINT) FROM chats
		LEFT JOIN (SELECT chat, SUM(bytes) AS bytes FROM (` + storedParts + `) AS parts GROUP BY chat) AS sums ON sums.chat = chats.id GROUP BY chats.subject`, nil}, func(r row) (one use, err error) {
		var owner []byte
		err = r.Scan(&owner, &one.Chats, &one.Bytes)
		one.owner = string(owner)
		return one, err //nolint:wrapcheck // query does
	})
	all := make(map[string]store.Usage, len(uses))
	for _, one := range uses {
		all[one.owner] = one.Usage
	}
	return all, err
}

// DeleteChat removes a chat with all that belongs to it, and returns the contents and the folders of checkpoints that it had.
func (s *Store) DeleteChat(ctx context.Context, l store.Lease) (gone store.Undone, err error) {
	err = s.writeTo(ctx, "delete a chat", l, func(tx *sql.Tx) error {
		var contents, folders error
		gone.Contents, contents = rows(ctx, tx, scanText, `SELECT hash FROM files WHERE chat = $1 AND hash <> ''
			UNION SELECT hash FROM versions WHERE chat = $1 AND hash <> '' UNION SELECT hash FROM results WHERE chat = $1`, l.Chat)
		gone.Folders, folders = rows(ctx, tx, scanText, `SELECT folder FROM checkpoints WHERE chat = $1`, l.Chat)
		if err := errors.Join(contents, folders); err != nil {
			return err
		}
		_, err := tx.ExecContext(ctx, `DELETE FROM chats WHERE id = $1`, l.Chat)
		return err //nolint:wrapcheck // change does
	})
	return gone, err
}

func scanText(r row) (hash string, err error) {
	err = r.Scan(&hash)
	return hash, err //nolint:wrapcheck // who asked does
}

// Unreferenced returns those of some contents that no record refers to.
func (s *Store) Unreferenced(ctx context.Context, contents []string) ([]string, error) {
	var free []string
	for _, hash := range contents {
		var there bool
		err := s.read.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM files WHERE hash = $1)
			OR EXISTS (SELECT 1 FROM versions WHERE hash = $1) OR EXISTS (SELECT 1 FROM results WHERE hash = $1)`, hash).Scan(&there)
		if err != nil {
			return nil, s.explain(fmt.Sprintf("look who refers to %s", hash), err)
		}
		if !there {
			free = append(free, hash)
		}
	}
	return free, nil
}
