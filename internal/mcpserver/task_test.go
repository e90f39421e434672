package mcpserver_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/chat"
	"runpython/internal/fault"
	"runpython/internal/mcpserver"
)

// takesTasks is the _meta of a request whose client takes tasks.
const takesTasks = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}`

// A taskAnswer is any answer on the way of a task.
type taskAnswer struct {
	Result *struct {
		ResultType    string
		TaskID        string
		Status        string
		StatusMessage string
		CreatedAt     string
		LastUpdatedAt string
		TTLMs         *int64
		PollMs        int64 `json:"pollIntervalMs"`
		InputRequests map[string]json.RawMessage
		Result        *mcp.CallToolResult
		Error         *rpcError
		Content       []struct{ Text string }
		IsError       bool
	}
	Error *rpcError
}

type rpcError struct {
	Code    int
	Message string
	Data    json.RawMessage
}

// tasked sends a message of the newer era with meta to a handler.
func tasked(ctx context.Context, t *testing.T, h http.Handler, method, meta, params string) taskAnswer {
	t.Helper()
	c := &rawClient{url: "http://localhost/mcp", version: alone, method: method}
	r := c.request(ctx, http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{"_meta":{%s},%s}}`, method, meta, params))
	r.Header.Set("Accept", "application/json")
	var named struct{ Name, TaskID string }
	if err := json.Unmarshal([]byte("{"+params+"}"), &named); err != nil {
		t.Fatalf("params %s: %v", params, err)
	}
	r.Header.Set("Mcp-Name", named.Name+named.TaskID)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var a taskAnswer
	if body := bytes.TrimSpace(w.Body.Bytes()); len(body) > 0 {
		checkAnswer(t, body)
		if err := json.Unmarshal(body, &a); err != nil {
			t.Fatalf("answer %s: %v", body, err)
		}
	}
	return a
}

// startTask calls the tool and returns the handle that it must get.
func startTask(t *testing.T, h http.Handler, meta, message string) (id string) {
	t.Helper()
	a := tasked(t.Context(), t, h, "tools/call", meta, say1(message))
	if a.Result == nil || a.Result.ResultType != "task" || a.Result.TaskID == "" || a.Result.Status != "working" || a.Result.Result != nil {
		t.Fatalf("the call got %+v %+v, want a handle", a.Result, a.Error)
	}
	return a.Result.TaskID
}

func say1(message string) string {
	return fmt.Sprintf(`"name":"chat","arguments":{"message":%q}`, message)
}

func getTask(t *testing.T, h http.Handler, id string) taskAnswer {
	t.Helper()
	return tasked(t.Context(), t, h, "tasks/get", takesTasks, fmt.Sprintf(`"taskId":%q`, id))
}

// slowChat takes the time that a message says, and then repeats it.
func slowChat() *fakeChat {
	return &fakeChat{turn: func(ctx context.Context, r chat.Request) (*chat.Reply, error) {
		if r.Message == "busy" {
			return nil, fault.New(fault.Busy, nil, "all interpreters are busy; try again in a moment")
		}
		d, err := time.ParseDuration(r.Message)
		if err != nil {
			return nil, errors.New("a cause with a secret")
		}
		if r.Progress != nil {
			r.Progress(chat.Progress{Step: "running"})
			r.Progress(chat.Progress{Step: "output", Stdout: "first\nstep \x1b 1\n"})
		}
		select {
		case <-ctx.Done():
			return &chat.Reply{ChatID: chatID, IsError: true, Text: "stopped"}, nil
		case <-time.After(d):
			return &chat.Reply{ChatID: chatID, Text: "after " + r.Message}, nil
		}
	}}
}

