package kernel

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"runpython/internal/excerpt"
)

// A Candidate is a text that may be the code of a run. The first that compiles is run.
type Candidate struct {
	Code      string `json:"code"`
	MustAct   bool   `json:"must_act"`   // only if it does something
	RunAnyway bool   `json:"run_anyway"` // for its error, if none compiles
}

// A Request is one run.
type Request struct {
	Candidates []Candidate
	Timeout    time.Duration // 0 for the configured limit, which is also the most
	// Output, if not nil, gets what the code prints as it comes, the beginning of each stream (512 KiB).
	// It is called from two goroutines and must return quickly.
	Output func(stdout, stderr []byte)
	// Ask, if not nil, asks the person for what the code wants to read, once at a time. It returns soon after
	// ctx ends, which it does when nobody has answered in time, as its deadline tells, or the run is stopped.
	// Code that asks without it gets an error at once.
	Ask       func(ctx context.Context, q Question) Answer
	Questions int // that the run may ask; 0 for 100, which is also the most
	// Supply, if not nil, is called at most once, before any of the code runs, with the modules that it needs
	// and that are not there (dotted names, at most 500 of 200 bytes). It may install packages into Environment, and returns the import
	// names of those that were there and now have another version. It bounds itself, and returns soon after ctx ends.
	// After an error of it nothing runs: Run ends the guest and returns that error.
	Supply func(ctx context.Context, missing []string) (changed []string, err error)
	// Installed says that packages were installed since the last run, and Changed is as what Supply returns.
	Installed bool
	Changed   []string
}

// The signals that the guest's interpreter knows (guest/PROTOCOL.md).
const (
	signalInterrupt = syscall.SIGINT
	signalMemory    = syscall.SIGXCPU // of the signals that runsc knows, the one that means a limit and is free
)

const (
	// interruptGrace is what interrupted code has to come to an end.
	interruptGrace = 2 * time.Second
	// killGrace is what the guest has to tell of a killed interpreter, with a
	// list of 10,000 files.
	killGrace = 10 * time.Second
	// memoryEvery is how often a guest's memory is looked at during a run.
	memoryEvery = 25 * time.Millisecond
	// memoryGrace is what code has to get below the memory limit once it got a MemoryError.
	memoryGrace = time.Second
	// memoryPart of the limit is what a run may take when its chat holds too much already.
	memoryPart = 32
)

// run is the state of one run under way.
type run struct {
	kernel  *Kernel
	request Request
	n       int
	result  *Result
	begun   time.Time
	limit   time.Duration
	why     Status        // why it is being ended, "" while it is not
	next    *time.Timer   // the time limit, then the ends of the graces
	killed  bool          // the interpreter was killed
	reached bool          // the memory limit was reached, and left again
	pending chan struct{} // closed when the signal sent last was delivered
	bound   chan bool     // tells once whether the guest answered, and the grace begins; nil after that
	grace   time.Duration // that grace
	allowed int64         // bytes that the guest may hold in this run; see begin
	shown   int           // pictures that came, whatever they were
	bytes   int           // of pictures

	pause     *pause         // while the code waits for the host
	missed    func() error   // tells the guest that there is nothing to wait for, after a signal has ended a pause
	waited    time.Duration  // in pauses
	answering time.Duration  // that part of it in which questions were open
	awaiting  sync.WaitGroup // calls of request.Ask and request.Supply
	outside   atomic.Bool    // one of them goes on, which may be longer than its pause
	asked     int            // questions
	echo      string         // of the newest answer, as the output shows it
	supplied  bool           // packages were asked for
}

