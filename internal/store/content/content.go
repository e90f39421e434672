// Package content keeps the bytes of files under the hash of their content, the same content once.
//
// Whether content is needed is what the database says: [Store.Remove] and [Store.Sweep] ask it, and remove what no
// record refers to. Between the time that content is there and the time that a record refers to it, who has kept it
// holds it: [Draft.Keep] and [Store.Put] hold it once each, until [Store.Release]. A hold is a second link to the
// file in a folder of the process, which it keeps locked: the holds of a process that was killed are over, and
// those of others that use the same folder are seen. A file is complete when it has its name.
//
// # Trust
//
// The bytes are hostile and are only copied. Names are made here, of hex digits.
//
// # Failure
//
// A full disk is an error of the Draft; nothing that was kept before is harmed. After [Store.Sync] content outlasts a
// power failure.
package content

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"runpython/internal/pypi/flock"
)

// Store is a folder that processes share. It is safe for concurrent use. Close it.
type Store struct {
	dir  string
	own  string   // the folder of this process in dir, for drafts and holds
	lock *os.File // of own

	mu   sync.Mutex          // guards held
	held map[string][]string // paths of the holds of this process, by the name of the content
}

const (
	// holdsName is the folder of the folders of processes, doorName the file that is locked, shared by who adds
	// content and alone by who removes some.
	holdsName = "holds"
	doorName  = "door"
	// lockName is what a process keeps locked in its folder.
	lockName = "lock"
)

// Open makes the folder if needed, and removes what processes that were killed have left in it.
func Open(ctx context.Context, dir string) (*Store, error) {
	own := filepath.Join(dir, holdsName, strings.ToLower(rand.Text()))
	if err := os.MkdirAll(filepath.Dir(own), 0o700); err != nil {
		return nil, fmt.Errorf("open the files' folder: %w", err)
	}
	s := &Store{dir: dir, own: own, held: make(map[string][]string)}
	err := s.alone(ctx, func() error {
		if err := s.endDead(); err != nil {
			return err
		}
		if err := os.Mkdir(own, 0o700); err != nil {
			return err
		}
		var err error
		s.lock, err = flock.Open(ctx, filepath.Join(own, lockName))
		return err //nolint:wrapcheck // done below
	})
	if err != nil {
		return nil, fmt.Errorf("open the files' folder: %w", err)
	}
	return s, nil
}

// Close gives up all holds.
func (s *Store) Close() error { return errors.Join(os.RemoveAll(s.own), s.lock.Close()) }

// endDead removes the folders of processes that do not live any more. The caller is alone.
func (s *Store) endDead() error {
	folders, err := os.ReadDir(filepath.Join(s.dir, holdsName))
	if err != nil {
		return fmt.Errorf("look for holds: %w", err)
	}
	for _, f := range folders {
		folder := filepath.Join(s.dir, holdsName, f.Name())
		lock, err := os.Open(filepath.Join(folder, lockName))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("look for holds: %w", err)
		}
		if err == nil {
			busy := flock.Try(lock)
			_ = lock.Close() // only locked
			if busy != nil {
				continue
			}
		}
		if err := os.RemoveAll(folder); err != nil {
			return fmt.Errorf("remove the holds of a process that has ended: %w", err)
		}
	}
	return nil
}

// alone does something while nobody adds or removes content.
func (s *Store) alone(ctx context.Context, do func() error) error {
	door, err := flock.Open(ctx, filepath.Join(s.dir, doorName))
	if err != nil {
		return fmt.Errorf("lock the files' folder: %w", err)
	}
	return errors.Join(do(), door.Close())
}

// A Draft is content that is being written. Either Keep or Discard ends it.
type Draft struct {
	store *Store
	file  *os.File
	hash  hash.Hash
	size  int64
	start []byte
}

// startBytes is what a Draft remembers for telling the type of its content.
const startBytes = 512

// New begins a Draft.
func (s *Store) New() (*Draft, error) {
	f, err := os.CreateTemp(s.own, "draft-")
	if err != nil {
		return nil, fmt.Errorf("keep a file: %w", err)
	}
	return &Draft{store: s, file: f, hash: sha256.New()}, nil
}

// Write adds bytes.
func (d *Draft) Write(p []byte) (int, error) {
	n, err := d.file.Write(p)
	d.hash.Write(p[:n])
	d.size += int64(n)
	if room := startBytes - len(d.start); room > 0 {
		d.start = append(d.start, p[:min(room, n)]...)
	}
	if err != nil {
		return n, fmt.Errorf("keep a file: %w", err)
	}
	return n, nil
}

// Start returns the first bytes, at most 512.
func (d *Draft) Start() []byte { return d.start }

// Keep ends the draft and returns the name and the size in bytes of its content, which
// the caller holds until Release.
func (d *Draft) Keep() (name string, size int64, err error) {
	name = hex.EncodeToString(d.hash.Sum(nil))
	// Guests see their files through links to these; whoever the guest's user is may read and
	// write them there. The folder above is closed to others.
	err = errors.Join(d.file.Chmod(Mode), d.file.Close())
	if err == nil {
		err = d.store.hold(name, d.file.Name())
	}
	if err != nil {
		return "", 0, errors.Join(fmt.Errorf("keep a file: %w", err), os.Remove(d.file.Name()))
	}
	return name, d.size, nil
}

