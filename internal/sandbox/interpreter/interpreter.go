// Package interpreter unpacks the embedded CPython, and the programs that run
// in a guest, into a folder on disk, once.
//
// [Open] finds the folder or makes it; it may be called by any number of
// processes at once. The folder is complete or absent: it is built beside its
// place, checked against the list that is compiled into this binary, byte-
// compiled, flushed to disk and then renamed. Its name carries the Python version,
// a digest of the content and a number, so other versions, and a new copy of one
// that was damaged, stand beside it while guests still have the old one mounted.
//
// # Trust
//
// The embedded files are checked by SHA-256 before any of them runs, and the
// interpreter then runs on the host only to compile them, with an empty
// environment. The data directory belongs to the user who runs this program:
// [Open] looks for accidents (a file changed, lost or added), by what the file
// system tells of each file, not for someone who may write there and hides it.
// [Interpreter.Verify] reads everything.
//
// # Failure
//
// A full disk, a file system without write or execute permission and a machine
// without the GNU C library are a fault of kind Unsupported whose message says
// what to do. Nothing half done is used, ever; what a killed process has left
// is removed by the next one.
package interpreter

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// An Interpreter is an unpacked CPython with the guest programs. It does not
// change once it is open, and may be used by several goroutines.
type Interpreter struct {
	Home     string // prefix folder, has bin/python3; a guest sees it at sandbox.GuestPython
	Programs string // the guest programs with their bytecode; a guest sees it at sandbox.GuestPrograms
	Version  string // of CPython, "3.14.6"
	Key      string // 64 hex digits that tell interpreter and programs from all others

	// Warnings are for the operator's log: a damaged folder that was replaced,
	// folders that nobody uses and that could not be removed.
	Warnings []error

	root   string   // the folder that holds Home and Programs
	want   *content // what it must hold
	marker *os.File // shared lock: nobody removes root while a copy of it is open
}

// Open returns the interpreter that this binary embeds, unpacked in dir together
// with programs. It takes a few milliseconds when it is there, else one to
// three seconds; then only one process works and the others wait, until ctx
// ends. dir is made if it does not exist, and belongs to this package alone. It
// may be read-only if the interpreter is already there. Folders of other versions
// that no process holds are removed. The caller closes the interpreter once no
// guest uses it any more; see also Hold.
func Open(ctx context.Context, dir string, programs fs.FS) (*Interpreter, error) {
	dir, err := filepath.Abs(dir) // what runs in the folder runs with another working directory
	if err != nil {
		return nil, fmt.Errorf("interpreter folder: %w", err)
	}
	want, err := wanted(programs)
	if err != nil {
		return nil, err
	}
	s := store{dir: dir, want: want}
	in, damage := s.find()
	if in == nil {
		if in, err = s.install(ctx, damage); err != nil {
			return nil, err
		}
	}
	if damage != nil {
		in.Warnings = append(in.Warnings, fmt.Errorf("an unpacked interpreter is not used: %w", damage))
	}
	in.Warnings = append(in.Warnings, s.sweep(ctx, in.root)...)
	return in, nil
}

// Executable returns the path of the Python program on the host.
func (in *Interpreter) Executable() string { return filepath.Join(in.Home, "bin", "python3") }

// Close lets go of the folder: from now on another process may remove it.
func (in *Interpreter) Close() error { return in.marker.Close() }

// Hold returns a file that keeps the folder from being removed for as long as
// it, or a copy that a child process inherited, is open. It is for whoever
// looks after guests that outlive this process. The caller closes it.
func (in *Interpreter) Hold() (*os.File, error) {
	fd, err := unix.FcntlInt(in.marker.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("hold interpreter: %w", err)
	}
	return os.NewFile(uintptr(fd), in.marker.Name()), nil
}

// Verify reads every file and returns an error that names those that are not
// as they were unpacked. It takes some tenths of a second and ends early, with
// its error, when ctx ends.
func (in *Interpreter) Verify(ctx context.Context) error {
	m, err := readMarker(in.root)
	if err != nil {
		return err
	}
	sealed, err := readSealed(in.root, m)
	if err != nil {
		return err
	}
	want := in.want.byPath()
	for _, f := range sealed {
		if isBytecode(f.path) {
			want[f.path] = f
		}
	}
	d := damages{}
	err = walk(in.root, func(f found) error {
		if f.path == sealedName || f.path == markerName {
			return ctx.Err()
		}
		w, ok := want[f.path]
		if !ok {
			d.add(f.path, "does not belong there")
			return ctx.Err()
		}
		delete(want, f.path)
		if err := f.matches(w); err != nil {
			d.add(f.path, err.Error())
		}
		return ctx.Err()
	})
	if err != nil {
		return fmt.Errorf("verify interpreter: %w", err)
	}
	for path := range want {
		d.add(path, "is missing")
	}
	return d.err()
}

// maxNamed is how many damaged files an error names.
const maxNamed = 5

// damages collects what is wrong with a folder, for one bounded message.
type damages struct {
	named []error
	count int
}

func (d *damages) add(path, what string) {
	if d.count++; d.count <= maxNamed {
		d.named = append(d.named, fmt.Errorf("%s %s", path, what))
	}
}

func (d *damages) err() error {
	if d.count == 0 {
		return nil
	}
	return fmt.Errorf("%d damaged files in the unpacked interpreter: %w", d.count, errors.Join(d.named...))
}
