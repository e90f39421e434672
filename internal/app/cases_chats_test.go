package app_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"runpython/internal/app"
	"runpython/internal/chat"
	"runpython/internal/config"
	"runpython/internal/fault"
	"runpython/internal/guesttest"
)

// chatCases are about what is kept from call to call: variables and files, of
// each chat for itself.
func chatCases(t *testing.T, data string) {
	a := openAt(t, data, func(c *config.Config, _ *app.Build) { c.WorkBytes = 48 << 20 })
	long(t, "FIL-01", func(t *testing.T) { report(t, a) })
	t.Run("FIL-03", func(t *testing.T) { names(t, a) })
	long(t, "FIL-04", func(t *testing.T) { versions(t, a) })
	t.Run("FIL-14", func(t *testing.T) { uploads(t, a) })
	long(t, "CHT-03", func(t *testing.T) { neighbours(t, a) })
	t.Run("CHT-08", func(t *testing.T) { foreignIDs(t, a, data) })
	t.Run("CHT-11", func(t *testing.T) { owners(t, a) })
	long(t, "CHT-13 the server's disk", func(t *testing.T) { fullDisk(t) })
	play(t, a, fileScenarios)
	play(t, a, stateScenarios)
}

var fileScenarios = []scenario{
	{"FIL-07", []step{
		{send: "import tempfile\nwith tempfile.NamedTemporaryFile() as f:\n    print(f.name.startswith('/tmp/'))", stdout: "True\n"},
		{send: "import os, pathlib\nfor p in ('~/.cache/matplotlib', '~/.config/x', '~/.numba', '/tmp/a/b', '/var/tmp/c'):\n    d = pathlib.Path(p).expanduser(); d.mkdir(parents=True); (d / 'f').write_text('x')\nprint(tempfile.mkdtemp()[:5], os.environ['HOME'])", stdout: "/tmp/ /tmp\n"},
		{send: "import shelve, sqlite3\nwith shelve.open('/tmp/s') as s: s['k'] = 1\nprint(sqlite3.connect(':memory:').execute('select 1').fetchone())", stdout: "(1,)\n"},
	}},
	{"FIL-08", []step{
		{send: "import os\nos.symlink('/etc/passwd', 'out.csv')\nos.symlink('/', 'rootdir')", files: []string{"out.csv", "rootdir"}, text: []string{"`out.csv` (not fetched: a symbolic link is not followed)", "`rootdir` (not fetched: a symbolic link is not followed)"}, check: nothingFetched},
		{send: "os.mkfifo('pipe')\nimport socket\ns = socket.socket(socket.AF_UNIX); s.bind('sock')", files: []string{"pipe", "sock"}, text: []string{"`pipe` (not fetched: a fifo has no content)", "`sock` (not fetched: a socket has no content)"}, check: nothingFetched},
		{send: "os.makedirs('d'); os.symlink('/etc', 'd/etc'); os.link('/etc/passwd', 'hard.txt')", failure: []string{"Error"}, files: []string{"d/etc"}, check: nothingFetched},
		{send: "open('real.txt', 'w').write('x'); os.remove('out.csv'); os.rename('real.txt', 'out.csv')", files: []string{"out.csv"}, text: []string{"`out.csv` (1 byte)"}},
	}},
	{"FIL-10", []step{
		{send: "import zipfile\nwith zipfile.ZipFile('x.zip', 'w') as z:\n    z.writestr('../../escape.txt', 'x')", files: []string{"x.zip"}},
		{send: "zipfile.ZipFile('x.zip').extractall('out')", files: []string{"out/escape.txt"}},
	}},
	{"FIL-11", []step{
		{
			send:    "import zipfile\nwith zipfile.ZipFile('b.zip', 'w', zipfile.ZIP_DEFLATED) as z:\n    with z.open('b', 'w', force_zip64=True) as f:\n        for _ in range(100):\n            f.write(bytes(1 << 20))\nzipfile.ZipFile('b.zip').extractall('b')",
			failure: []string{"OSError"}, files: []string{"b.zip", "b/b"},
		},
		{send: "import os\nos.remove('b/b')\nprint(os.listdir('.'))", stdout: "['b.zip', 'b']\n"},
		{send: "open('small', 'w').write('fits again');", files: []string{"small"}},
	}},
	{"FIL-11 in a file that nobody closes", []step{
		{
			send:  "open('big', 'wb').write(bytes(48 << 20))\nopen('a.csv', 'w').write('k' * 5000)",
			value: "5000", stderr: anything, failure: []string{"[Errno 28] No space left on device", "a.csv"}, files: []string{"big", "a.csv"},
			text: []string{"/work may hold 48 MiB (--work-size)", "`a.csv` (0 bytes)"},
		},
		{send: "import os\nos.remove('big')\nopen('a.csv', 'w').write('k' * 5000);", files: []string{"a.csv"}},
	}},
	{"FIL-13 in a short run", []step{
		{send: "for i in range(10_050):\n    open(f'f{i}', 'w').close()", failure: []string{"more than 10,000 files in /work"}, text: []string{"/work may hold 10000 files and folders"}, files: fifty},
		{send: "import os\nfor n in os.listdir('.'): os.remove(n)", state: anyState},
	}},
	{"FIL-13", []step{
		{send: "kept = 1\nfor i in range(200_000):\n    open(f'f{i}', 'w').close()", failure: []string{"more than 10,000 files in /work"}, text: []string{"more files were made or changed"}, files: fifty},
		{send: "print(1)", stdout: "1\n", state: anyState},
		{send: "import os\nfor n in os.listdir('.'): os.remove(n)", state: anyState},
		{send: "open('fits.txt', 'w').write('again');", files: []string{"fits.txt"}, state: anyState},
	}},
	{"FIL-15", []step{
		{send: "import os\nos.makedirs('sub', exist_ok=True)\nos.chdir('sub')\nopen('deep.txt', 'w').write('x');", files: []string{"sub/deep.txt"}},
		{send: "open('more.txt', 'w').write(os.getcwd());", files: []string{"sub/more.txt"}},
		{send: "os.chdir('/tmp'); open('elsewhere.txt', 'w').write('x');"},
		{send: "os.chdir('/work/sub'); import shutil; shutil.rmtree('/work/sub')"},
		{send: "print(os.getcwd()); open('back.txt', 'w').write('x');", stdout: "/work\n", files: []string{"back.txt"}},
	}},
}

