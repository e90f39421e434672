package guest_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/extent"
	"runpython/internal/guesttest"
)

// A step is one run and what must come of it. What is not named must be empty.
type step struct {
	code      string
	signalAt  string         // send signal when stdout has this
	signal    syscall.Signal // SIGINT if 0
	status    string         // ok if ""; "died" if the process must end
	value     string
	stdout    string
	stderr    []string // parts of it
	late      string
	exit      int
	exitText  string
	exception string   // type of the error
	traceback []string // parts of it
	notes     []string // a part of each note
	images    int
}

// outcome is the part of a result that is compared as a whole.
type outcome struct {
	Status, Value, Stdout, Late, Exception, ExitText string
	Exit, Images, Notes                              int
	Quiet                                            bool // stderr is empty
}

func (s step) want() outcome {
	o := outcome{
		Status: s.status, Value: s.value, Stdout: s.stdout, Late: s.late, Exception: s.exception, ExitText: s.exitText,
		Exit: s.exit, Images: s.images, Notes: len(s.notes), Quiet: len(s.stderr) == 0,
	}
	switch {
	case s.status != "":
	case s.exception != "":
		o.Status = "error"
	default:
		o.Status = "ok"
	}
	return o
}

func (r result) outcome() outcome {
	o := outcome{
		Status: r.done.Status, Stdout: r.stdout, Late: r.late, ExitText: r.done.ExitMessage,
		Images: len(r.images), Notes: len(r.done.Notes), Quiet: r.stderr == "",
	}
	o.Exception, _, _ = r.exception()
	if r.died {
		o.Status = "died"
	}
	if r.done.Value != nil {
		o.Value = r.done.Value.Text
	}
	if r.done.Exit != nil {
		o.Exit = *r.done.Exit
	}
	return o
}

// play runs the steps one after the other in one kernel.
func play(t *testing.T, k *kernel, steps []step) {
	t.Helper()
	for i, s := range steps {
		signal := s.signal
		if signal == 0 {
			signal = syscall.SIGINT
		}
		r := k.run([]candidate{{Code: s.code, RunAnyway: true}}, s.signalAt, signal)
		_, text, traceback := r.exception()
		if diff := cmp.Diff(s.want(), r.outcome()); diff != "" {
			t.Errorf("step %d, %.200q:\n%s\nerror %s\n%s\nnotes %q\nstderr %s", i+1, s.code, diff, text, traceback, r.done.Notes, r.stderr)
		}
		contains(t, "traceback", traceback, s.traceback)
		contains(t, "notes", strings.Join(r.done.Notes, "\n"), s.notes)
		contains(t, "stderr", r.stderr, s.stderr)
		if strings.Contains(traceback, guesttest.Python(t).Programs) {
			t.Errorf("step %d: the traceback shows the kernel's own frames:\n%s", i+1, traceback)
		}
	}
}

func contains(t *testing.T, what, text string, parts []string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s = %q, want %q in it", what, text, part)
		}
	}
}

// sampled is how many cases there are for one that is played by "go test ./...".
const sampled = 8

func TestRuns(t *testing.T) {
	t.Parallel()
	for _, group := range []map[string][]step{valueCases, awaitCases, exitCases, limitCases, stateCases, threadCases, sourceCases} {
		for i, name := range slices.Sorted(maps.Keys(group)) {
			t.Run(name, func(t *testing.T) {
				if i%sampled != 0 {
					extent.Slow(t)
				}
				t.Parallel()
				steps := group[name]
				play(t, start(t, ""), steps)
			})
		}
	}
}

