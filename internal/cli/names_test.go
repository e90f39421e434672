package cli_test

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"runpython/internal/cli"
)

func TestSafePath(t *testing.T) {
	long := strings.Repeat("é", 200)
	for name, want := range map[string]string{
		"data.csv":                     "data.csv",
		"sub/Ünï 你好 (1).csv":           "sub/Ünï 你好 (1).csv",
		"../../etc/passwd":             "etc/passwd",
		"/etc/passwd":                  "etc/passwd",
		`..\..\boot.ini`:               "_._.._boot.ini",
		"a/./b//c/":                    "a/b/c",
		".bashrc":                      "_bashrc",
		"-rf":                          "_rf",
		"":                             "_",
		"...":                          "_",
		" ":                            "_",
		"a. . ":                        "a",
		"a\x00b\nc\x1b[2J":             "a_b_c_[2J",
		"\u202egnp.exe":                "_gnp.exe",
		"C:name":                       "C_name",
		long + ".csv":                  strings.Repeat("é", 58) + ".csv",
		"x." + long:                    "x." + strings.Repeat("é", 59),
		strings.Repeat("d/", 50) + "x": strings.Repeat("d/", 8) + "x",
	} {
		if got := cli.SafePath(name); got != want {
			t.Errorf("safePath(%q) = %q, want %q", name, got, want)
		}
	}
}

func FuzzSafePath(f *testing.F) {
	for _, seed := range []string{"../a", "a/..", "/", "\xff", "a\u202eb", ".", "-", "a. ", ". .", "\u00a0"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		got := cli.SafePath(name)
		if !filepath.IsLocal(got) || !utf8.ValidString(got) || strings.Contains(got, `\`) {
			t.Errorf("safePath(%q) = %q", name, got)
		}
		for part := range strings.SplitSeq(got, "/") {
			if part == "" || len(part) > 120 || strings.ContainsAny(part[:1], ".- ") {
				t.Errorf("safePath(%q) = %q, part %q", name, got, part)
			}
			if strings.ContainsFunc(part, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Cf, r) }) {
				t.Errorf("safePath(%q) = %q", name, got)
			}
		}
	})
}
