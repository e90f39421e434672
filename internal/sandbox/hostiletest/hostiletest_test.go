package hostiletest_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/sandbox/hostiletest"
)

const full = `# why: all keys at once.
# kind: memory
# status: ok, memory
# stdout-has: a: b
# stdout-has: c
# stdout-not: d
# error-has: 256 MiB
# after: kept
# setup: x = 1; y = {"a": 2}
# next: x + y["a"]
# next-value: 3

# no header any more: just a comment
print("a: b")
`

func TestParse(t *testing.T) {
	want := hostiletest.Program{
		Name: "all_keys", Why: "all keys at once.", Kind: "memory", Statuses: []string{"ok", "memory"}, After: hostiletest.Kept,
		StdoutHas: []string{"a: b", "c"}, StdoutNot: []string{"d"}, ErrorHas: []string{"256 MiB"},
		Setup: `x = 1; y = {"a": 2}`, Next: `x + y["a"]`, NextValue: "3", Code: full,
	}
	got, err := hostiletest.Parse("all_keys", []byte(full))
	if err != nil {
		t.Fatalf("Parse(full) failed: %v", err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Parse(full): -want +got\n%s", diff)
	}
	for status, want := range map[string]bool{"ok": true, "memory": true, "crashed": false, "": false} {
		if got.Fits(status) != want {
			t.Errorf("Fits(%q) = %v, want %v", status, !want, want)
		}
	}
}

func TestLimit(t *testing.T) {
	for statuses, want := range map[string]time.Duration{"timeout": 3 * time.Second, "timeout, ok": 3 * time.Second, "ok, timeout": 5 * time.Second, "ok, memory": 20 * time.Second} {
		p := hostiletest.Program{Statuses: strings.Split(statuses, ", ")}
		if got := p.Limit(); got != want {
			t.Errorf("the limit with the statuses %s is %v, want %v", statuses, got, want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	const least = "# why: it is the least.\n# kind: cpu\n# status: ok\n# after: any\n\npass\n"
	if _, err := hostiletest.Parse("least", []byte(least)); err != nil {
		t.Fatalf("Parse(least) failed: %v", err)
	}
	tests := []struct{ name, replace, with, want string }{
		{"unknown key", "# kind: cpu", "# kind: cpu\n# stdout: x", `line 3: unknown key "stdout"`},
		{"unknown kind", "cpu", "gpu", `kind "gpu" is none of memory, process`},
		{"unknown status", "ok", "ok, well", `status "well" is none of ok, error`},
		{"status without blank", "ok", "ok,error", `status "ok,error" is none of`},
		{"status twice", "ok", "ok, ok", `status "ok" is named twice`},
		{"unknown after", "after: any", "after: lost", `after "lost" is none of kept, any`},
		{"key twice", "# kind: cpu", "# kind: cpu\n# kind: cpu", `"kind" stands there twice`},
		{"text twice", "# after: any", "# after: any\n# stdout-has: a\n# stdout-has: a", `"stdout-has" says "a" twice`},
		{"why missing", "# why: it is the least.\n", "", `"why" is missing`},
		{"kind missing", "# kind: cpu\n", "", `"kind" is missing`},
		{"status missing", "# status: ok\n", "", `"status" is missing`},
		{"after missing", "# after: any\n", "", `"after" is missing`},
		{"no sentence", "least.", "least", "needs a full stop"},
		{"next alone", "# after: any", "# after: any\n# next: 1", "need each other"},
		{"next-value alone", "# after: any", "# after: any\n# next-value: 1", "need each other"},
		{"kept after a crash", "ok\n# after: any", "crashed\n# after: kept", "status crashed cannot leave"},
		{"no colon", "# kind: cpu", "# kind cpu", `"# kind cpu" is not "# key: value"`},
		{"no comment", "# kind: cpu", "kind: cpu", `"kind: cpu" is not`},
		{"empty value", "# kind: cpu", "# kind: ", "empty or has blanks"},
		{"blanks", "# kind: cpu", "# kind: cpu ", "empty or has blanks"},
		{"long line", "least.", strings.Repeat("x", 200) + ".", "bytes are more than 160"},
		{"no code", "\npass\n", "\n\n", "code are needed"},
		{"no empty line", "\n\npass", "\npass", "code are needed"},
		{"carriage return", "\npass", "\r\npass", "carriage returns"},
		{"no text", "pass", "\xff", "not UTF-8"},
		{"too large", "pass", strings.Repeat("pass\n", hostiletest.MaxProgramBytes/5), "bytes are more than 16384"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text := strings.Replace(least, tt.replace, tt.with, 1)
			if text == least {
				t.Fatalf("%q is not in the text", tt.replace)
			}
			if p, err := hostiletest.Parse("x", []byte(text)); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("Parse(%q) = %+v, %v; want an error with %q", text, p, err, tt.want)
			}
		})
	}
}

func TestLoadRefuses(t *testing.T) {
	const good = "# why: it is good.\n# kind: cpu\n# status: ok\n# after: any\n\npass\n"
	for _, name := range []string{"notes.txt", "Capital.py", "two words.py", "trailing_.py", ".hidden.py"} {
		dir := t.TempDir()
		write(t, filepath.Join(dir, "good_one.py"), good)
		write(t, filepath.Join(dir, "README.md"), "# The format\n")
		write(t, filepath.Join(dir, name), good)
		programs, err := hostiletest.Load(dir)
		if err == nil || !strings.HasPrefix(err.Error(), name+": ") {
			t.Errorf("Load of a folder with %q: error %v, want one that names it", name, err)
		}
		if len(programs) != 1 || programs[0].Name != "good_one" {
			t.Errorf("Load of a folder with %q = %+v, want the good program as well", name, programs)
		}
	}
	if _, err := hostiletest.Load(filepath.Join(t.TempDir(), "missing")); err == nil {
		t.Error("Load of a missing folder succeeded")
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestCorpus keeps the corpus itself in order: it can be read, is large enough, and
// has something of every kind and every end.
func TestCorpus(t *testing.T) {
	programs, err := hostiletest.Load("../testdata/hostile")
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	if len(programs) < 70 {
		t.Errorf("%d programs, want at least 70", len(programs))
	}
	kinds, statuses, ideas := map[string]int{}, map[string]int{}, map[string]string{}
	for _, p := range programs {
		kinds[p.Kind]++
		for _, status := range p.Statuses {
			statuses[status]++
		}
		if other, ok := ideas[p.Why]; ok {
			t.Errorf("%s and %s say the same: %s", other, p.Name, p.Why)
		}
		ideas[p.Why] = p.Name
		// A text that the code itself has would be found in its traceback.
		_, code, _ := strings.Cut(p.Code, "\n\n")
		for _, text := range p.StdoutNot {
			if strings.Contains(code, text) {
				t.Errorf("%s: %q may not be in the result but is in the code", p.Name, text)
			}
		}
	}
	for _, kind := range hostiletest.Kinds() {
		if kinds[kind] < 3 {
			t.Errorf("%d programs of kind %s, want at least 3", kinds[kind], kind)
		}
	}
	for _, status := range hostiletest.Statuses() {
		if statuses[status] == 0 {
			t.Errorf("no program may end with status %s", status)
		}
	}
	if !slices.IsSortedFunc(programs, func(a, b hostiletest.Program) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("Load does not sort by name")
	}
}
