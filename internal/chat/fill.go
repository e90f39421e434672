package chat

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"runpython/internal/store"
)

// namedMisplaced is how many files that could not be put into place a reply names.
const namedMisplaced = 3

// fill puts the chat's files into the folder that becomes /work of a new interpreter.
// A file that cannot be there (code may have named it so that it cannot) is left out, and
// the reply says so: it must not be the end of the chat.
func (x *execution) fill(ctx context.Context, dir string) error {
	x.misplaced = nil
	files := x.initial
	if files == nil {
		var err error
		if files, err = x.service.options.Store.Files(ctx, x.chat.id); errors.Is(err, store.ErrNotFound) {
			return nil // a chat that begins
		} else if err != nil {
			return fmt.Errorf("look up the files of a chat: %w", err)
		}
	}
	for _, f := range files {
		if f.Hash == "" {
			continue
		}
		err := x.putInto(dir, f)
		switch {
		case err == nil:
		case isOfOneFile(err):
			x.misplaced = append(x.misplaced, f.Path)
			x.service.options.Log.WarnContext(ctx, "a file of a chat was left out", "chat", x.chat.id, "error", err)
		default:
			return fmt.Errorf("put the files of a chat into place: %w", ofDisk(err))
		}
	}
	return nil
}

// putInto makes a file appear in dir. Its path was checked when it came: a folder of ours
// cannot be left by it.
func (x *execution) putInto(dir string, f store.File) error {
	name := filepath.Join(dir, filepath.FromSlash(f.Path))
	if err := makeFolders(dir, filepath.Dir(name)); err != nil {
		return err
	}
	return x.service.options.Content.Copy(f.Hash, name)
}

// isOfOneFile tells what is wrong with one path or content from what is wrong with the machine.
func isOfOneFile(err error) bool {
	for _, e := range []syscall.Errno{
		syscall.ENAMETOOLONG, syscall.ENOTDIR, syscall.EISDIR, syscall.EEXIST, syscall.ENOENT, syscall.EINVAL, syscall.EILSEQ,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// wordMisplaced tells of the files that fill has left out, "" when there are none.
func (x *execution) wordMisplaced() string {
	if len(x.misplaced) == 0 {
		return ""
	}
	return "Not in /work of the new interpreter, because the path is too long or contradicts another file's: " +
		listed(x.misplaced, namedMisplaced, func(p string) string { return strconv.Quote(shortPath(strings.ToValidUTF8(p, "\uFFFD"))) }) + "."
}

// makeFolders makes folder and those above it up to dir, writable for the guest's user, who is
// nobody on the host: dir itself is in a folder that is closed to others.
func makeFolders(dir, folder string) error {
	if folder == dir || len(folder) <= len(dir) {
		return nil
	}
	if _, err := os.Stat(folder); err == nil {
		return nil
	}
	if err := makeFolders(dir, filepath.Dir(folder)); err != nil {
		return err
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		return err
	}
	return os.Chmod(folder, 0o777)
}