// TestPicking is the choice among texts that may be code.
func TestPicking(t *testing.T) {
	t.Parallel()
	k := start(t, "")
	play(t, k, []step{{code: "known = [1]"}})
	act := func(code string) candidate { return candidate{Code: code, MustAct: true} }
	for _, c := range []struct {
		name       string
		candidates []candidate
		status     string
		chosen     int
	}{
		{"call", []candidate{act("len('a')")}, "ok", 0},
		{"assignment", []candidate{act("x = 1")}, "ok", 0},
		{"import", []candidate{act("import os")}, "ok", 0},
		{"operation", []candidate{act("2 + 2")}, "ok", 0},
		{"index", []candidate{act("known[0]")}, "ok", 0},
		{"attribute of something known", []candidate{act("known.append")}, "ok", 0},
		{"words that are operators, of something known", []candidate{act("known or 5")}, "ok", 0},
		{"unknown names with an operator", []candidate{act("foo + bar")}, "error", 0},
		{"name", []candidate{act("hello")}, "not_code", 0},
		{"known name", []candidate{act("known")}, "not_code", 0},
		{"number", []candidate{act("42")}, "not_code", 0},
		{"negative number", []candidate{act("-5")}, "not_code", 0},
		{"text", []candidate{act("'hello'")}, "not_code", 0},
		{"list of names", []candidate{act("[apples, pears]")}, "not_code", 0},
		{"annotation", []candidate{act("Note: this")}, "not_code", 0},
		{"words that are operators", []candidate{act("yes or no")}, "not_code", 0},
		{"not", []candidate{act("not sure")}, "not_code", 0},
		{"is", []candidate{act("math is fun")}, "not_code", 0},
		{"is, with an operation", []candidate{act("what is 2+2")}, "not_code", 0},
		{"is, with an operation and a call", []candidate{act("What is 5 % len('abc') in words")}, "not_code", 0},
		{"is, of something known", []candidate{act("known is not known + [1]")}, "ok", 0},
		{"address", []candidate{act("example.com")}, "not_code", 0},
		{"prose", []candidate{act("What is 17% of 2340?")}, "not_code", 0},
		{"nothing", nil, "not_code", 0},
		{"second", []candidate{act("Please run this"), act("print(1)"), act("print(2)")}, "ok", 1},
		{"none compiles", []candidate{{Code: "a b"}, {Code: "c d", RunAnyway: true}, {Code: "e f", RunAnyway: true}}, "error", 1},
		{"one that does nothing does not run anyway", []candidate{{Code: "a", MustAct: true, RunAnyway: true}}, "not_code", 0},
	} {
		r := k.run(c.candidates, "", 0)
		if r.done.Status != c.status || r.done.Chosen != c.chosen {
			t.Errorf("%s: status %s, chosen %d, want %s, %d", c.name, r.done.Status, r.done.Chosen, c.status, c.chosen)
		}
	}
	r := k.run([]candidate{act(`"\d" is prose`), act(`x = "\w"`)}, "", 0)
	if !strings.Contains(r.stderr, `"\w"`) || strings.Contains(r.stderr, `"\d"`) {
		t.Errorf("stderr = %q, want the warnings of the text that was run and no others", r.stderr)
	}
}

// TestHostileNames has files of the chat with the names of modules that the kernel, or a traceback, needs.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	k := start(t, "")
	play(t, k, []step{
		{code: "for n in 'kernel stage text token types re enum random json traceback inspect display'.split():\n" +
			"    with open(n + '.py', 'w') as f: f.write('V = 1; print(\"mine\")')"},
		{code: "1/0", exception: "ZeroDivisionError", traceback: []string{"    1/0\n    ~^~\n"}},
		{code: "import kernel, random; kernel.V + random.V", value: "2", stdout: "mine\nmine\n"},
		{code: "import asyncio\nawait asyncio.sleep(0)\n3", value: "3"},
	})
}

// TestFiles has what changed in /work, and bytes in and out.
func TestFiles(t *testing.T) {
	t.Parallel()
	k := start(t, "")
	if r := k.exec("1 + 1"); r.done.Files != nil {
		t.Errorf("files = %+v, want none", r.done.Files)
	}
	r := k.exec("with open('a b.txt', 'w') as f: f.write('hello')")
	if r.done.Files == nil || len(r.done.Files.Changed) != 1 || r.done.Files.Changed[0][0] != "a b.txt" || r.done.Files.Total != 1 {
		t.Fatalf("files = %+v, want a b.txt", r.done.Files)
	}
	k.send(map[string]any{"op": "put", "id": 7, "path": "in.txt", "first": true, "last": true}, []byte("uploaded"))
	if m, _, err := k.receive(); err != nil || m.Op != "put" || m.ID != 7 || m.Error != "" {
		t.Fatalf("put: %+v, %v", m, err)
	}
	play(t, k, []step{{code: "open('in.txt').read()", value: "'uploaded'"}})
	k.send(map[string]any{"op": "get", "id": 8, "paths": []string{"a b.txt"}, "limit": 100}, nil)
	m, body, err := k.receive()
	if err != nil || m.Op != "file" || string(body) != "hello" {
		t.Fatalf("get: %+v, %q, %v", m, body, err)
	}
	if m, _, err = k.receive(); err != nil || !m.End || m.Size != 5 {
		t.Fatalf("end of file: %+v, %v", m, err)
	}
}

