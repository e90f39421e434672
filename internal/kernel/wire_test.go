package kernel

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const testToken = "0123456789abcdef"

// pair returns a wire and the guest's end of its channel.
func pair(t testing.TB) (*wire, *os.File) {
	t.Helper()
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_SEQPACKET|syscall.SOCK_CLOEXEC|syscall.SOCK_NONBLOCK, 0)
	if err != nil {
		t.Fatalf("socketpair: %v", err)
	}
	host, guest := os.NewFile(uintptr(fds[0]), "host"), os.NewFile(uintptr(fds[1]), "guest")
	t.Cleanup(func() { _, _ = host.Close(), guest.Close() })
	return newWire(host, testToken), guest
}

func TestSendAndReceiveLongMessages(t *testing.T) {
	here, there := pair(t)
	other := newWire(there, testToken)
	body := bytes.Repeat([]byte("body"), 100_000)
	sent := make(chan error, 1)
	go func() { sent <- here.send(map[string]any{"op": "put", "id": 7}, body) }()
	m, err := other.receive()
	if err := errors.Join(err, <-sent); err != nil {
		t.Fatalf("send and receive: %v", err)
	}
	if m.Op != "put" || m.ID != 7 || !bytes.Equal(m.body, body) {
		t.Errorf("receive() = op %q, id %d, %d bytes; want put, 7, %d", m.Op, m.ID, len(m.body), len(body))
	}
}

// ISO-06: what code of a chat writes into the channel is not taken for a message.
func TestReceiveDropsWhatHasNoToken(t *testing.T) {
	here, guest := pair(t)
	for _, packet := range []string{
		`{"op":"done","status":"ok"}`, "x", "+", ".", testToken, testToken + "?{}", strings.Repeat("z", 60_000),
		testToken + `.{"op":"hello","pid":5}`,
	} {
		if _, err := guest.WriteString(packet); err != nil {
			t.Fatalf("write: %v", err)
		}
	}
	m, err := here.receive()
	if err != nil || m.Op != "hello" || m.PID != 5 {
		t.Errorf("receive() = %+v, %v; want the hello", m, err)
	}
}

func TestReceiveBoundsMessages(t *testing.T) {
	here, guest := pair(t)
	go func() {
		packet := []byte(testToken + "+" + strings.Repeat("a", chunkBytes))
		for {
			if _, err := guest.Write(packet); err != nil {
				return // the test has ended
			}
		}
	}()
	if _, err := here.receive(); !errors.Is(err, errProtocol) {
		t.Errorf("receive() of an endless message = %v; want %v", err, errProtocol)
	}
}

func TestReceiveTellsTheEnd(t *testing.T) {
	here, guest := pair(t)
	if err := guest.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := here.receive(); !errors.Is(err, io.EOF) {
		t.Errorf("receive() = %v; want io.EOF", err)
	}
}

func TestParseMessage(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"not JSON", "nonsense", "broke the protocol"},
		{"wrong type", `{"op":5}`, "broke the protocol"},
		{"file entry too short", `{"op":"done","files":{"changed":[["a",1]]}}`, "broke the protocol"},
		{"file entry too long", `{"op":"done","files":{"changed":[["a",1,"file","s",2]]}}`, "broke the protocol"},
		{"nested without end", strings.Repeat("[", 20_000), "broke the protocol"},
		{"bad text", "{\"op\":\"done\",\"notes\":[\"\xff\"]}", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := parseMessage([]byte(c.in))
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("parseMessage(%.40q) = %v; want error with %q", c.in, err, c.want)
			}
		})
	}
}

func TestReportKeepsOnlyPlainPaths(t *testing.T) {
	entry := func(p string) rawEntry { return rawEntry{path: p, kind: "file"} }
	raw := &rawFiles{
		Changed: []rawEntry{
			entry("a.csv"), entry("d/b.csv"), entry("../x"), entry("/etc/passwd"), entry("a//b"), entry("."), entry(""),
			entry("a\x00b"), entry("\u0100"), entry("r\u00e9"), {path: "n", size: -1, kind: "file"}, {path: "odd", kind: "gate"},
		},
		Deleted: []string{"gone", "../gone"},
	}
	got := raw.report()
	want := &FileReport{
		Changed: []FileEntry{
			{Path: "a.csv", Kind: "file"}, {Path: "d/b.csv", Kind: "file"}, {Path: "r\xe9", Kind: "file"}, {Path: "odd", Kind: "device"},
		},
		Deleted: []string{"gone"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("report() (-want +got):\n%s", diff)
	}
	if got := pathTo("r\xe9"); got != "r\u00e9" {
		t.Errorf("pathTo = %q; want each byte as a character", got)
	}
}

// FuzzFrames feeds the reader of a guest's messages: it must neither panic nor
// keep more than its bound, and only ever return messages that carry the token.
func FuzzFrames(f *testing.F) {
	f.Add([]byte(testToken+`.{"op":"hello","pid":5}`), []byte("rubbish"))
	f.Add([]byte(testToken+`+{"op":"image","n":1}`+"\n"), []byte(testToken+".body"))
	f.Add([]byte(testToken+`.{"op":"done","files":{"changed":[["a",1,"file","s"]]},"value":{"text":"2"}}`), []byte{})
	f.Add([]byte(testToken+`.{"op":"died","status":139}`), []byte(testToken))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		here, guest := pair(t)
		for _, packet := range [][]byte{first, second} {
			if len(packet) > 0 && len(packet) <= packetBytes {
				if _, err := guest.Write(packet); err != nil {
					t.Fatalf("write: %v", err)
				}
			}
		}
		if err := guest.Close(); err != nil {
			t.Fatal(err)
		}
		for {
			m, err := here.receive()
			if err != nil {
				return
			}
			if !bytes.Contains(append(append([]byte{}, first...), second...), []byte(testToken)) {
				t.Fatalf("a message without the token: %+v", m)
			}
			r := &run{kernel: &Kernel{}, n: m.N, result: &Result{}}
			if m.Op == "image" {
				_ = r.addImage(m) // refuses or keeps
			} else {
				r.done(m)
				r.died(m)
			}
			if n := len(r.result.Notes); n > notesPerRun+1 {
				t.Fatalf("%d notes", n)
			}
		}
	})
}