// TestTask: a call of a client that takes tasks becomes one after 10 s, or when the
// client says, and its outcome stays for an hour after its end.
func TestTask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := slowChat()
		h := newServer(t, mcpserver.Options{Chat: fake}).Handler()
		quick := tasked(t.Context(), t, h, "tools/call", takesTasks, say1("9s"))
		if quick.Result == nil || quick.Result.ResultType != "complete" || quick.Result.TaskID != "" || !strings.HasPrefix(quick.Result.Content[0].Text, "after 9s") {
			t.Errorf("a quick call got %+v, want its result", quick.Result)
		}
		began := time.Now()
		id := startTask(t, h, takesTasks, "1m")
		if d := time.Since(began); d != 10*time.Second {
			t.Errorf("the handle came after %v, want 10s", d)
		}
		working := getTask(t, h, id)
		if r := working.Result; r.Status != "working" || r.ResultType != "complete" || r.StatusMessage != "step ␛ 1" || *r.TTLMs != 3_610_000 || r.PollMs != 1000 || r.CreatedAt != "2000-01-01T00:00:09.000Z" {
			t.Errorf("while it works: %+v", r)
		}
		pause(51 * time.Second)
		for range 2 {
			done := getTask(t, h, id).Result
			if done.Status != "completed" || done.Result == nil || *done.TTLMs != 3_660_000 || done.LastUpdatedAt != "2000-01-01T00:01:09.000Z" {
				t.Fatalf("when it has ended: %+v", done)
			}
			if got := text(t, done.Result); !strings.HasPrefix(got, "after 1m\n") {
				t.Errorf("the result is %q", got)
			}
			pause(30*time.Minute - time.Second)
		}
		pause(3 * time.Second)
		if gone := getTask(t, h, id); gone.Error == nil || gone.Error.Code != -32602 {
			t.Errorf("after an hour: %+v", gone)
		}
		began = time.Now()
		startTask(t, h, takesTasks+`,"runpython/taskAfterMs":0`, "1s")
		startTask(t, h, takesTasks+`,"runpython/taskAfterMs":500`, "1s")
		if d := time.Since(began); d != 500*time.Millisecond {
			t.Errorf("handles that were asked for came after %v, want 500ms", d)
		}
		if got := len(fake.seen()); got != 4 {
			t.Errorf("%d turns for 4 calls", got)
		}
	})
}

// TestTaskMessage: the message of a task is the last whole line, or the step.
func TestTaskMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reports := make(chan chat.Progress)
		h := newServer(t, mcpserver.Options{Chat: &fakeChat{turn: func(_ context.Context, r chat.Request) (*chat.Reply, error) {
			for p := range reports {
				r.Progress(p)
			}
			return &chat.Reply{Text: "done"}, nil
		}}}).Handler()
		id := startTask(t, h, takesTasks+`,"runpython/taskAfterMs":0`, "x")
		for _, tt := range []struct {
			report chat.Progress
			want   string
		}{
			{chat.Progress{Step: "running"}, "running"},
			{chat.Progress{Step: "output", Stdout: "ep"}, "running"},
			{chat.Progress{Step: "output", Stderr: "\n \n"}, "running"},
			{chat.Progress{Step: "output", Stdout: "och 1\nep"}, "epoch 1"},
			{chat.Progress{Step: "output", Stdout: "och 2\n\n"}, "epoch 2"},
			{chat.Progress{Step: "output", Stderr: "10%\r20%\r30"}, "20%"},
			{chat.Progress{Step: "output", Stdout: strings.Repeat("x", 200)}, "20%"},
			{chat.Progress{Step: "output", Stdout: strings.Repeat("x", 200) + "\n"}, strings.Repeat("x", 256) + "…"},
			{chat.Progress{Step: "saving"}, "saving"},
		} {
			reports <- tt.report
			synctest.Wait()
			if got := getTask(t, h, id).Result.StatusMessage; got != tt.want {
				t.Errorf("after %+v the task says %q, want %q", tt.report, got, tt.want)
			}
		}
		close(reports)
	})
}

