package mcpserver_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"runpython/internal/chat"
	"runpython/internal/mcpserver"
)

// asking returns a chat whose turns ask each line of their message, one after the
// other, and reply with what became of that.
func asking() *fakeChat {
	return &fakeChat{turn: func(ctx context.Context, r chat.Request) (*chat.Reply, error) {
		reply := &chat.Reply{ChatID: chatID}
		for line := range strings.Lines(r.Message) {
			if r.Ask == nil {
				reply.Text += "nobody\n"
				continue
			}
			a := r.Ask(ctx, chat.Question{Prompt: strings.TrimSpace(line), Output: "so far"})
			reply.Text += fmt.Sprintf("%s %q\n", a.Outcome, a.Text)
			if ctx.Err() != nil {
				reply.Text, reply.IsError = "stopped", true
				break
			}
		}
		return reply, nil
	}}
}

// connectPerson is connect for a client whose person answers.
func connectPerson(t *testing.T, url, version string, answer func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error)) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{ElicitationHandler: answer})
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url, MaxRetries: -1},
		&mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { _ = session.Close() }) // the server may be gone
	return session
}

func typed(text any) *mcp.ElicitResult {
	return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"answer": text}}
}

// TestElicitation asks the person behind the SDK's client in both eras.
func TestElicitation(t *testing.T) {
	for _, version := range append([]string{"2025-06-18"}, eras...) {
		t.Run(version, func(t *testing.T) {
			url, _ := serve(t, asking())
			var shown []string
			answers := map[string]*mcp.ElicitResult{
				"name?": typed("Ada 🐎\n\u2028"), "empty?": {Action: "accept"}, "no?": {Action: "decline"}, "away?": {Action: "cancel"}, "what?": {Action: "else"},
				"other?": {Action: "accept", Content: map[string]any{"reply": "Ada"}},
			}
			session := connectPerson(t, url, version, func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				shown = append(shown, r.Params.Message)
				for prompt, answer := range answers {
					if strings.Contains(r.Params.Message, "asks:\n"+prompt+"\n") {
						return answer, nil
					}
				}
				return nil, fmt.Errorf("unknown question %q", r.Params.Message)
			})
			res, err := session.CallTool(t.Context(), say("name?\nempty?\nno?\naway?\nwhat?\nother?"))
			if err != nil {
				t.Fatal(err)
			}
			want := "typed \"Ada 🐎\\n\\u2028\"\ntyped \"\"\ndeclined \"\"\ndismissed \"\"\nunasked \"\"\nunasked \"\"\n\nchat_id: " + chatID
			if diff := cmp.Diff(want, text(t, res)); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
			wantShown := "The Python code that runs in the sandbox asks:\nname?\n\nIts output before:\nso far\n\nDo not type passwords or other secrets."
			if len(shown) != 6 || shown[0] != wantShown {
				t.Errorf("shown %q, want first %q", shown, wantShown)
			}
		})
	}
}

// TestElicitationByNobody: clients that declare no forms are not asked.
func TestElicitationByNobody(t *testing.T) {
	for _, version := range eras {
		url, _ := serve(t, asking())
		session := connect(t, url, version)
		defer session.Close()
		if res, err := session.CallTool(t.Context(), say("name?")); err != nil || !strings.HasPrefix(text(t, res), "nobody") {
			t.Errorf("%s: %v, %v; want that nobody can be asked", version, res, err)
		}
	}
	h := newServer(t, mcpserver.Options{Chat: asking()}).Handler()
	for capability, want := range map[string]string{`{"url":{}}`: "nobody", `null`: "nobody", `{}`: `"input_required"`, `{"form":{},"url":{}}`: `"input_required"`} {
		got := string(round(t, h, capability, `"arguments":{"message":"name?"}`))
		if !strings.Contains(got, want) {
			t.Errorf("elicitation %s: %s, want %s", capability, got, want)
		}
	}
}

