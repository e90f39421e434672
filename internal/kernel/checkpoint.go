package kernel

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"sync"

	"runpython/internal/sandbox"
)

var (
	// ErrDisturbed says that a run or a file came before a checkpoint beside it was made.
	ErrDisturbed = errors.New("something was to be done in the interpreter before its checkpoint was made")
	// ErrTooLarge says that an interpreter holds too much for a checkpoint beside its runs; see sandbox.Config.ImageBytes.
	ErrTooLarge = sandbox.ErrTooLarge
)

// Checkpoint stores the interpreter as it is between two runs, as the folder dir, whose parent is there and which may be
// an older checkpoint: that is replaced once the new one is whole. It waits for a run that is under way, and a run that
// begins meanwhile waits for it until the guest goes on, not until all is stored: some 50 ms, and 300 ms for each 200 MB.
//
// The kernel goes on as if nothing had been, also after an error, unless Lost says otherwise; but connections of the
// code to the outside end. docs/state.md has what comes back by Resume.
func (k *Kernel) Checkpoint(ctx context.Context, dir string) error {
	return k.store(ctx, dir, func(s *sandbox.Snapshot) ([]byte, error) {
		k.enter()
		defer k.leave()
		return k.take(func() error { return s.Take(ctx, true) })
	})
}

// CheckpointBeside is Checkpoint for an interpreter that nobody waits for just then. What is to be done in it meanwhile
// comes first: the checkpoint is given up then, with ErrDisturbed, at whatever point it is. What has come first waits
// only for what gVisor cannot break off, some 40 ms whatever the interpreter holds. One that holds too much is ErrTooLarge.
func (k *Kernel) CheckpointBeside(ctx context.Context, dir string) error {
	arrived := k.arrival.next()
	if arrived == nil {
		return ErrDisturbed
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var watching sync.WaitGroup
	defer watching.Wait()
	over := make(chan struct{})
	defer close(over)
	watching.Go(func() {
		select {
		case <-arrived:
			cancel(ErrDisturbed)
		case <-over:
		}
	})
	err := k.store(ctx, dir, func(s *sandbox.Snapshot) ([]byte, error) {
		k.mu.Lock()
		defer k.mu.Unlock()
		return k.take(func() error { return s.TakeBeside(ctx) })
	})
	if err != nil && errors.Is(context.Cause(ctx), ErrDisturbed) {
		return ErrDisturbed
	}
	return err
}

// store stores the image that take makes, with the note that it returns.
func (k *Kernel) store(ctx context.Context, dir string, take func(s *sandbox.Snapshot) (note []byte, err error)) (err error) {
	snapshot, err := k.guest.NewSnapshot()
	if err != nil {
		return fmt.Errorf("checkpoint of guest %s: %w", k.guest.ID, err)
	}
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	note, err := take(snapshot)
	if err != nil {
		return err
	}
	return snapshot.Store(ctx, dir, note) //nolint:wrapcheck // says what it is
}

// take makes an image of the guest, and a note of what the host knows of it. The caller has mu.
func (k *Kernel) take(write func() error) ([]byte, error) {
	defer k.rest()
	if err := k.awake(); err != nil {
		return nil, err
	}
	if err := write(); err != nil {
		return nil, fmt.Errorf("checkpoint of guest %s: %w", k.guest.ID, err)
	}
	var note bytes.Buffer
	err := gob.NewEncoder(&note).Encode(memory{
		Stdout: k.stdout.lateSoFar(), Stderr: k.stderr.lateSoFar(), Renewed: k.renewed, Files: k.files,
	})
	if err != nil {
		return nil, fmt.Errorf("checkpoint of guest %s: %w", k.guest.ID, err)
	}
	return note.Bytes(), nil
}

// enter begins an operation that somebody waits for, which ends with leave. A checkpoint beside it gives way.
func (k *Kernel) enter() {
	k.arrival.come()
	k.mu.Lock()
}

func (k *Kernel) leave() {
	k.mu.Unlock()
	k.arrival.gone()
}

// An arrival tells of operations.
type arrival struct {
	mu      sync.Mutex    // guards what follows
	there   int           // operations that are under way or wait
	waiting chan struct{} // closed when one comes; nil while nobody waits
}

// next is closed when an operation comes; it is nil when one is there.
func (a *arrival) next() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.there > 0 {
		return nil
	}
	if a.waiting == nil {
		a.waiting = make(chan struct{})
	}
	return a.waiting
}

func (a *arrival) come() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.there++
	if a.waiting != nil {
		close(a.waiting)
		a.waiting = nil
	}
}

func (a *arrival) gone() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.there--
}

// A memory is what the host knows of a guest and the guest does not: what a restored kernel needs besides. It
// travels as gob, since names of files are bytes of any kind, which JSON would change.
type memory struct {
	Stdout, Stderr []byte // printed between runs, and not yet told
	Renewed        bool
	Files          *FileReport
}

// Resume makes a kernel of a guest of sandbox.Host.Restore, which gave note as well: variables, output that nobody
// has seen, the numbers of runs and what is known of /work go on. On an error the guest is closed. A
// note is nil when the guest was rescued.
func Resume(guest *sandbox.Sandbox, note []byte, config Config, key string) (*Kernel, error) {
	return newKernel(guest, config, key, func(k *Kernel) error { return k.resume(note) })
}

func (k *Kernel) resume(note []byte) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	g, ok := k.guest.Greeting.(greeting)
	if !ok {
		return fmt.Errorf("guest %s was not restored", k.guest.ID)
	}
	var m memory
	if len(note) > 0 {
		if err := gob.NewDecoder(bytes.NewReader(note)).Decode(&m); err != nil {
			return fmt.Errorf("note of a checkpoint: %w", err)
		}
	}
	k.stdout.add(m.Stdout)
	k.stderr.add(m.Stderr)
	k.pid, k.turn, k.renewed, k.files = g.pid, g.turn, m.Renewed, m.Files
	if g.died != nil {
		k.note(g.died)
	}
	k.still.Reset(lingerTime)
	return k.label()
}

// lateSoFar returns what was printed between runs until now.
func (s *stream) lateSoFar() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.late.last(lateBytes)
}
