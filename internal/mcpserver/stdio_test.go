package mcpserver_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/chat"
	"runpython/internal/mcpserver"
)

// A stdioClient speaks with ServeStdio over pipes, one line at a time.
type stdioClient struct {
	t      *testing.T
	in     *io.PipeWriter
	lines  *bufio.Scanner
	cancel context.CancelFunc
	served chan error
}

func startStdio(t *testing.T, c mcpserver.Chatter) *stdioClient {
	t.Helper()
	inReader, inWriter := io.Pipe()
	outReader, outWriter := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	s := newServer(t, mcpserver.Options{Chat: c})
	client := &stdioClient{t: t, in: inWriter, lines: bufio.NewScanner(outReader), cancel: cancel, served: make(chan error, 1)}
	client.lines.Buffer(nil, 2<<20)
	go func() {
		client.served <- s.ServeStdio(ctx, inReader, outWriter)
		outWriter.Close()
	}()
	t.Cleanup(cancel)
	return client
}

func (c *stdioClient) send(line string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, line+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

// receive returns the next line, which must be one message.
func (c *stdioClient) receive() string {
	c.t.Helper()
	if !c.lines.Scan() {
		c.t.Fatalf("the output ended: %v", c.lines.Err())
	}
	if !strings.HasPrefix(c.lines.Text(), `{"jsonrpc":"2.0",`) || !json.Valid(c.lines.Bytes()) {
		c.t.Fatalf("a line of output is no message: %.300q", c.lines.Text())
	}
	return c.lines.Text()
}

// open initializes the session.
func (c *stdioClient) open() {
	c.t.Helper()
	c.send(initialize)
	if got := c.receive(); !strings.Contains(got, `"protocolVersion":"2025-11-25"`) {
		c.t.Fatalf("initialize got %s", got)
	}
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

func (c *stdioClient) expect(want string) {
	c.t.Helper()
	if got := c.receive(); !strings.Contains(got, want) {
		c.t.Errorf("got %s, want %q in it", got, want)
	}
}

// close ends the input and checks that the server then returns.
func (c *stdioClient) close() {
	c.t.Helper()
	c.in.Close()
	if err := <-c.served; err != nil {
		c.t.Errorf("ServeStdio() = %v", err)
	}
}

func stdioCall(id int, message string) string {
	return strings.Replace(callBody(legacy, message), `"id":1`, fmt.Sprintf(`"id":%d`, id), 1)
}

// TestStdioCancel: a call that is cancelled ends and is not answered, in either era; the
// server goes on.
func TestStdioCancel(t *testing.T) {
	for _, version := range eras {
		t.Run("MCP-17 "+version, func(t *testing.T) {
			g := newGatedChat()
			c := startStdio(t, g)
			call := func(id int, message string) string {
				return strings.Replace(callBody(version, message), `"id":1`, fmt.Sprintf(`"id":%d`, id), 1)
			}
			if version == legacy {
				c.open()
			}
			c.send(call(7, "wait"))
			<-g.began
			c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
			if err := <-g.ended; err == nil {
				t.Error("the turn was not cancelled")
			}
			c.send(call(8, "now"))
			c.expect(`"id":8,"result"`) // and not an answer to 7
			c.close()
		})
	}
}

// TestStdioTask: a client over pipes takes tasks too, which end with it.
func TestStdioTask(t *testing.T) {
	g := newGatedChat()
	c := startStdio(t, g)
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{` + takesTasks + `,"runpython/taskAfterMs":0},` + say1("wait") + `}}`)
	<-g.began
	var handle taskAnswer
	if err := json.Unmarshal([]byte(c.receive()), &handle); err != nil || handle.Result == nil || handle.Result.ResultType != "task" {
		t.Fatalf("the call got %+v, %v; want a handle", handle.Result, err)
	}
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tasks/get","params":{"_meta":{%s},"taskId":%q}}`, takesTasks, handle.Result.TaskID))
	c.expect(`"status":"working"`)
	c.close()
	if err := <-g.ended; err == nil {
		t.Error("the turn goes on without its client")
	}
}

func TestStdioAnswersDuringCall(t *testing.T) {
	t.Run("MCP-19", func(t *testing.T) {
		g := newGatedChat()
		c := startStdio(t, g)
		c.open()
		c.send(stdioCall(1, "wait"))
		<-g.began
		c.send(`{"jsonrpc":"2.0","id":2,"method":"ping"}`)
		c.expect(`"id":2,"result":{}`)
		close(g.gate)
		c.expect(`"id":1,"result"`)
		c.close()
	})
}

// TestStdioSurvives sends what no client should: each line gets its error, and the
// server goes on.
func TestStdioSurvives(t *testing.T) {
	c := startStdio(t, &fakeChat{})
	c.open()
	for _, tt := range []struct{ line, want string }{
		{"nonsense", `"code":-32700`},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0"}`, `"code":-32700`},
		{"\x00\xff", `"code":-32700`},
		{`{"jsonrpc":"2.0","id":{},"method":"ping"}`, `"code":-32600`},
		{strings.Repeat("x", 5<<20), "longer than 4 MiB"},
		{`{"jsonrpc":"2.0","id":3,"method":"tools/run"}`, `"id":3,"error":{"code":-32601`},
		{`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":[]}}`, `"id":4,"error":{"code":-32602,"message":"name must be a string, not an array`},
		{`{"jsonrpc":"2.0","id":5,"method":"tools/call"}`, `"id":5,"error":{"code":-32602,"message":"params are missing`},
		{initialize, `"id":0,"error":{"code":-32600,"message":"duplicate`},
		{`[]`, `"code":-32600`},
		{`[{"jsonrpc":"2.0","method":"notifications/elsewhere"},{"jsonrpc":"2.0","id":6,"method":"ping"}]`, `"id":6,"result":{}`},
		{"\r", ""},
		{stdioCall(7, "panic"), `"id":7,"error":{"code":-32603,"message":"internal error`},
		{stdioCall(8, "1+1") + "\r", `"id":8,"result"`},
	} {
		c.send(tt.line)
		if tt.want != "" {
			c.expect(tt.want)
		}
	}
	c.close()
}

