package guest_test

import (
	"bytes"
	"encoding/json"
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
	"time"

	"golang.org/x/sys/unix"

	"runpython/internal/guesttest"
)

// wheelsVariable names a folder of packages for CPython 3.14 that some tests need.
const wheelsVariable = "RUNPYTHON_TEST_WHEELS"

// answerDeadline bounds the wait for a kernel that has stopped answering.
const answerDeadline = 90 * time.Second

const token = "0123456789abcdef"

// bootstrap is what start.py does in a guest. Arguments: folder of the kernel, folder of packages or "", options.
const bootstrap = `
import os, sys
os.dup2(3, 300); os.close(3)
sys.path.insert(0, sys.argv[1])
if sys.argv[2]: sys.path.append(sys.argv[2])
import codec, kernel
kernel.serve(300, "` + token + `", codec.decode(sys.argv[3]))
`

// caches is a folder that all tests share, for what Python compiles of packages and what matplotlib notes.
var caches string // set by TestMain before any test runs

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if caches, err = os.MkdirTemp("", "kernel-test-"); err != nil {
			fmt.Fprintln(os.Stderr, "folder for caches:", err)
			return 1
		}
		defer func() { _ = os.RemoveAll(caches) }() // a temporary folder
		return m.Run()
	}())
}

// command is the interpreter with some code, whose first two arguments are the folder of the kernel's files and one of packages or "".
func command(t *testing.T, code, packages string, arguments ...string) *exec.Cmd {
	t.Helper()
	python := guesttest.Python(t)
	args := []string{"-I", "-B"} // it is compiled already
	if packages != "" {
		args = []string{"-I", "-X", "pycache_prefix=" + caches}
	}
	args = append(args, "-c", code, python.Programs, packages)
	return exec.Command(filepath.Join(python.Home, "bin", "python3"), append(args, arguments...)...)
}

// kernel is a kernel process on this machine, with the test in the place of the host.
type kernel struct {
	t              *testing.T
	process        *exec.Cmd
	channel        *os.File
	stdout, stderr *stream
	work           string
	runs           int
	exited         chan error

	asks   int                                            // questions that a run may ask
	answer func(id int, prompt string) (text, why string) // answers them; why is not "" when nobody does

	supply func(needed []string) (changed []string) // installs what code imports; nil: nothing can be installed
	fresh  []string                                 // what the next run is told to have changed, nil for nothing
}

// start starts a kernel that says hello; packages is a folder of packages or "".
func start(t *testing.T, packages string) *kernel {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		t.Fatal(err)
	}
	theirs := os.NewFile(uintptr(fds[1]), "kernel's end")
	defer theirs.Close()
	k := &kernel{t: t, channel: os.NewFile(uintptr(fds[0]), "host's end"), work: t.TempDir(), exited: make(chan error, 1)}
	k.stdout, k.stderr = newStream(t), newStream(t)
	options, err := json.Marshal(map[string]any{
		"work": k.work, "value_bytes": 65536, "image_bytes": 8 << 20, "images": 10, "memory_limit": 1 << 30, "files_limit": 10000,
	})
	if err != nil {
		t.Fatal(err)
	}
	k.process = command(t, bootstrap, packages, string(options))
	k.process.Dir = k.work
	k.process.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + k.work, "MPLBACKEND=Agg", "MPLCONFIGDIR=" + caches}
	k.process.ExtraFiles = []*os.File{theirs}
	k.process.Stdout, k.process.Stderr = k.stdout.write, k.stderr.write
	if err := k.process.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { k.exited <- k.process.Wait() }()
	t.Cleanup(k.stop)
	k.send(map[string]any{"op": "hello", "seed": strings.Repeat("0f", 64)}, nil)
	hello, _, err := k.receive()
	if err != nil || hello.Op != "hello" || hello.PID != k.process.Process.Pid {
		t.Fatalf("hello: %+v, %v; stderr: %s", hello, err, k.stderr.take())
	}
	return k
}

func (k *kernel) stop() {
	_ = k.channel.Close()
	_ = k.process.Process.Kill()
	<-k.exited //nolint:errcheck // it says that it was killed
	k.stdout.close()
	k.stderr.close()
}

// candidate is a text of a run.
type candidate struct {
	Code      string `json:"code"`
	MustAct   bool   `json:"must_act"`
	RunAnyway bool   `json:"run_anyway"`
}

// message is any message of a kernel.
type message struct {
	Op         string
	N, PID, ID int
	Python     string
	MIME       string
	Width      int
	Height     int
	Source     string
	Stream     string
	Status     string
	Chosen     int
	Value      *struct {
		Text, Type string
		Omitted    int
	} //nolint:gofumpt // one line
	Table *struct {
		Markdown      string
		Rows, Columns int
	}
	Error       any
	Exit        *int
	ExitMessage string `json:"exit_message"`
	Notes       []string
	Needed      []string
	Files       *struct {
		Changed [][]any
		Total   int
	}
	End  bool
	Size int
	Kept []string
}

// result is all that one run gave.
type result struct {
	done           message
	died           bool // the process ended instead of answering
	exit           string
	stdout, stderr string
	late           string
	images         []message
	pictures       [][]byte
}