// fifty are the files that a reply lists of many.
var fifty = func() (all []string) {
	for n := range 50 {
		all = append(all, fmt.Sprintf("f%d", n))
	}
	return all
}()

func nothingFetched(r *chat.Reply) string {
	for _, f := range r.Files {
		if f.Skipped == "" {
			return "content is offered of " + f.Path
		}
	}
	return ""
}

var stateScenarios = []scenario{
	{"CHT-05 its connection", []step{
		{send: "import os\nos.closerange(0, 1024)", failure: []string{"ended with status 71, as it does when code closes descriptors that it has not opened"}},
		{send: "print('back')", stdout: "back\n", state: chat.Reset},
	}},
	{"CHT-05", []step{
		{send: "open('mine.txt','w').write('1'); import os; os._exit(1)", failure: []string{"ended with status 1", "the files are kept"}, files: []string{"mine.txt"}},
		{send: "print(open('mine.txt').read())", stdout: "1\n", state: chat.Reset},
		{send: "import os\nos.makedirs('d/e'); open('d/e/f', 'wb').write(b'\\x00' * 1000); os.remove('mine.txt'); os.kill(os.getpid(), 9)", failure: []string{""}, files: []string{"d/e/f"}},
		{send: "import os; print(os.path.getsize('d/e/f'), os.listdir('.'), os.getcwd())", stdout: "1000 ['d'] /work\n", state: chat.Reset},
	}},
	{"CHT-13", []step{
		{send: "kept = 1\nwith open('fill', 'wb') as f:\n    while True:\n        f.write(bytes(1 << 20))", failure: []string{"OSError"}, stdout: anything, files: []string{"fill"}},
		{send: "open('more', 'wb').write(bytes(1 << 20))", failure: []string{"No space left on device"}, files: []string{"more"}},
		{send: "import os\nos.remove('fill'); open('more', 'wb').write(bytes(1 << 20))\nprint(kept)", stdout: "1\n", files: []string{"more"}},
	}},
	{"CHT-15", []step{
		{send: "import math; r = 2"},
		{send: "math.pi * r ** 2", value: "12.566370614359172"},
		{send: "def area(x): return math.pi * x ** 2\nclass C: pass\nc = C(); c.f = open('f.txt', 'w')", files: []string{"f.txt"}},
		{send: "c.f.write('still open'); c.f.close(); print(area(1) > 3, open('f.txt').read(), _)", stdout: "True still open 12.566370614359172\n", files: []string{"f.txt"}},
		{send: "1/0", failure: []string{"ZeroDivisionError"}},
		{send: "print(r)", stdout: "2\n"},
	}},
	{"CHT-15 without a chat", []step{{send: "print('r' in globals())", stdout: "False\n"}}},
}