// A client that failed, or that takes no events, could not ask; the turn goes on at once.
func TestElicitationFails(t *testing.T) {
	url, _ := serve(t, asking())
	session := connectPerson(t, url, legacy, func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		return nil, fmt.Errorf("no display")
	})
	if res, err := session.CallTool(t.Context(), say("name?")); err != nil || !strings.HasPrefix(text(t, res), "unasked") {
		t.Errorf("a client that fails: %v, %v", res, err)
	}
	for _, form := range []string{"application/json", "application/json, text/event-stream"} {
		c := &rawClient{url: url, version: legacy}
		res := c.do(t, http.MethodPost, strings.Replace(initialize, `"capabilities":{}`, `"capabilities":{"elicitation":{}}`, 1))
		drain(res)
		c.session = res.Header.Get("Mcp-Session-Id")
		r := c.request(t.Context(), http.MethodPost, callBody(legacy, "name?"))
		r.Header.Set("Accept", form)
		res, err := new(http.Client).Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		want := "unasked"
		if strings.Contains(form, "event-stream") {
			want = `"method":"elicitation/create"`
		}
		found, lines := false, bufio.NewScanner(res.Body)
		for !found && lines.Scan() { // the stream goes on while nobody answers
			found = strings.Contains(lines.Text(), want)
		}
		if !found {
			t.Errorf("accepting %s: the answer ended with %q, %v; want %s", form, lines.Text(), lines.Err(), want)
		}
	}
}

// round sends a call of the era without sessions for a client with an elicitation capability.
func round(tb testing.TB, h http.Handler, capability, members string) []byte {
	tb.Helper()
	meta := strings.Replace(aloneMeta, `clientCapabilities":{}`, `clientCapabilities":{"elicitation":`+capability+`}`, 1)
	return request(tb, h, "tools/call", "chat", fmt.Sprintf(`"_meta":{%s},"name":"chat",%s`, meta, members))
}

// request sends a request of the era without sessions. name is what it says in the header, too.
func request(tb testing.TB, h http.Handler, method, name, params string) []byte {
	tb.Helper()
	c := &rawClient{url: "http://localhost/mcp", version: alone, method: method}
	r := c.request(tb.Context(), http.MethodPost, fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s}}`, method, params))
	r.Header.Set("Mcp-Name", name)
	r.Header.Set("Accept", "application/json")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Body.Bytes()
}

// stateOf returns the state in an answer that asks, and fails the test for any other.
func stateOf(t *testing.T, answer []byte, prompt string) string {
	t.Helper()
	var m struct {
		Result struct {
			ResultType    string
			RequestState  string
			InputRequests map[string]struct {
				Method string
				Params struct{ Message, Mode string }
			}
		}
	}
	err := json.Unmarshal(answer, &m)
	q := m.Result.InputRequests["input"]
	if err != nil || m.Result.ResultType != "input_required" || q.Method != "elicitation/create" || q.Params.Mode != "form" || !strings.Contains(q.Params.Message, prompt) || len(m.Result.RequestState) < 26 {
		t.Fatalf("%s\n%v; want the question %q", answer, err, prompt)
	}
	return m.Result.RequestState
}

func answering(message, state, responses string) string {
	return fmt.Sprintf(`"arguments":{"message":%q},"requestState":%q,"inputResponses":%s`, message, state, responses)
}

// TestRounds: a state is good for one answer to one question of one call.
func TestRounds(t *testing.T) {
	fake := asking()
	h := newServer(t, mcpserver.Options{Chat: fake}).Handler()
	const message, ada, bob = "first?\nsecond?", `{"input":{"action":"accept","content":{"answer":"Ada"}}}`, `{"other":{"action":"accept"},"input":{"action":"accept","content":{"answer":"Bob"}}}`
	begin := func() string {
		return stateOf(t, round(t, h, "{}", fmt.Sprintf(`"arguments":{"message":%q}`, message)), "first?")
	}
	closed := func(what, members string) {
		t.Helper()
		if got := string(round(t, h, "{}", members)); !strings.Contains(got, `"isError":true`) || !strings.Contains(got, "is closed") {
			t.Errorf("%s: %s; want that the question is closed", what, got)
		}
	}
	state := begin()
	closed("a state that was made up", answering(message, "AAAAAAAAAAAAAAAAAAAAAAAAAA", ada))
	closed("another message", answering("first?", state, ada))
	closed("another chat", fmt.Sprintf(`"arguments":{"message":%q,"chat_id":%q},"requestState":%q,"inputResponses":%s`, message, chatID, state, ada))

	again := stateOf(t, round(t, h, "{}", answering(message, state, `{"other":{"action":"accept"}}`)), "first?")
	closed("a state that was replaced", answering(message, state, ada))
	second := stateOf(t, round(t, h, "{}", answering(message, again, ada)), "second?")
	closed("a state that was used", answering(message, again, ada))
	got := string(round(t, h, "{}", answering(message, second, bob)))
	if !strings.Contains(got, `typed \"Ada\"\ntyped \"Bob\"`) || !strings.Contains(got, `"resultType":"complete"`) {
		t.Errorf("the last round: %s", got)
	}
	if n := len(fake.seen()); n != 1 {
		t.Errorf("%d turns; want one", n)
	}
	if other := begin(); other == begin() {
		t.Error("two states are the same")
	}
	if r := fake.seen()[0]; r.Questions != 8 {
		t.Errorf("%d questions; want 8", r.Questions)
	}
}

