// Package indextest makes wheels and serves package indexes for tests: small ones, odd
// ones and hostile ones. Only tests import it.
//
// # Trust
//
// Tests trust it; what it makes is as bad as a test wants it.
//
// # Failure
//
// A mistake of the test ends the test.
package indextest

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// A Wheel is what Bytes makes a wheel of. What is empty gets something usual.
type Wheel struct {
	Name, Version  string
	Tag            string // "py3-none-any"
	Requires       []string
	RequiresPython string
	Extras         []string
	EntryPoints    string
	Files          map[string]string // besides the package, which is always there
	Record         func(lines []string) []string
	Members        func(z *zip.Writer) // writes further members, which RECORD does not have
	NoPackage      bool
}

// File returns the name of the wheel.
func (w Wheel) File() string {
	return fmt.Sprintf("%s-%s-%s.whl", strings.ReplaceAll(w.Name, "-", "_"), w.Version, w.tag())
}

func (w Wheel) tag() string {
	if w.Tag == "" {
		return "py3-none-any"
	}
	return w.Tag
}

// Bytes returns the wheel; the same Wheel gives the same bytes.
func (w Wheel) Bytes(t testing.TB) []byte {
	t.Helper()
	stem := strings.ReplaceAll(w.Name, "-", "_")
	info := stem + "-" + w.Version + ".dist-info/"
	files := map[string]string{
		info + "WHEEL":    "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: " + w.tag() + "\n",
		info + "METADATA": w.metadata(),
	}
	if !w.NoPackage {
		files[stem+"/__init__.py"] = fmt.Sprintf("__version__ = %q\n", w.Version)
	}
	if w.EntryPoints != "" {
		files[info+"entry_points.txt"] = w.EntryPoints
	}
	maps.Copy(files, w.Files)
	var names, record []string
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, name := range names {
		Member(t, z, name, 0o644, files[name])
		record = append(record, RecordLine(name, files[name]))
	}
	record = append(record, info+"RECORD,,")
	if w.Record != nil {
		record = w.Record(record)
	}
	Member(t, z, info+"RECORD", 0o644, strings.Join(record, "\n")+"\n")
	if w.Members != nil {
		w.Members(z)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func (w Wheel) metadata() string {
	var text strings.Builder
	fmt.Fprintf(&text, "Metadata-Version: 2.1\nName: %s\nVersion: %s\n", w.Name, w.Version)
	for _, r := range w.Requires {
		fmt.Fprintf(&text, "Requires-Dist: %s\n", r)
	}
	for _, e := range w.Extras {
		fmt.Fprintf(&text, "Provides-Extra: %s\n", e)
	}
	if w.RequiresPython != "" {
		fmt.Fprintf(&text, "Requires-Python: %s\n", w.RequiresPython)
	}
	return text.String()
}

// RecordLine returns the line of RECORD for a file.
func RecordLine(name, text string) string {
	sum := sha256.Sum256([]byte(text))
	return fmt.Sprintf("%s,sha256=%s,%d", name, base64.RawURLEncoding.EncodeToString(sum[:]), len(text))
}

// Member writes one member of an archive with the mode of a Unix file.
func Member(t testing.TB, z *zip.Writer, name string, mode uint32, text string) {
	t.Helper()
	h := &zip.FileHeader{Name: name, Method: zip.Deflate, CreatorVersion: 3 << 8, ExternalAttrs: mode << 16}
	f, err := z.CreateHeader(h)
	if err == nil {
		_, err = f.Write([]byte(text))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// SHA256 returns the digest of b in hex.
func SHA256(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
