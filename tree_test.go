package runpython_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// mayImport says which packages of this module each of them may import. Arrows
// go down only: the program, what it is joined of, the transports, the turn, the
// interpreter, the sandbox. A package below never knows one above; where it
// needs something from there it declares an interface and app hands it in. A new
// package needs a line here.
var mayImport = map[string][]string{
	"": {},

	"cmd/runpython":        {"internal/about", "internal/app", "internal/cli", "internal/config", "internal/sandbox", "internal/sandbox/gvisor"},
	"internal/cli":         {"internal/audit", "internal/chat", "internal/check", "internal/check/clientconfig", "internal/check/dnssec", "internal/check/process", "internal/check/report", "internal/check/triage", "internal/cli/console", "internal/config", "internal/eval", "internal/fault", "internal/identity", "internal/llm", "internal/notebook", "internal/oauth", "internal/store"},
	"internal/notebook":    {"internal/chat", "internal/excerpt", "internal/fault"},
	"internal/eval":        {"internal/agent", "internal/chat", "internal/excerpt", "internal/fault", "internal/llm", "internal/message", "internal/pattern"},
	"internal/cli/console": {},
	"internal/app":         {"internal/about", "internal/agent", "internal/audit", "internal/caller", "internal/certs", "internal/chat", "internal/config", "internal/egress", "internal/excerpt", "internal/fault", "internal/identity", "internal/kernel", "internal/kernel/guest", "internal/limit", "internal/llm", "internal/llm/vendors", "internal/llm/wire", "internal/mcpserver", "internal/metrics", "internal/oauth", "internal/passkey", "internal/provider", "internal/pypi", "internal/pypi/build", "internal/sandbox", "internal/sandbox/interpreter", "internal/span", "internal/store", "internal/store/content", "internal/store/database", "internal/store/postgres", "internal/store/sqlite", "internal/trace", "internal/web"},
	"internal/config":      {"internal/egress", "internal/pattern", "internal/pypi/requirement"},
	"internal/mcpserver":   {"internal/about", "internal/caller", "internal/chat", "internal/excerpt", "internal/fault", "internal/identity", "internal/task", "internal/trace"},
	"internal/chat": {"internal/agent", "internal/excerpt", "internal/fault", "internal/kernel", "internal/llm", "internal/message", "internal/pypi", "internal/pypi/names", "internal/pypi/requirement",
		"internal/store", "internal/store/content"},

	"internal/agent": {"internal/excerpt", "internal/llm", "internal/message", "internal/pattern", "internal/pypi/requirement"},

	"internal/llm":           {},
	"internal/llm/wire":      {"internal/excerpt", "internal/llm", "internal/pattern"},
	"internal/llm/openai":    {"internal/llm", "internal/llm/wire"},
	"internal/llm/anthropic": {"internal/llm", "internal/llm/wire"},
	"internal/llm/retry":     {"internal/llm"},
	"internal/llm/llmtest":   {"internal/llm"},
	"internal/llm/vendors":   {"internal/llm", "internal/llm/anthropic", "internal/llm/openai", "internal/llm/retry", "internal/llm/wire"},

	"internal/identity":              {"internal/fault", "internal/limit", "internal/passkey", "internal/provider", "internal/secret", "internal/store"},
	"internal/passkey":               {"internal/fault"},
	"internal/provider":              {"internal/excerpt", "internal/fault", "internal/secret"},
	"internal/provider/providertest": {"internal/provider", "internal/servertest"},
	"internal/oauth":                 {"internal/fault", "internal/secret", "internal/store"},
	"internal/secret":                {"internal/store"},
	"internal/web":                   {"internal/excerpt", "internal/fault", "internal/identity", "internal/oauth", "internal/secret", "internal/store"},

	"internal/message":                    {},
	"internal/task":                       {},
	"internal/kernel":                     {"internal/excerpt", "internal/sandbox"},
	"internal/kernel/guest":               {},
	"internal/sandbox":                    {"internal/fault", "internal/sandbox/checkpoint", "internal/sandbox/fonts"},
	"internal/sandbox/checkpoint":         {},
	"internal/sandbox/fonts":              {},
	"internal/sandbox/gvisor":             {},
	"internal/sandbox/interpreter":        {"internal/fault", "internal/sandbox"},
	"internal/sandbox/interpreter/mklist": {},
	"internal/pypi/names":                 {"internal/pypi/requirement"},
	"internal/store":                      {},
	"internal/store/content":              {"internal/pypi/flock"},
	"internal/store/database":             {"internal/fault", "internal/store"},
	"internal/store/postgres":             {"internal/fault", "internal/store/database"},
	"internal/store/sqlite":               {"internal/fault", "internal/pypi/flock", "internal/store/database"},
	"internal/check":                      {"internal/check/dnssec", "internal/check/files", "internal/check/lint", "internal/check/probe", "internal/excerpt", "internal/fault"},
	"internal/check/clientconfig":         {"internal/check/files", "internal/check/lint", "internal/excerpt"},
	"internal/check/dnssec":               {},
	"internal/check/files":                {},
	"internal/check/lint":                 {"internal/excerpt", "internal/pattern"},
	"internal/check/probe":                {"internal/address", "internal/fault"},
	"internal/check/process":              {"internal/fault"},
	"internal/check/report":               {"internal/check", "internal/check/lint"},
	"internal/check/triage":               {"internal/check", "internal/check/files", "internal/check/lint"},
	"internal/egress":                     {"internal/address"},
	"internal/address":                    {},
	"internal/excerpt":                    {},
	"internal/pattern":                    {},
	"internal/fault":                      {},
	"internal/trace":                      {},
	"internal/metrics":                    {},
	"internal/audit":                      {"internal/pypi/flock"},
	"internal/caller":                     {},
	"internal/span":                       {"internal/trace"},
	"internal/limit":                      {},
	"internal/certs":                      {},
	"internal/certs/certstest":            {"internal/servertest"},
	"internal/about":                      {},

	"internal/pypi": {"internal/fault", "internal/pypi/build", "internal/pypi/cache", "internal/pypi/environment", "internal/pypi/flock", "internal/pypi/names", "internal/pypi/policy",
		"internal/pypi/requirement", "internal/pypi/sdist", "internal/pypi/source", "internal/pypi/uv", "internal/pypi/wheel"},
	"internal/pypi/build":       {"internal/pattern", "internal/pypi/wheel"},
	"internal/pypi/cache":       {"internal/pypi/flock", "internal/pypi/wheel"},
	"internal/pypi/environment": {"internal/pypi/flock", "internal/pypi/wheel"},
	"internal/pypi/flock":       {},
	"internal/pypi/policy":      {"internal/fault", "internal/pypi/requirement", "internal/pypi/wheel"},
	"internal/pypi/requirement": {"internal/fault", "internal/pattern"},
	"internal/pypi/sdist":       {"internal/pattern", "internal/pypi/source", "internal/pypi/wheel"},
	"internal/pypi/source":      {"internal/pattern"},
	"internal/pypi/uv":          {"internal/fault", "internal/pattern", "internal/pypi/flock", "internal/pypi/requirement", "internal/pypi/source", "internal/pypi/wheel"},
	"internal/pypi/wheel":       {"internal/pattern", "internal/pypi/requirement"},

	// Of developers; see besides.
	"bench":                {"internal/kernel", "internal/kernel/guest", "internal/sandbox", "internal/sandbox/interpreter"},
	"internal/browsertest": {},
	"internal/servertest":  {},
	"internal/extent":      {},
	"internal/guesttest":   {"internal/kernel", "internal/kernel/guest", "internal/sandbox", "internal/sandbox/interpreter"},

	"internal/store/storetest": {"internal/extent", "internal/store", "internal/store/database"},

	"internal/passkey/passkeytest": {},

	"internal/app/realmodel":       {},
	"internal/sandbox/hostiletest": {},
	"internal/check/checktest":     {},
	"internal/pypi/indextest":      {"internal/pypi/uv"},
	"internal/pypi/survey":         {"internal/pypi/names", "internal/pypi/requirement"},

	"internal/mcpserver/conformance": {"internal/mcpserver"},
	"internal/mcpserver/sdkclient":   {},
}

