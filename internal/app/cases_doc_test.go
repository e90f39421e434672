package app_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// reportedCases is how many cases there are.
const reportedCases = 178

// TestCasesAreListed compares docs/cases.md with the tests: every id that a test
// names has a line there, and every file that a line names has the id.
func TestCasesAreListed(t *testing.T) {
	id := regexp.MustCompile(`\b(?:VAL|ASY|EXT|TIM|OUT|MEM|TXT|TZL|THR|ISO|RUN|MSG|NET|FIL|PLT|TAB|CHT|MCP|PKG|OAU)-\d\d\b`)
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "cases.md"))
	if err != nil {
		t.Fatal(err)
	}
	named := namesInTests(t, id)
	listed := map[string]bool{}
	quoted := regexp.MustCompile("`([^`]+_test\\.go|[^`]+\\.txtar)`")
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || !id.MatchString(cells[1]) {
			continue
		}
		name := strings.TrimSpace(cells[1])
		if listed[name] {
			t.Errorf("%s is listed twice", name)
		}
		listed[name] = true
		files := quoted.FindAllStringSubmatch(cells[3], -1)
		for _, f := range files {
			if !named[f[1]][name] {
				t.Errorf("%s is listed in %s, which does not name it", name, f[1])
			}
		}
		if len(files) == 0 && !regexp.MustCompile(`^ issue [4-9] $`).MatchString(cells[3]) {
			t.Errorf("%s has neither a test nor an issue: %q", name, cells[3])
		}
	}
	for file, names := range named {
		for name := range names {
			if !listed[name] {
				t.Errorf("%s names %s, which docs/cases.md does not list", file, name)
			}
		}
	}
	if len(listed) != reportedCases {
		t.Errorf("%d cases are listed, want %d", len(listed), reportedCases)
	}
}

// namesInTests returns the ids that each test file below internal names, by its path from there.
func namesInTests(t *testing.T, id *regexp.Regexp) map[string]map[string]bool {
	t.Helper()
	root := os.DirFS("..")
	named := map[string]map[string]bool{}
	err := fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") && !strings.HasSuffix(path, ".txtar") || path == "app/cases_doc_test.go" {
			return err
		}
		text, err := fs.ReadFile(root, path)
		for _, name := range id.FindAllString(string(text), -1) {
			if named[path] == nil {
				named[path] = map[string]bool{}
			}
			named[path][name] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return named
}
