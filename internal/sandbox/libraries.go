package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// libraryFolders are where a host keeps its C library and what else programs are linked with. On
// most hosts some of them are links to others.
var libraryFolders = []string{"/lib", "/lib64", "/usr/lib", "/usr/lib64"}

// cLibrary is the file that every library folder worth the name has.
const cLibrary = "libc.so.6"

// A system is a host as far as its libraries go: where its root is, "" for the real one, and for which
// architecture, as Go names it.
type system struct{ root, arch string }

func thisSystem() system { return system{arch: runtime.GOARCH} }

// triplet names the folder of the architecture's libraries where a distribution keeps those of
// several (Debian's multiarch), loader the program that starts all others; ABIs fix its place.
func (s system) triplet() string {
	if s.arch == "arm64" {
		return "aarch64-linux-gnu"
	}
	return "x86_64-linux-gnu"
}

func (s system) loader() string {
	if s.arch == "arm64" {
		return "/lib/ld-linux-aarch64.so.1"
	}
	return "/lib64/ld-linux-x86-64.so.2"
}

// libraries returns what the root needs for the interpreter to be linked, as layout does. With
// whole, that is all of libraryFolders, in which distributions keep programs as well. Otherwise it is
// folders of libraries alone, where the system has such.
func (s system) libraries(whole bool) ([]entry, []string) {
	entries, plain := s.show(libraryFolders)
	binds := plain
	if !whole {
		binds = s.narrow(plain)
	}
	for _, folder := range binds {
		entries = append(entries, entry{path: folder, mode: fs.ModeDir | 0o755})
	}
	return append(entries, s.loaderEntry(binds)...), binds
}

// show returns the folders of the system as entries, and those of them that are no links, to be mounted.
func (s system) show(folders []string) ([]entry, []string) {
	var entries []entry
	var binds []string
	for _, folder := range folders {
		info, err := os.Lstat(s.root + folder)
		switch {
		case err != nil: // this system does not have it
		case info.Mode()&fs.ModeSymlink != 0: // /lib → usr/lib, as most have it
			if target, err := os.Readlink(s.root + folder); err == nil {
				entries = append(entries, entry{path: folder, link: target})
			}
		case info.IsDir():
			entries = append(entries, entry{path: folder, mode: fs.ModeDir | 0o755})
			binds = append(binds, folder)
		}
	}
	return entries, binds
}

// narrow returns the folders that have libraries, locales and converters of character sets, and
// those of plain, whole, where the C library is in none of the former.
func (s system) narrow(plain []string) []string {
	var binds []string
	for _, folder := range []string{"/lib/" + s.triplet(), "/usr/lib/" + s.triplet(), "/lib64", "/usr/lib64", "/usr/lib/locale"} {
		if at := s.resolve(folder); at != "" {
			binds = append(binds, at)
		}
	}
	if !slices.ContainsFunc(binds, func(folder string) bool { return s.has(folder + "/" + cLibrary) }) {
		return plain
	}
	slices.Sort(binds) // a folder before those in it
	var outer []string
	for _, folder := range binds {
		if !within(folder, outer) {
			outer = append(outer, folder)
		}
	}
	return outer
}

// loaderEntry is the link by which programs find their loader, where no bound folder has it.
func (s system) loaderEntry(binds []string) []entry {
	folder, file := s.resolve(filepath.Dir(s.loader())), s.resolve(s.loader())
	if folder == "" || file == "" || within(folder, binds) {
		return nil
	}
	return []entry{{path: filepath.Join(folder, filepath.Base(s.loader())), link: file}}
}

func (s system) has(name string) bool {
	_, err := os.Stat(s.root + name)
	return err == nil
}

// resolve returns name without links, "" where there is nothing.
func (s system) resolve(name string) string {
	at, err := filepath.EvalSymlinks(s.root + name)
	if err != nil {
		return ""
	}
	return strings.TrimPrefix(at, s.root)
}

// within reports whether folder is one of the folders or in one of them.
func within(folder string, folders []string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return folder == f || strings.HasPrefix(folder, f+"/") })
}

// MixedFolders returns the folders of this host that guests see whole although they hold programs as
// well as libraries, and although Config.HostTools is not set: where a distribution has no
// folder for libraries alone. On most it is empty.
func MixedFolders() []string { return thisSystem().mixed() }

func (s system) mixed() []string {
	_, binds := s.libraries(false)
	return slices.DeleteFunc(binds, func(folder string) bool { return folder != "/lib" && folder != "/usr/lib" })
}
