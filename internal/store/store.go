// Package store holds the records of chats: who owns them, which files and
// results they have. The packages below it keep them: memory for the life of
// the process, and content for the bytes of files.
//
// # Trust
//
// Paths and names in records were checked by those who made them; bytes of files
// are hostile and are only ever copied.
//
// # Failure
//
// An unknown chat, file or result is [ErrNotFound]. Records that are replaced or removed
// are returned to who did that: their content is theirs to let go.
package store

import (
	"cmp"
	"errors"
	"strings"
	"time"
)

// ErrNotFound means that there is no such record.
var ErrNotFound = errors.New("not found")

// A Chat is a conversation.
type Chat struct {
	ID      string // 26 characters [a-z2-7]
	Owner   string // the subject that began it
	Created time.Time
	Used    time.Time // begin of the last turn
	Runs    int       // of code, in all its turns
	// Packages is what is installed in it, as package chat has written it; "" for nothing.
	Packages string
}

// A File is what is known of a file in a chat's /work, or of a result of a run.
type File struct {
	Path     string // relative with slashes, any bytes; the name of a result
	Hash     string // names the content, "" when it was not fetched
	Size     int64  // bytes
	MIMEType string
	Stamp    string    // as the guest gave it; changes when the file does
	Saved    time.Time // when the content was kept; zero without content
}

// A Listed is a file in a list of all of an owner's.
type Listed struct {
	Chat string // its id
	File File
}

// A Place is where a list of files goes on: after the file of this path and chat, which was
// saved at this time, also if that one is gone by now.
type Place struct {
	Saved time.Time
	Chat  string
	Path  string
}

// Place returns that of f.
func (f Listed) Place() Place { return Place{Saved: f.File.Saved, Chat: f.Chat, Path: f.File.Path} }

// Compare orders places as lists have them: what was saved last comes first, of one time
// by chat and path.
func (p Place) Compare(q Place) int {
	return cmp.Or(q.Saved.Compare(p.Saved), strings.Compare(p.Chat, q.Chat), strings.Compare(p.Path, q.Path))
}

// Bounds say how much of something is kept.
type Bounds struct {
	Count int
	Bytes int64
}
