package app_test

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/app"
	"runpython/internal/chat"
	"runpython/internal/config"
	"runpython/internal/extent"
	"runpython/internal/guesttest"
)

func build(t *testing.T) app.Build { return app.Build{Version: "test", Program: guesttest.Binary(t)} }

// unset is the settings of somebody who said nothing.
func unset() config.Config {
	return config.Default(func(string) (string, bool) { return "", false })
}

// open builds the program on a data folder of the test's own.
func open(t *testing.T, change func(*config.Config)) *app.App {
	t.Helper()
	return openAt(t, guesttest.Data(t), func(c *config.Config, _ *app.Build) {
		c.Pool = 1
		if change != nil {
			change(c)
		}
	})
}

// serve serves HTTP until the test ends and returns the URLs.
func serve(t *testing.T, a *app.App) (mcpURL, adminURL string) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	ready := make(chan [2]string, 1)
	go func() { ended <- a.Serve(ctx, func(m, admin string) { ready <- [2]string{m, admin} }) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	select {
	case urls := <-ready:
		return urls[0], urls[1]
	case err := <-ended:
		ended <- err
		t.Fatalf("serve: %v", err)
		return "", ""
	}
}

// connect connects a client of the official SDK.
func connect(t *testing.T, transport mcp.Transport) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = session.Close() }) // the server may be gone
	return session
}

// connectSeeing is connect; seen gets something when the code of a call with a progress token has printed text.
func connectSeeing(t *testing.T, transport mcp.Transport, text string) (session *mcp.ClientSession, seen <-chan struct{}) {
	t.Helper()
	printed := make(chan struct{}, 1)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			if !strings.Contains(r.Params.Message, text) {
				return
			}
			select {
			case printed <- struct{}{}:
			default: // one is enough
			}
		},
	})
	session, err := client.Connect(t.Context(), transport, nil)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = session.Close() }) // the server may be gone
	return session, printed
}

// call calls the tool and returns its text and the chat's id.
func call(t *testing.T, s *mcp.ClientSession, id, message string) (*mcp.CallToolResult, string, string) {
	t.Helper()
	args := map[string]any{"message": message}
	if id != "" {
		args["chat_id"] = id
	}
	result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "chat", Arguments: args})
	if err != nil {
		t.Fatalf("call %.40q: %v", message, err)
	}
	text := result.Content[0].(*mcp.TextContent).Text
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return result, text, strings.TrimPrefix(lines[len(lines)-1], "chat_id: ")
}

// The main job: code goes in over HTTP, value, output and files come out, and the
// variables are there at the next call.
func TestMainJobOverHTTP(t *testing.T) {
	url, _ := serve(t, open(t, nil))
	s := connect(t, &mcp.StreamableClientTransport{Endpoint: url})
	result, text, id := call(t, s, "", "```python\nx = 41\nprint('hello')\nopen('report.csv', 'w').write('a,b\\n1,2\\n')\nx + 1\n```")
	if result.IsError || !strings.Contains(text, "\nhello\n") || !strings.Contains(text, "\n42\n") || len(id) != 26 {
		t.Fatalf("first call: error %v, id %q, text:\n%s", result.IsError, id, text)
	}
	var link *mcp.ResourceLink
	for _, c := range result.Content {
		if l, ok := c.(*mcp.ResourceLink); ok {
			link = l
		}
	}
	if link == nil || link.MIMEType != "text/csv" {
		t.Fatalf("link %+v; want report.csv", link)
	}
	read, err := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: link.URI})
	if err != nil || len(read.Contents) != 1 || read.Contents[0].Text != "a,b\n1,2\n" {
		t.Errorf("read %s: %+v, %v", link.URI, read, err)
	}
	if _, text, _ := call(t, s, id, "x * 2"); !strings.Contains(text, "\n82\n") || !strings.Contains(text, "kept") {
		t.Errorf("second call:\n%s", text)
	}
	if result, text, _ := call(t, s, id, "1/0"); !result.IsError || !strings.Contains(text, "ZeroDivisionError") {
		t.Errorf("failing code: error %v\n%s", result.IsError, text)
	}
	if result, text, _ := call(t, s, "", "What is 17% of 2340?"); !result.IsError || !strings.Contains(text, "```python") {
		t.Errorf("prose: error %v\n%s", result.IsError, text)
	}
}

