package sandbox_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"runpython/internal/guesttest"
)

// mostAdded is far more than can be added until a guest is gone.
const mostAdded = 200_000

// A guest goes while somebody is still adding packages to it, file by file.
func TestCloseWhilePackagesCome(t *testing.T) {
	guest, err := guesttest.NewSetup(t).Open(t).Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(guest.Environment, "package")
	begun, ended := make(chan struct{}), make(chan error, 1)
	go func() {
		err := os.MkdirAll(folder, 0o755)
		for n := 0; err == nil && n < mostAdded; n++ {
			if n == 100 {
				close(begun)
			}
			err = os.WriteFile(filepath.Join(folder, strconv.Itoa(n)), nil, 0o644)
		}
		ended <- err
	}()
	select {
	case <-begun:
	case err := <-ended:
		t.Fatal(err)
	}
	if err := guest.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if err := <-ended; !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("adding to a guest that is gone: %v", err)
	}
	if _, err := os.Stat(guest.Environment); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the environment is still there: %v", err)
	}
}
