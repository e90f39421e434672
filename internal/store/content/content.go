// Package content keeps the bytes of files under the hash of their content.
//
// The same content is kept once, for as long as somebody holds it: each [Draft.Keep] and
// [Store.Put] holds it once, and [Store.Release] lets go; with the last holder it is
// removed. A file is complete when it has its name: it is written beside and moved there.
//
// # Trust
//
// The bytes are hostile and are only copied. Names are made here, of hex digits.
//
// # Failure
//
// A full disk is an error of the Draft; nothing that was kept before is harmed.
package content

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"os"
	"path/filepath"
	"sync"
	"syscall"
)

// Store is a folder, of one process alone. It is safe for concurrent use.
type Store struct {
	dir string

	mu   sync.Mutex     // guards what follows and the names in dir
	held map[string]int // how many hold each content
}

// Open makes the folder if needed.
func Open(dir string) (*Store, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open the files' folder: %w", err)
	}
	return &Store{dir: dir, held: make(map[string]int)}, nil
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
	f, err := os.CreateTemp(s.dir, ".draft-")
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
	path := d.store.path(name)
	// Guests see their files through links to these; whoever the guest's user is may read and
	// write them there. The folder above is closed to others.
	err = errors.Join(d.file.Chmod(shared), d.file.Close())
	if err == nil {
		err = os.MkdirAll(filepath.Dir(path), 0o700)
	}
	if err == nil {
		err = d.store.hold(name, d.file.Name())
	}
	if err != nil {
		return "", 0, errors.Join(fmt.Errorf("keep a file: %w", err), os.Remove(d.file.Name()))
	}
	return name, d.size, nil
}

// shared is the mode of what guests see, whatever the process's mask is.
const shared = 0o666

// hold gives a complete file its name and counts one more who holds it.
func (s *Store) hold(name, draft string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := os.Rename(draft, s.path(name)); err != nil {
		return err
	}
	s.held[name]++
	return nil
}

// Release lets go of content that Keep or Put has held. The last one to let go removes it;
// whoever has opened or copied it before goes on to see it.
func (s *Store) Release(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.held[name] > 1 {
		s.held[name]--
		return nil
	}
	delete(s.held, name)
	if err := os.Remove(s.path(name)); err != nil {
		return fmt.Errorf("remove a kept file: %w", err)
	}
	return nil
}

// Room returns how many bytes this process may still write to the disk of the folder.
func (s *Store) Room() (int64, error) {
	var st syscall.Statfs_t
	if err := syscall.Statfs(s.dir, &st); err != nil {
		return 0, fmt.Errorf("room on the disk of kept files: %w", err)
	}
	return int64(min(st.Bavail, math.MaxInt64/uint64(st.Bsize)) * uint64(st.Bsize)), nil
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
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, shared)
	if err != nil {
		return fmt.Errorf("copy a kept file: %w", err)
	}
	_, err = io.Copy(to, from)
	if err := errors.Join(err, to.Chmod(shared), to.Close()); err != nil {
		return fmt.Errorf("copy a kept file: %w", err)
	}
	return nil
}

// path spreads the names over folders. A name is 64 hex digits.
func (s *Store) path(name string) string {
	return filepath.Join(s.dir, name[:2], name[2:])
}
