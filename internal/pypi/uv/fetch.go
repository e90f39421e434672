package uv

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"runpython/internal/fault"
	"runpython/internal/pypi/flock"
)

// PinnedVersion is the uv that is fetched where there is none.
const PinnedVersion = "0.13.9"

// A pinned is the wheel of uv for one architecture.
type pinned struct{ file, sha256 string }

// pinnedWheels are by the name that Go has for the architecture.
var pinnedWheels = map[string]pinned{
	"amd64": {
		"uv-0.13.9-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
		"d7f459fe4fd247d830351c75686d3996ace3c6f3f728eb0e85a30b7ada0cef19",
	},
	"arm64": {
		"uv-0.13.9-py3-none-manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64.whl",
		"5435c5ce14a56431208ca0996416d310f1598e8c2c8ba707688985a16bb82dbe",
	},
}

// Bounds of fetching uv.
const (
	maxWheel   = 64 << 20
	maxProgram = 256 << 20
	maxFiles   = 1000
)

// fetched returns the path of the pinned uv in the data folder, which it fetches if it is
// not there. Of several processes one fetches and the others wait.
func fetched(ctx context.Context, c Config) (string, error) {
	dir := filepath.Join(c.Data, "uv-"+PinnedVersion)
	path := filepath.Join(dir, "uv")
	if _, err := os.Lstat(path); err == nil {
		return path, nil
	}
	want, ok := pinnedWheels[runtime.GOARCH]
	if !ok {
		return "", unavailable(fmt.Errorf("no wheel of uv is pinned for %s", runtime.GOARCH))
	}
	lock, err := flock.Open(ctx, filepath.Join(c.Data, "lock"))
	if err != nil {
		return "", err
	}
	defer lock.Close() // unlocks
	if _, err := os.Lstat(path); err == nil {
		return path, nil
	}
	stage := filepath.Join(c.Data, "new") // ours: we have the lock
	if err := os.RemoveAll(stage); err != nil {
		return "", err
	}
	if err := os.Mkdir(stage, 0o700); err != nil {
		return "", err
	}
	if err := fetchInto(ctx, c, want, stage); err != nil {
		return "", unavailable(errors.Join(err, os.RemoveAll(stage)))
	}
	if err := os.Rename(stage, dir); err != nil {
		return "", err
	}
	return path, nil
}

func unavailable(err error) error {
	return fault.New(fault.Unsupported, err, "packages cannot be installed: uv is not on PATH and could not be fetched from the package index; install uv, or name it with --uv")
}

// fetchInto puts the program into dir.
func fetchInto(ctx context.Context, c Config, want pinned, dir string) error {
	address, err := locate(ctx, c, want)
	if err != nil {
		return err
	}
	var archive bytes.Buffer
	if _, err := c.Files.Get(ctx, address, "", &archive, maxWheel); err != nil {
		return fmt.Errorf("fetch %s: %w", want.file, err)
	}
	sum := sha256.Sum256(archive.Bytes())
	if hex.EncodeToString(sum[:]) != want.sha256 {
		return fmt.Errorf("the digest of %s is not the one of uv %s", want.file, PinnedVersion)
	}
	return extract(archive.Bytes(), dir)
}

// locate returns where the wheel is: in a folder of wheels, for which no index is asked, or where the index says.
func locate(ctx context.Context, c Config, want pinned) (string, error) {
	for _, dir := range c.Sources.Folders() {
		name := filepath.Join(dir, want.file)
		if info, err := os.Stat(name); err == nil && info.Mode().IsRegular() {
			return (&url.URL{Scheme: "file", Path: name}).String(), nil
		}
	}
	list, err := c.Files.List(ctx, "uv")
	if err != nil {
		return "", err
	}
	for _, f := range list {
		if f.File == want.file {
			return f.URL, nil
		}
	}
	return "", fmt.Errorf("the index has no %s", want.file)
}

// extract takes the program out of the wheel. Its digest was right, so this looks for
// accidents only.
func extract(archive []byte, dir string) error {
	z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
	if err != nil {
		return err
	}
	i := slices.IndexFunc(z.File[:min(len(z.File), maxFiles)], func(f *zip.File) bool {
		return f.Name == "uv-"+PinnedVersion+".data/scripts/uv"
	})
	if i < 0 {
		return fs.ErrNotExist
	}
	from, err := z.File[i].Open()
	if err != nil {
		return err
	}
	defer from.Close()
	to, err := os.OpenFile(filepath.Join(dir, "uv"), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o700)
	if err != nil {
		return err
	}
	n, err := io.Copy(to, io.LimitReader(from, maxProgram+1))
	if n > maxProgram {
		err = errors.Join(err, fmt.Errorf("uv has more than %d bytes", maxProgram))
	}
	return errors.Join(err, to.Sync(), to.Close())
}
