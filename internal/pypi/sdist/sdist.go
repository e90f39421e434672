// Package sdist offers source distributions to a resolver that takes wheels only.
//
// A resolver that is to choose among source distributions wants to know what each of them
// needs, and most can tell only by running their code. So uv never sees them. An [Offer] is a
// folder with a stand-in for each: a wheel without content, which has its name, its version
// and, until somebody has built it, no requirements. uv resolves with these as with any
// wheels; what it chooses is built elsewhere, described, and resolved anew.
//
// # Trust
//
// Lists of files and the metadata of built wheels are hostile. Names and versions are
// checked before they become names of files, and a stand-in holds one line that comes from a
// list: the versions of Python, of plain characters. Metadata is passed on as it is: uv reads
// that of any wheel.
//
// # Failure
//
// Errors are those of the file system. What cannot be offered is left out.
package sdist

import (
	"archive/zip"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"runpython/internal/pattern"
	"runpython/internal/pypi/source"
	"runpython/internal/pypi/wheel"
)

// maxOffered bounds the source distributions of one project, the last ones of a list.
const maxOffered = 1000

// A Candidate is a source distribution that may be built.
type Candidate struct {
	Pin            wheel.Pin
	RequiresPython string // "" when it does not say
}

// Candidates returns the source distributions of a project in a list of its files, one for
// each version, those apart that were withdrawn, were uploaded after before (unless that is
// zero), have no digest, or have a wheel for everything beside them. Untimed tells that
// some have no time of upload, which are taken.
func Candidates(list []source.Listed, project string, before time.Time) (all []Candidate, untimed bool) {
	universal := universalVersions(list, project)
	place := map[string]int{} // of a version in all
	for _, f := range list {
		c, ok := candidate(f, project)
		version := c.Pin.Version
		if !ok || universal[version] || !before.IsZero() && f.Uploaded.After(before) {
			continue
		}
		untimed = untimed || !before.IsZero() && f.Uploaded.IsZero() && !strings.HasPrefix(f.URL, "file:")
		i, twice := place[version]
		switch {
		case !twice:
			place[version] = len(all)
			all = append(all, c)
		case strings.HasSuffix(all[i].Pin.File, ".zip"): // of the two forms the usual one
			all[i] = c
		}
	}
	return all[max(0, len(all)-maxOffered):], untimed
}

// universalVersions returns the versions of a project that have a wheel for everything.
func universalVersions(list []source.Listed, project string) map[string]bool {
	versions := map[string]bool{}
	for _, f := range list {
		if n, err := wheel.ParseName(f.File); err == nil && n.Name == project && n.FitsAll() {
			versions[n.Version] = true
		}
	}
	return versions
}

// candidate returns what a file of a list is, if that may be built.
func candidate(f source.Listed, project string) (c Candidate, ok bool) {
	version, ok := wheel.ParseSource(f.File, project)
	if !ok || f.Yanked {
		return c, false
	}
	c.Pin = wheel.Pin{Name: project, Version: version, File: f.File, URL: f.URL, SHA256: f.SHA256, Bytes: f.Bytes}
	if plainSpecifier().MatchString(f.RequiresPython) {
		c.RequiresPython = f.RequiresPython
	}
	return c, c.Pin.Check() == nil
}

// plainSpecifier is a condition on the version of Python.
var plainSpecifier = pattern.New(`^[0-9A-Za-z.,<>=!~* ]{1,200}$`)

// An Offer is a folder of stand-ins. It is for one goroutine.
type Offer struct {
	dir  string
	pins map[string]wheel.Pin // by the name of the stand-in
}

// NewOffer makes an empty Offer in a new folder below dir. The caller closes it.
func NewOffer(dir string) (*Offer, error) {
	folder, err := os.MkdirTemp(dir, "offer-")
	if err != nil {
		return nil, err
	}
	return &Offer{dir: folder, pins: map[string]wheel.Pin{}}, nil
}

// Close removes the folder.
func (o *Offer) Close() error { return os.RemoveAll(o.dir) }

// Folder returns the folder of the stand-ins.
func (o *Offer) Folder() string { return o.dir }

// Pin returns the source distribution that a wheel of this name in the folder stands for.
func (o *Offer) Pin(file string) (wheel.Pin, bool) {
	p, ok := o.pins[file]
	return p, ok
}

// standIn returns the name of the wheel that stands for p.
func standIn(p wheel.Pin) string {
	return fmt.Sprintf("%s-%s-py3-none-any.whl", strings.ReplaceAll(p.Name, "-", "_"), p.Version)
}

// Add offers a source distribution of which nobody knows what it needs.
func (o *Offer) Add(c Candidate) error {
	text := fmt.Sprintf("Metadata-Version: 2.1\nName: %s\nVersion: %s\n", c.Pin.Name, c.Pin.Version)
	if c.RequiresPython != "" {
		text += "Requires-Python: " + c.RequiresPython + "\n"
	}
	return o.Describe(c.Pin, []byte(text))
}

// Describe offers a source distribution that was built, with the METADATA of its wheel.
func (o *Offer) Describe(p wheel.Pin, metadata []byte) error {
	file := standIn(p)
	f, err := os.CreateTemp(o.dir, "new-")
	if err != nil {
		return err
	}
	info := strings.TrimSuffix(file, "-py3-none-any.whl") + ".dist-info/"
	z := zip.NewWriter(f)
	for _, m := range []struct{ name, text string }{
		{"METADATA", string(metadata)},
		{"WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"},
		{"RECORD", ""},
	} {
		w, memberErr := z.Create(info + m.name)
		if memberErr == nil {
			_, memberErr = w.Write([]byte(m.text))
		}
		err = errors.Join(err, memberErr)
	}
	if err := errors.Join(err, z.Close(), f.Close()); err != nil {
		return err
	}
	o.pins[file] = p
	return os.Rename(f.Name(), filepath.Join(o.dir, file))
}
