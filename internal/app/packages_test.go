package app_test

import (
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/app"
	"runpython/internal/chat"
	"runpython/internal/config"
	"runpython/internal/extent"
	"runpython/internal/guesttest"
	"runpython/internal/pypi/indextest"
)

// wheelFolder makes a folder of small wheels.
func wheelFolder(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, w := range []indextest.Wheel{
		{Name: "cowsay", Version: "5.0"},
		{Name: "cowsay", Version: "6.1"},
		{Name: "needy", Version: "1.0", Requires: []string{"cowsay<6"}},
		{Name: "six", Version: "1.15.0"},
		{Name: "six", Version: "1.16.0"},
		{Name: "scikit-image", Version: "0.25", NoPackage: true, Files: map[string]string{"skimage/__init__.py": "from skimage import data\n", "skimage/data.py": "N = 7\n"}},
		{Name: "requests", Version: "2.32", Requires: []string{"PySocks; extra == 'socks'"}, Extras: []string{"socks"}},
		{Name: "PySocks", Version: "1.7", NoPackage: true, Files: map[string]string{"socks.py": "N = 1\n"}},
		{
			Name: "tool", Version: "1", EntryPoints: "[console_scripts]\nmoo = tool:main\n",
			Files: map[string]string{"tool/__init__.py": "import sys\ndef main(): print('moo', *sys.argv[1:])\n", "tool.pth": "import os; os.write(1, b'run at the start')\n"},
		},
		{Name: "in-house", Version: "2024.1"},
		{Name: "first-use", Version: "1", Files: map[string]string{"first_use/__init__.py": firstUse}},
		{Name: "old-spelling", Version: "1", Files: map[string]string{"old_spelling/__init__.py": "PATTERN = '\\s'\n"}},
		{Name: "lacking", Version: "1", Files: map[string]string{"lacking/__init__.py": "def read():\n    try:\n        import needy\n    except ImportError:\n        raise ValueError('needy is wanted')\n    return needy.__version__\n"}},
	} {
		if err := os.WriteFile(filepath.Join(dir, w.File()), w.Bytes(t), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// firstUse is a package that keeps what it has computed beside itself, or else where others
// may write, and fetches data.
const firstUse = `import os, pathlib, tempfile, urllib.request

def cut():
    for folder in (pathlib.Path(__file__).parent, pathlib.Path.home() / ".first", pathlib.Path(tempfile.gettempdir())):
        try:
            folder.mkdir(exist_ok=True)
            (folder / "cache").write_text("computed")
            return str(folder)
        except OSError:
            pass

def fetch():
    return urllib.request.urlopen("https://data.example.test/model.bin", timeout=30).read()
`

// fromFolder makes a program take packages from a folder of wheels alone.
func fromFolder(t *testing.T, wheels string) func(*config.Config, *app.Build) {
	t.Helper()
	uv := indextest.UV(t)
	return func(c *config.Config, _ *app.Build) {
		c.Packages, c.UV, c.FindLinks, c.NoIndex = config.PackagesAuto, uv, []string{wheels}, true
	}
}

// fromIndex makes a program take packages from the index that the machine uses.
func fromIndex(t *testing.T) func(*config.Config, *app.Build) {
	t.Helper()
	uv := indextest.UV(t)
	return func(c *config.Config, b *app.Build) {
		c.Packages, c.UV, b.Environ = config.PackagesAuto, uv, os.Environ()
	}
}

// loseGuest is code that breaks the guest's protocol, and with it ends the guest.
const loseGuest = "import sys, time\na = sys.stdin._asking\na._channel.send({'op': 'ask', 'n': a._run, 'id': 1}, b'x' * 5000)\ntime.sleep(60)"

// What people asked for and did not get of others, with packages of a folder of wheels.
var packageScenarios = []scenario{
	{"PKG-04: names that differ, and PKG-27: nothing is said beside", []step{
		{send: "from skimage import data\ndata.N", value: "7", text: []string{"Installed scikit-image 0.25."}, never: []string{"Note:", "arning"}},
		{send: "import skimage\nskimage.data.N", value: "7", never: []string{"Installed", "Note:"}},
	}},
	{"PKG-05, PKG-07: what is imported, and nothing else", []step{
		{send: "'''Notes:\nimport cowsay\nfrom six import moves\n'''\n# import tool\nfrom os.path import join\nprint('hello')", stdout: "hello\n", never: []string{"nstalled"}},
	}},
	{"VAL-06", []step{
		{send: "import cowsay\nprint('only this')", stdout: "only this\n", text: []string{"Installed cowsay 6.1."}},
	}},
	{"RUN-07: a package that only the operator has", []step{
		{send: "import in_house\nin_house.__version__", value: "'2024.1'", text: []string{"Installed in-house 2024.1."}},
	}},
	{"PKG-09: an invented name", []step{
		{
			send: "print('before')\nimport cowsay_pro_max, cowsay", stdout: "before\n", failure: []string{"No module named 'cowsay_pro_max'"},
			text: []string{`Not installed, although the code imports it: the folders of wheels have no package named "cowsay-pro-max"`, "Installed cowsay 6.1."},
		},
		{send: "!pip install cowsay_pro_max\nprint('not run')", failure: []string{""}, check: func(r *chat.Reply) string {
			return unless(r.IsError && len(r.Runs) == 0 && strings.Contains(r.Text, "Nothing was run, since what the message asks for is not there: the folders of wheels have no package named"), "text %s", r.Text)
		}},
		{send: "print(cowsay)", failure: []string{"NameError"}},
	}},
	{"PKG-15: another version of what is loaded", []step{
		{send: "!pip install six==1.15.0\nimport six; print(six.__version__)", stdout: "1.15.0\n", text: []string{"Installed six 1.15.0."}},
		{
			send: "!pip install six==1.16.0\nimport six; print(six.__version__)", stdout: "1.15.0\n",
			text: []string{"Installed six 1.16.0 (it was 1.15.0).", "six: loaded before another version was installed, the old one goes on in this chat"},
		},
		{send: "import os; os._exit(0)", failure: []string{"ended with status 0"}},
		{send: "import six; print(six.__version__)", stdout: "1.16.0\n", state: chat.Reset},
	}},
	{"PKG-16: a package installed while the interpreter runs", []step{
		{send: "try:\n    import cowsay\nexcept ModuleNotFoundError:\n    print('missing')", stdout: "missing\n"},
		{send: "try:\n    import cowsay\nexcept ModuleNotFoundError:\n    pass\nimport cowsay\nprint('ok')", stdout: "ok\n", text: []string{"Installed cowsay 6.1."}},
	}},
	{"PKG-17: versions that do not fit", []step{
		{send: "!pip install needy 'cowsay>=6'", failure: []string{""}, check: func(r *chat.Reply) string {
			return unless(r.IsError && len(r.Runs) == 0 && strings.Contains(r.Text, "needy") && strings.Contains(r.Text, "cowsay"), "text %s", r.Text)
		}},
	}},
	{"PKG-18: extras", []step{
		{send: "!pip install requests[socks]\nimport requests, socks\nsocks.N", value: "1", text: []string{"Installed requests 2.32, pysocks 1.7."}},
	}},
	{"PKG-23: requirements within a script", []step{
		{send: "# /// script\n# requires-python = '>=3.9'\n# dependencies = ['cowsay<6']\n# ///\nimport cowsay\nprint('ok', cowsay.__version__)", stdout: "ok 5.0\n", text: []string{"Installed cowsay 5.0."}},
	}},
	{"PKG-33", []step{
		{send: "import first_use\nfirst_use.cut()", value: "'/tmp/.first'", text: []string{"Installed first-use 1."}},
		{send: "first_use.fetch()", failure: []string{"URLError"}, text: []string{noNetwork}},
		{send: "first_use.cut()", value: "'/tmp/.first'"},
	}},
	{"warnings of the compiler", []step{
		{send: "import old_spelling\nold_spelling.PATTERN", value: `'\\s'`},
		{send: `print('\s')`, stdout: "\\s\n", stderr: anything, text: []string{"SyntaxWarning"}},
		{send: "open('mine.py', 'w').write(\"P = '\\\\s'\")\nimport mine", stderr: anything, text: []string{"SyntaxWarning"}, files: []string{"mine.py"}},
	}},
	{"what a package imports only when it needs it", []step{
		{send: "import lacking\nlacking.read()", failure: []string{"needy is wanted"}, text: []string{`Note: a package needs the module needy, which did not come with it: the line "import needy" gets it installed`}},
		{send: "import needy\nlacking.read()", value: "'1.0'", text: []string{"Installed needy 1.0"}},
	}},
	{"a guest that is lost", []step{
		{send: "import needy\nneedy.__version__", value: "'1.0'", text: []string{"needy 1.0", "cowsay 5.0"}},
		{send: "needy.__version__", value: "'1.0'", never: []string{"nstalled"}},
		{send: loseGuest, failure: []string{"The variables are lost"}},
		{send: "import needy, cowsay\nneedy.__version__, cowsay.__version__", value: "('1.0', '5.0')", state: chat.Reset, never: []string{"nstalled"}},
	}},
	{"programs and processes", []step{
		{send: "!pip install tool\nimport subprocess, sys\nprint(subprocess.run(['moo', 'a'], capture_output=True, text=True))", stdout: anything, check: func(r *chat.Reply) string {
			return unless(strings.Contains(r.Runs[0].Stdout, "stdout='moo a\\n', stderr=''"), "%s", r.Runs[0].Stdout)
		}},
		{send: "print(subprocess.run([sys.executable, '-c', 'import tool; tool.main()'], capture_output=True, text=True).stdout)", stdout: "moo\n\n"},
	}},
}

func packageCases(t *testing.T, data string) {
	wheels := wheelFolder(t)
	a := openAt(t, data, fromFolder(t, wheels))
	play(t, a, packageScenarios)
}

// Chats have packages of their own, also when many ask at once.
func TestChatsDoNotSharePackages(t *testing.T) {
	extent.Long(t)
	wheels := wheelFolder(t)
	a := openAt(t, guesttest.Data(t), fromFolder(t, wheels))
	versions := []string{"1.15.0", "1.16.0", "1.15.0", "1.16.0"}
	ids := make([]string, len(versions))
	got := make([]string, len(versions))
	var all sync.WaitGroup
	for i, v := range versions {
		all.Go(func() {
			r, err := a.Turn(t.Context(), chat.Request{Message: "!pip install six==" + v + "\nimport six\nsix.__version__"})
			if err != nil {
				t.Errorf("turn: %v", err)
				return
			}
			ids[i], got[i] = r.ChatID, strings.Trim(r.Runs[0].Value, "'")
		})
	}
	all.Wait()
	if diff := cmp.Diff(versions, got); diff != "" {
		t.Errorf("versions (-want +got):\n%s", diff)
	}
	for i, id := range ids {
		if r := send(t, a, chat.Request{ChatID: id, Message: "import importlib, sys\ndel sys.modules['six']\nimport six\nsix.__version__"}); strings.Trim(r.Runs[0].Value, "'") != versions[i] {
			t.Errorf("later: %s\nwant %s", r.Text, versions[i])
		}
	}
}

// The operator's list decides, for what is imported and for what is asked for by name.
func TestListedPackages(t *testing.T) {
	extent.Long(t)
	change := fromFolder(t, wheelFolder(t))
	a := openAt(t, guesttest.Data(t), func(c *config.Config, b *app.Build) {
		change(c, b)
		c.Packages, c.AllowPackages, c.Pool = config.PackagesListed, []string{"needy"}, 0
	})
	scenario{"", []step{
		{send: "import needy, cowsay\nprint(cowsay.__version__)", stdout: "5.0\n", text: []string{"Installed needy 1.0, cowsay 5.0."}, never: []string{"refused"}}, // needy needs it
		{send: "import skimage", failure: []string{"No module named 'skimage'"}, text: []string{"Not installed, although the code imports it: scikit-image is refused: it is not on this server's list"}},
		{send: "!pip install six\nprint('not run')", failure: []string{""}, text: []string{"six is refused: it is not on this server's list of allowed packages (--allow-package six"}},
		{send: "needy.__version__", value: "'1.0'"},
	}}.play(t, a)
}

// deadIndex is the URL of an index that cannot be reached.
func deadIndex(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + listener.Addr().String() + "/simple"
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return address
}

// PKG-31: nothing needs the index but an install, and that says so in one line.
func TestWithoutAnIndex(t *testing.T) {
	extent.Long(t)
	address := deadIndex(t)
	uv := indextest.UV(t)
	a := openAt(t, guesttest.Data(t), func(c *config.Config, b *app.Build) {
		c.Packages, c.UV, c.IndexURL, b.Environ = config.PackagesAuto, uv, config.NewSecret(address), []string{"NO_PROXY=127.0.0.1"}
	})
	if r := send(t, a, chat.Request{Message: "print('Hello')"}); r.IsError || r.Runs[0].Stdout != "Hello\n" {
		t.Errorf("without imports: %s", r.Text)
	}
	r := send(t, a, chat.Request{Message: "import pandas"})
	if !r.IsError || len(r.Problems) != 1 || !strings.Contains(r.Problems[0], "the package index cannot be reached") {
		t.Errorf("problems %q, text %s", r.Problems, r.Text)
	}
}

// Close ends an install that is under way.
func TestCloseEndsAnInstall(t *testing.T) {
	extent.Long(t)
	listener, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	uv := indextest.UV(t)
	c := unset()
	c.Data, c.Pool, c.UV = guesttest.Data(t), 0, uv
	c.IndexURL = config.NewSecret("http://" + listener.Addr().String() + "/simple")
	b := build(t)
	b.Environ = []string{"NO_PROXY=127.0.0.1"}
	a, err := app.Open(t.Context(), c, guesttest.Log(t), b)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan string, 1)
	go func() {
		r, err := a.Turn(context.WithoutCancel(t.Context()), chat.Request{Message: "!pip install pandas"})
		if r != nil {
			err = errors.New(r.Text)
		}
		ended <- err.Error()
	}()
	connection, err := listener.Accept() // from now on it is under way
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if err := a.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
	if text := <-ended; !strings.Contains(text, "stopped") {
		t.Errorf("the call says %q", text)
	}
}

// needIndex skips a test whose call says that the package index cannot be reached.
func needIndex(t *testing.T, r *chat.Reply) {
	t.Helper()
	if strings.Contains(r.Text, "cannot be reached") {
		t.Skipf("the package index cannot be reached: %s", r.Text)
	}
}

// The package that most people come for, from the real index.
func TestRealIndex(t *testing.T) {
	extent.Long(t)
	a := openAt(t, guesttest.Data(t), fromIndex(t))
	r := send(t, a, chat.Request{Message: "import pandas as pd\nint(pd.DataFrame({'a': [1, 2]}).a.sum())"})
	needIndex(t, r)
	if r.IsError || r.Runs[0].Value != "3" || !strings.Contains(r.Text, "Installed pandas ") || !strings.Contains(r.Text, "numpy ") {
		t.Fatalf("the first call:\n%s", r.Text)
	}
	id := r.ChatID
	if r = send(t, a, chat.Request{ChatID: id, Message: "pd.Series([1, 2]).sum() == 3"}); r.IsError || r.State != chat.Kept || strings.Contains(r.Text, "nstalled") {
		t.Errorf("the second call:\n%s", r.Text)
	}
	send(t, a, chat.Request{ChatID: id, Message: loseGuest})
	if r = send(t, a, chat.Request{ChatID: id, Message: "import pandas\nprint(pandas.__name__)"}); r.IsError || r.State != chat.Reset || r.Runs[0].Stdout != "pandas\n" {
		t.Errorf("in a new guest:\n%s", r.Text)
	}
	r = send(t, a, chat.Request{Message: "import runpython_no_such_package_anywhere"})
	if len(r.Problems) != 1 || !strings.Contains(r.Problems[0], `has no package named "runpython-no-such-package-anywhere"`) {
		t.Errorf("an invented name: %q\n%s", r.Problems, r.Text)
	}
}

// popularPackages are of those that docs/packages.md has: of each kind some, with what one does
// first with them.
var popularPackages = []struct{ module, use, want string }{
	{"boto3", "boto3.session.Session().profile_name", "'default'"},
	{"requests", "requests.Request('GET', 'http://a', params={'q': 'ü'}).prepare().url", "'http://a/?q=%C3%BC'"},
	{"numpy", "numpy.arange(3).sum().item()", "3"},
	{"pandas", "int(pandas.DataFrame({'a': [1, 2]}).a.sum())", "3"},
	{"cryptography.fernet", "len(cryptography.fernet.Fernet.generate_key())", "44"},
	{"yaml", "yaml.safe_load('[1, 2]')", "[1, 2]"},
	{"google.protobuf.message", "google.protobuf.message.Message.__name__", "'Message'"},
	{"pydantic", "pydantic.TypeAdapter(int).validate_python('3')", "3"},
	{"dateutil.parser", "dateutil.parser.parse('2024-01-02').day", "2"},
	{"aiohttp", "aiohttp.ClientTimeout(total=1).total", "1"},
	{"PIL.Image", "PIL.Image.new('L', (2, 3)).size", "(2, 3)"},
	{"scipy.stats", "round(scipy.stats.norm.cdf(0).item(), 2)", "0.5"},
	{"grpc", "grpc.StatusCode.OK.value[0]", "0"},
	{"sqlalchemy", "sqlalchemy.create_engine('sqlite://').connect().execute(sqlalchemy.text('select 1')).scalar()", "1"},
	{"pyarrow", "pyarrow.array([1, 2]).to_pylist()", "[1, 2]"},
}

// otherPackages are those whose import needs more than the distribution of some name.
var otherPackages = []struct{ module, use, want string }{
	{"matplotlib.pyplot", "matplotlib.pyplot.get_backend()", "'Agg'"},
	{"psycopg", "psycopg.pq.__impl__", "'binary'"},
	{"pkg_resources", "pkg_resources.parse_version('1.0').major", "1"},
	{"plotly.express", "plotly.express.colors.qualitative.Plotly[0]", "'#636EFA'"},
}

// Some of the packages that docs/packages.md says are imported, from the real index.
func TestPopularPackages(t *testing.T) {
	extent.Long(t)
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "packages.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range popularPackages {
		if !regexp.MustCompile("(?m)^\\| \\d+ \\| [^|]+ \\| `" + regexp.QuoteMeta(p.module) + "` \\|.*\\| imported \\|$").Match(page) {
			t.Errorf("docs/packages.md does not say that %s is imported", p.module)
		}
	}
	a := openAt(t, guesttest.Data(t), fromIndex(t))
	for _, p := range append(popularPackages, otherPackages...) {
		t.Run(p.module, func(t *testing.T) {
			t.Parallel()
			r := send(t, a, chat.Request{Message: "import " + p.module + "\n" + p.use})
			needIndex(t, r)
			if r.IsError || r.Runs[0].Value != p.want || r.Runs[0].Stderr != "" && p.module != "pkg_resources" {
				t.Errorf("value %q, want %q:\n%s", r.Runs[0].Value, p.want, r.Text)
			}
		})
	}
}
