package database

import (
	"context"
	"crypto/sha256"
	"database/sql"

	"runpython/internal/store"
)

// pathHash stands for a path where it is looked up.
func pathHash(path string) []byte {
	sum := sha256.Sum256([]byte(path))
	return sum[:]
}

// fileColumns are those that scanFile reads.
const fileColumns = `path, hash, size, media, stamp, saved`

func scanFile(r row) (store.File, error) {
	l, err := scanListed(prefixed{r})
	return l.File, err
}

// prefixed reads a row that lacks the chat of a Listed.
type prefixed struct{ row }

// Scan implements row.
func (p prefixed) Scan(to ...any) error { return p.row.Scan(to[1:]...) } //nolint:wrapcheck // who asked does

func scanListed(r row) (l store.Listed, err error) {
	var path, stamp []byte
	var saved int64
	err = r.Scan(&l.Chat, &path, &l.File.Hash, &l.File.Size, &l.File.MIMEType, &stamp, &saved)
	l.File.Path, l.File.Stamp, l.File.Saved = string(path), string(stamp), fromNanoseconds(saved)
	return l, err //nolint:wrapcheck // who asked does
}

// Files returns the files of a chat, sorted by path.
func (s *Store) Files(ctx context.Context, id string) ([]store.File, error) {
	if _, err := s.Chat(ctx, id); err != nil {
		return nil, err
	}
	return query(ctx, s, question{"list the files of a chat", `SELECT ` + fileColumns + ` FROM files WHERE chat = $1 ORDER BY path`, []any{id}}, scanFile)
}

// File returns one file of a chat.
func (s *Store) File(ctx context.Context, id, path string) (store.File, error) {
	return first(ctx, s, question{"find a file", `SELECT ` + fileColumns + ` FROM files WHERE chat = $1 AND path_hash = $2`, []any{id, pathHash(path)}}, scanFile)
}

// Recent returns files with content of all chats of owner, as [store.Place] orders them: at
// most the given number of those after a place, from the first one when it is the zero Place.
func (s *Store) Recent(ctx context.Context, owner string, after store.Place, most int) ([]store.Listed, error) {
	return query(ctx, s, question{"list the files of an owner", `SELECT chat, ` + fileColumns + ` FROM files JOIN chats ON chats.id = files.chat
		WHERE chats.subject = $1 AND files.hash <> ''
		AND (CAST($2 AS BIGINT) = 0 OR saved < $2 OR saved = $2 AND (chat > $3 OR chat = $3 AND path > $4))
		ORDER BY saved DESC, chat, path LIMIT $5`, []any{[]byte(owner), nanoseconds(after.Saved), after.Chat, []byte(after.Path), most}}, scanListed)
}

// SaveResult adds something that a run has made beside its files, or replaces what has
// its name. The chat's oldest results make room for it within most; the contents of those and of the one
// replaced are returned. The newest stays, however large it is.
func (s *Store) SaveResult(ctx context.Context, l store.Lease, run int, f store.File, most store.Bounds) (gone []string, err error) {
	err = s.writeTo(ctx, "save a result", l, func(tx *sql.Tx) error {
		gone = nil
		kept, err := rows(ctx, tx, scanKept, `SELECT place, run, name, hash, size FROM results WHERE chat = $1 ORDER BY place`, l.Chat)
		if err != nil {
			return err
		}
		place := int64(1)
		if n := len(kept); n > 0 {
			place = kept[n-1].place + 1
		}
		for _, old := range superseded(kept, keptResult{run: run, name: f.Path, size: f.Size}, most) {
			if _, err := tx.ExecContext(ctx, `DELETE FROM results WHERE chat = $1 AND run = $2 AND name = $3`, l.Chat, old.run, old.name); err != nil {
				return err //nolint:wrapcheck // change does
			}
			gone = append(gone, old.hash)
		}
		return insertResult(ctx, tx, placed{l.Chat, store.Result{Run: run, File: f}, place})
	})
	return gone, err
}

// keptResult is a result of a chat.
type keptResult struct {
	place int64
	run   int
	name  string
	hash  string
	size  int64
}

func scanKept(r row) (k keptResult, err error) {
	err = r.Scan(&k.place, &k.run, &k.name, &k.hash, &k.size)
	return k, err //nolint:wrapcheck // who asked does
}

// superseded are those of the results of a chat, the oldest first, that a new one replaces or that make room for it.
func superseded(kept []keptResult, latest keptResult, most store.Bounds) (gone []keptResult) {
	bytes, count := latest.size, 1
	var others []keptResult
	for _, old := range kept {
		if old.run == latest.run && old.name == latest.name {
			gone = append(gone, old)
			continue
		}
		others = append(others, old)
		bytes, count = bytes+old.size, count+1
	}
	for _, old := range others {
		if count <= most.Count && bytes <= most.Bytes {
			break
		}
		gone = append(gone, old)
		bytes, count = bytes-old.size, count-1
	}
	return gone
}

// Result returns what SaveResult has kept.
func (s *Store) Result(ctx context.Context, id string, run int, name string) (store.File, error) {
	return first(ctx, s, question{
		"find a result", `SELECT name, hash, size, media FROM results WHERE chat = $1 AND run = $2 AND name = $3`, []any{id, run, name},
	}, func(r row) (f store.File, err error) {
		err = r.Scan(&f.Path, &f.Hash, &f.Size, &f.MIMEType)
		return f, err //nolint:wrapcheck // first does
	})
}
