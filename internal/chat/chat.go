package chat

import (
	"context"
	"time"

	"runpython/internal/kernel"
	"runpython/internal/llm"
)

// State tells what became of a chat's variables between the last turn and this one.
type State string

// The states. Every reply of a continued turn carries one of the last three.
const (
	New      State = "new"      // the chat began with this turn
	Kept     State = "kept"     // the same interpreter goes on
	Restored State = "restored" // variables came back from a checkpoint
	Reset    State = "reset"    // variables are lost, Reply.StateReason says why; files are kept
)

// A Request is one turn: one call of the tool, or one message typed at a terminal.
type Request struct {
	Owner   string // the subject that asks; "" is the local user
	ChatID  string // "" begins a chat
	Message string // 1 byte to MaxMessageBytes

	// RunTimeout bounds each run; 0 means the configured limit, and a larger
	// value than that is cut to it.
	RunTimeout time.Duration

	// Progress, if not nil, is called while the turn goes on, from one
	// goroutine at a time. It must return quickly.
	Progress func(Progress)

	// Ask, if not nil, asks the person for what the code wants to read, once at a time, and
	// returns soon after ctx ends: at its deadline, when the questions of the run have been open for
	// 10 minutes together, or when the run is stopped. Without it code that asks gets an error at once.
	Ask       func(ctx context.Context, q Question) Answer
	Questions int // that a run may ask; 0 for 100, which is also the most
}

// MaxMessageBytes is the size of the largest message.
const MaxMessageBytes = 1 << 20

// A Progress tells what a turn is doing.
type Progress struct {
	Step   string // "waiting" for the turn before, "starting", "running", "asking", "output", "saving", or a short line about packages: "installing pandas"
	Stdout string // what the code has just printed, valid UTF-8; only with step "output"
	Stderr string
}

// A Reply is the outcome of a turn, of which each transport shows its own form.
type Reply struct {
	ChatID      string    // "" when no chat was begun: nothing was run
	Text        string    // Markdown for a person or a model, at most MaxTextBytes; no chat id in it
	IsError     bool      // the code failed, hit a limit, or nothing could be run
	State       State     // "" when nothing ran since another turn is at work, which tells what becomes of the variables
	StateReason string    // for Reset: one sentence
	Problems    []string  // what went wrong beside the code, and what its error means here, as sentences; Text has them too
	Packages    []Package // that the turn has installed
	Model       *ModelUse // nil where no model took part
	Runs        []Run     // in their order; a model may need several
	Images      []Image
	Files       []File
}

// A ModelUse tells what part a language model had in a turn.
type ModelUse struct {
	Name     string // "anthropic/claude-sonnet-5"
	End      string // how it ended: "answered", or which limit, as agent.End
	Requests int
	Usage    llm.Usage
	Cost     float64 // in the currency of the configured prices, 0 without any

	Words     string   // what the model has said in the end, at most llm.MaxAnswerBytes; it is in Text, as far as that has room
	Unfounded []string // numbers of Words that nothing supports, as in agent.Answer
}

// A Run is one execution of code.
type Run struct {
	Code     string
	Stdout   string        // valid UTF-8, at most MaxStreamBytes, with a visible mark where bytes were left out
	Stderr   string        // the same
	Value    string        // the value of the last expression as text, "" when there was none
	Error    string        // the traceback, or the sentence that names the limit that ended the run
	Status   kernel.Status // how it ended; "" where only the record of a run is left
	Limited  bool          // Error is the sentence that names a limit
	Duration time.Duration
}

// An Image is a picture that a run showed.
type Image struct {
	Name     string // "figure-1.png"
	MIMEType string // image/png or image/jpeg
	Data     []byte // the picture as the code made it, at most 8 MiB; a transport scales it to its bounds
	Width    int
	Height   int
	URI      string // of the same picture as a file, for OpenFile
}

// A File is something that a turn made or changed and that can be fetched.
type File struct {
	Path     string // relative to /work with slashes, or the name of a result (full output, picture)
	URI      string // runpython://chats/{chat_id}/files/{path} or …/results/{run}/{name}, percent-encoded
	MIMEType string
	Size     int64  // bytes
	Result   bool   // made by the server from the run (full output, original picture), not by the code in /work
	Skipped  string // not "" when it cannot be fetched, and why ("symbolic link", "FIFO", "too large")
}
