package indextest

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
)

// A Source is what Bytes makes a source distribution of.
type Source struct {
	Name, Version string // as the file has them
	Files         map[string]string
	Members       func(w *tar.Writer) error // writes further members
}

// File returns the name of the source distribution.
func (s Source) File() string { return s.Name + "-" + s.Version + ".tar.gz" }

// Bytes returns the source distribution; the same Source gives the same bytes.
func (s Source) Bytes(t testing.TB) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	w := tar.NewWriter(z)
	var err error
	for _, name := range slices.Sorted(maps.Keys(s.Files)) {
		h := &tar.Header{Name: s.Name + "-" + s.Version + "/" + name, Mode: 0o644, Size: int64(len(s.Files[name])), Typeflag: tar.TypeReg}
		err = errors.Join(err, w.WriteHeader(h))
		_, writeErr := w.Write([]byte(s.Files[name]))
		err = errors.Join(err, writeErr)
	}
	if s.Members != nil {
		err = errors.Join(err, s.Members(w))
	}
	if err = errors.Join(err, w.Close(), z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// BackendSource returns a source distribution that brings its own build backend, so that its
// build needs nothing. The statements of hook run when the wheel is built, in the folder of
// the source. They may set body (the text of the package), requires, extra (files by path),
// name, version and tag.
func BackendSource(name, version, hook string) Source {
	return Source{Name: name, Version: version, Files: map[string]string{
		"PKG-INFO":       fmt.Sprintf("Metadata-Version: 2.1\nName: %s\nVersion: %s\n", name, version),
		"pyproject.toml": "[build-system]\nrequires = []\nbuild-backend = 'backend'\nbackend-path = ['.']\n",
		"backend.py": fmt.Sprintf(`
import base64, hashlib, os, sys, zipfile

def build_wheel(folder, settings=None, metadata=None):
    name, version, tag = %q, %q, 'py3-none-any'
    body, requires, extra = '', [], {}
%s
    info = f'{name}-{version}.dist-info/'
    head = f'Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n'
    files = {name + '/__init__.py': body, info + 'WHEEL': f'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {tag}\n',
             info + 'METADATA': head + ''.join(f'Requires-Dist: {r}\n' for r in requires)} | extra
    record = ''
    made = f'{name}-{version}-{tag}.whl'
    with zipfile.ZipFile(os.path.join(folder, made), 'w', zipfile.ZIP_DEFLATED) as z:
        for path, text in files.items():
            z.writestr(path, text)
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip('=')
            record += f'{path},sha256={digest},{len(text.encode())}\n'
        z.writestr(info + 'RECORD', record + info + 'RECORD,,\n')
    return made
`, name, version, indent(hook)),
	}}
}

// indent moves statements into a function.
func indent(text string) string {
	var b bytes.Buffer
	for line := range bytes.Lines([]byte(text)) {
		b.WriteString("    ")
		b.Write(line)
	}
	return b.String()
}
