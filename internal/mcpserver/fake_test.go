package mcpserver_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"runpython/internal/chat"
	"runpython/internal/fault"
	"runpython/internal/mcpserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// chatID is the id of the only chat that a fakeChat knows.
const chatID = "abcdefghijklmnopqrstuvwxyz"

// A fakeChat is a chat that never runs anything: it answers a message by what the
// message says. Its zero value is ready.
type fakeChat struct {
	turn func(context.Context, chat.Request) (*chat.Reply, error) // instead of its own answer, if not nil

	files []chat.ListedFile // that it lists

	mu       sync.Mutex
	requests []chat.Request
}

// Turn implements mcpserver.Chatter.
func (f *fakeChat) Turn(ctx context.Context, r chat.Request) (*chat.Reply, error) {
	f.mu.Lock()
	f.requests = append(f.requests, r)
	f.mu.Unlock()
	if f.turn != nil {
		return f.turn(ctx, r)
	}
	switch r.Message {
	case "busy":
		return nil, fault.New(fault.Busy, nil, "all interpreters are busy; try again in a moment")
	case "internal":
		return nil, errors.New("open /var/lib/guest/41: permission denied")
	case "invalid":
		return nil, fault.New(fault.Invalid, nil, "the requirement is malformed")
	case "panic":
		panic("a secret of the host")
	case "lost":
		return &chat.Reply{ChatID: chatID, State: chat.Reset, StateReason: "the run needed more than 1 GiB.", Text: "3"}, nil
	}
	if r.ChatID != "" && r.ChatID != chatID {
		return &chat.Reply{IsError: true, Text: "There is no such chat. Leave chat_id out to start a new one."}, nil
	}
	state := chat.New
	if r.ChatID != "" {
		state = chat.Kept
	}
	return &chat.Reply{
		ChatID: chatID, State: state, Text: "```\n2\n```\n",
		Runs: []chat.Run{{Code: r.Message, Value: "2", Duration: 3 * time.Millisecond}},
	}, nil
}

// ListFiles implements mcpserver.Chatter: nobody has files but those of the test.
func (f *fakeChat) ListFiles(_ context.Context, owner, cursor string, most int) ([]chat.ListedFile, bool, error) {
	after := 0
	if cursor != "" {
		n, err := strconv.Atoi(cursor)
		if err != nil {
			return nil, false, fault.New(fault.Invalid, nil, "foreign cursor")
		}
		after = n
	}
	if owner != "" {
		return nil, false, nil
	}
	rest := f.files[min(after, len(f.files)):]
	return rest[:min(most, len(rest))], len(rest) > most, nil
}

// OpenFile implements mcpserver.Chatter. It knows some names in the chat chatID.
func (f *fakeChat) OpenFile(_ context.Context, owner, uri string) (chat.File, io.ReadSeekCloser, error) {
	notFound := fault.New(fault.NotFound, nil, "no such file")
	path, ok := strings.CutPrefix(uri, "runpython://chats/"+chatID+"/")
	if owner != "" || !ok {
		return chat.File{}, nil, notFound
	}
	file := chat.File{Path: path, URI: uri, MIMEType: "text/csv"}
	var data []byte
	switch path {
	case "files/report.csv":
		data = []byte("a,b\n1,2\n")
	case "files/%D0%BE%D1%82%D1%87%D1%91%D1%82%20%F0%9F%8E%89.txt":
		data = []byte("x")
	case "results/1/figure-1.png":
		file.MIMEType, file.Result, data = "image/png", true, []byte{0x89, 'P', 'N', 'G'}
	case "files/latin1.csv":
		data = []byte{'n', 0xe9, 'e'}
	case "files/empty.txt":
	case "files/large.bin":
		data = make([]byte, 800<<10)
	case "files/broken":
		file.Size = 1
		return file, opened{errReader{}}, nil
	default:
		return chat.File{}, nil, notFound
	}
	file.Size = int64(len(data))
	return file, opened{bytes.NewReader(data)}, nil
}

// opened is content that nothing needs to close.
type opened struct{ io.ReadSeeker }

func (opened) Close() error { return nil }

type errReader struct{}

func (errReader) Read([]byte) (int, error)       { return 0, os.ErrPermission }
func (errReader) Seek(int64, int) (int64, error) { return 0, nil }

// seen returns the requests so far.
func (f *fakeChat) seen() []chat.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]chat.Request(nil), f.requests...)
}

// newServer returns a Server that the test closes.
func newServer(tb testing.TB, o mcpserver.Options) *mcpserver.Server {
	tb.Helper()
	o.Version = "test"
	s := mcpserver.New(o)
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("Close() = %v", err)
		}
	})
	return s
}

// connect opens a session at url in the given revision of the protocol.
func connect(tb testing.TB, url, version string) *mcp.ClientSession {
	tb.Helper()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(tb.Context(),
		&mcp.StreamableClientTransport{Endpoint: url, MaxRetries: -1},
		&mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		tb.Fatalf("connect to %s: %v", url, err)
	}
	if got := session.InitializeResult().ProtocolVersion; got != version {
		tb.Fatalf("negotiated revision %s, want %s", got, version)
	}
	return session
}
