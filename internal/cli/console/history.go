package console

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// Bounds of a History.
const (
	maxEntries      = 1000
	maxEntryBytes   = 16 << 10  // a longer message is not remembered
	maxHistoryBytes = 512 << 10 // of the file that are read; when it is larger it is written anew
)

// newlineSign stands for a newline while a message of several lines is edited on one.
const newlineSign = "␤"

// A History holds the messages of a person, the newest last, in memory and in a file
// of mode 0600 that the next dialogue reads. Several dialogues may share the
// file; each sees what was there when it began. It is not safe for concurrent use.
type History struct {
	path    string
	entries []string
	shown   bool // an entry was put on the line that is being edited
}

// OpenHistory reads the history at path. The file and its directory are made when
// the first message is remembered. With an error the history works, but in memory only.
func OpenHistory(path string) (*History, error) {
	h := &History{path: path}
	if err := h.read(); err != nil {
		h.path = ""
		return h, fmt.Errorf("read history: %w", err)
	}
	return h, nil
}

// read fills entries from the end of the file.
func (h *History) read() error {
	f, err := os.OpenFile(h.path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // only read from
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", h.path)
	}
	tooLong := info.Size() > maxHistoryBytes
	text, err := io.ReadAll(io.NewSectionReader(f, max(0, info.Size()-maxHistoryBytes), maxHistoryBytes))
	if err != nil {
		return err
	}
	if tooLong { // begins within a line
		_, text, _ = bytes.Cut(text, []byte{'\n'})
	}
	for line := range strings.Lines(string(text)) {
		if entry, err := strconv.Unquote(strings.TrimSpace(line)); err == nil && memorable(entry) {
			h.keep(entry)
		}
	}
	if tooLong {
		return h.rewrite()
	}
	return nil
}

// rewrite replaces the file by the newest entries, half of what it may hold, so that
// it is not needed soon again. What another dialogue appends meanwhile is lost from the file.
func (h *History) rewrite() error {
	var text []byte
	first, size := len(h.entries), 0
	for ; first > 0; first-- {
		if size += len(strconv.Quote(h.entries[first-1])) + 1; size > maxHistoryBytes/2 {
			break
		}
	}
	for _, e := range h.entries[first:] {
		text = append(strconv.AppendQuote(text, e), '\n')
	}
	f, err := os.CreateTemp(filepath.Dir(h.path), filepath.Base(h.path)+".*") // of mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), h.path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}

// memorable tells whether an entry can be kept: it is not empty, not too long, does
// not begin with a space (as in shells, the way to leave no trace), and has nothing
// that a line cannot show.
func memorable(entry string) bool {
	return entry != "" && len(entry) <= maxEntryBytes && entry[0] != ' ' &&
		harmless(entry) && !strings.Contains(entry, newlineSign)
}

// keep appends entry in memory unless it repeats the newest.
func (h *History) keep(entry string) (kept bool) {
	if n := len(h.entries); n > 0 && h.entries[n-1] == entry {
		return false
	}
	if len(h.entries) == maxEntries {
		h.entries = slices.Delete(h.entries, 0, 1)
	}
	h.entries = append(h.entries, entry)
	return true
}

// Remember adds a message. An error means that it is in memory only.
func (h *History) Remember(message string) error {
	if !memorable(message) || !h.keep(message) || h.path == "" {
		return nil
	}
	if err := h.appendToFile(strconv.Quote(message) + "\n"); err != nil {
		h.path = "" // told once
		return fmt.Errorf("write history: %w", err)
	}
	return nil
}

func (h *History) appendToFile(line string) error {
	if err := os.MkdirAll(filepath.Dir(h.path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(h.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line)
	return errors.Join(err, f.Close())
}

// lines is a History as the line editor wants it: an entry is one line.
type lines struct{ h *History }

// Add does nothing: the editor adds lines, a History holds messages.
func (l lines) Add(string) {}

// Len returns the number of entries.
func (l lines) Len() int { return len(l.h.entries) }

// At returns the entry i before the newest.
func (l lines) At(i int) string {
	l.h.shown = true
	return strings.ReplaceAll(l.h.entries[len(l.h.entries)-1-i], "\n", newlineSign)
}

// original returns a line that was edited as the text that it stands for, and whether an
// entry of several lines is in it.
func (h *History) original(line string) (text string, several bool) {
	shown := h.shown
	h.shown = false
	if !shown || !strings.Contains(line, newlineSign) {
		return line, false
	}
	return strings.ReplaceAll(line, newlineSign, "\n"), true
}
