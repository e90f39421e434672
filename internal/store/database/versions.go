package database

import (
	"context"
	"database/sql"
	"errors"

	"runpython/internal/store"
)

// SaveFiles adds or replaces files of a chat, and then removes others. What earlier turns have left is kept as versions, within a
// bound. It returns the contents of records that are gone.
func (s *Store) SaveFiles(ctx context.Context, l store.Lease, c store.Changes) (gone []string, err error) {
	err = s.writeTo(ctx, "save files", l, func(tx *sql.Tx) error {
		w := &filesWriter{tx: tx, chat: l.Chat, turn: c.Turn}
		for _, f := range c.Changed {
			if err := w.save(ctx, f); err != nil {
				return err
			}
		}
		for _, path := range c.Deleted {
			if _, err := w.retire(ctx, path, ""); err != nil {
				return err
			}
		}
		if w.versions > 0 {
			if err := w.bound(ctx, c.Most); err != nil {
				return err
			}
		}
		gone = w.gone
		return nil
	})
	return gone, err
}

// filesWriter changes the files of a chat within one change of the database.
type filesWriter struct {
	tx       *sql.Tx
	chat     string
	turn     int
	versions int      // that were added
	gone     []string // contents of records that are gone
}

// save adds a file or replaces it. One whose content is the same stays one of the turn that has made it.
func (w *filesWriter) save(ctx context.Context, f store.File) error {
	same, err := w.retire(ctx, f.Path, f.Hash)
	if err != nil {
		return err
	}
	if same {
		_, err = w.tx.ExecContext(ctx, `UPDATE files SET size = $3, media = $4, stamp = $5, saved = $6 WHERE chat = $1 AND path_hash = $2`,
			w.chat, pathHash(f.Path), f.Size, f.MIMEType, []byte(f.Stamp), nanoseconds(f.Saved))
		return err //nolint:wrapcheck // change does
	}
	_, err = w.tx.ExecContext(ctx, `INSERT INTO files (chat, path_hash, `+fileColumns+`, since) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
		w.chat, pathHash(f.Path), []byte(f.Path), f.Hash, f.Size, f.MIMEType, []byte(f.Stamp), nanoseconds(f.Saved), w.turn)
	return err //nolint:wrapcheck // change does
}

// retire removes the record of a file, if there is one, and keeps what an earlier turn has left. It reports whether there is
// one with that content, which it leaves.
func (w *filesWriter) retire(ctx context.Context, path, but string) (same bool, err error) {
	var hash string
	var since int
	err = w.tx.QueryRowContext(ctx, `SELECT hash, since FROM files WHERE chat = $1 AND path_hash = $2`, w.chat, pathHash(path)).Scan(&hash, &since)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil
	case err != nil:
		return false, err //nolint:wrapcheck // change does
	case hash != "" && hash == but:
		return true, nil
	}
	if since < w.turn {
		_, err = w.tx.ExecContext(ctx, `INSERT INTO versions (chat, path_hash, `+fileColumns+`, since, gone)
			SELECT chat, path_hash, `+fileColumns+`, since, $3 FROM files WHERE chat = $1 AND path_hash = $2`, w.chat, pathHash(path), w.turn)
		w.versions++
	} else if hash != "" {
		w.gone = append(w.gone, hash)
	}
	if err != nil {
		return false, err //nolint:wrapcheck // change does
	}
	_, err = w.tx.ExecContext(ctx, `DELETE FROM files WHERE chat = $1 AND path_hash = $2`, w.chat, pathHash(path))
	return false, err //nolint:wrapcheck // change does
}

// bound removes the oldest versions until the others are within most.
func (w *filesWriter) bound(ctx context.Context, most store.Bounds) error {
	type kept struct{ gone, count, bytes int64 }
	all, err := rows(ctx, w.tx, func(r row) (k kept, err error) {
		err = r.Scan(&k.gone, &k.count, &k.bytes)
		return k, err //nolint:wrapcheck // change does
	}, `SELECT gone, COUNT(*), CAST(SUM(CASE WHEN hash = '' THEN 0 ELSE size END) AS BIGINT) FROM versions WHERE chat = $1 GROUP BY gone ORDER BY gone DESC`, w.chat)
	if err != nil {
		return err
	}
	var count, bytes int64
	for _, k := range all {
		if count, bytes = count+k.count, bytes+k.bytes; count > int64(most.Count) || bytes > most.Bytes {
			old, err := forgetVersions(ctx, w.tx, w.chat, k.gone)
			w.gone = append(w.gone, old...)
			return err
		}
	}
	return nil
}

// forgetVersions removes what was there only before a turn, and returns its contents. What was before it cannot be had back.
func forgetVersions(ctx context.Context, tx *sql.Tx, id string, turn int64) (gone []string, err error) {
	gone, err = rows(ctx, tx, scanText, `DELETE FROM versions WHERE chat = $1 AND gone <= $2 RETURNING hash`, id, turn)
	if err == nil {
		_, err = tx.ExecContext(ctx, `UPDATE chats SET horizon = $2 WHERE id = $1 AND horizon < $2`, id, turn)
	}
	return withContent(gone), err //nolint:wrapcheck // change does
}

// withContent leaves out what stands for files without content.
func withContent(hashes []string) (contents []string) {
	for _, h := range hashes {
		if h != "" {
			contents = append(contents, h)
		}
	}
	return contents
}

// Manifest returns all files of a chat as the turns from its Horizon on have left them, sorted by path.
func (s *Store) Manifest(ctx context.Context, id string) ([]store.Version, error) {
	return query(ctx, s, question{"read what turns have left", `SELECT ` + fileColumns + `, since, 0 AS gone FROM files WHERE chat = $1
		UNION ALL SELECT ` + fileColumns + `, since, gone FROM versions WHERE chat = $1 ORDER BY path, since`, []any{id}},
		func(r row) (v store.Version, err error) {
			v.File, err = scanFile(trailed{r, []any{&v.Since, &v.Gone}})
			return v, err //nolint:wrapcheck // query does
		})
}

// trailed reads a row that has more columns at its end.
type trailed struct {
	row
	more []any
}

// Scan implements row.
func (t trailed) Scan(to ...any) error { return t.row.Scan(append(to, t.more...)...) } //nolint:wrapcheck // who asked does
