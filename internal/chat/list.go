package chat

import (
	"context"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"runpython/internal/fault"
	"runpython/internal/store"
)

// MaxListed is how many of an owner's files ListFiles gets to, over all pages.
const MaxListed = 1000

// maxCursorBytes bounds a cursor: the longest path that a guest may have, in base64.
const maxCursorBytes = 8 << 10

// A ListedFile is a file in the list of all that belong to one owner.
type ListedFile struct {
	File
	ChatID string
	Saved  time.Time // when its content was kept
	Cursor string    // continues the list after this file
}

// ListFiles returns files of all chats of owner, at least one and at most the given number,
// those that were saved last first, and whether there are more. Only regular files of /work
// are listed, no results of turns. cursor is "" or that of the last file of the page before:
// a file that does not change meanwhile is on exactly one page. A foreign cursor is
// fault.Invalid.
func (s *Service) ListFiles(ctx context.Context, owner, cursor string, most int) (files []ListedFile, more bool, err error) {
	count, after, err := readCursor(cursor)
	if err != nil {
		return nil, false, err
	}
	most = min(max(most, 1), MaxListed-count)
	if most <= 0 {
		return nil, false, nil
	}
	listed, err := s.options.Store.Recent(ctx, owner, after, most+1)
	if err != nil {
		return nil, false, fmt.Errorf("list the files of an owner: %w", err)
	}
	if len(listed) > most {
		listed, more = listed[:most], count+most < MaxListed
	}
	files = make([]ListedFile, len(listed))
	for i, l := range listed {
		files[i] = ListedFile{
			File: File{
				Path: strings.ToValidUTF8(l.File.Path, "\uFFFD"), URI: fileURI(l.Chat, l.File.Path),
				MIMEType: l.File.MIMEType, Size: l.File.Size,
			},
			ChatID: l.Chat, Saved: l.File.Saved, Cursor: writeCursor(count+i+1, l.Place()),
		}
	}
	return files, more, nil
}

// writeCursor names a place and how many files come before and at it. Who forges one gets
// no more to see by it, since the owner is not in it.
func writeCursor(count int, p store.Place) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %d %s %s", count, p.Saved.UnixNano(), p.Chat, p.Path))
}

func readCursor(cursor string) (count int, p store.Place, err error) {
	if cursor == "" {
		return 0, store.Place{}, nil
	}
	foreign := fault.New(fault.Invalid, nil, "the cursor is not one that this server gave; list again from the start, without a cursor")
	if len(cursor) > maxCursorBytes {
		return 0, store.Place{}, foreign
	}
	data, err := base64.RawURLEncoding.DecodeString(cursor)
	parts := strings.SplitN(string(data), " ", 4)
	if err != nil || len(parts) != 4 {
		return 0, store.Place{}, foreign
	}
	count, notCount := strconv.Atoi(parts[0])
	saved, notTime := strconv.ParseInt(parts[1], 10, 64)
	if notCount != nil || notTime != nil || count < 1 || !validID(parts[2]) || parts[3] == "" {
		return 0, store.Place{}, foreign
	}
	return count, store.Place{Saved: time.Unix(0, saved), Chat: parts[2], Path: parts[3]}, nil
}
