package kernel

import (
	"context"
	"fmt"
	"io"
	"strings"
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
		report.Changed = append(report.Changed, FileEntry{Path: path, Size: e.size, Kind: e.kind, Stamp: cut(e.stamp, noteBytes)})
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

// Get reads files of /work, each at most limit bytes. sink gets the bytes of each
// file in order; after its last byte, end gets the reason why a file is not whole, or "".
// An error of sink or end is returned, after the rest was read and dropped.
func (k *Kernel) Get(ctx context.Context, paths []string, limit int64, sink func(index int, data []byte) error, end func(index int, problem string) error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.lost {
		return fmt.Errorf("guest %s has ended", k.guest.ID)
	}
	k.wakeUp()
	defer k.rest()
	k.turn++
	wanted := make([]string, len(paths))
	for i, p := range paths {
		wanted[i] = pathTo(p)
	}
	if err := k.wire.send(map[string]any{"op": "get", "id": k.turn, "paths": wanted, "limit": limit}, nil); err != nil {
		k.guest.Kill()
		k.lost = true
		return err
	}
	return k.receiveFiles(ctx, len(paths), limit, sink, end)
}

func (k *Kernel) receiveFiles(ctx context.Context, count int, limit int64, sink func(int, []byte) error, end func(int, string) error) error {
	var failed error
	var got int64
	for index := 0; index < count; {
		m, err := k.next(context.WithoutCancel(ctx), answerDeadline) // the guest sends all in any case
		if err != nil {
			return err
		}
		if m.Op != "file" || m.ID != k.turn || m.Index != index {
			continue
		}
		if got += int64(len(m.body)); got > limit {
			k.guest.Kill()
			k.lost = true
			return fmt.Errorf("%w: a file of more than %d bytes", errProtocol, limit)
		}
		switch {
		case failed != nil: // drop the rest
		case m.End:
			failed = end(index, cut(m.errorText(), noteBytes))
		default:
			failed = sink(index, m.body)
		}
		if m.End {
			index, got = index+1, 0
		}
	}
	return failed
}

// Put writes a file into /work of the living interpreter, which sees it at once.
// The problem, if not "", is what the guest says against it.
func (k *Kernel) Put(ctx context.Context, path string, content io.Reader) (problem string, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.lost {
		return "", fmt.Errorf("guest %s has ended", k.guest.ID)
	}
	k.wakeUp()
	defer k.rest()
	if err := k.restart(ctx); err != nil {
		return "", err
	}
	k.turn++
	if err := k.sendFile(path, content); err != nil {
		return "", err
	}
	for {
		m, err := k.next(ctx, answerDeadline)
		if err != nil {
			return "", err
		}
		if m.Op == "put" && m.ID == k.turn {
			return cut(m.errorText(), noteBytes), nil
		}
	}
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
		if err := k.wire.send(header, buffer[:n]); err != nil {
			k.guest.Kill()
			k.lost = true
			return err
		}
		if last {
			return nil
		}
	}
}