func TestMainJobOverStdio(t *testing.T) {
	a := open(t, nil)
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- a.ServeStdio(t.Context(), fromClient, toClient) }()
	s := connect(t, &mcp.IOTransport{Reader: fromServer, Writer: toServer})
	_, _, id := call(t, s, "", "y = 6")
	if _, text, _ := call(t, s, id, "y * 7"); !strings.Contains(text, "\n42\n") {
		t.Errorf("second call:\n%s", text)
	}
	_ = s.Close()
	if err := <-ended; err != nil {
		t.Errorf("serve: %v", err)
	}
}

// CHT-01, RUN-03: chats run in parallel, and one that sleeps does not hold the others.
func TestChatsRunInParallel(t *testing.T) {
	extent.Slow(t)
	url, _ := serve(t, open(t, nil))
	s := connect(t, &mcp.StreamableClientTransport{Endpoint: url})
	_, _, sleeper := call(t, s, "", "import time")
	var wait sync.WaitGroup
	ctx, stop := context.WithCancel(t.Context())
	other, asleep := connectSeeing(t, &mcp.StreamableClientTransport{Endpoint: url}, "good night")
	wait.Go(func() {
		params := &mcp.CallToolParams{Name: "chat", Arguments: map[string]any{"message": "print('good night', flush=True)\ntime.sleep(50)", "chat_id": sleeper}}
		params.SetProgressToken("p")
		_, _ = other.CallTool(ctx, params) // it is left
	})
	<-asleep
	if _, text, _ := call(t, s, "", "print('b')"); !strings.Contains(text, "\nb\n") {
		t.Errorf("beside a sleeping chat:\n%s", text)
	}
	stop() // the caller leaves; the chat stays
	wait.Wait()
	if _, text, _ := call(t, s, sleeper, "time.__name__"); !strings.Contains(text, "'time'") || !strings.Contains(text, "kept") {
		t.Errorf("after a caller has left:\n%s", text)
	}
}

// CHT-12: chats leave nothing behind: no process, no folder, no descriptor, no goroutine.
func TestNothingIsLeft(t *testing.T) {
	extent.Slow(t)
	c := unset()
	c.Data, c.Pool = guesttest.Data(t), 0
	before := runtime.NumGoroutine()
	a, err := app.Open(t.Context(), c, guesttest.Log(t), build(t))
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if r, err := a.Turn(t.Context(), chat.Request{Message: "print(1)"}); err != nil || r.IsError {
			t.Fatalf("turn: %+v, %v", r, err)
		}
	}
	if err := a.Close(); err != nil {
		t.Fatalf("close: %v", err)
	}
	left, err := os.ReadDir(c.Data + "/run")
	if err != nil || len(left) != 0 {
		t.Errorf("left in run: %v, %v", left, err)
	}
	if pids := processesNaming(t, c.Data); len(pids) != 0 {
		t.Errorf("processes that name %s: %v", c.Data, pids)
	}
	for deadline := time.Now().Add(5 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(deadline); runtime.Gosched() {
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines before, %d after", before, after)
	}
}

func processesNaming(t *testing.T, path string) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, e := range entries {
		command, err := os.ReadFile("/proc/" + e.Name() + "/cmdline")
		if err == nil && strings.Contains(string(command), path) {
			found = append(found, e.Name()+" "+strings.ReplaceAll(string(command), "\x00", " "))
		}
	}
	return found
}

// The log has ids, counts and times of a turn, and nothing of its content.
func TestLogTellsNoContent(t *testing.T) {
	extent.Slow(t)
	var mu sync.Mutex
	var logged strings.Builder
	c := unset()
	c.Data, c.Pool = guesttest.Data(t), 0
	a, err := app.Open(t.Context(), c, slog.New(slog.NewJSONHandler(lockedWriter{&mu, &logged}, nil)), build(t))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Turn(t.Context(), chat.Request{Message: "print('my ' + 'secret'); raise ValueError('my secret')"}); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if strings.Contains(logged.String(), "secret") {
		t.Errorf("the log tells content:\n%s", logged.String())
	}
	var turn map[string]any
	for line := range strings.Lines(logged.String()) {
		var event map[string]any
		if err := json.Unmarshal([]byte(line), &event); err == nil && event["msg"] == "turn" {
			turn = event
		}
	}
	if turn["outcome"] != "failed" || turn["runs"] != 1.0 || turn["chat"] == "" {
		t.Errorf("event of the turn: %v", turn)
	}
}

type lockedWriter struct {
	mu *sync.Mutex
	b  *strings.Builder
}

func (w lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.b.Write(p)
}
