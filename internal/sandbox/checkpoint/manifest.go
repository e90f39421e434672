package checkpoint

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
)

// The names of what is in the folder of a checkpoint.
const (
	manifestName   = "manifest"
	differenceName = "difference"
	baseName       = "base"
	uploadsName    = "uploads"
)

// format is that of the folder; a checkpoint of another one is not used.
const format = 1

// manifestBytes bounds the manifest, whose longest part is the note.
const manifestBytes = 16 << 20

// Files are those of an image, as gVisor names them: the state of its kernel, where the pages of the memory
// belong, the pages.
func Files() []string { return []string{"checkpoint.img", "pages_meta.img", "pages.img"} }

// A Meta says what an image is, in the words of whoever made it.
type Meta struct {
	// Key changes with anything that the image depends on: it is of no use under another one.
	Key string `json:"key"`
	// Origin is JSON about the guest that Key is made of, Note what its owner wants back, 8 MiB at most.
	Origin json.RawMessage `json:"origin,omitempty"`
	Note   []byte          `json:"note,omitempty"`
}

// A manifest is the file of that name.
type manifest struct {
	Format int `json:"format"`
	Meta   `json:"meta"`
	Files  []file `json:"files"` // of the image, in the order of the difference
	Base   []file `json:"base"`  // of the base, none without one
	Packed file   `json:"packed"`
}

// A file is one that has to be what it was.
type file struct {
	Name  string `json:"name"`
	Bytes int64  `json:"bytes"`
	// Sum is the CRC-32C of the content: processors make it faster than a disk reads, and it is to notice
	// accidents, not attacks. It is 0 for files of a base, of which it is enough that the image comes out right.
	Sum uint32 `json:"sum,omitempty"`
}

func castagnoli() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// An UnusableError says why a checkpoint cannot be used: it never will be, and nothing has been done with it.
type UnusableError struct {
	Reason string // a clause for whoever misses what was in it, without names of files
	cause  error
}

// Unusable returns an UnusableError; cause may be nil.
func Unusable(reason string, cause error) *UnusableError { return &UnusableError{reason, cause} }

// Error says the reason and what is behind it.
func (e *UnusableError) Error() string {
	if e.cause == nil {
		return "the checkpoint cannot be used: " + e.Reason
	}
	return "the checkpoint cannot be used: " + e.Reason + ": " + e.cause.Error()
}

// Unwrap returns the cause.
func (e *UnusableError) Unwrap() error { return e.cause }

func damaged(cause error) *UnusableError { return Unusable("it is damaged on the disk", cause) }

// encode returns the text of the manifest.
func (m manifest) encode() ([]byte, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("manifest of a checkpoint: %w", err)
	}
	return fmt.Appendf(text, "\n%08x\n", crc32.Checksum(text, castagnoli())), nil
}

// readManifest reads and checks the manifest of the folder dir.
func readManifest(dir string) (*manifest, error) {
	f, err := os.Open(filepath.Join(dir, manifestName))
	if errors.Is(err, os.ErrNotExist) {
		return nil, Unusable("it is not there any more", err)
	}
	if err != nil {
		return nil, fmt.Errorf("manifest of a checkpoint: %w", err)
	}
	defer func() { _ = f.Close() }() // only read from
	data, err := io.ReadAll(io.LimitReader(f, manifestBytes+1))
	if err != nil {
		return nil, damaged(err)
	}
	text, sum, _ := bytes.Cut(data, []byte("\n"))
	if string(sum) != fmt.Sprintf("%08x\n", crc32.Checksum(text, castagnoli())) {
		return nil, damaged(errors.New("its manifest has another checksum"))
	}
	var m manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return nil, damaged(err)
	}
	if m.Format != format {
		return nil, Unusable("another version of this program made it", nil)
	}
	return &m, nil
}