// Run runs the first of the candidates that is code. The end of ctx interrupts it like
// the time limit does; the chat goes on after it. An error means that nothing
// ran: the guest is lost, or ctx ended before.
func (k *Kernel) Run(ctx context.Context, req Request) (*Result, error) {
	k.enter()
	defer k.leave()
	defer k.rest()
	if err := k.awake(); err != nil {
		return nil, err
	}
	if err := k.restart(ctx); err != nil {
		return nil, err
	}
	limit := k.config.RunTimeout
	if req.Timeout > 0 && req.Timeout < limit {
		limit = req.Timeout
	}
	k.turn++
	r := &run{kernel: k, request: req, n: k.turn, result: &Result{}, begun: time.Now(), limit: limit, next: time.NewTimer(limit)}
	defer r.next.Stop()
	r.begin()
	k.stdout.drain()
	k.stderr.drain()
	k.stdout.begin(liveTo(req.Output, true))
	k.stderr.begin(liveTo(req.Output, false))
	k.guest.Busy(true)
	defer k.guest.Busy(false)
	err := k.wire.send(req.message(r.n), nil)
	if err == nil {
		err = r.wait(ctx)
	}
	r.goOn()
	r.awaiting.Wait()
	if r.pending != nil {
		<-r.pending
	}
	if err != nil && r.why == "" && k.guest.OutOfMemory() {
		r.why = Memory
	}
	r.finish(err)
	if refused, ok := errors.AsType[*supplyError](err); ok {
		return nil, k.giveUp(refused.cause)
	}
	r.result.Renewed, r.result.Files = k.renewed, merge(k.files, r.result.Files)
	k.renewed, k.files = false, nil
	if err != nil {
		k.guest.Kill()
		k.lost.Store(true)
		r.result.Lost, r.result.Reset = true, true
		if r.why == "" {
			r.result.Status = Crashed
		}
		k.config.Log.WarnContext(ctx, "a guest is lost", "guest", k.guest.ID, "why", string(r.why), "error", err)
	}
	return r.result, nil
}

// message is what the guest is told of the request.
func (req Request) message(n int) map[string]any {
	m := map[string]any{"op": "run", "n": n, "candidates": req.Candidates, "asks": req.questions(), "packages": req.Supply != nil}
	if req.Installed {
		m["changed"] = notNil(req.Changed)
	}
	return m
}

func liveTo(output func(stdout, stderr []byte), isStdout bool) func([]byte) {
	switch {
	case output == nil:
		return nil
	case isStdout:
		return func(b []byte) { output(b, nil) }
	default:
		return func(b []byte) { output(nil, b) }
	}
}

// wait handles messages until the run is over. An error means that the guest is lost.
func (r *run) wait(ctx context.Context) error {
	gone := ctx.Done()
	for {
		select {
		case m, ok := <-r.kernel.post.messages:
			if !ok {
				return r.kernel.lose()
			}
			over, err := r.handle(ctx, m)
			if over || err != nil {
				return err
			}
		case tell := <-r.outcome():
			if err := r.resume(ctx, tell); err != nil {
				return err
			}
		case <-gone:
			gone = nil
			r.stop(ctx, Canceled)
		case <-r.kernel.watch.ticks:
			if err := r.watchMemory(ctx); err != nil {
				return err
			}
		case answered := <-r.bound:
			r.bound = nil
			if err := r.delivered(answered); err != nil {
				return err
			}
		case <-r.next.C:
			if err := r.timeUp(ctx); err != nil {
				return err
			}
		}
	}
}

// handle takes one message; over is true when the run has ended.
func (r *run) handle(ctx context.Context, m *message) (over bool, err error) {
	switch m.Op {
	case "ask":
		return false, r.ask(ctx, m)
	case "needs":
		return false, r.supply(ctx, m)
	case "image":
		return false, r.addImage(m)
	case "late":
		r.addLate(m)
	case "done":
		if m.N != r.n {
			return false, nil // the late answer to a run that was given up
		}
		r.done(m)
		return !r.killed, nil // the next run must not be told of the end of an interpreter that is being killed
	case "died":
		r.died(m)
		return true, nil
	}
	return false, nil // an answer that nobody waits for
}

// stop interrupts the code; what follows if it does not end is timeUp's.
func (r *run) stop(ctx context.Context, why Status) {
	if r.why != "" {
		return
	}
	r.why = why
	if why == Memory {
		r.send(ctx, signalMemory, memoryGrace)
		return
	}
	r.send(ctx, signalInterrupt, interruptGrace)
}

