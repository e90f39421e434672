package checkpoint

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// draftPrefix begins the names of folders that are being made or removed, before the name of what they become.
const draftPrefix = ".draft-"

// windowBytes is how far back zstd looks for what it has seen: less memory, and hardly more on the disk.
const windowBytes = 1 << 20

// A Content is what is stored. Every name is a folder.
type Content struct {
	Image   []*os.File // those of Files, read from their beginning
	Base    string     // of an image, on the same file system; "" for none
	Uploads string     // on the same file system
	Meta
}

// Write stores c as the folder dir, whose parent is there, and in place of what dir was. It needs a few megabytes
// of memory, whatever the image holds. One dir has one writer at a time; what one that was killed has left is removed. At any moment dir is what it was or all of c; after a return without an
// error it is c, and the disk has it.
func Write(ctx context.Context, dir string, c Content) error {
	if err := removeDrafts(dir); err != nil {
		return err
	}
	draft, err := os.MkdirTemp(filepath.Dir(dir), draftsOf(dir))
	if err != nil {
		return fmt.Errorf("folder of a checkpoint: %w", err)
	}
	if err := fill(ctx, draft, c); err != nil {
		return errors.Join(fmt.Errorf("store a checkpoint: %w", err), os.RemoveAll(draft))
	}
	if err := replace(draft, dir); err != nil {
		return errors.Join(fmt.Errorf("store a checkpoint: %w", err), os.RemoveAll(draft))
	}
	return nil
}

// Copy stores the checkpoint in from as the folder to, whose parent is there and on the same file system, and which is not there
// itself. Nothing of a checkpoint is ever written to, so both have the same files. One that is not there is an *UnusableError.
func Copy(from, to string) error {
	if _, err := readManifest(from); err != nil {
		return err
	}
	draft, err := os.MkdirTemp(filepath.Dir(to), draftsOf(to))
	if err != nil {
		return fmt.Errorf("folder of a checkpoint: %w", err)
	}
	err = LinkTree(from, draft)
	if err == nil {
		err = syncFolder(draft)
	}
	if err == nil {
		err = replace(draft, to)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("copy a checkpoint: %w", err), os.RemoveAll(draft))
	}
	return nil
}

// Remove removes the checkpoint in dir, if there is one, and what killed writers have left of others.
func Remove(dir string) error {
	draft := filepath.Join(filepath.Dir(dir), draftsOf(dir)+"removed")
	// Half of a folder must not look like a whole one. A draft of that name is one that could not be removed before.
	err := removeDrafts(dir)
	if err == nil {
		err = os.Rename(dir, draft)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove a checkpoint: %w", err)
	}
	return os.RemoveAll(draft) //nolint:wrapcheck // names the file
}

// draftsOf begins the names of all drafts of dir.
func draftsOf(dir string) string { return draftPrefix + filepath.Base(dir) + "-" }

func removeDrafts(dir string) error {
	parent, prefix := filepath.Dir(dir), draftsOf(dir)
	entries, err := os.ReadDir(parent)
	if err != nil {
		return fmt.Errorf("folder of a checkpoint: %w", err)
	}
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), prefix) {
			err = errors.Join(err, os.RemoveAll(filepath.Join(parent, e.Name())))
		}
	}
	return err
}

// fill writes all that a checkpoint has into the folder dir.
func fill(ctx context.Context, dir string, c Content) error {
	// A base that cannot be linked, for it has as many links as a file may have or has gone, is done without.
	from := filepath.Join(dir, baseName)
	if c.Base == "" || LinkImage(c.Base, from) != nil {
		if err := os.RemoveAll(from); err != nil {
			return err
		}
		from = ""
	}
	if err := LinkTree(c.Uploads, filepath.Join(dir, uploadsName)); err != nil {
		return err //nolint:wrapcheck // by Write
	}
	m := manifest{Format: format, Meta: c.Meta}
	b, err := openBase(from)
	if err != nil {
		return err
	}
	m.Base = b.describe()
	err = m.pack(ctx, filepath.Join(dir, differenceName), c.Image, b)
	if err = errors.Join(err, b.close()); err != nil {
		return err
	}
	text, err := m.encode()
	if err != nil {
		return err
	}
	if len(text) > manifestBytes {
		return fmt.Errorf("a note of %d bytes is too long", len(c.Note))
	}
	if err := writeDurable(filepath.Join(dir, manifestName), func(f *os.File) error { _, err := f.Write(text); return err }); err != nil {
		return err
	}
	return syncFolder(dir)
}

// pack writes the difference and notes in m what it consists of.
func (m *manifest) pack(ctx context.Context, name string, image []*os.File, b *base) error {
	x, err := newIndex(b)
	if err != nil {
		return err
	}
	return writeDurable(name, func(f *os.File) error {
		sum := &summing{to: f, hash: crc32.New(castagnoli())}
		z, err := zstd.NewWriter(sum, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1),
			zstd.WithWindowSize(windowBytes), zstd.WithLowerEncoderMem(true))
		if err != nil {
			return fmt.Errorf("compress: %w", err)
		}
		e := newEncoder(z, x)
		for i, part := range image {
			described, err := e.file(ctx, part, Files()[i])
			if err != nil {
				return errors.Join(err, z.Close())
			}
			m.Files = append(m.Files, described)
		}
		err = errors.Join(e.to.Flush(), z.Close())
		m.Packed = file{Name: differenceName, Bytes: sum.bytes, Sum: sum.hash.Sum32()}
		return err
	})
}