func (k *kernel) send(header any, body []byte) {
	k.t.Helper()
	text, err := json.Marshal(header)
	if err != nil {
		k.t.Fatal(err)
	}
	data := append(append(text, '\n'), body...)
	for mark := "+"; mark == "+"; {
		chunk := data[:min(len(data), 60_000)]
		if data = data[len(chunk):]; len(data) == 0 {
			mark = "."
		}
		if _, err := k.channel.Write(append([]byte(token+mark), chunk...)); err != nil {
			k.t.Fatal(err)
		}
	}
}

func (k *kernel) receive() (message, []byte, error) {
	if err := k.channel.SetReadDeadline(time.Now().Add(answerDeadline)); err != nil {
		return message{}, nil, err
	}
	var data []byte
	packet := make([]byte, 1<<16)
	for {
		n, err := k.channel.Read(packet)
		if err != nil {
			return message{}, nil, err
		}
		if !bytes.HasPrefix(packet[:n], []byte(token)) || n <= len(token) {
			continue // code of the chat wrote it
		}
		data = append(data, packet[len(token)+1:n]...)
		if packet[len(token)] == '.' {
			break
		}
	}
	header, body, _ := bytes.Cut(data, []byte("\n"))
	var m message
	if err := json.Unmarshal(header, &m); err != nil {
		return m, nil, fmt.Errorf("header %q: %w", header, err)
	}
	return m, body, nil
}

// run runs the first of the candidates that is code. When its stdout has the text of signalAt, the kernel gets the signal.
func (k *kernel) run(candidates []candidate, signalAt string, signal syscall.Signal) result {
	k.t.Helper()
	k.runs++
	if signalAt != "" {
		k.stdout.await(signalAt, func() { _ = k.process.Process.Signal(signal) })
	}
	header := map[string]any{"op": "run", "n": k.runs, "candidates": candidates, "asks": k.asks, "packages": k.supply != nil}
	if k.fresh != nil {
		header["changed"], k.fresh = k.fresh, nil
	}
	k.send(header, nil)
	var r result
	for {
		m, body, err := k.receive()
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET):
			err := <-k.exited
			k.exited <- err
			r.died, r.exit = true, fmt.Sprint(err)
			return k.collect(r)
		case err != nil:
			k.t.Fatalf("run %d: %v; stderr: %s", k.runs, err, k.stderr.take())
		case m.Op == "ask" && m.N == k.runs:
			text, why := k.answer(m.ID, string(body))
			k.send(map[string]any{"op": "answer", "n": m.N, "id": m.ID, "refused": why}, []byte(text))
		case m.Op == "needs" && m.N == k.runs:
			k.send(map[string]any{"op": "installed", "n": m.N, "changed": k.supply(m.Needed)}, nil)
		case m.Op == "image":
			r.images, r.pictures = append(r.images, m), append(r.pictures, body)
		case m.Op == "late":
			r.late += string(body)
		case m.Op == "done" && m.N == k.runs:
			r.done = m
			return k.collect(r)
		}
	}
}

func (k *kernel) collect(r result) result {
	r.stdout, r.stderr = k.stdout.take(), k.stderr.take()
	return r
}

// exec runs one text.
func (k *kernel) exec(code string) result {
	k.t.Helper()
	return k.run([]candidate{{Code: code, RunAnyway: true}}, "", 0)
}

// exception returns the fields of the run's error.
func (r result) exception() (kind, text, traceback string) {
	fields, _ := r.done.Error.(map[string]any)
	get := func(name string) string { s, _ := fields[name].(string); return s }
	return get("type"), get("message"), get("traceback")
}

// stream reads what a kernel prints, through a pipe whose other end the test holds too.
type stream struct {
	read, write *os.File
	ended       chan struct{}

	mu      sync.Mutex
	changed *sync.Cond
	text    []byte
	waited  string
	then    func()
}

func newStream(t *testing.T) *stream {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s := &stream{read: r, write: w, ended: make(chan struct{})}
	s.changed = sync.NewCond(&s.mu)
	go s.pump()
	return s
}

func (s *stream) pump() {
	defer close(s.ended)
	buffer := make([]byte, 1<<16)
	for {
		n, err := s.read.Read(buffer)
		if err != nil {
			return
		}
		s.mu.Lock()
		s.text = append(s.text, buffer[:n]...)
		if s.then != nil && bytes.Contains(s.text, []byte(s.waited)) {
			s.then()
			s.then = nil
		}
		s.changed.Broadcast()
		s.mu.Unlock()
	}
}

// await calls then once the stream has text.
func (s *stream) await(text string, then func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waited, s.then = text, then
}

// take returns all that was printed until now and forgets it.
func (s *stream) take() string {
	const end = "\x00end of what was printed\x00"
	if _, err := s.write.WriteString(end); err != nil {
		return ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for !bytes.HasSuffix(s.text, []byte(end)) {
		s.changed.Wait()
	}
	text := strings.TrimSuffix(string(s.text), end)
	s.text, s.then = nil, nil
	return text
}

func (s *stream) close() {
	_ = s.write.Close()
	_ = s.read.Close()
	<-s.ended
}
