// Program mklist writes the lists of the files of the embedded CPython: which
// of them are unpacked, and the SHA-256 that each must have.
//
// # Trust
//
// It runs on a developer's machine, by "make generate", and takes the module as
// the checksum database vouches for it. From then on the committed lists are
// the measure, also of the module.
//
// # Failure
//
// A file that is listed but missing, or of another size, ends the program.
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

const module = "github.com/kluctl/go-embed-python"

// leftOut are the files that a guest has no use for: Tk and what needs it (it
// would need an X server), the interpreter as a library for other programs,
// CPython's own test modules, and scripts whose first line names the machine on
// which CPython was built.
var leftOut = regexp.MustCompile(`^(` + strings.Join([]string{
	`bin/(idle|pip|pydoc)[^/]*`,
	`bin/python3[^/]*-config`,
	`lib/lib(python|tcl)[^/]*`,
	`lib/(itcl|tcl|thread|tk)[0-9][^/]*/.*`,
	`lib/python3\.[0-9]+/(config-[^/]*|idlelib|tkinter|turtledemo)/.*`,
	`lib/python3\.[0-9]+/turtle\.py`,
	`lib/python3\.[0-9]+/lib-dynload/(_ctypes_test|_test[a-z]*|_tkinter)\.[^/]*`,
}, "|") + `)$`)

var pythonVersion = regexp.MustCompile(`(?m)^PYTHON_VERSION="([0-9]+\.[0-9]+\.[0-9]+)"$`)

// An entry is one file in the module's own list.
type entry struct {
	Name       string
	Size       int64
	Mode       fs.FileMode `json:"perm"`
	Symlink    string
	Compressed bool
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: mklist FOLDER")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "mklist:", err)
		os.Exit(1)
	}
}

func run(folder string) error {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}} {{.Version}}", module).Output()
	if err != nil {
		return fmt.Errorf("find module %s: %w", module, err)
	}
	dir, version, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	for _, arch := range []string{"amd64", "arm64"} {
		text, err := list(filepath.Join(dir, "python", "internal", "data"), arch, version)
		if err != nil {
			return fmt.Errorf("list of %s: %w", arch, err)
		}
		if err := os.WriteFile(filepath.Join(folder, "linux-"+arch+".txt"), text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// list returns the list for one architecture, in the format that package
// interpreter reads.
func list(data, arch, module string) ([]byte, error) {
	python, err := os.ReadFile(filepath.Join(data, "PYTHON_VERSION"))
	if err != nil {
		return nil, err
	}
	number := pythonVersion.FindSubmatch(python)
	if number == nil {
		return nil, fmt.Errorf("no version in %q", python)
	}
	folder := filepath.Join(data, "linux-"+arch)
	text, err := os.ReadFile(filepath.Join(folder, "files.json"))
	if err != nil {
		return nil, err
	}
	var index struct{ Files []entry }
	if err := json.Unmarshal(text, &index); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "# CPython for linux/%s as in go-embed-python %s; written by mklist\n", arch, module)
	fmt.Fprintf(&b, "version %s\n", number[1])
	for _, e := range index.Files {
		if err := line(&b, folder, e); err != nil {
			return nil, fmt.Errorf("%s: %w", e.Name, err)
		}
	}
	return b.Bytes(), nil
}

// line writes the line of e: nothing for folders and what is left out.
func line(b *bytes.Buffer, folder string, e entry) error {
	switch {
	case e.Mode.IsDir() || leftOut.MatchString(e.Name):
		return nil
	case e.Mode.Type() == fs.ModeSymlink:
		if path.Base(e.Symlink) != e.Symlink {
			return fmt.Errorf("symbolic link to another folder, %s", e.Symlink)
		}
		fmt.Fprintf(b, "link %s %s\n", e.Symlink, e.Name)
		return nil
	case !e.Mode.IsRegular():
		return fmt.Errorf("neither file nor folder: %s", e.Mode)
	}
	content, err := read(filepath.Join(folder, filepath.FromSlash(e.Name)), e.Compressed)
	if err != nil {
		return err
	}
	if int64(len(content)) != e.Size {
		return fmt.Errorf("%d bytes, the module's list says %d", len(content), e.Size)
	}
	mode := 0o444
	if e.Mode&0o111 != 0 {
		mode = 0o555
	}
	fmt.Fprintf(b, "file %x %o %d %s\n", sha256.Sum256(content), mode, e.Size, e.Name)
	return nil
}

func read(name string, compressed bool) ([]byte, error) {
	if !compressed {
		return os.ReadFile(name)
	}
	f, err := os.Open(name + ".gz")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}
