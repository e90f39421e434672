package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"runpython/internal/sandbox/checkpoint"
)

// imageDeadline bounds the writing of an image: some 0.1 s, and 3 s for each GiB that the guest holds on a slow disk.
const imageDeadline = time.Minute

// A Snapshot is an image of a guest as it was at one moment, which is not stored yet: storing takes longer than
// the guest may stand still for. Close it.
type Snapshot struct {
	dir    string // what it consists of, in the folder of the host
	origin []byte
	key    string
}

// The names in the folder of a Snapshot, beside baseName.
const (
	imageName   = "image"
	uploadsName = "work"
)

// Snapshot makes an image of the guest, which must not be stopped, nor be in an operation whose answer matters.
// It stands still meanwhile: 0.1 s, and 0.3 s for each 200 MB that it holds. With leaveRunning it goes on then, also
// after an error, of which ctx's end is the exception; without, it ends, and the caller still closes it.
func (s *Sandbox) Snapshot(ctx context.Context, leaveRunning bool) (*Snapshot, error) {
	text, o, err := readOrigin(s.dir) // s may be a guest of another host
	if err != nil {
		return nil, err
	}
	at, err := os.MkdirTemp(s.host.instance.dir, "snapshot-")
	if err != nil {
		return nil, fmt.Errorf("folder of an image: %w", err)
	}
	snapshot := &Snapshot{dir: at, origin: text, key: o.Binding}
	if err := checkpoint.LinkImage(filepath.Join(s.dir, baseName), filepath.Join(at, baseName)); err != nil {
		err = os.RemoveAll(filepath.Join(at, baseName)) // it is done without one
		if err != nil {
			return nil, errors.Join(err, snapshot.Close())
		}
	}
	err = checkpoint.LinkTree(filepath.Join(s.dir, "work"), filepath.Join(at, uploadsName))
	if err == nil {
		err = s.writeImage(ctx, filepath.Join(at, imageName), leaveRunning)
	}
	if err != nil {
		return nil, errors.Join(err, snapshot.Close())
	}
	return snapshot, nil
}

// writeImage writes an image of the guest to dir, an empty or absent folder. gVisor's control socket is asked
// directly, which saves the guest's chat the start of a process; a runsc whose socket does not understand us is
// asked by its command instead.
func (s *Sandbox) writeImage(ctx context.Context, dir string, leaveRunning bool) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("folder of an image: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, imageDeadline)
	defer cancel()
	if err := s.awaitCalls(ctx); err != nil {
		return err
	}
	err := s.writeImageDirectly(ctx, dir, leaveRunning)
	refused, isRefused := errors.AsType[refusal](err)
	switch {
	case isRefused && strings.Contains(string(refused), syscall.ENOSPC.Error()): // the protocol has words only
		return fmt.Errorf("image of a guest: %w: %w", refused, syscall.ENOSPC)
	case isRefused:
		return fmt.Errorf("image of a guest: %w", refused)
	case err == nil || ctx.Err() != nil:
		return err
	}
	command := []string{"checkpoint", "--compression=none", "--image-path", dir}
	if leaveRunning {
		command = append(command, "--leave-running")
	}
	if commandErr := s.host.runsc.command(ctx, s.dir, append(command, s.ID)...); commandErr != nil {
		return errors.Join(err, commandErr)
	}
	return nil
}

// writeImageDirectly leaves nothing in dir after an error.
func (s *Sandbox) writeImageDirectly(ctx context.Context, dir string, leaveRunning bool) (err error) {
	var files []*os.File
	defer func() {
		err = errors.Join(err, closeAll(files...))
		if err != nil {
			for _, f := range files {
				err = errors.Join(err, os.Remove(f.Name()))
			}
		}
	}()
	for _, name := range checkpoint.Files() {
		f, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return fmt.Errorf("image of a guest: %w", err)
		}
		files = append(files, f)
	}
	return call(ctx, s.control, "containerManager.Checkpoint", map[string]any{
		"Metadata": map[string]string{"compression": "none"}, "have_pages_file": true, "Resume": leaveRunning,
	}, files...)
}

// Store stores the image as the folder dir, whose parent is there, in place of what dir was; see checkpoint.Write.
// The guest may have ended, and been closed. note comes back from Restore; it has 8 MiB at most.
func (s *Snapshot) Store(ctx context.Context, dir string, note []byte) error {
	base := filepath.Join(s.dir, baseName)
	if _, err := os.Stat(base); errors.Is(err, os.ErrNotExist) {
		base = ""
	}
	return checkpoint.Write(ctx, dir, checkpoint.Content{
		Image: filepath.Join(s.dir, imageName), Base: base, Uploads: filepath.Join(s.dir, uploadsName),
		Meta: checkpoint.Meta{Key: s.key, Origin: s.origin, Note: note},
	}) //nolint:wrapcheck // says what it is
}

// Close removes what has not been stored.
func (s *Snapshot) Close() error { return os.RemoveAll(s.dir) } //nolint:wrapcheck // names the file

// RemoveCheckpoint removes what Store has stored as dir, if it is there, and what a killed process has left of it.
func RemoveCheckpoint(dir string) error { return checkpoint.Remove(dir) } //nolint:wrapcheck // says what it is

// CopyCheckpoint stores as the folder to, which is not there before, what Store has stored as from. They share the disk as far as it allows.
func CopyCheckpoint(from, to string) error { return checkpoint.Copy(from, to) } //nolint:wrapcheck // says what it is
