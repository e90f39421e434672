package audit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"runpython/internal/audit"
	"runpython/internal/pypi/flock"
)

// writerVariable makes this test binary a process that writes to the log in the folder that it names.
const writerVariable = "AUDIT_TEST_WRITER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(writerVariable); dir != "" {
		os.Exit(writeForever(dir))
	}
	os.Exit(m.Run())
}

// writeForever writes until it is killed or standard input ends, and then prints how many it has written.
func writeForever(dir string) int {
	l, err := audit.Open(dir, audit.Options{FileBytes: 4000, Bytes: 1 << 30})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	ended := make(chan struct{})
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); close(ended) }()
	for n := 0; ; n++ {
		select {
		case <-ended:
			fmt.Println(n)
			return 0
		default:
		}
		if err := l.Append(context.Background(), audit.Event{Kind: audit.Turn, Subject: fmt.Sprint(os.Getpid()), Count: n}); err != nil {
			fmt.Println(err)
			return 1
		}
		if n == 0 {
			fmt.Println("writing")
		}
	}
}

func open(t *testing.T, dir string, o audit.Options) *audit.Log {
	t.Helper()
	l, err := audit.Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	})
	return l
}

func write(t *testing.T, l *audit.Log, n int) {
	t.Helper()
	for i := range n {
		if err := l.Append(t.Context(), audit.Event{Kind: audit.Turn, Subject: "ada", Address: "192.0.2.1", Outcome: "ok", Chat: "c", Count: i}); err != nil {
			t.Fatal(err)
		}
	}
}

func verify(t *testing.T, dir string) audit.Report {
	t.Helper()
	r, err := audit.Verify(t.Context(), dir, "")
	if err != nil {
		t.Fatalf("verify: %v", err)
	}
	return r
}

// logs returns the files of a log, oldest first.
func logs(t *testing.T, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no files: %v", err)
	}
	return names
}

func TestChainOverFiles(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, audit.Options{FileBytes: 1000, Bytes: 1 << 20})
	write(t, l, 50)
	r := verify(t, dir)
	if r.Lines != 50 || r.First != 1 || r.Last != 50 || r.Files < 5 || len(r.Head) != 64 {
		t.Errorf("report %+v", r)
	}
	if r, err := audit.Verify(t.Context(), dir, r.Head); err != nil || !r.Known {
		t.Errorf("the hash of the last line: %+v, %v", r, err)
	}
	// Another writer goes on where this one has ended, and this one after it.
	write(t, open(t, dir, audit.Options{FileBytes: 1000, Bytes: 1 << 20}), 3)
	write(t, l, 2)
	if r := verify(t, dir); r.Lines != 55 || r.Last != 55 {
		t.Errorf("after another writer: %+v", r)
	}
	if r, err := audit.Verify(t.Context(), filepath.Join(dir, "nothing"), ""); err != nil || r != (audit.Report{}) {
		t.Errorf("no log: %+v, %v", r, err)
	}
}

func TestOldestFilesGo(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, audit.Options{FileBytes: 1000, Bytes: 3000})
	write(t, l, 100)
	r := verify(t, dir)
	if r.Files != 3 || r.First == 1 || r.Last != 100 {
		t.Errorf("report %+v, want three files that end with line 100", r)
	}
}

