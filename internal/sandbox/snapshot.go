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

	"golang.org/x/sys/unix"

	"runpython/internal/sandbox/checkpoint"
)

// imageDeadline bounds the writing of an image: some 0.1 s, and 3 s for each GiB that the guest holds on a slow disk.
const imageDeadline = time.Minute

// ErrTooLarge says that a guest holds more than Config.ImageBytes.
var ErrTooLarge = errors.New("the guest holds too much for an image in memory")

// A Snapshot is an image of a guest as it was at one moment, which is not stored yet: storing takes longer than
// the guest may stand still for. It is made in three steps: NewSnapshot does what can be done before, Take or
// TakeBeside makes the image, Store stores it. Close it.
type Snapshot struct {
	of     *Sandbox
	dir    string // what it consists of, in the folder of the host
	origin []byte
	key    string
	image  []*os.File // of checkpoint.Files, once it is taken
}

// The names in the folder of a Snapshot, beside baseName.
const (
	imageName   = "image"
	uploadsName = "work"
)

// NewSnapshot begins an image of the guest, which does not notice it.
func (s *Sandbox) NewSnapshot() (*Snapshot, error) {
	text, o, err := readOrigin(s.dir) // s may be a guest of another host
	if err != nil {
		return nil, err
	}
	at, err := os.MkdirTemp(s.host.instance.dir, "snapshot-")
	if err != nil {
		return nil, fmt.Errorf("folder of an image: %w", err)
	}
	n := &Snapshot{of: s, dir: at, origin: text, key: o.Binding}
	if err := checkpoint.LinkImage(filepath.Join(s.dir, baseName), filepath.Join(at, baseName)); err != nil {
		err = os.RemoveAll(filepath.Join(at, baseName)) // it is done without one
		if err != nil {
			return nil, errors.Join(err, n.Close())
		}
	}
	if err := checkpoint.LinkTree(filepath.Join(s.dir, "work"), filepath.Join(at, uploadsName)); err != nil {
		return nil, errors.Join(err, n.Close()) //nolint:wrapcheck // says what it is
	}
	return n, nil
}

// Take makes the image, on the disk, of a guest that must not be stopped, nor be in an operation whose answer matters.
// It stands still meanwhile: 0.1 s, and 0.3 s for each 200 MB that it holds. With leaveRunning it goes on then, also
// after an error, of which ctx's end is the exception; without, it ends, and the caller still closes it.
func (n *Snapshot) Take(ctx context.Context, leaveRunning bool) error {
	dir := filepath.Join(n.dir, imageName)
	err := n.of.writeImage(ctx, dir, leaveRunning)
	if err == nil {
		n.image, err = checkpoint.OpenImage(dir)
	}
	return err //nolint:wrapcheck // says what it is
}

// TakeBeside is Take for a guest that goes on and for which something else may come first: the end of ctx gives the
// image up and lets the guest go on, as soon as gVisor is done with what it cannot break off, which does
// not grow with the guest's memory. The image is in memory until Close, so a guest that holds more than
// Config.ImageBytes is ErrTooLarge; where a runsc does not understand us, it is Take.
func (n *Snapshot) TakeBeside(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("image of a guest: %w", err)
	}
	if n.of.MemoryBytes() > n.of.host.config.ImageBytes {
		return ErrTooLarge
	}
	for _, name := range checkpoint.Files() {
		fd, err := unix.MemfdCreate("runpython-"+name, unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
		if err != nil {
			return fmt.Errorf("image of a guest: %w", err)
		}
		n.image = append(n.image, os.NewFile(uintptr(fd), name))
	}
	given, sealed := make(chan struct{}), make(chan error, 1)
	go func() {
		var err error
		select {
		case <-ctx.Done():
			err = sealAll(n.image)
		case <-given:
		}
		sealed <- err
	}()
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), imageDeadline)
	defer cancel()
	err := n.of.requestImage(limited, true, n.image)
	close(given)
	err = errors.Join(err, <-sealed)
	switch refused, isRefused := errors.AsType[refusal](err); {
	case ctx.Err() != nil:
		return fmt.Errorf("image of a guest: %w", ctx.Err())
	case err == nil:
		return nil
	case isRefused:
		return fmt.Errorf("image of a guest: %w", refused)
	}
	err = closeAll(n.image...)
	n.image = nil
	return errors.Join(err, n.Take(ctx, true))
}

// sealAll makes every further write to the files fail: gVisor then gives up what it writes, and its guest goes on.
func sealAll(files []*os.File) error {
	var err error
	for _, f := range files {
		if _, sealErr := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, unix.F_SEAL_WRITE); sealErr != nil {
			err = errors.Join(err, fmt.Errorf("seal an image: %w", sealErr))
		}
	}
	return err
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
	return s.requestImage(ctx, leaveRunning, files)
}

// requestImage has gVisor write an image of the guest into files, those of checkpoint.Files.
func (s *Sandbox) requestImage(ctx context.Context, leaveRunning bool, files []*os.File) error {
	if err := s.awaitCalls(ctx); err != nil {
		return err
	}
	return call(ctx, s.control, "containerManager.Checkpoint", map[string]any{
		"Metadata": map[string]string{"compression": "none"}, "have_pages_file": true, "Resume": leaveRunning,
	}, files...)
}

// Store stores the image as the folder dir, whose parent is there, in place of what dir was; see checkpoint.Write.
// The guest may have ended, and been closed. note comes back from Restore; it has 8 MiB at most.
func (n *Snapshot) Store(ctx context.Context, dir string, note []byte) error {
	base := filepath.Join(n.dir, baseName)
	if _, err := os.Stat(base); errors.Is(err, os.ErrNotExist) {
		base = ""
	}
	return checkpoint.Write(ctx, dir, checkpoint.Content{
		Image: n.image, Base: base, Uploads: filepath.Join(n.dir, uploadsName),
		Meta: checkpoint.Meta{Key: n.key, Origin: n.origin, Note: note},
	}) //nolint:wrapcheck // says what it is
}

// Close removes what has not been stored.
func (n *Snapshot) Close() error {
	err := closeAll(n.image...)
	n.image = nil
	return errors.Join(err, os.RemoveAll(n.dir))
}

// RemoveCheckpoint removes what Store has stored as dir, if it is there, and what a killed process has left of it.
func RemoveCheckpoint(dir string) error { return checkpoint.Remove(dir) } //nolint:wrapcheck // says what it is

// CopyCheckpoint stores as the folder to, which is not there before, what Store has stored as from. They share the disk as far as it allows.
func CopyCheckpoint(from, to string) error { return checkpoint.Copy(from, to) } //nolint:wrapcheck // says what it is
