package indextest

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"runpython/internal/pypi/uv"
)

// UVVariable names a uv for tests.
const UVVariable = "RUNPYTHON_TEST_UV"

// UV returns the path of a real uv: the one that UVVariable names, the one on PATH, or
// the pinned one, which pip fetches once.
func UV(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("uv is left out of -short tests")
	}
	path, err := program()
	if err != nil {
		t.Skipf("no uv: it is not on PATH, %s does not name one, and pip could not fetch it: %v", UVVariable, err)
	}
	return path
}

var program = sync.OnceValues(func() (string, error) {
	if path := os.Getenv(UVVariable); path != "" {
		return path, nil
	}
	if path, err := exec.LookPath("uv"); err == nil {
		return path, nil
	}
	wheel, err := uvWheel()
	if err != nil {
		return "", err
	}
	path := filepath.Join(filepath.Dir(wheel), "uv")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	z, err := zip.OpenReader(wheel)
	if err != nil {
		return "", err
	}
	defer func() { _ = z.Close() }() // only read
	from, err := z.Open("uv-" + uv.PinnedVersion + ".data/scripts/uv")
	if err != nil {
		return "", err
	}
	defer func() { _ = from.Close() }() // only read
	to, err := os.CreateTemp(filepath.Dir(wheel), "new-")
	if err != nil {
		return "", err
	}
	_, err = io.Copy(to, from)
	return path, errors.Join(err, to.Chmod(0o755), to.Close(), os.Rename(to.Name(), path))
})

// UVWheel returns the path of the wheel of the pinned uv, or skips the test.
func UVWheel(t testing.TB) string {
	t.Helper()
	if testing.Short() {
		t.Skip("uv is left out of -short tests")
	}
	path, err := uvWheel()
	if err != nil {
		t.Skipf("no wheel of uv %s: %v", uv.PinnedVersion, err)
	}
	return path
}

var uvWheel = sync.OnceValues(func() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil {
		base = os.TempDir()
	}
	dir := filepath.Join(base, "runpython-test", "uv-"+uv.PinnedVersion)
	pattern := filepath.Join(dir, "uv-*.whl")
	if found, err := filepath.Glob(pattern); err == nil && len(found) == 1 {
		return found[0], nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	cmd := exec.Command("python3", "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:", "--dest", dir, "uv=="+uv.PinnedVersion)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("pip: %w: %s", err, strings.TrimSpace(string(out)))
	}
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) != 1 {
		return "", errors.Join(err, fmt.Errorf("pip left %d wheels", len(found)))
	}
	return found[0], nil
})
