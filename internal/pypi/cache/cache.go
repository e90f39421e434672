// Package cache keeps unpacked wheels by the digest of the wheel, or of the source that it was
// built of, byte-compiled, for all environments of a data folder.
//
// [Cache.Ensure] unpacks a wheel that is not there yet: beside its place, complete,
// then renamed. Any number of processes and goroutines may use one folder; each
// wheel is fetched by one of them while the others wait. What is old and in no
// environment is removed when the cache grows beyond its limit.
//
// # Trust
//
// A wheel is hostile; package wheel says what that means. It is taken only if its digest
// is that of the lock. To compile it, the interpreter runs on the host isolated from the
// files that it compiles (-I -S, another working directory, no variables) with bounds of
// memory and time, so it parses code of the wheel and runs none.
//
// # Failure
//
// A wheel is complete or absent, whenever a process is killed; what it left is removed
// when the next one opens the folder and nobody holds it. What is wrong with a wheel is
// a [MismatchError] or an error of package wheel. A wheel that cannot be compiled is
// used as it is.
package cache

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"runpython/internal/pypi/flock"
	"runpython/internal/pypi/wheel"
)

// Names in the folder.
const (
	wheelsDir   = "wheels"  // complete wheels, by digest
	newDir      = "new"     // what somebody works on
	locksDir    = "locks"   // files to lock, one for each first two digits of a digest
	treeDir     = "tree"    // in a wheel: its files
	contentName = "content" // in a wheel: wheel.Content as JSON
	sizeName    = "size"    // in a wheel: bytes of its files, bytecode included
	doneName    = "compiled"
)

// maxContent bounds the description of a wheel that is read back.
const maxContent = 64 << 20

// Config is what a Cache needs to know.
type Config struct {
	Dir         string
	Python      string // interpreter on the host, with which wheels are compiled
	GuestPython string // path of the interpreter as scripts name it
	GuestDir    string // path of an environment as tracebacks name it
	WheelBytes  int64  // at most, of one wheel
	FilesBytes  int64  // at most, of its files
	Bytes       int64  // of the cache, beyond which what nobody uses is removed
	Log         *slog.Logger

	// Compiled, if not nil, is told of each wheel that has its bytecode at last; it must
	// not keep the Held.
	Compiled func(ctx context.Context, h *Held)
}

// A Cache is a folder of unpacked wheels. It is safe for concurrent use.
type Cache struct {
	config Config

	queue  chan string // digests of wheels to compile
	cancel context.CancelFunc
	work   sync.WaitGroup
}

