package chat

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"runpython/internal/agent"
	"runpython/internal/fault"
	"runpython/internal/kernel"
	"runpython/internal/message"
	"runpython/internal/pypi"
	"runpython/internal/store"
	"runpython/internal/store/content"
)

// A Start says what an interpreter is to be.
type Start struct {
	ChatID string
	Label  string // by what the guest is found again once this process was killed; see Service.Rescue
	Plain  bool   // without preloaded packages
}

// An Interpreter is a living interpreter of one chat; *kernel.Kernel is one.
type Interpreter interface {
	Run(ctx context.Context, r kernel.Request) (*kernel.Result, error)
	Get(ctx context.Context, paths []string, limit int64, sink func(int, []byte) error, end func(int, string) error) error
	Put(ctx context.Context, path string, content io.Reader) (problem string, err error)
	// Remove removes files, and returns how many it could not remove.
	Remove(ctx context.Context, paths []string) (kept int, err error)
	// Environment is the folder from which it imports packages, "" where none can be installed.
	Environment() string
	// Preloaded reports whether it has the packages of Options.Preload besides, and may have loaded them.
	Preloaded() bool
	Lost() bool
	// Checkpoint stores the interpreter as it is between two runs as the folder dir, which is not there before. It goes on
	// as if nothing had been; a run that begins meanwhile waits only as long as it stands still.
	Checkpoint(ctx context.Context, dir string) error
	// CheckpointBeside is Checkpoint for an interpreter that nobody waits for: a run that comes meanwhile goes first, which is
	// kernel.ErrDisturbed. One that holds too much is kernel.ErrTooLarge.
	CheckpointBeside(ctx context.Context, dir string) error
	// Close ends the interpreter, also while one of the other methods is under way,
	// which then returns an error. It is called once.
	Close() error
}

// Options are what a Service needs.
type Options struct {
	// Start starts an interpreter. fill is called with the folder that becomes its /work, before it looks there.
	Start func(ctx context.Context, start Start, fill func(dir string) error) (Interpreter, error)
	// Checkpoints are made of interpreters that end; nil where none are.
	Checkpoints Checkpoints
	Store       Store
	Content     *content.Store
	// Packages installs what code imports; nil where nothing is installed.
	Packages Packages
	// Preload returns what interpreters have that are Preloaded, always the same once there is such a one.
	// Nil where there never is.
	Preload func() pypi.Lock
	// Agent answers messages in plain language; nil where there is no model.
	Agent  Agent
	Python string // version of the interpreters, "3.14.6"; "" where scripts are not to ask for one
	Limits Limits
	Log    *slog.Logger
	// Deleted is told of chats that were deleted because of a rule, once for each rule in a sweep; nil for nobody. It must
	// return soon.
	Deleted func(ctx context.Context, rule Rule, chats int)
	// Beside says that other processes keep the store in order: remove what nobody needs.
	Beside bool
	// Now is the clock by which chats are idle and old; nil for one that setting the time of the machine does not move.
	Now func() time.Time
}

// Limits bound chats and name what bounds their runs, for the sentences that tell of it.
type Limits struct {
	RunTimeout  time.Duration
	MemoryBytes int64
	WorkBytes   int64
	WorkFiles   int
	Processes   int
	OpenFiles   int
	Egress      string        // where code may connect, as the operator's flag says it; "none" or "" for nowhere
	Kernels     int           // interpreters that live at once; the least recently used makes room
	Chats       int           // chats that are kept; the least recently used is deleted
	Idle        time.Duration // an interpreter that is not used for so long is freed
	Keep        time.Duration // a chat that is not used for so long is deleted
	Storage     int64         // bytes of all chats; the least recently used is deleted. 0 for no bound
	// OwnerChats and OwnerStorage are Chats and Storage of each owner but the local user; 0 for no bound.
	OwnerChats   int
	OwnerStorage int64
}

const (
	// turnsAtOnce is how many turns and uploads may be under way or wait for their chats.
	turnsAtOnce = 512
	// saveTimeout bounds what is still done for a turn whose caller has gone.
	saveTimeout = time.Minute
	// closeGrace is what turns under way have to end in Close, and again once their
	// interpreters were closed.
	closeGrace = 5 * time.Second
)

