package chat

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"runpython/internal/agent"
	"runpython/internal/fault"
	"runpython/internal/pypi"
	"runpython/internal/store"
)

// queuedTurns is how many turns may wait for their chat.
const queuedTurns = 8

// conversation is a chat in this process.
type conversation struct {
	id    string
	owner string

	turn    chan struct{} // holds a token while nobody runs a turn
	waiting atomic.Int32  // turns that want it

	// Guarded by the token of turn:
	kernel    Interpreter      // nil when there is none
	fresh     bool             // it has run nothing
	resumed   bool             // it was made of a checkpoint, and no run has told so yet
	loss      string           // why the variables of the last turn are lost, "" if they are not
	lock      pypi.Lock        // what is installed
	packages  string           // the same as the store has it
	history   []agent.Exchange // what a model is told of earlier turns; see Service.remember
	runs      int              // of code, in all turns; results are named by them
	turns     int              // that were kept: the number of the last one
	begun     time.Time
	lease     store.Lease  // of this process, once saved
	saved     bool         // the store has a record of it, and this process its lease
	known     bool         // the store had a record of it before this process came to it
	forgotten bool         // history is to be read again
	replay    store.Replay // of the runs since the checkpoint, before the next one; there is no kernel as long
	horizon   int          // the first turn after which the files are known
	gone      bool         // it was deleted or given away: nothing may run in it any more

	checkpoint  *store.Checkpoint // that may be used once no interpreter lives, nil without one
	interrupted bool              // the kernel was taken over from a killed server while code ran, and no run has told so yet

	// touched counts what was done in interpreters of the chat, and stored says how much of it the checkpoint has. Who
	// changes them has the chat.
	touched, stored atomic.Int64

	used    atomic.Int64 // begin of the last turn, Unix nanoseconds
	rested  atomic.Int64 // its end
	tended  atomic.Bool  // something is done for it beside its turns
	refused atomic.Int64 // when no checkpoint could be made in the background

	historyBytes int // of history, guarded by the mu of the Service

	mu     sync.Mutex    // guards asking
	asking chan struct{} // closed while the code waits for the person
}

func newConversation(record store.Chat) *conversation {
	c := &conversation{id: record.ID, owner: record.Owner, turn: make(chan struct{}, 1), runs: record.Runs, begun: record.Created, asking: make(chan struct{})}
	c.used.Store(record.Used.UnixNano())
	c.turn <- struct{}{}
	return c
}

// record is what the store keeps of it; the caller has the chat.
func (c *conversation) record() store.Chat {
	return store.Chat{ID: c.id, Owner: c.owner, Created: c.begun, Used: time.Unix(0, c.used.Load()), Runs: c.runs, Packages: c.packages, Loss: c.loss, Replay: c.replay}
}

// newID returns 128 random bits as 26 characters [a-z2-7].
func newID() string {
	var bits [16]byte
	_, _ = rand.Read(bits[:]) // never fails
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(bits[:]))
}

// idLength is the number of characters of a chat id.
const idLength = 26

// validID reports whether id has the form of those that newID makes.
func validID(id string) bool {
	return len(id) == idLength && strings.Trim(id, "abcdefghijklmnopqrstuvwxyz234567") == ""
}

// enter waits until the chat is ours, but not for a person that its code has asked. waits, if not nil, is called
// when it has to. Service.enter also looks whether it still is there.
func (c *conversation) enter(ctx context.Context, waits func()) error {
	if c.tryEnter() {
		return nil
	}
	if c.waiting.Add(1) > queuedTurns {
		c.waiting.Add(-1)
		return fault.New(fault.Busy, nil, fmt.Sprintf("%d calls of this chat wait already; one runs at a time: wait for their results, or use another chat", queuedTurns))
	}
	defer c.waiting.Add(-1)
	if waits != nil {
		waits()
	}
	select {
	case <-c.turn:
		return nil
	case <-c.question():
		return errAsking()
	case <-ctx.Done():
		return fault.New(fault.Canceled, ctx.Err(), "the call was stopped while it waited for the one before it")
	}
}

// tryEnter takes the chat if nobody has it.
func (c *conversation) tryEnter() bool {
	select {
	case <-c.turn:
		return true
	default:
		return false
	}
}

func (c *conversation) leave() { c.turn <- struct{}{} }

// state tells what became of the variables since the last turn; the caller has the chat.
func (c *conversation) state() (state State, reason string) {
	switch {
	case c.runs == 0 && c.turns == 0:
		return New, ""
	case c.runs == 0, c.kernel != nil && c.loss == "" && !c.resumed: // without a run there was nothing to lose
		return Kept, ""
	case c.loss == "":
		return Restored, ""
	}
	return Reset, c.loss
}