// TestTaskProgress: notifications end before the handle, which is the last message of
// its request.
func TestTaskProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, mcpserver.Options{Chat: &fakeChat{turn: func(_ context.Context, r chat.Request) (*chat.Reply, error) {
			for i := range 30 {
				r.Progress(chat.Progress{Step: "output", Stdout: fmt.Sprintln(i)})
				pause(time.Second)
			}
			return &chat.Reply{Text: "done"}, nil
		}}})
		c := newClient()
		r := (&rawClient{url: "http://localhost/mcp", version: alone}).request(t.Context(), http.MethodPost,
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{"progressToken":"p",`+takesTasks+`},`+say1("x")+`}}`)
		s.Handler().ServeHTTP(c, r)
		pause(time.Minute)
		messages := events(t, c.body.Bytes())
		if len(messages) != 11 || !strings.Contains(messages[9], `"progress":10`) || !strings.Contains(messages[10], `"resultType":"task"`) {
			t.Errorf("%d messages, the last is %s", len(messages), messages[len(messages)-1])
		}
	})
}

// TestTaskCancel: tasks/cancel ends the turn, and is acknowledged at any time.
func TestTaskCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		s := newServer(t, mcpserver.Options{Chat: &fakeChat{turn: func(ctx context.Context, _ chat.Request) (*chat.Reply, error) {
			<-ctx.Done()
			ended <- ctx.Err()
			return &chat.Reply{IsError: true, Text: "stopped; variables are kept"}, nil
		}}})
		h := s.Handler()
		id := startTask(t, h, takesTasks, "x")
		for range 2 {
			ack := tasked(t.Context(), t, h, "tasks/cancel", takesTasks, fmt.Sprintf(`"taskId":%q`, id))
			if ack.Result == nil || ack.Result.ResultType != "complete" || ack.Result.TaskID != "" || ack.Result.Status != "" {
				t.Errorf("tasks/cancel got %+v %+v", ack.Result, ack.Error)
			}
			synctest.Wait()
			if got := getTask(t, h, id).Result; got.Status != "cancelled" || got.Result != nil {
				t.Errorf("after tasks/cancel: %+v", got)
			}
		}
		if err := <-ended; err == nil {
			t.Error("the turn goes on")
		}
	})
}

// TestTaskFailures: what goes wrong in a task is told as the call would have told it.
func TestTaskFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newServer(t, mcpserver.Options{Chat: &fakeChat{turn: func(_ context.Context, r chat.Request) (*chat.Reply, error) {
			pause(20 * time.Second)
			switch r.Message {
			case "panic":
				panic("a secret of the host")
			case "invalid":
				return nil, fault.New(fault.Invalid, nil, "the requirement is malformed")
			case "internal":
				return nil, errors.New("open /var/lib/guest/41: permission denied")
			}
			return &chat.Reply{IsError: true, Text: "ValueError"}, nil
		}}}).Handler()
		for message, want := range map[string]struct {
			status, text string
			code         int
		}{
			"panic":      {status: "failed", code: -32603, text: "internal error"},
			"invalid":    {status: "failed", code: -32602, text: "malformed"},
			"internal":   {status: "completed", text: "internal error"},
			"ValueError": {status: "completed", text: "ValueError"},
		} {
			id := startTask(t, h, takesTasks, message)
			pause(time.Minute)
			got := getTask(t, h, id).Result
			if got.Status != want.status {
				t.Errorf("%s: status %s, want %s", message, got.Status, want.status)
				continue
			}
			if want.code != 0 {
				if got.Error == nil || got.Result != nil || got.Error.Code != want.code || !strings.Contains(got.Error.Message, want.text) {
					t.Errorf("%s: error %+v, result %+v", message, got.Error, got.Result)
				}
				continue
			}
			if got.Result == nil || got.Error != nil || !got.Result.IsError || !strings.Contains(text(t, got.Result), want.text) {
				t.Errorf("%s: error %+v, result %+v", message, got.Error, got.Result)
			}
		}
	})
}

// TestTaskRefused: who may not use the methods, and how that is said.
func TestTaskRefused(t *testing.T) {
	h := newServer(t, mcpserver.Options{Chat: &fakeChat{}}).Handler()
	plain := aloneMeta
	for _, tt := range []struct {
		name, method, meta, params string
		code                       int
	}{
		{"undeclared get", "tasks/get", plain, `"taskId":"x"`, -32021},
		{"undeclared update", "tasks/update", plain, `"taskId":"x","inputResponses":{}`, -32021},
		{"undeclared cancel", "tasks/cancel", plain, `"taskId":"x"`, -32021},
		{"not declared by false", "tasks/get", strings.Replace(takesTasks, "tasks\":{}", "tasks\":false", 1), `"taskId":"x"`, -32021},
		{"unknown get", "tasks/get", takesTasks, `"taskId":"x"`, -32602},
		{"unknown update", "tasks/update", takesTasks, `"taskId":"x","inputResponses":{}`, -32602},
		{"unknown cancel", "tasks/cancel", takesTasks, `"taskId":"x"`, -32602},
		{"no id", "tasks/get", takesTasks, `"x":1`, -32602},
		{"responses of another kind", "tasks/update", takesTasks, `"taskId":"x","inputResponses":[]`, -32602},
		{"state of another kind", "tools/call", takesTasks, `"name":"chat","arguments":{},"requestState":5`, -32602},
		{"undeclared listen", "subscriptions/listen", plain, `"notifications":{"taskIds":["x"]}`, -32021},
		{"removed result", "tasks/result", takesTasks, `"taskId":"x"`, -32601},
		{"removed list", "tasks/list", takesTasks, `"x":1`, -32601},
		{"key of another kind", "tools/call", takesTasks + `,"runpython/idempotencyKey":7`, say1("1"), -32602},
		{"empty key", "tools/call", plain + `,"runpython/idempotencyKey":""`, say1("1"), -32602},
		{"long key", "tools/call", plain + `,"runpython/idempotencyKey":"` + strings.Repeat("k", 257) + `"`, say1("1"), -32602},
		{"negative threshold", "tools/call", takesTasks + `,"runpython/taskAfterMs":-1`, say1("1"), -32602},
		{"unknown tool", "tools/call", takesTasks, `"name":"other","arguments":{}`, -32602},
		{"bad arguments", "tools/call", takesTasks, `"name":"chat","arguments":{}`, -32602},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := tasked(t.Context(), t, h, tt.method, tt.meta, tt.params)
			if a.Error == nil || a.Error.Code != tt.code {
				t.Fatalf("got %+v %+v, want error %d", a.Result, a.Error, tt.code)
			}
			if want := `{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`; tt.code == -32021 && string(a.Error.Data) != want {
				t.Errorf("data %s, want %s", a.Error.Data, want)
			}
		})
	}
}

// TestTaskHeader: Mcp-Name, by which intermediaries route, names the task, whatever else
// the message has that looks like its name.
func TestTaskHeader(t *testing.T) {
	h := newServer(t, mcpserver.Options{Chat: &fakeChat{}}).Handler()
	for _, tt := range []struct {
		name, params string
		code         int
	}{
		{"", `"taskId":"x"`, -32020},
		{"other", `"taskId":"x"`, -32020},
		{"other", `"taskId":"x","taskID":"other","TASKID":"other"`, -32020},
		{"x", `"taskId":"x"`, -32602},
		{" x ", `"taskId":"x"`, -32602},
		{"=?base64?eA==?=", `"taskId":"x"`, -32602},
	} {
		c := &rawClient{url: "http://localhost/mcp", version: alone, method: "tasks/get"}
		r := c.request(t.Context(), http.MethodPost, `{"jsonrpc":"2.0","id":"a","method":"tasks/get","params":{"_meta":{`+takesTasks+`},`+tt.params+`}}`)
		r.Header["Mcp-Name"] = []string{tt.name}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		want := fmt.Sprintf(`{"jsonrpc":"2.0","id":"a","error":{"code":%d,`, tt.code)
		if body := w.Body.String(); w.Code != http.StatusBadRequest || !strings.HasPrefix(body, want) {
			t.Errorf("Mcp-Name %q for %s: %d %s, want %s", tt.name, tt.params, w.Code, body, want)
		}
	}
}

// TestTaskListen: a client that takes tasks and wants to hear of them learns that it will
// not, and polls.
func TestTaskListen(t *testing.T) {
	h := newServer(t, mcpserver.Options{Chat: &fakeChat{}}).Handler()
	c := &rawClient{url: "http://localhost/mcp", version: alone, method: "subscriptions/listen"}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, c.request(t.Context(), http.MethodPost,
		`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":{`+takesTasks+`},"notifications":{"taskIds":["x"]}}}`))
	if got := w.Body.String(); !strings.Contains(got, `"method":"notifications/subscriptions/acknowledged"`) || strings.Contains(got, "taskIds") {
		t.Errorf("subscriptions/listen got %s", got)
	}
	s := startStdio(t, &fakeChat{})
	s.send(`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"_meta":{` + aloneMeta + `},"notifications":{"taskIds":["x"]}}}`)
	s.expect(`"id":1,"error":{"code":-32021`)
	s.close()
}

// TestNoTasksBefore: the older era has other tasks of that name, which are not offered;
// a client there that declares the extension gets plain results.
func TestNoTasksBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newServer(t, mcpserver.Options{Chat: slowChat()}).Handler()
		w := httptest.NewRecorder()
		ask(h, w, legacy, "application/json", `{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"x"}}`)
		if !strings.Contains(w.Body.String(), `"code":-32601`) {
			t.Errorf("tasks/get got %s", w.Body)
		}
		w = httptest.NewRecorder()
		meta := `"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}`
		ask(h, w, legacy, "application/json", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{`+meta+`},"task":{"ttl":1},`+say1("1m")+`}}`)
		if got := w.Body.String(); !strings.Contains(got, "after 1m") || strings.Contains(got, "taskId") {
			t.Errorf("a call got %s", got)
		}
		w = httptest.NewRecorder()
		ask(h, w, alone, "application/json", strings.Replace(callBody(alone, "1m"), `"name"`, `"task":{"ttl":1},"name"`, 1))
		if got := w.Body.String(); !strings.Contains(got, "after 1m") || strings.Contains(got, "taskId") {
			t.Errorf("a call of a client that takes no tasks got %s", got)
		}
	})
}

// TestTaskClientGone: a client that goes away before it has a handle ends its call; one
// that has a handle may come back.
func TestTaskClientGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		h := newServer(t, mcpserver.Options{Chat: &fakeChat{turn: func(ctx context.Context, _ chat.Request) (*chat.Reply, error) {
			<-ctx.Done()
			ended <- ctx.Err()
			return nil, ctx.Err()
		}}}).Handler()
		ctx, hangUp := context.WithTimeout(t.Context(), 3*time.Second)
		defer hangUp()
		if a := tasked(ctx, t, h, "tools/call", takesTasks, say1("x")); a.Result != nil {
			t.Errorf("a client that is gone got %+v", a.Result)
		}
		if err := <-ended; err == nil {
			t.Error("the turn goes on")
		}
		ctx, hangUp = context.WithCancel(t.Context())
		a := tasked(ctx, t, h, "tools/call", takesTasks, say1("x"))
		hangUp()
		pause(time.Minute)
		if got := getTask(t, h, a.Result.TaskID).Result; got.Status != "working" {
			t.Errorf("after the connection was lost: %+v", got)
		}
	})
}

// TestIdempotencyKey: the same call with the same key runs once, in each era, whether its
// client is still there or not, and whether it takes tasks or not.
func TestIdempotencyKey(t *testing.T) {
	for _, tt := range []struct{ name, version, meta string }{
		{"older era", legacy, `"x":1`},
		{"plain client", alone, aloneMeta},
		{"client that takes tasks", alone, takesTasks},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fake := slowChat()
				h := newServer(t, mcpserver.Options{Chat: fake}).Handler()
				c := attach(h, tt.version)
				call := func(ctx context.Context, id int, key, arguments string) string {
					w := httptest.NewRecorder()
					r := c.request(ctx, http.MethodPost, fmt.Sprintf(
						`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"_meta":{%s,"runpython/idempotencyKey":%q},"name":"chat","arguments":%s}}`, id, tt.meta, key, arguments))
					r.Header.Set("Accept", "application/json")
					h.ServeHTTP(w, r)
					return w.Body.String()
				}
				ctx, hangUp := context.WithTimeout(t.Context(), time.Second)
				defer hangUp()
				if got := call(ctx, 1, "k", `{"message":"5s","chat_id":"`+chatID+`"}`); strings.Contains(got, "result") {
					t.Errorf("a client that is gone got %s", got)
				}
				// Two copies at once, with other white space, then one when all is over.
				var wg sync.WaitGroup
				for id := range 2 {
					wg.Go(func() {
						if got := call(t.Context(), 2+id, "k", `{ "chat_id":"`+chatID+`", "message":"5s" }`); !strings.Contains(got, "after 5s") {
							t.Errorf("a copy got %s", got)
						}
					})
				}
				wg.Wait()
				pause(59 * time.Minute)
				if got := call(t.Context(), 4, "k", `{"message":"5s","chat_id":"`+chatID+`"}`); !strings.Contains(got, "after 5s") || !strings.Contains(got, `"runpython/chatId":"`+chatID) {
					t.Errorf("a late copy got %s", got)
				}
				if got := len(fake.seen()); got != 1 {
					t.Errorf("%d turns for one key, want 1", got)
				}
				if got := call(t.Context(), 5, "k", `{"message":"6s"}`); !strings.Contains(got, `"code":-32602`) {
					t.Errorf("another call with the key got %s", got)
				}
				// There is more than one way to leave the chat out.
				for id, arguments := range []string{`{"message":"1s"}`, `{"message":"1s","chat_id":null}`, `{"chat_id":"","message":"1s"}`} {
					if got := call(t.Context(), 20+id, "c", arguments); !strings.Contains(got, "after 1s") {
						t.Errorf("the call with %s got %s", arguments, got)
					}
				}
				if got := len(fake.seen()); got != 2 {
					t.Errorf("%d turns for two keys, want 2", got)
				}
				// What was refused did not run, so it may be sent again.
				for id := range 2 {
					if got := call(t.Context(), 6+id, "b", `{"message":"busy"}`); !strings.Contains(got, "busy") {
						t.Errorf("a refused call got %s", got)
					}
				}
				if got := len(fake.seen()); got != 4 {
					t.Errorf("%d turns, want 4: two were refused", got)
				}
			})
		})
	}
}

