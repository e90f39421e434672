package interpreter

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

//go:generate go run ./mklist lists

// The folders in an unpacked one.
const (
	pythonDir   = "python"
	programsDir = "programs"
)

// layout is part of the key; it changes whenever the same files are unpacked in
// another way, so that a folder of the old layout is not taken for a new one.
const layout = "runpython interpreter, layout 1\n"

// What the guest programs may be, all together; they are ours, so more than
// this is a mistake in what was embedded.
const (
	maxPrograms      = 1000
	maxProgramsBytes = 64 << 20
)

// A file is one that a complete folder holds.
type file struct {
	path   string // with slashes, relative to the folder
	target string // of a symbolic link, a name in the same folder; "" is a regular file
	sum    string // SHA-256 in hex
	mode   fs.FileMode
	size   int64
}

// content is what an unpacked folder must hold, bytecode apart.
type content struct {
	version  string
	key      string
	python   []file // paths begin with pythonDir
	programs []file // paths begin with programsDir
	source   fs.FS  // of the programs
}

// wanted returns the content that this binary stands for.
func wanted(programs fs.FS) (*content, error) {
	version, python, err := parseList(embedded)
	if err != nil {
		return nil, fmt.Errorf("embedded list of CPython's files: %w", err)
	}
	c := &content{version: version, python: python, source: programs}
	if c.programs, err = listPrograms(programs); err != nil {
		return nil, fmt.Errorf("embedded guest programs: %w", err)
	}
	h := sha256.New()
	h.Write([]byte(layout + embedded))
	for i, f := range python {
		python[i].path = path.Join(pythonDir, f.path)
	}
	for _, f := range c.programs {
		h.Write([]byte(f.line()))
	}
	c.key = hex.EncodeToString(h.Sum(nil))
	return c, nil
}

// byPath returns all files by their path in the folder.
func (c *content) byPath() map[string]file {
	m := make(map[string]file, len(c.python)+len(c.programs))
	for _, list := range [][]file{c.python, c.programs} {
		for _, f := range list {
			m[f.path] = f
		}
	}
	return m
}

// listPrograms returns the regular files of fsys in a fixed order.
func listPrograms(fsys fs.FS) ([]file, error) {
	var files []file
	var bytes int64
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == "__pycache__":
			return fs.SkipDir // of whoever ran a program from the source tree
		case d.IsDir():
			return nil
		case !d.Type().IsRegular():
			return fmt.Errorf("%s is not a regular file", name)
		}
		text, err := fs.ReadFile(fsys, name)
		if err != nil {
			return err
		}
		if bytes += int64(len(text)); bytes > maxProgramsBytes || len(files) == maxPrograms {
			return fmt.Errorf("more than %d files or %d bytes", maxPrograms, maxProgramsBytes)
		}
		sum := sha256.Sum256(text)
		files = append(files, file{
			path: path.Join(programsDir, name), sum: hex.EncodeToString(sum[:]), mode: 0o444, size: int64(len(text)),
		})
		return nil
	})
	return files, err
}

// line returns f as a line of a list, the form that parseList reads.
func (f file) line() string {
	if f.target != "" {
		return fmt.Sprintf("link %s %s\n", f.target, f.path)
	}
	return fmt.Sprintf("file %s %o %d %s\n", f.sum, f.mode, f.size, f.path)
}

// parseList reads lines as file.line makes them, a line with the version, and
// comments.
func parseList(text string) (version string, files []file, err error) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		kind, rest, _ := strings.Cut(line, " ")
		var f file
		switch kind {
		case "#":
			continue
		case "version":
			version = rest
			continue
		case "file":
			f, err = parseFile(rest)
		case "link":
			f.target, f.path, _ = strings.Cut(rest, " ")
			f.mode = fs.ModeSymlink
		default:
			err = errors.New("unknown kind of line")
		}
		if err == nil && (!fs.ValidPath(f.path) || path.Base(f.target) != f.target && f.target != "") {
			err = errors.New("path leaves the folder")
		}
		if err != nil {
			return "", nil, fmt.Errorf("line %q: %w", line, err)
		}
		files = append(files, f)
	}
	return version, files, nil
}

func parseFile(rest string) (f file, err error) {
	parts := strings.SplitN(rest, " ", 4)
	if len(parts) != 4 || len(parts[0]) != hex.EncodedLen(sha256.Size) {
		return f, errors.New("not a digest, a mode, a size and a path")
	}
	mode, err := strconv.ParseUint(parts[1], 8, 32)
	if err != nil {
		return f, err
	}
	size, err := strconv.ParseInt(parts[2], 10, 64)
	if err != nil {
		return f, err
	}
	return file{path: parts[3], sum: parts[0], mode: fs.FileMode(mode) & fs.ModePerm, size: size}, nil
}

// isBytecode reports whether the file at path is made by the interpreter itself.
func isBytecode(name string) bool {
	return path.Base(path.Dir(name)) == "__pycache__" && strings.HasSuffix(name, ".pyc")
}
