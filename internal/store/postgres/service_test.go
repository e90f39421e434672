package postgres_test

import (
	"context"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"runpython/internal/chat"
	"runpython/internal/fault"
	"runpython/internal/guesttest"
	"runpython/internal/kernel"
	"runpython/internal/store/content"
)

// A counter is an interpreter whose value is how many runs it has had. Its second one ends when the test says so.
type counter struct {
	runs    atomic.Int64
	proceed chan struct{}
}

func (c *counter) Run(context.Context, kernel.Request) (*kernel.Result, error) {
	n := c.runs.Add(1)
	if n == 2 {
		<-c.proceed
	}
	return &kernel.Result{Status: kernel.OK, Value: &kernel.Value{Text: strings.Repeat("I", int(n))}}, nil
}

func (c *counter) Get(context.Context, []string, int64, func(int, []byte) error, func(int, string) error) error {
	return nil
}
func (c *counter) Put(context.Context, string, io.Reader) (string, error) { return "", nil }
func (c *counter) Remove(context.Context, []string) (int, error)          { return 0, nil }
func (c *counter) Environment() string                                    { return "" }
func (c *counter) Preloaded() bool                                        { return false }
func (c *counter) Lost() bool                                             { return false }
func (c *counter) Checkpoint(context.Context, string) error               { return nil }
func (c *counter) CheckpointBeside(context.Context, string) error         { return nil }
func (c *counter) Close() error                                           { return nil }

// service runs chats of counters on a database.
func service(t *testing.T, address string, proceed chan struct{}) *chat.Service {
	t.Helper()
	records := open(t, address)
	files, err := content.Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := chat.NewService(chat.Options{
		Start: func(context.Context, chat.Start, func(string) error) (chat.Interpreter, error) {
			return &counter{proceed: proceed}, nil
		},
		Store: records, Content: files, Log: guesttest.Log(t),
		Limits: chat.Limits{RunTimeout: time.Minute, WorkBytes: 1 << 20, WorkFiles: 10, Kernels: 10, Chats: 10, Idle: time.Hour, Keep: time.Hour},
	})
	t.Cleanup(func() {
		for _, c := range []io.Closer{s, files, records} {
			if err := c.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		}
	})
	return s
}

// Issue 7, item 10: while the server of the database is gone, turns of a running program say so, and the one under way that it is
// not kept; when it is back, the chat goes on with its interpreter.
func TestServiceWithoutItsServer(t *testing.T) {
	address, _ := fresh(t)
	order := controlled(t)
	proceed := make(chan struct{})
	s := service(t, address, proceed)
	turn := func(id string) (*chat.Reply, error) {
		return s.Turn(context.WithoutCancel(t.Context()), chat.Request{ChatID: id, Message: "count()"})
	}
	first, err := turn("")
	if err != nil {
		t.Fatal(err)
	}
	began := make(chan struct{})
	under := make(chan *chat.Reply, 1)
	go func() {
		reply, err := s.Turn(context.WithoutCancel(t.Context()), chat.Request{ChatID: first.ChatID, Message: "count()", Progress: func(p chat.Progress) {
			if p.Step == "running" {
				close(began)
			}
		}})
		if err != nil {
			t.Errorf("the turn under way: %v", err)
		}
		under <- reply
	}()
	<-began
	order("stop")
	close(proceed)
	if got := <-under; got == nil || !got.IsError || !strings.Contains(got.Text, "not kept") || !strings.Contains(got.Text, "cannot be reached") || !strings.Contains(got.Text, "II") {
		t.Errorf("the turn under way: %+v; want its value, and that it is not kept", got)
	}
	for _, id := range []string{"", first.ChatID} {
		_, err := turn(id)
		if kind, text := fault.Shown(err); kind != fault.Busy || !strings.Contains(text, "cannot be reached") {
			t.Errorf("a turn of chat %q without the server: %v; want that it cannot be reached", id, err)
		}
	}
	order("start")
	if got, err := turn(first.ChatID); err != nil || got.IsError || got.State != chat.Kept || !strings.Contains(got.Text, "III") {
		t.Errorf("a turn when the server is back: %+v, %v; want the third of its interpreter", got, err)
	}
}
