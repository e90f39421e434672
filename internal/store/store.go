// Package store holds the records of chats: who owns them, what was said and run in them, which
// files and results they have, and which process has each of them. The packages below it keep them: database
// over SQL, which sqlite and postgres open, and content for the bytes of files.
//
// # Trust
//
// Paths and names in records were checked by those who made them; bytes of files
// are hostile and are only ever copied.
//
// # Failure
//
// An unknown chat, file or result is [ErrNotFound], a chat that another process has [ErrHeld], and what is
// written to a chat that another process has taken meanwhile [ErrLost]. What is wrong with the
// database is a fault.Error that says what to do.
package store

import (
	"cmp"
	"errors"
	"strings"
	"time"
)

var (
	// ErrNotFound means that there is no such record.
	ErrNotFound = errors.New("not found")
	// ErrHeld means that another process, which lives, has the chat.
	ErrHeld = errors.New("another process has the chat")
	// ErrLost means that another process has taken the chat: what was to be written is not.
	ErrLost = errors.New("the chat was taken by another process")
	// ErrForgotten means that what a chat was before a turn is not known any more.
	ErrForgotten = errors.New("what was before is not kept")
)

// A Chat is a conversation.
type Chat struct {
	ID      string // 26 characters [a-z2-7]
	Owner   string // the subject that began it
	Created time.Time
	Used    time.Time // begin of the last turn
	Runs    int       // of code, in all its turns
	// Packages is what is installed in it, as package chat has written it; "" for nothing.
	Packages string
	// Loss says why its variables are lost, "" where the process that had it has not told.
	Loss string
	// Replay says whether the runs since its checkpoint, or all without one, are to be executed again before the next one.
	Replay Replay
	// Horizon is the first turn after which its files are known; only the database sets it.
	Horizon int
}

// A Replay says whether runs are to be executed again, and what becomes of the files.
type Replay int

// The replays.
const (
	NoReplay     Replay = iota
	ReplayAsKept        // the files are to be what they were after each turn
	ReplayAsNew         // they are what the runs leave, which have not run here yet
)

// Usage is what chats need together.
type Usage struct {
	Chats int
	Bytes int64 // of files, their earlier versions, results, turns and checkpoints
}

// A Lease is the right of a process to write to a chat. It ends when another process takes the chat:
// its fence is larger, and writes with a smaller one fail with ErrLost.
type Lease struct {
	Chat  string // its id
	Fence int64  // grows by one each time the chat is taken
}

// FirstFence is the fence of the lease by which a chat begins.
const FirstFence = 1

// Held is a lease that this process has.
type Held struct {
	Lease
	Wanted bool // another process has asked for the chat
}

// A Turn is what was said and run in one turn of a chat. Its texts are UTF-8; package chat bounds them.
type Turn struct {
	Number  int // from 1, without gaps in a chat but for those that were dropped at its beginning
	Begun   time.Time
	Message string
	Words   string // what a model has said in the end, "" where none took part
	Steps   []Step // what a model is told of the turn later
	Runs    []Run  // what people see of it
}

// A Step is one run of a Turn as a model remembers it.
type Step struct {
	Said   string `json:"said,omitempty"`
	Code   string `json:"code,omitempty"`
	Result string `json:"result,omitempty"`
	Failed bool   `json:"failed,omitempty"`
}

// A Run is one execution of code in a Turn.
type Run struct {
	Number int    `json:"number,omitempty"` // of all runs of the chat; results are named by it
	Code   string `json:"code"`
	Cut    bool   `json:"cut,omitempty"` // Code lacks its middle
	Stdout string `json:"stdout,omitempty"`
	Stderr string `json:"stderr,omitempty"`
	Value  string `json:"value,omitempty"` // of the last expression
	Error  string `json:"error,omitempty"` // the traceback, or the limit that ended the run

	Limited   bool `json:"limited,omitempty"`   // Error tells of a limit
	Elsewhere bool `json:"elsewhere,omitempty"` // it is of a chat that was imported, and has not run here
	Dropped   int  `json:"dropped,omitempty"`   // how many runs of the turn before it are not kept
}

// A Checkpoint is an image of a chat's interpreter.
type Checkpoint struct {
	Folder string // its name in the folder of checkpoints
	Bound  string // key of all that it depends on: with another one it is not used
	Turn   int    // number of the turn after which it was made
	Bytes  int64  // that it takes on the disk, without what it shares with others
	// Interrupted says that code was running when its server was killed, in a turn that is not kept: it was interrupted.
	Interrupted bool
	// Past says that it is the one before the latest, which has an earlier turn: it is for an undo.
	Past bool
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

// Changes are what has become of the files of a chat.
type Changes struct {
	Turn    int    // the turn that leaves them so; what is changed between two turns belongs to the one before
	Changed []File // new ones and other content
	Deleted []string
	// Most bounds the versions of files that earlier turns have left, content in bytes. The oldest go, and with
	// them the possibility to undo what was then.
	Most Bounds
}

// A Version is a file as some turns have left it.
type Version struct {
	File  File
	Since int // the first of these turns
	Gone  int // the turn that has left it otherwise, 0 for none
}

// An Undo takes the latest turn of a chat back.
type Undo struct {
	Turn int       // its number
	Run  int       // number of its first run, 0 for none
	Used time.Time // that the chat has then
}

// Undone is what nobody needs after an Undo.
type Undone struct {
	Contents []string
	Folders  []string // of checkpoints
}

// A Fork is a copy of a chat.
type Fork struct {
	ID          string
	Begun       time.Time
	Loss        string       // why it has no variables
	Checkpoints []Checkpoint // its own
}

// A Result is something that a run has made beside its files: a picture, or long output.
type Result struct {
	Run  int // the number of the run
	File File
}

// An Outline is what a list of chats shows of the turns of one.
type Outline struct {
	Chat  string // its id
	Turns int    // also those that are not kept any more
	Begin string // the first bytes of the first message that is kept, maybe with a part of a character at the end
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
