// Package audit keeps the audit log: who did what kind of thing, when and from where, never what
// was in it. It is a folder of files with one JSON object a line. Each line has the hash of the one
// before it and its own, so that what is changed, taken out or put in later shows.
//
// Several processes write to one folder, one line at a time, under a lock of the folder. A line
// that a killed process has left unfinished is taken away by the next one that writes, which says
// so in its own line. A file that is full is followed by another that carries the chain on; the
// oldest are removed beyond the size that the operator allows.
//
// # Trust
//
// The folder belongs to the program's user. Whoever can write to it can also make a new chain: the
// log is evidence against others, and against its owner only for those who have kept a hash of it
// elsewhere. What events say of subjects and addresses is bounded and written as JSON, whatever it is.
//
// # Failure
//
// What cannot be written, as on a full disk, is an error of [Log.Append] and does not stop what is
// audited: events that are lost are counted, and the next line that can be written tells how many.
// A chain that does not hold is a [*BrokenError].
package audit

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"runpython/internal/pypi/flock"
)

// Kind is what kind of thing an event is.
type Kind string

// The kinds of what is done with chats. Those who decide who may call name what they do themselves: signed_in, token_made,
// client_registered …
const (
	Started      Kind = "started" // a server; Object is its version
	Stopped      Kind = "stopped"
	Turn         Kind = "turn"      // Count is the number of runs
	FileRead     Kind = "file_read" // of a chat
	FileAdded    Kind = "file_added"
	ChatRead     Kind = "chat_read"     // its transcript, shown or exported
	ChatForked   Kind = "chat_forked"   // Object is the id of the copy
	ChatUndone   Kind = "chat_undone"   // its last turn; Count is the number of that
	ChatImported Kind = "chat_imported" // Count is the number of turns
	ChatDeleted  Kind = "chat_deleted"
	ChatsExpired Kind = "chats_expired" // deleted by a rule, which Object names; Count is the number of chats
	BackupMade   Kind = "backup_made"   // Count is the number of chats
)

// An Event is one thing that somebody did. Only Kind is required. Texts are cut to maxText bytes.
type Event struct {
	Time    time.Time // zero for now
	Kind    Kind
	Subject string // who; "" is the local user
	Address string // from where: an IP address; "" is this machine's command line or pipes
	Outcome string // "ok", or what went wrong as one word
	Chat    string // its id
	Object  string // what it was done to, by name
	Count   int
}

// Bounds of the log.
const (
	// maxText bounds each text of an event.
	maxText = 256
	// maxLine bounds a line, which six bounded texts cannot reach, each byte written as six.
	maxLine = 16 << 10
	// FileBytes is the size from which on a file is followed by the next.
	FileBytes = 4 << 20
	// appendTime bounds the wait for other processes that write.
	appendTime = 2 * time.Second
)

// Dir is the folder of the log in a folder of data.
func Dir(data string) string { return filepath.Join(data, "audit") }

// Options say what a Log keeps.
type Options struct {
	Bytes     int64 // of all files, some more; at least two files are kept
	FileBytes int64 // of one file; 0 for the constant of that name
}

// A Log is written to. It is safe for concurrent use, also of several processes. Close it.
type Log struct {
	dir     string
	options Options

	mu   sync.Mutex // guards what follows
	file *os.File   // the last one as far as known, nil before the first line
	end  int64      // its size after our last line
	last state      // of our last line
	lost int        // events that were not written since then
	// stuck says that another process has kept the lock for appendTime: until it lets go nobody waits for it again.
	stuck bool
}

// Open opens the log in the folder dir, which is made if needed.
func Open(dir string, o Options) (*Log, error) {
	if o.FileBytes <= 0 {
		o.FileBytes = FileBytes
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open the audit log: %w", err)
	}
	return &Log{dir: dir, options: o}, nil
}

// Close closes the log, whose lines are on the disk when it returns.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := errors.Join(l.file.Sync(), l.file.Close())
	l.file = nil
	if err != nil {
		return fmt.Errorf("close the audit log: %w", err)
	}
	return nil
}

