package app

import (
	"archive/tar"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"runpython/internal/audit"
	"runpython/internal/store/content"
	"runpython/internal/store/database"
)

// A Backup is what an archive holds.
type Backup struct {
	Chats   int
	Files   int // contents of files and results
	Missing int // that records name and the disk does not have
}

// copies is how often the database is copied when files that the copy refers to are deleted before they are held.
const copies = 3

// Backup writes an archive of all chats to w, a gzipped tar, from which a data folder is made by unpacking it with
// the modes of its files. The server may go on meanwhile: the archive has the chats as they are at one moment.
func (r *Records) Backup(ctx context.Context, w io.Writer) (Backup, error) {
	b, err := r.backup(ctx, w)
	r.app.audit.record(ctx, audit.Event{Kind: audit.BackupMade, Count: b.Chats, Outcome: outcomeOf(nil, err)})
	return b, err
}

func (r *Records) backup(ctx context.Context, w io.Writer) (_ Backup, err error) {
	dir, err := os.MkdirTemp(r.app.config.Data, "backup-")
	if err != nil {
		return Backup{}, lacking(fmt.Errorf("copy the database: %w", err), r.app.config.Data)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, databaseFile)
	copied, missing, err := r.copyHeld(ctx, file)
	if err != nil {
		return Backup{}, lacking(err, r.app.config.Data)
	}
	there := without(copied.Contents, missing)
	defer func() { err = errors.Join(err, r.release(there)) }()
	packed := gzip.NewWriter(w)
	a := &archive{tar: tar.NewWriter(packed), folders: make(map[string]bool)}
	err = a.add(file, databaseFile, 0o600)
	for _, name := range there {
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			break
		}
		err = a.content(r.files, name)
	}
	if err = errors.Join(err, a.tar.Close(), packed.Close()); err != nil {
		return Backup{}, fmt.Errorf("write the archive: %w", err)
	}
	return Backup{Chats: copied.Chats, Files: len(there), Missing: len(missing)}, nil
}

// copyHeld copies the database and holds the contents that the copy refers to. When one was deleted between the two, it
// copies again; one that is missing even so is told.
func (r *Records) copyHeld(ctx context.Context, file string) (copied database.Copy, missing []string, err error) {
	for range copies {
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return copied, nil, fmt.Errorf("copy the database: %w", err)
		}
		if copied, err = r.chats.CopyTo(ctx, file); err != nil {
			return copied, nil, err //nolint:wrapcheck // it says what it is
		}
		if missing, err = r.files.Hold(copied.Contents); err != nil || len(missing) == 0 {
			return copied, nil, err //nolint:wrapcheck // as above
		}
		if err := r.release(without(copied.Contents, missing)); err != nil {
			return copied, nil, err
		}
	}
	missing, err = r.files.Hold(copied.Contents)
	return copied, missing, err //nolint:wrapcheck // as above
}

// without returns those of names that are not missing.
func without(names, missing []string) []string {
	gone := make(map[string]bool, len(missing))
	for _, name := range missing {
		gone[name] = true
	}
	var rest []string
	for _, name := range names {
		if !gone[name] {
			rest = append(rest, name)
		}
	}
	return rest
}

func (r *Records) release(names []string) error {
	var err error
	for _, name := range names {
		err = errors.Join(err, r.files.Release(name))
	}
	return err
}

// archive writes files into a tar.
type archive struct {
	tar     *tar.Writer
	folders map[string]bool // that are in it
}

// content adds a content at the place at which a data folder has it.
func (a *archive) content(files *content.Store, name string) error {
	where := filepath.Join(contentFolder, content.PathOf(name))
	for _, folder := range []string{contentFolder, filepath.Dir(where)} {
		if a.folders[folder] {
			continue
		}
		a.folders[folder] = true
		if err := a.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: folder + "/", Mode: 0o700, ModTime: time.Now()}); err != nil {
			return err //nolint:wrapcheck // Backup does
		}
	}
	f, err := files.Open(name)
	if err != nil {
		return err //nolint:wrapcheck // Backup does
	}
	return a.addOpen(f, where, content.Mode)
}

// add adds a file of the disk.
func (a *archive) add(path, where string, mode int64) error {
	f, err := os.Open(path)
	if err != nil {
		return err //nolint:wrapcheck // Backup does
	}
	return a.addOpen(f, where, mode)
}

// addOpen adds f, and closes it.
func (a *archive) addOpen(f *os.File, where string, mode int64) (err error) {
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return err //nolint:wrapcheck // Backup does
	}
	if err := a.tar.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: where, Mode: mode, Size: info.Size(), ModTime: info.ModTime()}); err != nil {
		return err //nolint:wrapcheck // Backup does
	}
	_, err = io.CopyN(a.tar, f, info.Size())
	return err //nolint:wrapcheck // Backup does
}
