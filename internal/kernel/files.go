package kernel

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"runpython/internal/excerpt"
)

// report checks what a guest tells of its files. Paths that could leave a folder are dropped.
func (f *rawFiles) report() *FileReport {
	if f == nil {
		return nil
	}
	report := &FileReport{Total: f.Total, Over: f.Over, Full: f.Full}
	for _, e := range f.Changed {
		path, ok := pathFrom(e.path)
		if !ok || e.size < 0 {
			continue
		}
		switch e.kind {
		case "file", "link", "fifo", "socket":
		default:
			e.kind = "device"
		}
		report.Changed = append(report.Changed, FileEntry{Path: path, Size: e.size, Kind: e.kind, Stamp: excerpt.Middle(e.stamp, noteBytes)})
	}
	for _, d := range f.Deleted {
		if path, ok := pathFrom(d); ok {
			report.Deleted = append(report.Deleted, path)
		}
	}
	return report
}

// merge returns one report of two that follow each other. An earlier one with
// everything that is there is complete but for what came later.
func merge(earlier, later *FileReport) *FileReport {
	if earlier == nil || later != nil && later.Full {
		return later
	}
	if later == nil {
		return earlier
	}
	newer := make(map[string]bool)
	for _, e := range later.Changed {
		newer[e.Path] = true
	}
	for _, path := range later.Deleted {
		newer[path] = true
	}
	merged := &FileReport{Changed: later.Changed, Deleted: later.Deleted, Total: later.Total, Over: later.Over, Full: earlier.Full}
	for _, e := range earlier.Changed {
		if !newer[e.Path] {
			merged.Changed = append(merged.Changed, e)
		}
	}
	return merged
}

// pathFrom reads a path as the guest sends it, each character being a byte, and checks it.
func pathFrom(s string) (string, bool) {
	var b strings.Builder
	for _, r := range s {
		if r > 0xff || r == 0 {
			return "", false
		}
		b.WriteByte(byte(r))
	}
	path := b.String()
	if len(path) > pathBytes {
		return "", false
	}
	for part := range strings.SplitSeq(path, "/") {
		if part == "" || part == "." || part == ".." {
			return "", false
		}
	}
	return path, true
}

// pathTo writes a path as the guest wants it.
func pathTo(path string) string {
	var b strings.Builder
	for i := range len(path) {
		b.WriteRune(rune(path[i]))
	}
	return b.String()
}

// transferDeadline bounds a Get or a Put.
const transferDeadline = 2 * time.Minute

// Get reads files of /work, limit bytes at most in all. sink gets the bytes of each
// file in order; after its last byte, end gets the reason why a file is not whole, or "".
// An error of sink or end ends it and is returned. It works also when the interpreter has ended.
func (k *Kernel) Get(ctx context.Context, paths []string, limit int64, sink func(index int, data []byte) error, end func(index int, problem string) error) error {
	k.enter()
	defer k.leave()
	defer k.rest()
	if err := k.awake(); err != nil {
		return err
	}
	t, died := &transfer{limit: limit, sink: sink, end: end}, k.dead
	for t.base = 0; t.base < len(paths); t.base = t.index {
		k.turn++
		t.id, t.count = k.turn, len(paths)
		wanted := make([]string, 0, len(paths)-t.base)
		for _, p := range paths[t.base:] {
			wanted = append(wanted, pathTo(p))
		}
		if err := k.say(map[string]any{"op": "get", "id": t.id, "paths": wanted, "limit": limit - t.bytes}, nil); err != nil {
			return err
		}
		err := k.converse(ctx, transferDeadline, t.take)
		switch {
		case errors.Is(t.failed, errProtocol):
			return k.giveUp(t.failed)
		case t.failed != nil:
			return t.failed
		case errors.Is(err, errDied) && died: // forged: no other interpreter was started
			return k.giveUp(fmt.Errorf("%w: its interpreter has ended twice", errProtocol))
		case errors.Is(err, errDied): // init answers for the rest
			died = true
			t.interrupted()
		case err != nil:
			return err
		}
	}
	return t.failed
}

// transfer is a Get under way.
type transfer struct {
	limit  int64
	sink   func(int, []byte) error
	end    func(int, string) error
	id     int   // of the request
	base   int   // number of the request's first file
	index  int   // number of the file that comes
	count  int   // of all files
	begun  bool  // bytes of that file have come
	bytes  int64 // in all
	failed error
}

// take takes one message; over is true when all files have come, or none may come any more.
func (t *transfer) take(m *message) (over bool) {
	if m.Op != "file" || m.ID != t.id || t.base+m.Index != t.index {
		return false
	}
	t.bytes += int64(len(m.body))
	switch {
	case t.bytes > t.limit:
		t.failed = fmt.Errorf("%w: files of more than %d bytes", errProtocol, t.limit)
	case m.End:
		t.failed = t.end(t.index, excerpt.Middle(m.errorText(), noteBytes))
		t.index, t.begun = t.index+1, false
	default:
		t.failed, t.begun = t.sink(t.index, m.body), true
	}
	return t.failed != nil || t.index == t.count
}

// interrupted gives up the file that was half sent.
func (t *transfer) interrupted() {
	if t.begun {
		t.failed = t.end(t.index, "the interpreter ended while it was read")
		t.index, t.begun = t.index+1, false
	}
}

// Put writes a file into /work of the living interpreter, which sees it at once.
// The problem, if not "", is what the guest says against it.
func (k *Kernel) Put(ctx context.Context, path string, content io.Reader) (problem string, err error) {
	k.enter()
	defer k.leave()
	defer k.rest()
	if err := k.awake(); err != nil {
		return "", err
	}
	if err := k.restart(ctx); err != nil {
		return "", err
	}
	k.turn++
	if err := k.sendFile(path, content); err != nil {
		return "", err
	}
	err = k.converse(ctx, transferDeadline, func(m *message) bool {
		problem = excerpt.Middle(m.errorText(), noteBytes)
		return m.Op == "put" && m.ID == k.turn
	})
	return problem, err
}

// Remove removes files of /work of the living interpreter, and folders that are empty then. It returns how many are
// still there by what the guest says.
func (k *Kernel) Remove(ctx context.Context, paths []string) (kept int, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	defer k.rest()
	if err := k.awake(); err != nil {
		return 0, err
	}
	if err := k.restart(ctx); err != nil {
		return 0, err
	}
	k.turn++
	gone := make([]string, len(paths))
	for i, p := range paths {
		gone[i] = pathTo(p)
	}
	if err := k.say(map[string]any{"op": "remove", "id": k.turn, "paths": gone}, nil); err != nil {
		return 0, err
	}
	err = k.converse(ctx, transferDeadline, func(m *message) bool {
		kept = min(len(m.Kept), len(paths))
		return m.Op == "remove" && m.ID == k.turn
	})
	return kept, err
}

// putChunk is how much of a file one message carries.
const putChunk = 1 << 20

func (k *Kernel) sendFile(path string, content io.Reader) error {
	buffer := make([]byte, putChunk)
	for first := true; ; first = false {
		n, err := io.ReadFull(content, buffer)
		last := err == io.EOF || err == io.ErrUnexpectedEOF
		if err != nil && !last {
			return fmt.Errorf("read the upload: %w", err)
		}
		header := map[string]any{"op": "put", "id": k.turn, "path": pathTo(path), "first": first, "last": last}
		if err := k.say(header, buffer[:n]); err != nil {
			return err
		}
		if last {
			return nil
		}
	}
}