// A client that does not come back: the turn ends with its question, and the state with it.
func TestRoundsAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ended := make(chan error, 1)
		fake := &fakeChat{turn: func(ctx context.Context, r chat.Request) (*chat.Reply, error) {
			open, cancel := context.WithTimeout(ctx, 10*time.Minute)
			defer cancel()
			a := r.Ask(open, chat.Question{Prompt: "name?"})
			<-ctx.Done() // the run is stopped
			ended <- context.Cause(ctx)
			return &chat.Reply{ChatID: chatID, IsError: true, Text: string(a.Outcome)}, nil
		}}
		s := mcpserver.New(mcpserver.Options{Chat: fake})
		state := stateOf(t, round(t, s.Handler(), "{}", `"arguments":{"message":"x"}`), "name?")
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "did not answer") {
			t.Errorf("the turn ended with %v", err)
		}
		if got := string(round(t, s.Handler(), "{}", answering("x", state, `{"input":{"action":"decline"}}`))); !strings.Contains(got, "is closed") {
			t.Errorf("too late: %s", got)
		}
		if err := s.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
}

// A server that stops waits for answers as for all that calls in flight need, as long as it
// waits for these, and for nothing else; then the turns end.
func TestRoundsEndWithTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := asking()
		ask := fake.turn
		asked := make(chan *chat.Reply, 2)
		fake.turn = func(ctx context.Context, r chat.Request) (*chat.Reply, error) {
			reply, err := ask(ctx, r)
			asked <- reply
			return reply, err
		}
		s := newServer(t, mcpserver.Options{Chat: fake})
		answered := stateOf(t, round(t, s.Handler(), "{}", `"arguments":{"message":"now?"}`), "now?")
		stateOf(t, round(t, s.Handler(), "{}", `"arguments":{"message":"never?"}`), "never?")
		ctx, giveUp := context.WithCancel(t.Context())
		stopped := make(chan error, 1)
		go func() { stopped <- s.Shutdown(ctx) }()
		synctest.Wait()
		if got := string(round(t, s.Handler(), "{}", `"arguments":{"message":"new"}`)); !strings.Contains(got, "the server is stopping") {
			t.Errorf("a new call got %s", got)
		}
		if got := string(round(t, s.Handler(), "{}", answering("now?", answered, `{"input":{"action":"accept","content":{"answer":"yes"}}}`))); !strings.Contains(got, `typed \"yes\"`) {
			t.Errorf("the answer got %s", got)
		}
		<-asked
		giveUp()
		if reply := <-asked; reply.Text != "stopped" {
			t.Errorf("the turn that waits for an answer: %+v; want it stopped", reply)
		}
		if err := <-stopped; err != nil {
			t.Errorf("Shutdown() = %v", err)
		}
	})
}