// TestRemove has what the host removes: no folder, nothing through a link, and no run is told of it.
func TestRemove(t *testing.T) {
	t.Parallel()
	k := start(t, "")
	play(t, k, []step{{code: "import os; os.makedirs('a/b/c'); os.makedirs('full'); os.symlink('full', 'link'); os.symlink('/etc/passwd', 'out')\nfor p in 'a/b/c/f', 'full/f', 'full/g': open(p, 'w').close()"}})
	k.send(map[string]any{"op": "remove", "id": 9, "paths": []string{"a/b/c/f", "full/f", "out", "full", "link/g", "none", "../x"}}, nil)
	m, _, err := k.receive()
	if want := []string{"full", "link/g", "../x"}; err != nil || m.Op != "remove" || m.ID != 9 || !slices.Equal(m.Kept, want) {
		t.Fatalf("remove: %+v, %v; want that %v are kept", m, err, want)
	}
	if r := k.exec("sorted(os.listdir()), os.listdir('full'), os.path.exists('/etc/passwd')"); r.done.Files != nil || r.done.Value == nil || r.done.Value.Text != "(['full', 'link'], ['g'], True)" {
		t.Errorf("there are %+v, told are %+v", r.done.Value, r.done.Files)
	}
}

// What is sent of files is bounded in all, also of one that breaks off, and who gets less than
// there is is told so.
func TestFilesKeepToTheLimit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, size := range map[string]int{"ok": 3, "torn": 9, "grown": 9, "empty": 0} {
		if err := os.WriteFile(filepath.Join(dir, name), bytes.Repeat([]byte("x"), size), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const program = `
import json, sys
sys.path.insert(0, sys.argv[1])
import workfiles
read, reads, said = workfiles._read, [], []
def faulty(fd, n):
    reads.append(n)
    if len(reads) == 4: raise OSError(5, "torn off")
    return read(fd, min(n, 4))
class Channel:
    def send(self, header, body=b""): said.append([header["index"], header["end"], len(body), header.get("error", "")])
workfiles._read = faulty
workfiles.Work(sys.argv[3], 100).get(Channel(), 1, ["ok", "torn", "grown", "empty", "ok", "none", "."], 10)
print(json.dumps(said))
`
	out, err := command(t, program, "", dir).CombinedOutput()
	const noRoom = "there is no room for the rest of it"
	want := fmt.Sprintf(`[[0, false, 3, ""], [0, true, 0, ""], [1, false, 4, ""], [1, true, 0, "torn off"], [2, false, 3, ""], [2, true, 0, %[1]q], `+
		`[3, true, 0, ""], [4, true, 0, %[1]q], [5, true, 0, "No such file or directory"], [6, true, 0, "not a regular file"]]`, noRoom)
	if diff := cmp.Diff(want, strings.TrimSpace(string(out))); err != nil || diff != "" {
		t.Errorf("get: %v (-want +got):\n%s", err, diff)
	}
}

// TestHello has random state that differs after a restore with another seed, and is the same with the same.
func TestHello(t *testing.T) {
	t.Parallel()
	k := start(t, "")
	draw := func(seed string) string {
		k.send(map[string]any{"op": "hello", "seed": seed}, nil)
		if m, _, err := k.receive(); err != nil || m.Op != "hello" || !strings.HasPrefix(m.Python, "3.14.") {
			t.Fatalf("hello: %+v, %v", m, err)
		}
		return k.exec("random.random(), random.gauss(), next(tempfile._get_candidate_names()) if 0 else 0").outcome().Value
	}
	k.exec("import random, tempfile, uuid; random.seed(1); random.gauss(); tempfile.mktemp(); uuid.getnode()")
	first, second, again := draw(strings.Repeat("01", 64)), draw(strings.Repeat("02", 64)), draw(strings.Repeat("01", 64))
	if first == second || first != again {
		t.Errorf("drawn: %s, %s, %s; want the second to differ and the third to be the first", first, second, again)
	}
	play(t, k, []step{{code: "tempfile._name_sequence, uuid._node", value: "(None, None)"}})
}

// TestForgedPackets has code that writes into the channel: what has no token is nobody's.
func TestForgedPackets(t *testing.T) {
	t.Parallel()
	play(t, start(t, ""), []step{ // ISO-06
		{
			code:   "import os\nfor fd in range(3, 256):\n    try: os.write(fd, b'{\"status\":\"ok\"}\\n')\n    except OSError: pass\nraise SystemExit(5)",
			status: "exit", exit: 5,
		},
		{code: "1 + 1", value: "2"},
	})
}
