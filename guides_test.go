package runpython_test

import (
	"flag"
	"go/ast"
	"go/token"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"runpython/internal/config"
)

var update = flag.Bool("update", false, "rewrite deps.txt")

// guides calls visit for each text of ours that is written in Markdown.
func guides(t *testing.T, visit func(name, text string)) {
	t.Helper()
	err := walkTree(func(name string) error {
		if !strings.HasSuffix(name, ".md") || strings.Contains(name, "testdata/") {
			return nil
		}
		text, err := os.ReadFile(name)
		visit(name, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

var (
	fenced    = regexp.MustCompile("(?ms)^```.*?^```")
	quoted    = regexp.MustCompile("`([^`\n]+)`")
	linked    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading   = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	pathShape = regexp.MustCompile(`^\.?[A-Za-z0-9_][A-Za-z0-9_.*-]*(/[A-Za-z0-9_.*-]+)*/?$`)
	fileShape = regexp.MustCompile(`\.(md|go|mod|sum|txt|py|yml|yaml|json)$|^Makefile$|^LICENSE$`)
)

// TestGuidesNamePathsThatExist looks at all that guides put into backticks and
// that looks like a path of this tree.
func TestGuidesNamePathsThatExist(t *testing.T) {
	tops := map[string]bool{}
	for _, pattern := range []string{"*", ".*", "internal/*", "internal/sandbox/*"} {
		found, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			tops[path.Base(f)] = true
		}
	}
	guides(t, func(name, text string) {
		for _, m := range quoted.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			p := m[1]
			first, _, folder := strings.Cut(p, "/")
			if !pathShape.MatchString(p) || strings.Contains(p, "NNNN") || !(folder && tops[first] || !folder && fileShape.MatchString(p)) {
				continue
			}
			if !exists(p, path.Dir(name)) {
				t.Errorf("%s names `%s`, which does not exist", name, p)
			}
		}
	})
}

// exists tells whether something matches p, from the root, from internal or
// from folder.
func exists(p, folder string) bool {
	return slices.ContainsFunc([]string{".", "internal", "internal/sandbox", folder}, func(dir string) bool {
		found, err := filepath.Glob(filepath.Join(dir, p))
		return err == nil && len(found) > 0
	})
}

func TestGuidesLinksResolve(t *testing.T) {
	guides(t, func(name, text string) {
		for _, m := range linked.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
			target, fragment, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, ":") {
				continue // not in this tree
			}
			file := name
			if target != "" {
				file = path.Join(path.Dir(name), target)
			}
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s links to %s: %v", name, m[1], err)
				continue
			}
			if fragment != "" && !slices.Contains(anchors(t, file), fragment) {
				t.Errorf("%s links to %s, but %s has no such heading", name, m[1], file)
			}
		}
	})
}

// anchors returns the names by which headings of a guide are linked.
func anchors(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, m := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(string(text), ""), -1) {
		names = append(names, strings.Map(func(r rune) rune {
			switch {
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			case r == ' ':
				return '-'
			}
			return -1
		}, m[1]))
	}
	return names
}

