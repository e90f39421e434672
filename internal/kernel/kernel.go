package kernel

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"runpython/internal/sandbox"
)

// Config bounds the kernels that New makes.
type Config struct {
	RunTimeout time.Duration // of one run
	// QuestionTimeout is how long the questions of a run stay open, together; 0 means 10 minutes.
	QuestionTimeout time.Duration
	Limits          sandbox.Limits
	Log             *slog.Logger
	// Label, if not "", is by what sandbox.Host.Rescue finds the guest again after this process was killed.
	Label string
}

// A Kernel is the interpreter of one chat. Its methods may be called from several
// goroutines and then take turns; Close ends what is under way. Close it.
type Kernel struct {
	config Config
	guest  *sandbox.Sandbox
	wire   *wire
	stdout *stream
	stderr *stream

	post    *post // what the guest says; closed when it has ended or broken the protocol
	broken  error // why, set before the post is closed
	readers sync.WaitGroup
	done    chan struct{} // closed by Close: nobody takes messages any more

	mu      sync.Mutex  // one operation at a time; guards what follows
	renewed bool        // the interpreter has ended since a run has last told of it
	turn    int         // number of the last run
	pid     int         // of the interpreter, as the guest numbers it
	dead    bool        // the interpreter has ended, the guest lives
	files   *FileReport // what there was in /work when it ended between two runs, nil otherwise
	still   *time.Timer
	watch   *metronome // for the memory

	lost    atomic.Bool // the guest has ended
	arrival arrival     // of operations
}

const (
	// lingerTime is how long a guest goes on after an operation before it is
	// stopped, so that a burst of calls does not pay for it each time.
	lingerTime = 100 * time.Millisecond
	// answerDeadline bounds everything that a guest should answer at once, on a machine
	// under load and with as many files as a chat may have.
	answerDeadline = 30 * time.Second
)

// Program returns what the sandboxes must run for this package. dir holds the files of
// package guest, and key names the version of them and of the interpreter.
func Program(dir, key string, limits sandbox.Limits) sandbox.Program {
	options, _ := json.Marshal(map[string]any{ // strings and numbers: cannot fail
		"work": "/work", "alone": true, "value_bytes": valueBytes, "image_bytes": imageBytes, "images": imagesPerRun,
		"memory_limit": limits.MemoryBytes, "files_limit": limits.WorkFiles,
	})
	token := tokenOf(key)
	return sandbox.Program{
		Dir:       dir,
		Key:       key,
		Arguments: []string{"-I", "-S", "-B", sandbox.GuestPrograms + "/init.py", token, string(options)},
		Ready: func(ctx context.Context, s *sandbox.Sandbox) error {
			pid, err := warmUp(ctx, s.Channel, token)
			s.Greeting = greeting{pid: pid}
			return err
		},
		Resume: func(ctx context.Context, s *sandbox.Sandbox) error {
			g, err := resume(ctx, s.Channel, token, s.Rescued)
			s.Greeting = g
			return err
		},
		Preload: func(ctx context.Context, s *sandbox.Sandbox, modules []string) ([]string, error) {
			return preload(ctx, s.Channel, token, modules)
		},
	}
}

// tokenOf makes the token of the channel's packets of the program's key. It is no
// secret of the guest, whose code can find it; it keeps rubbish apart.
func tokenOf(key string) string { return (key + "0123456789abcdef")[:tokenBytes] }

// New makes a kernel of a guest that runs the program of Program. The files that are in
// its /work now count as known. On an error the guest is closed. key is that of Program.
func New(ctx context.Context, guest *sandbox.Sandbox, config Config, key string) (*Kernel, error) {
	return newKernel(guest, config, key, func(k *Kernel) error { return k.begin(ctx) })
}

// newKernel makes a kernel, with which begin begins.
func newKernel(guest *sandbox.Sandbox, config Config, key string, begin func(k *Kernel) error) (*Kernel, error) {
	k := &Kernel{
		config: config, guest: guest, wire: newWire(guest.Channel, tokenOf(key)),
		post: newPost(), done: make(chan struct{}),
	}
	var err error
	if k.stdout, err = newStream(guest.Stdout); err == nil {
		k.stderr, err = newStream(guest.Stderr)
	}
	if err != nil {
		return nil, errors.Join(err, guest.Close())
	}
	k.still, k.watch = time.AfterFunc(time.Hour, k.standStill), newMetronome(memoryEvery)
	k.readers.Go(k.stdout.pump)
	k.readers.Go(k.stderr.pump)
	k.readers.Go(k.read)
	if err := begin(k); err != nil {
		return nil, errors.Join(err, k.Close())
	}
	return k, nil
}

// begin greets the interpreter of a new guest, unless it was greeted when it got
// ready and has nothing new to look at in /work.
func (k *Kernel) begin(ctx context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if g, ok := k.guest.Greeting.(greeting); ok && g.pid > 1 {
		if there, err := os.ReadDir(k.guest.Uploads); err == nil && len(there) == 0 {
			k.pid = g.pid
			return k.label()
		}
	}
	k.wakeUp()
	defer k.rest()
	return k.greet(ctx)
}

// read passes messages on until the guest ends.
func (k *Kernel) read() {
	defer close(k.post.messages)
	for {
		m, err := k.wire.receive()
		if err != nil {
			k.broken = err
			k.guest.Kill() // also at its end: an empty packet of the guest looks like that
			return
		}
		if !k.post.deliver(m, k.done) {
			return
		}
	}
}

// Environment returns the folder from which the interpreter imports packages, "" if nothing can be installed.
func (k *Kernel) Environment() string { return k.guest.Environment }

// Preloaded reports whether the interpreter began with packages that are not in Environment; see sandbox.Preload.
func (k *Kernel) Preloaded() bool { return k.guest.Preloaded }

// Lost reports whether the guest has ended: the kernel can only be closed.
func (k *Kernel) Lost() bool { return k.lost.Load() }

// Close ends the guest and removes it. It ends a run that is under way.
func (k *Kernel) Close() error {
	k.guest.Kill()
	k.mu.Lock()
	k.still.Stop()
	k.watch.stop()
	k.lost.Store(true)
	select {
	case <-k.done:
	default:
		close(k.done)
	}
	k.mu.Unlock()
	err := k.guest.Close()
	k.readers.Wait()
	return err
}

// wakeUp lets the guest go on, before an operation. rest is its counterpart.
func (k *Kernel) wakeUp() {
	if died := k.post.open(); died != nil {
		k.note(died)
	}
	k.still.Stop()
	k.guest.Continue()
	k.watch.start()
}

func (k *Kernel) rest() {
	k.post.shut()
	if k.lost.Load() {
		k.watch.stop()
		return
	}
	k.still.Reset(lingerTime)
}

// standStill stops the guest some time after an operation, never during one.
func (k *Kernel) standStill() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.watch.stop()
	if !k.lost.Load() {
		k.guest.Stop()
	}
	k.wire.forget()
}

// signal sends a signal to the interpreter and reports whether the guest's gVisor answered in time.
func (k *Kernel) signal(ctx context.Context, s syscall.Signal) (answered bool) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), signalDeadline)
	defer cancel()
	if err := k.guest.Signal(ctx, k.pid, s); err != nil {
		k.config.Log.WarnContext(ctx, "signal to a guest", "guest", k.guest.ID, "signal", s.String(), "error", err)
	}
	return ctx.Err() == nil
}

// signalDeadline bounds the start of runsc that delivers a signal.
const signalDeadline = 3 * time.Second