// besides are packages that are no part of the program. Like tests, they may use what
// they like of others' code.
var besides = []string{"bench", "internal/browsertest", "internal/certs/certstest", "internal/check/checktest", "internal/extent", "internal/guesttest", "internal/llm/llmtest", "internal/mcpserver/conformance", "internal/mcpserver/sdkclient", "internal/passkey/passkeytest", "internal/provider/providertest", "internal/pypi/indextest", "internal/pypi/survey", "internal/sandbox/interpreter/mklist", "internal/servertest", "internal/store/storetest"}

// onlyIn names the owners of foreign code: every module that go.mod requires
// directly, and packages of the standard library that need care.
var onlyIn = map[string][]string{
	"gvisor.dev/gvisor":                      {"internal/sandbox/gvisor"},
	"github.com/kluctl/go-embed-python":      {"internal/sandbox/interpreter"},
	"github.com/modelcontextprotocol/go-sdk": {"internal/mcpserver"},
	"github.com/openai/openai-go/v3":         {"internal/llm/openai"},
	"github.com/anthropics/anthropic-sdk-go": {"internal/llm/anthropic"},
	"github.com/yuin/goldmark":               {"internal/chat", "internal/cli/console", "internal/message"},
	"github.com/spf13/cobra":                 {"internal/cli"},
	"github.com/spf13/pflag":                 {"internal/cli", "internal/config"},
	"github.com/prometheus/client_golang":    {"internal/metrics"},
	"github.com/caddyserver/certmagic":       {"internal/certs"},
	"go.uber.org/zap":                        {"internal/certs"}, // what certmagic logs with
	"gopkg.in/yaml.v3":                       {"internal/check/clientconfig", "internal/check/triage", "internal/config", "internal/eval"},
	"github.com/klauspost/compress":          {"internal/sandbox/checkpoint"},
	"github.com/pressly/goose/v3":            {"internal/store/database"},
	"github.com/jackc/pgx/v5":                {"internal/store/postgres"},
	"modernc.org/sqlite":                     {"internal/store/sqlite"},
	"github.com/tiktoken-go/tokenizer":       {"internal/check/lint"},
	"golang.org/x/text":                      {"internal/check/lint", "internal/identity"},
	"github.com/google/jsonschema-go":        {"internal/check/lint"},
	"github.com/miekg/dns":                   {"internal/check/dnssec"},
	"github.com/BurntSushi/toml":             {"internal/check/clientconfig"},
	"golang.org/x/image":                     {"internal/mcpserver"},
	"golang.org/x/crypto":                    {"internal/identity"},
	"github.com/go-jose/go-jose/v4":          {"internal/oauth"},
	"github.com/go-webauthn/webauthn":        {"internal/passkey"},
	"github.com/coreos/go-oidc/v3":           {"internal/provider"},
	"golang.org/x/sync":                      {"internal/app", "internal/oauth", "internal/provider", "internal/pypi", "internal/sandbox/interpreter"},
	"golang.org/x/sys": {"internal/app", "internal/cli", "internal/cli/console", "internal/kernel",
		"internal/audit", "internal/pypi", "internal/pypi/cache", "internal/pypi/environment", "internal/pypi/flock", "internal/pypi/uv", "internal/sandbox", "internal/sandbox/checkpoint", "internal/sandbox/interpreter", "internal/store/content", "internal/store/sqlite"},
	"golang.org/x/term":   {"internal/cli", "internal/cli/console"},
	"golang.org/x/oauth2": {"internal/provider"},

	"github.com/aquasecurity/go-pep440-version": {"internal/pypi/requirement"},

	"github.com/chromedp/cdproto":              {}, // tests only
	"github.com/chromedp/chromedp":             {}, // tests only
	"github.com/creack/pty":                    {}, // tests only
	"github.com/google/go-cmp":                 {}, // tests only
	"github.com/santhosh-tekuri/jsonschema/v6": {}, // tests only
	"github.com/rogpeppe/go-internal":          {}, // tests only
	"go.uber.org/goleak":                       {}, // tests only

	// Other programs are started by these alone; config only looks for one.
	"os/exec": {"internal/check/process", "internal/config", "internal/pypi/cache", "internal/pypi/uv", "internal/sandbox", "internal/sandbox/interpreter"},
	"unsafe":  {},
	"plugin":  {},
}