// file packs one file of the image.
func (e *encoder) file(ctx context.Context, f io.ReaderAt, name string) (file, error) {
	hash, buffer := crc32.New(castagnoli()), make([]byte, literalBytes)
	described := file{Name: name}
	for ctx.Err() == nil {
		runtime.Gosched() // whoever has waited meanwhile is served: all of this is done beside something
		n, err := io.ReadFull(io.NewSectionReader(f, described.Bytes, literalBytes), buffer)
		_, _ = hash.Write(buffer[:n]) // never fails
		described.Bytes += int64(n)
		if err := e.add(buffer[:n]); err != nil {
			return file{}, err
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			described.Sum = hash.Sum32()
			return described, e.end()
		case err != nil:
			return file{}, err //nolint:wrapcheck // by Write
		}
	}
	return file{}, ctx.Err() //nolint:wrapcheck // by Write
}

// summing passes on what is written, and sums it.
type summing struct {
	to    io.Writer
	hash  hash.Hash32
	bytes int64
}

// Write writes p.
func (s *summing) Write(p []byte) (int, error) {
	n, err := s.to.Write(p)
	_, _ = s.hash.Write(p[:n]) // never fails
	s.bytes += int64(n)
	return n, err //nolint:wrapcheck // by those who write
}

// A Checkpoint is one that is stored, seen to be whole as far as its manifest can tell.
type Checkpoint struct {
	Meta

	dir      string
	manifest *manifest
}

// Open reads what the checkpoint in dir is. Nothing has to be closed.
func Open(dir string) (*Checkpoint, error) {
	m, err := readManifest(dir)
	if err != nil {
		return nil, err
	}
	c := &Checkpoint{Meta: m.Meta, dir: dir, manifest: m}
	for _, f := range m.Base {
		if err := checkSize(filepath.Join(dir, baseName, f.Name), f.Bytes); err != nil {
			return nil, err
		}
	}
	return c, checkSize(filepath.Join(dir, differenceName), m.Packed.Bytes)
}

func checkSize(name string, bytes int64) error {
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return damaged(err)
	case info.Size() != bytes:
		return damaged(fmt.Errorf("%s has %d bytes instead of %d", filepath.Base(name), info.Size(), bytes))
	}
	return nil
}

// Uploads is the folder of the files that the host had put into /work.
func (c *Checkpoint) Uploads() string { return filepath.Join(c.dir, uploadsName) }

// Base is the folder of the image that it is a difference from, "" for none.
func (c *Checkpoint) Base() string {
	if len(c.manifest.Base) == 0 {
		return ""
	}
	return filepath.Join(c.dir, baseName)
}

// Unpack makes the image again, in the folder into, which is there. What is made after an error is of no use.
func (c *Checkpoint) Unpack(ctx context.Context, into string) error {
	b, err := openBase(c.Base())
	if err != nil {
		return damaged(err)
	}
	f, err := os.Open(filepath.Join(c.dir, differenceName))
	if err != nil {
		return errors.Join(damaged(err), b.close())
	}
	z, err := zstd.NewReader(f, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(windowBytes))
	if err != nil {
		return errors.Join(fmt.Errorf("decompress: %w", err), f.Close(), b.close())
	}
	defer z.Close()
	d := newDecoder(z, b)
	for _, part := range c.manifest.Files {
		if err = d.file(ctx, filepath.Join(into, filepath.Base(part.Name)), part); err != nil {
			break
		}
	}
	return errors.Join(err, f.Close(), b.close())
}

// writeBytes are written at once: pages come one by one from anywhere in the base.
const writeBytes = 256 << 10

// file makes one file and checks it.
func (d *decoder) file(ctx context.Context, name string, want file) error {
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("image of a checkpoint: %w", err)
	}
	sum := &summing{to: limited{ctx, f}, hash: crc32.New(castagnoli())}
	to := bufio.NewWriterSize(sum, writeBytes)
	err = d.decode(to, want.Bytes)
	if err == nil {
		err = to.Flush()
	}
	closeErr := f.Close()
	pathErr, isOfDisk := errors.AsType[*fs.PathError](err)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("image of a checkpoint: %w", ctx.Err())
	case isOfDisk && pathErr.Op == "write":
		return fmt.Errorf("image of a checkpoint: %w", err)
	case err != nil:
		return damaged(err)
	case sum.bytes != want.Bytes || sum.hash.Sum32() != want.Sum:
		return damaged(fmt.Errorf("%s comes out otherwise than it was", want.Name))
	}
	return closeErr //nolint:wrapcheck // names what it is
}

// limited writes as long as ctx lasts.
type limited struct {
	ctx context.Context //nolint:containedctx // it lives as long as the call
	to  io.Writer
}

// Write writes p.
func (l limited) Write(p []byte) (int, error) {
	if err := l.ctx.Err(); err != nil {
		return 0, err //nolint:wrapcheck // by file
	}
	return l.to.Write(p) //nolint:wrapcheck // likewise
}
