package chat

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"runpython/internal/fault"
	"runpython/internal/kernel"
	"runpython/internal/store"
	"runpython/internal/store/content"
)

// An Interpreter is a living interpreter of one chat; *kernel.Kernel is one.
type Interpreter interface {
	Run(ctx context.Context, r kernel.Request) (*kernel.Result, error)
	Get(ctx context.Context, paths []string, limit int64, sink func(int, []byte) error, end func(int, string) error) error
	Put(ctx context.Context, path string, content io.Reader) (problem string, err error)
	Lost() bool
	Close() error
}

// A Store keeps the records of chats.
type Store interface {
	SaveChat(ctx context.Context, c store.Chat) error
	Chat(ctx context.Context, id string) (store.Chat, error)
	Chats(ctx context.Context) ([]store.Chat, error) // least recently used first
	DeleteChat(ctx context.Context, id string) error
	SaveFiles(ctx context.Context, id string, changed []store.File, deleted []string) error
	Files(ctx context.Context, id string) ([]store.File, error)
	File(ctx context.Context, id, path string) (store.File, error)
	SaveResult(ctx context.Context, id string, turn int, f store.File) error
	Result(ctx context.Context, id string, turn int, name string) (store.File, error)
}

// Options are what a Service needs.
type Options struct {
	// Start starts an interpreter. fill is called with the folder that
	// becomes its /work, before it looks there.
	Start   func(ctx context.Context, fill func(dir string) error) (Interpreter, error)
	Store   Store
	Content *content.Store
	Limits  Limits
	Log     *slog.Logger
}

// Limits bound chats and name what bounds their runs, for the sentences that tell of it.
type Limits struct {
	RunTimeout  time.Duration
	MemoryBytes int64
	WorkBytes   int64
	WorkFiles   int
	Kernels     int           // interpreters that live at once; the least recently used makes room
	Chats       int           // chats that are kept; the least recently used is deleted
	Keep        time.Duration // a chat that is not used for so long is deleted
}

const (
	// queuedTurns is how many turns may wait for their chat.
	queuedTurns = 8
	// sweepEvery is how often old chats are looked for, when a chat begins.
	sweepEvery = time.Minute
	// saveTimeout bounds what is still done for a turn whose caller has gone.
	saveTimeout = time.Minute
)

// Service runs turns. It is safe for concurrent use. Close it.
type Service struct {
	options Options

	mu     sync.Mutex // guards what follows; never held while a turn runs
	chats  map[string]*conversation
	swept  time.Time
	closed bool
}

// conversation is a chat in this process.
type conversation struct {
	id    string
	owner string

	turn    chan struct{} // holds a token while nobody runs a turn
	waiting atomic.Int32  // turns that want it

	// Guarded by the token of turn:
	kernel Interpreter // nil when there is none
	loss   string      // why the variables of the last turn are lost, "" if they are not
	turns  int
	begun  time.Time

	alive atomic.Bool  // kernel is not nil
	used  atomic.Int64 // begin of the last turn, Unix nanoseconds
}

// NewService returns a Service.
func NewService(options Options) *Service {
	return &Service{options: options, chats: make(map[string]*conversation)}
}

// Turn runs one turn. Code that fails, a limit, an unknown chat and a message
// without code are replies with IsError; an error is a malformed request
// (fault.Invalid), a bound (fault.Busy), the end of ctx before anything ran (fault.Canceled), or ours.
func (s *Service) Turn(ctx context.Context, r Request) (*Reply, error) {
	read, err := readMessage(r.Message)
	if err != nil {
		return nil, err
	}
	if len(read.Candidates) == 0 {
		return s.withoutCode(ctx, r)
	}
	c, err := s.open(ctx, r)
	if err != nil {
		return unknownChat(err)
	}
	if err := c.enter(ctx); err != nil {
		return nil, err
	}
	defer c.leave()
	t := &turn{service: s, chat: c, request: r, message: read}
	return t.run(ctx)
}

