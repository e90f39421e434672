package kernel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"runpython/internal/excerpt"
)

const (
	tokenBytes   = 16
	chunkBytes   = 60_000
	packetBytes  = 64 << 10
	messageBytes = 16 << 20 // longest message from a guest: a picture
	headerBytes  = 8 << 20  // longest header: a report of 10,000 files with long names
	// sendDeadline bounds a send, to it or half of it: a guest that does not read its channel is lost.
	sendDeadline = 10 * time.Second
)

var errProtocol = errors.New("the guest broke the protocol")

// wire is the host's end of the channel. One goroutine may send while another receives.
type wire struct {
	file  *os.File
	token []byte
	until time.Time // when the file's sends fail; of send

	mu     sync.Mutex // guards what follows
	joined []byte     // of the message that is being received
	ofInit bool       // that message is init's, as far as can be told
	void   bool       // the rest of that message is dropped
}

func newWire(file *os.File, token string) *wire {
	return &wire{file: file, token: []byte(token)}
}

// send sends one message.
func (w *wire) send(header any, body []byte) error {
	text, err := json.Marshal(header)
	if err != nil {
		return fmt.Errorf("message to the guest: %w", err)
	}
	if err := w.extend(); err != nil {
		return fmt.Errorf("message to the guest: %w", err)
	}
	data := make([]byte, 0, len(text)+1+len(body))
	data = append(append(append(data, text...), '\n'), body...)
	packet := make([]byte, 0, tokenBytes+1+min(len(data), chunkBytes))
	for {
		chunk, mark := data, byte('.')
		if len(data) > chunkBytes {
			chunk, mark = data[:chunkBytes], '+'
		}
		packet = append(append(append(packet[:0], w.token...), mark), chunk...)
		if _, err := w.file.Write(packet); err != nil {
			return fmt.Errorf("message to the guest: %w", err)
		}
		if data = data[len(chunk):]; len(data) == 0 {
			return nil
		}
	}
}

// extend makes sure that a send has at least half of sendDeadline. Most
// sends find enough left: moving a deadline wakes the runtime's poller.
func (w *wire) extend() error {
	now := time.Now()
	if w.until.Sub(now) > sendDeadline/2 {
		return nil
	}
	w.until = now.Add(sendDeadline)
	return w.file.SetWriteDeadline(w.until) //nolint:wrapcheck // by send
}

// receive returns the next message. Packets without the token are dropped: code of
// the chat has written them. io.EOF means that the guest has ended.
func (w *wire) receive() (*message, error) {
	raw, err := w.file.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("channel of a guest: %w", err)
	}
	for {
		var m *message
		var problem error
		err := raw.Read(func(fd uintptr) bool {
			var again bool
			m, again, problem = w.receiveOnce(int(fd))
			return !again
		})
		if err = errors.Join(err, problem); err != nil {
			return nil, err
		}
		if m != nil {
			return m, nil
		}
	}
}

// receiveOnce takes one packet, without waiting, and returns the message that it
// ends, if it ends one; again is true when there is no packet yet. Its buffer is a shared one: a chat
// that nobody uses needs none.
func (w *wire) receiveOnce(fd int) (m *message, again bool, err error) {
	buffer := readBuffers.Get().(*[]byte) //nolint:forcetypeassert // the pool holds nothing else
	defer readBuffers.Put(buffer)
	for {
		n, err := syscall.Read(fd, *buffer)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EAGAIN):
			return nil, true, nil
		case err != nil:
			return nil, false, fmt.Errorf("channel of a guest: %w", err)
		case n == 0:
			return nil, false, io.EOF
		}
		m, err := w.take((*buffer)[:n])
		return m, false, err
	}
}

// take takes a packet and returns the message that it ends, nil if it ends none.
func (w *wire) take(packet []byte) (*message, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	chunk, mark := w.open(packet)
	switch mark {
	case 0:
		return nil, nil //nolint:nilnil // rubbish is no message and no error
	case '!': // init begins: what the interpreter has not finished is void
		w.joined, w.ofInit, w.void = nil, true, false
		return nil, nil //nolint:nilnil // the message follows
	}
	if len(w.joined)+len(chunk) > messageBytes {
		return nil, fmt.Errorf("%w: a message of more than %d bytes", errProtocol, messageBytes)
	}
	void, joined := w.void, w.joined
	if mark == '+' {
		if !void {
			w.joined = append(joined, chunk...)
		}
		return nil, nil //nolint:nilnil // the rest follows
	}
	w.joined, w.ofInit, w.void = nil, false, false
	switch {
	case void:
		return nil, nil //nolint:nilnil // it was dropped
	case joined == nil:
		return parseMessage(chunk)
	default:
		return parseMessage(append(joined, chunk...))
	}
}

// forget drops what there is of a message that has not come whole, and what still comes of it. Only
// init's is kept, which is a header alone: nobody else tells that the interpreter has ended.
func (w *wire) forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.joined != nil && (!w.ofInit || len(w.joined) > headerBytes) {
		w.joined, w.void = nil, true
	}
}

// await drops messages until one with one of the ops comes.
func (w *wire) await(ops ...string) (*message, error) {
	for {
		m, err := w.receive()
		if err != nil || slices.Contains(ops, m.Op) {
			return m, err
		}
	}
}

