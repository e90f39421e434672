package app_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/extent"
)

// A taskReply is what a test reads of an answer on the way of a task.
type taskReply struct {
	Result struct {
		ResultType, TaskID, Status, StatusMessage string
		Result                                    struct {
			Content []struct{ Text string }
		}
		Content []struct{ Text string }
	}
	Error *struct{ Message string }
}

func (r taskReply) text() string {
	content := append(r.Result.Content, r.Result.Result.Content...)
	if len(content) == 0 {
		return ""
	}
	return content[0].Text
}

// A taskClient takes tasks, which the client of the SDK does not.
type taskClient struct {
	t   *testing.T
	url string
}

// do sends a message and returns the response, whose body the caller closes.
func (c taskClient) do(ctx context.Context, accept, method, name, meta string, params map[string]any) *http.Response {
	c.t.Helper()
	encoded, err := json.Marshal(params)
	if err != nil {
		c.t.Fatal(err)
	}
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
		`"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}%s},%s`, method, meta, encoded[1:])
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, strings.NewReader(body+"}"))
	if err != nil {
		c.t.Fatal(err)
	}
	for header, value := range map[string]string{
		"Content-Type": "application/json", "Accept": accept,
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name,
	} {
		r.Header.Set(header, value)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	return response
}

// send sends a message and returns its answer.
func (c taskClient) send(method, name, meta string, params map[string]any) (reply taskReply) {
	c.t.Helper()
	response := c.do(c.t.Context(), "application/json", method, name, meta, params)
	defer func() { _ = response.Body.Close() }()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := json.Unmarshal(bytes.TrimSpace(data), &reply); err != nil || reply.Error != nil {
		c.t.Fatalf("%s got %s, %v", method, data, err)
	}
	return reply
}

func chatCall(id, message string) map[string]any {
	return map[string]any{"name": "chat", "arguments": map[string]any{"message": message, "chat_id": id}}
}

func (c taskClient) call(id, message, meta string) taskReply {
	c.t.Helper()
	return c.send("tools/call", "chat", meta, chatCall(id, message))
}

// until polls a task until it is as it should be.
func (c taskClient) until(id, what string, is func(taskReply) bool) taskReply {
	c.t.Helper()
	for {
		r := c.send("tasks/get", id, "", map[string]any{"taskId": id})
		if is(r) {
			return r
		}
		if r.Result.Status != "working" {
			c.t.Fatalf("the task is %+v, want %s", r.Result, what)
		}
	}
}

// A run as a task: it is followed, its result fetched, another one cancelled, and the
// chat keeps its variables.
func TestTasks(t *testing.T) {
	extent.Long(t)
	url, _ := serve(t, open(t, nil))
	_, _, chat := call(t, connect(t, &mcp.StreamableClientTransport{Endpoint: url}), "", "x = 41")
	c := taskClient{t, url}
	atOnce := `,"runpython/taskAfterMs":0`

	task := c.call(chat, "import time\nprint('begun', flush=True)\ntime.sleep(1)\nx + 1", atOnce).Result
	if task.ResultType != "task" || task.Status != "working" {
		t.Fatalf("the call got %+v, want a handle", task)
	}
	c.until(task.TaskID, "output", func(r taskReply) bool { return r.Result.StatusMessage == "begun" })
	done := c.until(task.TaskID, "done", func(r taskReply) bool { return r.Result.Status == "completed" })
	if text := done.text(); !strings.Contains(text, "\n42\n") || !strings.Contains(text, "state: kept") {
		t.Errorf("the result is\n%s", text)
	}

	endless := c.call(chat, "print('begun', flush=True)\nwhile True: pass", atOnce).Result
	c.until(endless.TaskID, "output", func(r taskReply) bool { return r.Result.StatusMessage == "begun" })
	c.send("tasks/cancel", endless.TaskID, "", map[string]any{"taskId": endless.TaskID})
	c.until(endless.TaskID, "cancelled", func(r taskReply) bool { return r.Result.Status == "cancelled" })
	if text := c.call(chat, "x * 2", "").text(); !strings.Contains(text, "\n82\n") || !strings.Contains(text, "state: kept") {
		t.Errorf("after a task that was cancelled:\n%s", text)
	}
}

// The same call, sent again with its key when its connection was lost, runs once.
func TestCallsAreNotRunTwice(t *testing.T) {
	extent.Long(t)
	url, _ := serve(t, open(t, nil))
	_, _, chat := call(t, connect(t, &mcp.StreamableClientTransport{Endpoint: url}), "", "n = 0")
	c := taskClient{t, url}
	key := `,"progressToken":"p","runpython/idempotencyKey":"a"`
	message := "import time\nn += 1\nprint('begun', flush=True)\ntime.sleep(1)\nprint('run', n)"
	ctx, hangUp := context.WithCancel(t.Context())
	defer hangUp()
	response := c.do(ctx, "text/event-stream", "tools/call", "chat", key, chatCall(chat, message))
	events := bufio.NewScanner(response.Body)
	for events.Scan() && !strings.Contains(events.Text(), "notifications/progress") {
	}
	hangUp()
	_ = response.Body.Close()
	again := c.call(chat, message, key)
	if text := again.text(); !strings.Contains(text, "\nrun 1\n") {
		t.Errorf("a copy got\n%s", text)
	}
	if text := c.call(chat, "n", "").text(); !strings.Contains(text, "\n1\n") {
		t.Errorf("after a call and its copy:\n%s", text)
	}
}

// A call over pipes that is cancelled ends, gets no answer, and leaves its chat usable.
func TestCancelledCallsAreNotAnswered(t *testing.T) {
	extent.Slow(t)
	a := open(t, nil)
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- a.ServeStdio(t.Context(), fromClient, toClient)
		_ = toClient.Close()
	}()
	lines := json.NewDecoder(fromServer)
	write := func(line string) {
		t.Helper()
		if _, err := io.WriteString(toServer, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	next := func() (message struct {
		ID     int
		Method string
		Result json.RawMessage
	}) {
		t.Helper()
		if err := lines.Decode(&message); err != nil {
			t.Fatal(err)
		}
		return message
	}
	write(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	next()
	write(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	write(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"_meta":{"progressToken":"p"},"name":"chat","arguments":{"message":"print('begun', flush=True)\nwhile True: pass"}}}`)
	if m := next(); m.Method != "notifications/progress" {
		t.Fatalf("got %+v, want progress", m)
	}
	write(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}`)
	write(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"chat","arguments":{"message":"6 * 7"}}}`)
	for {
		m := next()
		if m.Method == "notifications/progress" {
			continue
		}
		if m.ID != 3 || !strings.Contains(string(m.Result), "42") {
			t.Errorf("got the answer %+v, want only that to call 3", m)
		}
		break
	}
	_ = toServer.Close()
	var more json.RawMessage
	if err := lines.Decode(&more); err != io.EOF {
		t.Errorf("after that: %s, %v; want the end", more, err)
	}
	if err := <-ended; err != nil {
		t.Errorf("serve: %v", err)
	}
}