// TestUnwantedWords keeps out what is true on one machine only and reminders
// that nobody will find again. The words are put together here so that this
// file does not have them.
func TestUnwantedWords(t *testing.T) {
	unwanted := map[string]*regexp.Regexp{
		"a path of one machine":             regexp.MustCompile(`(/work/(` + `main|shared|steering)|/far` + `m/)(/|\W?$|[^.\w])`),
		"a reminder without an issue":       regexp.MustCompile(`\bTO` + `DO\b`),
		"a reminder that belongs elsewhere": regexp.MustCompile(`\b(FIX` + `ME|XX` + `X)\b`),
	}
	excused := regexp.MustCompile(`TO` + `DO\(issue [0-9]+\)`)
	err := walkTree(func(name string) error {
		if strings.HasSuffix(name, ".sum") || strings.Contains(name, "testdata/") {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil || !utf8.Valid(text) {
			return err
		}
		n := 0
		for line := range strings.Lines(string(text)) {
			n++
			for what, word := range unwanted {
				if word.MatchString(excused.ReplaceAllString(strings.TrimSpace(line), "")) {
					t.Errorf("%s:%d: %s: %s", name, n, what, strings.TrimSpace(line))
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestLimitsNameConstants keeps the names in docs/limits.md in step with the code.
func TestLimitsNameConstants(t *testing.T) {
	text, err := os.ReadFile("docs/limits.md")
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string]bool{}
	for _, s := range load(t) {
		for _, d := range s.tree.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				declared[d.Name.Name] = true
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if v, ok := spec.(*ast.ValueSpec); ok && d.Tok == token.CONST {
						for _, n := range v.Names {
							declared[n.Name] = true
						}
					}
				}
			}
		}
	}
	found := 0
	for _, m := range regexp.MustCompile("`([a-z]+[A-Z][A-Za-z]+|Max[A-Za-z]+|Default[A-Za-z]+)`").FindAllStringSubmatch(string(text), -1) {
		found++
		if !declared[m[1]] {
			t.Errorf("docs/limits.md names `%s`, which is neither a constant nor a function", m[1])
		}
	}
	if found == 0 {
		t.Error("docs/limits.md names no constants; did its form change?")
	}
}

// direct matches the modules that go.mod requires directly.
var direct = regexp.MustCompile(`(?m)^\t(\S+) v\S+$`)

func TestEveryModuleHasARecord(t *testing.T) {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	records, err := filepath.Glob("docs/adr/*.md")
	if err != nil {
		t.Fatal(err)
	}
	var all strings.Builder
	for _, r := range records {
		text, err := os.ReadFile(r)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	modules := direct.FindAllStringSubmatch(string(mod), -1)
	linked := 0
	for _, m := range modules {
		if len(onlyIn[m[1]]) > 0 && !strings.HasPrefix(m[1], "golang.org/x/") { // else it is for tests only, or the Go team's
			linked++
		}
	}
	if linked == 0 || linked >= 25 {
		t.Errorf("the program uses %d modules of others than the Go team directly, want some, and fewer than 25", linked)
	}
	for _, m := range modules {
		if _, ok := onlyIn[m[1]]; !ok {
			t.Errorf("go.mod requires %s, which has no owner in onlyIn", m[1])
		}
		if !strings.Contains(all.String(), "`"+m[1]+"`") {
			t.Errorf("go.mod requires %s, which no record in docs/adr explains", m[1])
		}
	}
}

// TestDependencies compares deps.txt, the modules that are linked into the
// program, with what the go command says, so that a new one shows in a review.
func TestDependencies(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("no go command on this machine")
	}
	seen := map[string]bool{}
	for _, arch := range []string{"amd64", "arm64"} {
		cmd := exec.Command("go", "list", "-deps", "-f", "{{with .Module}}{{if .Version}}{{.Path}} {{.Version}}{{end}}{{end}}", "./cmd/runpython")
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("go list: %v", err)
		}
		for line := range strings.Lines(string(out)) {
			if line = strings.TrimSpace(line); line != "" {
				seen[line] = true
			}
		}
	}
	var lines []string
	for line := range seen {
		lines = append(lines, line)
	}
	slices.Sort(lines)
	want := strings.Join(lines, "\n") + "\n"
	if *update {
		if err := os.WriteFile("deps.txt", []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile("deps.txt")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(got), want); d != "" {
		t.Errorf("deps.txt is not what the program links (-deps.txt +linked); look at each new module, then run: go test . -update\n%s", d)
	}
}

// TestFlagsAreDocumented compares docs/cli.md with the flags that exist.
func TestFlagsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	flags := config.NewFlags(config.Default(func(string) (string, bool) { return "", false }))
	set := pflag.NewFlagSet("all", pflag.ContinueOnError)
	flags.AddCommon(set)
	for _, command := range []string{"serve", "chat", "list", "show", "export", "import", "fork", "undo", "delete", "backup", "eval", "doctor", "tail", "verify", "add", "passkeys", "create", "revoke", "register", "link"} {
		own := pflag.NewFlagSet(command, pflag.ContinueOnError)
		flags.AddOf(command, own)
		set.AddFlagSet(own)
	}
	named := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `--([a-z-]+)").FindAllStringSubmatch(string(text), -1) {
		named[m[1]] = true
	}
	set.VisitAll(func(f *pflag.Flag) {
		if !named[f.Name] {
			t.Errorf("docs/cli.md has no row for --%s: %s", f.Name, f.Usage)
		}
		delete(named, f.Name)
	})
	for name := range named {
		t.Errorf("docs/cli.md has a row for --%s, which is no flag", name)
	}
}

// TestAuthRulesNameTheirTests finds each test that docs/auth.md names for a rule, and the name of each subtest in it or beside it.
func TestAuthRulesNameTheirTests(t *testing.T) {
	text, err := os.ReadFile("docs/auth.md")
	if err != nil {
		t.Fatal(err)
	}
	there := map[string]bool{}
	var texts []string
	for _, s := range load(t) {
		s.functions(func(f *ast.FuncDecl) {
			there[f.Name.Name] = true
			ast.Inspect(f, func(n ast.Node) bool {
				if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
					texts = append(texts, strings.ReplaceAll(strings.Trim(l.Value, "\"`"), " ", "_"))
				}
				return true
			})
		})
	}
	names := regexp.MustCompile("`((?:[Tt]est|Fuzz)[A-Z]\\w*)(?:/([^`]*))?`").FindAllStringSubmatch(string(text), -1)
	if len(names) < 50 {
		t.Errorf("docs/auth.md names %d tests; did its form change?", len(names))
	}
	for _, n := range names {
		if !there[n[1]] {
			t.Errorf("docs/auth.md names the test %s, which does not exist", n[1])
		}
		begins, open := strings.CutSuffix(n[2], "…")
		if !slices.ContainsFunc(texts, func(text string) bool { return text == begins || open && strings.HasPrefix(text, begins) }) && n[2] != "" {
			t.Errorf("docs/auth.md names the subtest %s, which does not exist", n[2])
		}
	}
}
