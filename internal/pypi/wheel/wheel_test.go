package wheel_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/extent"
	"runpython/internal/pypi/indextest"
	"runpython/internal/pypi/wheel"
)

func pin(w indextest.Wheel, b []byte) wheel.Pin {
	return wheel.Pin{Name: w.Name, Version: w.Version, File: w.File(), SHA256: indextest.SHA256(b), Bytes: int64(len(b))}
}

// unpack unpacks a wheel into a folder of the test's own.
func unpack(t *testing.T, w indextest.Wheel, most int64) (wheel.Content, string, error) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "tree")
	b := w.Bytes(t)
	c, err := wheel.Unpack(bytes.NewReader(b), int64(len(b)), pin(w, b), wheel.Target{Dir: dir, Python: "/opt/python/bin/python3", Bytes: most})
	return c, dir, err
}

func TestUnpack(t *testing.T) {
	w := indextest.Wheel{
		Name: "my-pkg", Version: "1.0",
		EntryPoints: "[console_scripts]\nrun = my_pkg.cli:main.go [extra]\nbad = x; import os:y\n../up = a:b\n[other]\nno = a:b\n",
		Files: map[string]string{
			"my_pkg/cli.py": "", "my_pkg/data/table.csv": "1,2\n", "single.py": "", "_fast.cpython-314-x86_64-linux-gnu.so": "ELF",
			"my_pkg.libs/lib.so.1": "ELF", "ns/inner/mod.py": "",
			"my_pkg-1.0.data/purelib/pure.py": "", "my_pkg-1.0.data/platlib/plat.abi3.so": "ELF",
			"my_pkg-1.0.data/data/share/doc/readme.txt": "hello", "my_pkg-1.0.data/headers/x.h": "int x;",
			"my_pkg-1.0.data/scripts/old": "#!python\nprint(1)\n", "my_pkg-1.0.data/scripts/win": "#!pythonw -E\nprint(1)\n",
			"my_pkg-1.0.data/scripts/sh":             "#!/bin/sh\necho\n",
			"my_pkg/__pycache__/cli.cpython-314.pyc": "hostile bytecode",
		},
	}
	c, dir, err := unpack(t, w, 1<<20)
	if err != nil {
		t.Fatal(err)
	}
	var files []string
	for _, f := range c.Files {
		if !strings.Contains(f.Path, ".dist-info/") {
			files = append(files, f.Path)
		}
	}
	want := []string{
		"_fast.cpython-314-x86_64-linux-gnu.so", "bin/old", "bin/run", "bin/sh", "bin/win", "include/my-pkg/x.h",
		"my_pkg.libs/lib.so.1", "my_pkg/__init__.py", "my_pkg/cli.py", "my_pkg/data/table.csv", "ns/inner/mod.py",
		"plat.abi3.so", "pure.py", "share/doc/readme.txt", "single.py",
	}
	if diff := cmp.Diff(want, files); diff != "" {
		t.Errorf("files: %s", diff)
	}
	if diff := cmp.Diff([]string{"_fast", "my_pkg", "ns", "plat", "pure", "single"}, c.Imports); diff != "" {
		t.Errorf("imports: %s", diff)
	}
	if diff := cmp.Diff([]string{"_fast.cpython-314-x86_64-linux-gnu.so", "bin", "include", "my_pkg", "my_pkg-1.0.dist-info",
		"my_pkg.libs", "ns", "plat.abi3.so", "pure.py", "share", "single.py"}, c.Tops); diff != "" {
		t.Errorf("names: %s", diff)
	}
	for name, want := range map[string]string{
		"bin/old": "#!/opt/python/bin/python3\nprint(1)\n", "bin/win": "#!/opt/python/bin/python3 -E\nprint(1)\n", "bin/sh": "#!/bin/sh\necho\n",
		"bin/run": "#!/opt/python/bin/python3\nimport sys\nfrom my_pkg.cli import main\nsys.exit(main.go())\n",
	} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(got) != want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, want)
		}
	}
	for name, want := range map[string]fs.FileMode{"bin/old": 0o555, "bin/run": 0o555, "single.py": 0o444} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("mode of %s: %v, %v; want %v", name, info.Mode(), err, want)
		}
	}
	if err := c.Verify(dir); err != nil {
		t.Errorf("Verify: %v", err)
	}
	damaged := filepath.Join(dir, "single.py")
	if err := errors.Join(os.Chmod(damaged, 0o600), os.WriteFile(damaged, []byte("x"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if err := c.Verify(dir); err == nil || !strings.Contains(err.Error(), "single.py") {
		t.Errorf("Verify of a changed file: %v", err)
	}
}

// add returns a Wheel with one more member that RECORD names or not.
func add(t *testing.T, name string, mode uint32, recorded bool) indextest.Wheel {
	w := indextest.Wheel{Name: "evil", Version: "1.0"}
	w.Members = func(z *zip.Writer) { indextest.Member(t, z, name, mode, "x") }
	if recorded {
		w.Record = func(lines []string) []string { return append(lines, indextest.RecordLine(name, "x")) }
	}
	return w
}

func TestHostileWheels(t *testing.T) {
	record := func(change func([]string) []string) indextest.Wheel {
		return indextest.Wheel{Name: "evil", Version: "1.0", Record: change}
	}
	long := strings.Repeat("d/", 60) + "f.py"
	for name, test := range map[string]struct {
		wheel indextest.Wheel
		want  string
	}{
		"PKG-30 parent":      {add(t, "../../escape", 0o644, true), "not a path"},
		"parent within":      {add(t, "evil/../../escape", 0o644, true), "not a path"},
		"absolute":           {add(t, "/etc/cron.d/x", 0o644, true), "not a path"},
		"backslash":          {add(t, `..\escape`, 0o644, true), "not a path"},
		"drive":              {add(t, "c:/x", 0o644, true), "not a path"},
		"empty element":      {add(t, "evil//x", 0o644, true), "not a path"},
		"control":            {add(t, "evil/a\nb", 0o644, true), "characters"},
		"symbolic link":      {add(t, "evil/link", 0o120777, true), "neither a file nor a folder"},
		"device":             {add(t, "evil/dev", 0o020666, true), "neither a file nor a folder"},
		"pipe":               {add(t, "evil/pipe", 0o010666, true), "neither a file nor a folder"},
		"deep":               {add(t, long, 0o644, true), "folders"},
		"long name":          {add(t, strings.Repeat("n", 300), 0o644, true), "name is longer"},
		"twice":              {add(t, "evil/__init__.py", 0o644, false), "twice"},
		"file and folder":    {add(t, "evil", 0o644, true), "two of its files"},
		"unlisted":           {add(t, "evil/x.py", 0o644, false), "does not name"},
		"two dist-infos":     {add(t, "other-1.0.dist-info/RECORD", 0o644, true), "two .dist-info"},
		"our state":          {add(t, ".runpython.json", 0o644, true), "use themselves"},
		"our state by data":  {add(t, "evil-1.0.data/data/.runpython.new/x", 0o644, true), "use themselves"},
		"unknown kind":       {add(t, "evil-1.0.data/etc/x", 0o644, true), "unknown kind"},
		"missing":            {record(func(l []string) []string { return append(l, indextest.RecordLine("evil/none.py", "")) }), "not in it"},
		"other digest":       {record(func(l []string) []string { l[0] = indextest.RecordLine(strings.Split(l[0], ",")[0], "other"); return l }), "not as RECORD says"},
		"weak digest":        {record(func(l []string) []string { l[0] = strings.Split(l[0], ",")[0] + ",md5=x,1"; return l }), "no SHA-256"},
		"no digest":          {record(func(l []string) []string { l[0] = strings.Split(l[0], ",")[0] + ",,"; return l }), "no SHA-256"},
		"record twice":       {record(func(l []string) []string { return append(l, l[0]) }), "twice"},
		"no record at all":   {record(func([]string) []string { return []string{`"`} }), "cannot be read"},
		"file in two places": {add(t, "evil-1.0.data/purelib/evil/__init__.py", 0o644, true), "two of its files"},
	} {
		t.Run(name, func(t *testing.T) {
			_, dir, err := unpack(t, test.wheel, 1<<20)
			bad, ok := errors.AsType[*wheel.BadError](err)
			if !ok || !strings.Contains(bad.Reason, test.want) {
				t.Errorf("Unpack: %v, want %q", err, test.want)
			}
			if _, err := os.Lstat(filepath.Join(filepath.Dir(filepath.Dir(dir)), "escape")); err == nil {
				t.Error("a file outside was made")
			}
		})
	}
}

func TestOtherName(t *testing.T) {
	w := indextest.Wheel{Name: "evil", Version: "1.0"}
	b := w.Bytes(t)
	for _, p := range []wheel.Pin{{Name: "good", Version: "1.0"}, {Name: "evil", Version: "2.0"}} {
		_, err := wheel.Unpack(bytes.NewReader(b), int64(len(b)), p, wheel.Target{Dir: filepath.Join(t.TempDir(), "x"), Bytes: 1 << 20})
		if _, ok := errors.AsType[*wheel.BadError](err); !ok {
			t.Errorf("taken for %s: %v", p, err)
		}
	}
}

// Names that differ in case are two files where the file system says so.
func TestCaseClash(t *testing.T) {
	c, _, err := unpack(t, indextest.Wheel{Name: "x", Version: "1.0", Files: map[string]string{"x/a.py": "1", "x/A.py": "2"}}, 1<<20)
	if _, ok := errors.AsType[*wheel.BadError](err); err != nil && !ok || err == nil && len(c.Files) != 6 {
		t.Errorf("%d files, %v", len(c.Files), err)
	}
}

func TestAbsurdSizes(t *testing.T) {
	extent.Slow(t)
	if testing.Short() {
		t.Skip("much data of one goroutine is left out of -short tests")
	}
	zeros := strings.Repeat("\x00", 4<<20)
	w := indextest.Wheel{Name: "bomb", Version: "1.0", Files: map[string]string{"bomb/a": zeros, "bomb/b": zeros}}
	_, _, err := unpack(t, w, 6<<20)
	if _, ok := errors.AsType[*wheel.TooLargeError](err); !ok {
		t.Errorf("8 MiB of at most 6: %v", err)
	}
	// The archive lies about the sizes.
	b := w.Bytes(t)
	lied := bytes.ReplaceAll(b, []byte{0, 0, 0x40, 0}, []byte{1, 0, 0, 0})
	if bytes.Equal(b, lied) {
		t.Fatal("the archive does not have the size where it was looked for")
	}
	dir := filepath.Join(t.TempDir(), "tree")
	if _, err = wheel.Unpack(bytes.NewReader(lied), int64(len(lied)), pin(w, b), wheel.Target{Dir: dir, Bytes: 6 << 20}); err == nil {
		t.Error("an archive that lies about sizes was taken")
	}
	many := indextest.Wheel{Name: "many", Version: "1.0", Members: func(z *zip.Writer) {
		for i := range 100_001 {
			indextest.Member(t, z, fmt.Sprintf("many/%d", i), 0o644, "")
		}
	}}
	if _, _, err := unpack(t, many, 1<<20); err == nil || !strings.Contains(err.Error(), "more than 100000 files") {
		t.Errorf("100,001 files: %v", err)
	}
}

func TestBest(t *testing.T) {
	file := func(tag string) wheel.Pin { return wheel.Pin{File: "x-1.0-" + tag + ".whl"} }
	for _, test := range []struct{ want, others string }{
		{"cp314-cp314-manylinux_2_17_x86_64", "py3-none-any cp37-abi3-manylinux_2_28_x86_64 cp314-none-any"},
		{"cp314-cp314-manylinux_2_28_x86_64", "cp314-cp314-manylinux2014_x86_64 cp314-cp314-manylinux_2_17_x86_64"},
		{"cp39-abi3-manylinux1_x86_64", "cp37-abi3-manylinux_2_28_x86_64 py3-none-manylinux_2_28_x86_64"},
		{"py3-none-manylinux1_x86_64", "py3-none-any py2.py3-none-any"},
	} {
		pins := []wheel.Pin{file(test.want)}
		for o := range strings.FieldsSeq(test.others) {
			pins = append([]wheel.Pin{file(o)}, append(pins, file(o))...)
		}
		if got, ok := wheel.Best(pins); !ok || got != file(test.want) {
			t.Errorf("Best = %s, want %s", got.File, test.want)
		}
	}
	built := []wheel.Pin{{File: "x-1.0-2-py3-none-any.whl"}, {File: "x-1.0-10-py3-none-any.whl"}, {File: "x-1.0-py3-none-any.whl"}}
	if got, _ := wheel.Best(built); got != built[1] {
		t.Errorf("Best of builds = %s", got.File)
	}
	if _, ok := wheel.Best(nil); ok {
		t.Error("the best of none")
	}
}

func TestPinCheck(t *testing.T) {
	good := wheel.Pin{Name: "my-pkg", Version: "1.0+l", File: "my_pkg-1.0-py3-none-any.whl", SHA256: strings.Repeat("ab", 32)}
	if err := good.Check(); err != nil {
		t.Errorf("Check: %v", err)
	}
	for name, change := range map[string]func(p *wheel.Pin){
		"name":    func(p *wheel.Pin) { p.Name = "../x" },
		"form":    func(p *wheel.Pin) { p.Name = "My_Pkg" },
		"version": func(p *wheel.Pin) { p.Version = "1.0\n" },
		"digest":  func(p *wheel.Pin) { p.SHA256 = "../../etc" },
		"capital": func(p *wheel.Pin) { p.SHA256 = strings.ToUpper(p.SHA256) },
		"short":   func(p *wheel.Pin) { p.SHA256 = "ab" },
		"file":    func(p *wheel.Pin) { p.File = "../my_pkg-1.0-py3-none-any.whl" },
		"other":   func(p *wheel.Pin) { p.File = "other-1.0-py3-none-any.whl" },
		"sdist":   func(p *wheel.Pin) { p.File = "my_pkg-1.0.tar.gz" },
		"size":    func(p *wheel.Pin) { p.Bytes = -1 },
	} {
		p := good
		change(&p)
		if p.Check() == nil {
			t.Errorf("%s: %+v passes", name, p)
		}
	}
}

func FuzzUnpack(f *testing.F) {
	w := indextest.Wheel{Name: "x", Version: "1.0", EntryPoints: "[console_scripts]\na=b:c\n", Files: map[string]string{"x-1.0.data/scripts/s": "#!python\n"}}
	f.Add(w.Bytes(f))
	f.Add(indextest.Wheel{Name: "x", Version: "1.0", NoPackage: true}.Bytes(f))
	f.Fuzz(func(t *testing.T, b []byte) {
		above := t.TempDir()
		dir := filepath.Join(above, "tree")
		c, err := wheel.Unpack(bytes.NewReader(b), int64(len(b)), wheel.Pin{Name: "x", Version: "1.0"}, wheel.Target{Dir: dir, Python: "/p", Bytes: 1 << 20})
		entries, readErr := os.ReadDir(above)
		if readErr != nil || len(entries) > 1 {
			t.Fatalf("files beside the tree: %v, %v", entries, readErr)
		}
		if err == nil {
			if err := c.Verify(dir); err != nil {
				t.Fatalf("unpacked, but %v", err)
			}
		}
	})
}