// What a file and a function may be at most, tests and generated code apart
// where it says so. Complexity is the linter's business.
const (
	maxFileLines     = 500
	maxTestFileLines = 800
	maxFunctionLines = 80 // not in tests
	maxParameters    = 5  // not in tests
	maxResults       = 3
)

// tooLarge lists the exceptions with their reasons. Ten of them mean that the
// rule is wrong.
var tooLarge = map[string]string{}

// mayVary lists package variables that change, as "folder: name", with the reason.
var mayVary = map[string]string{
	"internal/kernel: readBuffers": "a pool of buffers, whose content is nobody's state",
}

// noNames are package names that say nothing.
var noNames = []string{"util", "utils", "common", "helper", "helpers", "types", "base", "core", "shared", "models", "misc"}

// A source is one Go file of the tree.
type source struct {
	path   string // with slashes, from the root
	folder string // "" for the root
	test   bool
	lines  int
	fset   *token.FileSet
	tree   *ast.File
}

// sources parses every Go file of the module, once.
var sources = sync.OnceValues(func() ([]source, error) {
	var all []source
	err := walkTree(func(name string) error {
		if !strings.HasSuffix(name, ".go") || strings.HasPrefix(name, "tools/") {
			return nil
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		s := source{path: name, folder: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), fset: token.NewFileSet()}
		if s.folder == "." {
			s.folder = ""
		}
		s.lines = strings.Count(string(text), "\n")
		s.tree, err = parser.ParseFile(s.fset, name, text, parser.ParseComments)
		all = append(all, s)
		return err
	})
	return all, err
})