// Service runs turns. It is safe for concurrent use. Close it.
type Service struct {
	options Options
	places  chan struct{} // holds a token for each turn or upload
	besides chan struct{} // for each thing that is done for a chat beside its turns
	writing chan struct{} // for each checkpoint that is being made
	quietly chan struct{} // for each of them that is made beside its chat
	queued  chan struct{} // for each of those and of others that wait for it

	// mu guards what follows. It is never held while a turn runs; who holds a chat's
	// turn may lock it, and under it a turn is only tried, never waited for.
	mu        sync.Mutex
	chats     map[string]*conversation
	living    map[*conversation]*place
	leases    map[*conversation]store.Lease // of this process
	given     map[string]time.Time          // when chats were given to another process, by id, for a moment
	histories int                           // bytes of the histories of all chats
	swept     time.Time
	closed    bool

	stopTending context.CancelFunc
	tending     sync.WaitGroup
}

// NewService returns a Service, which looks after its chats until it is closed.
func NewService(options Options) *Service {
	if options.Now == nil {
		options.Now = steady()
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Service{
		options: options, places: make(chan struct{}, turnsAtOnce),
		besides: make(chan struct{}, besidesAtOnce), writing: make(chan struct{}, checkpointsAtOnce),
		quietly: make(chan struct{}, quietlyAtOnce), queued: make(chan struct{}, quietlyQueued),
		chats: make(map[string]*conversation), living: make(map[*conversation]*place),
		leases: make(map[*conversation]store.Lease), given: make(map[string]time.Time), stopTending: cancel,
	}
	s.tending.Go(func() { s.tend(ctx) })
	s.tending.Go(func() { s.keepHouse(ctx) })
	return s
}

// arrive takes a place for a turn or an upload; depart gives it back.
func (s *Service) arrive() error {
	select {
	case s.places <- struct{}{}:
		return nil
	default:
		return fault.New(fault.Busy, nil, fmt.Sprintf("the server has %d calls at once, the most it takes; try again in a moment", turnsAtOnce))
	}
}

func (s *Service) depart() { <-s.places }

// UnderWay is how many turns and uploads are under way or wait for their chats, at most turnsAtOnce.
func (s *Service) UnderWay() int { return len(s.places) }

// Turn runs one turn. Code that fails, a limit, an unknown chat and a message that nobody can
// answer are replies with IsError; an error is a malformed request
// (fault.Invalid), a bound (fault.Busy), the end of ctx before anything ran (fault.Canceled), or ours.
func (s *Service) Turn(ctx context.Context, r Request) (*Reply, error) {
	if err := s.arrive(); err != nil {
		return nil, err
	}
	defer s.depart()
	read, err := readMessage(r.Message)
	if err != nil {
		return nil, err
	}
	if read.Lone != "" && r.ChatID != "" && s.options.Agent == nil { // nobody could read it as prose
		read.Candidates = []message.Candidate{{Code: read.Lone}}
	}
	if len(read.Candidates) == 0 && s.options.Agent == nil {
		return s.withoutCode(ctx, r, read)
	}
	c, err := s.open(ctx, r.Owner, r.ChatID, func() { report(r, Progress{Step: "waiting"}) })
	if err != nil {
		return unknownChat(err)
	}
	defer s.leaveTurn(c)
	reply, err := s.turnIn(ctx, c, r, read)
	if !c.saved { // the caller hears of no chat
		s.drop(c)
		s.logEnd(ctx, c, s.end(c, "the chat has not begun"))
	}
	return reply, err
}

// turnIn runs a turn in a chat that the caller has: code at once, and what is none by a model.
func (s *Service) turnIn(ctx context.Context, c *conversation, r Request, read message.Message) (*Reply, error) {
	inquiry := &inquiry{service: s, chat: c, request: r}
	if len(read.Candidates) > 0 && (read.Kind != message.Mixed || s.options.Agent == nil) {
		x := &execution{service: s, chat: c, request: r, message: read, noted: true}
		reply, err := x.run(ctx)
		if err != nil || x.notCode() && s.options.Agent == nil || !c.saved {
			return reply, err
		}
		if s.options.Agent == nil || !x.wasWords() {
			e := agent.Exchange{Message: r.Message, Steps: []agent.Step{{Code: x.code(), Result: reply.Text, Failed: reply.IsError}}}
			return s.noteIn(ctx, c, e, reply)
		}
		inquiry.runs = append(inquiry.runs, x)
	}
	return inquiry.answer(ctx)
}

// withoutCode answers a message in which there is nothing to run. It does not wait for the chat.
func (s *Service) withoutCode(ctx context.Context, r Request, read message.Message) (*Reply, error) {
	reply := &Reply{ChatID: r.ChatID, IsError: true, Text: withoutCodeText(read), State: New}
	if r.ChatID == "" {
		return reply, nil
	}
	c, err := s.find(ctx, r.Owner, r.ChatID)
	if err != nil {
		return unknownChat(err)
	}
	reply.State = "" // a turn is under way: what becomes of the variables, that one tells
	if !c.tryEnter() {
		return reply, nil
	}
	defer c.leave()
	switch err := s.check(ctx, c, nil); {
	case errors.Is(err, errLeft): // it was deleted, or given away: another look tells
		return s.withoutCode(ctx, r, read)
	case errors.Is(err, store.ErrHeld):
		return reply, nil
	case err != nil:
		return unknownChat(err)
	}
	reply.State, reply.StateReason = c.state()
	return reply, nil
}

// unknownChat turns a chat that is not there into a reply.
func unknownChat(err error) (*Reply, error) {
	if !errors.Is(err, store.ErrNotFound) {
		return nil, err
	}
	return &Reply{IsError: true, State: New, Text: "There is no chat with this chat_id: it is unknown, or it was deleted. " +
		"Leave chat_id out to begin a new chat; variables and files of the old one are not there."}, nil
}

// errStopping answers what comes after Close.
func errStopping() error {
	return fault.New(fault.Busy, nil, "the server is shutting down; try again in a moment")
}

// open finds the chat of owner, or begins one when id is "", and enters it: the caller
// has its turn and leaves it. waits, if not nil, is called when that takes longer.
func (s *Service) open(ctx context.Context, owner, id string, waits func()) (*conversation, error) {
	if id != "" {
		return s.seize(ctx, owner, id, waits)
	}
	if err := s.sweep(ctx); err != nil {
		return nil, stopped(ctx, err)
	}
	now := s.options.Now()
	c := newConversation(store.Chat{ID: newID(), Owner: owner, Created: now, Used: now})
	<-c.turn // nobody else knows it
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errStopping()
	}
	s.chats[c.id] = c
	return c, nil
}