// content returns the file that a URI names.
func content(t *testing.T, a *app.App, owner, uri string) (chat.File, string, error) {
	t.Helper()
	f, body, err := a.OpenFile(context.WithoutCancel(t.Context()), owner, uri)
	if err != nil {
		return f, "", err
	}
	all, err := io.ReadAll(body)
	return f, string(all), errors.Join(err, body.Close())
}

// report wants a written file to come back with type and size.
func report(t *testing.T, a *app.App) {
	r := send(t, a, chat.Request{Message: "open('report.csv', 'w').write('a,b\\n1,2\\n')\nimport json; json.dump({'a': 1}, open('d.json', 'w'))\nopen('raw', 'wb').write(b'\\x89PNG\\r\\n\\x1a\\n' + bytes(9));"})
	want := []chat.File{{Path: "report.csv", MIMEType: "text/csv", Size: 8}, {Path: "d.json", MIMEType: "application/json", Size: 8}, {Path: "raw", MIMEType: "image/png", Size: 17}}
	for i, f := range r.Files {
		if i < len(want) {
			want[i].URI = "runpython://chats/" + r.ChatID + "/files/" + f.Path
		}
	}
	if diff := gocmp.Diff(want, r.Files); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if f, text, err := content(t, a, "", r.Files[0].URI); err != nil || text != "a,b\n1,2\n" || f.MIMEType != "text/csv" {
		t.Errorf("content %q, %+v, %v", text, f, err)
	}
}

// names wants each name to come back as it is, by a URI that is one.
func names(t *testing.T, a *app.App) {
	all := []string{"报告 № 1 🎉.txt", "with space.txt", "a#b?c%20d.txt", "-rf.txt", "quote\"'`.txt", "new\nline.txt", "back\\slash.txt", "..hidden", "~", "CON", strings.Repeat("n", 250), "cafe\u0301", "d/é/ü.txt"}
	r := send(t, a, chat.Request{Message: "import os\nos.makedirs('d/é')\nfor n in " + list(all) + ":\n    open(n, 'w').write(n)\nopen(b'\\xff\\xfe.bin', 'w').write('bytes');"})
	if r.IsError || len(r.Files) != len(all)+1 {
		t.Fatalf("%d files, want %d:\n%s", len(r.Files), len(all)+1, r.Text)
	}
	found := map[string]bool{}
	for _, f := range r.Files {
		got, text, err := content(t, a, "", f.URI)
		if err != nil || strings.ContainsAny(f.URI, " \n\"#?\\") || strings.ContainsFunc(f.URI, func(c rune) bool { return c > '~' }) {
			t.Errorf("URI %q of %q: %+v, %v", f.URI, f.Path, got, err)
		}
		if f.Path != text && text != "bytes" {
			t.Errorf("%q has the content of %q", f.Path, text)
		}
		found[text] = true
	}
	if len(found) != len(all)+1 {
		t.Errorf("%d different files, want %d", len(found), len(all)+1)
	}
}