// A client that leaves during a later round ends the turn.
func TestRoundsCancelled(t *testing.T) {
	ended := make(chan error, 1)
	fake := &fakeChat{turn: func(ctx context.Context, r chat.Request) (*chat.Reply, error) {
		r.Ask(ctx, chat.Question{Prompt: "name?"})
		r.Progress(chat.Progress{Step: "running"})
		<-ctx.Done()
		ended <- ctx.Err()
		return &chat.Reply{ChatID: chatID, IsError: true, Text: "stopped"}, nil
	}}
	url, _ := serve(t, fake)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler:          func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) { return typed("Ada"), nil },
		ProgressNotificationHandler: func(context.Context, *mcp.ProgressNotificationClientRequest) { cancel() },
	})
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url, MaxRetries: -1}, &mcp.ClientSessionOptions{ProtocolVersion: alone})
	if err != nil {
		t.Fatal(err)
	}
	defer session.Close()
	params := say("x")
	params.SetProgressToken("p")
	if res, err := session.CallTool(ctx, params); err == nil {
		t.Errorf("CallTool() = %v; want that it was cancelled", res)
	}
	if err := <-ended; err == nil {
		t.Error("the turn was not cancelled")
	}
}

// A client that takes tasks is asked by rounds while its call is one, and by the task after that.
func TestElicitationOfATask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newServer(t, mcpserver.Options{Chat: asking()}).Handler()
		meta := strings.Replace(aloneMeta, `clientCapabilities":{}`, `clientCapabilities":{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`, 1)
		call := func(meta, members string) []byte {
			return request(t, h, "tools/call", "chat", fmt.Sprintf(`"_meta":{%s},"name":"chat",%s`, meta, members))
		}
		state := stateOf(t, call(meta, `"arguments":{"message":"name?"}`), "name?")
		if got := string(call(meta, answering("name?", state, `{"input":{"action":"accept","content":{"answer":"Ada"}}}`))); !strings.Contains(got, `typed \"Ada\"`) {
			t.Errorf("by rounds: %s", got)
		}
		var handle struct{ Result struct{ TaskID string } }
		if err := json.Unmarshal(call(meta+`,"runpython/taskAfterMs":0`, `"arguments":{"message":"name?"}`), &handle); err != nil || handle.Result.TaskID == "" {
			t.Fatalf("no task: %v", err)
		}
		id := fmt.Sprintf(`"_meta":{%s},"taskId":%q`, meta, handle.Result.TaskID)
		look := func(want string) (key string) {
			t.Helper()
			synctest.Wait()
			got := request(t, h, "tasks/get", handle.Result.TaskID, id)
			var shown struct {
				Result struct{ InputRequests map[string]any }
			}
			if err := json.Unmarshal(got, &shown); err != nil || !strings.Contains(string(got), want) {
				t.Fatalf("the task is %s, %v; want %s", got, err, want)
			}
			for k := range shown.Result.InputRequests {
				key = k
			}
			return key
		}
		key := look(`asks:\nname?`)
		answer := fmt.Sprintf(`,"inputResponses":{%q:{"action":"accept","content":{"answer":"Bob"}}}`, key)
		if got := string(request(t, h, "tasks/update", handle.Result.TaskID, id+answer)); strings.Contains(got, `"error"`) {
			t.Errorf("tasks/update: %s", got)
		}
		look(`typed \"Bob\"`)
	})
}

