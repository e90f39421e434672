// Package task keeps long runs: what they are doing, and their outcomes for an hour, so
// that a client that lost its connection can come back for them. It is the state machine
// of the tasks extension of MCP (SEP-2663), and knows neither its messages nor Python.
//
// [Store.Begin] makes a [Task], or finds the one of the same call that was sent before.
// Whoever does the work ends the task; everybody else looks at it by [Store.Find].
//
// # Trust
//
// Owners, ids and keys come from clients. A task is found by its owner only, and an id of
// somebody else looks like one that never was; ids hold 128 random bits. What a store
// holds is bounded in number and bytes, in all and for each owner. Outcomes, questions
// and answers are passed on and not read.
//
// # Failure
//
// A store without room refuses to begin a task; what it has promised to keep stays for
// its time, and so does every key: without its outcome if there is no room for that.
// Everything is in memory and ends with the process.
package task

import (
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"strings"
	"sync"
	"time"
)

const (
	// KeepFor is how long a task is kept after its end.
	KeepFor = time.Hour

	// MaxTasks bounds how many tasks a store holds, those of which nothing but the key
	// is left among them.
	MaxTasks = 16384

	// MaxBytes bounds what they hold together: MaxResultBytes each while it works, and
	// what its outcome takes when it has ended.
	MaxBytes = 256 << 20

	// MaxResultBytes bounds the outcome of a task.
	MaxResultBytes = 1 << 20

	// One owner holds at most this share of the bounds above.
	ownerShare = 4

	// MaxNoteBytes bounds the message of a task.
	MaxNoteBytes = 1 << 10

	// MaxQuestions bounds the questions of a task that wait at the same time.
	MaxQuestions = 16

	// MaxAsked bounds all questions of a task.
	MaxAsked = 256

	// overheadBytes is what a task takes besides its outcome, at most.
	overheadBytes = 4 << 10
)

var (
	// ErrFull says that there is no room for another task now.
	ErrFull = errors.New("too many tasks are kept")
	// ErrOtherCall says that a key came before, with another call.
	ErrOtherCall = errors.New("the key belongs to another call")
	// ErrClosed says that the store has been closed.
	ErrClosed = errors.New("no more tasks are taken")
)

// A Digest stands for something that may be long, or secret.
type Digest [sha256.Size]byte

// A Spec describes the work of a task.
type Spec struct {
	Owner string // who may see it
	// Key is the digest of what marks calls as the same for their client: those with the
	// same owner, Key and Call share one task. The zero Digest marks none.
	Key  Digest
	Call Digest // of what the call asks for
	// Cancel makes the work end soon. It is called at most once, without waiting for it.
	Cancel func()
}

// A Store keeps tasks. Its zero value is ready; it is safe for concurrent use. The caller
// ends it with Close.
type Store struct {
	mu     sync.Mutex
	closed bool
	tasks  map[string]*Task
	keys   map[ownedKey]*Task
	owners map[string]*usage
	total  usage
}

type ownedKey struct {
	owner string
	key   Digest
}

// A usage counts what is held.
type usage struct{ tasks, bytes int }

// fits reports whether what one more task that works may need has room.
func (u usage) fits(bytes int) bool { return u.bytes+MaxResultBytes <= bytes }

// Begin makes a task that works, or returns the one that the same call has made before,
// and reports which: began is true when the caller is to do the work. The error is
// ErrClosed, ErrFull or ErrOtherCall.
func (s *Store) Begin(spec Spec) (t *Task, began bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if spec.Key != (Digest{}) {
		if t := s.keys[ownedKey{spec.Owner, spec.Key}]; t != nil {
			if t.spec.Call != spec.Call {
				return nil, false, ErrOtherCall
			}
			return t, false, nil
		}
	}
	switch {
	case s.closed:
		return nil, false, ErrClosed
	case !s.room(spec.Owner):
		return nil, false, ErrFull
	}
	now := time.Now()
	t = &Task{
		store: s, spec: spec, id: strings.ToLower(rand.Text()),
		done: make(chan struct{}), waiting: make(map[string]*question), asked: make(map[string]bool),
	}
	t.state = State{ID: t.id, Status: Working, Created: now, Updated: now}
	s.add(t)
	return t, true, nil
}

