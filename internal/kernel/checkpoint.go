package kernel

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"

	"runpython/internal/sandbox"
)

// Checkpoint stores the interpreter as it is between two runs, as the folder dir, whose parent is there and which may be
// an older checkpoint: that is replaced once the new one is whole. It waits for a run that is under way, and a run that
// begins meanwhile waits for it until the guest goes on, not until all is stored.
//
// The kernel goes on as if nothing had been, also after an error, unless Lost says otherwise; but connections of the
// code to the outside end. docs/state.md has what comes back by Resume.
func (k *Kernel) Checkpoint(ctx context.Context, dir string) (err error) {
	snapshot, note, err := k.snapshot(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, snapshot.Close()) }()
	return snapshot.Store(ctx, dir, note) //nolint:wrapcheck // says what it is
}

// snapshot makes an image of the guest, and a note of what the host knows of it.
func (k *Kernel) snapshot(ctx context.Context) (*sandbox.Snapshot, []byte, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	defer k.rest()
	if err := k.awake(); err != nil {
		return nil, nil, err
	}
	snapshot, err := k.guest.Snapshot(ctx, true)
	if err != nil {
		return nil, nil, fmt.Errorf("checkpoint of guest %s: %w", k.guest.ID, err)
	}
	var note bytes.Buffer
	err = gob.NewEncoder(&note).Encode(memory{
		Stdout: k.stdout.lateSoFar(), Stderr: k.stderr.lateSoFar(), Renewed: k.renewed, Files: k.files,
	})
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("checkpoint of guest %s: %w", k.guest.ID, err), snapshot.Close())
	}
	return snapshot, note.Bytes(), nil
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
