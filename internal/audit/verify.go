package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// A Report is what Verify has found of a log that holds.
type Report struct {
	Files, Lines int
	First, Last  uint64 // numbers of its first and last line; 0 when it has none
	Head         string // hash of the last line: keep it elsewhere, and Verify tells later whether it is still there
	Lost         int    // events that processes could not write, as later lines tell
	Torn         int    // lines that tell of an unfinished one before them
	TornBytes    int    // of an unfinished line at the end
	Known        bool   // the line with the hash that was asked for is there
}

// A BrokenError is the first place at which a log does not hold.
type BrokenError struct {
	File   string // its name in the folder
	Line   int    // in the file, from 1
	Reason string
}

// Error names the place and the reason.
func (b *BrokenError) Error() string {
	return fmt.Sprintf("%s, line %d: %s", b.File, b.Line, b.Reason)
}

// Verify checks the log in the folder dir while others may write to it. known, if not "", is the hash of a line that
// must be there. Its error is a *BrokenError, that of ctx, or of the file system. No log is an empty Report.
func Verify(ctx context.Context, dir, known string) (Report, error) {
	v := verification{known: known}
	names, err := files(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return Report{}, fmt.Errorf("read the audit log: %w", err)
	}
	for i, name := range names {
		if err := ctx.Err(); err != nil {
			return Report{}, err
		}
		if err := v.file(filepath.Join(dir, name), i == len(names)-1); err != nil {
			return Report{}, err
		}
	}
	v.report.Files, v.report.Last, v.report.Head = len(names), v.last.Seq, v.last.Hash
	if known != "" && !v.report.Known {
		return v.report, &BrokenError{File: "the whole log", Reason: "no line has the hash " + known + ": lines were taken out, or it is another log"}
	}
	return v.report, nil
}

// verification is a Verify under way.
type verification struct {
	report Report
	last   state
	known  string
}

func (v *verification) file(path string, isLast bool) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read the audit log: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return v.read(f, filepath.Base(path), isLast)
}

// read checks what stands in the file of a name.
func (v *verification) read(r io.Reader, name string, isLast bool) error {
	number := 0
	broken := func(reason string) error { return &BrokenError{File: name, Line: number, Reason: reason} }
	return lines(r, func(line []byte, finished bool) error {
		number++
		if !finished {
			if !isLast || len(line) >= maxLine {
				return broken(errNotALine.Error())
			}
			v.report.TornBytes = len(line)
			return nil
		}
		next, s, err := decode(line)
		if err != nil {
			return broken(err.Error())
		}
		if reason := v.follows(next, name, number == 1); reason != "" {
			return broken(reason)
		}
		v.count(next, s)
		return nil
	})
}

// follows returns why r cannot be the next line, "" if it can.
func (v *verification) follows(r record, name string, begins bool) string {
	switch {
	case begins && fileName(r.Seq) != name:
		return fmt.Sprintf("it has the number %d, which is not that of its file: lines before it were taken out", r.Seq)
	case v.last == (state{}) && r.Seq == 1 && r.Prev != noHash():
		return "it follows another line, but has the number 1"
	case v.last == (state{}): // older files were removed, as they are beyond the size that is kept
		return ""
	case r.Seq != v.last.Seq+1:
		return fmt.Sprintf("it has the number %d after %d: lines were taken out or put in", r.Seq, v.last.Seq)
	case r.Prev != v.last.Hash:
		return "it does not follow the line before it, which was changed or replaced"
	}
	return ""
}

func (v *verification) count(r record, s state) {
	v.last = s
	if v.report.First == 0 {
		v.report.First = r.Seq
	}
	v.report.Lines++
	v.report.Lost += r.Lost
	if r.Torn > 0 {
		v.report.Torn++
	}
	v.report.Known = v.report.Known || s.Hash == v.known
}