// Open opens the folder, makes it if needed and removes what killed processes left.
// The caller closes the Cache.
func Open(ctx context.Context, c Config) (*Cache, error) {
	for _, name := range []string{wheelsDir, newDir, locksDir} {
		if err := os.MkdirAll(filepath.Join(c.Dir, name), 0o700); err != nil {
			return nil, fmt.Errorf("open the packages' cache: %w", err)
		}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	k := &Cache{config: c, queue: make(chan string, maxQueue), cancel: cancel}
	k.sweep()
	k.work.Go(func() { k.compileAll(ctx) })
	return k, nil
}

// Close ends the compiler and waits for it. What is not compiled yet will be when it
// is asked for again.
func (k *Cache) Close() {
	k.cancel()
	k.work.Wait()
}

// A Held is a wheel that stays in the cache until Close.
type Held struct {
	Content  wheel.Content
	Tree     string // its files
	Bytes    int64  // that came over the network for it; 0 when it was there
	Compiled bool   // it has its bytecode
	lock     *os.File
}

// Close lets go of the wheel.
func (h *Held) Close() { _ = h.lock.Close() } // only read

// A Fetch writes a wheel to w, at most most bytes.
type Fetch func(ctx context.Context, w io.Writer, most int64) (int64, error)

// A MismatchError is a wheel whose digest is not that of the lock.
type MismatchError struct{ Pin wheel.Pin }

// Error names the wheel.
func (e *MismatchError) Error() string { return "the digest of " + e.Pin.File + " is another" }

// Find returns the wheel that pin names if it is there, else fs.ErrNotExist. The caller closes
// what is returned.
func (k *Cache) Find(pin wheel.Pin) (*Held, error) {
	if err := pin.Check(); err != nil {
		return nil, err
	}
	return k.hold(pin.SHA256)
}

// Ensure returns the wheel that pin names; fetch is called if it is not there. Of a source
// distribution that is the wheel which was built of it: fetch vouches for the digest of the
// source, and that of the wheel is any. The caller closes what is returned.
func (k *Cache) Ensure(ctx context.Context, pin wheel.Pin, fetch Fetch) (*Held, error) {
	if err := pin.Check(); err != nil {
		return nil, err
	}
	h, err := k.hold(pin.SHA256)
	if errors.Is(err, fs.ErrNotExist) {
		h, err = k.build(ctx, pin, fetch)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", pin.File, err)
	}
	if !h.Compiled {
		k.enqueue(pin.SHA256)
	}
	now := time.Now()
	if err := os.Chtimes(k.path(pin.SHA256), now, now); err != nil { // Prune looks at it
		h.Close()
		return nil, err
	}
	return h, nil
}

func (k *Cache) path(sum string) string { return filepath.Join(k.config.Dir, wheelsDir, sum) }

// hold returns a complete wheel with its folder locked against removal, or
// fs.ErrNotExist.
func (k *Cache) hold(sum string) (*Held, error) {
	dir := k.path(sum)
	lock, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	h := &Held{Tree: filepath.Join(dir, treeDir), lock: lock}
	err = flock.Share(lock)
	if err == nil {
		err = flock.Named(lock, dir)
	} else if errors.Is(err, flock.ErrBusy) {
		err = fs.ErrNotExist // only who removes it locks it against us
	}
	if err == nil {
		h.Content, err = readContent(dir)
	}
	if err == nil {
		_, statErr := os.Lstat(filepath.Join(dir, doneName))
		h.Compiled = statErr == nil
	}
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return h, nil
}

func readContent(dir string) (c wheel.Content, err error) {
	f, err := os.Open(filepath.Join(dir, contentName))
	if err != nil {
		return c, err
	}
	defer f.Close()
	err = json.NewDecoder(io.LimitReader(f, maxContent)).Decode(&c)
	return c, err
}

// build fetches and unpacks a wheel, unless another process has just done so.
func (k *Cache) build(ctx context.Context, pin wheel.Pin, fetch Fetch) (*Held, error) {
	lock, err := flock.Open(ctx, filepath.Join(k.config.Dir, locksDir, pin.SHA256[:2]))
	if err != nil {
		return nil, err
	}
	defer lock.Close()
	if h, err := k.hold(pin.SHA256); !errors.Is(err, fs.ErrNotExist) {
		return h, err
	}
	stage, err := k.stage()
	if err != nil {
		return nil, err
	}
	defer stage.remove(k.config.Log)
	// A folder within: the stage is locked, what comes of it is not.
	dir := filepath.Join(stage.dir, "wheel")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	n, err := k.fill(ctx, dir, pin, fetch)
	if err != nil {
		return nil, err
	}
	if err := flush(dir); err != nil {
		return nil, err
	}
	if err := os.Rename(dir, k.path(pin.SHA256)); err != nil {
		return nil, err
	}
	h, err := k.hold(pin.SHA256)
	if err == nil {
		h.Bytes = n
	}
	return h, err
}

// fill makes a complete wheel in dir.
func (k *Cache) fill(ctx context.Context, dir string, pin wheel.Pin, fetch Fetch) (int64, error) {
	name := filepath.Join(dir, "archive")
	file, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, err
	}
	defer file.Close()
	sum := sha256.New()
	n, err := fetch(ctx, io.MultiWriter(file, sum), k.config.WheelBytes)
	if err != nil {
		return n, err
	}
	if !pin.IsSource() && hex.EncodeToString(sum.Sum(nil)) != pin.SHA256 {
		return n, &MismatchError{Pin: pin}
	}
	content, err := wheel.Unpack(file, n, pin, wheel.Target{
		Dir: filepath.Join(dir, treeDir), Python: k.config.GuestPython, Bytes: k.config.FilesBytes,
	})
	if err != nil {
		return n, err
	}
	text, err := json.Marshal(content)
	if err != nil {
		return n, err
	}
	return n, errors.Join(
		os.WriteFile(filepath.Join(dir, contentName), text, 0o600),
		writeSize(dir, content.Bytes),
		os.Remove(name))
}