// Whatever somebody does to the lines, the first place at which it shows is named.
func TestBrokenChains(t *testing.T) {
	change := func(edit func(lines []string) []string) func(t *testing.T, path string) {
		return func(t *testing.T, path string) {
			t.Helper()
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			all := edit(strings.SplitAfter(strings.TrimSuffix(string(text), "\n"), "\n"))
			if err := os.WriteFile(path, []byte(strings.TrimSuffix(strings.Join(all, ""), "\n")+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name   string
		spoil  func(t *testing.T, path string)
		line   int
		reason string
	}{
		{"a subject", change(func(l []string) []string { l[1] = strings.Replace(l[1], "ada", "bob", 1); return l }), 2, "changed"},
		{"a hash", change(func(l []string) []string { l[1] = strings.Replace(l[1], `"hash":"`, `"hash":"0`, 1); return l }), 2, "no line"},
		{"taken out", change(func(l []string) []string { return append(l[:1], l[2:]...) }), 2, "taken out"},
		{"first taken out", change(func(l []string) []string { return l[1:] }), 1, "not that of its file"},
		{"put in", change(func(l []string) []string { return append(l[:2:2], l[1:]...) }), 3, "put in"},
		{"swapped", change(func(l []string) []string { l[1], l[2] = l[2], l[1]; return l }), 2, "taken out or put in"},
		{"words", change(func(l []string) []string { l[2] = "nothing to see here\n"; return l }), 3, "no line"},
		{"an empty line", change(func(l []string) []string { l[2] = "\n" + l[2]; return l }), 3, "no line"},
		{"an endless line", change(func(l []string) []string { l[2] = strings.Repeat("x", 100_000) + "\n"; return l }), 3, "no line"},
		{"gone", func(t *testing.T, path string) {
			t.Helper()
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}, 1, "taken out"},
		{"the end of a file that is not the last", func(t *testing.T, path string) {
			t.Helper()
			if err := os.Truncate(path, 500); err != nil {
				t.Fatal(err)
			}
		}, 2, "no line"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			l := open(t, dir, audit.Options{FileBytes: 1200, Bytes: 1 << 20})
			write(t, l, 20)
			c.spoil(t, logs(t, dir)[1])
			_, err := audit.Verify(t.Context(), dir, "")
			broken, ok := errors.AsType[*audit.BrokenError](err)
			if !ok || broken.Line != c.line || !strings.Contains(broken.Reason, c.reason) {
				t.Errorf("verify: %v; want line %d: %s", err, c.line, c.reason)
			}
			write(t, l, 1) // it goes on, but that mends nothing
			if _, again := audit.Verify(t.Context(), dir, ""); again == nil || again.Error() != err.Error() {
				t.Errorf("after another line: %v, want %v", again, err)
			}
		})
	}
}

// Lines that are cut off at the end leave a chain that holds: who has kept a hash finds it missing.
func TestEndTakenOff(t *testing.T) {
	dir := t.TempDir()
	write(t, open(t, dir, audit.Options{}), 3)
	head := verify(t, dir).Head
	path := logs(t, dir)[0]
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	kept := bytes.SplitAfter(text, []byte("\n"))[:2]
	if err := os.WriteFile(path, bytes.Join(kept, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := verify(t, dir); r.Lines != 2 {
		t.Errorf("report %+v", r)
	}
	if _, err := audit.Verify(t.Context(), dir, head); err == nil || !strings.Contains(err.Error(), head) {
		t.Errorf("verify with the hash of what was the end: %v", err)
	}
}

// What a killed process has left of a line is told by the next one, and the log holds.
func TestTornLine(t *testing.T) {
	for _, whole := range []int{0, 3} {
		dir := t.TempDir()
		first := open(t, dir, audit.Options{})
		write(t, first, max(1, whole))
		path := logs(t, dir)[0]
		if whole == 0 {
			if err := os.Truncate(path, 0); err != nil {
				t.Fatal(err)
			}
		}
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.WriteString(`{"seq":4,"time":"2026-`)
		if err := errors.Join(err, f.Close()); err != nil {
			t.Fatal(err)
		}
		if r := verify(t, dir); r.Lines != whole || r.TornBytes != 22 {
			t.Errorf("with %d lines before it: %+v", whole, r)
		}
		write(t, first, 1)
		write(t, open(t, dir, audit.Options{}), 1)
		want := audit.Report{Files: 1, Lines: whole + 2, First: 1, Last: uint64(whole + 2), Torn: 1}
		r := verify(t, dir)
		r.Head = ""
		if d := cmp.Diff(want, r); d != "" {
			t.Errorf("with %d lines before it (-want +got):\n%s", whole, d)
		}
	}
}

// Several processes write at once, some of which are killed at any moment; no line of those that live is lost.
func TestProcessesAndKills(t *testing.T) {
	dir := t.TempDir()
	type process struct {
		cmd *exec.Cmd
		in  io.Closer
		out *bytes.Buffer
	}
	start := func() process {
		p := process{cmd: exec.CommandContext(t.Context(), os.Args[0]), out: new(bytes.Buffer)}
		p.cmd.Env = append(os.Environ(), writerVariable+"="+dir)
		in, err := p.cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		p.in = in
		out, err := p.cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := p.cmd.Start(); err != nil {
			t.Fatal(err)
		}
		first := make([]byte, len("writing\n"))
		if _, err := io.ReadFull(out, first); err != nil || string(first) != "writing\n" {
			t.Fatalf("a writer said %q, %v", first, err)
		}
		go func() { _, _ = io.Copy(p.out, out) }()
		return p
	}
	steady := start()
	for range 8 {
		killed := start()
		if err := killed.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = killed.cmd.Wait() // it was killed
	}
	if err := steady.in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := steady.cmd.Wait(); err != nil {
		t.Fatalf("the writer that was not killed: %v", err)
	}
	r := verify(t, dir)
	if r.First != 1 || r.Lines < 9 || r.TornBytes != 0 && r.Torn == 0 {
		t.Errorf("report %+v", r)
	}
	mine, pid := 0, fmt.Sprintf(`"subject":"%d"`, steady.cmd.Process.Pid)
	err := audit.Tail(t.Context(), dir, 0, false, func(line []byte) error {
		if bytes.Contains(line, []byte(pid)) {
			if !bytes.Contains(line, fmt.Appendf(nil, `"count":%d,`, mine)) && mine > 0 {
				t.Errorf("line %d of the writer that was not killed: %s", mine, line)
			}
			mine++
		}
		return nil
	})
	if err != nil || mine < 2 {
		t.Errorf("%d lines of the writer that was not killed, %v", mine, err)
	}
}

// A disk that is full loses events, which the next line tells; what was written stays as it is.
func TestFullDisk(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, audit.Options{})
	write(t, l, 2)
	var old syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(logs(t, dir)[0])
	if err != nil {
		t.Fatal(err)
	}
	small := old
	small.Cur = uint64(info.Size()) + 100 // less than a line
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &small); err != nil {
		t.Skipf("no limit on the size of files can be set: %v", err)
	}
	for range 3 {
		if err := l.Append(t.Context(), audit.Event{Kind: audit.Turn}); !errors.Is(err, syscall.EFBIG) {
			t.Errorf("append: %v, want EFBIG", err)
		}
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
		t.Fatal(err)
	}
	if r := verify(t, dir); r.Lines != 2 || r.TornBytes != 0 {
		t.Errorf("while it is full: %+v", r)
	}
	write(t, l, 2)
	if r := verify(t, dir); r.Lines != 4 || r.Lost != 3 {
		t.Errorf("afterwards: %+v, want four lines and three that are lost", r)
	}
}

// A process that keeps the lock, since it was stopped, holds the others up once, and then only costs events.
func TestStuckLock(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, audit.Options{})
	write(t, l, 1)
	lock, err := flock.Open(t.Context(), filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		for range 100 {
			if err := l.Append(t.Context(), audit.Event{Kind: audit.Turn}); !errors.Is(err, context.DeadlineExceeded) {
				t.Fatalf("append: %v", err)
			}
		}
		if took := time.Since(begun); took < time.Second || took > 3*time.Second {
			t.Errorf("100 events were held up for %v in all, want it once", took)
		}
	})
	if err := lock.Close(); err != nil {
		t.Fatal(err)
	}
	write(t, l, 2)
	if r := verify(t, dir); r.Lines != 3 || r.Lost != 100 {
		t.Errorf("afterwards: %+v", r)
	}
}

