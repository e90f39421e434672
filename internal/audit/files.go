package audit

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
)

// Names in the folder. Files are named by their first line, so that their order is that of their names.
const (
	lockName = "lock"
	nameForm = "audit-%020d.jsonl"
)

var nameShape = regexp.MustCompile(`^audit-[0-9]{20}\.jsonl$`)

func fileName(seq uint64) string { return fmt.Sprintf(nameForm, seq) }

// files returns the names of the files of a log, oldest first.
func files(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if nameShape.MatchString(e.Name()) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// An extent is what a file of a log has.
type extent struct {
	last  state // after its last line that is one
	whole int64 // bytes of its finished lines
	size  int64
}

// scan returns the extent of f. A changed line is no reason not to go on: that is for Verify to say.
func scan(f *os.File) (extent, error) {
	info, err := f.Stat()
	if err != nil {
		return extent{}, err
	}
	e := extent{size: info.Size()}
	for _, from := range []int64{max(0, e.size-tailBytes), 0} { // the end is enough, but for a log that somebody has changed
		if e.last, e.whole, err = scanFrom(f, from, e.size); err != nil || e.last != (state{}) || from == 0 {
			break
		}
	}
	return e, err
}

// tailBytes is how much of the end of a file has at least one whole line.
const tailBytes = 2 * maxLine

func scanFrom(f *os.File, from, size int64) (last state, whole int64, err error) {
	at := from
	err = lines(io.NewSectionReader(f, from, size-from), func(line []byte, finished bool) error {
		at += int64(len(line))
		if !finished {
			return nil
		}
		at++
		whole = at
		if _, s, err := decode(line); err == nil {
			last = s
		}
		return nil
	})
	return last, whole, err
}

func lastOf(path string) (_ state, err error) {
	f, err := os.Open(path)
	if err != nil {
		return state{}, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	e, err := scan(f)
	return e.last, err
}

// lines calls visit for each line of r without its line feed; finished says that it had one. A line longer than
// maxLine, which nobody here has written, comes in pieces, of which at most the last is finished.
func lines(r io.Reader, visit func(line []byte, finished bool) error) error {
	b := bufio.NewReaderSize(r, maxLine)
	for {
		line, err := b.ReadSlice('\n')
		switch {
		case err == nil:
			if err := visit(line[:len(line)-1], true); err != nil {
				return err
			}
		case errors.Is(err, bufio.ErrBufferFull):
			if err := visit(line, false); err != nil {
				return err
			}
		case errors.Is(err, io.EOF):
			if len(line) > 0 {
				return visit(line, false)
			}
			return nil
		default:
			return err
		}
	}
}
