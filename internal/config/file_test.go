package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every kind of mistake in a file is refused with its line.
func TestFileMistakes(t *testing.T) {
	for _, tt := range []struct{ name, text, want string }{
		{"unknown key", "\nnetwork: true\n", ":2: network: unknown setting"},
		{"config in itself", "config: x\n", ":1: config: unknown setting"},
		{"key twice", "pool: 1\npool: 2\n", ":2: pool: already set in line 1"},
		{"text for a number", "processes: \"64\"\n", ":1: processes: must be a whole number (4 to 4096), not text"},
		{"number for a time", "run-timeout: 60\n", ":1: run-timeout: must be text (1s to 24h), not a whole number"},
		{"float for a count", "pool: 1.5\n", "not a number"},
		{"yes is text", "host-tools: yes\n", ":1: host-tools: must be true or false, not text"},
		{"number for a path", "data: 5\n", "must be text, not a whole number"},
		{"no value", "memory:\n", "not nothing"},
		{"list for one value", "memory: [1g]\n", "not a list"},
		{"mapping", "memory: {size: 1g}\n", "not a mapping"},
		{"mapping in a list", "file: [{a: b}]\n", "must be text or a list of them, not a mapping"},
		{"alias", "data: &a /srv\nrunsc: *a\n", "not an alias"},
		{"key that is no text", "[a, b]: 1\n", "unknown setting"},
		{"top is a list", "- memory\n", "must be a list of \"name: value\" lines"},
		{"top is text", "memory\n", "must be a list of"},
		{"two documents", "pool: 1\n---\npool: 2\n", "one YAML document"},
		{"broken", "memory: [\n", "line"},
		{"tab", "memory:\t- x\n\t- y", ""},
		{"tag", "memory: !size 1g\n", "a value of type !size"},
		{"binary", "memory: !!binary aGVsbG8=\n", "must be"},
		{"too large", "# " + strings.Repeat("x", 70_000), "at most 64KiB"},
		{"alias bomb", "a: &a [x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a]\nc: [*b,*b]\n", "unknown setting"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := file(t, tt.text)
			_, err := load(environ(), "--config", path)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), path) {
				t.Errorf("error = %v; want the path and %q", err, tt.want)
			}
		})
	}
}

func TestFileThatIsFine(t *testing.T) {
	for _, tt := range []struct{ name, text string }{
		{"empty", ""},
		{"comment", "# nothing\n"},
		{"null document", "---\n...\n"},
		{"every type", "memory: 1073741824\ncpus: 1\nhost-tools: false\nrun-timeout: 5m\nfile: one\njson: true\n"},
		{"BOM and CRLF", "\ufeffpool: 1\r\nmemory: 2g\r\n"},
		{"of another command", "listen: 127.0.0.1:1\noutput: out\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := load(environ(), "--config", file(t, tt.text)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestFileThatCannotBeRead(t *testing.T) {
	for path, want := range map[string]string{
		filepath.Join(t.TempDir(), "none.yaml"): "no such file",
		os.DevNull:                              "must be a regular file",
		t.TempDir():                             "must be a regular file",
	} {
		if _, err := load(environ(), "--config", path); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("--config %s: %v; want %q", path, err, want)
		}
	}
}

// No bytes may crash the reader or be read as settings out of range.
func FuzzFile(f *testing.F) {
	for _, seed := range []string{"memory: 1g\n", "a: &a [*a]\n", "<<: {pool: 1}\n", "? - a\n: b\n", "pool: !!int \"1\"\n", "%YAML 1.1\n---\n"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(t.TempDir(), "f.yaml")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := load(environ(), "--config", path)
		if err == nil && (c.MemoryBytes < 64<<20 || c.MemoryBytes > 1<<40 || c.Pool < 0 || c.Pool > 64) {
			t.Errorf("%q gave %+v, out of range", text, c)
		}
		if _, ok := err.(interface{ Unwrap() []error }); err != nil && !ok {
			t.Errorf("%q: error of type %T", text, err)
		}
	})
}