// TestStdioNothingButMessages: what code prints, crashes and logs with everything
// switched on must not reach the output as it is.
func TestStdioNothingButMessages(t *testing.T) {
	t.Run("MCP-20", func(t *testing.T) {
		var log bytes.Buffer
		s := newServer(t, mcpserver.Options{
			Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
			Chat: &fakeChat{turn: func(_ context.Context, r chat.Request) (*chat.Reply, error) {
				switch r.Message {
				case "print":
					r.Progress(chat.Progress{Step: "output", Stdout: "{\"jsonrpc\":\"2.0\"}\nprinted\n"})
					return &chat.Reply{ChatID: chatID, Text: "{\"jsonrpc\":\"2.0\"}\nprinted\n"}, nil
				case "crash":
					return nil, errors.New("guest: broken\npipe")
				}
				panic("a line\nand another one")
			}},
		})
		in := strings.Join([]string{initialize, stdioCall(1, "print"), stdioCall(2, "crash"), stdioCall(3, "panic")}, "\n")
		var out bytes.Buffer
		if err := s.ServeStdio(t.Context(), strings.NewReader(in), &out); err != nil {
			t.Fatal(err)
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) != 4 {
			t.Errorf("%d lines, want 4:\n%s", len(lines), out.String())
		}
		for _, line := range lines {
			if !json.Valid([]byte(line)) || strings.Contains(line, "broken") || strings.Contains(line, "another one") {
				t.Errorf("line %q", line)
			}
		}
		if !strings.Contains(log.String(), "another one") || strings.Contains(log.String(), "guest: broken") {
			t.Errorf("want the panic logged, and the cause of a turn left to the Chatter: %s", log.String())
		}
	})
}

// TestStdioEndOfInput: calls that were piped in are answered although the input has
// ended; calls that take too long are not waited for.
func TestStdioEndOfInput(t *testing.T) {
	for _, tt := range []struct {
		name  string
		takes time.Duration
		want  []string
	}{
		{"quick", time.Second, []string{"0", "1"}},
		{"slow", time.Hour, []string{"0"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newServer(t, mcpserver.Options{Chat: &fakeChat{turn: func(ctx context.Context, _ chat.Request) (*chat.Reply, error) {
					select {
					case <-ctx.Done():
						return nil, ctx.Err()
					case <-time.After(tt.takes):
						return &chat.Reply{ChatID: chatID, Text: "done"}, nil
					}
				}}})
				var out bytes.Buffer
				in := strings.NewReader(initialize + "\n" + callBody(alone, "x"))
				began := time.Now()
				if err := s.ServeStdio(t.Context(), in, &out); err != nil {
					t.Fatal(err)
				}
				var ids []string
				for line := range strings.Lines(out.String()) {
					var m struct{ ID json.RawMessage }
					if err := json.Unmarshal([]byte(line), &m); err != nil {
						t.Fatal(err)
					}
					if m.ID != nil {
						ids = append(ids, string(m.ID))
					}
				}
				slices.Sort(ids)
				if diff := cmp.Diff(tt.want, ids); diff != "" || time.Since(began) > time.Minute {
					t.Errorf("answers after %v (-want +got):\n%s", time.Since(began), diff)
				}
			})
		})
	}
}

// TestStdioStop: the end of the context ends the call in flight with an answer.
func TestStdioStop(t *testing.T) {
	g := newGatedChat()
	c := startStdio(t, g)
	c.open()
	c.send(stdioCall(1, "wait"))
	<-g.began
	c.cancel()
	c.expect("The server is stopping and has ended this call; what its code did until then may be there. Chats are kept")
	if err := <-c.served; err != nil {
		t.Errorf("ServeStdio() = %v", err)
	}
}

// TestStdioSDKClient speaks both eras through the client of the SDK.
func TestStdioSDKClient(t *testing.T) {
	for _, version := range eras {
		t.Run(version, func(t *testing.T) {
			inReader, inWriter := io.Pipe()
			outReader, outWriter := io.Pipe()
			s := newServer(t, mcpserver.Options{Chat: &fakeChat{}})
			var wg sync.WaitGroup
			wg.Go(func() {
				if err := s.ServeStdio(t.Context(), inReader, outWriter); err != nil {
					t.Errorf("ServeStdio() = %v", err)
				}
			})
			session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(),
				&mcp.IOTransport{Reader: outReader, Writer: inWriter}, &mcp.ClientSessionOptions{ProtocolVersion: version})
			if err != nil {
				t.Fatal(err)
			}
			res, err := session.CallTool(t.Context(), say("1+1"))
			if err != nil || !strings.HasSuffix(text(t, res), "chat_id: "+chatID) {
				t.Errorf("CallTool() = %v, %v", res, err)
			}
			if err := session.Close(); err != nil {
				t.Error(err)
			}
			wg.Wait()
		})
	}
}
