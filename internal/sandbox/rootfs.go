package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"runpython/internal/sandbox/fonts"
)

// certificatesPath is where the guest finds the certificates of public authorities.
const certificatesPath = "/etc/ssl/certs/ca-certificates.crt"

// CertificateFiles are the places where distributions keep theirs. Guests get the first that is there.
func CertificateFiles() []string {
	return []string{"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"}
}

// rootfs is the guests' root: a folder that all of them share, read-only, and
// the folders of the host that are mounted into it at the same place.
type rootfs struct {
	dir   string
	binds []string
	lock  *os.File // shared: nobody removes the root while a host uses it
}

// close lets go of the root: from now on it may be removed once it is old.
func (r *rootfs) close() error { return r.lock.Close() }

// rootLayout changes whenever the same entries make another root.
const rootLayout = "root of the guests, layout 2\n"

// entry is a thing in the root: a folder, a link or a file with content.
type entry struct {
	path    string
	link    string // target, for a link
	content []byte // for a file
	mode    fs.FileMode

	// unpack makes the content of a large file when it is needed, digest stands for it.
	unpack func() ([]byte, error)
	digest string
}

// shownFolders are of the host and of no secret: time zones, fonts, locales.
var shownFolders = []string{"/usr/share/zoneinfo", "/usr/share/fonts"}

// toolFolders are the host's programs, and what they read.
var toolFolders = []string{"/bin", "/usr/bin", "/usr/share/perl", "/usr/share/perl5", "/usr/share/git-core", "/usr/share/misc"}

// openRootfs makes the root below data, named by its content, if it is not there.
// The caller closes it.
func openRootfs(data, interpreter string, hostTools bool) (*rootfs, error) {
	entries, binds := layout(hostTools)
	entries = withParents(append(entries, siteEntries(interpreter)...))
	digest := sha256.New()
	digest.Write([]byte(rootLayout))
	for _, e := range entries {
		fmt.Fprintf(digest, "%q %q %o %x%s\n", e.path, e.link, e.mode, e.content, e.digest)
	}
	dir := filepath.Join(data, "rootfs", hex.EncodeToString(digest.Sum(nil))[:16])
	lock, err := holdFolder(dir)
	if errors.Is(err, os.ErrNotExist) {
		if err = makeRoot(dir, entries); err == nil {
			lock, err = holdFolder(dir)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("root of the guests: %w", err)
	}
	return &rootfs{dir: dir, binds: binds, lock: lock}, nil
}

// makeRoot makes dir, complete as soon as it exists, unless another process is faster.
func makeRoot(dir string, entries []entry) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	draft, err := os.MkdirTemp(filepath.Dir(dir), draftPrefix)
	if err != nil {
		return err
	}
	if err = build(draft, entries); err == nil {
		err = os.Rename(draft, dir)
	}
	if err == nil {
		return nil
	}
	err = errors.Join(err, os.RemoveAll(draft))
	if _, there := os.Stat(dir); there == nil {
		return nil
	}
	return err
}

// layout returns what the root holds and what of the host is mounted into it, for this host.
func layout(hostTools bool) ([]entry, []string) {
	folders := shownFolders
	if hostTools {
		folders = slices.Concat(folders, toolFolders)
	}
	entries, binds := thisSystem().show(folders)
	// Programs of the host need libraries that they keep beside them.
	libraryEntries, libraryBinds := thisSystem().libraries(hostTools)
	entries, binds = append(entries, libraryEntries...), append(binds, libraryBinds...)
	for _, folder := range []string{"/dev", "/proc", "/sys", "/tmp", "/opt", "/etc", "/run", "/var", GuestPython, GuestPrograms, GuestPackages, GuestShared, guestWork, guestEgress} {
		entries = append(entries, entry{path: folder, mode: fs.ModeDir | 0o755})
	}
	entries = append(entries, entry{path: "/var/tmp", link: "/tmp"})
	entries = append(entries,
		entry{path: filepath.Join(fonts.Folder, fonts.Name), unpack: fonts.Unpack, digest: fonts.SHA256, mode: 0o644},
		entry{path: filepath.Join(fonts.Folder, "LICENSE.txt"), content: []byte(fonts.License), mode: 0o644})
	return append(entries, etc()...), binds
}

// userBase is where Python looks for packages of the user, of which the guest's has none.
const userBase = "/usr/local/share/python"

// siteEntries make every Python that code starts import from GuestPackages, then from GuestShared. A line
// of a .pth file names the folder only: .pth files in there, which are code, are not run.
func siteEntries(interpreter string) []entry {
	libraries, _ := filepath.Glob(filepath.Join(interpreter, "lib", "python3.*")) // the pattern is well formed
	entries := make([]entry, len(libraries))
	for i, library := range libraries {
		name := filepath.Join(userBase, "lib", filepath.Base(library), "site-packages", "runpython.pth")
		entries[i] = entry{path: name, content: []byte(GuestPackages + "\n" + GuestShared + "\n"), mode: 0o644}
	}
	return entries
}

// withParents adds the folders above the entries and returns all, each once, a
// folder before what is in it.
func withParents(entries []entry) []entry {
	all := make(map[string]entry)
	for _, e := range entries {
		for dir := filepath.Dir(e.path); dir != "/"; dir = filepath.Dir(dir) {
			if _, known := all[dir]; !known {
				all[dir] = entry{path: dir, mode: fs.ModeDir | 0o755}
			}
		}
		all[e.path] = e
	}
	return slices.SortedFunc(maps.Values(all), func(a, b entry) int { return strings.Compare(a.path, b.path) })
}

// etc returns the guest's own /etc.
func etc() []entry {
	file := func(name, content string) entry {
		return entry{path: name, content: []byte(content), mode: 0o644}
	}
	entries := []entry{
		file("/etc/passwd", "root:x:0:0:root:/root:/usr/sbin/nologin\nuser:x:1000:1000:user:"+guestHome+":/bin/sh\n"),
		file("/etc/group", "root:x:0:\nuser:x:1000:\n"),
		file("/etc/hosts", "127.0.0.1 localhost runpython\n::1 localhost\n"),
		file("/etc/resolv.conf", ""),
		file("/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n"),
		file("/etc/fonts/fonts.conf", fonts.Config),
	}
	for _, name := range CertificateFiles() {
		if content, err := os.ReadFile(name); err == nil {
			return append(entries, entry{path: certificatesPath, content: content, mode: 0o644})
		}
	}
	return entries
}

// build puts the entries into dir. The guest's user is not their owner and must
// reach them all, so modes are set apart from making, which obeys the umask.
func build(dir string, entries []entry) error {
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	for _, e := range entries {
		name := filepath.Join(dir, e.path)
		var err error
		switch {
		case e.link != "":
			err = os.Symlink(e.link, name)
		case e.mode.IsDir():
			err = errors.Join(os.Mkdir(name, 0o700), os.Chmod(name, e.mode.Perm()))
		default:
			content := e.content
			if e.unpack != nil {
				content, err = e.unpack()
			}
			err = errors.Join(err, os.WriteFile(name, content, 0o600), os.Chmod(name, e.mode.Perm()))
		}
		if err != nil {
			return err
		}
	}
	return nil
}
