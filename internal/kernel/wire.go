package kernel

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"
)

const (
	tokenBytes   = 16
	chunkBytes   = 60_000
	packetBytes  = 64 << 10
	messageBytes = 16 << 20 // longest message from a guest: a picture or a report of 20,000 files
	// sendDeadline bounds a send: a guest that does not read its channel is lost.
	sendDeadline = 10 * time.Second
)

var errProtocol = errors.New("the guest broke the protocol")

// wire is the host's end of the channel. One goroutine may send while another receives.
type wire struct {
	file   *os.File
	token  []byte
	packet []byte // of receive
}

func newWire(file *os.File, token string) *wire {
	return &wire{file: file, token: []byte(token), packet: make([]byte, packetBytes)}
}

// send sends one message.
func (w *wire) send(header any, body []byte) error {
	text, err := json.Marshal(header)
	if err != nil {
		return fmt.Errorf("message to the guest: %w", err)
	}
	if err := w.file.SetWriteDeadline(time.Now().Add(sendDeadline)); err != nil {
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

// receive returns the next message. Packets without the token are dropped: code of
// the chat has written them. io.EOF means that the guest has ended.
func (w *wire) receive() (*message, error) {
	var joined []byte
	for {
		n, err := w.file.Read(w.packet)
		if err != nil {
			return nil, err //nolint:wrapcheck // io.EOF must stay itself
		}
		if n == 0 {
			return nil, io.EOF
		}
		chunk, more, ok := w.open(w.packet[:n])
		if !ok {
			continue
		}
		if len(joined)+len(chunk) > messageBytes {
			return nil, fmt.Errorf("%w: a message of more than %d bytes", errProtocol, messageBytes)
		}
		if !more && joined == nil {
			return parseMessage(chunk)
		}
		joined = append(joined, chunk...)
		if !more {
			return parseMessage(joined)
		}
	}
}

// await drops messages until one with the op comes.
func (w *wire) await(op string) error {
	for {
		m, err := w.receive()
		if err != nil {
			return err
		}
		if m.Op == op {
			return nil
		}
	}
}

// open checks a packet's token and returns its content.
func (w *wire) open(packet []byte) (chunk []byte, more, ok bool) {
	rest, found := bytes.CutPrefix(packet, w.token)
	if !found || len(rest) == 0 || rest[0] != '+' && rest[0] != '.' {
		return nil, false, false
	}
	return rest[1:], rest[0] == '+', true
}

// message is any message of a guest; which fields are set depends on Op.
type message struct {
	Op     string `json:"op"`
	N      int    `json:"n"`
	ID     int    `json:"id"`
	Status status `json:"status"`
	Error  any    `json:"error"`

	Python string `json:"python"`
	PID    int    `json:"pid"`

	MIME   string `json:"mime"`
	Width  int    `json:"width"`
	Height int    `json:"height"`
	Source string `json:"source"`

	Stream string `json:"stream"`

	Index int   `json:"index"`
	End   bool  `json:"end"`
	Size  int64 `json:"size"`

	Chosen   int       `json:"chosen"`
	Value    *rawValue `json:"value"`
	Table    *rawTable `json:"table"`
	Exit     *int      `json:"exit"`
	ExitText string    `json:"exit_message"`
	Notes    []string  `json:"notes"`
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
	Changed []rawEntry `json:"changed"`
	Deleted []string   `json:"deleted"`
	Total   int        `json:"total"`
	Over    bool       `json:"over"`
	Full    bool       `json:"full"`
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
	var m message
	if err := json.Unmarshal(header, &m); err != nil {
		return nil, fmt.Errorf("%w: %w", errProtocol, err)
	}
	m.body = bytes.Clone(body)
	return &m, nil
}

// text returns the error field when it is a string.
func (m *message) errorText() string {
	s, _ := m.Error.(string)
	return s
}

// exception returns the error field of `done`.
func (m *message) exception() *Exception {
	fields, ok := m.Error.(map[string]any)
	if !ok {
		return nil
	}
	get := func(name string) string {
		s, _ := fields[name].(string)
		return cut(s, valueBytes)
	}
	return &Exception{Type: get("type"), Message: get("message"), Traceback: get("traceback")}
}
