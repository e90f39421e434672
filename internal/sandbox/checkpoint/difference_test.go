package checkpoint

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
)

// FuzzDecode: records of any kind are read or refused, and never make more than they may.
func FuzzDecode(f *testing.F) {
	dir := f.TempDir()
	for _, name := range Files() {
		if err := os.WriteFile(filepath.Join(dir, name), bytes.Repeat([]byte(name), 3000), 0o600); err != nil {
			f.Fatal(err)
		}
	}
	b, err := openBase(dir)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = b.close() })
	f.Add([]byte{recordZero, 5, recordCopied, 1, 2, 3, recordLiteral, 2, 'a', 'b', recordEnd})
	f.Add([]byte{recordCopied, 9, 0, 1})
	f.Add([]byte{recordZero, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1})
	f.Add([]byte{7, 1})
	const most = 10_000
	f.Fuzz(func(t *testing.T, records []byte) {
		var made bytes.Buffer
		err := newDecoder(bytes.NewReader(records), b).decode(&made, most)
		if made.Len() > most {
			t.Errorf("%d bytes; want %d at most", made.Len(), most)
		}
		if err != nil && !errors.Is(err, errRecords) && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) && err.Error() != "binary: varint overflows a 64-bit integer" {
			t.Errorf("error %v", err)
		}
	})
}
