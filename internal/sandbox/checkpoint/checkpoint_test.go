package checkpoint_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/sandbox/checkpoint"
)

const page = 4096

// noise returns bytes that nothing can make shorter, the same for the same seed.
func noise(seed uint64, bytes int) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	data := make([]byte, bytes)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

// opened opens an image for the time of the test.
func opened(t testing.TB, dir string) []*os.File {
	t.Helper()
	files, err := checkpoint.OpenImage(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, f := range files {
			_ = f.Close() // one test does before
		}
	})
	return files
}

// image makes the folder of an image.
func image(t testing.TB, state, places, pages []byte) string {
	t.Helper()
	dir := t.TempDir()
	for i, data := range [][]byte{state, places, pages} {
		if err := os.WriteFile(filepath.Join(dir, checkpoint.Files()[i]), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// store stores an image and returns the folder.
func store(t testing.TB, image, base string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "stored")
	content := checkpoint.Content{Image: opened(t, image), Base: base, Uploads: t.TempDir(), Meta: checkpoint.Meta{Key: "key", Note: []byte("note")}}
	if err := checkpoint.Write(t.Context(), dir, content); err != nil {
		t.Fatal(err)
	}
	return dir
}

// unpack opens and unpacks a checkpoint.
func unpack(t testing.TB, dir string) (string, error) {
	t.Helper()
	c, err := checkpoint.Open(dir)
	if err != nil {
		return "", err
	}
	into := t.TempDir()
	return into, c.Unpack(t.Context(), into)
}

func content(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	for _, name := range checkpoint.Files() {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		all[name] = string(data)
	}
	return all
}

// ownBytes is what a stored checkpoint takes on the disk beside its base.
func ownBytes(t testing.TB, dir string) (sum int64) {
	t.Helper()
	for _, name := range []string{"manifest", "difference"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		sum += info.Size()
	}
	return sum
}

func TestDifference(t *testing.T) {
	a, b, c := noise(1, 64*page), noise(2, 300*page), make([]byte, 700*page)
	base := image(t, []byte("state"), noise(3, 100), bytes.Join([][]byte{a, b}, nil))
	for name, test := range map[string]struct {
		state, pages []byte
		base         string
		most         int64 // bytes on the disk
	}{
		"the base itself":          {[]byte("state"), bytes.Join([][]byte{a, b}, nil), base, 2000},
		"pages at other places":    {[]byte("other"), bytes.Join([][]byte{b[7*page:], a, b[:7*page], a}, nil), base, 2000},
		"pages that are new":       {[]byte("other"), bytes.Join([][]byte{a, noise(4, 3*page), b, noise(5, page)}, nil), base, 4*page + 2000},
		"zeros":                    {nil, c, base, 2000},
		"a page that is not full":  {noise(6, page+1), append(bytes.Clone(a), noise(7, 100)...), base, page + 2100},
		"nothing":                  {nil, nil, base, 2000},
		"no base":                  {[]byte("state"), a, "", 64*page + 2000},
		"literals of many records": {nil, bytes.Join([][]byte{noise(8, 700*page), b}, nil), base, 700*page + 4000},
	} {
		t.Run(name, func(t *testing.T) {
			from := image(t, test.state, noise(9, 50), test.pages)
			dir := store(t, from, test.base)
			into, err := unpack(t, dir)
			if err != nil {
				t.Fatal(err)
			}
			if !cmp.Equal(content(t, from), content(t, into)) {
				t.Error("the image is not what it was")
			}
			if got := ownBytes(t, dir); got > test.most {
				t.Errorf("%d bytes on the disk; want %d at most", got, test.most)
			}
		})
	}
}

// A base lives as long as a checkpoint refers to it, and is stored once.
func TestBaseIsKept(t *testing.T) {
	pages := noise(1, 50*page)
	base := image(t, []byte("state"), nil, pages)
	dir := store(t, image(t, []byte("other"), nil, pages), base)
	if err := os.RemoveAll(base); err != nil {
		t.Fatal(err)
	}
	into, err := unpack(t, dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := content(t, into)["pages.img"]; got != string(pages) {
		t.Error("the pages are not what they were")
	}
}

// Where there is no base any more, the checkpoint is whole without.
func TestBaseThatHasGone(t *testing.T) {
	pages := noise(1, 5*page)
	dir := store(t, image(t, nil, nil, pages), filepath.Join(t.TempDir(), "gone"))
	into, err := unpack(t, dir)
	if err != nil || content(t, into)["pages.img"] != string(pages) {
		t.Errorf("unpack = %v; want the pages as they were", err)
	}
}

func TestMetaAndUploads(t *testing.T) {
	uploads := t.TempDir()
	name := filepath.Join(uploads, "in", "data.csv")
	if err := errors.Join(os.Mkdir(filepath.Dir(name), 0o777), os.Chmod(filepath.Dir(name), 0o777), os.WriteFile(name, []byte("a,b\n"), 0o644)); err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "stored")
	meta := checkpoint.Meta{Key: "k", Origin: []byte(`{"preload":"p"}`), Note: []byte{0, 1, 255}}
	for range 2 { // the second replaces the first
		if err := checkpoint.Write(t.Context(), dir, checkpoint.Content{Image: opened(t, image(t, nil, nil, nil)), Uploads: uploads, Meta: meta}); err != nil {
			t.Fatal(err)
		}
	}
	c, err := checkpoint.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(meta, c.Meta); diff != "" {
		t.Errorf("meta (-want +got):\n%s", diff)
	}
	into := filepath.Join(t.TempDir(), "work")
	if err := checkpoint.LinkTree(c.Uploads(), into); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(into, "in", "data.csv"))
	if string(data) != "a,b\n" {
		t.Errorf("upload %q, %v", data, err)
	}
	if info, err := os.Stat(filepath.Join(into, "in")); err != nil || info.Mode().Perm() != 0o777 {
		t.Errorf("folder %v, %v; want mode 0777", info.Mode(), err)
	}
	if entries, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(entries) != 1 {
		t.Errorf("beside the checkpoint: %v, %v", entries, err)
	}
}

// A draft that fails leaves what was there, and nothing else.
// A copy is whole when its original has gone, and one of what is not there says so.
func TestCopy(t *testing.T) {
	from := store(t, image(t, noise(1, 5000), noise(2, 100), noise(3, 3*page)), image(t, noise(1, 5000), noise(2, 100), noise(3, 2*page)))
	to := filepath.Join(filepath.Dir(from), "copy")
	if err := checkpoint.Copy(from, to); err != nil {
		t.Fatal(err)
	}
	if err := checkpoint.Remove(from); err != nil {
		t.Fatal(err)
	}
	if _, err := unpack(t, to); err != nil {
		t.Errorf("unpack the copy: %v", err)
	}
	unusable, ok := errors.AsType[*checkpoint.UnusableError](checkpoint.Copy(from, to+"2"))
	if !ok || unusable.Reason == "" {
		t.Errorf("Copy of nothing = %v; want that it is not there", unusable)
	}
	entries, err := os.ReadDir(filepath.Dir(from))
	if err != nil || len(entries) != 1 {
		t.Errorf("%v, %v are left; want the copy alone", entries, err)
	}
}

func TestWriteThatFails(t *testing.T) {
	pages := noise(1, 10*page)
	dir := store(t, image(t, nil, nil, pages), "")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := checkpoint.Write(ended, dir, checkpoint.Content{Image: opened(t, image(t, nil, nil, noise(2, page))), Uploads: t.TempDir()}); !errors.Is(err, context.Canceled) {
		t.Errorf("Write = %v; want canceled", err)
	}
	gone := opened(t, image(t, nil, nil, nil))
	if err := gone[2].Close(); err != nil {
		t.Fatal(err)
	}
	if err := checkpoint.Write(t.Context(), dir, checkpoint.Content{Image: gone, Uploads: t.TempDir()}); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Write = %v; want that the image cannot be read", err)
	}
	into, err := unpack(t, dir)
	if err != nil || content(t, into)["pages.img"] != string(pages) {
		t.Errorf("unpack = %v; want what was there before", err)
	}
	if entries, err := os.ReadDir(filepath.Dir(dir)); err != nil || len(entries) != 1 {
		t.Errorf("beside the checkpoint: %v, %v", entries, err)
	}
}