// A context that has ended keeps no event from being written, and hostile text stays text.
func TestAppendWhatHasHappened(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	l := open(t, dir, audit.Options{})
	nasty := strings.Repeat("\x00\n\"\xff\u2028", 1000)
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() {
			if err := l.Append(ctx, audit.Event{Kind: audit.FileRead, Subject: nasty, Address: nasty, Outcome: nasty, Chat: nasty, Object: nasty}); err != nil {
				t.Error(err)
			}
		})
	}
	wait.Wait()
	if r := verify(t, dir); r.Lines != 20 {
		t.Errorf("report %+v", r)
	}
}

func TestTail(t *testing.T) {
	dir := t.TempDir()
	l := open(t, dir, audit.Options{FileBytes: 1000, Bytes: 1 << 20})
	write(t, l, 12)
	for most, want := range map[int]int{0: 12, 1: 1, 5: 5, 12: 12, 100: 12} {
		var got [][]byte
		err := audit.Tail(t.Context(), dir, most, false, func(line []byte) error {
			got = append(got, bytes.Clone(line))
			return nil
		})
		if err != nil || len(got) != want || !bytes.Contains(got[len(got)-1], []byte(`"seq":12,`)) {
			t.Errorf("the last %d: %d lines, %v", most, len(got), err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	seen := 0
	err := audit.Tail(ctx, dir, 1, true, func(line []byte) error {
		if seen++; !bytes.Contains(line, fmt.Appendf(nil, `"seq":%d,`, 11+seen)) {
			t.Errorf("line %d is %s", seen, line)
		}
		switch seen {
		case 1:
			write(t, l, 6) // over a new file
		case 7:
			cancel()
		}
		return nil
	})
	if err != nil || seen != 7 {
		t.Errorf("followed %d lines, %v", seen, err)
	}
}

// Whatever stands in a file, Verify says whether it holds, and Append goes on behind it without making a broken log whole.
func TestAnyFile(t *testing.T) {
	good := someLines(t)
	for _, text := range [][]byte{nil, good, good[:len(good)-10], good[:40], append(bytes.Clone(good), good...), []byte("\n\n{}\n"), make([]byte, 100_000)} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, firstFile), text, 0o600); err != nil {
			t.Fatal(err)
		}
		before, err := audit.Verify(t.Context(), dir, "")
		if _, broken := errors.AsType[*audit.BrokenError](err); err != nil && !broken {
			t.Fatalf("verify: %v", err)
		}
		write(t, open(t, dir, audit.Options{}), 1)
		after, again := audit.Verify(t.Context(), dir, "")
		unfinished := len(text) == 100_000 // it is no line of ours, but taken away as what is left of one
		if (err == nil || unfinished) != (again == nil) || again == nil && after.Lines != before.Lines+1 {
			t.Errorf("%.20q: verify before: %+v, %v; after: %+v, %v", text, before, err, after, again)
		}
	}
}