// seize finds a chat of owner and enters it, like open.
func (s *Service) seize(ctx context.Context, owner, id string, waits func()) (*conversation, error) {
	for {
		c, err := s.find(ctx, owner, id)
		if err == nil {
			err = s.enter(ctx, c, waits)
		}
		if err == nil {
			return c, nil
		}
		if !errors.Is(err, errLeft) {
			return nil, stopped(ctx, err)
		}
	}
}

// stopped is what a caller is told of an error that came before anything ran: that its call was stopped, if the store
// has noticed no more than that.
func stopped(ctx context.Context, err error) error {
	if kind, _ := fault.Shown(err); ctx.Err() == nil || kind == fault.Canceled || !errors.Is(err, ctx.Err()) {
		return err
	}
	return fault.New(fault.Canceled, err, "the call was stopped before anything ran")
}

// owned returns the record of a chat of owner. What has the wrong form, is unknown or
// belongs to someone else is store.ErrNotFound alike.
func (s *Service) owned(ctx context.Context, owner, id string) (store.Chat, error) {
	if !validID(id) {
		return store.Chat{}, store.ErrNotFound
	}
	record, err := s.options.Store.Chat(ctx, id)
	if err != nil {
		return store.Chat{}, fmt.Errorf("find a chat: %w", err)
	}
	if record.Owner != owner {
		return store.Chat{}, store.ErrNotFound
	}
	return record, nil
}

// find returns a chat of owner, like owned. It may be gone by the time it is entered.
func (s *Service) find(ctx context.Context, owner, id string) (*conversation, error) {
	if c := s.had(owner, id); c != nil {
		return c, nil
	}
	record, err := s.owned(ctx, owner, id)
	if err != nil {
		return nil, err
	}
	return s.conversationOf(record)
}

// had returns the chat of owner that this process has, nil where it has none: then the store knows more. Of one that it has, its lease
// is looked after by who enters it, and nobody else can delete it.
func (s *Service) had(owner, id string) *conversation {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.chats[id]
	if _, ours := s.leases[c]; !ours || c.owner != owner || s.closed {
		return nil
	}
	return c
}

// conversationOf returns the conversation of a chat that is kept.
func (s *Service) conversationOf(record store.Chat) (*conversation, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errStopping()
	}
	c := s.chats[record.ID]
	if c == nil {
		c = newConversation(record)
		c.known = true
		s.chats[c.id] = c
	}
	return c, nil
}