// asksToo is takesTasks of a client whose person can answer questions.
var asksToo = strings.Replace(takesTasks, `{"extensions"`, `{"elicitation":{},"extensions"`, 1)

// askingChat asks for a name twice, each time after the time that a message says, and then
// greets. Like the real one it closes its questions after 10 minutes, all together.
func askingChat() *fakeChat {
	return &fakeChat{turn: func(ctx context.Context, r chat.Request) (*chat.Reply, error) {
		d, err := time.ParseDuration(r.Message)
		if err != nil {
			return nil, err
		}
		said, left := "nobody", 10*time.Minute
		for range 2 {
			select {
			case <-time.After(d):
			case <-ctx.Done():
				return nil, ctx.Err()
			}
			open, end := context.WithTimeout(ctx, left)
			asked := time.Now()
			a := r.Ask(open, chat.Question{Prompt: "Name? "})
			end()
			left -= time.Since(asked)
			if a.Outcome == chat.Typed {
				said += " " + a.Text
			}
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		return &chat.Reply{ChatID: chatID, Text: "Hello " + said}, nil
	}}
}

// TestTaskQuestions: code that asks when its call has become a task asks by the task; an
// answer of a wrong kind is refused, and one in the wrong place ignored.
func TestTaskQuestions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newServer(t, mcpserver.Options{Chat: askingChat()}).Handler()
		id := startTask(t, h, asksToo, "20s")
		asked := map[string]bool{}
		for range 2 {
			pause(20 * time.Second)
			synctest.Wait()
			state := getTask(t, h, id).Result
			if state.Status != "input_required" || len(state.InputRequests) != 1 {
				t.Fatalf("while it asks: %+v", state)
			}
			var key string
			for k, request := range state.InputRequests {
				key = k
				if !strings.Contains(string(request), "elicitation/create") || !strings.Contains(string(request), "Name?") {
					t.Errorf("the question is %s", request)
				}
			}
			if asked[key] {
				t.Errorf("key %s repeats", key)
			}
			asked[key] = true
			update := func(key, answer string) taskAnswer {
				return tasked(t.Context(), t, h, "tasks/update", asksToo, fmt.Sprintf(`"taskId":%q,"inputResponses":{%q:%s}`, id, key, answer))
			}
			if a := update(key, `{"name":"Ann"}`); a.Error == nil || a.Error.Code != -32602 {
				t.Errorf("an answer that is none got %+v", a.Result)
			}
			if a := update("other", `{"name":"Ann"}`); a.Error != nil || a.Result.ResultType != "complete" {
				t.Errorf("an answer to no question got %+v", a.Error)
			}
			if a := update(key, `{"action":"accept","content":{"answer":"Ann"}}`); a.Error != nil || a.Result.ResultType != "complete" || a.Result.Status != "" {
				t.Errorf("an answer got %+v %+v", a.Result, a.Error)
			}
			synctest.Wait()
		}
		done := getTask(t, h, id).Result
		if done.Status != "completed" || !strings.HasPrefix(text(t, done.Result), "Hello nobody Ann Ann") {
			t.Errorf("after the answers: %+v", done)
		}
	})
}