const firstFile = "audit-00000000000000000001.jsonl"

// someLines returns a file of three lines.
func someLines(t testing.TB) []byte {
	t.Helper()
	dir := t.TempDir()
	l, err := audit.Open(dir, audit.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := l.Append(t.Context(), audit.Event{Kind: audit.Turn, Subject: "ada"}); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, firstFile))
	if err := errors.Join(err, l.Close()); err != nil {
		t.Fatal(err)
	}
	return text
}

// A file that holds is made of the lines that hold in their order, and no other byte: with one changed it does not hold.
func FuzzFile(f *testing.F) {
	good := someLines(f)
	f.Add(good, 17)
	f.Add(good[:len(good)-10], 300)
	f.Add(append(bytes.Clone(good), good...), 0)
	f.Add([]byte("\n\n{}\n"+`{"seq":1,"hash":"`+strings.Repeat("0", 64)+`"}`+"\n"), 1)
	f.Fuzz(func(t *testing.T, text []byte, at int) {
		lines, err := audit.VerifyText(firstFile, text)
		if _, broken := errors.AsType[*audit.BrokenError](err); err != nil && !broken {
			t.Fatalf("verify: %v", err)
		}
		if err != nil || lines == 0 || at < 0 {
			return
		}
		whole := text[:bytes.LastIndexByte(text, '\n')+1]
		changed := bytes.Clone(whole)
		changed[at%len(changed)] ^= 1
		if n, err := audit.VerifyText(firstFile, changed); err == nil && n == lines {
			t.Errorf("byte %d was changed, and it still holds", at%len(changed))
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	l, err := audit.Open(b.TempDir(), audit.Options{Bytes: 1 << 30})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if err := l.Append(b.Context(), audit.Event{Kind: audit.Turn, Subject: "ada", Address: "192.0.2.1", Outcome: "ok", Chat: "aaaaaaaaaaaaaaaaaaaaaaaaaa", Count: 1}); err != nil {
			b.Fatal(err)
		}
	}
}