// open checks a packet's token and returns its mark and content; the mark is 0 for rubbish.
func (w *wire) open(packet []byte) (chunk []byte, mark byte) {
	rest, found := bytes.CutPrefix(packet, w.token)
	if !found || len(rest) == 0 || !bytes.ContainsRune([]byte("+.!"), rune(rest[0])) {
		return nil, 0
	}
	return rest[1:], rest[0]
}

// message is any message of a guest; which fields are set depends on Op.
type message struct {
	Op     string `json:"op"`
	N      int    `json:"n"`
	ID     int    `json:"id"`
	Status status `json:"status"`
	// Error is an object in `done` and a string elsewhere.
	Error json.RawMessage `json:"error"`

	PID int `json:"pid"` // of `hello`

	Needed texts `json:"needed"` // of `needs`

	Problems texts `json:"problems"` // of `preloaded`

	Source string `json:"source"` // of `image`

	Kept texts `json:"kept"` // of `remove`

	Index int  `json:"index"` // of `file`
	End   bool `json:"end"`

	Chosen   int       `json:"chosen"`
	Value    *rawValue `json:"value"`
	Table    *rawTable `json:"table"`
	Exit     *int      `json:"exit"`
	ExitText string    `json:"exit_message"`
	Notes    texts     `json:"notes"`
	Files    *rawFiles `json:"files"`
	Reason   string    `json:"reason"`

	body []byte
}

type rawValue struct {
	Text    string `json:"text"`
	Type    string `json:"type"`
	Omitted int64  `json:"omitted"`
}

type rawTable struct {
	Markdown string `json:"markdown"`
	Rows     int64  `json:"rows"`
	Columns  int64  `json:"columns"`
}

type rawFiles struct {
	Changed entries `json:"changed"`
	Deleted texts   `json:"deleted"`
	Total   int     `json:"total"`
	Over    bool    `json:"over"`
	Full    bool    `json:"full"`
}

// listed is how many elements of a list are read; a guest's own lists are shorter.
const listed = 20_001

// texts and entries are lists that are refused when they are too long, before
// they take more memory than the message itself.
type (
	texts   []string
	entries []rawEntry
)

// UnmarshalJSON reads a list of strings.
func (t *texts) UnmarshalJSON(data []byte) error { return readList(data, (*[]string)(t)) }

// UnmarshalJSON reads a list of entries.
func (e *entries) UnmarshalJSON(data []byte) error { return readList(data, (*[]rawEntry)(e)) }

func readList[T any](data []byte, into *[]T) error {
	list := json.NewDecoder(bytes.NewReader(data))
	first, err := list.Token()
	if err != nil || first == nil { // null is no list
		return err //nolint:wrapcheck // wrapped by parseMessage
	}
	for list.More() {
		if len(*into) == listed {
			return fmt.Errorf("a list of more than %d", listed)
		}
		var element T
		if err := list.Decode(&element); err != nil {
			return err //nolint:wrapcheck // wrapped by parseMessage
		}
		*into = append(*into, element)
	}
	return nil
}

// rawEntry is [path, size, kind, stamp].
type rawEntry struct {
	path  string
	size  int64
	kind  string
	stamp string
}

// UnmarshalJSON reads the four-element form.
func (e *rawEntry) UnmarshalJSON(data []byte) error {
	parts := []any{&e.path, &e.size, &e.kind, &e.stamp}
	if err := json.Unmarshal(data, &parts); err != nil {
		return fmt.Errorf("file entry: %w", err)
	}
	if len(parts) != 4 {
		return fmt.Errorf("file entry of %d parts", len(parts))
	}
	return nil
}

// status is a word in `done` and a wait status in `died`.
type status struct {
	word string
	wait int
}

// UnmarshalJSON reads either form.
func (s *status) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, &s.word) //nolint:wrapcheck // wrapped by parseMessage
	}
	return json.Unmarshal(data, &s.wait) //nolint:wrapcheck // wrapped by parseMessage
}

// parseMessage splits and decodes a message; the result does not alias data.
func parseMessage(data []byte) (*message, error) {
	header, body, _ := bytes.Cut(data, []byte("\n"))
	if len(header) > headerBytes {
		return nil, fmt.Errorf("%w: a header of %d bytes", errProtocol, len(header))
	}
	var m message
	if err := json.Unmarshal(header, &m); err != nil {
		return nil, fmt.Errorf("%w: %w", errProtocol, err)
	}
	m.body = bytes.Clone(body)
	return &m, nil
}

// errorText returns the error field when it is a string.
func (m *message) errorText() string {
	var s string
	if json.Unmarshal(m.Error, &s) != nil {
		return "" // an object, or nothing
	}
	return s
}

// exception returns the error field of `done`, nil when there is none.
func (m *message) exception() *Exception {
	var e *struct {
		Type      string `json:"type"`
		Message   string `json:"message"`
		Traceback string `json:"traceback"`
	}
	if json.Unmarshal(m.Error, &e) != nil || e == nil {
		return nil // a string, or nothing
	}
	return &Exception{Type: excerpt.Middle(e.Type, noteBytes), Message: excerpt.Middle(e.Message, valueBytes), Traceback: excerpt.Middle(e.Traceback, valueBytes)}
}
