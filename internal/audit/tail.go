package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// followEvery is how often Tail looks for new lines.
const followEvery = 200 * time.Millisecond

// Tail calls write with the last lines of the log in the folder dir, at most so many, all if most is 0, oldest first and each
// with its line feed. With follow it goes on with those that come, until ctx ends, which is then no error.
func Tail(ctx context.Context, dir string, most int, follow bool, write func(line []byte) error) error {
	t := tail{dir: dir, write: write}
	if err := t.begin(most); err != nil {
		return fmt.Errorf("read the audit log: %w", err)
	}
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for follow {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		if err := t.rest(ctx); err != nil {
			return fmt.Errorf("read the audit log: %w", err)
		}
	}
	return nil
}

// tail is where a Tail has got to.
type tail struct {
	dir   string
	write func(line []byte) error
	name  string // of the file that was read last, "" for none
	at    int64  // bytes of it that were
}

// begin writes the last lines. It reads backwards by files.
func (t *tail) begin(most int) error {
	names, err := files(t.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if most <= 0 {
		return t.read(names)
	}
	first, left := len(names), most
	for first > 0 && left > 0 {
		first--
		n, err := count(filepath.Join(t.dir, names[first]))
		if err != nil {
			return err
		}
		left -= n
	}
	skip, write := max(0, -left), t.write
	t.write = func(line []byte) error {
		if skip--; skip >= 0 {
			return nil
		}
		return write(line)
	}
	err = t.read(names[first:])
	t.write = write
	return err
}

// count returns how many lines a file has.
func count(path string) (n int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	err = lines(f, func(_ []byte, finished bool) error {
		if finished {
			n++
		}
		return nil
	})
	return n, err
}

// rest writes the lines that have come since.
func (t *tail) rest(ctx context.Context) error {
	names, err := files(t.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if ctx.Err() != nil {
		return nil //nolint:nilerr // Tail ends so
	}
	from, _ := slices.BinarySearch(names, t.name)
	return t.read(names[from:])
}

// read writes the lines of files, of the one that was read last only those that are new.
func (t *tail) read(names []string) error {
	for _, name := range names {
		if name != t.name {
			t.name, t.at = name, 0
		}
		f, err := os.Open(filepath.Join(t.dir, name))
		if errors.Is(err, fs.ErrNotExist) { // it was removed as the oldest one
			continue
		}
		if err != nil {
			return err
		}
		if err := errors.Join(t.lines(f), f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// lines writes the finished lines of f from where the last look ended.
func (t *tail) lines(f *os.File) error {
	begun := t.at
	return lines(io.NewSectionReader(f, begun, 1<<62-begun), func(line []byte, finished bool) error {
		switch {
		case finished:
			t.at += int64(len(line)) + 1
			return t.write(append(line, '\n'))
		case len(line) >= maxLine: // a part of what nobody here has written
			t.at += int64(len(line))
		}
		return nil
	})
}
