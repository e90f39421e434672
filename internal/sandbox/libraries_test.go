package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// newSystem makes a system of the files, NAME or NAME -> TARGET.
func newSystem(t *testing.T, arch string, files ...string) system {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		name, target, isLink := strings.Cut(file, " -> ")
		path := root + name
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if isLink {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, nil, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return system{root: root, arch: arch}
}

// Without tools of the host guests see its libraries, and no more of it than its distribution makes
// inevitable.
func TestLibraries(t *testing.T) {
	tests := []struct {
		name, arch          string
		files               []string
		binds, links, mixed []string
		whole               []string
	}{
		{
			name: "Debian", arch: "amd64",
			files: []string{
				"/usr/lib/x86_64-linux-gnu/libc.so.6", "/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2", "/usr/lib/locale/C.utf8/LC_CTYPE",
				"/usr/lib/git-core/git", "/lib -> usr/lib", "/lib64 -> usr/lib64", "/usr/lib64/ld-linux-x86-64.so.2 -> ../lib/x86_64-linux-gnu/ld-linux-x86-64.so.2",
			},
			binds: []string{"/usr/lib/locale", "/usr/lib/x86_64-linux-gnu", "/usr/lib64"},
			links: []string{"/lib -> usr/lib", "/lib64 -> usr/lib64"},
			whole: []string{"/usr/lib", "/usr/lib64"},
		},
		{
			name: "Debian, whose loader is in a folder that is not shown", arch: "arm64",
			files: []string{
				"/usr/lib/aarch64-linux-gnu/libc.so.6", "/usr/lib/aarch64-linux-gnu/ld-linux-aarch64.so.1", "/usr/lib/git-core/git",
				"/lib -> usr/lib", "/usr/lib/ld-linux-aarch64.so.1 -> aarch64-linux-gnu/ld-linux-aarch64.so.1",
			},
			binds: []string{"/usr/lib/aarch64-linux-gnu"},
			links: []string{"/lib -> usr/lib", "/usr/lib/ld-linux-aarch64.so.1 -> /usr/lib/aarch64-linux-gnu/ld-linux-aarch64.so.1"},
			whole: []string{"/usr/lib"},
		},
		{
			name: "Debian before /lib and /usr/lib became one", arch: "amd64",
			files: []string{
				"/lib/x86_64-linux-gnu/libc.so.6", "/lib/x86_64-linux-gnu/ld-2.31.so", "/lib/systemd/systemd", "/usr/lib/x86_64-linux-gnu/libz.so",
				"/usr/lib/git-core/git", "/lib64/ld-linux-x86-64.so.2 -> ../lib/x86_64-linux-gnu/ld-2.31.so",
			},
			binds: []string{"/lib/x86_64-linux-gnu", "/lib64", "/usr/lib/x86_64-linux-gnu"},
			whole: []string{"/lib", "/lib64", "/usr/lib"},
		},
		{
			name: "Fedora", arch: "amd64",
			files: []string{
				"/usr/lib64/libc.so.6", "/usr/lib64/ld-linux-x86-64.so.2", "/usr/lib/locale/C.utf8/LC_CTYPE", "/usr/lib/systemd/systemd",
				"/lib -> usr/lib", "/lib64 -> usr/lib64",
			},
			binds: []string{"/usr/lib/locale", "/usr/lib64"},
			links: []string{"/lib -> usr/lib", "/lib64 -> usr/lib64"},
			whole: []string{"/usr/lib", "/usr/lib64"},
		},
		{
			name: "Arch, which has one folder for all", arch: "amd64",
			files: []string{
				"/usr/lib/libc.so.6", "/usr/lib/ld-linux-x86-64.so.2", "/usr/lib/locale/C.utf8/LC_CTYPE", "/usr/lib/systemd/systemd",
				"/lib -> usr/lib", "/lib64 -> usr/lib", "/usr/lib64 -> lib",
			},
			binds: []string{"/usr/lib"},
			links: []string{"/lib -> usr/lib", "/lib64 -> usr/lib", "/usr/lib64 -> lib"},
			mixed: []string{"/usr/lib"},
			whole: []string{"/usr/lib"},
		},
		{
			name: "an unknown layout", arch: "arm64",
			files: []string{"/lib/libc.so.6", "/lib/ld-linux-aarch64.so.1", "/usr/lib/libz.so"},
			binds: []string{"/lib", "/usr/lib"},
			mixed: []string{"/lib", "/usr/lib"},
			whole: []string{"/lib", "/usr/lib"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := newSystem(t, test.arch, test.files...)
			entries, binds := s.libraries(false)
			if diff := cmp.Diff(test.binds, binds); diff != "" {
				t.Errorf("shown without tools (-want +got):\n%s", diff)
			}
			folders := map[string]bool{}
			var links []string
			for _, e := range entries {
				if e.link != "" {
					links = append(links, e.path+" -> "+e.link)
				}
				folders[e.path] = e.mode.IsDir()
			}
			if diff := cmp.Diff(test.links, links); diff != "" {
				t.Errorf("links (-want +got):\n%s", diff)
			}
			for _, bind := range binds {
				if !folders[bind] {
					t.Errorf("the root has no folder %s to mount to", bind)
				}
			}
			if diff := cmp.Diff(test.mixed, s.mixed()); diff != "" && len(test.mixed)+len(s.mixed()) > 0 {
				t.Errorf("mixed (-want +got):\n%s", diff)
			}
			if _, binds := s.libraries(true); !cmp.Equal(test.whole, binds) {
				t.Errorf("shown with tools: %v; want %v", binds, test.whole)
			}
		})
	}
}
