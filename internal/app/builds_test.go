package app_test

import (
	"archive/tar"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"runpython/internal/app"
	"runpython/internal/chat"
	"runpython/internal/config"
	"runpython/internal/egress"
	"runpython/internal/extent"
	"runpython/internal/pypi/indextest"
)

// A member is one of an archive, with a size in place of its content.
func member(h tar.Header, content byte) func(w *tar.Writer) error {
	return func(w *tar.Writer) error {
		if err := w.WriteHeader(&h); err != nil {
			return err
		}
		chunk := []byte(strings.Repeat(string(content), 1<<20))
		for left := h.Size; left > 0; left -= int64(len(chunk)) {
			if _, err := w.Write(chunk[:min(left, int64(len(chunk)))]); err != nil {
				return err
			}
		}
		return nil
	}
}

// What sources may do to whoever builds them, each with what the person is told.
var hostileSources = []struct {
	name  string
	hook  string                    // statements of the build
	files map[string]string         // in place of those that are usual
	more  func(w *tar.Writer) error // further members of the archive
	want  string                    // part of the sentence
	log   string                    // part of what the build printed, if that is to be seen
}{
	{name: "fails", hook: "print('one'); raise SystemExit('the last word <script>')", want: "hostile 1.0 has no wheel and cannot be built from its source: its build failed", log: "the last word"},
	{name: "traversal", more: member(tar.Header{Name: "../../../../tmp/out", Typeflag: tar.TypeReg, Size: 3, Mode: 0o644}, 'x'), want: "its source archive cannot be unpacked"},
	{name: "absolute-link", more: member(tar.Header{Name: "hostile-1.0/link", Typeflag: tar.TypeSymlink, Linkname: "/etc/passwd"}, 0), want: "its source archive cannot be unpacked"},
	{name: "device", more: member(tar.Header{Name: "hostile-1.0/null", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3}, 0), want: "its source archive cannot be unpacked"},
	{name: "no-archive", files: map[string]string{}, want: "its source archive cannot be unpacked"},
	{name: "bomb", more: member(tar.Header{Name: "hostile-1.0/zero", Typeflag: tar.TypeReg, Size: 200 << 20, Mode: 0o644}, 0), want: "its source cannot be unpacked and built within the limits of a chat"},
	{name: "two-folders", more: member(tar.Header{Name: "other/x", Typeflag: tar.TypeReg, Size: 1, Mode: 0o644}, 'x'), want: "its source archive cannot be unpacked"},
	{name: "nothing-to-build", files: map[string]string{"README": "hello"}, want: "neither pyproject.toml nor setup.py"},
	{name: "no-toml", files: map[string]string{"pyproject.toml": "[build-system"}, want: "the [build-system] in its pyproject.toml is not as"},
	{name: "backend-elsewhere", files: map[string]string{"pyproject.toml": "[build-system]\nrequires = []\nbackend-path = ['../../..']\nbuild-backend = 'x'\n"}, want: "the [build-system] in its pyproject.toml is not as"},
	{name: "requires-a-url", files: map[string]string{"pyproject.toml": "[build-system]\nrequires = ['x @ https://example.org/x.whl']\n"}, want: "because of what its build needs: \"x @ https://example.org/x.whl\" is not a package that can be installed"},
	{name: "requires-nothing-known", files: map[string]string{"pyproject.toml": "[build-system]\nrequires = ['no-such-backend']\n"}, want: "because of what its build needs: the folders of wheels have no package named \"no-such-backend\""},
	{name: "requires-source", files: map[string]string{"pyproject.toml": "[build-system]\nrequires = ['reporter']\n"}, want: "because of what its build needs: reporter"},
	{name: "endless", hook: "while True: pass", want: "building it from its source was stopped after 20 s: that is the time limit of an install (--install-timeout)"},
	{name: "memory", hook: "x = bytearray(1 << 20)\nwhile True: x = x + x", want: "its build needed more than 512 MiB of memory (--memory)"},
	{name: "kills-everything", hook: "import signal\nos.kill(-1, signal.SIGKILL)\nos.kill(os.getppid(), signal.SIGKILL)", want: "its build "},
	{name: "says-much", hook: "for i in range(100): print(('x' * 60 + '\\n') * 500)\nraise SystemExit('tired')", want: "its build failed", log: "tired"},
	{name: "lies-to-the-host", hook: "os.write(1, b'{\"wheel\": \"x.whl\"}\\n')\nos._exit(3)", want: "its build failed"},
	{name: "another-name", hook: "name = 'pandas'", want: "what its build made of its source is not as a wheel of it must be"},
	{name: "another-version", hook: "version = '2.0'", want: "what its build made of its source is not as a wheel of it must be"},
	{name: "another-machine", hook: "tag = 'cp27-cp27m-win32'", want: "what its build made of its source is not as a wheel of it must be"},
	{name: "leaves-its-folder", hook: "extra = {'../../evil.py': 'x'}", want: "what its build made of its source is not as a wheel of it must be"},
	{name: "a-link-for-a-wheel", hook: "made = name + '-1.0-py3-none-any.whl'\nos.symlink('/etc/passwd', os.path.join(folder, made))\nreturn made", want: "its build failed"},
	{name: "no-wheel", hook: "return '../../../etc/passwd'", want: "its build failed"},
	{name: "too-large", hook: "extra = {'hostile/data': base64.b64encode(os.urandom(6 << 20)).decode()}", want: "the wheel that its build made is larger than"},
	{name: "compiles", hook: "print(\"error: command 'gcc' failed: No such file or directory\", file=sys.stderr); sys.exit(1)", want: "has parts in C or another language, and the sandbox has no compiler"},
	{name: "compiles-with-what-there-is", hook: "open('x.c', 'w').write('#include <Python.h>')\nimport subprocess\nsubprocess.check_call(['cc', '-c', 'x.c'])", want: "has parts in C or another language, and the sandbox has no compiler"},
}

