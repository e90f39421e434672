// Package input reads the files that whoever starts a scan names: configurations of clients, suppressions, baselines.
//
// # Trust
//
// The name is the operator's; what is in the file may be anybody's, so its length is bounded.
//
// # Failure
//
// Every error names the file.
package input

import (
	"fmt"
	"io"
	"os"
)

// File returns the content of a file of at most so many bytes. A longer one is an error, and nothing of it is returned.
func File(name string, most int64) ([]byte, error) {
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