// enter waits until the chat is the caller's, who then leaves it: first for other turns in this process, then for
// another process. A conversation that is over meanwhile is errLeft.
func (s *Service) enter(ctx context.Context, c *conversation, waits func()) error {
	if waits == nil {
		waits = func() {}
	}
	if err := c.enter(ctx, waits); err != nil {
		return err
	}
	if err := s.check(ctx, c, waits); err != nil {
		c.leave()
		return err
	}
	return nil
}

// check sees to it that a chat that was just entered still is there and belongs to this process. waits is as that of take.
func (s *Service) check(ctx context.Context, c *conversation, waits func()) error {
	if c.gone {
		return errLeft
	}
	if !c.known && !c.saved {
		return nil // it begins
	}
	if !c.saved {
		err := s.take(ctx, c, waits)
		if err != nil {
			s.drop(c) // what this process does not have takes no memory
		}
		return err
	}
	err := s.options.Store.Check(ctx, c.lease)
	if errors.Is(err, store.ErrLost) || errors.Is(err, store.ErrNotFound) {
		s.logEnd(ctx, c, s.leaveChat(c))
		return errLeft
	}
	if err != nil {
		return fmt.Errorf("find a chat: %w", err)
	}
	if c.forgotten {
		return s.recall(ctx, c)
	}
	return nil
}

// save writes the record of a chat that the caller has.
func (s *Service) save(ctx context.Context, c *conversation) error {
	if c.saved {
		if err := s.options.Store.SaveChat(ctx, c.lease, c.record()); err != nil {
			return fmt.Errorf("save the chat: %w", lostWrite(err))
		}
		return nil
	}
	l, err := s.options.Store.Begin(ctx, c.record())
	if err != nil {
		return fmt.Errorf("save the chat: %w", err)
	}
	s.hold(c, l)
	return nil
}

// remove deletes a chat that the caller has.
func (s *Service) remove(ctx context.Context, c *conversation) error {
	had, err := s.options.Store.DeleteChat(ctx, c.lease)
	if err != nil {
		return fmt.Errorf("delete a chat: %w", err)
	}
	// In this order: who finds the conversation no more finds the record no more, and no guest has its files.
	s.drop(c)
	err = s.end(c, "the chat was deleted")
	s.clear(ctx, c.id, had)
	return err
}

// clear removes what nobody refers to any more since a chat was changed.
func (s *Service) clear(ctx context.Context, id string, gone store.Undone) {
	s.discard(ctx, gone.Contents)
	for _, folder := range gone.Folders {
		s.discardCheckpoint(ctx, id, folder)
	}
}

// drop forgets a chat that the caller has. Turns that wait for it find it gone.
func (s *Service) drop(c *conversation) {
	c.gone = true
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.chats[c.id] == c {
		delete(s.chats, c.id)
	}
	delete(s.leases, c)
	c.history = nil
	s.noteHistory(c)
}

// Close ends all interpreters, also those that run, of which it makes checkpoints. It lets turns under way end, whose
// contexts the transports cancel first; after a grace it closes their interpreters under
// them. What is done beside the turns is brought to its end first, which takes a minute at most, and usually nothing; then it returns within 20 s, twice the
// grace and the time that interpreters take to close.
// An error means that one could not be closed or that a turn is still not over.
func (s *Service) Close() error {
	s.stopTending()
	s.tending.Wait()
	s.mu.Lock()
	s.closed = true
	all := make([]*conversation, 0, len(s.chats))
	for _, c := range s.chats {
		all = append(all, c)
	}
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	var wait sync.WaitGroup
	errs := make([]error, len(all))
	for i, c := range all {
		wait.Go(func() { errs[i] = s.stop(ctx, c) })
	}
	wait.Wait()
	return errors.Join(errs...)
}

// stop ends the interpreter of a chat for good.
func (s *Service) stop(ctx context.Context, c *conversation) error {
	grace := time.NewTimer(closeGrace)
	defer grace.Stop()
	select {
	case <-c.turn:
		defer c.leave()
		return s.hibernate(ctx, c, "the server was stopped")
	case <-grace.C:
	}
	err := s.closeInterpreter(c)
	grace.Reset(closeGrace)
	select {
	case <-c.turn:
		c.leave()
		return err
	case <-grace.C:
		return errors.Join(err, fmt.Errorf("a turn of chat %s does not end", c.id))
	}
}