// TestTaskQuestionBefore: a question that comes before the call is a task is the answer to
// the call; what is sent with the answer may become a task. Copies of both, with their key,
// get the same.
func TestTaskQuestionBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newServer(t, mcpserver.Options{Chat: askingChat()}).Handler()
		meta := asksToo + `,"runpython/idempotencyKey":"k"`
		c := &rawClient{url: "http://localhost/mcp", version: alone}
		call := func(more string) (r struct {
			Result struct{ ResultType, RequestState, TaskID string }
		}) {
			w := httptest.NewRecorder()
			h.ServeHTTP(w, c.request(t.Context(), http.MethodPost, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{`+meta+`},`+say1("6s")+more+`}}`))
			data := w.Body.String()
			if w.Header().Get("Content-Type") == "text/event-stream" {
				data = events(t, w.Body.Bytes())[0]
			}
			if err := json.Unmarshal([]byte(data), &r); err != nil {
				t.Fatalf("answer %s: %v", data, err)
			}
			return r
		}
		first := call("").Result
		if first.ResultType != "input_required" || first.TaskID != "" {
			t.Fatalf("a question before 10s got %+v", first)
		}
		if again := call("").Result; again != first {
			t.Errorf("a copy got %+v, want %+v", again, first)
		}
		meta += `,"runpython/taskAfterMs":1000`
		answer := fmt.Sprintf(`,"requestState":%q,"inputResponses":{"input":{"action":"accept","content":{"answer":"Ann"}}}`, first.RequestState)
		second := call(answer).Result
		if second.ResultType != "task" || second.RequestState != "" {
			t.Errorf("the answer got %+v, want a handle", second)
		}
		if again := call(answer).Result; again != second {
			t.Errorf("a copy of the answer got %+v, want %+v", again, second)
		}
		if again := call("").Result; again != first {
			t.Errorf("a late copy got %+v, want %+v", again, first)
		}
		pause(time.Minute)
		synctest.Wait()
		if got := getTask(t, h, second.TaskID).Result; got.Status != "input_required" {
			t.Errorf("the second question: %+v", got)
		}
	})
}

// TestTaskQuestionUnanswered: the run does not wait for ever, nor for a task that is
// cancelled.
func TestTaskQuestionUnanswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newServer(t, mcpserver.Options{Chat: askingChat()}).Handler()
		late, gone := startTask(t, h, asksToo, "20s"), startTask(t, h, asksToo, "20s")
		pause(30 * time.Second)
		tasked(t.Context(), t, h, "tasks/cancel", asksToo, fmt.Sprintf(`"taskId":%q`, gone))
		pause(25 * time.Minute)
		if got := getTask(t, h, late).Result; got.Status != "completed" || !strings.HasPrefix(text(t, got.Result), "Hello nobody\n") {
			t.Errorf("a task that nobody answered: %+v", got)
		}
		if got := getTask(t, h, gone).Result; got.Status != "cancelled" || got.InputRequests != nil {
			t.Errorf("a task that was cancelled while it asked: %+v", got)
		}
	})
}

// TestTasksOfOwners: a task, and a key, are their owner's alone.
func TestTasksOfOwners(t *testing.T) {
	const extension = mcpserver.TasksExtension
	server := mcp.NewServer(&mcp.Implementation{Name: "t", Version: "1"}, &mcp.ServerOptions{
		Capabilities: &mcp.ServerCapabilities{Extensions: map[string]any{extension: map[string]any{}}},
	})
	tasks := mcpserver.NewTasks(mcpserver.TasksOptions{Owner: func(r mcp.Request) string { return r.GetExtra().Header.Get("Authorization") }})
	t.Cleanup(func() {
		if err := tasks.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	var runs atomic.Int64
	server.AddTool(&mcp.Tool{Name: "job", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(_ context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			runs.Add(1)
			if err := tasks.Detach(req); err != nil {
				return nil, err
			}
			return &mcp.CallToolResult{}, nil
		})
	tasks.Attach(server)
	endpoint := mcpserver.NewEndpoint(mcpserver.EndpointOptions{Server: server})
	as := func(owner string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			r.Header.Set("Authorization", owner)
			endpoint.ServeHTTP(w, r)
		})
	}
	job := `"name":"job","arguments":{}`
	keyed := takesTasks + `,"runpython/idempotencyKey":"k"`
	id := tasked(t.Context(), t, as("ann"), "tools/call", keyed, job).Result.TaskID
	unknown := getTask(t, as("ann"), strings.Repeat("a", len(id))).Error
	for method, params := range map[string]string{"tasks/get": "", "tasks/cancel": "", "tasks/update": `,"inputResponses":{}`} {
		params = fmt.Sprintf(`"taskId":%q`, id) + params
		if got := tasked(t.Context(), t, as("bob"), method, takesTasks, params); got.Error == nil || got.Error.Message != unknown.Message || got.Error.Code != unknown.Code {
			t.Errorf("%s of somebody else got %+v %+v, want what an unknown id gets", method, got.Result, got.Error)
		}
		if got := tasked(t.Context(), t, as("ann"), method, takesTasks, params); got.Error != nil {
			t.Errorf("%s of the owner got %+v", method, got.Error)
		}
	}
	tasked(t.Context(), t, as("ann"), "tools/call", keyed, job)
	if other := tasked(t.Context(), t, as("bob"), "tools/call", keyed, job).Result.TaskID; other == id || other == "" || runs.Load() != 2 {
		t.Errorf("the key of two owners: task %q and %q, %d runs; want 2", id, other, runs.Load())
	}
	if got := tasked(t.Context(), t, as("ann"), "tools/call", aloneMeta, job); got.Error == nil || got.Error.Code != -32021 {
		t.Errorf("a client that takes no tasks got %+v", got.Result)
	}
}

// TestTaskRoom: without room for tasks calls are answered plainly, and those with a key
// refused.
func TestTaskRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := slowChat()
		h := newServer(t, mcpserver.Options{Chat: fake}).Handler()
		const room = 64 // a quarter of 256 MiB, at 1 MiB each
		for range room {
			startTask(t, h, takesTasks+`,"runpython/taskAfterMs":0`, "1h")
		}
		plain := tasked(t.Context(), t, h, "tools/call", takesTasks+`,"runpython/taskAfterMs":0`, say1("30s")).Result
		if plain.ResultType != "complete" || !strings.HasPrefix(plain.Content[0].Text, "after 30s") {
			t.Errorf("a call without room got %+v", plain)
		}
		refused := tasked(t.Context(), t, h, "tools/call", takesTasks+`,"runpython/idempotencyKey":"k"`, say1("30s")).Result
		if !refused.IsError || !strings.Contains(refused.Content[0].Text, "Nothing was run") {
			t.Errorf("a call with a key and without room got %+v", refused)
		}
		if got := len(fake.seen()); got != room+1 {
			t.Errorf("%d turns, want %d", got, room+1)
		}
		pause(time.Hour)
		synctest.Wait()
		startTask(t, h, takesTasks+`,"runpython/taskAfterMs":0`, "1s") // what has ended takes less
	})
}

// TestTaskShutdown: a server that stops ends its tasks, with all goroutines (TestMain).
func TestTaskShutdown(t *testing.T) {
	g := newGatedChat()
	_, s := serve(t, g)
	startTask(t, s.Handler(), takesTasks+`,"runpython/taskAfterMs":0`, "wait")
	<-g.began
	if err := s.Close(); err != nil {
		t.Errorf("Close() = %v", err)
	}
	if err := <-g.ended; err == nil {
		t.Error("the turn goes on")
	}
	synctest.Test(t, func(t *testing.T) {
		s := newServer(t, mcpserver.Options{Chat: askingChat()})
		id := startTask(t, s.Handler(), asksToo+`,"runpython/taskAfterMs":0`, "1s")
		pause(2 * time.Second)
		if got := getTask(t, s.Handler(), id).Result; got.Status != "input_required" {
			t.Errorf("a task that asks: %+v", got)
		}
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil || time.Since(began) != 10*time.Second {
			t.Errorf("Shutdown() while a task asks = %v after %v, want nil when its context ends", err, time.Since(began))
		}
	})
}
