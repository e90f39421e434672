package pypi_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/extent"
	"runpython/internal/pypi"
	"runpython/internal/pypi/indextest"
)

// shop is an index with a small family of packages.
func shop(t *testing.T) *indextest.Index {
	x := indextest.New(t)
	x.Add(t, indextest.Wheel{Name: "top", Version: "1.0", Requires: []string{"leaf>=1"}})
	x.Add(t, indextest.Wheel{Name: "leaf", Version: "1.0"})
	x.Add(t, indextest.Wheel{Name: "leaf", Version: "2.0"})
	x.Add(t, indextest.Wheel{Name: "old-friend", Version: "1.0", Requires: []string{"leaf<2"}})
	x.Add(t, indextest.Wheel{Name: "new-friend", Version: "1.0", Requires: []string{"leaf>=2"}})
	x.Add(t, indextest.Wheel{Name: "socks", Version: "1.0"})
	x.Add(t, indextest.Wheel{Name: "net", Version: "1.0", Extras: []string{"socks"}, Requires: []string{"socks; extra == 'socks'"}})
	x.Add(t, indextest.Wheel{Name: "tool", Version: "1.0", EntryPoints: "[console_scripts]\ntool = tool:main\n",
		Files: map[string]string{"tool/__init__.py": "def main():\n    print('run')\n"}})
	return x
}

