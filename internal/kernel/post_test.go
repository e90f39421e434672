package kernel

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"runpython/internal/sandbox"
)

// While a chat is idle its guest can fill no memory of the host with messages: they are dropped as they
// come, but for the one that the next operation must know.
func TestMessagesBetweenOperationsAreDropped(t *testing.T) {
	host, there := pair(t)
	guest := newWire(there, testToken)
	if err := there.SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	k := &Kernel{wire: host, guest: &sandbox.Sandbox{}, post: newPost(), done: make(chan struct{})}
	k.readers.Go(k.read)
	say := func(header map[string]any, body []byte) {
		t.Helper()
		if err := guest.send(header, body); err != nil {
			t.Fatalf("the host does not read: %v", err)
		}
	}
	large := bytes.Repeat([]byte("x"), 1<<20)
	say(map[string]any{"op": "died", "status": 3}, large)
	for range 8 {
		say(map[string]any{"op": "image", "n": 1}, large)
	}
	died := k.post.open()
	if died == nil || died.Op != "died" || len(died.body) != 0 {
		t.Fatalf("open() = %+v; want what told of the end, without its body", died)
	}
	sent := make(chan error, 1)
	go func() { sent <- guest.send(map[string]any{"op": "hello", "pid": 7}, nil) }()
	for m := range k.post.messages { // of the guest's buffer there may still be one
		if m.Op == "hello" {
			break
		}
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
	// A message that waits for an operation is dropped when the operation ends.
	say(map[string]any{"op": "image", "n": 1}, large)
	k.post.shut()
	say(map[string]any{"op": "died", "status": 4}, nil)
	say(map[string]any{"op": "image", "n": 1}, large)
	if err := there.Close(); err != nil {
		t.Fatal(err)
	}
	if m, ok := <-k.post.messages; ok {
		t.Errorf("the message %q was kept", m.Op)
	}
	k.readers.Wait()
	if died := k.post.open(); died == nil || died.Status.wait != 4 {
		t.Errorf("open() = %+v; want the second end", died)
	}
}

// What a guest has half sent when it is stopped is dropped, and so is the rest of it later; the
// end of the interpreter that init tells is not.
func TestForgetDropsHalfAMessage(t *testing.T) {
	w := newWire(nil, testToken)
	take := func(packets ...string) (ops []string) {
		t.Helper()
		for _, p := range packets {
			m, err := w.take([]byte(testToken + p))
			if err != nil {
				t.Fatalf("take(%.20q): %v", p, err)
			}
			if m != nil {
				ops = append(ops, m.Op)
			}
		}
		return ops
	}
	take(`+{"op":"image"}`+"\n", "+"+strings.Repeat("x", chunkBytes))
	w.forget()
	if w.joined != nil {
		t.Errorf("%d bytes are kept", len(w.joined))
	}
	if got := take("+"+strings.Repeat("x", chunkBytes), ".x", `.{"op":"hello"}`); len(got) != 1 || got[0] != "hello" {
		t.Errorf("the rest of the message and the next one give %q; want the next alone", got)
	}
	take("+x", "!", `+{"op":"died",`)
	w.forget()
	if got := take(`."status":1}`); len(got) != 1 || got[0] != "died" {
		t.Errorf("init's message gives %q; want it whole", got)
	}
	take("!", "+"+strings.Repeat("x", chunkBytes))
	for range headerBytes / chunkBytes {
		take("+" + strings.Repeat("x", chunkBytes))
	}
	w.forget()
	if w.joined != nil {
		t.Errorf("%d bytes that pretend to be init's are kept", len(w.joined))
	}
}