// sources makes a folder with the source distributions, each of a name of its own, and wheels
// that they need.
func sources(t *testing.T, all ...indextest.Source) string {
	t.Helper()
	dir := wheelFolder(t)
	for _, s := range all {
		b := s.Bytes(t)
		if len(s.Files) == 0 && s.Members == nil {
			b = []byte("this is no archive")
		}
		if err := os.WriteFile(filepath.Join(dir, s.File()), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// building makes a program build from a folder, with limits that tests reach soon.
func building(t *testing.T, folder string) func(*config.Config, *app.Build) {
	t.Helper()
	change := fromFolder(t, folder)
	return func(c *config.Config, b *app.Build) {
		change(c, b)
		c.SourceBuilds = true
		c.MemoryBytes, c.WorkBytes, c.InstallTimeout, c.PackageBytes, c.Pool = 512<<20, 64<<20, 20*time.Second, 4<<20, 1
	}
}

// PKG-10: a source that is built is as good as a wheel; its build sees nothing that is not its
// own.
func TestSourceBuilds(t *testing.T) {
	extent.Long(t)
	mark := filepath.Join(t.TempDir(), "mark")
	secret := "k3pt-b4ck"
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	reporter := indextest.BackendSource("reporter", "1.0", fmt.Sprintf(`
import json, socket
def tries(address, first=b''):
    try:
        s = socket.create_connection(address, 3)
        s.sendall(first)
        return s.recv(100).decode() or 'closed'
    except OSError as e:
        return type(e).__name__
try:
    os.makedirs(%[1]q)
    open(%[1]q + '/x', 'w').close()
except OSError as e:
    print(e)
report = dict(forwarder=tries(('127.0.0.1', 3128), b'CONNECT 127.0.0.1:%[2]d HTTP/1.1\r\n\r\n'), index=tries(('127.0.0.1', %[2]d)), outside=tries(('1.1.1.1', 443)), proxied=sorted(k for k in os.environ if k.lower().endswith('_proxy')),
    secret=any(%[3]q in v for v in os.environ.values()), user=os.getuid(), env=sorted(os.listdir('/opt/env')),
    gate=os.path.exists('/run/egress/socket'))
body = 'REPORT = ' + repr(json.dumps(report))
requires = ['cowsay<6']
`, mark, listener.Addr().(*net.TCPAddr).Port, secret))
	backend := indextest.Source{Name: "greeter", Version: "2.0", Files: map[string]string{
		"setup.cfg":      "",
		"pyproject.toml": "[build-system]\nrequires = ['tool']\nbuild-backend = 'inner:factory.it'\nbackend-path = ['back']\n",
		"back/inner.py": `
import tool, reused
class factory:
    class it:
        get_requires_for_build_wheel = staticmethod(lambda settings=None: ['six==1.15.0'])
        @staticmethod
        def build_wheel(*a):
            import six
            return reused.build_wheel(*a)
`,
		"back/reused.py": indextest.BackendSource("greeter", "2.0", "body = 'WITH = ' + repr(__import__('six').__version__)").Files["backend.py"],
	}}
	folder := sources(t, reporter, backend)
	change := building(t, folder)
	a := openAt(t, t.TempDir(), func(c *config.Config, b *app.Build) {
		change(c, b)
		b.Environ = append(b.Environ, "UV_INDEX_SECRET="+secret)
		policy, err := egress.ParsePolicy(listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		c.Egress = policy
	})
	r := send(t, a, chat.Request{Message: "import reporter, cowsay\nprint(cowsay.__version__, reporter.REPORT)"})
	if r.IsError || !strings.Contains(r.Text, "Installed reporter 1.0, cowsay 5.0.") || !strings.Contains(r.Text, "was built from its source") {
		t.Fatalf("text %s", r.Text)
	}
	got := r.Runs[0].Stdout
	if strings.Contains(got, `"forwarder": "HTTP/1.1 200`) {
		t.Errorf("the build has a way out: %s", got)
	}
	for _, part := range []string{"5.0 ", `"index": "ConnectionRefusedError"`, `"outside": "OSError"`, `"secret": false`, `"env": []`, `"gate": false`} {
		if !strings.Contains(got, part) {
			t.Errorf("report %s, want %s", got, part)
		}
	}
	if strings.Contains(got, `"user": 0`) {
		t.Errorf("the build was root: %s", got)
	}
	if _, err := os.Lstat(mark); err == nil {
		t.Error("the build has written on the host")
	}
	r = send(t, a, chat.Request{Message: "import greeter, sys\nprint(greeter.WITH, 'six' in sys.modules)\ntry:\n    import six\nexcept ModuleNotFoundError as e: print(e)"})
	if r.IsError || r.Runs[0].Stdout != "1.15.0 False\nNo module named 'six'\n" {
		t.Errorf("what a build needs is its own: %s", r.Text)
	}
	again := send(t, a, chat.Request{Message: "import reporter\nprint(reporter.REPORT)"})
	if "5.0 "+again.Runs[0].Stdout != got {
		t.Errorf("built anew: %s", again.Runs[0].Stdout)
	}
}

// PKG-12: whatever a source does, the person is told in one line, and others are not affected.
func TestHostileSources(t *testing.T) {
	extent.Long(t)
	var all []indextest.Source
	for i, h := range hostileSources {
		s := indextest.BackendSource("hostile", "1.0", h.hook)
		if h.files != nil {
			s.Files = h.files
		}
		s.Members = h.more
		s.Name = fmt.Sprintf("hostile%d", i)
		for name, text := range s.Files {
			s.Files[name] = strings.ReplaceAll(text, `"hostile"`, fmt.Sprintf("%q", s.Name))
		}
		all = append(all, s)
	}
	all = append(all, indextest.BackendSource("reporter", "1.0", ""))
	a := openAt(t, t.TempDir(), building(t, sources(t, all...)))
	for i, h := range hostileSources {
		t.Run(h.name, func(t *testing.T) {
			if i%sampled != 0 && !extent.PlaysAll() {
				t.Skipf("one of %d is played; %s=1 plays all", sampled, extent.Variable)
			}
			r := send(t, a, chat.Request{Message: fmt.Sprintf("!pip install hostile%d\nprint('run')", i)})
			want := strings.ReplaceAll(h.want, "hostile 1.0", fmt.Sprintf("hostile%d 1.0", i))
			line, _, _ := strings.Cut(r.Text, "\n")
			if !r.IsError || len(r.Runs) > 0 || !strings.Contains(strings.ReplaceAll(line, `\`, ""), want) {
				t.Errorf("text %s\nwant %s", r.Text, want)
			}
			if len(r.Text) > 8<<10 || strings.Contains(line, "last word") {
				t.Errorf("text of %d bytes, %s", len(r.Text), line)
			}
			if h.log != "" && !strings.Contains(r.Text, h.log) {
				t.Errorf("text %s\nwant the log with %q", r.Text, h.log)
			}
		})
	}
	r := send(t, a, chat.Request{Message: "try:\n    import hostile0\nfinally:\n    import cowsay\n    print(cowsay.__version__)"})
	if !r.IsError || r.Runs[0].Stdout != "6.1\n" || !strings.Contains(r.Text, "Not installed, although the code imports it: hostile0 1.0 has no wheel") {
		t.Errorf("another package beside: %s", r.Text)
	}
}

// The operator may have wheels only.
func TestSourceBuildsOff(t *testing.T) {
	extent.Long(t)
	change := building(t, sources(t, indextest.BackendSource("reporter", "1.0", "")))
	a := openAt(t, t.TempDir(), func(c *config.Config, b *app.Build) { change(c, b); c.SourceBuilds, c.Pool = false, 0 })
	r := send(t, a, chat.Request{Message: "!pip install reporter\nprint(1)"})
	if !r.IsError || !strings.Contains(strings.ReplaceAll(r.Text, `\`, ""), "(--source-builds)") {
		t.Errorf("text %s", r.Text)
	}
}

// A package of the real index that has no wheel: pure Python, since 2010 as source only, and
// its build needs setuptools.
func TestRealSourcePackage(t *testing.T) {
	extent.Long(t)
	uv := indextest.UV(t)
	a := openAt(t, t.TempDir(), func(c *config.Config, b *app.Build) {
		c.Packages, c.UV, b.Environ = config.PackagesAuto, uv, os.Environ()
	})
	r := send(t, a, chat.Request{Message: "!pip install sgmllib3k\nimport sgmllib\nprint(sgmllib.SGMLParser.__name__)"})
	needIndex(t, r)
	if r.IsError || r.Runs[0].Stdout != "SGMLParser\n" || !strings.Contains(r.Text, "Installed sgmllib3k 1.0.0.") || !strings.Contains(r.Text, "built from its source") {
		t.Errorf("text %s", r.Text)
	}
}