// send delivers a signal beside the run. The grace begins when it is delivered, which
// takes long on a busy machine and is no fault of the code; signalDeadline bounds it.
func (r *run) send(ctx context.Context, s syscall.Signal, grace time.Duration) {
	if r.pause != nil {
		refuse := r.pause.refuse
		r.missed = func() error { return refuse(stopped) }
		r.goOn()
	}
	before, finished, bound := r.pending, make(chan struct{}), make(chan bool, 1)
	r.pending, r.bound, r.grace = finished, bound, grace
	r.next.Stop()
	go func() {
		defer close(finished)
		if before != nil {
			<-before
		}
		bound <- r.kernel.signal(ctx, s)
	}()
}

// delivered begins the grace after a signal.
func (r *run) delivered(answered bool) error {
	if !answered { // it is sick: no grace will help
		r.grace = 0
	}
	r.next.Reset(r.grace)
	if r.missed == nil || r.killed {
		return nil
	}
	refuse := r.missed
	r.missed = nil
	return refuse()
}

// timeUp is called at the time limit and at the end of each grace.
func (r *run) timeUp(ctx context.Context) error {
	switch {
	case r.why == "":
		r.stop(ctx, TimedOut)
	case !r.killed:
		r.kill(ctx)
	default:
		return fmt.Errorf("guest %s does not end its interpreter", r.kernel.guest.ID)
	}
	return nil
}

// kill ends the interpreter; the guest then tells of it and lives on.
func (r *run) kill(ctx context.Context) {
	r.killed = true
	r.send(ctx, syscall.SIGKILL, killGrace)
}

// begin looks at what the chat holds. Where that is near the limit or above it, since an earlier run was
// stopped there or gVisor has not yet given back what the processes of an ended interpreter held, only what
// comes on top counts against this run: otherwise nothing would run in this chat any more, not even what
// deletes variables.
func (r *run) begin() {
	held, limit := r.kernel.guest.MemoryBytes(), r.kernel.config.Limits.MemoryBytes
	r.allowed = leave(held, limit)
	if held > limit {
		r.result.Notes = append(r.result.Notes, fmt.Sprintf("this chat holds more memory than its limit of %s already: delete large variables and files in /tmp, or begin a new chat", excerpt.Size(limit)))
	}
}

// leave is how many bytes a run may hold that holds so many now.
func leave(held, limit int64) int64 { return max(limit, held+limit/memoryPart) }

// watchMemory looks at the guest's memory: at the limit the code gets a MemoryError, at
// a quarter more, or when that did not help in time, the interpreter is ended, and at
// twice the limit the whole guest. Where the chat held more than that quarter when the run began, the interpreter is
// ended at a little more than the run may hold.
func (r *run) watchMemory(ctx context.Context) error {
	if r.pause != nil { // the tick is of before: a guest that stands still takes no more
		return nil
	}
	held, limit := r.kernel.guest.MemoryBytes(), r.kernel.config.Limits.MemoryBytes
	r.result.PeakBytes = max(r.result.PeakBytes, held)
	r.allowed = min(r.allowed, leave(held, limit))
	switch {
	case held > 2*limit:
		r.why = Memory
		return fmt.Errorf("guest %s holds %d bytes, more than twice its limit", r.kernel.guest.ID, held)
	case held > max(limit+limit/4, r.allowed+limit/memoryPart) && !r.killed:
		r.why = Memory
		r.kill(ctx)
	case held > r.allowed:
		r.stop(ctx, Memory)
	case r.why == Memory && !r.killed: // it helped: the code may go on until its time limit
		r.recovered(ctx)
	}
	return nil
}

// recovered undoes what stop began, when code has freed its memory.
func (r *run) recovered(ctx context.Context) {
	r.why, r.bound = "", nil
	r.next.Reset(r.left())
	r.reached = true
	if ctx.Err() != nil { // the caller left meanwhile
		r.stop(ctx, Canceled)
	}
}

