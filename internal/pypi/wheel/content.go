package wheel

import (
	"cmp"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"runpython/internal/pattern"
)

// Content is what an unpacked wheel holds.
type Content struct {
	Pin     Pin      `json:"pin"`
	Bytes   int64    `json:"bytes"`   // of all files, bytecode apart
	Files   []File   `json:"files"`   // sorted by path, bytecode apart
	Tops    []string `json:"tops"`    // first elements of Files, sorted, each once
	Imports []string `json:"imports"` // names that "import" finds because of it, sorted
}

// A File is one file of an unpacked wheel.
type File struct {
	Path string `json:"path"` // with slashes
	Sum  string `json:"sum"`  // SHA-256 of what was written, in the form of RECORD
}

func (c *Content) add(path string, s sum) { c.Files = append(c.Files, File{path, s.text()}) }

// finish sorts the files and sums them up.
func (c *Content) finish() Content {
	slices.SortFunc(c.Files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	for _, f := range c.Files {
		top, rest, inner := strings.Cut(f.Path, "/")
		c.Tops = append(c.Tops, top)
		if name := importName(top, rest, inner); name != "" {
			c.Imports = append(c.Imports, name)
		}
	}
	slices.Sort(c.Tops)
	c.Tops = slices.Compact(c.Tops)
	slices.Sort(c.Imports)
	c.Imports = slices.Compact(c.Imports)
	return *c
}

var module = pattern.New(`^([A-Za-z_][A-Za-z0-9_]*)(?:\.py|(?:\.[A-Za-z0-9_-]+)?\.so)$`)
var folder = pattern.New(`^[A-Za-z_][A-Za-z0-9_]*$`)

// importName returns the name by which a file, or the folder that it is in, is
// imported, or "".
func importName(top, rest string, inner bool) string {
	if !inner {
		if m := module().FindStringSubmatch(top); m != nil {
			return m[1]
		}
		return ""
	}
	if !folder().MatchString(top) || !module().MatchString(path.Base(rest)) || top == "bin" || top == "include" || top == "share" {
		return ""
	}
	return top
}

// Verify reads the files of c in dir and returns a BadError that names the first one
// which is not as it was unpacked.
func (c *Content) Verify(dir string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	for _, f := range c.Files {
		sum := newSum()
		file, err := root.Open(f.Path)
		if err != nil {
			return bad("%.80q: %v", f.Path, err)
		}
		_, err = io.Copy(sum, file)
		_ = file.Close() // only read
		if err != nil {
			return err
		}
		if sum.text() != f.Sum {
			return bad("%.80q was changed", f.Path)
		}
	}
	return nil
}