// withoutCode answers a message in which there is nothing to run. It does not wait for the chat.
func (s *Service) withoutCode(ctx context.Context, r Request) (*Reply, error) {
	reply := &Reply{ChatID: r.ChatID, IsError: true, Text: needsCode, State: New}
	if r.ChatID == "" {
		return reply, nil
	}
	c, err := s.find(ctx, r.Owner, r.ChatID)
	if err != nil {
		return unknownChat(err)
	}
	reply.State = Kept // a turn is under way: what becomes of the variables, that one tells
	if c.tryEnter() {
		reply.State, reply.StateReason = c.state()
		c.leave()
	}
	return reply, nil
}

// unknownChat turns a chat that is not there into a reply.
func unknownChat(err error) (*Reply, error) {
	if !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	return &Reply{IsError: true, State: New, Text: "There is no chat with this chat_id: it is unknown, or it has ended with the server that held it. " +
		"Leave chat_id out to begin a new chat; variables and files of the old one are not there."}, nil
}

// open finds the chat of a request or begins one.
func (s *Service) open(ctx context.Context, r Request) (*conversation, error) {
	if r.ChatID != "" {
		return s.find(ctx, r.Owner, r.ChatID)
	}
	if err := s.sweep(ctx); err != nil {
		return nil, err
	}
	c := newConversation(newID(), r.Owner)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fault.New(fault.Busy, nil, "the server is shutting down; try again in a moment")
	}
	s.chats[c.id] = c
	return c, nil
}