func TestInstallAndAskAgain(t *testing.T) {
	x := shop(t)
	b := open(t, from(x))
	var lines []string
	r, err := b.Install(t.Context(), pypi.Request{
		Folder: b.env("a"), Requirements: []string{"Top"}, Progress: func(l string) { lines = append(lines, l) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := r.Lock.String(), "leaf 2.0, top 1.0"; got != want {
		t.Errorf("installed %q, want %q", got, want)
	}
	if got := b.run(t, "a", "import top, leaf, importlib.metadata as m; print(top.__version__, leaf.__version__, m.version('leaf'))"); got != "1.0 2.0 2.0" {
		t.Errorf("imported %q", got)
	}
	if len(lines) != 4 || lines[0] != "resolving" || !strings.HasPrefix(lines[1], "downloading ") || !strings.HasSuffix(lines[1], " kB)") && !strings.HasSuffix(lines[1], " B)") || lines[3] != "installing 2 packages" {
		t.Errorf("progress %q", lines)
	}
	if !r.Resolved || r.DownloadedBytes == 0 || r.EnvironmentBytes == 0 || len(r.Added) != 2 {
		t.Errorf("report %+v", r)
	}

	// Another chat: the same costs no request at all, not even with the index away.
	x.Server.Close()
	again := b.install(t, "b", pypi.Lock{}, "top")
	if again.Resolved || again.DownloadedBytes != 0 {
		t.Errorf("asked again: %+v", again)
	}
	if diff := cmp.Diff(r.Lock, again.Lock); diff != "" {
		t.Errorf("another lock: %s", diff)
	}
	one, err := os.Stat(filepath.Join(b.env("a"), "leaf/__init__.py"))
	if err != nil {
		t.Fatal(err)
	}
	two, err := os.Stat(filepath.Join(b.env("b"), "leaf/__init__.py"))
	if err != nil || !os.SameFile(one, two) {
		t.Errorf("two environments have two files, %v", err)
	}

	// What is there needs no index; a lock that was stored makes the environment anew.
	text, err := json.Marshal(r.Lock)
	if err != nil {
		t.Fatal(err)
	}
	var lock pypi.Lock
	if err := json.Unmarshal(text, &lock); err != nil {
		t.Fatal(err)
	}
	if got := b.install(t, "a", lock, "leaf", "top"); !cmp.Equal(got.Present, []string{"leaf", "top"}) || len(got.Added) != 0 || len(got.Warnings) != 0 {
		t.Errorf("asked for what is there: %+v", got)
	}
	b.install(t, "c", lock)
	if got := names(t, b.env("c")); !cmp.Equal(got, []string{"leaf", "leaf-2.0.dist-info", "top", "top-1.0.dist-info"}) {
		t.Errorf("made of a lock: %v", got)
	}
}

func TestWhatIsThereStaysAsItIs(t *testing.T) {
	b := open(t, from(shop(t)))
	r := b.install(t, "a", pypi.Lock{}, "old-friend")
	r = b.install(t, "a", r.Lock, "top")
	if got, want := r.Lock.String(), "leaf 1.0, old-friend 1.0, top 1.0"; got != want || len(r.Changed) != 0 {
		t.Errorf("installed %q, changed %v; want %q and none", got, r.Changed, want)
	}
	if diff := cmp.Diff([]string{"old-friend", "top"}, r.Lock.Requirements); diff != "" {
		t.Errorf("requirements: %s", diff)
	}
}

// PKG-15: what is loaded can be told from what is installed.
func TestPKG15ChangedVersionIsTold(t *testing.T) {
	extent.Slow(t)
	b := open(t, from(shop(t)))
	r := b.install(t, "a", pypi.Lock{}, "leaf<2")
	r = b.install(t, "a", r.Lock, "leaf>=2")
	if diff := cmp.Diff([]string{"leaf>=2"}, r.Lock.Requirements); diff != "" {
		t.Errorf("requirements: %s", diff)
	}
	if len(r.Changed) != 1 || r.Changed[0].From != "1.0" || r.Changed[0].Version != "2.0" || !cmp.Equal(r.Changed[0].Imports, []string{"leaf"}) {
		t.Errorf("changed %+v", r.Changed)
	}
	if got := b.run(t, "a", "import leaf, importlib.metadata as m; print(leaf.__version__, m.version('leaf'))"); got != "2.0 2.0" {
		t.Errorf("imported %q", got)
	}
	if got := names(t, b.env("a")); !cmp.Equal(got, []string{"leaf", "leaf-2.0.dist-info"}) {
		t.Errorf("environment has %v", got)
	}
}

// PKG-17: what must stay as it is stays.
func TestPKG17ConstraintsProtect(t *testing.T) {
	b := open(t, from(shop(t)))
	message := b.fails(t, pypi.Request{Folder: b.env("a"), Requirements: []string{"new-friend"}, Constraints: []string{"leaf==1.0"}})
	if !strings.Contains(message, "new-friend") || !strings.Contains(message, "leaf") {
		t.Errorf("message %q", message)
	}
	if got := b.refused(t, "old-friend", "new-friend"); !strings.Contains(got, "old-friend needs leaf <2") && !strings.Contains(got, "old-friend 1.0 needs leaf <2") || !strings.Contains(got, "leaf >=2") {
		t.Errorf("message %q", got)
	}
}

// PKG-18: brackets survive.
func TestPKG18ExtrasArrive(t *testing.T) {
	extent.Slow(t)
	b := open(t, from(shop(t)))
	if got := b.install(t, "a", pypi.Lock{}, "net[socks]").Lock.String(); got != "net 1.0, socks 1.0" {
		t.Errorf("installed %q", got)
	}
	r := b.install(t, "c", pypi.Lock{}, "net>=1")
	if r = b.install(t, "c", r.Lock, "net[socks]"); r.Lock.String() != "net 1.0, socks 1.0" || !cmp.Equal(r.Lock.Requirements, []string{"net[socks]>=1"}) {
		t.Errorf("installed %q for %q", r.Lock, r.Lock.Requirements)
	}
	if r := b.install(t, "b", pypi.Lock{}, "net[nothing]"); len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0], "nothing") {
		t.Errorf("warnings %q", r.Warnings)
	}
}

func TestScripts(t *testing.T) {
	b := open(t, from(shop(t)))
	b.install(t, "a", pypi.Lock{}, "tool")
	name := filepath.Join(b.env("a"), "bin", "tool")
	text, err := os.ReadFile(name)
	if err != nil || !strings.HasPrefix(string(text), "#!/opt/python/bin/python3\n") {
		t.Fatalf("script %q, %v", text, err)
	}
	info, err := os.Stat(name)
	if err != nil || info.Mode().Perm() != 0o555 {
		t.Errorf("mode %v, %v; want 0555", info.Mode(), err)
	}
	if got := b.run(t, "a", "import runpy; runpy.run_path("+quote(name)+", run_name='__main__')"); got != "run" {
		t.Errorf("script printed %q", got)
	}
}

// PKG-19, PKG-20: what is no requirement is refused before anything is asked or started.
func TestPKG19PKG20NothingStarts(t *testing.T) {
	x := shop(t)
	b := open(t, from(x))
	for _, text := range []string{"six; touch /tmp/pwned", "--index-url=http://127.0.0.1:9/", "-r /etc/passwd", "six\n--pre",
		"git+https://example.test/x.git", "six @ http://169.254.169.254/six.whl", "./evil.whl", "file:///etc/passwd"} {
		b.refused(t, text)
	}
	if asked := x.Asked(); len(asked) > 0 {
		t.Errorf("the index was asked %v", asked)
	}
}

// An environment that was made before its wheels were compiled gets the bytecode later,
// beside its own sources only.
func TestBytecodeComesLater(t *testing.T) {
	extent.Slow(t)
	x := shop(t)
	x.Add(t, indextest.Wheel{Name: "clash", Version: "1.0", Files: map[string]string{"clash/sub/x.py": "x = 1\n"}})
	b := open(t, from(x))
	r := b.install(t, "a", pypi.Lock{}, "clash")
	if err := b.Compile(t.Context(), r.Lock); err != nil {
		t.Fatal(err)
	}
	b.Close() // what the background has begun is ended now
	for _, name := range []string{"clash/__pycache__/__init__.cpython-314.pyc", "clash/sub/__pycache__/x.cpython-314.pyc"} {
		if _, err := os.Stat(filepath.Join(b.env("a"), name)); err != nil {
			t.Error(err)
		}
	}
	if got := b.run(t, "a", "import clash.sub.x as m; print(m.__cached__.endswith('.pyc'), m.x)"); got != "True 1" {
		t.Errorf("import says %q", got)
	}
	if _, err := os.Stat(filepath.Join(b.env("a"), ".runpython.new")); err == nil {
		t.Error("the stage is left")
	}
}

// Of one request all conditions count, and they replace those of earlier ones.
func TestConditionsOfOneRequest(t *testing.T) {
	extent.Slow(t)
	b := open(t, from(shop(t)))
	if got := b.refused(t, "leaf==1.0", "leaf==2.0"); !strings.Contains(got, "leaf 1.0 and leaf 2.0 do not go together") {
		t.Errorf("message %q", got)
	}
	r := b.install(t, "a", pypi.Lock{}, "leaf>=1", "leaf<2")
	if got, want := r.Lock.String(), "leaf 1.0"; got != want {
		t.Errorf("installed %q, want %q", got, want)
	}
	if r = b.install(t, "a", r.Lock, "leaf"); r.Lock.String() != "leaf 1.0" {
		t.Errorf("asked for without a condition: %q, want what is there", r.Lock)
	}
	if r = b.install(t, "a", r.Lock, "leaf>1"); r.Lock.String() != "leaf 2.0" {
		t.Errorf("asked for anew: %q, want the new wish", r.Lock)
	}
}