// What a turn reports first, when it begins and when it has its answer, reaches the round
// that made it go on, and is repeated while nothing else is to be told.
func TestRoundsTellWhatComesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newServer(t, mcpserver.Options{Chat: &fakeChat{turn: func(ctx context.Context, r chat.Request) (*chat.Reply, error) {
			r.Progress(chat.Progress{Step: "starting"})
			pause(20 * time.Second)
			r.Ask(ctx, chat.Question{Prompt: "name?"})
			r.Progress(chat.Progress{Step: "running"})
			pause(20 * time.Second)
			return &chat.Reply{ChatID: chatID, Text: "done"}, nil
		}}}).Handler()
		meta := `"progressToken":"p",` + strings.Replace(aloneMeta, `clientCapabilities":{}`, `clientCapabilities":{"elicitation":{}}`, 1)
		follow := func(members, step string) (last string) {
			t.Helper()
			c := newClient()
			ask(h, c, alone, "*/*", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":{%s},"name":"chat",%s}}`, meta, members))
			messages := events(t, c.body.Bytes())
			if len(messages) != 3 || !strings.Contains(messages[0], `"message":"`+step+`"`) || !strings.Contains(messages[1], `"message":"`+step+`, 15 s"`) {
				t.Fatalf("the client got %q; want to hear of %q twice, and an answer", messages, step)
			}
			return messages[2]
		}
		for range 100 { // who is first is chance
			state := stateOf(t, []byte(follow(`"arguments":{"message":"x"}`, "starting")), "name?")
			if last := follow(answering("x", state, `{"input":{"action":"decline"}}`), "running"); !strings.Contains(last, "done") {
				t.Errorf("the last round got %s", last)
			}
		}
	})
}

// A panic in a turn that asks ends its call as any other panic does, and is logged once.
func TestRoundsPanic(t *testing.T) {
	var log bytes.Buffer
	h := newServer(t, mcpserver.Options{
		Chat: &fakeChat{turn: func(context.Context, chat.Request) (*chat.Reply, error) { panic("a secret of the host") }},
		Log:  slog.New(slog.NewTextHandler(&log, nil)),
	}).Handler()
	got := string(round(t, h, "{}", `"arguments":{"message":"x"}`))
	if !strings.Contains(got, `"code":-32603`) || strings.Contains(got, "secret") {
		t.Errorf("the call got %s", got)
	}
	if n := strings.Count(log.String(), "a secret of the host"); n != 1 {
		t.Errorf("logged %d times, want once:\n%s", n, log.String())
	}
}

// Over standard input and output both eras ask, too.
func TestElicitationOverStdio(t *testing.T) {
	c := startStdio(t, asking())
	c.send(strings.Replace(initialize, `"capabilities":{}`, `"capabilities":{"elicitation":{"form":{}}}`, 1))
	c.expect(`"protocolVersion":"2025-11-25"`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	c.send(stdioCall(7, "name?"))
	question := c.receive()
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if err := json.Unmarshal([]byte(question), &m); err != nil || m.Method != "elicitation/create" {
		t.Fatalf("got %s, want a question", question)
	}
	c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"action":"accept","content":{"answer":"Ada"}}}`, m.ID))
	c.expect(`typed \"Ada\"`)
	// A call that is cancelled takes its question back.
	c.send(stdioCall(8, "name?"))
	c.receive()
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":8}}`)
	c.expect(`"method":"notifications/cancelled"`)
	c.close()
}

func TestRoundsOverStdio(t *testing.T) {
	c := startStdio(t, asking())
	meta := strings.Replace(aloneMeta, `clientCapabilities":{}`, `clientCapabilities":{"elicitation":{}}`, 1)
	call := func(id int, members string) {
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"_meta":{%s},"name":"chat",%s}}`, id, meta, members))
	}
	call(1, `"arguments":{"message":"name?"}`)
	state := stateOf(t, []byte(c.receive()), "name?")
	call(2, answering("name?", state, `{"input":{"action":"accept","content":{"answer":"Ada"}}}`))
	c.expect(`typed \"Ada\"`)
	call(3, `"arguments":{"message":"name?"}`) // open when the client leaves
	c.receive()
	c.close()
}