// writeSize notes the size at once: others read it meanwhile.
func writeSize(dir string, bytes int64) error {
	name := filepath.Join(dir, sizeName)
	if err := os.WriteFile(name+newSuffix, []byte(strconv.FormatInt(bytes, 10)), 0o600); err != nil {
		return err
	}
	return os.Rename(name+newSuffix, name)
}

// newSuffix ends the name of a file until it is whole.
const newSuffix = ".new"

// flush writes all that was made in dir to disk, so that a name stands for whole
// files also after the machine has lost its power.
func flush(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer f.Close()
	return unix.Syncfs(int(f.Fd()))
}

// A staged is a folder that somebody works on, locked.
type staged struct {
	dir  string
	lock *os.File
}

// stage makes a folder beside the wheels. Between its making and its locking another
// process may take it for abandoned; then another one is made.
func (k *Cache) stage() (*staged, error) {
	for {
		dir, err := os.MkdirTemp(filepath.Join(k.config.Dir, newDir), "")
		if err != nil {
			return nil, err
		}
		lock, err := os.Open(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		err = flock.Try(lock)
		if err == nil {
			err = flock.Named(lock, dir)
		}
		if err == nil {
			return &staged{dir, lock}, nil
		}
		if err := lock.Close(); err != nil {
			return nil, err
		}
	}
}

// remove removes what is left of a folder and unlocks it.
func (s *staged) remove(log *slog.Logger) {
	if err := errors.Join(os.RemoveAll(s.dir), s.lock.Close()); err != nil {
		log.Warn("a folder of the packages' cache could not be removed", slog.Any("error", err))
	}
}

// sweep removes the folders that killed processes worked on.
func (k *Cache) sweep() {
	dir := filepath.Join(k.config.Dir, newDir)
	entries, err := os.ReadDir(dir)
	if err != nil {
		k.config.Log.Warn("the packages' cache could not be looked through", slog.Any("error", err))
	}
	for _, e := range entries {
		name := filepath.Join(dir, e.Name())
		lock, err := os.Open(name)
		if err != nil {
			continue // gone meanwhile
		}
		if err := flock.Try(lock); err != nil {
			_ = lock.Close() // somebody works on it
			continue
		}
		(&staged{name, lock}).remove(k.config.Log)
	}
}

// Verify reads every wheel and returns what is wrong with each that is damaged.
func (k *Cache) Verify(ctx context.Context) error {
	entries, err := os.ReadDir(filepath.Join(k.config.Dir, wheelsDir))
	for _, e := range entries {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if strings.HasPrefix(e.Name(), removedPrefix) {
			continue
		}
		h, holdErr := k.hold(e.Name())
		if errors.Is(holdErr, fs.ErrNotExist) {
			if _, statErr := os.Lstat(k.path(e.Name())); statErr != nil {
				continue // removed meanwhile
			}
		}
		if holdErr != nil {
			err = errors.Join(err, fmt.Errorf("wheel %s: %w", e.Name(), holdErr))
			continue
		}
		if bad := h.Content.Verify(h.Tree); bad != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", h.Content.Pin.File, bad))
		}
		h.Close()
	}
	return err
}