// walkTree calls visit for each file that is part of the project.
func walkTree(visit func(name string) error) error {
	return filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		outside := name == ".git" || name == "bin" || name == "dist" || name == "artifacts" || d.Name() == "__pycache__" ||
			strings.HasPrefix(name, "runpython-")
		switch {
		case d.IsDir() && outside:
			return fs.SkipDir
		case d.Type().IsRegular() && !outside:
			return visit(filepath.ToSlash(name))
		}
		return nil
	})
}

func load(t *testing.T) []source {
	t.Helper()
	all, err := sources()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("no Go files found: the test does not run in the root of the module")
	}
	return all
}

// at returns where n is, as the go command prints it.
func (s source) at(n ast.Node) string { return s.fset.Position(n.Pos()).String() }

// functions calls visit for each function that s declares.
func (s source) functions(visit func(f *ast.FuncDecl)) {
	for _, d := range s.tree.Decls {
		if f, ok := d.(*ast.FuncDecl); ok {
			visit(f)
		}
	}
}

// variables calls visit for each package variable that s declares.
func (s source) variables(visit func(d *ast.GenDecl, v *ast.ValueSpec)) {
	for _, d := range s.tree.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, spec := range g.Specs {
			if v, ok := spec.(*ast.ValueSpec); ok {
				visit(g, v)
			}
		}
	}
}

func TestImportsGoDown(t *testing.T) {
	seen := map[string]bool{}
	used := map[[2]string]bool{} // who imports whom
	for _, s := range load(t) {
		allowed, listed := mayImport[s.folder]
		if !seen[s.folder] && !listed {
			t.Errorf("%s: package is not in mayImport; decide what it may import and who may import it", s.folder)
		}
		seen[s.folder] = true
		if s.test || !listed {
			continue
		}
		for _, i := range s.tree.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			ours, ok := strings.CutPrefix(name, "runpython/")
			if ok && !slices.Contains(allowed, ours) {
				t.Errorf("%s: %s may not import %s; let app hand it in through an interface", s.at(i), s.folder, ours)
			}
			used[[2]string{s.folder, ours}] = true
		}
	}
	for folder, allowed := range mayImport {
		for _, ours := range allowed {
			if !used[[2]string{folder, ours}] {
				t.Errorf("mayImport lets %s import %s, which it does not; take it out", folder, ours)
			}
		}
		if _, err := os.Stat("./" + folder); err != nil {
			t.Errorf("mayImport names %s, which does not exist", folder)
		}
	}
}

