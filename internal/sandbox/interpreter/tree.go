package interpreter

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// The two files beside pythonDir and programsDir in a complete folder.
const (
	sealedName = "files.txt" // a line for each file, bytecode included
	markerName = "complete"  // written last; see marker
)

// sealTime returns the modification time of every unpacked file. It is the same
// for all, so that a changed file shows, and in whole seconds, so that a
// folder survives being copied into an archive or a container image.
func sealTime() time.Time { return time.Unix(1_600_000_000, 0) }

// A marker is the content of the file markerName, which makes a folder complete.
type marker struct {
	key   string // of the content
	stamp string // of the tree, see stamp
	list  string // SHA-256 of the file sealedName
}

func (m marker) text() string {
	return fmt.Sprintf("key %s\nstamp %s\nlist %s\n", m.key, m.stamp, m.list)
}

// maxMarkerBytes bounds what is read of a marker that someone may have replaced.
const maxMarkerBytes = 4096

func readMarker(root string) (m marker, err error) {
	f, err := os.Open(filepath.Join(root, markerName))
	if err != nil {
		return m, err
	}
	defer f.Close()
	return parseMarker(f)
}

func parseMarker(r io.Reader) (m marker, err error) {
	text, err := io.ReadAll(io.LimitReader(r, maxMarkerBytes))
	if err != nil {
		return m, err
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch name {
		case "key":
			m.key = value
		case "stamp":
			m.stamp = value
		case "list":
			m.list = value
		}
	}
	if m.text() != string(text) {
		return marker{}, errors.New("the marker is damaged")
	}
	return m, nil
}

// readSealed returns the list that the marker of root vouches for.
func readSealed(root string, m marker) ([]file, error) {
	text, err := os.ReadFile(filepath.Join(root, sealedName))
	if err != nil {
		return nil, err
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != m.list {
		return nil, fmt.Errorf("%s is not the list that was written when the interpreter was unpacked", sealedName)
	}
	_, files, err := parseList(string(text))
	return files, err
}

// A found is a file, or anything else that is not a folder, in a tree.
type found struct {
	path string // with slashes, relative to the tree
	host string
	info fs.FileInfo
}

// walk calls visit for all that is in root but the folders, in a fixed order.
func walk(root string, visit func(found) error) error {
	return walkDir(root, "", visit)
}

func walkDir(host, rel string, visit func(found) error) error {
	entries, err := os.ReadDir(host)
	if err != nil {
		return err
	}
	for _, e := range entries {
		child, path := host+"/"+e.Name(), rel+e.Name()
		if e.IsDir() {
			err = walkDir(child, path+"/", visit)
		} else {
			var info fs.FileInfo
			if info, err = e.Info(); err == nil {
				err = visit(found{path: path, host: child, info: info})
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// stamp digests what the file system tells of each file in root: enough to
// notice that one was changed, lost or added, without reading any.
func stamp(root string) (string, error) {
	h := sha256.New()
	var line []byte
	err := walk(root, func(f found) error {
		if f.path == markerName {
			return nil
		}
		line = append(append(line[:0], f.path...), 0)
		line = append(strconv.AppendUint(line, uint64(f.info.Mode()), 8), ' ')
		line = append(strconv.AppendInt(line, f.info.Size(), 10), ' ')
		if f.info.Mode().IsRegular() { // a link cannot be given a time everywhere
			line = strconv.AppendInt(line, f.info.ModTime().UnixNano(), 10)
		}
		h.Write(append(line, '\n'))
		return nil
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

// seal gives every file in root its final mode and time and returns the list of
// all of them, in which modes come from want, or are read-only for bytecode.
func seal(root string, want map[string]file) ([]file, error) {
	var files []file
	err := walk(root, func(f found) error {
		w, ok := want[f.path]
		switch {
		case !ok && isBytecode(f.path):
			sum, err := hashFile(f.host)
			if err != nil {
				return err
			}
			w = file{path: f.path, sum: sum, mode: 0o444, size: f.info.Size()}
		case !ok:
			return fmt.Errorf("%s was made while compiling", f.path)
		}
		files = append(files, w)
		if w.target != "" {
			return nil
		}
		return settle(f.host, w.mode)
	})
	return files, errors.Join(err, openDirs(root))
}

// openDirs makes every folder in root readable for the user of a guest, who is
// not its owner, whatever the umask was.
func openDirs(root string) error {
	r, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer r.Close()
	return fs.WalkDir(r.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		return r.Chmod(name, 0o755)
	})
}

// settle gives a file its final mode and time.
func settle(name string, mode fs.FileMode) error {
	if err := os.Chmod(name, mode); err != nil {
		return err
	}
	return os.Chtimes(name, sealTime(), sealTime())
}

// matches returns how f differs from w in content, or nil. The mode of a file
// is the business of stamp.
func (f found) matches(w file) error {
	if w.target != "" {
		target, err := os.Readlink(f.host)
		if err == nil && target != w.target {
			err = fmt.Errorf("links to %q instead of %q", target, w.target)
		}
		return err
	}
	if !f.info.Mode().IsRegular() {
		return errors.New("is not a regular file")
	}
	if f.info.Size() != w.size {
		return fmt.Errorf("has %d bytes instead of %d", f.info.Size(), w.size)
	}
	sum, err := hashFile(f.host)
	if err == nil && sum != w.sum {
		err = errors.New("has another content")
	}
	return err
}

func hashFile(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