// Mode is that of contents: guests see them, whatever the process's mask is.
const Mode = 0o666

// hold gives a complete file its name, unless the same content is there, and makes of the draft a hold on it.
func (s *Store) hold(name, draft string) error {
	path := s.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	door, err := s.shareDoor()
	if err != nil {
		return err
	}
	defer func() { _ = door.Close() }() // only locked
	err = os.Link(draft, path)
	if errors.Is(err, fs.ErrExist) {
		err = s.join(draft, path)
	}
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held[name] = append(s.held[name], draft)
	return nil
}

// join makes of a draft a hold on the same content, which is there. A power failure may have left less of that than
// its name says, when nobody had synchronized it: then the draft takes its place. Each is one step: a kill
// leaves no half of it.
func (s *Store) join(draft, path string) error {
	other := draft + "-link"
	whole, err := same(draft, path)
	if err != nil {
		return err
	}
	from, to := path, draft
	if !whole {
		from, to = draft, path
	}
	if err := os.Link(from, other); err != nil {
		return err
	}
	return os.Rename(other, to)
}

// same reports whether two files have the same bytes.
func same(a, b string) (bool, error) {
	f, err := os.Open(a)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }() // only read
	g, err := os.Open(b)
	if err != nil {
		return false, err
	}
	defer func() { _ = g.Close() }() // only read
	var p, q [64 << 10]byte
	for {
		n, errF := io.ReadFull(f, p[:])
		m, errG := io.ReadFull(g, q[:])
		switch {
		case n != m || !bytes.Equal(p[:n], q[:m]):
			return false, nil
		case errF == nil && errG == nil:
		case isEnd(errF) && isEnd(errG):
			return true, nil
		default:
			return false, errors.Join(errF, errG)
		}
	}
}

func isEnd(err error) bool { return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) }

// shareDoor waits until nobody removes content; that is soon. Closing the file opens the door again.
func (s *Store) shareDoor() (*os.File, error) {
	door, err := os.OpenFile(filepath.Join(s.dir, doorName), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(door.Fd()), syscall.LOCK_SH)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return nil, errors.Join(err, door.Close())
		}
		return door, nil
	}
}

// Release gives up one hold of this process on content, which stays: whoever knows that no record refers to it
// calls Remove.
func (s *Store) Release(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	holds := s.held[name]
	if len(holds) == 0 {
		return fmt.Errorf("let go of a kept file: nobody holds %s", name)
	}
	last := holds[len(holds)-1]
	if s.held[name] = holds[:len(holds)-1]; len(holds) == 1 {
		delete(s.held, name)
	}
	if err := os.Remove(last); err != nil {
		return fmt.Errorf("let go of a kept file: %w", err)
	}
	return nil
}

// syncEach is up to how many files are written to the disk one by one; above it the whole file system is.
const syncEach = 16

// Sync returns when contents are on the disk, with their names. It is to be called before a record refers to them.
func (s *Store) Sync(names []string) error {
	if len(names) > syncEach {
		return s.syncAll()
	}
	folders := map[string]bool{}
	for _, name := range names {
		path := s.path(name)
		folders[filepath.Dir(path)] = true
		if err := syncPath(path); err != nil {
			return err
		}
	}
	if len(folders) > 0 {
		folders[s.dir] = true // a folder in it may be new
	}
	for folder := range folders {
		if err := syncPath(folder); err != nil {
			return err
		}
	}
	return nil
}

func syncPath(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("write a kept file to the disk: %w", err)
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write a kept file to the disk: %w", err)
	}
	return nil
}

// Discard ends the draft without keeping anything.
func (d *Draft) Discard() error {
	return errors.Join(d.file.Close(), os.Remove(d.file.Name()))
}

// Put keeps all of r, and holds it like Keep.
func (s *Store) Put(r io.Reader) (name string, size int64, err error) {
	d, err := s.New()
	if err != nil {
		return "", 0, err
	}
	if _, err := io.Copy(d, r); err != nil {
		return "", 0, errors.Join(err, d.Discard())
	}
	return d.Keep()
}

// Room returns how many bytes this process may still write to the disk of the folder.
func (s *Store) Room() (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(s.dir, &st); err != nil {
		return 0, fmt.Errorf("room on the disk of kept files: %w", err)
	}
	return int64(min(st.Bavail, math.MaxInt64/uint64(st.Bsize)) * uint64(st.Bsize)), nil
}

// Open opens content by its name. The caller closes it.
func (s *Store) Open(name string) (*os.File, error) {
	f, err := os.Open(s.path(name))
	if err != nil {
		return nil, fmt.Errorf("open a kept file: %w", err)
	}
	return f, nil
}

// Copy makes the content appear at path, as a link where the file system allows it.
func (s *Store) Copy(name, path string) error {
	err := os.Link(s.path(name), path)
	if err == nil {
		return nil
	}
	from, err := s.Open(name)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }() // only read
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, Mode)
	if err != nil {
		return fmt.Errorf("copy a kept file: %w", err)
	}
	_, err = io.Copy(to, from)
	if err := errors.Join(err, to.Chmod(Mode), to.Close()); err != nil {
		return fmt.Errorf("copy a kept file: %w", err)
	}
	return nil
}

// path spreads the names over folders. A name is 64 hex digits.
func (s *Store) path(name string) string {
	return filepath.Join(s.dir, PathOf(name))
}