func newConversation(id, owner string) *conversation {
	c := &conversation{id: id, owner: owner, turn: make(chan struct{}, 1), begun: time.Now()}
	c.used.Store(c.begun.UnixNano())
	c.turn <- struct{}{}
	return c
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

// find returns a chat of owner. What has the wrong form, is unknown or belongs to
// someone else is store.ErrNotFound alike.
func (s *Service) find(ctx context.Context, owner, id string) (*conversation, error) {
	if !validID(id) {
		return nil, store.ErrNotFound
	}
	record, err := s.options.Store.Chat(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("find a chat: %w", err)
	}
	if record.Owner != owner {
		return nil, store.ErrNotFound
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.chats[id]
	if c == nil {
		c = newConversation(id, owner)
		c.turns, c.begun, c.loss = record.Turns, record.Created, "its interpreter has ended"
		s.chats[id] = c
	}
	return c, nil
}

// enter waits until the chat is ours.
func (c *conversation) enter(ctx context.Context) error {
	select {
	case <-c.turn:
		return nil
	default:
	}
	if c.waiting.Add(1) > queuedTurns {
		c.waiting.Add(-1)
		return fault.New(fault.Busy, nil, fmt.Sprintf("%d calls of this chat wait already; one runs at a time: wait for their results, or use another chat", queuedTurns))
	}
	defer c.waiting.Add(-1)
	select {
	case <-c.turn:
		return nil
	case <-ctx.Done():
		return fault.New(fault.Canceled, ctx.Err(), "the call was stopped while it waited for the one before it")
	}
}

// state tells what became of the variables since the last turn; the caller has the chat.
func (c *conversation) state() (state State, reason string) {
	switch {
	case c.turns == 0:
		return New, ""
	case c.kernel != nil && c.loss == "":
		return Kept, ""
	}
	return Reset, c.loss
}

func (c *conversation) leave() { c.turn <- struct{}{} }

// tryEnter takes the chat if nobody has it.
func (c *conversation) tryEnter() bool {
	select {
	case <-c.turn:
		return true
	default:
		return false
	}
}

// end closes the interpreter; the caller has the chat.
func (c *conversation) end(why string) error {
	if c.kernel == nil {
		return nil
	}
	k := c.kernel
	c.kernel, c.loss = nil, why
	c.alive.Store(false)
	return k.Close()
}

// makeRoom ends the least recently used interpreter when there are as many as may live.
func (s *Service) makeRoom() error {
	for {
		victim, count := s.oldest()
		if count < s.options.Limits.Kernels {
			return nil
		}
		if victim == nil {
			return fault.New(fault.Busy, nil, fmt.Sprintf("all %d interpreters are at work; try again in a moment", count))
		}
		err := victim.end(fmt.Sprintf("its interpreter was ended to make room for other chats (%d may live at once)", s.options.Limits.Kernels))
		victim.leave()
		if err != nil {
			return err
		}
	}
}

// oldest returns the living chat that nobody uses and that was used least
// recently, taken; and the number of living ones.
func (s *Service) oldest() (*conversation, int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	count := 0
	var chosen *conversation
	for _, c := range s.chats {
		if !c.alive.Load() {
			continue
		}
		count++
		if chosen != nil && c.used.Load() >= chosen.used.Load() {
			continue
		}
		if c.tryEnter() {
			if chosen != nil {
				chosen.leave()
			}
			chosen = c
		}
	}
	if chosen != nil && (count < s.options.Limits.Kernels || chosen.kernel == nil) {
		chosen.leave()
		chosen = nil
	}
	return chosen, count
}

// sweep deletes chats that are too old or too many. It looks once in a while.
func (s *Service) sweep(ctx context.Context) error {
	s.mu.Lock()
	due := time.Since(s.swept) > sweepEvery || len(s.chats) >= s.options.Limits.Chats
	if due {
		s.swept = time.Now()
	}
	s.mu.Unlock()
	if !due {
		return nil
	}
	records, err := s.options.Store.Chats(ctx)
	if err != nil {
		return fmt.Errorf("look for old chats: %w", err)
	}
	excess := len(records) - s.options.Limits.Chats + 1
	for i, r := range records {
		if i >= excess && time.Since(r.Used) < s.options.Limits.Keep {
			break
		}
		if err := s.Delete(ctx, r.Owner, r.ID); err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
	}
	return nil
}

// Delete removes a chat with its interpreter and files. It waits for a turn that is under way.
func (s *Service) Delete(ctx context.Context, owner, id string) error {
	c, err := s.find(ctx, owner, id)
	if err != nil {
		return err
	}
	if err := c.enter(ctx); err != nil {
		return err
	}
	defer c.leave()
	s.drop(c)
	return errors.Join(c.end("the chat was deleted"), s.options.Store.DeleteChat(ctx, id))
}

func (s *Service) drop(c *conversation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.chats, c.id)
}

// Close ends all interpreters, also those that run.
func (s *Service) Close() error {
	s.mu.Lock()
	s.closed = true
	all := make([]*conversation, 0, len(s.chats))
	for _, c := range s.chats {
		all = append(all, c)
	}
	s.mu.Unlock()
	var wait sync.WaitGroup
	errs := make([]error, len(all))
	for i, c := range all {
		wait.Go(func() {
			<-c.turn // turns are ended by their contexts, which the transports cancel first
			errs[i] = c.end("the server was stopped")
			c.leave()
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

// Living returns the number of interpreters that live.
func (s *Service) Living() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, c := range s.chats {
		if c.alive.Load() {
			n++
		}
	}
	return n
}

// OpenFile returns the content that a File's URI names. The caller closes it.
// An unknown URI and one of another owner are the same fault.NotFound.
func (s *Service) OpenFile(ctx context.Context, owner, uri string) (File, io.ReadCloser, error) {
	f, err := s.lookUp(ctx, owner, uri)
	if errors.Is(err, store.ErrNotFound) {
		return File{}, nil, fault.New(fault.NotFound, nil, "there is no such file")
	}
	if err != nil {
		return File{}, nil, err
	}
	var body *os.File
	if body, err = s.options.Content.Open(f.Hash); err != nil {
		return File{}, nil, err
	}
	return File{Path: f.Path, URI: uri, MIMEType: f.MIMEType, Size: f.Size}, body, nil
}