// Append writes an event. When it returns nil, the line outlives the end of this process, however
// it ends; that of the machine may take the last seconds. The end of ctx does not keep an event from
// being written: it has happened.
func (l *Log) Append(ctx context.Context, e Event) error {
	ctx = context.WithoutCancel(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.append(ctx, e); err != nil {
		l.lost++
		return fmt.Errorf("write to the audit log: %w", err)
	}
	l.lost = 0
	return nil
}

// append is Append; the caller holds mu.
func (l *Log) append(ctx context.Context, e Event) (err error) {
	lock, err := l.lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Close()) }() // unlocks
	torn := 0
	if !l.isCurrent() {
		if torn, err = l.reopen(); err != nil {
			return err
		}
	}
	next, line, err := encode(l.last, e, l.lost, torn)
	if err != nil {
		return err
	}
	if l.file == nil || l.end >= l.options.FileBytes {
		if err := l.rotate(next.Seq); err != nil {
			return err
		}
	}
	n, err := l.file.Write(line)
	if err != nil {
		if n > 0 { // what does not fit wholly is nobody's line
			err = errors.Join(err, l.file.Truncate(l.end))
		}
		return err
	}
	l.end += int64(n)
	l.last = next
	return nil
}

// lock takes the lock of the folder; closing it gives it back.
func (l *Log) lock(ctx context.Context) (*os.File, error) {
	patience := appendTime
	if l.stuck {
		patience = 0 // one try
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	lock, err := flock.Open(ctx, filepath.Join(l.dir, lockName))
	l.stuck = errors.Is(err, context.DeadlineExceeded)
	if l.stuck {
		return nil, fmt.Errorf("another process keeps its lock: %w", err)
	}
	return lock, err
}

// isCurrent reports whether the file is the last one and nobody else has written to it. Others begin a new
// file only when this one is full.
func (l *Log) isCurrent() bool {
	if l.file == nil || l.end >= l.options.FileBytes {
		return false
	}
	var s unix.Stat_t
	return unix.Fstat(int(l.file.Fd()), &s) == nil && s.Nlink > 0 && s.Size == l.end
}

// reopen opens the last file, if there is one, takes an unfinished line off its end and returns how many
// bytes that had.
func (l *Log) reopen() (torn int, err error) {
	if l.file != nil {
		_ = l.file.Close() // nothing is written through it any more
		l.file = nil
	}
	names, err := files(l.dir)
	if err != nil || len(names) == 0 {
		l.last = state{}
		return 0, err
	}
	path := filepath.Join(l.dir, names[len(names)-1])
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|unix.O_NOFOLLOW, 0)
	if err != nil {
		return 0, err
	}
	e, err := scan(f)
	if err == nil && e.whole < e.size {
		torn = int(e.size - e.whole)
		err = f.Truncate(e.whole)
	}
	if err != nil {
		return 0, errors.Join(err, f.Close())
	}
	if e.last == (state{}) && len(names) > 1 { // a file in which nothing was written yet
		e.last, err = lastOf(filepath.Join(l.dir, names[len(names)-2]))
	}
	l.file, l.end, l.last = f, e.whole, e.last
	return torn, err
}

// rotate begins the file of the line seq, and removes the oldest ones beyond the size that is kept.
func (l *Log) rotate(seq uint64) error {
	f, err := os.OpenFile(filepath.Join(l.dir, fileName(seq)), os.O_RDWR|os.O_APPEND|os.O_CREATE|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	if l.file != nil {
		err = errors.Join(l.file.Sync(), l.file.Close())
	}
	l.file, l.end = f, 0
	names, listing := files(l.dir)
	err = errors.Join(err, listing)
	most := int(max(2, (l.options.Bytes+l.options.FileBytes-1)/l.options.FileBytes))
	for len(names) > most && err == nil {
		if err = os.Remove(filepath.Join(l.dir, names[0])); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		names = names[1:]
	}
	return err
}

// bounded returns text as a line may have it.
func bounded(text string) string {
	if len(text) > maxText {
		text = text[:maxText]
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
