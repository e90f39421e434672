package wheel

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// Bounds of one wheel. The bytes are the caller's matter.
const (
	maxFiles    = 100_000
	maxPath     = 1024
	maxElement  = 255
	maxDepth    = 40
	maxRecord   = 32 << 20 // bytes of RECORD
	maxMetadata = 1 << 20  // bytes of WHEEL and of entry_points.txt
)

// A BadError is a wheel that is not as a wheel must be.
type BadError struct{ Reason string }

// Error returns the reason.
func (e *BadError) Error() string { return "bad wheel: " + e.Reason }

func bad(format string, args ...any) error { return &BadError{Reason: fmt.Sprintf(format, args...)} }

// A Target says how a wheel becomes files.
type Target struct {
	Dir    string // is made; must not exist
	Python string // path of the interpreter that scripts name, as they see it
	Bytes  int64  // at most, of all files
}

// An unpacking is one wheel on its way into a folder.
type unpacking struct {
	target  Target
	root    *os.Root
	info    string            // "numpy-2.4.0.dist-info"
	data    string            // "numpy-2.4.0.data"
	record  map[string]string // path in the archive: SHA-256, unpadded base64; "" for RECORD itself
	content Content
}

// Unpack makes the files of the wheel in file, which is named by pin, and returns what
// it found. Folders are 0755, files 0444 or, for programs, 0555: they are linked into
// many environments, and nobody may change them.
func Unpack(file io.ReaderAt, size int64, pin Pin, target Target) (Content, error) {
	archive, err := zip.NewReader(file, size)
	if err != nil {
		return Content{}, bad("not a zip archive: %v", err)
	}
	u := unpacking{target: target, content: Content{Pin: pin}}
	if err := u.survey(archive); err != nil {
		return Content{}, err
	}
	if err := os.Mkdir(target.Dir, 0o755); err != nil {
		return Content{}, err
	}
	if u.root, err = os.OpenRoot(target.Dir); err != nil {
		return Content{}, err
	}
	defer u.root.Close()
	if err := u.files(archive); err != nil {
		return Content{}, err
	}
	if err := u.scripts(); err != nil {
		return Content{}, err
	}
	return u.content.finish(), nil
}

// survey looks at names and claims before anything is written, and reads RECORD.
func (u *unpacking) survey(archive *zip.Reader) error {
	if len(archive.File) > maxFiles {
		return bad("more than %d files", maxFiles)
	}
	seen := make(map[string]bool, len(archive.File))
	var claimed uint64
	for _, f := range archive.File {
		if err := checkMember(f); err != nil {
			return err
		}
		if seen[f.Name] {
			return bad("%q is in it twice", f.Name)
		}
		seen[f.Name] = true
		if claimed += f.UncompressedSize64; claimed > uint64(u.target.Bytes) || f.UncompressedSize64 > uint64(u.target.Bytes) {
			return &TooLargeError{Bytes: u.target.Bytes}
		}
		if top, rest, _ := strings.Cut(f.Name, "/"); strings.HasSuffix(top, ".dist-info") && rest == "RECORD" {
			if u.info != "" {
				return bad("two .dist-info folders")
			}
			u.info = top
		}
	}
	if u.info == "" {
		return bad("no RECORD in a .dist-info folder")
	}
	if err := u.checkInfo(); err != nil {
		return err
	}
	text, err := member(archive, u.info+"/RECORD", maxRecord)
	if err == nil {
		u.record, err = parseRecord(text, u.info)
	}
	if err != nil {
		return err
	}
	return complete(u.record, seen)
}

// checkInfo compares the folder of metadata with what the wheel is taken for.
func (u *unpacking) checkInfo() error {
	stem := strings.TrimSuffix(u.info, ".dist-info")
	name, version, ok := strings.Cut(stem, "-")
	if !ok || normalized(name) != u.content.Pin.Name || !sameVersion(version, u.content.Pin.Version) {
		return bad("it says that it is %q, not %s", stem, u.content.Pin)
	}
	u.data = stem + ".data"
	return nil
}

// A TooLargeError is a wheel with more bytes than allowed.
type TooLargeError struct{ Bytes int64 }

// Error tells the limit.
func (e *TooLargeError) Error() string {
	return fmt.Sprintf("the files of the wheel have more than %d bytes", e.Bytes)
}

// checkMember refuses members that are not plain files or folders with plain names.
func checkMember(f *zip.File) error {
	name := strings.TrimSuffix(f.Name, "/")
	if !fs.ValidPath(name) || name == "." || strings.ContainsAny(name, "\\:") {
		return bad("%.80q is not a path within it", f.Name)
	}
	if len(name) > maxPath || strings.Count(name, "/") >= maxDepth {
		return bad("a path is longer than %d bytes or %d folders", maxPath, maxDepth)
	}
	for element := range strings.SplitSeq(name, "/") {
		if len(element) > maxElement {
			return bad("a name is longer than %d bytes", maxElement)
		}
	}
	if strings.ContainsFunc(name, func(c rune) bool { return c < ' ' || c == 0x7f || c == 0xfffd }) {
		return bad("%.80q has characters that no file name has", f.Name)
	}
	if mode := f.Mode(); !mode.IsRegular() && !(mode.IsDir() && name != f.Name) {
		return bad("%.80q is neither a file nor a folder", f.Name)
	}
	if f.Flags&1 != 0 {
		return bad("it is encrypted")
	}
	return nil
}