// room reports whether another task may begin, if need be by dropping outcomes that were
// not promised to anybody: those that only a repeated call would ask for. Their keys stay,
// or such a call would run again. The caller holds s.mu.
func (s *Store) room(owner string) bool {
	own := s.owners[owner]
	if s.total.tasks >= MaxTasks || own != nil && own.tasks >= MaxTasks/ownerShare {
		return false
	}
	for !s.total.fits(MaxBytes) || !s.ownerFits(owner) {
		oldest := s.oldestUnpromised(owner, s.ownerFits(owner))
		if oldest == nil {
			return false
		}
		s.drop(oldest)
	}
	return true
}

// ownerFits reports whether an owner may hold the bytes of one more task that works. The
// caller holds s.mu.
func (s *Store) ownerFits(owner string) bool {
	own := s.owners[owner]
	return own == nil || own.fits(MaxBytes/ownerShare)
}

// drop forgets the outcome of a task that has ended and keeps its key. The caller holds s.mu.
func (s *Store) drop(t *Task) {
	t.state.Result, t.state.Error, t.state.Dropped = nil, nil, true
	s.resize(t, overheadBytes)
}

// oldestUnpromised returns the task whose outcome may go first, of any owner or of that
// one. Small outcomes stay: they would make no room worth a look at all tasks. The caller
// holds s.mu.
func (s *Store) oldestUnpromised(owner string, ofAny bool) *Task {
	var oldest *Task
	for _, t := range s.tasks {
		if t.shown || !t.state.Status.final() || t.bytes < 2*overheadBytes || (!ofAny && t.spec.Owner != owner) {
			continue
		}
		if oldest == nil || t.state.Updated.Before(oldest.state.Updated) {
			oldest = t
		}
	}
	return oldest
}

// add puts a task in. The caller holds s.mu.
func (s *Store) add(t *Task) {
	if s.tasks == nil {
		s.tasks = make(map[string]*Task)
		s.keys = make(map[ownedKey]*Task)
		s.owners = make(map[string]*usage)
	}
	s.tasks[t.id] = t
	if t.spec.Key != (Digest{}) {
		s.keys[ownedKey{t.spec.Owner, t.spec.Key}] = t
	}
	if s.owners[t.spec.Owner] == nil {
		s.owners[t.spec.Owner] = &usage{}
	}
	s.owners[t.spec.Owner].tasks++
	s.total.tasks++
	s.resize(t, MaxResultBytes)
}

// resize books what a task holds. The caller holds s.mu.
func (s *Store) resize(t *Task, bytes int) {
	s.owners[t.spec.Owner].bytes += bytes - t.bytes
	s.total.bytes += bytes - t.bytes
	t.bytes = bytes
}

// remove takes a task out, if it is in. The caller holds s.mu.
func (s *Store) remove(t *Task) {
	if t.gone {
		return
	}
	t.gone = true
	if t.removing != nil {
		t.removing.Stop()
	}
	s.forgetKey(t)
	s.resize(t, 0)
	s.total.tasks--
	owner := s.owners[t.spec.Owner]
	if owner.tasks--; owner.tasks == 0 {
		delete(s.owners, t.spec.Owner)
	}
	delete(s.tasks, t.id)
}

// forgetKey makes the key of a task unknown. The caller holds s.mu.
func (s *Store) forgetKey(t *Task) {
	key := ownedKey{t.spec.Owner, t.spec.Key}
	if s.keys[key] == t {
		delete(s.keys, key)
	}
}

// Find returns the task that its owner was shown under an id. Unknown ids and those of
// others are the same.
func (s *Store) Find(owner, id string) (*Task, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tasks[id]
	if t == nil || t.spec.Owner != owner || !t.shown {
		return nil, false
	}
	return t, true
}

// Close cancels what works and drops everything. Later calls of Begin are refused.
func (s *Store) Close() {
	s.mu.Lock()
	s.closed = true
	var working []*Task
	for _, t := range s.tasks {
		if !t.state.Status.final() {
			working = append(working, t)
			continue
		}
		s.remove(t)
	}
	s.mu.Unlock()
	for _, t := range working {
		t.Cancel("the server has stopped")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range working {
		s.remove(t)
	}
}
