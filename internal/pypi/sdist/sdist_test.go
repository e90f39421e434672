package sdist_test

import (
	"archive/zip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/pypi/sdist"
	"runpython/internal/pypi/source"
	"runpython/internal/pypi/wheel"
)

func TestCandidates(t *testing.T) {
	sum := strings.Repeat("a", 64)
	day := func(n int) time.Time { return time.Date(2026, 1, n, 0, 0, 0, 0, time.UTC) }
	list := []source.Listed{
		{File: "my-pkg-1.0.zip", SHA256: sum, Uploaded: day(1)},
		{File: "my-pkg-1.0.tar.gz", SHA256: sum, Uploaded: day(1), RequiresPython: ">=3.1,!=3.4.*"},
		{File: "my_pkg-1.0.zip", SHA256: sum, Uploaded: day(1)},
		{File: "my_pkg-2.0.tar.gz", SHA256: sum, Uploaded: day(2), RequiresPython: ">=3\nRequires-Dist: evil"},
		{File: "my_pkg-3.0.tar.gz", SHA256: sum, Uploaded: day(3), Yanked: true},
		{File: "my_pkg-4.0.tar.gz", SHA256: "", Uploaded: day(3)},
		{File: "my_pkg-5.0.tar.gz", SHA256: sum, Uploaded: day(9)},
		{File: "my_pkg-6.0.tar.gz", SHA256: sum, Uploaded: day(3)},
		{File: "my_pkg-6.0-py3-none-any.whl", SHA256: sum, Uploaded: day(3)},
		{File: "my_pkg-7.0-cp38-cp38-win32.whl", SHA256: sum, Uploaded: day(3)},
		{File: "my_pkg-7.0.tar.gz", SHA256: sum, Uploaded: day(3)},
		{File: "another-1.0.tar.gz", SHA256: sum, Uploaded: day(3)},
		{File: "my_pkg-8.0.exe", SHA256: sum, Uploaded: day(3)},
	}
	got, untimed := sdist.Candidates(list, "my-pkg", day(4))
	var files []string
	for _, c := range got {
		files = append(files, c.Pin.File+" "+c.RequiresPython)
	}
	if diff := cmp.Diff([]string{"my-pkg-1.0.tar.gz >=3.1,!=3.4.*", "my_pkg-2.0.tar.gz ", "my_pkg-7.0.tar.gz "}, files); diff != "" || untimed {
		t.Errorf("untimed %v, candidates (-want +got):\n%s", untimed, diff)
	}
	list[3].Uploaded = time.Time{}
	if _, untimed := sdist.Candidates(list, "my-pkg", day(4)); !untimed {
		t.Error("a file without a time is not told of")
	}
	if got, untimed := sdist.Candidates(list, "my-pkg", time.Time{}); len(got) != 4 || untimed {
		t.Errorf("at any time: %v, %v", got, untimed)
	}
}

func TestOffer(t *testing.T) {
	dir := t.TempDir()
	o, err := sdist.NewOffer(dir)
	if err != nil {
		t.Fatal(err)
	}
	p := wheel.Pin{Name: "my-pkg", Version: "1.0", File: "my-pkg-1.0.tar.gz"}
	if err := o.Add(sdist.Candidate{Pin: p, RequiresPython: ">=3"}); err != nil {
		t.Fatal(err)
	}
	const name = "my_pkg-1.0-py3-none-any.whl"
	if got, want := metadata(t, filepath.Join(o.Folder(), name)), "Metadata-Version: 2.1\nName: my-pkg\nVersion: 1.0\nRequires-Python: >=3\n"; got != want {
		t.Errorf("METADATA %q, want %q", got, want)
	}
	if err := o.Describe(p, []byte("Name: my-pkg\n")); err != nil {
		t.Fatal(err)
	}
	if got := metadata(t, filepath.Join(o.Folder(), name)); got != "Name: my-pkg\n" {
		t.Errorf("METADATA %q", got)
	}
	if got, ok := o.Pin(name); !ok || got != p {
		t.Errorf("it stands for %v, %v", got, ok)
	}
	if _, ok := o.Pin("my_pkg-2.0-py3-none-any.whl"); ok {
		t.Error("what is not there stands for something")
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

func metadata(t *testing.T, name string) string {
	t.Helper()
	z, err := zip.OpenReader(name)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = z.Close() }() // only read
	f, err := z.Open("my_pkg-1.0.dist-info/METADATA")
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