func TestForeignCodeHasAnOwner(t *testing.T) {
	for _, s := range load(t) {
		if s.test || slices.Contains(besides, s.folder) {
			continue
		}
		for _, i := range s.tree.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			owner := ownerOf(name)
			if owner == "" {
				if strings.Contains(strings.SplitN(name, "/", 2)[0], ".") {
					t.Errorf("%s: nobody owns %s; a new module needs a record in docs/adr and a line in onlyIn", s.at(i), name)
				}
				continue
			}
			if !slices.Contains(onlyIn[owner], s.folder) {
				t.Errorf("%s: only %v may import %s", s.at(i), onlyIn[owner], owner)
			}
		}
	}
}

// ownerOf returns the entry of onlyIn that covers an import, or "".
func ownerOf(name string) string {
	for n := name; n != "."; n = path.Dir(n) {
		if _, ok := onlyIn[n]; ok {
			return n
		}
	}
	return ""
}

func TestSizes(t *testing.T) {
	for _, s := range load(t) {
		if ast.IsGenerated(s.tree) {
			continue
		}
		most := maxFileLines
		if s.test {
			most = maxTestFileLines
		}
		if s.lines > most && tooLarge[s.path] == "" {
			t.Errorf("%s has %d lines, at most %d: split it by meaning", s.path, s.lines, most)
		}
		s.functions(func(f *ast.FuncDecl) {
			name := s.path + ": " + f.Name.Name
			if tooLarge[name] != "" {
				return
			}
			first, last := s.fset.Position(f.Pos()).Line, s.fset.Position(f.End()).Line
			if lines := last - first + 1; lines > maxFunctionLines && !s.test {
				t.Errorf("%s: %s has %d lines, at most %d", s.at(f), f.Name.Name, lines, maxFunctionLines)
			}
			if n := f.Type.Params.NumFields(); n > maxParameters && !s.test {
				t.Errorf("%s: %s has %d parameters, at most %d", s.at(f), f.Name.Name, n, maxParameters)
			}
			if n := f.Type.Results.NumFields(); n > maxResults {
				t.Errorf("%s: %s has %d results, at most %d", s.at(f), f.Name.Name, n, maxResults)
			}
		})
	}
	if len(tooLarge) >= 10 {
		t.Errorf("%d exceptions in tooLarge: the rule is wrong", len(tooLarge))
	}
}

func TestPackageComments(t *testing.T) {
	comments := map[string][]source{}
	names := map[string]string{}
	for _, s := range load(t) {
		if s.test {
			continue
		}
		names[s.folder] = s.tree.Name.Name
		if s.tree.Doc != nil {
			comments[s.folder] = append(comments[s.folder], s)
		}
	}
	for folder, name := range names {
		if len(comments[folder]) != 1 {
			t.Errorf("package in %q has %d package comments, want exactly one", folder, len(comments[folder]))
			continue
		}
		text := comments[folder][0].tree.Doc.Text()
		begin := []string{"Package " + name + " "}
		if name == "main" {
			begin = []string{"Command " + path.Base(folder) + " ", "Program " + path.Base(folder) + " "}
		}
		if !slices.ContainsFunc(begin, func(b string) bool { return strings.HasPrefix(text, b) }) {
			t.Errorf("%s: the package comment begins with none of %q", comments[folder][0].path, begin)
		}
		if strings.HasPrefix(folder, "internal/") {
			for _, heading := range []string{"\n# Trust\n", "\n# Failure\n"} {
				if !strings.Contains(text, heading) {
					t.Errorf("%s: the package comment has no section %q", comments[folder][0].path, strings.TrimSpace(heading))
				}
			}
		}
		if slices.Contains(noNames, name) || slices.Contains(noNames, path.Base(folder)) {
			t.Errorf("%s: a package named %s says nothing", folder, name)
		}
	}
}

func TestExportedNamesAreDocumented(t *testing.T) {
	for _, s := range load(t) {
		if s.test {
			continue
		}
		for _, d := range s.tree.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Name.IsExported() && exportedReceiver(d) && d.Doc == nil {
					t.Errorf("%s: %s has no comment", s.at(d), d.Name.Name)
				}
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if name := undocumented(d, spec); name != "" {
						t.Errorf("%s: %s has no comment", s.at(spec), name)
					}
				}
			}
		}
	}
}