// done takes the result of code that came to an end.
func (r *run) done(m *message) {
	res := r.result
	res.Chosen, res.Error = m.Chosen, m.exception()
	res.ExitText = excerpt.Middle(m.ExitText, valueBytes)
	if m.Exit != nil {
		res.ExitCode = *m.Exit
	}
	if m.Value != nil {
		res.Value = &Value{Text: excerpt.Middle(m.Value.Text, 2*valueBytes), Type: excerpt.Middle(m.Value.Type, noteBytes), Omitted: max(0, m.Value.Omitted)}
	}
	if m.Table != nil {
		res.Table = &Table{Markdown: excerpt.Middle(m.Table.Markdown, 2*valueBytes), Rows: m.Table.Rows, Columns: m.Table.Columns}
	}
	for _, note := range m.Notes[:min(len(m.Notes), notesPerRun)] {
		res.Notes = append(res.Notes, excerpt.Middle(note, noteBytes))
	}
	res.Files = m.Files.report()
	res.Status = Status(m.Status.word)
	switch res.Status {
	case OK, Failed, Exited, NotCode:
	default:
		res.Status = Failed
	}
	// Code that caught the interrupt and went on to an end has still hit the limit.
	if r.why != "" && r.why != Memory {
		res.Status = r.why
	}
	if res.Error != nil && res.Error.Type == "MemoryError" && (r.why == Memory || r.reached) {
		res.Status = Memory // also when the exception itself has freed the memory by now
	}
}

// died takes the report of an interpreter that has ended.
func (r *run) died(m *message) {
	k, res := r.kernel, r.result
	k.dead = true
	res.Reset = true
	res.Files = m.Files.report()
	wait := syscall.WaitStatus(m.Status.wait)
	switch {
	case r.why != "":
		res.Status = r.why
	case m.Reason == "files":
		res.Status = Files
	case wait.Exited():
		res.Status, res.ExitCode = Crashed, wait.ExitStatus()
	default:
		res.Status, res.Signal = Crashed, signalName(wait.Signal())
	}
}

func signalName(s syscall.Signal) string {
	names := map[syscall.Signal]string{
		syscall.SIGSEGV: "SIGSEGV", syscall.SIGABRT: "SIGABRT", syscall.SIGKILL: "SIGKILL", syscall.SIGBUS: "SIGBUS",
		syscall.SIGILL: "SIGILL", syscall.SIGFPE: "SIGFPE", syscall.SIGTERM: "SIGTERM", syscall.SIGSYS: "SIGSYS",
		syscall.SIGHUP: "SIGHUP", syscall.SIGQUIT: "SIGQUIT", syscall.SIGPIPE: "SIGPIPE", syscall.SIGTRAP: "SIGTRAP",
		syscall.SIGUSR1: "SIGUSR1", syscall.SIGUSR2: "SIGUSR2", syscall.SIGXFSZ: "SIGXFSZ", syscall.SIGALRM: "SIGALRM",
	}
	if name := names[s]; name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", int(s))
}

// finish collects what was printed.
func (r *run) finish(err error) {
	k, res := r.kernel, r.result
	if err == nil {
		k.stdout.drain()
		k.stderr.drain()
	}
	res.Duration = r.duration()
	late := collector{most: lateBytes}
	for _, out := range []Output{res.Late, k.stdout.takeLate(), k.stderr.takeLate()} {
		late.add(out.head)
		late.add(out.tail)
	}
	res.Late = late.take()
	res.Stdout, res.Stderr = k.stdout.end(), k.stderr.end()
	res.PeakBytes = max(res.PeakBytes, k.guest.MemoryBytes())
	if r.reached && res.Status != Memory {
		res.Notes = append(res.Notes, fmt.Sprintf("the memory limit of %s was reached for a moment", excerpt.Size(k.config.Limits.MemoryBytes)))
	}
	if err != nil {
		res.Status = r.why
	}
}

// addLate keeps what a thread of an earlier run has printed.
func (r *run) addLate(m *message) {
	late := collector{most: lateBytes}
	late.add(r.result.Late.head)
	late.add(r.result.Late.tail)
	late.add(m.body)
	r.result.Late = late.take()
}