// list writes strings as a list of Python.
func list(all []string) string {
	escape := strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`)
	parts := make([]string, len(all))
	for i, s := range all {
		parts[i] = "'" + escape.Replace(s) + "'"
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// versions wants a changed file to be told again, under the same URI.
func versions(t *testing.T, a *app.App) {
	write := func(id, text string) *chat.Reply {
		return send(t, a, chat.Request{ChatID: id, Message: "open('image.txt', 'w').write('" + text + "');"})
	}
	first := write("", "v1")
	for _, text := range []string{"v2", "v3 is longer", "v4"} {
		next := write(first.ChatID, text)
		if len(next.Files) != 1 || next.Files[0].URI != first.Files[0].URI || next.Files[0].Size != int64(len(text)) {
			t.Fatalf("%s: files %+v", text, next.Files)
		}
		if _, got, err := content(t, a, "", next.Files[0].URI); err != nil || got != text {
			t.Errorf("content %q, %v; want %q", got, err, text)
		}
	}
	if r := send(t, a, chat.Request{ChatID: first.ChatID, Message: "print(open('image.txt').read())"}); len(r.Files) != 0 {
		t.Errorf("a file that was only read: %+v", r.Files)
	}
	send(t, a, chat.Request{ChatID: first.ChatID, Message: "import os; os.remove('image.txt')"})
	if _, _, err := content(t, a, "", first.Files[0].URI); err == nil {
		t.Error("a deleted file is still there")
	}
}

// uploads wants files that are put into a chat to be seen by it, living or not, and by no other.
func uploads(t *testing.T, a *app.App) {
	put := func(id, name, text string) string {
		t.Helper()
		id, err := a.PutFile(t.Context(), "", id, name, strings.NewReader(text))
		if err != nil {
			t.Fatalf("put %s: %v", name, err)
		}
		return id
	}
	look := "import os; print(sorted(os.listdir('.')))"
	id := put("", "before.csv", "1")
	if r := send(t, a, chat.Request{ChatID: id, Message: look}); r.Runs[0].Stdout != "['before.csv']\n" || len(r.Files) != 0 {
		t.Errorf("an upload before the first call: %s", r.Text)
	}
	put(id, "während.csv", "22")
	put(id, "before.csv", "replaced")
	if r := send(t, a, chat.Request{ChatID: id, Message: look + "\nprint(open('before.csv').read(), open('während.csv').read())\nopen('before.csv', 'a').write('!');"}); r.Runs[0].Stdout != "['before.csv', 'während.csv']\nreplaced 22\n" {
		t.Errorf("uploads into a living chat: %s", r.Text)
	}
	if r := send(t, a, chat.Request{Message: look}); r.Runs[0].Stdout != "[]\n" {
		t.Errorf("another chat: %s", r.Text)
	}
	send(t, a, chat.Request{ChatID: id, Message: "import os; os._exit(0)"})
	put(id, "d/after.csv", "3")
	if r := send(t, a, chat.Request{ChatID: id, Message: look + "\nprint(open('before.csv').read(), open('d/after.csv').read())"}); r.Runs[0].Stdout != "['before.csv', 'd', 'während.csv']\nreplaced! 3\n" {
		t.Errorf("after its interpreter has ended: %s", r.Text)
	}
}

// neighbours wants what ends one chat's interpreter to leave the others alone.
func neighbours(t *testing.T, a *app.App) {
	b := send(t, a, chat.Request{Message: "y = 'kept'"}).ChatID
	for _, code := range []string{"import os; os._exit(1)", "import ctypes; ctypes.string_at(0)", "import os; os.kill(-1, 9)", "import os; os.closerange(0, 5000)"} {
		if r := send(t, a, chat.Request{Message: code}); !r.IsError {
			t.Errorf("%s: %s", code, r.Text)
		}
		if r := send(t, a, chat.Request{ChatID: b, Message: "print(y)"}); r.State != chat.Kept || r.Runs[0].Stdout != "kept\n" {
			t.Errorf("after %s: %q\n%s", code, r.State, r.Text)
		}
	}
}

// foreignIDs wants ids that were not given out to look all alike (CHT-08, CHT-09), and nothing to be made of them.
func foreignIDs(t *testing.T, a *app.App, data string) {
	entries := func() []string {
		var all []string
		for _, dir := range []string{data, filepath.Dir(data), os.TempDir()} {
			found, err := os.ReadDir(dir)
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range found {
				if strings.Contains(e.Name(), "pwned") {
					all = append(all, e.Name())
				}
			}
		}
		return all
	}
	real := send(t, a, chat.Request{Message: "x = 1"}).ChatID
	unknown := send(t, a, chat.Request{ChatID: strings.Repeat("a", 26), Message: "print(1)"})
	for _, id := range []string{
		"../../../../tmp/pwned", "/", "..", ".", "a/../b", `C:\x`, "%2e%2e", "a/b", "a_b", "ABC", "abc", "e\u0301", "\u00e9", " ", "\x00", "null",
		strings.ToUpper(real), real + " ", real + "\n", real[:25], real + "a", strings.Repeat("x", 1<<20),
	} {
		r := send(t, a, chat.Request{ChatID: id, Message: "print(1)"})
		if diff := gocmp.Diff(unknown, r); diff != "" || !r.IsError || len(r.Runs) != 0 {
			t.Errorf("%.40q does not look unknown (-want +got):\n%s", id, diff)
		}
		if _, err := a.PutFile(t.Context(), "", id, "pwned", strings.NewReader("x")); err == nil {
			t.Errorf("an upload to %.40q", id)
		}
	}
	if found := entries(); len(found) != 0 {
		t.Errorf("made: %v", found)
	}
	if r := send(t, a, chat.Request{ChatID: real, Message: "print(x)"}); r.State != chat.Kept {
		t.Errorf("the real one: %s", r.Text)
	}
}

// owners wants somebody else's chat to look like one that does not exist.
func owners(t *testing.T, a *app.App) {
	mine := send(t, a, chat.Request{Owner: "alice", Message: "secret = 1\nopen('s.txt', 'w').write('secret');"})
	unknown := send(t, a, chat.Request{Owner: "bob", ChatID: strings.Repeat("b", 26), Message: "print(secret)"})
	for _, owner := range []string{"bob", "", "Alice", "alice "} {
		r := send(t, a, chat.Request{Owner: owner, ChatID: mine.ChatID, Message: "print(secret)"})
		if diff := gocmp.Diff(unknown, r); diff != "" || !r.IsError {
			t.Errorf("%q sees the chat (-want +got):\n%s", owner, diff)
		}
		if r := send(t, a, chat.Request{Owner: owner, ChatID: mine.ChatID, Message: "no code, only prose"}); r.Text != unknown.Text {
			t.Errorf("%q learns by prose: %s", owner, r.Text)
		}
		if _, _, err := content(t, a, owner, mine.Files[0].URI); err == nil {
			t.Errorf("%q reads its file", owner)
		}
	}
	if r := send(t, a, chat.Request{Owner: "alice", ChatID: mine.ChatID, Message: "print(secret)"}); r.Runs[0].Stdout != "1\n" {
		t.Errorf("its owner: %s", r.Text)
	}
}

// fullDisk wants calls to fail with that message while the disk of the data
// folder is full, and to go on when there is room again.
func fullDisk(t *testing.T) {
	data := guesttest.Data(t)
	if err := unix.Mount("tmpfs", data, "tmpfs", 0, "size=420m"); err != nil {
		t.Skipf("a small disk needs the right to mount: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(data, 0); err != nil {
			t.Errorf("unmount the small disk: %v", err)
		}
	})
	a := openAt(t, data, func(c *config.Config, _ *app.Build) { c.Pool = 0 })
	old := send(t, a, chat.Request{Message: "x = 1\nopen('kept.txt', 'w').write('kept');"})
	fill := filepath.Join(data, "fill")
	f, err := os.Create(fill)
	for chunk := make([]byte, 1<<20); err == nil; {
		_, err = f.Write(chunk)
	}
	if !errors.Is(err, unix.ENOSPC) || f.Close() != nil {
		t.Fatalf("fill the disk: %v", err)
	}
	reply, err := a.Turn(t.Context(), chat.Request{Message: "print('new')"})
	if kind, shown := fault.Shown(err); err != nil && (kind == fault.Internal || !strings.Contains(shown, "disk")) {
		t.Errorf("a new chat on a full disk: %v; want it told", err)
	} else if err == nil && reply.IsError && !strings.Contains(reply.Text, "disk") {
		t.Errorf("a new chat on a full disk: %s", reply.Text)
	}
	if r := send(t, a, chat.Request{ChatID: old.ChatID, Message: "print(x)"}); r.Runs[0].Stdout != "1\n" {
		t.Errorf("an old chat on a full disk: %s", r.Text)
	}
	r := send(t, a, chat.Request{ChatID: old.ChatID, Message: "with open('more.txt', 'w') as f: f.write('x' * 100_000)"})
	if !r.IsError || !strings.Contains(r.Text, "disk is full") && !strings.Contains(r.Text, "server's disk has room for") {
		t.Errorf("a file on a full disk: %s", r.Text)
	}
	r = send(t, a, chat.Request{ChatID: old.ChatID, Message: "for i in range(2000): open(f'l{i}', 'w').write('k' * 5000)"})
	if !r.IsError || !strings.Contains(r.Text, "disk is full") && !strings.Contains(r.Text, "server's disk has room for") {
		t.Errorf("files that nobody closes on a full disk: %s", r.Text)
	}
	c := unset()
	c.Data, c.Pool = data, 0
	if _, err := app.Open(t.Context(), c, slog.New(slog.DiscardHandler), build(t)); err == nil || !strings.Contains(err.Error(), "--data") {
		t.Errorf("another process on a full disk: %v; want what to do", err)
	}
	if err := os.Remove(fill); err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	if r := send(t, a, chat.Request{ChatID: old.ChatID, Message: "print(x, open('kept.txt').read())\nopen('more.txt', 'w').write('x');"}); r.IsError || !strings.Contains(r.Runs[0].Stdout, "kept") || len(r.Files) != 1 {
		t.Errorf("with room again: %s", r.Text)
	}
	if r := send(t, a, chat.Request{Message: "print('new')"}); r.IsError {
		t.Errorf("a new chat with room again: %s", r.Text)
	}
}