func exportedReceiver(f *ast.FuncDecl) bool {
	if f.Recv == nil {
		return true
	}
	e := f.Recv.List[0].Type
	if p, ok := e.(*ast.StarExpr); ok {
		e = p.X
	}
	if g, ok := e.(*ast.IndexExpr); ok {
		e = g.X
	}
	id, ok := e.(*ast.Ident)
	return ok && id.IsExported()
}

// undocumented returns the name of an exported type, constant or variable
// without a comment of its own or of its group.
func undocumented(d *ast.GenDecl, spec ast.Spec) string {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		if spec.Name.IsExported() && spec.Doc == nil && d.Doc == nil {
			return spec.Name.Name
		}
	case *ast.ValueSpec:
		for _, n := range spec.Names {
			if n.IsExported() && spec.Doc == nil && spec.Comment == nil && d.Doc == nil {
				return n.Name
			}
		}
	}
	return ""
}

func TestNoInitFunctions(t *testing.T) {
	for _, s := range load(t) {
		s.functions(func(f *ast.FuncDecl) {
			if f.Recv == nil && f.Name.Name == "init" {
				t.Errorf("%s: no init functions; let whoever needs it construct it", s.at(f))
			}
		})
	}
}

// TestPackageVariablesDoNotChange lets a package variable be a table or a
// sentinel, never state.
func TestPackageVariablesDoNotChange(t *testing.T) {
	all := load(t)
	variables := map[string]bool{} // "folder: name"
	declared := map[any]bool{}     // their declarations, by which the parser resolves a name within a file
	for _, s := range all {
		if s.test {
			continue
		}
		s.variables(func(d *ast.GenDecl, v *ast.ValueSpec) {
			declared[v] = true
			for i, n := range v.Names {
				key := s.folder + ": " + n.Name
				variables[key] = true
				if why := stateful(d, v, i); why != "" && n.Name != "_" && mayVary[key] == "" {
					t.Errorf("%s: package variable %s %s; keep state in a value that somebody owns", s.at(n), n.Name, why)
				}
			}
		})
	}
	for _, s := range all {
		ast.Inspect(s.tree, func(n ast.Node) bool {
			for _, id := range changed(n) {
				// A name that the parser could not resolve is one of another file.
				ours := id.Obj == nil || declared[id.Obj.Decl]
				if key := s.folder + ": " + id.Name; ours && variables[key] && mayVary[key] == "" {
					t.Errorf("%s: package variable %s is changed", s.at(id), id.Name)
				}
			}
			return true
		})
	}
}

// stateful returns why the i-th variable of v is state by its declaration, or "".
func stateful(d *ast.GenDecl, v *ast.ValueSpec, i int) string {
	if i >= len(v.Values) {
		if d.Doc != nil && slices.ContainsFunc(d.Doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") }) {
			return ""
		}
		if len(v.Values) == 0 {
			return "has no value"
		}
		return ""
	}
	why := ""
	ast.Inspect(v.Values[i], func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			return false
		case *ast.SelectorExpr:
			once := strings.HasPrefix(n.Sel.Name, "Once") && n.Sel.Name != "Once" // a constant that is made when it is needed
			if id, ok := n.X.(*ast.Ident); ok && (id.Name == "sync" || id.Name == "atomic") && !once {
				why = "is made to be changed"
			}
		case *ast.CallExpr:
			if id, ok := n.Fun.(*ast.Ident); ok && (id.Name == "make" || id.Name == "new") {
				why = "is made to be changed"
			}
		}
		return true
	})
	return why
}

// changed returns the variables whose content the statement n changes.
func changed(n ast.Node) []*ast.Ident {
	var targets []ast.Expr
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			targets = n.Lhs
		}
	case *ast.IncDecStmt:
		targets = []ast.Expr{n.X}
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			targets = []ast.Expr{n.X}
		}
	case *ast.CallExpr:
		if id, ok := n.Fun.(*ast.Ident); ok && (id.Name == "delete" || id.Name == "clear") && len(n.Args) > 0 {
			targets = n.Args[:1]
		}
	}
	var ids []*ast.Ident
	for _, e := range targets {
		if id := root(e); id != nil {
			ids = append(ids, id)
		}
	}
	return ids
}

// root returns x of x, x.f, x[i] and *x.
func root(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		default:
			return nil
		}
	}
}