// member reads one small file of the archive.
func member(archive *zip.Reader, name string, most int64) ([]byte, error) {
	f, err := archive.Open(name)
	if err != nil {
		return nil, bad("no %s", name)
	}
	defer func() { _ = f.Close() }() // only read
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, bad("%s cannot be read: %v", name, err)
	}
	if int64(len(text)) > most {
		return nil, bad("%s has more than %d bytes", name, most)
	}
	return text, nil
}

// files writes all members.
func (u *unpacking) files(archive *zip.Reader) error {
	for _, f := range archive.File {
		if strings.HasSuffix(f.Name, "/") || path.Base(path.Dir(f.Name)) == "__pycache__" {
			// Bytecode is made here of the source, so that what runs is what can be read.
			continue
		}
		to, script, err := u.place(f.Name)
		if err == nil {
			err = u.write(f, to, script)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// place returns where in the environment a member goes (PEP 427, "the .data
// directory"), and whether it is a script.
func (u *unpacking) place(name string) (to string, script bool, err error) {
	rest, ok := strings.CutPrefix(name, u.data+"/")
	if !ok {
		return name, false, reserved(name)
	}
	scheme, rest, _ := strings.Cut(rest, "/")
	switch scheme {
	case "purelib", "platlib", "data":
		return rest, false, reserved(rest)
	case "scripts":
		return path.Join("bin", rest), true, nil
	case "headers":
		return path.Join("include", u.content.Pin.Name, rest), false, nil
	}
	return "", false, bad("it has files of the unknown kind %.40q", scheme)
}

// reserved refuses what would stand in the way of an environment's own files.
func reserved(name string) error {
	if strings.HasPrefix(name, StatePrefix) || name == "" {
		return bad("%.80q is a name that environments use themselves", name)
	}
	return nil
}

// StatePrefix begins the names in an environment that are no wheel's.
const StatePrefix = ".runpython"

// write makes one file and compares it with RECORD.
func (u *unpacking) write(f *zip.File, to string, script bool) error {
	if err := u.root.MkdirAll(path.Dir(to), 0o755); err != nil {
		return u.clash(to, err)
	}
	mode := fs.FileMode(0o444)
	if f.Mode()&0o111 != 0 || script {
		mode = 0o555
	}
	source, err := f.Open()
	if err != nil {
		return bad("%.80q cannot be read: %v", f.Name, err)
	}
	defer source.Close()
	file, err := u.root.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return u.clash(to, err)
	}
	sum := newSum()
	written := sum // but a script is written differently
	var sink io.Writer = file
	reader := io.TeeReader(&archived{source}, sum)
	if script {
		written = newSum()
		sink = io.MultiWriter(file, written)
		if reader, err = withShebang(reader, u.target.Python); err != nil {
			return errors.Join(err, file.Close())
		}
	}
	// The size that the archive claims is not believed.
	n, err := io.Copy(sink, io.LimitReader(reader, u.target.Bytes-u.content.Bytes+1))
	// Not subject to the process's mask: other users' guests read these files.
	if err := errors.Join(err, file.Chmod(mode), file.Close()); err != nil {
		return err
	}
	if u.content.Bytes += n; u.content.Bytes > u.target.Bytes {
		return &TooLargeError{Bytes: u.target.Bytes}
	}
	if want := u.record[f.Name]; want != "" && sum.text() != want {
		return bad("%.80q is not as RECORD says", f.Name)
	}
	u.content.add(to, written)
	return nil
}

// archived tells errors of the archive from those of the disk.
type archived struct{ io.Reader }

func (a *archived) Read(p []byte) (int, error) {
	n, err := a.Reader.Read(p)
	if err != nil && err != io.EOF { //nolint:errorlint // what a Reader returns itself at its end
		err = bad("it is damaged: %v", err)
	}
	return n, err
}

// clash says in terms of the wheel that a name is taken: by another of its files, or by
// one whose name differs in case, where the file system does not tell them apart.
func (u *unpacking) clash(to string, err error) error {
	if errors.Is(err, fs.ErrExist) || errors.Is(err, errNotDirectory) || errors.Is(err, errIsDirectory) {
		return bad("two of its files want to be %.80q", to)
	}
	return err
}

// withShebang replaces "#!python" in the first line of a script, as PEP 427 wants it.
func withShebang(r io.Reader, python string) (io.Reader, error) {
	start := make([]byte, len("#!pythonw"))
	n, err := io.ReadFull(r, start)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	start = start[:n]
	if rest, ok := bytes.CutPrefix(start, []byte("#!python")); ok {
		rest = bytes.TrimPrefix(rest, []byte("w"))
		start = append([]byte("#!"+python), rest...)
	}
	return io.MultiReader(bytes.NewReader(start), r), nil
}

// scripts writes the programs that entry_points.txt names.
func (u *unpacking) scripts() error {
	text, err := os.ReadFile(filepath.Join(u.target.Dir, u.info, "entry_points.txt"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if len(text) > maxMetadata {
		return bad("entry_points.txt has more than %d bytes", maxMetadata)
	}
	for _, e := range parseEntryPoints(string(text)) {
		name := path.Join("bin", e.name)
		if err := u.root.MkdirAll("bin", 0o755); err != nil {
			return u.clash(name, err)
		}
		file, err := u.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o555)
		if errors.Is(err, fs.ErrExist) {
			continue // the wheel brings it as a file
		}
		if err != nil {
			return err
		}
		sum := newSum()
		n, err := io.WriteString(io.MultiWriter(file, sum), e.script(u.target.Python))
		if err := errors.Join(err, file.Chmod(0o555), file.Close()); err != nil {
			return err
		}
		u.content.Bytes += int64(n)
		u.content.add(name, sum)
	}
	return nil
}
