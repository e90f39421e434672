// Package files reads and replaces the files that whoever starts a scan names: configurations of clients, suppressions, baselines,
// the history.
//
// # Trust
//
// The name is the operator's; what is in the file may be anybody's, so what is read is bounded.
//
// # Failure
//
// Every error names the file. A file that cannot be replaced stays as it was.
package files

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Read returns the content of a file of at most so many bytes. A longer one is an error, and nothing of it is returned.
func Read(name string, most int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the file
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, err //nolint:wrapcheck // it names the file
	}
	if int64(len(text)) > most {
		return nil, fmt.Errorf("%s has more than %d bytes", name, most)
	}
	return text, nil
}

// Replace writes a file as a whole, with rights less the process's umask. Of several who do so at once one is the last, and what it
// wrote is the file.
func Replace(name string, text []byte, rights fs.FileMode) error {
	draft := name + "." + rand.Text()
	err := os.WriteFile(draft, text, rights)
	if err == nil {
		err = os.Rename(draft, name)
	}
	if err == nil {
		return nil
	}
	if left := os.Remove(draft); left != nil && !errors.Is(left, fs.ErrNotExist) {
		err = errors.Join(err, left)
	}
	return err //nolint:wrapcheck // it names the file
}