// What a writer that was killed has left is removed by the next, and by Remove, but not what is another's.
func TestLeftovers(t *testing.T) {
	dir := store(t, image(t, nil, nil, nil), "")
	parent := filepath.Dir(dir)
	leave := func(names ...string) {
		for _, name := range names {
			if err := os.MkdirAll(filepath.Join(parent, name, "base"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
	}
	there := func() (names []string) {
		entries, err := os.ReadDir(parent)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	leave(".draft-stored-1", ".draft-stored-1.old", ".draft-other-1", "other")
	if err := checkpoint.Write(t.Context(), dir, checkpoint.Content{Image: opened(t, image(t, nil, nil, nil)), Uploads: t.TempDir()}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{".draft-other-1", "other", "stored"}, there()); diff != "" {
		t.Errorf("after a write (-want +got):\n%s", diff)
	}
	leave(".draft-stored-2", ".draft-stored-removed")
	for range 2 { // what is not there is removed
		if err := checkpoint.Remove(dir); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{".draft-other-1", "other"}, there()); diff != "" {
			t.Errorf("after a removal (-want +got):\n%s", diff)
		}
	}
}

// Whatever a disk does to the files, nothing comes out that is not what went in.
func TestDamage(t *testing.T) {
	a := noise(1, 40*page)
	base := image(t, []byte("state"), nil, a)
	pages := bytes.Join([][]byte{a[:20*page], noise(2, 4*page), a[20*page:]}, nil)
	from := image(t, noise(3, 3*page), []byte("places"), pages)
	flip := func(at int64) func(data []byte) []byte {
		return func(data []byte) []byte { n := int64(len(data)); data[(at%n+n)%n] ^= 0x10; return data }
	}
	cut := func(n int) func([]byte) []byte { return func(data []byte) []byte { return data[:len(data)-n] } }
	damages := map[string]func([]byte) []byte{"cut by one": cut(1), "longer": func(d []byte) []byte { return append(d, 0) },
		"empty": func([]byte) []byte { return nil }, "cut by a half": func(d []byte) []byte { return d[:len(d)/2] }}
	for _, at := range []int64{0, 1, 5, 17, 100, 5000, -1, -2, -9} {
		damages[fmt.Sprintf("a bit at %d", at)] = flip(at)
	}
	for _, name := range []string{"manifest", "difference", "base/pages.img", "base/checkpoint.img"} {
		for what, damage := range damages {
			t.Run(name+" "+what, func(t *testing.T) {
				dir := store(t, from, base)
				file := filepath.Join(dir, name)
				data, err := os.ReadFile(file)
				if err != nil {
					t.Fatal(err)
				}
				// The file of the base is the base's own: another one takes its place here.
				if err := errors.Join(os.Remove(file), os.WriteFile(file, damage(data), 0o600)); err != nil {
					t.Fatal(err)
				}
				into, err := unpack(t, dir)
				unusable, ok := errors.AsType[*checkpoint.UnusableError](err)
				switch {
				case err == nil && !cmp.Equal(content(t, from), content(t, into)):
					t.Error("the image is not what it was, and nobody has said so")
				case err != nil && (!ok || unusable.Reason == ""):
					t.Errorf("unpack = %v; want an UnusableError", err)
				case err == nil && filepath.Dir(name) != "base": // where a base is not used, nothing is lost
					t.Error("the damage was not noticed")
				}
			})
		}
	}
	for _, name := range []string{"manifest", "difference", "base"} {
		t.Run("no "+name, func(t *testing.T) {
			dir := store(t, from, base)
			if err := os.RemoveAll(filepath.Join(dir, name)); err != nil {
				t.Fatal(err)
			}
			_, err := unpack(t, dir)
			if _, ok := errors.AsType[*checkpoint.UnusableError](err); !ok {
				t.Errorf("unpack = %v; want an UnusableError", err)
			}
		})
	}
}
